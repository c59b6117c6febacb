"""What a character touches over time, in phases long enough to mean something, and the moments that tell the motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from gambol.errors import InputError, unknown_name
from gambol.motion.contacts import Contacts, detect
from gambol.motion.metrics.subject import Subject
from gambol.motion.motion import Motion
from gambol.motion.settling import overhang, was_simulated
from gambol.rotations import Array, conjugate, rotate

FLICKER = 0.1
"""Seconds: shorter touches, and shorter gaps in a touch, mean nothing."""
SHORTEST = 0.25
"""Seconds that a phase lasts at least."""
ALIKE = 0.1
"""Share of the body's size that no landmark moves between two moments that show the same."""
BEND = 0.07
"""Share of the body's size that a landmark is off the straight way between two moments, at least, where it must be told
that the way bends: a foot goes up before it goes over an edge."""
FAST = 2.0
"""Metres a second: a moment in which the landmarks move faster on the average is no pose."""
OVERHANG = 0.1
"""Share of the body's size that its centre of mass is off what carries it, at most, in a pose that could be held."""
_TOUCHING = 0.005
"""Metres within which solids touch in a simulated motion."""
_HOVERING, _RESTING = 0.05, 0.3
"""Elsewhere: metres within which solids touch if they move slower over each other than that, metres a second."""


class Touch(NamedTuple):
    """A body of the character and the frame of what it touches, by their full names in the scene."""

    body: str
    on: str
    itself: bool
    """Whether what it touches is of the same character."""


class Phase(NamedTuple):
    """Frames from ``start`` up to ``stop``, which is not included, in which the same things are touched."""

    start: int
    stop: int


@dataclass(frozen=True)
class Touching:
    """Everything one character touches in a motion."""

    subject: Subject
    touches: tuple[Touch, ...]
    held: np.ndarray
    """(T, touches) whether each of them is there, flicker left out."""

    @staticmethod
    def of(motion: Motion, character: str | None = None) -> Touching:
        """What a character touches, the main one unless another is named."""
        name = character or motion.scene.main_character
        if name not in motion.scene.characters:
            raise unknown_name("character in this motion", name, motion.scene.characters)
        if motion.duration < SHORTEST:
            raise InputError(
                f"lasts {motion.duration:g} s, too short to tell what it touches ({SHORTEST} s are needed)"
            )
        subject = Subject(motion, name)
        near = _touching(motion)
        bodies = subject.model.geom_bodyid[near.geoms]
        own = np.isin(bodies, list(subject.span.bodies))
        # the character's body comes first, of two of its bodies the outer one
        swapped = own[:, 1] & (~own[:, 0] | (bodies[:, 1] > bodies[:, 0]))
        geoms = np.where(swapped[:, None], near.geoms[:, ::-1], near.geoms)[own.any(axis=1)]
        kinds, which = np.unique(geoms, axis=0, return_inverse=True)
        named = [_named(subject, int(one), int(other)) for one, other in kinds]
        touches = tuple(dict.fromkeys(named))
        raw = np.zeros((len(motion), len(touches)), bool)
        column = np.array([touches.index(touch) for touch in named], int)
        raw[near.frame[own.any(axis=1)], column[which.reshape(-1)]] = True
        return Touching(subject, touches, _steady(raw, FLICKER / motion.dt))

    def at(self, frame: int) -> list[Touch]:
        """What is touched at a frame."""
        return [self.touches[k] for k in np.flatnonzero(self.held[frame])]

    def phases(self) -> list[Phase]:
        """The motion from beginning to end in phases; one that is too short goes with the neighbour most like it.

        Bodies with a contact patch (feet, hands) count each, the others of a part together.
        """
        relations = self._relations()
        changes = np.flatnonzero((relations[1:] != relations[:-1]).any(axis=1)) + 1
        edges = [0, *changes.tolist(), len(relations)]
        shortest = SHORTEST / self.subject.motion.dt

        def change(edge: int) -> float:
            """How differently things are touched on the two sides of an edge."""
            before, after = (relations[a:b].mean(axis=0) for a, b in pairwise(edges[edge - 1 : edge + 2]))
            return float(np.abs(before - after).sum())

        while len(edges) > 2:
            lengths = np.diff(edges)
            short = int(lengths.argmin())
            if lengths[short] >= shortest:
                break
            edges.pop(min((edge for edge in (short, short + 1) if 0 < edge < len(edges) - 1), key=change))
        return [Phase(start, stop) for start, stop in pairwise(edges)]

    def _relations(self) -> np.ndarray:
        """(T, relations) which members touch which things of the world."""
        character, prefix = self.subject.character, f"{self.subject.name}/"
        patched = {patch.body for patch in character.patches.values()}

        def member(touch: Touch) -> str:
            body = touch.body.removeprefix(prefix)
            return body if body in patched else character.part_of.get(body, body)

        relations = [None if touch.itself else (member(touch), touch.on) for touch in self.touches]
        kinds = [kind for kind in dict.fromkeys(relations) if kind is not None]
        columns = [self.held[:, [relation == kind for relation in relations]].any(axis=1) for kind in kinds]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self.held), 0), bool)

    @cached_property
    def speed(self) -> Array:
        """(T,) how fast the landmarks move on the average, metres a second."""
        moved = np.gradient(self.subject.points(), self.subject.motion.dt, axis=0)
        return np.linalg.norm(moved, axis=-1).mean(axis=-1)

    def moments(self) -> list[int]:
        """Frames that tell the motion: of each phase the stillest in its later half, and the last frame of all.

        Left out are moments that could not be held, as they are too fast or out of balance, and those that show the
        same as the next.
        """
        points, found = self.subject.points(), list[int]()
        for start, stop in self.phases()[:-1]:
            middle = (start + stop) // 2
            frame = middle + int(self.speed[middle:stop].argmin())
            if self._could_be_held(frame):
                found.append(frame)
        found.append(len(points) - 1)
        near = ALIKE * self.subject.character.size
        differs = [np.linalg.norm(points[a] - points[b], axis=-1).max() > near for a, b in pairwise(found)]
        return [frame for frame, keep in zip(found, [*differs, True], strict=True) if keep]

    def bends(self, moments: Sequence[int]) -> list[int]:
        """Frames between the moments, and before the first, where the body is far off the straight way to the next.

        A body also moves without changing what it touches. The farthest frame off parts a way in two, which may bend in
        turn (Ramer, Douglas and Peucker); those that could not be held are left out.
        """
        points, farthest = self.subject.points(), BEND * self.subject.character.size
        ways, found = [*pairwise([0, *moments])], list[int]()
        while ways:
            start, stop = ways.pop()
            off = _off_way(points[start : stop + 1])
            by_distance = (start + np.argsort(-off)[: np.count_nonzero(off > farthest)]).tolist()
            bend = next((frame for frame in by_distance if self._could_be_held(frame)), None)
            if bend is not None:
                found.append(bend)
                ways += [(start, bend), (bend, stop)]
        return sorted(found)

    def _could_be_held(self, frame: int) -> bool:
        """Whether the pose of a frame could be held: it is neither too fast nor out of balance."""
        return self.speed[frame] < FAST and overhang(self.subject, frame) < OVERHANG * self.subject.character.size


