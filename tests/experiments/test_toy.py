"""The generator of the toy world: its words, sentences and gold, and that it is the frozen one."""

from __future__ import annotations

import re
from random import Random

import pytest
from experiments import toy
from experiments.toy.corpora import phrase_similarity, relation
from experiments.toy.grammar import OPENERS, ask, asked, forms, render
from experiments.toy.lexicon import FRAMES, SENSES, article
from experiments.toy.scene import Scene, scenes, score, similarity

from sentlab import data


@pytest.mark.parametrize(("name", "split"), [("toy-words", "dev"), ("toy-reranking", "dev"), ("toy-phrases", "dev")])
def test_generates_what_the_package_holds(name: str, split: str) -> None:
    assert toy.load(name, split).fingerprint == data.load(name, split).fingerprint


@pytest.mark.slow
@pytest.mark.parametrize("name", toy.NAMES)
def test_generates_all_that_the_package_holds(name: str) -> None:
    for split in ("train", "dev", "test"):
        assert toy.load(name, split).fingerprint == data.load(name, split).fingerprint


def test_every_frame_has_several_forms_and_every_form_occurs() -> None:
    said: dict[str, set[str]] = {}
    for scene in scenes("train", 0, 6000):
        said.setdefault(scene.event, set()).update(forms(scene))
    assert set(said) == set(FRAMES)
    assert min(map(len, said.values())) >= 5
    assert len(set().union(*said.values())) == 13


def test_forms_of_one_scene() -> None:
    scene = Scene("v/send", "n/nurse", "n/postcard", "n/pilot", theme_attr="a/funny", past=True)
    said = {form: render(scene, Random(form), form=form).text.lower() for form in forms(scene)}
    same = {" funny": " amusing", "mailed": "sent"}
    some = {form: re.sub(r"\b(a|an|the|some) ", "", t) for form, t in said.items()}
    some = {form: re.sub(" funny|mailed", lambda m: same[m[0]], t) for form, t in some.items()}
    assert some["dative"] == "nurse sent pilot amusing postcard."
    assert some["recipient passive"] == "pilot was sent amusing postcard by nurse."
    assert some["relative theme"] == "postcard that nurse sent to pilot was amusing."
    assert some["cleft agent"] == "it was nurse who sent amusing postcard to pilot."
    assert "sent to pilot by nurse" in some["passive"]


def test_articles() -> None:
    phrases = ("old man", "uniform", "hour", "ugly house", "TV")
    assert [article(phrase) for phrase in phrases] == ["an", "a", "an", "an", "a"]


def test_score_by_hand() -> None:
    one = Scene("v/repair", "n/mechanic", "n/van", place="c/in the garage")
    assert similarity("n/van", "n/car") == 0.4
    assert similarity("n/van", "n/#vehicle") == 0.8
    assert similarity("n/boy", "n/girl") == 0.1
    # event 4 + agent 3 + theme 3 * 0.4 + place 1 * 0.6 of 11
    assert score(one, Scene("v/repair", "n/mechanic", "n/car")) == round(5 * 8.8 / 11, 1) == 4.0
    # opposite event 4 * 0.1 + agent 3 + theme 3 + place 1 of 11
    assert (
        score(one, Scene("v/damage", "n/mechanic", "n/van", place="c/in the garage")) == round(5 * 7.4 / 11, 1) == 3.4
    )
    # nothing shared but two kinds of person (worker and professional: 4 steps, 0.1); the other's frame has no theme
    assert score(one, Scene("v/laugh", "n/doctor")) == round(5 * 3 * 0.1 / 11, 1) == 0.1
    # the same but for the polarity is capped
    assert score(one, Scene("v/repair", "n/mechanic", "n/van", place="c/in the garage", negated=True)) == 2.0


def test_score_is_symmetric_and_5_for_the_same() -> None:
    some = list(scenes("train", 1, 200))
    for one, two in zip(some, reversed(some), strict=True):
        assert score(one, one) == 5.0
        assert score(one, two) == score(two, one)
        assert 0.0 <= score(one, two) <= 5.0


def test_splits_share_no_scene() -> None:
    drawn = {split: list(scenes(split, 0, 3000)) for split in ("train", "dev", "test")}
    assert len({scene.meaning for some in drawn.values() for scene in some}) == 9000
    cores = [{scene.core for scene in some} for some in drawn.values()]
    assert sum(map(len, cores)) == len(set().union(*cores))


def test_phrases() -> None:
    van, car, vehicle = ("a/red", "n/van"), ("n/car",), ("n/#vehicle",)
    assert (relation(van, van), relation(van, vehicle), relation(vehicle, van), relation(van, car)) == (
        "equivalence", "entailment", "independent", "independent",
    )  # fmt: skip
    assert phrase_similarity(van, vehicle) == pytest.approx((3 * 0.8 + 0.6) / 4)


def test_synonyms_of_inflected_words() -> None:
    assert toy.synonyms("dogs") == ("hounds",)
    assert toy.synonyms("ladies") == ("women",)
    assert toy.synonyms("fixes") == ("repairs", "mends")
    assert toy.synonyms("removes") == ("takes off",)
    assert toy.synonyms("sketching") == ("drawing",)
    assert toy.synonyms("hidden") == ("concealed",)
    assert toy.synonyms("concealed") == ("hid", "hidden")  # it is both forms
    assert toy.synonyms("cut") == ("chop", "slice", "chopped", "sliced")
    assert toy.synonyms("waters") == ()  # of a verb that has none, and of a noun that has no plural
    for word in sorted({text for sense in SENSES.values() for text in sense.words}):
        assert all(word in toy.synonyms(other) and other != word for other in toy.synonyms(word))


def test_questions() -> None:
    scene = Scene("v/steal", "n/thief", "n/crown", place="c/in the palace", time="c/at night", past=True)
    assert asked(scene, "how") is None
    for kind in ("who", "where", "when", "why"):
        question = asked(scene, kind)
        assert question is not None
        said = {ask(question, kind, Random(f"{kind} {i}")).text for i in range(60)}
        assert all(t.endswith("?") for t in said)
        assert all(("night" in t) == (kind != "when") and ("palace" in t) == (kind != "where") for t in said)
        assert len(said) >= len(OPENERS[kind])
        assert any("stolen" in t for t in said)
