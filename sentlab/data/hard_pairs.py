"""Hard pairs: pairs of an STS corpus in which length is a wrong hint of similarity."""

from __future__ import annotations

from sentlab.data.rows import Corpus, ScoredPair, added_up, check_rows

POSITIVE = 4.0  # from this gold score on, a pair counts as saying the same; Gao et al. (2021) begin above it
NEGATIVE = 1.0  # up to this gold score, it counts as saying something else
LONGER = 5  # words: a positive pair is hard if its lengths differ by more
ALIKE = 2  # words: a negative pair is hard if its lengths differ by less


def hard_pairs(corpus: Corpus[ScoredPair]) -> Corpus[ScoredPair]:
    """Select the positive pairs of unlike length and the negative pairs of like length.

    An encoder that takes sentences of one length for similar does worse on these than on all pairs. The paper gives the
    differences in length, but not the scores from which a pair is positive or negative: both are ours. `POSITIVE` is
    that of Gao et al. (2021), who leave out pairs of exactly 4.

    Args:
        corpus: pairs with a gold of 0 to 5; words are what white space separates.

    Returns:
        The hard pairs in order, as a corpus named `<name>-hard`; the others are left out as `neither`.

    Raises:
        TypeError: rows in no corpus, such as a slice of one.
        ValueError: rows that are no ScoredPair, a gold off its scale, or no hard pair among them.

    Source: PT-BERT, section 3.1 and Tables 1 and 5(c).
    """
    check_rows(corpus, ScoredPair, least=0)
    rows = tuple(pair for pair in corpus if _is_hard(pair))
    if not rows:
        raise ValueError(
            f"{corpus.name} ({corpus.split}) has no hard pair: none with a gold of {POSITIVE:g} or more and lengths "
            f"more than {LONGER} words apart, none with {NEGATIVE:g} or less and lengths less than {ALIKE} words apart"
        )
    left_out = added_up(corpus.left_out, {"neither": len(corpus) - len(rows)})
    return Corpus(f"{corpus.name}-hard", corpus.split, rows, f"hard pairs of {corpus.source}", left_out)


def _is_hard(pair: ScoredPair) -> bool:
    apart = abs(len(pair.text_a.split()) - len(pair.text_b.split()))
    return (pair.score >= POSITIVE and apart > LONGER) or (pair.score <= NEGATIVE and apart < ALIKE)
