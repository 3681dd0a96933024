"""Phrases in contexts: each set verbatim into a longer passage, by carriers of the project's own or a text generator.

"STS-B in context" asks for the second sentence of a pair where it stands inside a passage, and for how similar it is to
the first, whatever surrounds it. SLICE (section 4.2) has GPT-3.5-Turbo write the passages; here any text generator may,
and without one the phrase goes into a carrier, a passage with a gap.

Verbatim means character by character but for two things, which the phrase may lose where it is no longer a sentence of
its own: the case of its first letter, and a final full stop.

Differs from the paper: nobody reads the passages to see if they change what the phrase means (it drops 3% for that).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from random import Random
from string import ascii_uppercase
from typing import NamedTuple

from sentlab.data.hard_pairs import POSITIVE
from sentlab.data.rows import Corpus, LabelledPair, PhraseInContext, ScoredPair, Triple, check_rows

PROMPT = (  # SLICE, section 4.2
    "Please provide a context to the given phrase, insert it into a long sentence, place it as part of the larger "
    "sentence and use the phrase verbatim. The sentence should also start with the letter {letter} the phrase is: "
    "{phrase}"
)
TRIES = 3  # texts asked for until one holds the phrase
LOWERED = frozenset(
    "a an the some one two three four many several people men women he she it they we you there this that".split()
)

TRAIN_CARRIERS = """
By the time the kettle had boiled, my neighbour had told me that {}, and then she asked about the price of coal.
During the long meeting about next year's budget somebody mentioned that {}, which nobody at the table wrote down.
On the last page of the old diary it says that {}, followed by a list of what the family spent on candles.
While the technicians were still testing the microphones, a voice announced that {}, but half of the seats were empty.
The postcard from the island says only that {}, and that the weather has been kind to the olive harvest.
After two hours of chess in silence my grandfather remarked that {}, then he moved his bishop and leaned back.
In the radio programme about forgotten inventions we learnt that {}, although the presenter sounded far from sure.
Because the archive had been flooded twice, the only record left states that {}, in ink so pale that one needs a lamp.
Halfway through the lecture on glaciers a student pointed out that {}, so the professor put down the chalk.
The message on the answering machine began by saying that {}, and it ended with the number of a dentist.
According to the notes of the night nurse, {}, after which the ward stayed quiet until breakfast.
As soon as the loan was approved the clerk added that {}, a detail which the contract leaves out altogether.
My cousin writes in every letter that {}, yet she never explains why this should matter to a beekeeper.
Before the curtain rose for the second act, word went round that {}, and the orchestra tuned its strings once more.
The caption under the faded photograph claims that {}, though the date beneath it has been scratched out.
Between two advertisements for garden furniture the newspaper reports that {}, without a word on who noticed it first.
When the lawyers finally agreed on the wording, its first paragraph said that {}, and its last was about parking.
Nobody at the bus depot believed me when I explained that {}, not even the inspector, who usually likes a good story.
The poem that won the village competition opens with the line that {}, and it goes on for eleven verses about autumn.
Somewhere in the minutes of the sailing club you can read that {}, right below a complaint about the new ropes.
""".strip().splitlines()

TEST_CARRIERS = """
Since the lift was out of order we took the stairs, and on the third floor I heard that {}, to my great relief.
The guide switched on her torch and told the visitors that {}, while water kept dripping from the roof of the cave.
In the margin of the cookery book a careful hand has added that {}, next to a recipe for pickled plums.
Long before the factory closed its gates the foremen used to say that {}, and most of the apprentices nodded politely.
What surprised the tax office was a receipt stating that {}, signed by a carpenter whom it could not trace.
Over a plate of cold dumplings the translator admitted that {}, even if her version of the novel leaves it out.
A weather station on the ridge sent us a short note saying that {}, just hours ahead of a failure of its batteries.
If I understood the customs officer correctly, {}, but the noise of the engines swallowed every other syllable.
Every evening at seven the caretaker tells his parrot that {}, and the bird answers with the sound of a doorbell.
Under the heading of minor incidents the logbook notes that {}, whereas the storm of that week is not mentioned at all.
Measuring my sleeves a second time, the tailor murmured that {}, as if this were common knowledge in his trade.
Towards the end of the auction a telephone bidder let slip that {}, so the price of the clock rose no further.
Our geography teacher liked to begin the first lesson by claiming that {}, and only then did she unroll the map.
To the report on railway tunnels the engineers add in a footnote that {}, citing a survey from the previous decade.
Having lost the argument about the fence, my uncle simply repeated that {}, again and again, over his cold coffee.
With a flicker the subtitle informed the audience that {}, although the actress was clearly speaking of her inheritance.
At the back of the pharmacy two customers were whispering that {}, and the pharmacist pretended to look for a label.
For its answer that {}, the winning team in the pub quiz was granted half a point by a hesitant referee.
Shortly after the election posters had come down, a leaflet declared that {}, printed on paper the colour of weak tea.
Apologising for the delay, the pilot explained that {}, then the cabin lights were dimmed for the night.
""".strip().splitlines()

CARRIERS = {
    "train": TRAIN_CARRIERS,
    "dev": TEST_CARRIERS,
    "test": TEST_CARRIERS,
}  # those of training train nothing else
Write = Callable[[str], str]  # a prompt -> the text that a generator writes


class Passage(NamedTuple):
    """A text and where a phrase stands in it: `text[start:end]`."""

    text: str
    start: int
    end: int


def in_context(
    texts: Iterable[str], write: Write | None = None, *, seed: int = 0, split: str = "test"
) -> list[Passage]:
    """Set each phrase verbatim (see above) into a longer passage.

    Args:
        texts: n phrases or sentences.
        write: a text generator, asked up to `TRIES` times a phrase with the paper's prompt, its letter drawn anew each
            time. None: a carrier drawn for each phrase.
        seed: of the carriers and of the letters.
        split: whose carriers: those of `train` are others than those of `dev` and `test`.

    Returns:
        A passage for each phrase, in their order; equal arguments give equal passages, if the generator does.

    Raises:
        TypeError: one string, or a generator that does not return one.
        ValueError: a blank phrase, an unknown split, or a phrase that none of the generator's texts holds verbatim.

    Source: SLICE, section 4.2.
    """
    if isinstance(texts, str):
        raise TypeError(f"texts is one string, {texts[:40]!r}; put it into a list: [text]")
    phrases = list(texts)
    passages: list[Passage] = []
    for phrase, passage in zip(phrases, _passages(phrases, write, seed, split), strict=True):
        if passage is None:
            raise ValueError(
                f"none of {TRIES} texts that the generator wrote holds this phrase verbatim, inside more than the "
                f"phrase: {phrase!r}; leave it out, or correct what write= returns"
            )
        passages.append(passage)
    return passages


def stsb_in_context(
    corpus: Corpus[ScoredPair], write: Write | None = None, *, seed: int = 0
) -> Corpus[PhraseInContext]:
    """Scored pairs with the second text set into a passage: the first is the phrase to look for, the gold is the same.

    Args:
        corpus: scored pairs; its split chooses the carriers.
        write, seed: as in `in_context`.

    Returns:
        The rows in order, as a corpus named `<name>-context`. Pairs whose text the generator does not set into a
        passage verbatim are left out and counted, as the paper does (23%).

    Raises:
        TypeError, ValueError: as `in_context`; rows that are no ScoredPair.

    Source: SLICE, section 4.2.
    """
    check_rows(corpus, ScoredPair, least=0)
    passages = _passages([pair.text_b for pair in corpus], write, seed, corpus.split)
    rows = tuple(
        PhraseInContext(pair.text_a, passage.text, passage.start, passage.end, pair.score)
        for pair, passage in zip(corpus, passages, strict=True)
        if passage
    )
    left_out = Counter(corpus.left_out) + Counter({"not verbatim in its passage": len(corpus) - len(rows)})
    source = f"{_passages_of(write, seed)} around second texts of {corpus.source}"
    return Corpus(f"{corpus.name}-context", corpus.split, rows, source, dict(left_out))


def triples_in_context(
    *corpora: Corpus[ScoredPair] | Corpus[LabelledPair], write: Write | None = None, seed: int = 0
) -> Corpus[Triple]:
    """Triples to train on, out of pairs that say the same: a gold of `POSITIVE` or more, or an entailment.

    The first text of a pair is the phrase, a passage with the second is the positive, and the negative is the passage
    of another pair that shares no text with this one. Carriers are those of training, whatever the splits.

    Args:
        corpora: scored or labelled pairs.
        write, seed: as in `in_context`.

    Returns:
        The triples in order, as a corpus named `triples-in-context`, split `train`; all other pairs are left out and
        counted.

    Raises:
        TypeError, ValueError: as `in_context`; rows of another type, or no other pair to take a negative from.

    Source: SLICE, section 3.1, the triplets (q, p_true, p_false).
    """
    pairs = [row for corpus in corpora for row in corpus if _says_the_same(row)]
    passages = _passages([pair.text_b for pair in pairs], write, seed, "train")
    placed = [(pair, passage.text) for pair, passage in zip(pairs, passages, strict=True) if passage]
    texts = [{_core(text).casefold() for text in (pair.text_a, pair.text_b)} for pair, _ in placed]
    rng, rows = Random(f"negatives in context {seed}"), list[Triple]()
    for (pair, positive), own in zip(placed, texts, strict=True):
        first = rng.randrange(len(placed))
        others = (place % len(placed) for place in range(first, first + len(placed)))
        negative = next((placed[place][1] for place in others if own.isdisjoint(texts[place])), None)
        if negative is None:
            raise ValueError(f"all of the {len(placed)} pairs share a text with this one: {pair.text_a!r}; give others")
        rows.append(Triple(pair.text_a, positive, negative))
    left_out = sum((Counter(corpus.left_out) for corpus in corpora), Counter[str]())
    left_out["pair that does not say the same"] += sum(map(len, corpora)) - len(pairs)
    left_out["not verbatim in its passage"] += len(pairs) - len(placed)
    of = "; ".join(f"{corpus.name} {corpus.split}: {corpus.source}" for corpus in corpora)
    source = f"{_passages_of(write, seed)} around second texts of {of}"
    return Corpus("triples-in-context", "train", tuple(rows), source, dict(+left_out))


def _says_the_same(row: ScoredPair | LabelledPair) -> bool:
    if isinstance(row, ScoredPair):
        return row.score >= POSITIVE
    if isinstance(row, LabelledPair):
        return row.label == "entailment"
    raise ValueError(f"triples are made of ScoredPair or LabelledPair rows, not of {type(row).__name__}")


def _passages(phrases: list[str], write: Write | None, seed: int, split: str) -> list[Passage | None]:
    """A passage for each phrase, or None where the generator's texts do not hold it."""
    if split not in CARRIERS:
        raise ValueError(f"split is one of {', '.join(CARRIERS)}, not {split!r}")
    for n, phrase in enumerate(phrases):
        if not _core(phrase):
            raise ValueError(f"text {n} has no phrase to set into a context: {phrase!r}")
    rng = Random(f"contexts {seed}")
    if write is None:
        return [_carried(phrase, rng.choice(CARRIERS[split])) for phrase in phrases]
    return [_written(phrase, write, rng) for phrase in phrases]


