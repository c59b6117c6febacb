"""The pairs of points that hold a pose: where it touches the world, and where it must be told how it stands there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gambol.characters import Point
from gambol.goals.keyframes import Pair
from gambol.goals.keyframing.performance import Performance
from gambol.motion import Motion
from gambol.motion.contacts import survey
from gambol.motion.phases import Touch
from gambol.rotations import Array, conjugate, multiply, rotate
from gambol.scenes import Frame
from gambol.scenes.terrain import NAME as GROUND

MOST_CONTACTS = 7
"""Contacts of one keyframe, at most."""
_APART = 0.15
"""Share of the body's size that two contacts are apart, at least, for both to be told."""
_WITHIN_REACH = 0.15
"""Share of the body's size within which a retargeted body still has the contacts of the one it copies."""
_SLOW = 1.0
"""Metres a second: where a point in the air is that moves faster, does not matter."""
_RESTS = 0.3
"""Metres a second: a body that moves faster along its way touches only what it passes."""
_CLEARANCE = 0.05
"""Share of the body's size that limbs keep clear of objects which they pass: a motion may graze them."""
_AROUND = 0.05
"""Seconds before and after a moment over which a speed is measured."""
_LEVEL = 0.02
"""Metres: points of a body that are this much farther from what it touches than its nearest one touch it too."""


@dataclass(frozen=True)
class Anchor:
    """A pair, and where its point is in the world (3,) when the pair is taken."""

    pair: Pair
    place: Array
    touches: bool
    """Whether the pair is a contact, and not a point in the air."""
    passes: bool = False
    """Whether it is of a limb on its way."""


def anchors_at(
    performance: Performance, frame: int, *, contacts_only: bool = False, passes: bool = False
) -> list[Anchor]:
    """The pairs that hold the pose of a frame: contacts first, those of feet, hands and other patches before others.

    Where the body only ``passes``, limbs on their way touch nothing, and are told however fast they are.
    """
    chosen: list[Anchor] = []
    parts: list[str] = []
    apart = _APART * performance.character.size
    wanted = performance.touches_at(frame)
    if passes:
        wanted = [touch for touch in wanted if _speed(performance, frame, touch.body, np.zeros(3)) < _RESTS]
    patched = {f"{performance.name}/{patch.body}" for patch in performance.character.patches.values()}
    wanted.sort(key=lambda touch: (touch.itself, touch.body not in patched))
    for touch, anchor in _contacts(performance, frame, wanted):
        part = performance.part(touch.body)
        if touch.itself and part in parts:
            continue
        told = performance.called(touch.body) in [other.pair.body for other in chosen]
        far = all(np.linalg.norm(anchor.place - other.place) > apart for other in chosen)
        if len(chosen) < MOST_CONTACTS and (far or (touch.body in patched and not told)):
            chosen.append(anchor)
            parts.append(part)
    for full, anchor in () if contacts_only else _in_the_air(performance, frame, passes):
        part = performance.part(full)
        own = [other.place for other, its in zip(chosen, parts, strict=True) if its == part]
        if all(np.linalg.norm(anchor.place - place) > apart for place in own):
            chosen.append(anchor)
            parts.append(part)
    return chosen


def displacements(motion: Motion, pairs: Sequence[Pair]) -> Array:
    """(T, P, 3) from each target to its point over a motion, metres."""
    ends = [[_path(motion, *side) for side in ((p.body, p.point), (p.on, p.at))] for p in pairs]
    return np.stack([point - target for point, target in ends], axis=1)


def _contacts(performance: Performance, frame: int, wanted: Sequence[Touch]) -> Iterator[tuple[Touch, Anchor]]:
    """Where bodies and what they touch come nearest to each other."""
    scene = performance.motion.scene
    model = scene.model
    still = performance.motion[frame : frame + 1]
    rows, surfaces = survey(still, margin=_WITHIN_REACH * performance.character.size)
    half = surfaces.normal * -rows.depth[:, None] / 2
    ends = np.stack([rows.position + half, rows.position - half], axis=1)
    bodies = model.geom_bodyid[rows.geoms]
    for touch in wanted:
        own, thing = model.body(touch.body).id, scene.frame(touch.on)
        others = {"body": bodies, "geom": rows.geoms, "world": rows.geoms}[thing.kind]
        index = model.geom(touch.on).id if thing.kind == "world" else thing.index
        side = np.where((bodies[:, 0] == own) & (others[:, 1] == index), 0, 1)
        found = np.flatnonzero((side == 0) | ((bodies[:, 1] == own) & (others[:, 0] == index)))
        if not len(found):
            continue
        found = found[rows.depth[found] >= rows.depth[found].max() - _LEVEL]
        point = ends[found, side[found]].mean(axis=0)
        at = ends[found, 1 - side[found]].mean(axis=0)
        pair = Pair(
            body=performance.called(touch.body),
            point=_seen(still, scene.frame(touch.body), point),
            on=performance.called(touch.on),
            at=_seen(still, thing, at),
        )
        yield touch, Anchor(pair, point, True)


