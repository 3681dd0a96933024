"""Word and phrase data: readers on small files that the tests write, WordNet's relations, and the public files."""

from __future__ import annotations

import gzip
import math
from collections import Counter
from itertools import pairwise, product
from pathlib import Path

import pytest

from sentlab import data
from sentlab.data import catalog, lexical_relations, toy
from sentlab.data.readers import lexical
from sentlab.data.rows import LabelledPair, PhrasePair, WordPair, WordPairInContext


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def same(a: str, b: str) -> PhrasePair:
    """An equivalence without a score; only this very nan makes rows compare as equal."""
    return PhrasePair(a, b, "equivalence", math.nan)


SIMLEX = "word1\tword2\tPOS\tSimLex999\tconc(w1)\tconc(w2)\tconcQ\tAssoc(USF)\tSimAssoc333\tSD(SimLex)\n"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("old\tnew\t1.58\nOPEC\tcountry\t5\n", [WordPair("old", "new", 1.58), WordPair("OPEC", "country", 5.0)]),
        (
            "sun sunlight 50.000000\r\nice cream  3\r\n",
            [WordPair("sun", "sunlight", 50.0), WordPair("ice", "cream", 3)],
        ),
        ("ice cream\tcold dish\t7\n", [WordPair("ice cream", "cold dish", 7.0)]),
        (SIMLEX + "old\tnew\tA\t1.58\t2.72\t2.81\t2\t7.25\t1\t0.41\n", [WordPair("old", "new", 1.58)]),
        ("", []),
    ],
)
def test_word_pairs_in_every_layout(tmp_path, text, rows):
    assert lexical.read_word_pairs(write(tmp_path / "pairs.txt", text)) == (rows, {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\t1\nc\td\n", r"pairs\.txt:2: expected 3 columns, .*found \['c', 'd'\]"),
        ("a b 1 2\n", r"pairs\.txt:1: expected 3 columns"),
        ("a\t \t1\n", r"pairs\.txt:1: expected 3 columns, words and score filled"),
        ("a\tb\t1\n\nc\td\t1\n", r"pairs\.txt:2: expected 3 columns"),
        ("a\tb\thigh\n", r"pairs\.txt:1: expected a score from 0 to 50, found 'high'"),
        ("a\tb\t1e9\n", r"pairs\.txt:1: expected a score from 0 to 50, found '1e9'"),
        ("a\tb\tnan\n", r"pairs\.txt:1: expected a score from 0 to 50, found 'nan'"),
        (SIMLEX + "old\tnew\t1.58\n", r"pairs\.txt:2: expected 10 columns"),
        ("word1\tSimLex999\n", r"pairs\.txt:1: expected a header row with .*no word2"),
    ],
)
def test_word_pairs_name_the_faulty_line(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        lexical.read_word_pairs(write(tmp_path / "pairs.txt", text))


def scws_line(a: str, b: str, word_a: str = "bank", word_b: str = "bank", score: str = "2.5") -> str:
    return "\t".join(["7", word_a, "n", word_b, "n", a, b, score, *["1.0"] * 10]) + "\n"


def test_scws_takes_the_marks_out_and_keeps_the_places(tmp_path):
    text = scws_line("the <b> Bank </b> lent", "<b> banks </b> of a  river") + scws_line("a <b>x</b>", "b <b> y </b> .")
    first, second = lexical.read_scws(write(tmp_path / "ratings.txt", text)).rows
    assert first == WordPairInContext("bank", "bank", 2.5, "the Bank lent", (4, 8), "banks of a river", (0, 5))
    assert (second.context_a, second.span_a, second.context_b, second.span_b) == ("a x", (2, 3), "b y .", (2, 3))


def test_word_pairs_off_their_scale_are_refused_by_name(tmp_path):
    folder = tmp_path / "wordsim"
    folder.mkdir()
    write(folder / "EN-MEN-TR-3k.txt", "sun sunlight 50\n")
    write(folder / "EN-SIMLEX-999.txt", "old new 10\nold young 10.5\n")
    assert data.load("men", folder=tmp_path).rows == (WordPair("sun", "sunlight", 50.0),)
    with pytest.raises(ValueError, match=r"EN-SIMLEX-999\.txt:2: expected a score from 0 to 10, found '10\.5'"):
        data.load("simlex", folder=tmp_path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (scws_line("a bank", "<b> bank </b>"), "exactly one <b> word </b> in each context, found 'a bank'"),
        (scws_line("<b> x </b> <b> y </b>", "<b> bank </b>"), "exactly one <b> word </b>"),
        (scws_line("</b> x <b>", "<b> bank </b>"), "exactly one <b> word </b>"),
        (scws_line("a <b> </b>", "<b> bank </b>"), "exactly one <b> word </b>"),
        (scws_line("<b> x </b>", "<b> y </b>", score="many"), "expected a score from 0 to 10, found 'many'"),
        (scws_line("<b> x </b>", "<b> y </b>", word_b=" "), "18 tab-separated columns with words in 2 and 4"),
        ("1\tbank\tn\n", "expected 18 tab-separated columns .*found 3"),
    ],
)
def test_scws_names_the_faulty_line(tmp_path, line, message):
    good = scws_line("<b> x </b>", "<b> y </b>")
    with pytest.raises(ValueError, match=rf"ratings\.txt:2: .*{message}"):
        lexical.read_scws(write(tmp_path / "ratings.txt", good + line))


