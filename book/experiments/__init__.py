"""The laboratory beside the book: makes, keeps and shows recorded results. Imports `sentlab`, never the reverse."""

from sentlab.files import optional

optional("pydantic", "'.[book]'")

from experiments import published, records  # noqa: E402
from experiments.presets import preset  # noqa: E402

__all__ = ["preset", "published", "records"]
