"""Who does what to whom in a sentence: a rule-based stand-in for semantic role labelling.

PT-BERT does not name its labeller of roles. Here a few rules read them off the chunks of `sentlab.text.phrases`. A
verb group is a predicate. The noun phrase before it is its subject, the one right after it its object, and the passive
swaps the two. That is right for plain clauses. `label_roles` lists what the rules get wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain, takewhile
from typing import Any, NamedTuple

from sentlab.text.phrases import Tagger, chunk_tree

_COPULA = frozenset("MD am is are was were be been being".split())
_AUXILIARY = _COPULA | frozenset("do does did".split())
_HAVE = frozenset("have has had having".split())
_RELATIVE = frozenset("who which that".split())
_NEGATION = re.compile(r"(?:^not|^never|n['’]t)$", re.IGNORECASE)
_CANNOT = re.compile(r"\b(can)not\b", re.IGNORECASE)  # two words for a Penn tagger


class _Piece(NamedTuple):
    """A noun phrase (NP), a verb group (VP), or a token outside both, whose kind is its tag."""

    kind: str
    tokens: list[tuple[re.Match[str], str]]  # with their tags

    def text(self, first: int = 0) -> str:
        return self.tokens[0][0].string[self.tokens[first][0].start() : self.tokens[-1][0].end()]

    def verbs(self) -> list[str]:
        """Return the verbs in lower case and without "n't"; of a modal its tag."""
        tagged = [(token[0].lower(), tag) for token, tag in self.tokens]
        return [tag if tag == "MD" else _NEGATION.sub("", word) for word, tag in tagged if tag[:2] in ("MD", "VB")]


@lru_cache(maxsize=2**16)  # training reads every sentence once an epoch
def label_roles(sentence: str, *, tag: Tagger | None = None) -> tuple[Mapping[str, str], ...]:
    """Find the predicates of a sentence with their ARG0 (who does it), ARG1 (to whom) and negation, by rules.

    - PRED: the last verb of a verb group and its particle. Forms of "be" and modals alone are no predicate.
    - ARGM-NEG: the first "not", "n't" or "never" among the verbs or right before them.
    - ARG0 of an active group: the nearest noun phrase before it that no preposition governs; behind "who", "which" or
      "that" the noun phrase right before the pronoun.
    - ARG1 of an active group: the noun phrase right behind it; if there is none, and such a pronoun stands before the
      subject, the noun phrase before the pronoun ("the letter that she sent").
    - A past participle without "have" is passive: ARG1 is the noun phrase before it, ARG0 the one behind "by".
    - A form of "be" or "do", or a modal, before the subject belongs to the verb behind the subject: "Did she go?".
    - "of" and its noun phrase belong to the noun phrase before them: "the king of France", "a pair of boys".

    What they get wrong. Coordination: of "the cat and the dog" only the nearer is found, and in "saw the dog and left"
    it is the dog that left. Prepositions: what they bring is no argument ("calls on the boy") nor part of one ("the man
    with the hat"), and any "by" names who did it ("sold by Monday"). Clauses: none is an argument ("said that ..."),
    and of "wants to buy" only "buy" is found. Nouns behind a verb: the first is the object, be it a recipient ("gave
    the boy a letter") or a time ("left last year"). "Have" is not seen before its subject or in "'s", "'d", "'ve".

    `tag` is as in `chunk_phrases`. Each predicate has a frame, in text order, of its roles as the sentence spells them.

    Source: PT-BERT (Tan et al. 2022), section 4.4, which names no labeller; the rules are ours.

    Example:
        >>> tags = "DT NN VBD RB VB DT NN .".split()
        >>> label_roles("The farmer did not sell the horse.", tag=lambda words: tags)
        ({'ARG0': 'The farmer', 'PRED': 'sell', 'ARGM-NEG': 'not', 'ARG1': 'the horse'},)
    """
    pieces, frames = _pieces(_CANNOT.sub(r"\1 not", sentence), tag), dict[int, dict[str, str]]()
    for place, piece in enumerate(pieces):
        if piece.kind != "VP" or _COPULA.issuperset(piece.verbs()):
            continue
        start = _adverbs_before(pieces, place)
        group = pieces[start : place + 1]
        if start and pieces[start - 1].kind == "NP":
            asking = _adverbs_before(pieces, start - 1) - 1
            if asking >= 0 and pieces[asking].kind == "VP" and _AUXILIARY.issuperset(pieces[asking].verbs()):
                frames.pop(asking, None)
                group = pieces[asking : start - 1] + group  # "did | the boy | go"
        frames[place] = _frame(pieces, start, place, group)
    return tuple(frames.values())


def _pieces(sentence: str, tag: Tagger | None) -> list[_Piece]:
    """The noun phrases and verb groups of a sentence and the tokens between them; "the king of France" is one."""
    tokens, tree = chunk_tree(sentence, tag)
    pieces = list[_Piece]()
    for node in chain.from_iterable(node if _kind(node) == "SBAR" else [node] for node in tree):
        leaves = [node] if isinstance(node, tuple) else node.leaves()
        piece = _Piece(_kind(node), [(tokens[place], name) for place, name in leaves])
        if piece.kind == "NP" and len(pieces) > 1 and pieces[-2].kind == "NP" and pieces[-1].text().lower() == "of":
            of, head = pieces.pop(), pieces.pop()
            piece = _Piece("NP", head.tokens + of.tokens + piece.tokens)
        pieces.append(piece)
    return pieces


def _kind(node: Any) -> str:
    return node[1] if isinstance(node, tuple) else node.label()


def _frame(pieces: Sequence[_Piece], start: int, place: int, group: Sequence[_Piece]) -> dict[str, str]:
    """The roles of the verb group at `place`, whose adverbs begin at `start`; `group` has all that belongs to it."""
    last = max(i for i, (_, tag) in enumerate(pieces[place].tokens) if tag[:2] in ("MD", "VB"))
    before, behind = _subject(pieces, start), _noun_phrase(pieces, place + 1)
    if not behind and _noun_phrase(pieces, start - 1):
        behind = _antecedent(pieces, start - 1)
    verbs = [verb for piece in group for verb in piece.verbs()]
    passive = pieces[place].tokens[last][1] == "VBN" and _HAVE.isdisjoint(verbs[-2:-1])
    negations = (_NEGATION.search(token[0]) for piece in group for token, _ in piece.tokens)
    frame = {
        "ARG0": _by(pieces, place) if passive else before,
        "PRED": pieces[place].text(last),
        "ARGM-NEG": next((negation[0] for negation in negations if negation), ""),
        "ARG1": before if passive else behind,
    }
    return {role: text for role, text in frame.items() if text}


def _subject(pieces: Sequence[_Piece], start: int) -> str:
    """The noun phrase before a verb group that begins at `start`."""
    if antecedent := _antecedent(pieces, start):
        return antecedent
    for place in range(start - 1, -1, -1):
        governor = _adverbs_before(pieces, place) - 1
        free = governor < 0 or pieces[governor].kind not in ("IN", "TO")
        if free and (subject := _noun_phrase(pieces, place)):
            return subject
    return ""


def _antecedent(pieces: Sequence[_Piece], place: int) -> str:
    """The noun phrase before the relative pronoun right before a place."""
    if place < 1 or pieces[place - 1].text().lower() not in _RELATIVE:
        return ""
    return _noun_phrase(pieces, place - 2 - (place > 1 and pieces[place - 2].text() == ","))


def _by(pieces: Sequence[_Piece], place: int) -> str:
    """The noun phrase behind the first "by" between the verb group at `place` and the next one."""
    behind = takewhile(lambda i: pieces[i].kind != "VP", range(place + 1, len(pieces)))
    return next((_noun_phrase(pieces, i + 1) for i in behind if pieces[i].text().lower() == "by"), "")


def _noun_phrase(pieces: Sequence[_Piece], place: int) -> str:
    """The text of the piece at a place if it is a noun phrase."""
    return pieces[place].text() if 0 <= place < len(pieces) and pieces[place].kind == "NP" else ""


def _adverbs_before(pieces: Sequence[_Piece], place: int) -> int:
    """Where the adverbs right before a piece begin: at the piece itself if there are none."""
    while place and pieces[place - 1].kind.startswith("RB"):
        place -= 1
    return place
