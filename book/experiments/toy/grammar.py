"""The ways to say a scene of the toy world: thirteen forms of sentences, and questions about one of its roles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from experiments.toy.lexicon import FORMS, PLURALS, SENSES, ancestors, article, asset
from experiments.toy.scene import Scene, refill

Chunks = list[str | tuple[str, str]]  # words, or a role and its words, in the order in which they are said


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
        "what": positive and theme and {"n/#person", "n/#animal"}.isdisjoint(ancestors(scene.theme)),
        "relative theme": positive and theme and scene.theme_attr,
    }
    return tuple(form for form, fits in possible.items() if fits)


def render(
    scene: Scene, rng: Random, *, form: str = "", like: Sentence | None = None, unlike: Sentence | None = None
) -> Sentence:
    """Say a scene.

    `form`: one of `forms(scene)`, drawn if empty. Words and form of `like` are kept where possible, as for
    a near miss, and those of `unlike` are avoided, as for a paraphrase.
    """
    possible = forms(scene)
    if not form and like and like.form in possible:
        form = like.form
    if not form:
        usual = tuple(f for f in possible if f in ("active", "passive", "fronted"))
        weighted = possible + usual * (3 if unlike is None else 1)
        form = rng.choice(tuple(f for f in weighted if not unlike or f != unlike.form) or possible)
    return Speaker(scene, rng, like, unlike).say(form)


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

    def choose(self, options: tuple[str, ...]) -> str:
        kept = tuple(w for w in options if w in self.keep)
        fresh = tuple(w for w in options if w not in self.avoid)
        self.words.append(self.rng.choice(kept or fresh or options))
        return self.words[-1]

    def word(self, role: str) -> tuple[str, str]:
        """Name a role and put its filler into words, without article and the like; nothing for an empty role."""
        filler = getattr(self.scene, role)
        return role, self.choose(SENSES[filler].words) if filler else ""

    def verbs(self, passive: bool) -> tuple[str, ...]:
        """List the verbs of the event, or those that have a passive."""
        words = SENSES[self.scene.event].words
        return tuple(verb for verb in words if verb not in self.frame.active_only) if passive else words

    def is_plural(self, role: str) -> bool:
        return bool(role == "agent" and self.scene.count) or SENSES[getattr(self.scene, role)].mark == "+"

    def be(self, role: str = "") -> str:
        many = bool(role) and self.is_plural(role)
        return ("were" if many else "was") if self.scene.past else ("are" if many else "is")

    def pronoun(self, role: str) -> str:
        return "who" if "n/#person" in ancestors(getattr(self.scene, role)) else "that"

    def noun(self, role: str, definite: bool | None = None, bare: bool = False, ends: bool = False) -> tuple[str, str]:
        """Name a role and build its noun phrase.

        `bare`: its attribute is said elsewhere. `ends`: the attribute may follow as a relative clause.
        """
        mark = SENSES[getattr(self.scene, role)].mark
        if definite is None:
            definite = role != "tool" and self.definite[("agent", "theme", "recipient").index(role)]
        counted = role == "agent" and self.scene.count
        noun = self.word(role)[1]
        adjective = "" if bare or role not in ("agent", "theme") else self.word(f"{role}_attr")[1]
        tail = ""
        if adjective and self.postnominal and ends and mark != "-":
            tail = f" {self.pronoun(role)} {self.be(role)} {adjective}"
            adjective = ""
        phrase = f"{adjective} {PLURALS[noun] if counted else noun}".strip()
        if counted:
            determiner = self.word("count")[1]
        elif mark == "-":
            determiner = ""
        elif definite or mark == "!":
            determiner = "the"
        elif mark in ("*", "+"):
            determiner = self.rng.choice(("some", "")) if role != "tool" else ""
        else:
            determiner = article(phrase)
        return role, f"{determiner} {phrase}{tail}".strip()

    def verb(self, subject: str, mode: str = "active") -> Chunks:
        """Return the auxiliary, `not` included, an adverb in the middle if there is one, and the verb.

        `mode` is `active`, `passive`, `converse`, or `clause`, which is active but leaves out verbs without a passive.
        """
        verb = self.choose(self.frame.converse if mode == "converse" else self.verbs(mode in ("passive", "clause")))
        negation = " not" if self.scene.negated else ""
        past, progressive = self.scene.past, self.progressive and not self.scene.past
        many = self.is_plural(subject)
        auxiliary, form = "", "past" if past else "base" if many else "s"
        if mode == "passive":
            auxiliary, form = self.be(subject) + negation + (" being" if progressive else ""), "participle"
        elif progressive:
            auxiliary, form = self.be(subject) + negation, "ing"
        elif negation:
            auxiliary, form = ("did" if past else "do" if many else "does") + negation, "base"
        return [auxiliary, *([self.manner] if self.middle else []), ("event", FORMS[verb][form])]

    def objects(self, *, theme: bool = True, dative: bool = False, last: bool = False) -> Chunks:
        """Return what follows an active verb: theme and recipient, or, with `dative`, recipient and theme."""
        to = self.scene.recipient
        chunks: Chunks = [self.noun("theme", ends=last and not to)] if theme and self.scene.theme else []
        if not to:
            return chunks
        recipient = self.noun("recipient")
        return [recipient, *chunks] if dative else [*chunks, self.frame.preposition, recipient]

    def by(self) -> Chunks:
        return ["by", self.noun("agent")] if self.scene.agent else []

    def adjuncts(self, front: bool) -> tuple[Chunks, Chunks]:
        """Return what stands before the sentence and what follows it: tool, manner, then place or time."""
        after: Chunks = [self.word(role) for role in ("place", "time") if getattr(self.scene, role)]
        self.rng.shuffle(after)
        before = [after.pop(0), ","] if front else []
        if self.manner[1] and not self.middle:
            after.insert(0, self.manner)
        if self.scene.tool:
            after[:0] = [self.rng.choice(("with", "using")), self.noun("tool")]
        return before, after

    def say(self, form: str) -> Sentence:
        """Build the sentence in one of the forms that fit its scene."""
        self.manner = self.word("manner")
        self.middle = self.manner[1].endswith("ly") and form != "there is" and self.rng.random() < 0.6
        before, after = self.adjuncts(form.startswith("fronted"))
        end: Chunks = []
        if form in ("active", "fronted", "dative"):
            chunks = [self.noun("agent", ends=True), *self.verb("agent")]
            chunks += self.objects(dative=form == "dative", last=not after)
        elif form in ("passive", "fronted passive"):
            chunks = [self.noun("theme", ends=True), *self.verb("theme", "passive")]
            chunks += [*self.objects(theme=False), *self.by()]
        elif form == "recipient passive":
            chunks = [self.noun("recipient"), *self.verb("recipient", "passive"), self.noun("theme"), *self.by()]
        elif form == "converse":
            chunks = [self.noun("recipient"), *self.verb("recipient", "converse"), self.noun("theme")]
            chunks += [self.frame.converse_preposition, self.noun("agent")]
        elif form == "there is":
            chunks = ["there", self.be("agent"), self.noun("agent", False)]
            chunks += [("event", FORMS[self.word("event")[1]]["ing"]), *self.objects(last=not after)]
        elif form == "cleft agent":
            chunks = ["it", self.be(), self.noun("agent"), self.pronoun("agent")]
            chunks += [*self.verb("agent"), *self.objects()]
        elif form == "relative agent":
            chunks = [self.noun("agent", True, bare=True), self.pronoun("agent")]
            chunks += [*self.verb("agent"), *self.objects()]
            end = [self.be("agent"), self.word("agent_attr")]
        else:
            theme = self.noun("theme", None if form == "what" else True, bare=form == "relative theme")
            clause = [self.noun("agent"), *self.verb("agent", "clause"), *self.objects(theme=False)]
            if form == "cleft theme":
                chunks = ["it", self.be(), theme, "that", *clause]
            elif form == "what":
                chunks, end = ["what", *clause], [self.be(), theme]
            else:
                chunks, end = [theme, "that", *clause], [self.be("theme"), self.word("theme_attr")]
        return self.join([*before, *chunks, *after, *end], form, ".")

    def join(self, chunks: Chunks, form: str, end: str) -> Sentence:
        """Join the chunks into a text with capital and final mark, and give the span of every role in it."""
        text, spans = "", []
        for chunk in chunks:
            role, part = ("", chunk) if isinstance(chunk, str) else chunk
            if part:
                text += " " if text and part != "," else ""
                spans += [(role, len(text), len(text) + len(part))] if role else []
                text += part
        return Sentence(text[0].upper() + text[1:] + end, form, frozenset(self.words), self.definite, tuple(spans))


OPENERS: dict[str, dict[str, tuple[str, ...]]] = {}  # kind of question: style: wordings
for _kind, _style, _wordings in (line.split(maxsplit=2) for line in asset("questions.txt")):
    OPENERS.setdefault(_kind, {})[_style.rstrip(":")] = tuple(_wordings.split(" | "))


# kind of question: the roles that its answer gives
ANSWERS = {"where": ("place",), "when": ("time",), "why": (), "who": ("agent", "agent_attr", "count")}
ANSWERS["how"] = (*ANSWERS["who"], "manner", "place", "time")


def asked(scene: Scene, kind: str) -> Scene | None:
    """Return what a question tells of a scene: all but the roles that its answer gives; None if it would be odd."""
    if kind == "how" and "nohow" in scene.frame.options:
        return None
    if kind in ("where", "when", "why") and (not scene.agent or scene.count):
        return None
    return replace(refill(scene, dict.fromkeys(ANSWERS[kind], "")), negated=False, past=True)


def ask(scene: Scene, kind: str, rng: Random, *, unlike: Sentence | None = None) -> Sentence:
    """Ask a question about a scene that `asked` returned for this kind; see `render` for `unlike`."""
    speaker = Speaker(scene, rng, None, unlike)
    speaker.definite = (True, kind != "how", kind != "how" or speaker.definite[2], False, False)
    speaker.progressive = speaker.postnominal = speaker.middle = False
    passive = bool(scene.theme) and "nopassive" not in scene.frame.options
    styles = tuple(OPENERS[kind]) if passive or kind != "who" else ("direct", "clause")
    voices = ("", "passive ") if passive and kind not in ("how", "who") else ("",)
    possible = tuple(voice + style for voice in voices for style in styles)
    form = rng.choice(tuple(f for f in possible if not unlike or f != unlike.form) or possible)
    opener = speaker.choose(OPENERS[kind][form.split()[-1]])
    speaker.manner = speaker.word("manner")
    after = speaker.adjuncts(False)[1]
    verb = speaker.choose(speaker.verbs("passive" in form))
    if "passive" in form:
        theme, was = speaker.noun("theme"), speaker.be("theme")
        chunks: Chunks = [theme, was] if "clause" in form else [was, theme]
        chunks += [("event", FORMS[verb]["participle"]), *speaker.objects(theme=False), *speaker.by()]
    else:
        agent: Chunks = [speaker.noun("agent")] if kind not in ("how", "who") else []
        plain = kind == "how" or (form == "direct" and kind != "who")
        chunks = ["did"] if plain and agent else []
        chunks += [*agent, ("event", verb if plain else FORMS[verb]["past"]), *speaker.objects()]
    return speaker.join([opener, *chunks, *after], form, "?")
