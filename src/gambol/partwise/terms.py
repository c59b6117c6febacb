"""The cost of rollouts: the contact objective and the twelve common terms (Section 3.3, Table 1, Appendix A).

Everything is a pure function of arrays over (trials B, rollouts N, steps T), in NumPy or in JAX, whichever the arrays
are of. Norms follow the published planner: smoothed absolute value for posture and contact, squares for velocities, a
hyperbolic cosine for control.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gambol.characters import Character
from gambol.goals import Keyframe, Weights
from gambol.partwise.sensing import Senses
from gambol.rotations import Array, namespace, rotate

ALPHA = 0.1
"""Width (metres, or unit-vector components) of the smoothed absolute value's rounded tip (equation 5)."""
CONTROL_WIDTH = 0.3


def smooth_abs(residual: Array) -> Array:
    """√(x² + α²) - α of each component (equation 5)."""
    return namespace(residual).sqrt(residual**2 + ALPHA**2) - ALPHA


def quadratic(residual: Array) -> Array:
    """Half the square of each component."""
    return 0.5 * residual**2


def hyperbolic(residual: Array) -> Array:
    """p² (cosh(x / p) - 1) of each component: square for small controls, steep for large ones."""
    return CONTROL_WIDTH**2 * (namespace(residual).cosh(residual / CONTROL_WIDTH) - 1.0)


@dataclass(frozen=True)
class Rolled:
    """What terms look at, over (B, N, T): sensors, joint velocities, controls, and the point to face (B, 1, 1, 2)."""

    senses: Senses
    sensors: Array
    joint_velocity: Array
    control: Array
    facing: Array
    heights: Any
    """Standing heights of head and torso, metres; each a number, or an array (B, 1, 1, 1)."""


Residual = Callable[[Rolled], Array]


def _tilt(landmark: str) -> Residual:
    """1 - k̂·ẑ: how far the body leans from upright."""
    return lambda rolled: 1.0 - rolled.senses.axis(rolled.sensors, landmark, 2)[..., 2:]


def _height(landmark: str, which: int) -> Residual:
    return lambda rolled: rolled.senses.position(rolled.sensors, landmark)[..., 2:] - rolled.heights[which]


def _ground_middle(rolled: Rolled, right: str, left: str) -> Array:
    both = rolled.senses.position(rolled.sensors, right) + rolled.senses.position(rolled.sensors, left)
    return 0.5 * both[..., :2]


def _knee_feet(rolled: Rolled) -> Array:
    feet = _ground_middle(rolled, "right_ankle", "left_ankle")
    return _ground_middle(rolled, "right_knee", "left_knee") - feet


def _com_feet(rolled: Rolled) -> Array:
    feet = _ground_middle(rolled, "right_ankle", "left_ankle")
    return rolled.senses.centre_of_mass(rolled.sensors)[..., :2] - feet


def _facing(rolled: Rolled) -> Array:
    """Unit vector towards the point to face minus the torso's forward direction, on the ground."""
    away = rolled.facing - rolled.senses.position(rolled.sensors, "chest")[..., :2]
    length = namespace(away).sqrt((away**2).sum(-1, keepdims=True) + 1e-12)
    return away / length - rolled.senses.axis(rolled.sensors, "chest", 0)[..., :2]


@dataclass(frozen=True)
class Term:
    """A common term: its residual, its norm, and the landmarks whose parts it concerns (None: every part)."""

    residual: Residual
    norm: Callable[[Array], Array]
    concerns: tuple[str, ...] | None
    owners: Callable[[Senses], Array] | None = None
    """For a sum over joints: which part each belongs to (joints, owners). It is then a cost for each owner."""


COMMON: dict[str, Term] = {
    "upright_torso": Term(_tilt("chest"), smooth_abs, ("chest",)),
    "upright_pelvis": Term(_tilt("pelvis"), smooth_abs, ("pelvis",)),
    "upright_left_foot": Term(_tilt("left_ankle"), smooth_abs, ("left_ankle",)),
    "upright_right_foot": Term(_tilt("right_ankle"), smooth_abs, ("right_ankle",)),
    "head_height": Term(_height("head", 0), smooth_abs, ("head",)),
    "torso_height": Term(_height("chest", 1), smooth_abs, ("chest",)),
    "knee_feet": Term(_knee_feet, smooth_abs, ("right_ankle", "left_ankle")),
    "com_feet": Term(_com_feet, smooth_abs, None),
    "facing": Term(_facing, smooth_abs, ("chest",)),
    "com_velocity": Term(lambda rolled: rolled.senses.momentum_velocity(rolled.sensors), quadratic, None),
    "joint_velocity": Term(lambda rolled: rolled.joint_velocity, quadratic, None, lambda senses: senses.joint_owners),
    "control": Term(lambda rolled: rolled.control, hyperbolic, None, lambda senses: senses.actuator_owners),
}
"""The twelve common terms; the parts they concern are those of Table 1, found through the landmarks."""

if {"contact", *COMMON} != set(Weights.model_fields):
    raise RuntimeError("the terms and their weights have come apart")


def concerned_parts(name: str, character: Character) -> set[str]:
    """The parts of a character that a common term concerns (Table 1)."""
    landmarks = COMMON[name].concerns
    if landmarks is None:
        return set(character.parts)
    return {character.part_of[character.landmarks[landmark].body] for landmark in landmarks}


