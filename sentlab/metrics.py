"""The metrics of `sentlab.evaluation.metrics`, under a shorter name."""

from sentlab.evaluation.metrics import *  # noqa: F403
from sentlab.evaluation.metrics import __all__ as __all__
