"""The toy world's generator: a small English in which every kind of corpus can be made, with gold by construction."""

from experiments.toy.corpora import NAMES, load
from experiments.toy.grammar import forms, render
from experiments.toy.lexicon import synonyms
from experiments.toy.scene import Scene, scenes, score

__all__ = ["NAMES", "Scene", "forms", "load", "render", "scenes", "score", "synonyms"]
