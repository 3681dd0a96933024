"""Training: one loop for all methods, the losses that several papers share, batches by task, random state."""

from sentlab.training.config import History, TrainConfig
from sentlab.training.loop import fit, train_heads_first
from sentlab.training.randomness import set_dropout, set_seed

__all__ = ["History", "TrainConfig", "fit", "set_dropout", "set_seed", "train_heads_first"]
