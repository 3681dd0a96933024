"""Each trained method is a torch module with collate, loss and after_step. Begin with SimCSE, MoCo, PT-BERT, PaSeR."""

from sentlab.methods.consert import ConSERT
from sentlab.methods.ct import ContrastiveTension
from sentlab.methods.masked_lm import MaskedLM
from sentlab.methods.moco import MoCo
from sentlab.methods.paser import PaSeR, SupervisedPaSeR
from sentlab.methods.ptbert import PTBERT
from sentlab.methods.simcse import SimCSE
from sentlab.methods.slice import SLICE
from sentlab.methods.universal import Universal

__all__ = [
    "PTBERT", "SLICE", "ConSERT", "ContrastiveTension", "MaskedLM", "MoCo", "PaSeR", "SimCSE", "SupervisedPaSeR",
    "Universal",
]  # fmt: skip
