"""Training: one loop for all methods, the losses that several papers share, batches by task, random state."""

from sentlab.training.config import TrainConfig
from sentlab.training.dropout import set_dropout
from sentlab.training.history import History
from sentlab.training.loop import fit
from sentlab.training.random_state import set_seed

__all__ = ["History", "TrainConfig", "fit", "set_dropout", "set_seed"]