def test_semeval_items(tmp_path):
    text = "sudden\tJJ\nrush\tNN\nspate\n1\n\t\nbook\tNN\nfacebook\n0\nlight\tJJ\nsleigh\tNN\ngangway\n0\n"
    assert lexical.read_semeval_5a(write(tmp_path / "en.testSet", text)) == (
        [LabelledPair("sudden rush", "spate", "similar"), LabelledPair("light sleigh", "gangway", "dissimilar")],
        {"blank word": 1},
    )


def test_bigram_items(tmp_path):
    text = "red\tJJ\ntape\tNN\nbureaucracy\n\t\nmop\tVB\ncmp\nuser\tNN\nname\tNN\n\n"
    read = lexical.read_ppdb_bigrams(write(tmp_path / "b2u", text))
    assert read == ([same("red tape", "bureaucracy")], {"blank word": 2})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tX\nb\tX\nc\n1\na\tX\nb\tX\n", r":5: expected items of 4 lines, but the file ends 2 short"),
        ("a\tX\nb\nc\n1\n", r":1: expected word<TAB>tag, word<TAB>tag and a single word, found"),
        ("a\tX\nb\tX\nc\n1\n1\na\tX\nb\tX\nc\n", r":5: expected word<TAB>tag"),
        ("a\tX\nb\tX\nc\tX\n1\n", r":1: expected word<TAB>tag"),
        ("a\tX\nb\tX\nc\n2\n", r":1: expected 0 or 1 on the fourth line of this item, found '2'"),
    ],
)
def test_semeval_names_the_faulty_item(tmp_path, text, message):
    with pytest.raises(ValueError, match=rf"en\.testSet{message}"):
        lexical.read_semeval_5a(write(tmp_path / "en.testSet", text))


def test_synonyms_are_pairs_without_order(tmp_path):
    path = write(tmp_path / "synonyms.txt", "modelling modeling\nmodeling modelling\nx X\na b\na b\nb c")
    assert lexical.read_ppdb_synonyms(path) == (
        [same("modelling", "modeling"), same("a", "b"), same("b", "c")],
        {"repeated pair": 2, "equal but for case": 1},
    )
    with pytest.raises(ValueError, match=r"synonyms\.txt:2: expected two words .*found 3"):
        lexical.read_ppdb_synonyms(write(path, "a b\na b c\n"))


def ppdb_line(a: str, b: str, label: str, features: str = "PPDB2.0Score=5.1 Equivalence=0.25", bar: str = " ||| "):
    return bar.join(["[NP]", a, b, features, "0-0", label]) + "\n"


