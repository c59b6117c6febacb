"""Feet that slide, solids that overlap, bodies that hang in the air."""

from __future__ import annotations

import numpy as np

from gambol.motion.contacts import Contacts
from gambol.motion.metrics.metric import CannotMeasureError, Reading, largest, mean, measures, require_frames
from gambol.motion.metrics.subject import Subject
from gambol.rotations import Array, conjugate, rotate

_FOOT_NAMES = ("foot", "feet", "toe", "paw", "hoof")
_PLANTED = 0.01
"""Metres within which a foot counts as standing on something."""
_BALLISTIC = 0.5
"""Share of gravity by which a falling body's acceleration may differ from it."""


@measures("m/s", "0; below 0.05 feet look planted")
def foot_skate(subject: Subject) -> Reading:
    """Mean speed along the surface of the points where feet are within 1 cm of something, relative to that thing.

    Each contact point is carried on with the foot and with what it stands on from one frame to the next, as long as the
    two stay that near. Feet are the bodies of patches named after feet, toes or paws; without such, of all patches.
    """
    require_frames(subject, 2, "a speed")
    patches = subject.character.patches
    feet = [p.body for name, p in patches.items() if any(word in name.lower() for word in _FOOT_NAMES)]
    feet = feet or [patch.body for patch in patches.values()]
    if not feet:
        raise CannotMeasureError(f"{subject.name!r} has no contact patches")
    touches, poses = subject.touches, subject.motion.poses()
    bodies = [subject.model.body(f"{subject.name}/{body}").id for body in feet]
    chosen = np.isin(touches.body, bodies) & (touches.contacts.depth >= -_PLANTED)
    chosen &= _stays(touches.contacts, chosen, subject.model.ngeom)
    if not chosen.any():
        raise CannotMeasureError("no foot stands on anything for two frames")
    frame, point = touches.contacts.frame[chosen], touches.contacts.position[chosen]

    def carried(body: np.ndarray) -> Array:
        local = rotate(conjugate(poses.quats[frame, body]), point - poses.positions[frame, body])
        return poses.positions[frame + 1, body] + rotate(poses.quats[frame + 1, body], local)

    slide = carried(touches.body[chosen]) - carried(touches.other[chosen])
    normal = touches.surfaces.normal[chosen]
    slide -= (slide * normal).sum(axis=1, keepdims=True) * normal
    speed = np.linalg.norm(slide, axis=1) / subject.motion.dt
    count = np.bincount(frame, minlength=len(subject.motion))
    total = np.bincount(frame, speed, minlength=len(subject.motion))
    curve = np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)
    return Reading(float(speed.mean()), curve)


def _stays(contacts: Contacts, chosen: np.ndarray, geoms: int) -> np.ndarray:
    """(K,) whether the two solids of a row are among the chosen rows of the next frame too."""
    pair = contacts.geoms[:, 0] * geoms + contacts.geoms[:, 1]
    key = contacts.frame * geoms**2 + pair
    return np.isin(key + geoms**2, key[chosen])


def _deepest(subject: Subject, contacts: Contacts) -> Array:
    """(T,) deepest overlap of each frame, millimetres."""
    curve = np.zeros(len(subject.motion))
    np.maximum.at(curve, contacts.frame, 1000 * contacts.depth)
    return curve


@measures("mm", "0; a few millimetres are usual in simulation")
def penetration(subject: Subject) -> Reading:
    """Deepest overlap of the character's solids with anything else, over all frames."""
    return largest(_deepest(subject, subject.touches.contacts))


@measures("mm", "0; around 1 is usual in simulation")
def penetration_mean(subject: Subject) -> Reading:
    """Mean over the frames of the deepest overlap of the character's solids with anything else."""
    return mean(_deepest(subject, subject.touches.contacts))


@measures("mm", "0; a few millimetres are usual in simulation")
def self_penetration(subject: Subject) -> Reading:
    """Deepest overlap of the character's solids with each other; solids that may never touch do not count."""
    return largest(_deepest(subject, subject.self_contacts()))


@measures("mm", "0; around 1 is usual in simulation")
def self_penetration_mean(subject: Subject) -> Reading:
    """Mean over the frames of the deepest overlap of the character's solids with each other."""
    return mean(_deepest(subject, subject.self_contacts()))


def _hangs(subject: Subject) -> Array:
    """(T,) 1 where the character is 2 cm from everything and its centre of mass does not fall freely."""
    require_frames(subject, 3, "an acceleration")
    acceleration = subject.rate(subject.mechanics.momentum[:, :3])[1:-1] / subject.mass
    pull = float(np.linalg.norm(subject.gravity))
    held = np.linalg.norm(acceleration - subject.gravity, axis=1) > _BALLISTIC * pull
    held = np.concatenate([held[:1], held, held[-1:]])
    held[subject.touches.contacts.frame] = False
    return held.astype(float)


@measures("share", "0")
def floating(subject: Subject) -> Reading:
    """Share of the frames in which nothing is within 2 cm of the character and yet it does not fall.

    Falling is an acceleration of the centre of mass within half of gravity of gravity itself.
    """
    return mean(_hangs(subject))


@measures("s", "0")
def floating_longest(subject: Subject) -> Reading:
    """Seconds of the longest stretch without anything within 2 cm of the character and without falling."""
    hangs = _hangs(subject)
    edges = np.flatnonzero(np.diff(np.concatenate([[0.0], hangs, [0.0]])))
    longest = int((edges[1::2] - edges[::2]).max(initial=0))
    return Reading(longest * subject.motion.dt, hangs)