def _carried(phrase: str, carrier: str) -> Passage:
    """The phrase in the gap of a carrier; it keeps its capital unless its first word has none inside a sentence."""
    core = _core(phrase)
    if core.split()[0].lower() in LOWERED:
        core = core[0].lower() + core[1:]
    before, after = carrier.split("{}")
    return Passage(before + core + after, len(before), len(before) + len(core))


def _written(phrase: str, write: Write, rng: Random) -> Passage | None:
    """The first of the generator's texts that holds the phrase and more, of `TRIES`."""
    for _ in range(TRIES):
        text = write(PROMPT.format(letter=rng.choice(ascii_uppercase), phrase=phrase.strip()))
        if not isinstance(text, str):
            raise TypeError(f"write= must return a text; of the phrase {phrase!r} it made a {type(text).__name__}")
        text = text.strip()
        span = _find(phrase, text)
        if span and any(letter.isalpha() for letter in text[: span[0]] + text[span[1] :]):
            return Passage(text, *span)
    return None


def _find(phrase: str, text: str) -> tuple[int, int] | None:
    """Where a phrase first stands verbatim (see above) in a text: character start and end, or None.

    It must not be part of a longer word; a final full stop is not in the span.
    """
    core = _core(phrase)
    first = "".join({core[0], core[0].lower(), core[0].upper()})
    found = re.search(rf"(?<!\w)[{re.escape(first)}]{re.escape(core[1:])}(?!\w)", text)
    return found.span() if found else None


def _core(phrase: str) -> str:
    """The phrase without a final full stop; one that belongs to "U.S." or "..." stays."""
    phrase = phrase.strip()
    last = phrase.split()[-1] if phrase else ""
    return phrase[:-1].rstrip() if last.endswith(".") and "." not in last[:-1] else phrase


def _passages_of(write: Write | None, seed: int) -> str:
    made = "carriers" if write is None else f"texts by {getattr(write, '__name__', type(write).__name__)}"
    return f"{made}, seed {seed},"