class Column(NamedTuple):
    """One of the costs of the common terms."""

    term: str
    owner: str | None
    """The part whose joints it sums over; None for a term that is no sum over joints."""


def common_columns(senses: Senses) -> list[Column]:
    """The costs of the common terms in their order: one a term, or one for each owner of joints."""
    owners = {name: (None,) if term.owners is None else senses.owners for name, term in COMMON.items()}
    return [Column(name, owner) for name, each in owners.items() for owner in each]


@dataclass(frozen=True)
class KeyframeTable:
    """All keyframes of a task as arrays with a row each, so that trials at different keyframes are costed together.

    Pairs are padded to the largest number P; padding weighs nothing.
    """

    columns: Any
    """(K, 2 P) sensor columns of the frames of the points, then of their targets."""
    offsets: Any
    """(K, 2 P, 3) the points in those frames."""
    present: Any
    """(K, P) 1 for a pair, 0 for padding."""
    weights: Any
    """(K, P + C) weights of the pairs, then of the columns of the common terms."""
    facing: Any
    """(K, 2) the point to face."""

    @staticmethod
    def of(keyframes: Sequence[Keyframe], senses: Senses) -> KeyframeTable:
        """The table of a sequence, for sensors laid out as ``senses`` says."""
        count, most = len(keyframes), max(len(k.pairs) for k in keyframes)
        columns = np.full((count, 2 * most), next(iter(senses.frames.values())), int)
        offsets, present = np.zeros((count, 2 * most, 3)), np.zeros((count, most))
        common = common_columns(senses)
        weights = np.zeros((count, most + len(common)))
        for row, keyframe in enumerate(keyframes):
            pairs = keyframe.pairs
            for side, frames, points in ((0, "body", "point"), (most, "on", "at")):
                columns[row, side : side + len(pairs)] = [senses.frames[getattr(p, frames)] for p in pairs]
                offsets[row, side : side + len(pairs)] = [getattr(p, points) for p in pairs]
            present[row, : len(pairs)] = 1.0
            weights[row, : len(pairs)] = keyframe.weights.contact
            unwanted = () if keyframe.facing else ("facing",)
            weights[row, most:] = [
                0.0 if column.term in unwanted else getattr(keyframe.weights, column.term) for column in common
            ]
        facing = np.array([keyframe.facing or (0.0, 0.0) for keyframe in keyframes])
        return KeyframeTable(columns, offsets, present, weights, facing)

    def displacements(self, sensors: Array, index: Any) -> Array:
        """Vectors (B, ..., P, 3) from each target to its point (equation 4); ``index`` (B,) chooses the keyframes."""
        xp = namespace(sensors)
        lead = (sensors.shape[0],) + (1,) * (sensors.ndim - 2)
        columns = self.columns[index][..., None] + np.arange(7)
        if len(sensors) == 1:  # one trial: no need to look up each its own
            frames = sensors[..., columns[0]]
        else:
            frames = xp.take_along_axis(sensors, columns.reshape(*lead, -1), axis=-1)
            frames = frames.reshape(*sensors.shape[:-1], -1, 7)
        offsets = self.offsets[index].reshape(*lead, -1, 3)
        points = frames[..., :3] + rotate(frames[..., 3:], offsets)
        half = points.shape[-2] // 2
        return (points[..., :half, :] - points[..., half:, :]) * self.present[index].reshape(*lead, -1, 1)


def costs(rolled: Rolled, table: KeyframeTable, index: Any) -> Array:
    """Weighted costs (B, N, P + C) of every pair and column of the common terms, averaged over time."""
    xp = namespace(rolled.sensors)
    weights = table.weights[index]
    contact = smooth_abs(table.displacements(rolled.sensors, index)).sum(-1).mean(-2)
    counting = _counting(rolled.senses, weights[:, contact.shape[-1] :])
    common = [_by_column(term, rolled, name in counting) for name, term in COMMON.items()]
    return xp.concat([contact, *common], axis=-1) * weights[:, None]


def _by_column(term: Term, rolled: Rolled, counts: bool) -> Array:
    """The columns (B, N, 1 or owners) of a term, averaged over time; zeros where it does not count."""
    xp = namespace(rolled.sensors)
    owners = None if term.owners is None else term.owners(rolled.senses)
    if not counts:
        return xp.zeros((*rolled.sensors.shape[:2], 1 if owners is None else owners.shape[1]))
    found = term.norm(term.residual(rolled)).mean(-2)
    return found.sum(-1, keepdims=True) if owners is None else found @ xp.asarray(owners, dtype=found.dtype)


def _counting(senses: Senses, weights: Any) -> Collection[str]:
    """The common terms that have a weight now: the others need not be computed. While JAX traces, all may."""
    if not isinstance(weights, np.ndarray):
        return COMMON
    return {column.term for column, given in zip(common_columns(senses), weights.T, strict=True) if given.any()}


def watched_frames(keyframes: Sequence[Keyframe]) -> list[str]:
    """Every frame that some pair speaks of."""
    return [name for keyframe in keyframes for pair in keyframe.pairs for name in (pair.body, pair.on)]