def test_ppdb_relations_scores_and_what_is_left_out(tmp_path):
    probabilities = (
        "PPDB2.0Score=5.36 PPDB1.0Score=3.84 -logp(e1|e2)=2.4 Abstract=0 Equivalence=0.520898 Exclusion=0.1 "
        "Independent=0.2 MVLSASim=NA OtherRelated=0 ForwardEntailment=0.398592"
    )
    lines = [
        ppdb_line("different parts of the world", "various parts of the world", "Equivalence", probabilities),
        ppdb_line("the results", "the outcome", "ForwardEntailment", bar="|||"),
        ppdb_line("the outcome", "the results", "ReverseEntailment", "Equivalence=1e-3 AGigaSim=0.9"),
        ppdb_line("hundreds", "thousands", "Independent", "Equivalence=NA"),
        ppdb_line("some", "many", "Independent", "NonEquivalence=0.5"),
        ppdb_line("all", "none", "Exclusion"),
        ppdb_line("all", "every one", "OtherRelated"),
        ppdb_line("all", "nothing", "Exclusion"),
        ppdb_line("of [NP,1]", "by [NP,1]", "Equivalence"),
        ppdb_line("as [NP/NP,1] did", "as done", "Equivalence"),
        ppdb_line("one two three four five six", "six", "Equivalence"),
        ppdb_line("seven", "one two three four five six seven", "Equivalence"),
        ppdb_line("the UN", "The un", "Equivalence"),
        ppdb_line("", "x", "Equivalence"),
    ]
    read = lexical.read_ppdb(write(tmp_path / "ppdb-2.0-s-phrasal", "".join(lines)))
    assert [(row.phrase_a, row.phrase_b, row.relation) for row in read.rows] == [
        ("different parts of the world", "various parts of the world", "equivalence"),
        ("the results", "the outcome", "entailment"),
        ("the outcome", "the results", "entailment"),
        ("hundreds", "thousands", "independent"),
        ("some", "many", "independent"),
        ("one two three four five six", "six", "equivalence"),
    ]
    assert [row.score for row in read.rows] == pytest.approx(
        [0.520898, 0.25, 0.001, math.nan, math.nan, 0.25], nan_ok=True
    )
    assert read.left_out == {
        "labelled Exclusion": 2,
        "labelled OtherRelated": 1,
        "nonterminal": 2,
        "more than 6 words": 1,
        "equal but for case": 1,
        "blank phrase": 1,
    }
    assert len(read.rows) + sum(read.left_out.values()) == len(lines)
    packed = lexical.read_ppdb(write(tmp_path / "x.gz", gzip.compress("".join(lines).encode())))
    assert [repr(row) for row in packed.rows] == [repr(row) for row in read.rows]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[NP] ||| a ||| b ||| Equivalence=1 ||| 0-0\n", r":2: expected PPDB 2\.0's 6 fields .*found 5"),
        ("\n", r":2: expected PPDB 2\.0's 6 fields .*found 1"),
        (ppdb_line("a", "b", "Entailment"), r":2: expected a label out of Equivalence, .*found 'Entailment'"),
        (
            ppdb_line("a", "b", "Independent", "Equivalence=5.2"),
            r":2: expected a score from 0 to 1, found '5\.2'",
        ),
        (ppdb_line("a", "b", "Independent", "Equivalence="), r":2: expected a score from 0 to 1, found ''"),
        (b"\xff\n", r":2: expected UTF-8, found byte 0xff"),
    ],
)
def test_ppdb_names_the_faulty_line(tmp_path, line, message):
    good = ppdb_line("a", "b", "Independent").encode()
    path = write(tmp_path / "ppdb", good + (line if isinstance(line, bytes) else line.encode()))
    with pytest.raises(ValueError, match=f"ppdb{message}"):
        lexical.read_ppdb(path)


@pytest.mark.parametrize(
    "content",
    [gzip.compress(b"x" * 999)[:-9], b"plain text", gzip.compress(b"")[:8] + b"\xff" * 20],
    ids=["cut off", "not packed", "spoilt"],  # gzip writes the time, and all workers must know a test by one name
)
def test_ppdb_names_a_broken_gzip_file(tmp_path, content):
    with pytest.raises(ValueError, match=r"x\.gz: not a whole gzip file"):
        lexical.read_ppdb(write(tmp_path / "x.gz", content))


