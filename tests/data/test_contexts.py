"""Phrases in contexts: verbatim where they say, the same every time, carriers apart, generators that misbehave."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from sentlab import data
from sentlab.data.contexts import (
    CARRIERS,
    TEST_CARRIERS,
    TRAIN_CARRIERS,
    TRIES,
    in_context,
    stsb_in_context,
    triples_in_context,
)
from sentlab.data.rows import Corpus, LabelledPair, PhraseInContext, ScoredPair, Triple

PHRASES = [
    "A man is playing a guitar.",
    "Syrian forces kill ten",
    '"Why {not}?" he asked.',
    "  I live in the U.S.  ",
    "e",
    "Two dogs (both wet) ran . ",
    "And so on...",
]
SET = [  # as they stand in a carrier
    "a man is playing a guitar",
    "Syrian forces kill ten",
    '"Why {not}?" he asked',
    "I live in the U.S.",
    "e",
    "two dogs (both wet) ran",
    "And so on...",
]


def scored(name: str, *rows: object, split: str = "dev") -> Corpus:
    return Corpus(name, split, rows, "my file", {"no gold": 2})


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_carriers_hold_each_phrase_verbatim_where_they_say(split: str) -> None:
    passages = in_context(PHRASES, split=split)
    assert [text[start:end] for text, start, end in passages] == SET
    for text, start, end in passages:
        assert text[:start] + "{}" + text[end:] in CARRIERS[split]


def test_equal_arguments_give_equal_passages_and_seeds_give_others() -> None:
    many = PHRASES * 5
    assert in_context(many) == in_context(iter(many)) == in_context(many, seed=0, split="dev")
    assert in_context(many) != in_context(many, seed=1)
    assert len({text for text, _, _ in in_context(["It rains."] * 200)}) == len(TEST_CARRIERS)
    assert in_context([]) == []


def test_no_carrier_of_training_is_one_of_testing() -> None:
    assert not set(TRAIN_CARRIERS) & set(TEST_CARRIERS)
    assert len(TRAIN_CARRIERS) == len(TEST_CARRIERS) == 20
    clauses = [
        {part.strip(" ,.") for carrier in half for part in re.split(r"{}|, ", carrier)} - {""}
        for half in (TRAIN_CARRIERS, TEST_CARRIERS)
    ]
    assert not clauses[0] & clauses[1]
    for carrier in TRAIN_CARRIERS + TEST_CARRIERS:
        before, after = carrier.split("{}")
        assert min(len(before.split()), len(after.split())) >= 4
        assert (before[-1], after[:2], after[-1]) == (" ", ", ", ".")


def generator(*texts: str) -> tuple[Callable[[str], str], list[str]]:
    """Gives these texts one after the other, and notes what it was asked."""
    asked: list[str] = []

    def write(prompt: str) -> str:
        asked.append(prompt)
        return texts[len(asked) - 1]

    return write, asked


@pytest.mark.parametrize(
    ("phrase", "text", "found"),
    [
        ("A dog runs.", "Look, a dog runs, and then it sleeps.", "a dog runs"),
        ("a dog runs", " A dog runs. So it does. ", "A dog runs"),
        ("A dog runs.", "We saw that A dog runs.", "A dog runs"),
        ("cat", "The category of a cat.", "cat"),
        ("1.5 (or so)", "It is 1.5 (or so) they say", "1.5 (or so)"),
        ("Émile sings", "Then émile sings again", "émile sings"),
    ],
)
def test_a_generator_s_text_is_taken_if_it_holds_the_phrase(phrase: str, text: str, found: str) -> None:
    write, asked = generator(text)
    ((kept, start, end),) = in_context([phrase], write)
    assert (kept, kept[start:end]) == (text.strip(), found)
    assert text[:1].isspace() or kept.index(found) <= start
    assert len(asked) == 1


@pytest.mark.parametrize(
    "text",
    [
        "A dog ran in the park.",
        "Look, a Dog runs.",
        "Look, a dog  runs.",
        "Hardly a dog runsx there.",
        "Banana dog runs",
        "A dog runs.",
        "“a dog runs” …",
        "",
    ],
)
def test_a_text_that_changes_the_phrase_or_is_nothing_else_is_asked_for_again(text: str) -> None:
    good = "Yesterday, a dog runs home."
    write, asked = generator(*[text] * (TRIES - 1), good)
    assert in_context(["A dog runs."], write)[0].text == good
    assert len(asked) == TRIES
    write, _ = generator("Here a cat sleeps.", *[text] * TRIES)
    with pytest.raises(ValueError, match=rf"none of {TRIES} texts .* verbatim.*'A dog runs\.'"):
        in_context(["A cat sleeps.", "A dog runs."], write)


def test_the_prompt_is_the_paper_s_with_phrase_and_a_letter_drawn_anew() -> None:
    phrases = [f"dog {n} {{runs}}." for n in range(100)]

    def echo(prompt: str) -> str:
        asked.append(prompt)
        return f"So {prompt.rpartition('the phrase is: ')[2]} Indeed."

    asked: list[str] = []
    in_context(phrases, echo)
    assert "use the phrase verbatim. The sentence should also start with the letter" in asked[0]
    assert [prompt.rpartition("the phrase is: ")[2] for prompt in asked] == phrases
    letters = [re.search("the letter ([A-Z]) the phrase", prompt)[1] for prompt in asked]  # type: ignore[index]
    assert len(set(letters)) > 15
    first = list(asked)
    asked.clear()
    in_context(phrases, echo)
    assert asked == first
    asked.clear()
    in_context(phrases, echo, seed=1)
    assert asked != first


def test_bad_arguments_are_named() -> None:
    with pytest.raises(TypeError, match="one string, 'a dog'"):
        in_context("a dog")
    for blank in ("", " \n", "."):
        with pytest.raises(ValueError, match="text 1 has no phrase"):
            in_context(["a", blank])
    with pytest.raises(ValueError, match="split is one of train, dev, test, not 'all'"):
        in_context(["a"], split="all")
    with pytest.raises(TypeError, match="'a dog' it made a NoneType"):
        in_context(["a dog"], lambda prompt: None)  # type: ignore[arg-type, return-value]


def test_scored_pairs_in_context_keep_phrase_gold_and_order() -> None:
    rows = [ScoredPair("The girl sings.", "A girl sings.", 4.5), ScoredPair("Two cats sleep.", "Syria votes", 0.25)]
    found = stsb_in_context(scored("mine", *rows))
    assert [(row.phrase, row.score) for row in found] == [("The girl sings.", 4.5), ("Two cats sleep.", 0.25)]
    assert [row.context[row.start : row.end] for row in found] == ["a girl sings", "Syria votes"]
    assert (found.name, found.split, found.left_out) == ("mine-context", "dev", {"no gold": 2})
    assert found.source == "carriers, seed 0, around second texts of my file"
    texts = in_context(["A girl sings.", "Syria votes"], split="dev")
    assert [(row.context, row.start, row.end) for row in found] == texts
    train = stsb_in_context(scored("mine", *rows, split="train"))
    assert {row.context for row in train}.isdisjoint(row.context for row in found)
    with pytest.raises(ValueError, match=r"mine \(dev\) must hold ScoredPair rows; it holds LabelledPair"):
        stsb_in_context(scored("mine", LabelledPair("a", "b", "neutral")))
    with pytest.raises(TypeError, match="give a Corpus, not a list"):
        stsb_in_context(rows)  # type: ignore[arg-type]


def no_cats(prompt: str) -> str:
    return f"Here is {prompt.rpartition(': ')[2]}, look.".replace("cat", "animal")


def test_pairs_that_the_generator_fails_on_are_left_out_and_counted() -> None:
    rows = [ScoredPair(f"q {word}", f"the {word}", 3.0) for word in ("dog", "cat", "horse")]
    found = stsb_in_context(scored("mine", *rows), no_cats)
    assert list(found) == [
        PhraseInContext("q dog", "Here is the dog, look.", 8, 15, 3.0),
        PhraseInContext("q horse", "Here is the horse, look.", 8, 17, 3.0),
    ]
    assert found.left_out == {"no gold": 2, "not verbatim in its passage": 1}
    assert found.source == "texts by no_cats, seed 0, around second texts of my file"


def test_triples_are_made_of_pairs_that_say_the_same() -> None:
    sts = scored("a", ScoredPair("q1", "Pos one.", 4.0), ScoredPair("q2", "pos two", 3.9), ScoredPair("q3", "p3", 5.0))
    nli = scored("b", LabelledPair("q4", "p4", "entailment"), LabelledPair("q5", "p5", "neutral"))
    found = triples_in_context(sts, nli)
    assert all(isinstance(row, Triple) for row in found)
    assert [row.anchor for row in found] == ["q1", "q3", "q4"]
    passages = [text for text, _, _ in in_context(["Pos one.", "p3", "p4"], split="train")]
    assert [row.positive for row in found] == passages
    assert all(row.negative in passages and row.negative != row.positive for row in found)
    assert (found.name, found.split) == ("triples-in-context", "train")
    assert found.left_out == {"no gold": 4, "pair that does not say the same": 2}
    assert found == triples_in_context(sts, nli) != triples_in_context(sts, nli, seed=1)


def test_a_negative_shares_no_text_with_its_row() -> None:
    pairs = [("A dog runs.", "p1"), ("a dog runs ", "p2"), ("q", "A dog runs."), ("other", "apart")]
    for seed in range(5):
        found = triples_in_context(scored("a", *(LabelledPair(a, b, "entailment") for a, b in pairs)), seed=seed)
        assert all("apart" in row.negative for row in found[:3])
        assert "apart" not in found[3].negative
    with pytest.raises(ValueError, match=r"all of the 3 pairs share a text with this one: 'A dog runs\.'"):
        triples_in_context(scored("a", *(ScoredPair(a, b, 5.0) for a, b in pairs[:3])))
    with pytest.raises(ValueError, match=r"must hold ScoredPair or LabelledPair rows; it holds Triple"):
        triples_in_context(scored("a", Triple("a", "b", "c")))
    with pytest.raises(TypeError, match="give a Corpus, not a list"):
        triples_in_context([ScoredPair("a", "b", 5.0)])  # type: ignore[arg-type]


def test_mined_negatives_have_words_of_the_phrase() -> None:
    kinds = ("sailing boat", "brown dog", "steam train")
    pairs = [
        (f"a {kind} {n}", f"the {kind}, {word}") for kind in kinds for n, word in enumerate(("one", "two", "three"))
    ]
    corpus = scored("a", *(LabelledPair(a, b, "entailment") for a, b in pairs), LabelledPair("xyz", "q", "entailment"))
    for seed in range(3):
        found = triples_in_context(corpus, seed=seed, mined=2)
        for (phrase, _), row in zip(pairs, found, strict=False):
            kind = phrase[2:-2]
            assert kind in row.negative
            assert row.negative != row.positive
    assert found.name == "triples-in-context-bm25"
    assert [row.positive for row in found] == [row.positive for row in triples_in_context(corpus, seed=2)]
    with pytest.raises(ValueError, match="mined is a number of passages from 1 on, or None, not 0"):
        triples_in_context(corpus, mined=0)


def test_triples_leave_out_what_the_generator_fails_on() -> None:
    rows = [ScoredPair(f"q {word}", f"the {word}", 5.0) for word in ("dog", "cat", "horse")]
    found = triples_in_context(scored("a", *rows), write=no_cats)
    assert [(row.anchor, row.positive) for row in found] == [
        ("q dog", "Here is the dog, look."),
        ("q horse", "Here is the horse, look."),
    ]
    assert [row.negative for row in found] == [row.positive for row in found][::-1]
    assert found.left_out == {"no gold": 2, "not verbatim in its passage": 1}


def test_sts_b_in_context_is_loaded_by_name(tmp_path: Path) -> None:
    (tmp_path / "stsbenchmark").mkdir()
    for split in ("train", "dev", "test"):
        line = f"main\tMSRvid\t2012\t1\t2.5\tA dog runs.\tA {split} cat sleeps.\n"
        (tmp_path / f"stsbenchmark/sts-{split}.csv").write_text(line)
        (row,) = found = data.load("stsb-context", split, tmp_path)
        assert (row.phrase, row.score) == ("A dog runs.", 2.5)
        assert row.context[row.start : row.end] == f"a {split} cat sleeps"
        assert row.context[: row.start] + "{}" + row.context[row.end :] in CARRIERS[split]
        assert (found.name, found.split) == ("stsb-context", split)
        assert found == data.load("stsb-context", split, tmp_path)
        assert "sts-" in found.source


@pytest.mark.realdata
@pytest.mark.parametrize(("split", "rows"), [("train", 5749), ("dev", 1500), ("test", 1379)])
def test_public_sts_b_in_context(real_data: Path, split: str, rows: int) -> None:
    found, pairs = (data.load(name, split, real_data) for name in ("stsb-context", "stsb"))
    assert len(found) == len(pairs) == rows
    for row, pair in zip(found, pairs, strict=True):
        assert (row.phrase, row.score) == (pair.text_a, pair.score)
        said = row.context[row.start : row.end]
        assert said[1:] in (pair.text_b[1:], pair.text_b[1:-1].rstrip())
        assert said[0].lower() == pair.text_b[0].lower()
        assert len(row.context.split()) >= len(pair.text_b.split()) + 8
