"""SLICE: the loss against loops over all spans, the gradient against the full maximum's, and its controls."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from experiments import run
from experiments.controls import StartEnd, WholePassage
from torch import Tensor
from trained import Make

from sentlab.data.rows import Triple
from sentlab.encoder import Encoder
from sentlab.methods import SLICE
from sentlab.methods.slice import best_span_similarities, find_best_spans
from sentlab.text.words import word_boundaries
from sentlab.training import TrainConfig, fit

TRIPLES = [
    Triple("a dog runs", "in the old village an animal is running by the river, slowly", "a teacher sleeps"),
    Triple("the king reads a letter", "a man is reading.", "the king sings a song in the house of the teacher"),
    Triple("girl", "the child is eating, and the girls play the guitar", "nobody eats"),
]


def cosine(u: list[float], v: list[float]) -> float:
    return sum(x * y for x, y in zip(u, v, strict=True)) / math.hypot(*u) / math.hypot(*v)


def mean(vectors: list[list[float]]) -> list[float]:
    return [sum(column) / len(vectors) for column in zip(*vectors, strict=True)]


def slow_similarity(method: SLICE, phrase: str, passage: str, sizes: range, words: bool = True) -> float:
    """The highest similarity of section 3.1, span by span; a word starts where the tokenizer's words do."""
    (query, _), (vectors, _) = method.encoder.encode_tokens([phrase, passage])
    ids = [i for i in method.encoder.tokenizer(passage).word_ids() if i is not None]
    units = [[v for v, i in zip(vectors.tolist(), ids, strict=True) if i == unit] for unit in sorted(set(ids))]
    if not words:
        units = [[v] for v in vectors.tolist()]
    spans = [units[i : i + size] for size in sizes for i in range(len(units) - size + 1)]
    q = mean(query.tolist())
    return max((1 + cosine(q, mean([v for unit in span for v in unit]))) / 2 for span in spans)


@pytest.mark.parametrize(("sizes", "scale"), [((1, 10), 30.0), ((2, 3), 5.0)])
@pytest.mark.parametrize("words", [True, False])
def test_loss_equals_section_3_1(make: Make, sizes: tuple[int, int], scale: float, words: bool) -> None:
    method = make(SLICE, "mean", min_size=sizes[0], max_size=sizes[1], scale=scale, words=words)
    slow = 0.0
    for row in TRIPLES:
        true, false = (
            slow_similarity(method, row.anchor, passage, range(sizes[0], sizes[1] + 1), words)
            for passage in (row.positive, row.negative)
        )
        slow += (-scale * true + math.log(math.exp(scale * true) + math.exp(scale * false))) / len(TRIPLES)
    assert method.loss(method.collate(TRIPLES))["contrastive"].item() == pytest.approx(slow, abs=2e-5)


def test_in_batch_equals_a_loop_over_all_passages(make: Make) -> None:
    method, slow = make(SLICE, "mean", in_batch=True, max_size=4, scale=20.0), 0.0
    for row in TRIPLES:
        true = slow_similarity(method, row.anchor, row.positive, range(1, 5))
        every = [
            slow_similarity(method, row.anchor, text, range(1, 5))
            for other in TRIPLES
            for text in (other.positive, other.negative)
        ]
        slow -= math.log(math.exp(20 * true) / sum(math.exp(20 * one) for one in every)) / len(TRIPLES)
    assert method.loss(method.collate(TRIPLES))["contrastive"].item() == pytest.approx(slow, abs=2e-5)
    alone = method.collate(TRIPLES[:1])  # then there are no other passages, and both losses are one
    assert torch.equal(
        method.loss(alone)["contrastive"], make(SLICE, "mean", max_size=4, scale=20.0).loss(alone)["contrastive"]
    )