def _off_way(points: Array) -> Array:
    """(T,) how far the farthest of points (T, P, 3) is from where it would be if all went straight to the end."""
    gone, way = points - points[0], points[-1] - points[0]
    share = np.clip((gone * way).sum((1, 2)) / max(float((way**2).sum()), 1e-9), 0.0, 1.0)
    return np.linalg.norm(gone - share[:, None, None] * way, axis=-1).max(axis=-1)


def _touching(motion: Motion) -> Contacts:
    """Contacts of solids that touch, or would if flesh and floors had been measured exactly."""
    if was_simulated(motion):
        return detect(motion, margin=_TOUCHING)
    near, poses, bodies = detect(motion, margin=_HOVERING), motion.poses(), motion.scene.model.geom_bodyid
    after = np.minimum(near.frame + 1, len(motion) - 1)
    before = after - 1

    def carried(body: np.ndarray) -> Array:
        """How far the point of contact goes with a body in one frame."""
        local = rotate(conjugate(poses.quats[near.frame, body]), near.position - poses.positions[near.frame, body])
        one, other = (poses.positions[at, body] + rotate(poses.quats[at, body], local) for at in (before, after))
        return other - one

    one, other = bodies[near.geoms].T
    slide = np.linalg.norm(carried(one) - carried(other), axis=1) / motion.dt
    return near.rows((near.depth >= -_TOUCHING) | (slide < _RESTING))


def _named(subject: Subject, one: int, other: int) -> Touch:
    """Bodies of characters by their names; the ground and the solids of objects by theirs."""
    model, scene = subject.model, subject.motion.scene
    thing = int(model.geom_bodyid[other])
    alive = any(thing in span.bodies for span in scene.spans.values())
    on = model.body(thing).name if alive else model.geom(other).name
    return Touch(model.body(model.geom_bodyid[one]).name, on, thing in subject.span.bodies)


def _steady(raw: np.ndarray, shortest: float) -> np.ndarray:
    """The same truth values (T, C) without gaps, and then without stretches, of less than ``shortest`` frames."""
    steady = raw.copy()
    for value in (False, True):
        for column in steady.T:
            # what is there from the beginning or until the end may have lasted longer
            for start, stop in pairwise(np.flatnonzero(np.diff(column)) + 1):
                if column[start] == value and stop - start < shortest:
                    column[start:stop] = not value
    return steady


def at_times(motion: Motion, times: Sequence[float]) -> list[int]:
    """The frames nearest to times in seconds, in order."""
    for time in times:
        if not 0.0 <= time <= motion.duration + 1e-9:
            raise InputError(f"{time:g} s is not within the motion, which lasts {motion.duration:g} s", key="at")
    return sorted({round(time / motion.dt) for time in times})
