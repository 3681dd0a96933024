"""The metrics under the name that is easy to remember: `sentlab.metrics` is `sentlab.evaluation.metrics`."""

from sentlab.evaluation.metrics import *  # noqa: F403