def random_groups(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    """Queries (2, 3, D), tokens (2, 4, L, D), units (2, 4, L): words of one to three tokens, specials, padding."""
    generator = torch.Generator().manual_seed(0)
    queries, tokens = (torch.randn(shape, generator=generator, dtype=dtype) for shape in ((2, 3, 5), (2, 4, 9, 5)))
    units = torch.tensor(
        [
            [-1, 0, 1, 1, 1, 2, 3, 3, -1],
            [-1, 0, 0, 1, 2, -1, -1, -1, -1],
            [-1, 0, 1, 2, 3, 4, 5, 6, -1],
            [-1, 0, -1, -1, -1, -1, -1, -1, -1],
        ]
    )
    return queries, tokens, torch.stack([units, units.flip(0)])


def finite(*gradients: Tensor | None) -> bool:
    return all(gradient is not None and bool(torch.isfinite(gradient).all()) for gradient in gradients)


def full_maximum(queries: Tensor, tokens: Tensor, units: Tensor, min_size: int, max_size: int) -> Tensor:
    """Every span's vector made, every similarity taken, and the largest kept: with the gradient of all that."""
    rows = []
    for g, p in [(g, p) for g in range(units.shape[0]) for p in range(units.shape[1])]:
        words = range(int(units[g, p].max()) + 1)
        means = [
            tokens[g, p][(units[g, p] >= i) & (units[g, p] < i + size)].mean(0)
            for size in range(min_size, max_size + 1)
            for i in words
            if i + size <= len(words)
        ]
        cosines = F.normalize(queries[g], dim=-1) @ F.normalize(torch.stack(means), dim=-1).T
        rows.append(((1 + cosines) / 2).amax(dim=1))
    return torch.stack(rows).view(units.shape[0], units.shape[1], -1).transpose(1, 2)


@pytest.mark.parametrize("sizes", [(1, 3), (1, 1), (1, 99)])
def test_the_gradient_is_that_of_the_full_maximum(sizes: tuple[int, int]) -> None:
    queries, tokens, units = random_groups()
    results = []
    for compute in (best_span_similarities, full_maximum):
        q, t = queries.clone().requires_grad_(), tokens.clone().requires_grad_()
        similarities = compute(q, t, units, *sizes)
        weights = torch.arange(similarities.numel(), dtype=similarities.dtype).view_as(similarities)
        (similarities * weights).sum().backward()
        results.append((similarities.detach(), q.grad, t.grad))
    for fast, slow in zip(*results, strict=True):
        assert torch.allclose(fast, slow, rtol=1e-10, atol=1e-12)  # type: ignore[arg-type]
    outside = results[0][2][units < 0]  # type: ignore[index]
    assert (outside == 0).all()
    assert (results[0][2] != 0).any()  # type: ignore[operator]


def test_best_spans_are_found_where_float32_sums_would_lose_them() -> None:
    generator = torch.Generator().manual_seed(2)
    tokens = torch.randn((1, 1, 500, 16), generator=generator)
    tokens[0, 0, :250] *= 1e7  # cumulated before what comes
    query = tokens[:, :, 400:403].mean(dim=2)
    start, end = find_best_spans(query, tokens, torch.arange(500).view(1, 1, 500), 1, 10)
    assert (start.item(), end.item()) == (400, 403)


def test_equally_good_spans_give_the_shortest_and_the_first() -> None:
    start, end = find_best_spans(torch.ones(1, 1, 4), torch.ones(1, 1, 6, 4), torch.arange(6).view(1, 1, 6), 2, 4)
    assert (start.item(), end.item()) == (0, 2)


def test_passages_without_a_span_get_the_least_similarity_and_no_gradient() -> None:
    queries, tokens, units = random_groups()
    units[0, 1] = -1
    for sizes in ((1, 3), (5, 9)):  # five words have passages 2 of the first group and 1 of the second
        q, t = queries.clone().requires_grad_(), tokens.clone().requires_grad_()
        similarities = best_span_similarities(q, t, units, *sizes)
        without = units.amax(-1) + 1 < sizes[0]
        assert torch.equal(similarities == 0, without.unsqueeze(1).expand_as(similarities))
        similarities.sum().backward()
        assert (t.grad[without] == 0).all()  # type: ignore[index]
        assert finite(t.grad, q.grad)
        start, end = find_best_spans(q, t, units, *sizes)
        assert (torch.stack([start, end])[:, similarities == 0] == 0).all()
        assert (end > start)[similarities > 0].all()


def test_zero_vectors_and_what_lies_in_the_padding_give_no_nan() -> None:
    queries, tokens, units = random_groups()
    expected = best_span_similarities(queries, tokens, units, 1, 3)
    tokens[units < 0] = math.nan
    assert torch.equal(best_span_similarities(queries, tokens, units, 1, 3), expected)
    tokens[0, 0] = 0.0
    queries[0, 0] = 0.0
    similarities = best_span_similarities(queries.requires_grad_(), tokens.requires_grad_(), units, 1, 3)
    assert (similarities[0, :, 0] == 0.5).all()  # zero is at a right angle to everything
    assert (similarities[0, 0] == 0.5).all()
    similarities.sum().backward()
    assert finite(tokens.grad, queries.grad)


def test_batches_number_words_or_tokens_and_leave_special_tokens_out(make: Make) -> None:
    rows = [Triple("girls", "the girls, boys", "a"), Triple("", "", "")]
    batch = make(SLICE, "mean").collate(rows[:1])
    assert batch["units"].tolist() == [[[-1, 0, 1, 1, 2, 3, 3, -1], [-1, 0, -1, -1, -1, -1, -1, -1]]]
    assert batch["query_units"].tolist() == [[-1, 0, 0, -1]]
    assert make(SLICE, "mean", words=False).collate(rows[:1])["units"].tolist() == [
        [[-1, 0, 1, 2, 3, 4, 5, -1], [-1, 0, -1, -1, -1, -1, -1, -1]]
    ]
    assert batch["input_ids"][0, 0].tolist() == make(SLICE, "mean").encoder.tokenizer(rows[0].positive)["input_ids"]
    assert batch["attention_mask"].sum(dim=2).tolist() == [[8, 3]]
    with pytest.raises(ValueError, match="row 1"):
        make(SLICE, "mean").collate(rows)


@pytest.mark.parametrize("settings", [{}, {"in_batch": True}])
def test_extreme_passages(make: Make, settings: dict) -> None:
    method = make(SLICE, "mean", max_size=100, scale=10.0, **settings)
    row = Triple("a dog", "dog", "")  # one token, and special tokens alone
    true = slow_similarity(method, "a dog", "dog", range(1, 2))
    loss = method.loss(method.collate([row]))["contrastive"]
    assert loss.item() == pytest.approx(math.log(1 + math.exp(-10 * true)), abs=1e-6)
    loss.backward()
    assert finite(*(p.grad for p in method.encoder.backbone.parameters()))
    nothing = method.loss(method.collate([Triple("a dog", "", "")]))["contrastive"]
    assert nothing.item() == pytest.approx(math.log(2))
    nothing.backward()  # has a graph
    with pytest.warns(UserWarning, match="texts are cut at max_length=64"):
        cut = method.collate([Triple("a dog", "the dog " * 200, "a " * 300)])
    assert cut["input_ids"].shape[2] == method.encoder.max_length
    assert math.isfinite(method.loss(cut)["contrastive"].item())


def test_a_word_of_training_is_a_word_of_the_search() -> None:
    encoder = Encoder.from_pretrained("tiny", pooling="mean", device="cpu")
    text = "They don't sell unfashionable hats, do they?"
    units = SLICE(encoder).collate([Triple("a hat", text, "no")])["units"][0, 0]
    (_, offsets), *_ = encoder.encode_tokens([text])
    edges = word_boundaries(text, offsets)
    assert len(edges) - 1 < len(offsets)  # "don't" is one of them
    inside = units[units >= 0].tolist()
    assert [inside.index(word) for word in range(len(edges) - 1)] == edges[:-1].tolist()


def test_first_and_last_tokens_have_the_value_and_the_gradient_of_the_full_maximum(make: Make) -> None:
    method = make(StartEnd, "mean", max_size=3)
    queries, tokens, units = random_groups()
    queries = torch.cat([queries, queries.flip(-1)], dim=-1).detach().requires_grad_()
    tokens.requires_grad_()
    fast = method.similarities(queries, tokens, units)  # (G, Q, P)
    slow = torch.zeros_like(fast)
    for g, q, p in itertools.product(*map(range, fast.shape)):
        words = [(units[g, p] == word).nonzero().flatten().tolist() for word in range(int(units[g, p].max()) + 1)]
        spans = [words[i : i + size] for size in (1, 2, 3) for i in range(len(words) - size + 1)]
        ends = [torch.cat([tokens[g, p, span[0][0]], tokens[g, p, span[-1][-1]]]) for span in spans]
        slow[g, q, p] = ((1 + F.cosine_similarity(queries[g, q], torch.stack(ends), dim=-1)) / 2).max()
    torch.testing.assert_close(fast, slow)
    weights = torch.randn_like(fast)
    gradients = [torch.autograd.grad((weights * x).sum(), (queries, tokens)) for x in (fast, slow)]
    torch.testing.assert_close(*gradients)


def test_whole_passages_are_the_longest_spans(make: Make) -> None:
    """A passage of n words has one span of n words, and that is all that SLICE sees where nothing shorter counts."""
    method = make(WholePassage, "mean")
    batch = method.collate([Triple(TRIPLES[0].anchor, TRIPLES[0].positive, TRIPLES[0].positive)])
    assert method.loss(batch)["contrastive"].item() == pytest.approx(math.log(2), abs=1e-5)
    queries, tokens, _ = random_groups()
    units = torch.arange(9).expand(2, 4, 9)
    longest = make(SLICE, "mean", min_size=9, max_size=9).similarities(queries, tokens, units)
    torch.testing.assert_close(method.similarities(queries, tokens, units), longest)
    changed, padded = tokens.clone(), units.clone()
    padded[..., 7:] = -1
    changed[..., 7:, :] = 99.0  # padding has no effect
    torch.testing.assert_close(*(method.similarities(queries, x, padded) for x in (tokens, changed)))
    assert (method.similarities(queries, tokens, torch.full_like(units, -1)) == 0).all()


@pytest.mark.parametrize("kind", [StartEnd, WholePassage])
def test_controls_train_and_records_name_them(make: Make, kind: type[SLICE]) -> None:
    assert run.METHODS[kind.__name__] is kind
    method = make(kind, "mean", in_batch=True)
    before = method.loss(method.collate(TRIPLES[::2]))["contrastive"].item()
    fit(method, TRIPLES[::2], TrainConfig(steps=8, batch_size=2, learning_rate=2e-3), progress=False)
    assert method.eval().loss(method.collate(TRIPLES[::2]))["contrastive"].item() < before