@pytest.mark.parametrize("bar", [" ||| ", "|||"])
def test_rows_come_back_from_every_format(tmp_path, bar):
    words = list(toy.load("toy-words", "test", size=60))
    lines = "".join(f"{row.word_a}\t{row.word_b}\t{row.score}\n" for row in words)
    assert lexical.read_word_pairs(write(tmp_path / "words", lines)).rows == words

    labels = {"equivalence": "Equivalence", "entailment": "ReverseEntailment", "independent": "Independent"}
    phrases = list(toy.load("toy-phrases", "test", size=60))
    assert {row.relation for row in phrases} == labels.keys()
    lines = "".join(
        ppdb_line(row.phrase_a, row.phrase_b, labels[row.relation], f"PPDB2.0Score=5 Equivalence={row.score}", bar)
        for row in phrases
    )
    assert lexical.read_ppdb(write(tmp_path / "ppdb", lines)).rows == phrases

    pairs = [row for row in phrases if len(row.phrase_a.split()) == 2]
    tagged = ["".join(f"{word}\tNN\n" for word in row.phrase_a.split()) + f"{row.phrase_b}\n" for row in pairs]
    read = lexical.read_semeval_5a(write(tmp_path / "5a", "".join(item + "1\n" for item in tagged)))
    assert read.rows == [LabelledPair(row.phrase_a, row.phrase_b, "similar") for row in pairs]
    read = lexical.read_ppdb_bigrams(write(tmp_path / "b2u", "".join(tagged)))
    assert read.rows == [same(row.phrase_a, row.phrase_b) for row in pairs]

    places = list(toy.load("toy-contexts", "test", size=40))
    passages = [
        f"{row.context[: row.start]} <b> {row.context[row.start : row.end]} </b> {row.context[row.end :]}"
        for row in places
    ]
    lines = "".join(scws_line(a, b, "x", "y", "4.5") for a, b in pairwise(passages))
    rows = lexical.read_scws(write(tmp_path / "scws", lines)).rows
    for read, (one, two) in zip(rows, pairwise(places), strict=True):
        assert read.context_a[slice(*read.span_a)] == one.context[one.start : one.end]
        assert read.context_b[slice(*read.span_b)] == two.context[two.start : two.end]
        assert (read.context_a.split(), read.word_a, read.score) == (passage_words(one), "x", 4.5)


def passage_words(row) -> list[str]:
    parts = row.context[: row.start], row.context[row.start : row.end], row.context[row.end :]
    return " ".join(parts).split()


def test_balanced_draws_the_same_number_of_each_relation():
    sizes = {"equivalence": 9, "entailment": 4, "independent": 6}
    pairs = [
        PhrasePair(f"{relation} {n}", "x", relation, 0.5) for n in range(9) for relation in sizes if n < sizes[relation]
    ]
    read = lexical.balanced(pairs, seed=1)
    assert Counter(row.relation for row in read.rows) == dict.fromkeys(sizes, 4)
    assert len(set(read.rows)) == 12
    assert sorted(read.rows, key=pairs.index) == read.rows
    assert read.left_out == {"surplus of equivalence": 5, "surplus of independent": 2}
    assert lexical.balanced(pairs, seed=1) == read
    draws = [lexical.balanced(pairs, seed).rows for seed in range(60)]
    assert {row for rows in draws for row in rows} == set(pairs)  # none is out of reach
    assert Counter(row.relation for row in lexical.balanced(pairs, most=2).rows) == dict.fromkeys(sizes, 2)
    assert len(lexical.balanced(pairs, most=5).rows) == 12
    assert lexical.balanced([]) == ([], {})
    with pytest.raises(ValueError, match="most is a number of pairs of each relation, 1 or more, not 0"):
        lexical.balanced(pairs, most=0)


class Sense:
    """What `relations` asks of a sense of NLTK's: its lemmas, its part of speech, the senses above it."""

    def __init__(self, part: str, names: str, *above: Sense):
        self.part, self.above = part, above
        self.own = [Lemma(self, name) for name in names.split()]

    def pos(self):
        return self.part

    def lemmas(self):
        return self.own

    def hypernyms(self):
        return list(self.above)

    def __lt__(self, other: Sense):
        return self.own[0] < other.own[0]


class Lemma:
    def __init__(self, sense: Sense, name: str):
        self.sense, self.text, self.opposites = sense, name, []

    def __lt__(self, other: Lemma):
        return self.text < other.text

    def name(self):
        return self.text

    def synset(self):
        return self.sense

    def antonyms(self):
        return self.opposites


class SmallWordNet:
    """Senses in the order of their use."""

    def __init__(self, *senses: Sense):
        self.senses = senses

    def all_synsets(self):
        return self.senses

    def synsets(self, name: str, pos: str):
        return [s for s in self.senses if s.part == pos and name.lower() in [lemma.text.lower() for lemma in s.own]]


def small_wordnet() -> SmallWordNet:
    animal = Sense("n", "animal beast")
    dog = Sense("n", "dog domestic_dog Canis_familiaris", animal)
    cat = Sense("n", "cat", animal)
    crab = Sense("n", "crab horseshoe-crab_3 a_b_c_d_e_f_g", animal)
    person = Sense("n", "beast brute")  # another sense of beast
    chase = Sense("v", "chase dog")
    good, bad = Sense("a", "good"), Sense("a", "bad Good")
    good.own[0].opposites, bad.own[0].opposites = [bad.own[0]], [good.own[0]]
    return SmallWordNet(animal, dog, cat, crab, person, chase, good, bad)


