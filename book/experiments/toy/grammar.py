"""The ways to say a scene of the toy world: thirteen forms of sentences, and questions about one of its roles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from experiments.toy.lexicon import SENSES, Sense, article, inflect, plural
from experiments.toy.scene import Scene, is_animate, is_person, refill

Chunks = list[tuple[str, str]]  # (role or nothing, words), in the order in which they are said


@dataclass(frozen=True, slots=True)
class Sentence:
    """A scene put into words: the form, the words chosen for its senses, and where each role stands in the text."""

    text: str
    form: str
    words: frozenset[str]
    definite: tuple[bool, ...]
    spans: tuple[tuple[str, int, int], ...]


def forms(scene: Scene) -> tuple[str, ...]:
    """List the syntactic forms in which a scene can be said."""
    options, recipient = scene.frame.options, bool(scene.recipient)
    passive = bool(scene.theme) and "nopassive" not in options
    fronted = bool(scene.place or scene.time)
    if not scene.agent:
        return ("passive", "fronted passive") if fronted else ("passive",)
    theme = bool(scene.theme) and SENSES[scene.theme].mark != "-"
    positive = not scene.negated
    possible = {
        "active": True,
        "passive": passive,
        "fronted": fronted,
        "fronted passive": passive and fronted,
        "dative": recipient and "dative" in options,
        "recipient passive": recipient and "dative" in options,
        "converse": recipient and scene.frame.converse and not scene.manner,
        "cleft agent": positive,
        "there is": positive and not scene.past and SENSES[scene.agent].mark != "!",
        "relative agent": positive and scene.agent_attr,
        "cleft theme": positive and theme,
        "what": positive and theme and not is_animate(scene.theme),
        "relative theme": positive and theme and scene.theme_attr,
    }
    return tuple(form for form, fits in possible.items() if fits)


def render(
    scene: Scene, rng: Random, *, form: str = "", like: Sentence | None = None, unlike: Sentence | None = None
) -> Sentence:
    """Say a scene.

    Args:
        form: one of `forms(scene)`. If empty, one is drawn.
        like: a sentence whose words and form are kept where possible, as for a near miss.
        unlike: a sentence whose words and form are avoided where possible, as for a paraphrase.
    """
    possible = forms(scene)
    if not form and like and like.form in possible:
        form = like.form
    if not form:
        usual = ("active", "passive", "fronted")
        weighted = possible + tuple(f for f in possible if f in usual) * (3 if unlike is None else 1)
        form = rng.choice(tuple(f for f in weighted if not unlike or f != unlike.form) or possible)
    return Speaker(scene, rng, like, unlike).say(form)


def frame(sentence: Sentence) -> dict[str, str]:
    """Map PropBank's names of the roles to their words, as the sentence spells them, for each role that it says.

    PRED is the event, ARG0 who does it, ARG1 its theme, ARGM-NEG "not". Where the recipient tells the event ("the boy
    got a letter from the nurse"), it is the recipient who does what the verb says.
    """
    said = {role: sentence.text[start:end] for role, start, end in sentence.spans}
    who = "recipient" if sentence.form == "converse" else "agent"
    negation = "not" if " not " in sentence.text else ""
    roles = {"ARG0": said.get(who), "PRED": said["event"], "ARGM-NEG": negation, "ARG1": said.get("theme")}
    return {role: words for role, words in roles.items() if words}


class Speaker:
    """Builds one sentence or question about one scene; every choice is made once and kept."""

    def __init__(self, scene: Scene, rng: Random, like: Sentence | None = None, unlike: Sentence | None = None) -> None:
        self.scene, self.rng, self.frame = scene, rng, scene.frame
        self.keep = like.words if like else frozenset[str]()
        self.avoid = unlike.words if unlike else frozenset[str]()
        # definite agent, theme, recipient; progressive; attribute behind its noun
        drawn = tuple(rng.random() < share for share in (0.55, 0.5, 0.7, 0.75, 0.2))
        self.definite = like.definite if like else drawn
        self.progressive, self.postnominal = self.definite[3:]
        self.words: list[str] = []

    def word(self, sense: str) -> str:
        return self.choose(SENSES[sense].words)

    def choose(self, options: tuple[str, ...]) -> str:
        kept = tuple(w for w in options if w in self.keep)
        fresh = tuple(w for w in options if w not in self.avoid)
        self.words.append(self.rng.choice(kept or fresh or options))
        return self.words[-1]

    def is_plural(self, role: str) -> bool:
        return bool(role == "agent" and self.scene.count) or SENSES[getattr(self.scene, role)].mark == "+"

    def noun(self, role: str, *, definite: bool | None = None, bare: bool = False, ends: bool = False) -> str:
        """Build the noun phrase of a role.

        `bare`: its attribute is said elsewhere; `ends`: the phrase begins or ends its clause, so that its attribute may
        follow as a relative clause.
        """
        sense = SENSES[getattr(self.scene, role)]
        attr = "" if bare or role not in ("agent", "theme") else getattr(self.scene, f"{role}_attr")
        if definite is None:
            definite = role != "tool" and self.definite[("agent", "theme", "recipient").index(role)]
        noun = self.word(sense.id)
        adjective = self.word(attr) if attr else ""
        tail = ""
        if adjective and self.postnominal and ends and sense.mark != "-":
            tail = f" {self.pronoun(role)} {be(self.scene.past, self.is_plural(role))} {adjective}"
            adjective = ""
        if role == "agent" and self.scene.count:
            noun = plural(noun)
        phrase = f"{adjective} {noun}".strip()
        return self.determiner(role, sense, phrase, definite) + phrase + tail

    def determiner(self, role: str, sense: Sense, phrase: str, definite: bool) -> str:
        if role == "agent" and self.scene.count:
            return self.word(self.scene.count) + " "
        if sense.mark == "-":
            return ""
        if definite or sense.mark == "!":
            return "the "
        if sense.mark in ("*", "+"):
            return self.rng.choice(("some ", "")) if role != "tool" else ""
        return article(phrase) + " "

    def pronoun(self, role: str) -> str:
        return "who" if is_person(getattr(self.scene, role)) else "that"

    def verb(self, many: bool, plain: bool, passive: bool, converse: bool) -> tuple[str, str]:
        """Return the auxiliary, `not` included, and the main verb; `plain` leaves out verbs without a passive."""
        usable = tuple(
            v for v in SENSES[self.scene.event].words if not (plain or passive) or v not in self.frame.active_only
        )
        verb = self.choose(self.frame.converse if converse else usable)
        negation = " not" if self.scene.negated else ""
        past, progressive = self.scene.past, self.progressive and not self.scene.past
        if passive:
            return be(past, many) + negation + (" being" if progressive else ""), inflect(verb, "participle")
        if progressive:
            return be(past, many) + negation, inflect(verb, "ing")
        if negation:
            return ("did" if past else "do" if many else "does") + negation, verb
        return "", inflect(verb, "past" if past else "base" if many else "s")

    def phrase(self, many: bool, *, plain: bool = False, passive: bool = False, converse: bool = False) -> Chunks:
        """Return the auxiliary, an adverb in the middle if there is one, and the verb."""
        auxiliary, main = self.verb(many, plain, passive, converse)
        middle = [("manner", self.manner)] if self.middle else []
        return [("", auxiliary), *middle, ("event", main)]

    def objects(self, *, theme: bool = True, dative: bool = False, last: bool = False) -> Chunks:
        """Return what follows an active verb: theme and recipient, or, with `dative`, recipient and theme."""
        to = self.scene.recipient
        chunks: Chunks = [("theme", self.noun("theme", ends=last and not to))] if theme and self.scene.theme else []
        if not to:
            return chunks
        recipient = ("recipient", self.noun("recipient"))
        return [recipient, *chunks] if dative else [*chunks, ("", self.frame.preposition), recipient]

    def by(self) -> Chunks:
        return [("", "by"), ("agent", self.noun("agent"))] if self.scene.agent else []

    def adjuncts(self, front: bool) -> tuple[Chunks, Chunks]:
        """Return what stands before the sentence and what follows it: tool, manner, then place or time."""
        rng, scene = self.rng, self.scene
        after: Chunks = [(role, self.word(getattr(scene, role))) for role in ("place", "time") if getattr(scene, role)]
        rng.shuffle(after)
        before = [after.pop(0), ("", ",")] if front else []
        if scene.manner and not self.middle:
            after.insert(0, ("manner", self.manner))
        if scene.tool:
            after[:0] = [("", rng.choice(("with", "using"))), ("tool", self.noun("tool"))]
        return before, after

    def say(self, form: str) -> Sentence:
        """Build the sentence in one of the forms that fit its scene."""
        scene, rng = self.scene, self.rng
        self.manner = self.word(scene.manner) if scene.manner else ""
        self.middle = self.manner.endswith("ly") and form != "there is" and rng.random() < 0.6
        before, after = self.adjuncts(form.startswith("fronted"))
        is_ = ("", be(scene.past, False))
        chunks = before
        many, many_themes = bool(scene.count), bool(scene.theme) and self.is_plural("theme")
        if form in ("active", "fronted", "dative"):
            chunks += [("agent", self.noun("agent", ends=True)), *self.phrase(many)]
            chunks += [*self.objects(dative=form == "dative", last=not after), *after]
        elif form in ("passive", "fronted passive"):
            chunks += [("theme", self.noun("theme", ends=True)), *self.phrase(many_themes, passive=True)]
            chunks += [*self.objects(theme=False), *self.by(), *after]
        elif form == "recipient passive":
            chunks += [("recipient", self.noun("recipient")), *self.phrase(False, passive=True)]
            chunks += [("theme", self.noun("theme")), *self.by(), *after]
        elif form == "converse":
            chunks += [("recipient", self.noun("recipient")), *self.phrase(False, converse=True)]
            chunks += [("theme", self.noun("theme")), ("", self.frame.converse_preposition), *self.by()[1:], *after]
        elif form == "there is":
            chunks += [("", "there " + be(False, many)), ("agent", self.noun("agent", definite=False))]
            verb = inflect(self.word(scene.event), "ing")
            chunks += [("event", verb), *self.objects(last=not after), *after]
        elif form == "cleft agent":
            chunks += [("", "it"), is_, ("agent", self.noun("agent")), ("", self.pronoun("agent"))]
            chunks += [*self.phrase(many), *self.objects(), *after]
        elif form == "relative agent":
            chunks += [("agent", self.noun("agent", definite=True, bare=True)), ("", self.pronoun("agent"))]
            chunks += [*self.phrase(many), *self.objects(), *after, ("", be(scene.past, many))]
            chunks += [("agent_attr", self.word(scene.agent_attr))]
        else:
            definite = None if form == "what" else True
            theme = ("theme", self.noun("theme", definite=definite, bare=form == "relative theme"))
            clause = [("agent", self.noun("agent")), *self.phrase(many, plain=True), *self.objects(theme=False), *after]
            if form == "cleft theme":
                chunks += [("", "it"), is_, theme, ("", "that"), *clause]
            elif form == "what":
                chunks += [("", "what"), *clause, is_, theme]
            else:
                chunks += [theme, ("", "that"), *clause, ("", be(scene.past, many_themes))]
                chunks += [("theme_attr", self.word(scene.theme_attr))]
        return self.join(chunks, form, ".")

    def join(self, chunks: Chunks, form: str, end: str) -> Sentence:
        """Join the chunks into a text with capital and final mark, and give the span of every role in it."""
        text, spans = "", []
        for role, part in chunks:
            if part:
                text += " " if text and part != "," else ""
                spans += [(role, len(text), len(text) + len(part))] if role else []
                text += part
        return Sentence(text[0].upper() + text[1:] + end, form, frozenset(self.words), self.definite, tuple(spans))


def be(past: bool, many: bool) -> str:
    """Return `is`, `are`, `was` or `were`."""
    return ("were" if many else "was") if past else ("are" if many else "is")


_TELL = ("Do you know {}", "Can you tell me {}", "Does anyone know {}", "Could somebody tell me {}")
OPENERS: dict[str, dict[str, tuple[str, ...]]] = {
    "how": {"to": ("How do I", "How can I", "How should I", "What is the best way to", "What is a good way to",
                   "Can anyone explain how to", "Could you tell me how to", "Does anyone know how to")},
    "who": {"direct": ("Who", "Who was it that", "Which person"),
            "clause": tuple(t.format("who") for t in _TELL),
            "passive": ("By whom",)},
    "where": {"direct": ("Where", "In which place"), "clause": tuple(t.format("where") for t in _TELL)},
    "when": {"direct": ("When", "At what time"), "clause": tuple(t.format("when") for t in _TELL)},
    "why": {"direct": ("Why", "For what reason"),
            "clause": (*(t.format("why") for t in _TELL), "What was the reason why")},
}  # fmt: skip


def asked(scene: Scene, kind: str) -> Scene | None:
    """Return what a question of that kind tells of a scene: all but the roles that its answer gives.

    `why` asks for no role, so its question tells the whole scene. None if the question would be odd.
    """
    options = scene.frame.options
    if kind == "how":
        hidden = dict.fromkeys(("agent", "agent_attr", "count", "manner", "place", "time"), "")
        return None if "nohow" in options else replace(refill(scene, hidden), negated=False, past=True)
    if kind == "who":
        scene = replace(scene, agent="", agent_attr="", count="")
    elif not scene.agent or scene.count:
        return None
    unknown = {"where": {"place": ""}, "when": {"time": ""}}.get(kind, {})
    return replace(refill(scene, unknown), negated=False, past=True)


def ask(scene: Scene, kind: str, rng: Random, *, unlike: Sentence | None = None) -> Sentence:
    """Ask a question about a scene.

    Args:
        scene: what `asked(scene, kind)` returns.
        kind: `how`, `who`, `where`, `when` or `why`.
        unlike: a wording that is avoided where possible.
    """
    speaker = Speaker(scene, rng, None, unlike)
    speaker.definite = (True, kind != "how", kind != "how" or speaker.definite[2], False, False)
    speaker.progressive = speaker.postnominal = False
    passive = bool(scene.theme) and "nopassive" not in scene.frame.options
    styles = tuple(OPENERS[kind]) if passive or kind != "who" else ("direct", "clause")
    voices = ("", "passive ") if passive and kind not in ("how", "who") else ("",)
    possible = tuple(voice + style for voice in voices for style in styles)
    form = rng.choice(tuple(f for f in possible if not unlike or f != unlike.form) or possible)
    opener = speaker.choose(OPENERS[kind][form.split()[-1]])
    return speaker.join([("", opener), *_question_clause(speaker, kind, form)], form, "?")


def _question_clause(speaker: Speaker, kind: str, form: str) -> Chunks:
    """What follows the opener."""
    scene = speaker.scene
    speaker.manner, speaker.middle = speaker.word(scene.manner) if scene.manner else "", False
    _, after = speaker.adjuncts(False)
    passive = "passive" in form
    verbs = SENSES[scene.event].words
    verb = speaker.choose(tuple(v for v in verbs if not passive or v not in speaker.frame.active_only))
    if kind == "how":
        return [("event", verb), *speaker.objects(), *after]
    if passive:
        theme, was = ("theme", speaker.noun("theme")), ("", be(True, speaker.is_plural("theme")))
        end = [("event", inflect(verb, "participle")), *speaker.objects(theme=False), *speaker.by(), *after]
        return [theme, was, *end] if "clause" in form else [was, theme, *end]
    agent: Chunks = [("agent", speaker.noun("agent"))] if kind != "who" else []
    if form == "direct" and kind != "who":
        return [("", "did"), *agent, ("event", verb), *speaker.objects(), *after]
    return [*agent, ("event", inflect(verb, "past")), *speaker.objects(), *after]
