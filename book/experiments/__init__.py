"""The laboratory beside the book: makes, keeps and shows recorded results. Imports `sentlab`, never the reverse."""

from experiments import published, records
from experiments.presets import preset

__all__ = ["preset", "published", "records"]
