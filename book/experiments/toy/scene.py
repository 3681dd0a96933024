"""Scenes of the toy world: who does what to whom, how, where and when; how alike two are; near misses."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cache
from random import Random
from typing import Any

from experiments.toy.lexicon import Frame, lexicon

SPLITS = ("train", "dev", "test")
WEIGHTS = {
    "event": 4.0, "agent": 3.0, "theme": 3.0, "recipient": 2.0, "count": 0.5, "agent_attr": 0.8, "theme_attr": 0.8,
    "tool": 0.8, "manner": 0.8, "place": 1.0, "time": 0.8,
}  # fmt: skip
BY_STEPS = {0: 1.0, 1: 0.8, 2: 0.4, 3: 0.2, 4: 0.1}  # steps in the tree of hypernyms -> similarity; siblings: 2
OPPOSITE, UNSAID, FLIPPED = 0.1, 0.6, 2.0
CORE = ("event", "agent", "theme", "recipient")
DETAILS = ("count", "agent_attr", "theme_attr", "tool", "manner", "place", "time")
OPPOSABLE = ("agent_attr", "theme_attr", "manner")
ADJUNCTS = ("tool", "manner", "place", "time")
NEW = ("color", "size", "material", "interest", "beauty")  # adjectives that suit a thing in the making
TIMES = ("time of day", "mealtime", "past time")


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
        """The class of the event with its participants in any order, which decides the split of a scene."""
        people = sorted((self.agent, self.theme, self.recipient))
        return "|".join([lexicon().senses[self.event].section, *people])


def refill(scene: Scene, roles: dict[str, str]) -> Scene:
    """Return the scene with other fillers for some roles."""
    changes: dict[str, Any] = dict(roles)
    return replace(scene, **changes)


def frame_of(scene: Scene) -> Frame:
    """Return the frame of a scene's event."""
    return lexicon().frames[scene.event]


def split_of(scene: Scene) -> str:
    """Return the split of a scene, by a hash of its core: scenes that differ in circumstances only stay together."""
    return split_of_text(scene.core)


@cache
def split_of_text(text: str) -> str:
    """Return the split of a text that names a meaning: one in ten is dev, one in ten test.

    The same on every machine.
    """
    bucket = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") % 10
    return {8: "dev", 9: "test"}.get(bucket, "train")


def pick(rng: Random, options: tuple[str, ...], share: float = 1.0) -> str:
    """Draw one of the options in `share` of all cases, else nothing."""
    return rng.choice(options) if options and (share == 1.0 or rng.random() < share) else ""


