"""Training: one loop for all methods, the losses that several papers share, batches by task, random state."""

from sentlab.training.loop import History, TrainConfig, fit

__all__ = ["History", "TrainConfig", "fit"]
