"""Changes of a scene of the toy world: what it entails, contradictions, and near misses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from random import Random

from experiments.toy.lexicon import FRAMES, SENSES
from experiments.toy.scene import ADJUNCTS, TIMES, Scene, attributes, draw, pick, refill, split_of

Edit = Callable[[Scene, Random], Scene | None]  # None: it does not apply
DETAILS = ("count", "agent_attr", "theme_attr", "tool", "manner", "place", "time")
OPPOSABLE = ("agent_attr", "theme_attr", "manner")


def short(scene: Scene, rng: Random) -> Scene | None:
    """Leave out some of what is not the core; nothing if there is no more than the core."""
    said = [role for role in DETAILS if getattr(scene, role)]
    rng.shuffle(said)
    return refill(scene, dict.fromkeys(said[: rng.choice(range(1, len(said) + 1))], "")) if said else None


def general(scene: Scene, rng: Random) -> Scene | None:
    """Put a hypernym in the place of agent, theme or event; of which the attributes stay."""
    above = {r: SENSES[getattr(scene, r)].parent for r in ("event", "agent", "theme") if getattr(scene, r)}
    roles = [role for role, parent in above.items() if SENSES[parent or getattr(scene, role)].words]
    role = pick(rng, tuple(roles))
    return refill(scene, {role: above[role] or getattr(scene, role)}) if role else None


def swap(scene: Scene, rng: Random) -> Scene | None:
    """Let agent and theme (or recipient) change places, if each can do what the other does."""
    fillers = scene.frame.fillers
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
    roles = [r for r in ("event", *OPPOSABLE) if getattr(scene, r) and SENSES[getattr(scene, r)].opposite]
    if "event" in roles:
        event = SENSES[scene.event].opposite
        possible = event in _events(scene.agent, scene.theme, scene.recipient)
        return _suiting(replace(scene, event=event)) if possible else None
    role = pick(rng, tuple(roles))
    return refill(scene, {role: SENSES[getattr(scene, role)].opposite}) if role else None


def _suiting(scene: Scene) -> Scene:
    """The scene without tool, manner and place if its event takes none like these."""
    fillers = scene.frame.fillers
    return refill(scene, {r: "" for r in ADJUNCTS[:3] if getattr(scene, r) not in fillers[r]})


@cache
def _events(agent: str, theme: str, recipient: str) -> tuple[str, ...]:
    """The events that these can take part in; an empty role is left open, but for the theme."""
    said = {"agent": agent, "theme": theme, "recipient": recipient}
    return tuple(
        event
        for event, frame in FRAMES.items()
        if bool(theme) == bool(frame.fillers["theme"])
        and (recipient or not frame.fillers["recipient"] or "free" in frame.options)
        and (agent or not theme or "nopassive" not in frame.options)
        and all(not filler or "#" in filler or filler in frame.fillers[role] for role, filler in said.items())
    )


def other(role: str, scene: Scene, rng: Random) -> Scene | None:
    """Replace the filler of one role by another; its attribute goes with it if it does not suit the new one."""
    if role == "event":
        events = tuple(e for e in _events(scene.agent, scene.theme, scene.recipient) if e != scene.event)
        return _suiting(replace(scene, event=rng.choice(events))) if events else None
    options = TIMES[scene.past] if role == "time" else scene.frame.fillers.get(role, ())
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


def apply(scene: Scene, split: str, rng: Random, *edits: Edit) -> Scene | None:
    """A scene after some edits; none if one does not apply, or it leaves the split."""
    changed: Scene | None = scene
    for edit in edits:
        changed = edit(changed, rng) if changed else None
    return changed if changed and split_of(changed.core) == split else None


def either(*edits: Edit) -> Edit:
    """Draw one of the edits for each scene."""
    return lambda scene, rng: rng.choice(edits)(scene, rng)


ATTRIBUTE = either(partial(other, "agent_attr"), partial(other, "theme_attr"))
KINDS: dict[str, Edit] = {
    "paraphrase": lambda scene, rng: scene,
    "shorter": short,
    "hypernym": general,
    "roles swapped": swap,
    "opposite": opposite,
    "negation": lambda scene, rng: replace(scene, negated=not scene.negated),
    **{f"other {role}": partial(other, role) for role in ("agent", "theme", "event")},
    "other attribute": ATTRIBUTE,
    "other circumstance": either(*(partial(other, role) for role in ADJUNCTS)),
    "unrelated": lambda scene, rng: draw(rng),
}
SAME = KINDS["paraphrase"]
ENTAILED = either(SAME, short, short, general, lambda scene, rng: general(short(scene, rng) or scene, rng))
MAYBE_SHORT = either(SAME, lambda scene, rng: short(scene, rng) or scene)
CONTRARY = either(KINDS["negation"], opposite, opposite)
NOT_ENTAILED = either(CONTRARY, partial(other, "theme"), partial(other, "event"), swap)
NEAR = either(opposite, swap, ATTRIBUTE, *(partial(other, role) for role in ("theme", "event", "agent")))