@cache
def attributes(noun: str, only: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the adjectives that suit a noun, of all kinds or of some only."""
    senses = lexicon().senses
    kinds = {k for k in (senses[noun].kinds if noun else ()) if not only or k in only}
    adjectives = (s for s in senses.values() if s.id[0] == "a" and "#" not in s.id)
    return tuple(s.id for s in adjectives if kinds & {s.section, senses[s.parent].parent[3:] if s.parent else ""})


@cache
def times(past: bool) -> tuple[str, ...]:
    """Return the times that go with a tense."""
    senses = lexicon().senses.values()
    return tuple(s.id for s in senses if s.section in TIMES and s.words and (past or s.mark != "<"))


@cache
def numbers() -> tuple[str, ...]:
    """Return the number words, `two` and more."""
    return tuple(s.id for s in lexicon().senses.values() if s.section == "number" and s.words)


@cache
def _frame_names() -> tuple[str, ...]:
    return tuple(lexicon().frames)


def draw(rng: Random, split: str = "") -> Scene:
    """Draw a random scene that makes sense, of one split or of any."""
    scene = _participants(rng)
    while split and split_of(scene) != split:
        scene = _participants(rng)
    frame, agent, theme = frame_of(scene), scene.agent, scene.theme
    senses = lexicon().senses
    past = rng.random() < 0.5
    extra = {role: pick(rng, frame.fillers.get(role, ()), 0.4) for role in ADJUNCTS[:3]}
    extra["time"] = pick(rng, times(past), 0.35)
    if agent and not is_person(agent):
        extra["tool"] = ""
    if all(extra.values()):
        extra[rng.choice(ADJUNCTS)] = ""
    if theme and extra["time"] and (senses[theme].section, senses[extra["time"]].section) == ("meal", "mealtime"):
        extra["time"] = ""
    return replace(
        scene,
        count=pick(rng, numbers(), 0.12) if agent and senses[agent].mark != "!" else "",
        agent_attr=pick(rng, attributes(agent), 0.25),
        theme_attr=pick(rng, attributes(theme, NEW if "new" in frame.options else ()), 0.35),
        negated=rng.random() < 0.04,
        past=past,
        **extra,
    )


def _participants(rng: Random) -> Scene:
    """An event with its core roles; now and then nobody says who did it."""
    frame = lexicon().frames[rng.choice(_frame_names())]
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
def is_animate(noun: str) -> bool:
    """Return whether a noun is a person or an animal."""
    return bool(noun) and not {"n/#person", "n/#animal"}.isdisjoint(lexicon().ancestors(noun))


@cache
def is_person(noun: str) -> bool:
    """Return whether a noun is a person."""
    return bool(noun) and "n/#person" in lexicon().ancestors(noun)


def similarity(one: str, two: str) -> float:
    """Score how alike two senses are: `BY_STEPS` between them in the tree of hypernyms; `OPPOSITE` for opposites."""
    return _similarity(*sorted((one, two)))


@cache
def _similarity(one: str, two: str) -> float:
    senses = lexicon().senses
    if senses[one].opposite == two or senses[two].opposite == one:
        return OPPOSITE
    up, down = lexicon().ancestors(one), lexicon().ancestors(two)
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
        elif role not in CORE or (frame_of(one).fillers[role] and frame_of(two).fillers[role]):
            total += weight * UNSAID * event
    value = round(5 * total / weights, 1)
    return min(value, FLIPPED) if one.negated != two.negated else value


def short(scene: Scene, rng: Random) -> Scene | None:
    """Leave out some of what is not the core; nothing if there is no more than the core."""
    said = [role for role in DETAILS if getattr(scene, role)]
    rng.shuffle(said)
    return refill(scene, dict.fromkeys(said[: rng.choice(range(1, len(said) + 1))], "")) if said else None


def general(scene: Scene, rng: Random) -> Scene | None:
    """Put a hypernym in the place of agent, theme or event; of which the attributes stay."""
    senses = lexicon().senses
    found = [r for r in ("event", "agent", "theme") if getattr(scene, r) and senses[_above(getattr(scene, r))].words]
    if not found:
        return None
    role = rng.choice(found)
    return refill(scene, {role: _above(getattr(scene, role))})


def _above(name: str) -> str:
    return lexicon().senses[name].parent or name


def swap(scene: Scene, rng: Random) -> Scene | None:
    """Let agent and theme (or recipient) change places, if each can do what the other does."""
    fillers = frame_of(scene).fillers
    for role in ("theme", "recipient"):
        other = getattr(scene, role)
        if scene.agent and other in fillers["agent"] and scene.agent in fillers[role]:
            changed = refill(scene, {"count": "", "agent_attr": "", "agent": other, role: scene.agent})
            if role == "theme":
                changed = replace(changed, agent_attr=scene.theme_attr, theme_attr=scene.agent_attr)
            return changed
    return None


def opposite(scene: Scene, rng: Random) -> Scene | None:
    """Replace the event by its opposite, or, if it has none, one attribute or the manner; None if nothing has one."""
    senses = lexicon().senses
    found = [r for r in ("event", *OPPOSABLE) if getattr(scene, r) and senses[getattr(scene, r)].opposite]
    role = "event" if "event" in found else pick(rng, tuple(found))
    if not role:
        return None
    if role == "event" and senses[scene.event].opposite not in _events(scene.agent, scene.theme, scene.recipient):
        return None
    changed = refill(scene, {role: senses[getattr(scene, role)].opposite})
    return _suiting(changed) if role == "event" else changed


def _suiting(scene: Scene) -> Scene:
    """The scene without tool, manner and place if its event takes none like these."""
    fillers = frame_of(scene).fillers
    return refill(scene, {r: "" for r in ADJUNCTS[:3] if getattr(scene, r) not in fillers[r]})


@cache
def _events(agent: str, theme: str, recipient: str) -> tuple[str, ...]:
    """The events that these can take part in; an empty role is left open, but for the theme."""
    said = {"agent": agent, "theme": theme, "recipient": recipient}
    return tuple(
        event
        for event, frame in lexicon().frames.items()
        if bool(theme) == bool(frame.fillers["theme"])
        and (recipient or not frame.fillers["recipient"] or "free" in frame.options)
        and (agent or not theme or "nopassive" not in frame.options)
        and all(not filler or "#" in filler or filler in frame.fillers[role] for role, filler in said.items())
    )


def negate(scene: Scene, rng: Random) -> Scene | None:
    """Give the scene the other polarity."""
    return replace(scene, negated=not scene.negated)


def other(role: str, scene: Scene, rng: Random) -> Scene | None:
    """Replace the filler of one role by another; its attribute goes with it if it does not suit the new one."""
    frame = frame_of(scene)
    if role == "event":
        events = tuple(e for e in _events(scene.agent, scene.theme, scene.recipient) if e != scene.event)
        return _suiting(replace(scene, event=rng.choice(events))) if events else None
    options = frame.fillers.get(role) or {"time": times(scene.past)}.get(role, ())
    if role.endswith("_attr"):
        options = attributes(getattr(scene, role.removesuffix("_attr")))
    taken = {scene.agent, scene.theme, scene.recipient, getattr(scene, role)}
    options = tuple(o for o in options if o not in taken)
    if not options or not getattr(scene, role):
        return None
    changed = refill(scene, {role: rng.choice(options)})
    if role in ("agent", "theme") and getattr(scene, f"{role}_attr") not in attributes(getattr(changed, role)):
        changed = refill(changed, {f"{role}_attr": ""})
    return replace(changed, count="") if role == "agent" else changed
