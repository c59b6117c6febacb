"""Moments of a motion as keyframes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from gambol.errors import InputError
from gambol.goals.keyframes import Keyframe, Pair
from gambol.goals.keyframing.anchors import Anchor, anchors_at, displacements
from gambol.goals.keyframing.performance import Performance
from gambol.goals.keyframing.posture import Posture, Postures
from gambol.goals.model import GoalModel, Seconds
from gambol.motion import Motion
from gambol.motion.phases import FAST, at_times

_OFF_CONTACT, _OFF_WAY, _OFF_POINT = 0.06, 0.08, 0.1
"""Shares of the body's size that a contact, a limb on its way, and another point in the air may be off."""
_HOLD, _LONGEST_HOLD, _LAST_HOLD = 0.3, 0.6, 0.5
"""Share of the time that the motion itself holds a keyframe for which it must be held; seconds at most, and at the end
at least."""
_STANDING = "standing"
_LANDING = 0.3
"""Share of the body's size that it may be off on the whole when it has got to its feet in a leap."""
_PATIENCE = 8.0
"""Seconds that a keyframe may take beside twice those the motion takes; for what the motion leaps to, twice as many."""


class Still(NamedTuple):
    """A keyframe and the moment of the motion that it shows, in seconds."""

    time: float
    keyframe: Keyframe
    contacts: int
    """How many of its pairs, the first ones, are contacts; the others are points in the air."""


class Choice(GoalModel):
    """Which moments of a motion become keyframes, and what of them: by default those that its contacts tell."""

    at: tuple[Seconds, ...] = ()
    """Times in seconds, chosen by hand."""
    every: Annotated[float, Field(gt=0.0, le=3600.0)] | None = None
    """Seconds between moments, whatever is touched."""
    contacts_only: bool = False
    """Leave out points in the air, which say how the body stands over its contacts."""

    @model_validator(mode="after")
    def _one_way(self) -> Choice:
        if self.at and self.every is not None:
            raise ValueError("times are given one by one (at) or by their distance (every), not both")
        return self

    @property
    def by_contacts(self) -> bool:
        """Whether nothing was chosen by hand."""
        return not self.at and self.every is None

    def frames(self, performance: Performance) -> list[int]:
        """The frames that are chosen, in order."""
        motion = performance.motion
        if self.at:
            return at_times(motion, self.at)
        if self.every is None:
            return performance.touching.moments()
        if self.every > motion.duration:
            raise InputError(f"is longer than the motion, which lasts {motion.duration:g} s", key="every")
        return at_times(motion, np.arange(self.every, motion.duration + 1e-9, self.every).tolist())


def stills_of(performance: Performance, choice: Choice) -> tuple[Still, ...]:
    """The keyframes of a performance."""
    if not performance.touching.held.any():
        raise InputError("nothing is touched in this motion", hint="what it stands or rests on must be in its scene")
    motion, postures, frames = performance.motion, Postures(performance), choice.frames(performance)
    passing = performance.touching.bends(frames) if choice.by_contacts and not choice.contacts_only else []
    # from here on a motion that ends standing only comes to stand
    to_stand = frames[-2:][0] if postures.at(frames[-1]).style == _STANDING else len(motion)
    found, before, last = list[Still](), list[Anchor](), 0
    for frame in sorted({*frames, *passing}):
        bends = frame in passing
        anchors = anchors_at(performance, frame, contacts_only=choice.contacts_only, passes=bends)
        # who passes without resting on anything flies
        if not anchors or (bends and not any(anchor.touches for anchor in anchors)):
            continue
        posture, pairs = postures.at(frame), tuple(anchor.pair for anchor in anchors)
        # who hurries through a last step on one foot falls over: standing will ask for the step, and leave it the time
        if bends and frame > to_stand and posture.style == _STANDING:
            continue
        leaps = performance.touching.speed[last : frame + 1].max() > FAST
        tolerance = round(performance.character.size * _off(anchors, posture, leaps=leaps), 2)
        carriers = {touch.body for touch in performance.touches_at(frame) if not touch.itself}
        passes = bends or len(carriers) < 2  # on one foot, or in flight
        hold = 0.0 if passes else min(_HOLD * _held(motion, pairs, frame, tolerance), _LONGEST_HOLD)
        keyframe = Keyframe(
            name=f"{frame * motion.dt:.2f} s{_news(before, anchors)}",
            style=posture.style,
            weights=dict(posture.weights),  # pyright: ignore[reportArgumentType] (the style's are put beside them)
            pairs=pairs,
            tolerance=tolerance,
            sustain=round(max(hold, _LAST_HOLD) if frame == frames[-1] else hold, 2),
            limit=round(_PATIENCE * (2 if leaps else 1) + 2 * (frame - last) * motion.dt, 0),
            facing=posture.facing,
        )
        found.append(Still(frame * motion.dt, keyframe, sum(anchor.touches for anchor in anchors)))
        before, last = anchors, frame
    if not found:
        raise InputError("nothing is touched at these moments", hint="points in the air would tell them")
    return tuple(found)


def _off(anchors: Sequence[Anchor], posture: Posture, *, leaps: bool) -> float:
    """The 2-norm of what the pairs may be off, as a share of the body's size.

    Feet that alone carry the body may have to step, and nobody who leaps lands in the same place.
    """
    contact = _OFF_POINT if posture.on_feet else _OFF_CONTACT
    shares = [contact if anchor.touches else _OFF_WAY if anchor.passes else _OFF_POINT for anchor in anchors]
    return max(float(np.linalg.norm(shares)), _LANDING if leaps and posture.on_feet else 0.0)


def _held(motion: Motion, pairs: Sequence[Pair], frame: int, tolerance: float) -> float:
    """Seconds around a frame during which the motion itself is within the tolerance of that frame."""
    apart = displacements(motion, pairs)
    away = np.flatnonzero(np.linalg.norm((apart - apart[frame]).reshape(len(motion), -1), axis=1) > tolerance)
    first = max(away[away < frame], default=-1) + 1
    last = min(away[away > frame], default=len(motion)) - 1
    return float((last - first) * motion.dt)


def _news(before: Sequence[Anchor], now: Sequence[Anchor]) -> str:
    """The first contact that is new, or else the first that is no longer there, in words for a name."""
    old, new = ([(a.pair.body, a.pair.on) for a in anchors if a.touches] for anchors in (before, now))
    come, gone = [touch for touch in new if touch not in old], [touch for touch in old if touch not in new]
    if before and come:
        return f", {come[0][0]} on {come[0][1]}"
    return f", {gone[0][0]} off {gone[0][1]}" if gone else ""
