"""The search for spans of `sentlab.search.spans`, under a shorter name."""

from sentlab.search.spans import Spans, best_spans, span_scores

__all__ = ["Spans", "best_spans", "span_scores"]
