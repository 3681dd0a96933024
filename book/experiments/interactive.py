"""A record of the kind `map` as an interactive picture in plain HTML: it needs no library and no network."""

from __future__ import annotations

from experiments.records import MapRecord
from experiments.results_rows import MapNumbers
from experiments.widgets import widget


def interactive_layout(record: MapRecord) -> str:
    """Return HTML that holds all it needs: the points of every encoder, their style and their script.

    Hovering over a point, or going there with the arrow keys, shows its sentence. A click or Enter lists its
    neighbours under each encoder. Show it with `IPython.display.HTML`; a page can hold several.

    Args:
        record: of the kind `map`, with results.

    Raises:
        ValueError: the record has no results.
    """
    if record.results is None:
        raise ValueError(f"{record.name} has no results yet: run `python -m experiments map` on its file first")
    found = record.results
    content = {
        "topics": record.settings.topics,
        "wordings": record.settings.wordings,
        "texts": found.texts,
        "topic": found.topic,
        "scene": found.scene,
        "rows": [
            {"label": label, "numbers": numbers_in_words(found.numbers[label]), **drawn.model_dump()}
            for label, drawn in found.drawings.items()
        ],
    }
    return widget("map", content)


def numbers_in_words(numbers: MapNumbers) -> dict[str, float]:
    """Return the numbers of an encoder by the names that pictures and tables show."""
    return {
        "same scene": numbers.same_scene,
        "same topic": numbers.same_topic,
        "kept by PCA": numbers.kept_by_pca,
        "kept by UMAP": numbers.kept_by_umap,
    }
