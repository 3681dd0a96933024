"""Span search under the name that is easy to remember: `sentlab.spans` is `sentlab.search.spans`."""

from sentlab.search.spans import *  # noqa: F403
