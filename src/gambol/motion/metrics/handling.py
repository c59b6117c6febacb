"""What was done with the thing of a scene that can be moved: where it ends, how upright, and who moved it."""

from __future__ import annotations

import numpy as np

from gambol.motion.metrics.metric import CannotMeasureError, DidNotHappenError, Reading, measures
from gambol.motion.metrics.subject import Subject
from gambol.rotations import Array, level_forward, rotate
from gambol.scenes.objects import Movable

_MOVING = 0.02
"""Metres a second below which a thing lies still."""


@measures("m", "as the wish has it")
def thing_ahead_at_end(subject: Subject) -> Reading:
    """How far the thing ends ahead of where the root began, along the direction the root faced then."""
    return _last(_from_beginning(subject) @ _facing(subject))


@measures("m", "as the wish has it")
def thing_left_at_end(subject: Subject) -> Reading:
    """How far the thing ends to the left of where the root began, as the root faced then."""
    x, y = _facing(subject)
    return _last(_from_beginning(subject) @ np.array([-y, x]))


@measures("m", "as the wish has it")
def thing_height_at_end(subject: Subject) -> Reading:
    """Height of the thing's middle in the last frame."""
    return _last(_places(subject)[:, 2])


@measures("m", "as the wish has it")
def thing_lifted(subject: Subject) -> Reading:
    """Greatest height of the thing's middle above where it began."""
    curve = _places(subject)[:, 2] - _places(subject)[0, 2]
    return Reading(float(curve.max()), curve)


@measures("degrees", "0; below 5 it stands upright")
def thing_tilt_at_end(subject: Subject) -> Reading:
    """How far the thing's own vertical leans from the world's in the last frame."""
    up = rotate(subject.motion.poses().quats[:, _thing(subject)], [0.0, 0.0, 1.0])
    return _last(np.degrees(np.arccos(np.clip(up[:, 2], -1.0, 1.0))))


@measures("m/s", "0; below 0.05 it lies still")
def thing_speed_at_end(subject: Subject) -> Reading:
    """Speed of the thing's middle in the last frame."""
    steps = np.linalg.norm(np.diff(_places(subject), axis=0), axis=1) / subject.motion.dt
    return _last(np.concatenate([steps[:1], steps]))


@measures("share", "as the wish has it")
def thing_share(subject: Subject) -> Reading:
    """Share of the thing's way that it went in touch with the character; what several do is divided among them."""
    motion, scene = subject.motion, subject.motion.scene
    contacts, _ = subject.near
    bodies, thing = subject.model.geom_bodyid[contacts.geoms], _thing(subject)
    touched = np.zeros((len(scene.characters), len(motion)), bool)
    for row, name in zip(touched, scene.characters, strict=True):
        own = np.isin(bodies, list(scene.spans[name].bodies))
        row[contacts.frame[(own & (bodies[:, ::-1] == thing)).any(axis=1)]] = True
    ways = np.linalg.norm(np.diff(_places(subject), axis=0), axis=1)
    ways = np.where(ways > _MOVING * motion.dt, ways, 0.0) * touched[:, 1:].any(axis=0)
    if not ways.sum():
        raise DidNotHappenError("nobody moves the thing")
    own = touched[list(scene.characters).index(subject.name), 1:]
    done = np.cumsum(ways * own / np.maximum(touched[:, 1:].sum(axis=0), 1)) / ways.sum()
    return _last(np.concatenate([[0.0], done]))


HANDLING = (
    thing_ahead_at_end,
    thing_left_at_end,
    thing_height_at_end,
    thing_lifted,
    thing_tilt_at_end,
    thing_speed_at_end,
    thing_share,
)
"""Every feat that is about the thing."""


def _thing(subject: Subject) -> int:
    """The body of the only thing in the scene that can be moved."""
    things = [name for name, each in subject.motion.scene.objects.items() if isinstance(each, Movable)]
    if len(things) != 1:
        raise CannotMeasureError(f"there are {len(things)} things that can be moved, not one")
    return int(subject.model.body(things[0]).id)


def _places(subject: Subject) -> Array:
    """World positions (T, 3) of the thing's middle."""
    return subject.motion.poses().positions[:, _thing(subject)]


def _facing(subject: Subject) -> Array:
    """The direction on the ground (2,) that the root faces in the first frame."""
    return level_forward(subject.motion.poses().quats[0, subject.root])


def _from_beginning(subject: Subject) -> Array:
    """Ground positions (T, 2) of the thing from where the root began."""
    return _places(subject)[:, :2] - subject.motion.poses().positions[0, subject.root, :2]


def _last(curve: Array) -> Reading:
    return Reading(float(curve[-1]), curve)