def test_relations_of_a_small_wordnet():
    read = lexical_relations.relations(small_wordnet(), seed=3)
    found = {relation: set() for relation in ("equivalence", "entailment", "independent")}
    for row in read.rows:
        found[row.relation].add((row.phrase_a, row.phrase_b))
        assert math.isnan(row.score)
    dogs = ("dog", "domestic dog", "canis familiaris")
    synonyms = {("animal", "beast"), (dogs[0], dogs[1]), (dogs[0], dogs[2]), (dogs[1], dogs[2]), ("chase", "dog")}
    assert found["equivalence"] <= synonyms
    assert found["entailment"] <= set(product((*dogs, "cat", "crab"), ("animal", "beast")))
    animals = (dogs, ("cat",), ("crab",))
    near = {pair for a in animals for b in animals if a is not b for pair in product(a, b)}
    assert found["independent"] <= near | {("good", "bad")}
    # of three siblings two pairs, and one of opposites: three independent pairs, so three of each
    assert {relation: len(pairs) for relation, pairs in found.items()} == dict.fromkeys(found, 3)
    assert ("good", "bad") in found["independent"]
    assert read.left_out == {
        "lemma of another form": 2,
        "lemma in another than its first sense": 2,
        "repeated pair": 1,  # bad and good
        "surplus of equivalence": 2,
        "surplus of entailment": 7,
    }


def test_relations_depend_on_the_seed_alone():
    first, again = (lexical_relations.relations(small_wordnet(), seed=5, most=2) for _ in range(2))
    assert first == again
    assert len(first.rows) == 6
    assert len({str(lexical_relations.relations(small_wordnet(), seed=seed)) for seed in range(9)}) > 1


def test_relations_do_not_depend_on_the_order_in_which_nltk_tells_what_is_above():
    """It keeps that in a set, whose order is another one in each process."""

    def told(order):
        above = [Sense("n", name) for name in ("animal", "companion", "guardian")]
        below = [Sense("n", name, *(above[i] for i in order)) for name in ("dog", "cat", "goose", "ferret")]
        return lexical_relations.relations(SmallWordNet(*above, *below), seed=1).rows

    assert told((0, 1, 2)) == told((2, 0, 1)) == told((1, 2, 0))


def test_a_pair_in_two_relations_has_the_first_of_them():
    above = Sense("n", "b c")
    read = lexical_relations.relations(SmallWordNet(above, Sense("n", "a", above), Sense("v", "a b")))
    assert [(row.phrase_a, row.phrase_b) for row in read.rows if row.relation == "entailment"] == [("a", "c")]
    assert read.left_out == {"repeated pair": 1, "surplus of equivalence": 1}


def test_without_wordnet_the_error_says_what_to_do(monkeypatch):
    import nltk.corpus
    from nltk.corpus import LazyCorpusLoader, WordNetCorpusReader

    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(nltk.corpus, "wordnet", LazyCorpusLoader("wordnet", WordNetCorpusReader, None))
    catalog._relations.cache_clear()
    with pytest.raises(LookupError, match=r"wordnet.*NLTK_DATA.*toy-phrases"):
        data.load("lexical-relations", "train")


def test_word_and_phrase_corpora_by_name(tmp_path):
    write(tmp_path / "wordsim/EN-MEN-TR-3k.txt", "a\tb\t1\n")
    assert "1 rows, where the original has 3,000" in data.load("men", folder=tmp_path).source
    write(tmp_path / "MEN/MEN_dataset_natural_form_full", "c d 2.000000\n")
    assert data.load("men", folder=tmp_path).rows == (WordPair("c", "d", 2.0),)  # the original comes first
    write(tmp_path / "ppdb/ppdb-2.0-s-phrasal.gz", gzip.compress(ppdb_line("a", "b", "Independent").encode()))
    corpus = data.load("ppdb", "train", tmp_path)
    assert corpus.rows == (PhrasePair("a", "b", "independent", 0.25),)
    assert "where the original" not in corpus.source
    assert data.balanced(corpus).rows == list(corpus)
    with pytest.raises(ValueError, match="ppdb has no split 'test'; it has train"):
        data.load("ppdb", folder=tmp_path)
    with pytest.raises(FileNotFoundError, match=r"scws \(test\) is not in .*SCWS/ratings\.txt \| wordsim/SCWS-ratings"):
        data.load("scws", folder=tmp_path)


