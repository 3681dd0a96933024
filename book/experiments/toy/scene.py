"""Scenes of the toy world: who does what to whom, how, where and when; how alike two are; near misses."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cache
from random import Random
from typing import Any

from experiments.toy.lexicon import FRAMES, SENSES, Frame, ancestors

SPLITS = ("train", "dev", "test")
WEIGHTS = {
    "event": 4.0, "agent": 3.0, "theme": 3.0, "recipient": 2.0, "count": 0.5, "agent_attr": 0.8, "theme_attr": 0.8,
    "tool": 0.8, "manner": 0.8, "place": 1.0, "time": 0.8,
}  # fmt: skip
BY_STEPS = {0: 1.0, 1: 0.8, 2: 0.4, 3: 0.2, 4: 0.1}  # steps in the tree of hypernyms -> similarity; siblings: 2
OPPOSITE, UNSAID, FLIPPED = 0.1, 0.6, 2.0
CORE = ("event", "agent", "theme", "recipient")
ADJUNCTS = ("tool", "manner", "place", "time")
NEW = ("color", "size", "material", "interest", "beauty")  # adjectives that suit a thing in the making
NUMBERS = tuple(s.id for s in SENSES.values() if s.section == "number" and s.words)  # two and more
_TIMES = [s for s in SENSES.values() if s.section in ("time of day", "mealtime", "past time") and s.words]
TIMES = {past: tuple(s.id for s in _TIMES if past or s.mark != "<") for past in (False, True)}  # those of a tense


@dataclass(frozen=True, slots=True)
class Scene:
    """One event with its roles; a role holds the name of a sense, or is empty where nothing is said about it.

    `past` is the tense: a way of speaking, not a part of the meaning.
    """

    event: str
    agent: str = ""
    theme: str = ""
    recipient: str = ""
    count: str = ""
    agent_attr: str = ""
    theme_attr: str = ""
    tool: str = ""
    manner: str = ""
    place: str = ""
    time: str = ""
    negated: bool = False
    past: bool = False

    @property
    def meaning(self) -> tuple[str | bool, ...]:
        """Every role and the polarity, which is what two paraphrases share."""
        return tuple(getattr(self, f.name) for f in fields(self) if f.name != "past")

    @property
    def core(self) -> str:
        """The class of the event with its participants in any order. It decides the split of a scene."""
        return "|".join([SENSES[self.event].section, *sorted((self.agent, self.theme, self.recipient))])

    @property
    def frame(self) -> Frame:
        return FRAMES[self.event]


def refill(scene: Scene, roles: dict[str, Any]) -> Scene:
    """Return the scene with other fillers for some roles."""
    return replace(scene, **roles)


@cache
def split_of(meaning: str) -> str:
    """Return the split of a meaning by a hash, the same everywhere: one in ten is dev, one in ten test."""
    bucket = int.from_bytes(hashlib.sha256(meaning.encode()).digest()[:4], "big") % 10
    return {8: "dev", 9: "test"}.get(bucket, "train")


def pick(rng: Random, options: tuple[str, ...], share: float = 1.0) -> str:
    """Draw one of the options in `share` of all cases, else nothing."""
    return rng.choice(options) if options and (share == 1.0 or rng.random() < share) else ""


@cache
def attributes(noun: str, only: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the adjectives that suit a noun, of all kinds or of some only."""
    kinds = {k for k in (SENSES[noun].kinds if noun else ()) if not only or k in only}
    adjectives = (s for s in SENSES.values() if s.id[0] == "a" and "#" not in s.id)
    return tuple(s.id for s in adjectives if kinds & {s.section, SENSES[s.parent].parent[3:] if s.parent else ""})


def draw(rng: Random, split: str = "") -> Scene:
    """Draw a random scene that makes sense, of one split or of any."""
    scene = _participants(rng)
    while split and split_of(scene.core) != split:
        scene = _participants(rng)
    frame, agent, theme = scene.frame, scene.agent, scene.theme
    past = rng.random() < 0.5
    extra = {role: pick(rng, frame.fillers.get(role, ()), 0.4) for role in ADJUNCTS[:3]}
    extra["time"] = pick(rng, TIMES[past], 0.35)
    if agent and "n/#person" not in ancestors(agent):
        extra["tool"] = ""
    if all(extra.values()):
        extra[rng.choice(ADJUNCTS)] = ""
    if theme and extra["time"] and (SENSES[theme].section, SENSES[extra["time"]].section) == ("meal", "mealtime"):
        extra["time"] = ""
    return replace(
        scene,
        count=pick(rng, NUMBERS, 0.12) if agent and SENSES[agent].mark != "!" else "",
        agent_attr=pick(rng, attributes(agent), 0.25),
        theme_attr=pick(rng, attributes(theme, NEW if "new" in frame.options else ()), 0.35),
        negated=rng.random() < 0.04,
        past=past,
        **extra,
    )


def _participants(rng: Random) -> Scene:
    """An event with its core roles; now and then nobody says who did it."""
    frame = FRAMES[rng.choice(tuple(FRAMES))]
    theme = pick(rng, frame.fillers["theme"])
    unsaid = theme and "nopassive" not in frame.options and not frame.converse and rng.random() < 0.05
    agent = "" if unsaid else rng.choice(frame.fillers["agent"])
    recipient = pick(rng, frame.fillers["recipient"], 0.6 if "free" in frame.options else 1.0)
    if len({agent, theme, recipient} - {""}) < bool(agent) + bool(theme) + bool(recipient):
        return _participants(rng)  # nobody does anything to himself
    return Scene(frame.id, agent, theme, recipient)


def scenes(split: str, seed: int | str = 0, size: int | None = None) -> Iterator[Scene]:
    """Yield scenes of one split, all of different meaning: `size` of them, or without end."""
    rng, seen = Random(f"toy scenes {split} {seed}"), set[tuple[str | bool, ...]]()
    while size is None or len(seen) < size:
        scene = draw(rng, split)
        if scene.meaning not in seen:
            seen.add(scene.meaning)
            yield scene


@cache
def similarity(one: str, two: str) -> float:
    """Score how alike two senses are: `BY_STEPS` between them in the tree of hypernyms; `OPPOSITE` for opposites."""
    if SENSES[one].opposite == two or SENSES[two].opposite == one:
        return OPPOSITE
    up, down = ancestors(one), ancestors(two)
    steps = [up.index(shared) + down.index(shared) for shared in up if shared in down]
    return BY_STEPS.get(min(steps), 0.0) if steps else 0.0


def score(one: Scene, two: Scene) -> float:
    """Compute the gold similarity of two scenes, 0 to 5, rounded to a tenth.

    Five times the mean of the similarity of the fillers, over all roles that either scene fills, weighted by `WEIGHTS`.
    A role that only one of them fills counts `UNSAID` times the similarity of the events, but 0 if it is a core role
    that the other's frame does not have. Scenes of different polarity get at most `FLIPPED`.
    """
    event = similarity(one.event, two.event)
    total = weights = 0.0
    for role, weight in WEIGHTS.items():
        a, b = getattr(one, role), getattr(two, role)
        if not a and not b:
            continue
        weights += weight
        if a and b:
            total += weight * (event if role == "event" else similarity(a, b))
        elif role not in CORE or (one.frame.fillers[role] and two.frame.fillers[role]):
            total += weight * UNSAID * event
    value = round(5 * total / weights, 1)
    return min(value, FLIPPED) if one.negated != two.negated else value
