"""A fixture for tests that tag words."""

from __future__ import annotations

import nltk
import pytest


@pytest.fixture
def nltk_tagger() -> None:
    """Skip where NLTK's tagger of English lacks its data."""
    try:
        nltk.data.find("taggers/averaged_perceptron_tagger_eng")
    except LookupError:
        pytest.skip("NLTK's tagger has no data; set NLTK_DATA")