def test_paraphrases_hold_each_pair_once_and_add_up_what_is_left_out(tmp_path):
    write(tmp_path / "ppdb/ppdb.xxl.b2u.train", "a\tX\nb\tX\nc\na\tX\nb\tX\nc\n\tX\nb\tX\nc\n")
    write(tmp_path / "ppdb/ppdb_synonyms.txt", "c d\nd c\nD d\ne f\n")
    corpus = data.load("paraphrases", "train", tmp_path)
    assert corpus.rows == (same("a b", "c"), same("c", "d"), same("e", "f"))
    assert corpus.left_out == {"blank word": 1, "repeated pair": 2, "equal but for case": 1}
    assert "ppdb-bigrams train: " in corpus.source
    assert "ppdb-synonyms train: " in corpus.source


def test_nli_is_snli_then_mnli(tmp_path):
    for part, text in (("s1", "p\nq\n"), ("s2", "h\ni\n"), ("labels", "neutral\n-\n")):
        write(tmp_path / f"SNLI/{part}.dev", text)
    write(tmp_path / "MNLI/dev_matched_and_mismatched.csv", "premise,hypothesis,label\nm,n,entailment\no,,neutral\n")
    corpus = data.load("nli", "dev", tmp_path)
    assert corpus.rows == (LabelledPair("p", "h", "neutral"), LabelledPair("m", "n", "entailment"))
    assert corpus.left_out == {"no gold": 1, "blank sentence": 1}
    with pytest.raises(FileNotFoundError, match=r"snli \(train\) is not in the given folder"):
        data.load("nli", "train", tmp_path)


PUBLIC = [
    ("simlex", "test", 999, {}),
    ("ws353-sim", "test", 203, {}),
    ("ws353-rel", "test", 252, {}),
    ("men", "test", 3000, {}),
    ("scws", "test", 2003, {}),
    ("semeval-5a", "train", 11175, {}),
    ("semeval-5a", "test", 7490, {}),
    ("ppdb-bigrams", "train", 24300, {"blank word": 20}),
    ("ppdb-bigrams", "dev", 500, {}),
    ("ppdb-bigrams", "test", 500, {"blank word": 1}),
    ("ppdb-synonyms", "train", 53809, {"repeated pair": 37686, "equal but for case": 22}),
    ("paraphrases", "train", 78109, {"blank word": 20, "repeated pair": 37686, "equal but for case": 22}),
    ("nli", "dev", 9842 + 19647, {}),
]


@pytest.mark.realdata
@pytest.mark.parametrize(("name", "split", "items", "left_out"), PUBLIC)
def test_public_counts(real_data, name, split, items, left_out):
    corpus = data.load(name, split, real_data)
    assert len(corpus) + sum(left_out.values()) == items
    assert corpus.left_out == left_out
    assert ("where the original" in corpus.source) == (name == "semeval-5a")


@pytest.mark.realdata
def test_public_scws_words_stand_where_the_spans_say(real_data):
    corpus = data.load("scws", folder=real_data)
    for row in corpus:
        assert row.context_a[slice(*row.span_a)].lower() == row.word_a.lower()
        assert row.context_b[slice(*row.span_b)].lower() == row.word_b.lower()
        assert "<b>" not in row.context_a + row.context_b
        assert 0 <= row.score <= 10
    assert sum(row.word_a == row.word_b for row in corpus) == 241


@pytest.mark.realdata
@pytest.mark.slow
def test_public_wordnet_relations(real_data, monkeypatch):
    import nltk

    monkeypatch.setattr(nltk.data, "path", [*nltk.data.path, str(real_data / "nltk_data")])
    corpus = data.load("lexical-relations", "train")
    assert Counter(row.relation for row in corpus) == dict.fromkeys(
        ("equivalence", "entailment", "independent"), 20_000
    )
    assert len({frozenset((row.phrase_a, row.phrase_b)) for row in corpus}) == 60_000
    phrases = {phrase for row in corpus for phrase in (row.phrase_a, row.phrase_b)}
    assert all(phrase == phrase.lower() and 1 <= len(phrase.split()) <= 6 for phrase in phrases)
    assert corpus.source.startswith("WordNet 3")
