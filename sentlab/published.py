"""The papers' tables under the name that is easy to remember: `sentlab.published` is `sentlab.data.published`."""

from sentlab.data.published import table

__all__ = ["table"]
