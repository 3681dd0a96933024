"""One paper, one file: each method is a torch module with collate, loss and after_step."""

from sentlab.methods.paser import PaSeR

__all__ = ["PaSeR"]
