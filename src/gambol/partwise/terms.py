"""The cost of a rollout: the contact objective and the twelve common terms (Section 3.3, Table 1, Appendix A).

Each term is a pure function of sensor arrays (N, T, nsensordata) that returns its residual; its norm turns the residual
into a cost. Norms follow the published planner: smoothed absolute value for posture and contact, squares for
velocities, a hyperbolic cosine for control.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gambol.goals import Keyframe, Weights
from gambol.partwise.sensing import Senses
from gambol.rotations import Array

ALPHA = 0.1
"""Width (metres, or unit-vector components) of the smoothed absolute value's rounded tip (equation 5)."""
CONTROL_WIDTH = 0.3


def smooth_abs(residual: Array) -> Array:
    """√(x² + α²) - α, summed over the residual's components (equation 5)."""
    return (np.sqrt(residual**2 + ALPHA**2) - ALPHA).sum(-1)


def quadratic(residual: Array) -> Array:
    """Half the squared length."""
    return 0.5 * (residual**2).sum(-1)


def hyperbolic(residual: Array) -> Array:
    """p² (cosh(x / p) - 1): square for small controls, steep for large ones."""
    return (CONTROL_WIDTH**2 * (np.cosh(residual / CONTROL_WIDTH) - 1.0)).sum(-1)


@dataclass(frozen=True)
class Rolled:
    """What terms look at: sensors (N, T, nsensordata), joint velocities (N, T, nv), controls (N, T, nu)."""

    senses: Senses
    sensors: Array
    joint_velocity: Array
    control: Array
    keyframe: Keyframe
    heights: tuple[float, float]
    """Standing heights of head and torso, metres."""


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
    if rolled.keyframe.facing is None:
        return np.zeros((*rolled.sensors.shape[:2], 2))
    away = np.array(rolled.keyframe.facing) - rolled.senses.position(rolled.sensors, "chest")[..., :2]
    away /= np.maximum(np.linalg.norm(away, axis=-1, keepdims=True), 1e-6)
    return away - rolled.senses.axis(rolled.sensors, "chest", 0)[..., :2]


_TERMS: dict[str, tuple[Residual, Callable[[Array], Array]]] = {
    "upright_torso": (_tilt("chest"), smooth_abs),
    "upright_pelvis": (_tilt("pelvis"), smooth_abs),
    "upright_left_foot": (_tilt("left_ankle"), smooth_abs),
    "upright_right_foot": (_tilt("right_ankle"), smooth_abs),
    "head_height": (_height("head", 0), smooth_abs),
    "torso_height": (_height("chest", 1), smooth_abs),
    "knee_feet": (_knee_feet, smooth_abs),
    "com_feet": (_com_feet, smooth_abs),
    "facing": (_facing, smooth_abs),
    "com_velocity": (lambda rolled: rolled.senses.momentum_velocity(rolled.sensors), quadratic),
    "joint_velocity": (lambda rolled: rolled.joint_velocity, quadratic),
    "control": (lambda rolled: rolled.control, hyperbolic),
}

TERMS = ("contact", *_TERMS)
"""Names of all terms, in the order of the columns of :func:`term_costs`."""

if set(TERMS) != set(Weights.model_fields):
    raise RuntimeError("the terms and their weights have come apart")


class ContactPairs:
    """The pairs of one keyframe, ready to be measured on arrays of sensors."""

    def __init__(self, keyframe: Keyframe, senses: Senses):
        pairs = keyframe.pairs
        self._senses = senses
        self._columns = np.array([senses.frames[p.body] for p in pairs] + [senses.frames[p.on] for p in pairs])
        self._offsets = np.array([p.point for p in pairs] + [p.at for p in pairs])

    def displacements(self, sensors: Array) -> Array:
        """Vectors (..., P, 3) from each target to its point (equation 4)."""
        points = self._senses.points(sensors, self._columns, self._offsets)
        half = len(self._columns) // 2
        return points[..., :half, :] - points[..., half:, :]


def term_costs(rolled: Rolled, pairs: ContactPairs) -> Array:
    """Weighted cost (N, number of terms) of each rollout, averaged over time; terms without weight are skipped."""
    weights = rolled.keyframe.weights
    costs = np.zeros((len(rolled.sensors), len(TERMS)))
    if weights.contact:
        displacement = pairs.displacements(rolled.sensors)
        flat = displacement.reshape(*displacement.shape[:2], -1)
        costs[:, 0] = weights.contact * smooth_abs(flat).mean(-1)
    for column, (name, (residual, norm)) in enumerate(_TERMS.items(), start=1):
        weight = getattr(weights, name)
        if weight:
            costs[:, column] = weight * norm(residual(rolled)).mean(-1)
    return costs


def watched_frames(keyframes: Sequence[Keyframe]) -> list[str]:
    """Every frame that some pair speaks of."""
    return [name for keyframe in keyframes for pair in keyframe.pairs for name in (pair.body, pair.on)]