def _in_the_air(performance: Performance, frame: int, passes: bool) -> Iterator[tuple[str, Anchor]]:
    """Points that tell a pose, and their bodies: chest and pelvis, and the ends of limbs that do not move fast.

    Where the body only ``passes``, limbs on their way are told however fast they are, with their middle joints, and
    higher if they come close to an object.
    """
    character, prefix = performance.character, f"{performance.name}/"
    trunk = [character.landmarks[key] for key in ("chest", "pelvis") if key in character.landmarks]
    trunk = trunk or [Point(character.bodies[0])]
    still, clear = performance.motion[frame : frame + 1], _CLEARANCE * character.size
    grazing = _parts_at_objects(performance, still, clear) if passes else ()

    def anchored(body: str, point: Array, *, on_way: bool = False) -> tuple[str, Anchor]:
        full = prefix + body
        lift = clear if on_way and performance.part(full) in grazing else 0.0
        place = _path(still, full, point)[0] + [0.0, 0.0, lift]
        pair = Pair(body=performance.called(full), point=_rounded(point), on=GROUND, at=_rounded(place))
        return full, Anchor(pair, place, False, on_way)

    yield from (anchored(mark.body, np.array(mark.offset)) for mark in trunk)
    for part, bodies in character.parts.items():
        if part == character.part_of.get(trunk[0].body):
            continue
        patches = [patch for patch in character.patches.values() if patch.body in bodies]
        body, points = (patches[0].body, patches[0].points) if patches else (bodies[-1], ((0.0, 0.0, 0.0),))
        point = np.mean(points, axis=0)
        speed = _speed(performance, frame, prefix + body, point)
        if passes and speed > _RESTS:
            yield anchored(body, point, on_way=True)
            if len(bodies) > 2:  # a knee tells whether a foot is lifted in front of the body or behind it
                yield anchored(bodies[1], np.zeros(3), on_way=True)
        elif speed < _SLOW:
            yield anchored(body, point)


def _parts_at_objects(performance: Performance, still: Motion, near: float) -> set[str]:
    """The parts of the body that are within ``near`` metres of an object in a motion of one frame."""
    scene, model = performance.motion.scene, performance.motion.scene.model
    found = set[str]()
    for pair in survey(still, margin=near)[0].geoms:
        things = [model.geom(int(geom)).name.partition("/")[0] for geom in pair]
        if any(thing in scene.objects for thing in things):
            found |= {performance.part(model.body(int(body)).name) for body in model.geom_bodyid[pair]}
    return found


def _speed(performance: Performance, frame: int, full: str, point: Array) -> float:
    """Metres a second of a point of the body, around a frame."""
    motion = performance.motion
    around = round(_AROUND / motion.dt) or 1
    start, stop = max(frame - around, 0), min(frame + around, len(motion) - 1)
    path = _path(motion, full, point)
    return float(np.linalg.norm(path[stop] - path[start]) / ((stop - start) * motion.dt))


def _frames(motion: Motion, frame: Frame) -> tuple[Array, Array]:
    """Positions (T, 3) and quaternions (T, 4) of a frame of the scene."""
    model, poses = motion.scene.model, motion.poses()
    if frame.kind == "world":
        return poses.positions[:, 0], poses.quats[:, 0]
    body = frame.index if frame.kind == "body" else int(model.geom_bodyid[frame.index])
    position, quat = poses.positions[:, body], poses.quats[:, body]
    if frame.kind == "body":
        return position, quat
    return position + rotate(quat, model.geom_pos[frame.index]), multiply(quat, model.geom_quat[frame.index])


def _path(motion: Motion, name: str, point: Sequence[float] | Array) -> Array:
    """(T, 3) where a point of a named frame is."""
    position, quat = _frames(motion, motion.scene.frame(name))
    return position + rotate(quat, np.asarray(point, float))


def _seen(still: Motion, frame: Frame, place: Array) -> tuple[float, float, float]:
    """A place in the world as seen from a frame in a motion of one frame."""
    position, quat = _frames(still, frame)
    return _rounded(rotate(conjugate(quat[0]), place - position[0]))


def _rounded(point: Array) -> tuple[float, float, float]:
    """To millimetres, as people write them."""
    x, y, z = (round(float(value), 3) + 0.0 for value in point)
    return x, y, z
