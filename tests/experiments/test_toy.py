"""The generator of the toy world: its words, sentences, gold, tags and roles, and that it is the frozen one."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from experiments import toy
from experiments.toy.corpora import phrase_similarity, relation
from experiments.toy.grammar import OPENERS, ask, asked, forms, frame, render
from experiments.toy.lexicon import FRAMES, SENSES, article, inflect, plural
from experiments.toy.scene import Scene, scenes, score, similarity, split_of

from sentlab import data


@pytest.mark.parametrize(("name", "split"), [("toy-words", "dev"), ("toy-reranking", "dev"), ("toy-phrases", "dev")])
def test_generates_what_the_package_holds(name: str, split: str) -> None:
    assert toy.load(name, split).fingerprint == data.load(name, split).fingerprint


@pytest.mark.slow
@pytest.mark.parametrize("name", toy.NAMES)
def test_generates_all_that_the_package_holds(name: str) -> None:
    for split in ("train", "dev", "test"):
        assert toy.load(name, split).fingerprint == data.load(name, split).fingerprint


def test_another_seed_gives_other_rows() -> None:
    one, other = (toy.load("toy-sts", "dev", seed=seed, size=20) for seed in (0, 1))
    assert not set(one) & set(other)
    assert other.source == "toy world, seed 1"


def test_opposites_are_senses() -> None:
    assert all(SENSES[sense.opposite].opposite for sense in SENSES.values() if sense.opposite)


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


@pytest.mark.parametrize(
    ("verb", "form", "expected"),
    [
        ("run", "ing", "running"), ("fix", "s", "fixes"), ("carry", "past", "carried"), ("lie", "ing", "lying"),
        ("dye", "ing", "dyeing"), ("tear down", "participle", "torn down"), ("play", "past", "played"),
        ("repair", "ing", "repairing"), ("hug", "past", "hugged"), ("visit", "ing", "visiting"),
        ("go away", "s", "goes away"),
        ("say hello to", "past", "said hello to"), ("flee from", "past", "fled from"), ("pick up", "base", "pick up"),
        ("show", "participle", "shown"), ("free", "ing", "freeing"), ("chop", "past", "chopped"),
        ("sew", "ing", "sewing"), ("have", "s", "has"),
    ],
)  # fmt: skip
def test_inflection(verb: str, form: str, expected: str) -> None:
    assert inflect(verb, form) == expected


def test_plurals_and_articles() -> None:
    nouns = ["woman", "police officer", "thief", "boss", "lady", "boy", "church", "child", "staff member", "bike rider"]
    assert [plural(n) for n in nouns] == [
        "women", "police officers", "thieves", "bosses", "ladies", "boys", "churches", "children",
        "staff members", "bike riders",
    ]  # fmt: skip
    assert [article(p) for p in ("old man", "uniform", "ugly house", "TV")] == ["an", "a", "an", "a"]


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
    found = {split: list(scenes(split, 0, 3000)) for split in ("train", "dev", "test")}
    meanings = {split: {s.meaning for s in some} for split, some in found.items()}
    assert all(len(m) == 3000 for m in meanings.values())
    assert len(set().union(*meanings.values())) == 9000
    assert all(split_of(s.core) == split for split, some in found.items() for s in some)


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


def test_tags_by_hand() -> None:
    tagged = """
    the/DT farmer/NN is/VBZ not/RB watering/VBG the/DT roses/NNS ./.
    water/NN was/VBD being/VBG drunk/VBN by/IN the/DT cook/NN in/IN the/DT swimming/NN pool/NN ./.
    two/CD cooks/NNS water/VBP the/DT tree/NN and/NN drink/VBP water/NN ./.
    it/PRP was/VBD the/DT nurse/NN who/WP sent/VBD the/DT letter/NN to/TO a/DT police/NN officer/NN ./.
    the/DT letter/NN that/WDT the/DT nurse/NN sent/VBD to/TO the/DT pilot/NN was/VBD brief/JJ ./.
    a/DT pupil/NN who/WP was/VBD wealthy/JJ mailed/VBD the/DT worn/JJ dress/NN ,/, yesterday/RB ./.
    with/IN a/DT saw/NN ,/, the/DT carpenter/NN saw/VBD three/CD old/JJ sheep/NNS and/NN a/DT sheep/NN ./.
    where/WRB was/VBD the/DT old/JJ map/NN mailed/VBN by/IN the/DT guard/NN ?/.
    where/WRB did/VBD the/DT guard/NN cut/VB the/DT rope/NN ?/.
    what/WP is/VBZ the/DT best/JJS way/NN to/TO clean/VB clean/JJ plates/NNS ?/.
    do/VBP you/PRP know/VB who/WP read/VBD the/DT play/NN ?/.
    there/EX is/VBZ a/DT boy/NN quickly/RB drawing/VBG a/DT drawing/NN of/IN chess/NN ./.
    after/IN the/DT lunch/NN break/NN ,/, the/DT boys/NNS break/VBP the/DT washing/NN machine/NN ./.
    the/DT girl/NN was/VBD happily/RB taking/VBG a/DT walk/NN on/IN Monday/NNP ./.
    The/DT lad/NN does/VBZ not/RB let/VB go/VB of/IN the/DT rope/NN ./.
    photograph/VB a/DT swan/NN
    wooden/JJ watch/NN
    tear/VB down/RP the/DT barn/NN
    Zyzzyva/NN
    """
    for line in tagged.strip().splitlines():
        words, tags = zip(*(item.rsplit("/", 1) for item in line.split()), strict=True)
        assert toy.tag(words) == list(tags), line


def test_tags_agree_with_the_roles_of_a_sentence() -> None:
    checked = Counter[str]()
    for number, scene in enumerate(scenes("test", "tags", 1500)):
        sentence = render(scene, Random(number))
        words = [(m[0], m.start()) for m in re.finditer(r"[\w'-]+|[.,]", sentence.text)]
        tags = toy.tag([word for word, _ in words])
        assert tags[-1] == "."
        for role, start, end in sentence.spans:
            said = [name for (_, at), name in zip(words, tags, strict=True) if start <= at < end]
            text = sentence.text[start:end]
            if role in ("agent", "theme", "recipient", "tool") and not re.search(r"\b(of|who|that)\b", text):
                assert said[-1][:2] == "NN", (sentence.text, text, said)
                assert not any(name.startswith("V") for name in said), (sentence.text, text, said)
            elif role == "event":
                assert said[0][0] == "V", (sentence.text, text, said)
                passive = "passive" in sentence.form
                assert not passive or said[0] == "VBN", (sentence.text, text, said)
                assert passive or said[0] != "VBN", (sentence.text, text, said)
            elif role.endswith("_attr"):
                assert said == ["JJ"], (sentence.text, text, said)
            elif role == "manner" and " " not in text:
                assert said == ["RB"], (sentence.text, text, said)
            else:
                continue
            checked[role] += 1
    assert min(checked[role] for role in ("agent", "theme", "recipient", "tool", "event", "theme_attr", "manner")) > 20


@pytest.mark.realdata
def test_tags_agree_with_nltk_s(real_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nltk
    from nltk.tag.perceptron import PerceptronTagger

    monkeypatch.setattr(nltk.data, "path", [*nltk.data.path, str(real_data / "nltk_data")])
    try:
        tagger = PerceptronTagger()
    except LookupError:
        pytest.skip(f"NLTK's averaged_perceptron_tagger_eng is not in {nltk.data.path}; set NLTK_DATA")
    pairs = Counter[bool]()
    for text in data.load("toy-sentences")[:300]:
        words = re.findall(r"[\w'-]+|[.,]", text)
        pairs.update(a == b for a, (_, b) in zip(toy.tag(words), tagger.tag(words), strict=True))
    assert pairs[True] / pairs.total() > 0.95


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


def test_roles_are_those_of_the_sentence() -> None:
    scene = Scene("v/send", "n/nurse", "n/postcard", "n/pilot", theme_attr="a/funny", past=True)
    for form in forms(scene):
        found = frame(render(scene, Random(form), form=form))
        assert set(found) == {"ARG0", "PRED", "ARG1"}
        assert re.sub("^(a|the) ", "", found["ARG0"].lower()) == "nurse"
        assert re.search("postcard", found["ARG1"])
        assert found["PRED"] in ("sent", "mailed")
    negated = render(Scene("v/sleep", agent="n/dog", past=True, negated=True), Random(0), form="active")
    assert {role: words for role, words in frame(negated).items() if role != "ARG0"} in (
        {"PRED": "sleep", "ARGM-NEG": "not"},
        {"PRED": "take a nap", "ARGM-NEG": "not"},
    )
    bought = render(Scene("v/sell", "n/farmer", "n/horse", "n/woman", past=True), Random(0), form="converse")
    assert frame(bought)["ARG0"].lower().endswith((" woman", " lady"))  # who buys does what the verb says
    assert frame(bought)["PRED"] in ("bought", "purchased")


def test_roles_of_the_corpus() -> None:
    for split in ("train", "dev", "test"):
        for sentence in data.load("toy-sentences", split):
            (found,) = toy.roles(sentence)
            assert found["PRED"]
            assert ("ARGM-NEG" in found) == (" not " in sentence)
            assert all(words in sentence for words in found.values())
    toy.roles(sentence)[0].clear()
    assert toy.roles(sentence) == [found]
