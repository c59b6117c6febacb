"""Putting recorded and optimised bodies on what carries them, and finding out where nothing does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gambol.errors import InputError
from gambol.motion.contacts import detect
from gambol.motion.metrics.subject import NEAR, Subject
from gambol.motion.metrics.support import smallest_residual
from gambol.motion.motion import Motion
from gambol.motion.retarget import clearance
from gambol.rotations import Array

_HIGHEST = 0.15
"""Share of the body's size that it may hang above the ground by mistake."""
_FALLING = 0.5
"""Share of gravity by which the acceleration of a body in flight may differ from it."""
_SMOOTHING = 0.05
"""Seconds before and after a frame over which a shift of height is evened out."""
_RESTS, _FOR = 0.3, 0.5
"""Metres a second: a body with a slower centre of mass, for that many seconds, rests on something."""
_CARRYING = 0.06
"""Metres within which things carry a body; what was not simulated hovers and sinks."""
_OFF = 0.1
"""Share of the body's size that the centre of mass of a body at rest may be off what carries it."""


def was_simulated(motion: Motion) -> bool:
    """Whether physics made the motion, so that nothing in it needs to be put right."""
    return motion.contacts is not None or motion.ctrl is not None


def settled(motion: Motion, name: str) -> Motion:
    """The motion with a character lowered to the ground where it hangs above everything, and raised out of it.

    Captured floors and the flesh of bodies are not exact. In flight, and while it rests on objects, the body stays as
    it is. Where it is too high above everything, an error says when.
    """
    subject = Subject(motion, name)
    height = clearance(motion, name)
    carried = np.zeros(len(motion), bool)
    carried[subject.touches.contacts.frame] = True
    onto = (~carried & ~_flies(subject)) | (height < NEAR)
    if not carried.any() and not onto.any():
        return motion
    _refuse(subject, onto & (height > _HIGHEST * subject.character.size), "hangs above everything")
    shift = np.where(onto, -height, 0.0)
    kept = np.flatnonzero(onto | carried)
    shift = _smooth(np.interp(np.arange(len(motion)), kept, shift[kept]), round(_SMOOTHING / motion.dt))
    qpos = motion.qpos.copy()
    qpos[:, subject.span.qpos.start + 2] += shift
    return replace(motion, qpos=qpos)


def require_support(motion: Motion, name: str) -> None:
    """An error that says when, where a body rests beside everything in the scene: on a chair that was not recorded."""
    subject = Subject(motion, name)
    speed = np.linalg.norm(subject.mechanics.momentum[:, :3], axis=1) / subject.mass
    rests = np.flatnonzero(speed < _RESTS)
    off = np.zeros(len(motion), bool)
    off[rests] = [overhang(subject, frame) > _OFF * subject.character.size for frame in rests.tolist()]
    _refuse(subject, off, "rests on nothing")


def overhang(subject: Subject, frame: int) -> float:
    """Metres on the ground plane from the centre of mass to the hull of what carries the body; infinite in flight."""
    rows = detect(subject.motion[frame : frame + 1], margin=_CARRYING)
    owned = np.isin(subject.model.geom_bodyid[rows.geoms], list(subject.span.bodies)).sum(axis=1)
    arms = (rows.position[owned == 1] - subject.mechanics.com[frame])[:, :2]
    if not len(arms):
        return np.inf
    # the point of the hull nearest to the centre of mass: shares that are not negative and add up to (nearly) one
    basis = np.concatenate([arms.T, np.ones((1, len(arms)))])[None]
    shares = smallest_residual(basis, np.array([[0.0, 0.0, 1.0]]))[1][0]
    return float(np.linalg.norm(shares @ arms) / shares.sum())


def _smooth(values: Array, around: int) -> Array:
    """Values (T,), each the mean of those up to ``around`` frames away; the ends go on as they are."""
    padded = np.pad(values, around, mode="edge")
    return np.convolve(padded, np.full(2 * around + 1, 1 / (2 * around + 1)), mode="valid")


def _flies(subject: Subject) -> np.ndarray:
    """(T,) whether the centre of mass falls freely."""
    flies = np.zeros(len(subject.motion), bool)
    if len(flies) > 2:
        pull = subject.rate(subject.mechanics.momentum[:, :3])[1:-1] / subject.mass - subject.gravity
        flies[1:-1] = np.linalg.norm(pull, axis=1) < _FALLING * np.linalg.norm(subject.gravity)
    return flies


def _refuse(subject: Subject, wrong: np.ndarray, told: str) -> None:
    """An error where something is wrong for long enough to be no mistake of measurement; it says when and where."""
    dt = subject.motion.dt
    edges = np.flatnonzero(np.diff(np.concatenate([[False], wrong, [False]])))
    for start, stop in edges.reshape(-1, 2):
        if (stop - start) * dt >= _FOR:
            x, y, z = subject.mechanics.com[(start + stop - 1) // 2]
            raise InputError(
                f"from {start * dt:.2f} to {(stop - 1) * dt:.2f} s the body {told} that is in the scene"
                f" (its centre of mass is at [{x:.2f}, {y:.2f}], {z:.2f} m high)",
                hint="recorded floors are seldom at zero (--ground), and furniture is seldom recorded (--scene)",
            )
