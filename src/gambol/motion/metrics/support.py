"""Contact forces nobody recorded: the ones that explain a motion best, among those contact and friction allow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gambol.motion.metrics.subject import Subject
from gambol.rotations import Array

_EDGES = 8
"""Edges of the pyramid that stands for the friction cone."""
_RIDGE = 1e-4
"""How little of the force itself is minimised too, so that it is shared among the points instead of being arbitrary."""
_BATCH = 256
"""Frames solved at once."""


@dataclass(frozen=True)
class Support:
    """The best forces at the frames of a motion."""

    residual: Array
    """(T, 6) force (N) and moment about the centre of mass (N m) that remain unexplained; NaN at both ends."""
    frame: np.ndarray
    """(K,) frame at which each force acts."""
    body: np.ndarray
    """(K,) body of the character it acts on."""
    position: Array
    """(K, 3) where, metres."""
    force: Array
    """(K, 3) newtons."""


def best_support(subject: Subject) -> Support:
    """For every inner frame, the contact forces that leave least of the change of momentum unexplained.

    Forces push, stay within the friction of the surfaces, and act where the character is near something in the frame
    itself or in its neighbours: the change of momentum is measured over as long.
    """
    mechanics, count = subject.mechanics, len(subject.motion)
    scale = np.repeat([1.0, 1.0 / mechanics.gyration], 3) / subject.weight
    needed = subject.rate(mechanics.momentum)
    needed[:, :3] -= subject.mass * subject.gravity
    residual = np.full((count, 6), np.nan)
    rows, frames = _rows_around(subject, count)
    touches = subject.touches
    # one row of nothing at the end fills up frames with fewer touches than others
    position = np.concatenate([touches.contacts.position[rows], np.zeros((1, 3))])
    edges = _friction_edges(touches.surfaces.normal[rows], touches.surfaces.friction[rows])
    edges = np.concatenate([edges, np.zeros((1, _EDGES, 3))])
    force = np.zeros((len(rows) + 1, 3))
    bounds = np.searchsorted(frames, np.arange(count + 1))
    for start in range(1, count - 1, _BATCH):
        batch = np.arange(start, min(start + _BATCH, count - 1))
        columns = bounds[batch][:, None] + np.arange((bounds[batch + 1] - bounds[batch]).max())
        columns = np.where(columns < bounds[batch + 1][:, None], columns, len(rows))
        push = edges[columns]
        arms = position[columns] - mechanics.com[batch][:, None]
        wrench = np.concatenate([push, np.cross(arms[:, :, None], push)], axis=-1) * scale * subject.weight
        basis = wrench.reshape(len(batch), -1, 6).transpose(0, 2, 1)
        left, weights = smallest_residual(basis, needed[batch] * scale)
        residual[batch] = left / scale
        force[columns] = (weights.reshape(*columns.shape, _EDGES, 1) * push).sum(axis=2) * subject.weight
    return Support(residual, frames, touches.body[rows], position[:-1], force[:-1])


def smallest_residual(basis: Array, goal: Array, ridge: float = _RIDGE) -> tuple[Array, Array]:
    """For each of N problems, minimise |goal - basis·x|² + ridge |x|² over x ≥ 0.

    ``basis`` (N, m, n), ``goal`` (N, m). Returns the residuals goal - basis·x (N, m) and x (N, n). At the optimum
    x = max(0, basisᵀ y) / ridge, where y is the residual; that leaves m unknowns and one equation,
    y + basis·x = goal, the gradient of a convex function that is quadratic in pieces: Newton with a line search.
    """
    y = goal / (1.0 + (basis**2).sum(axis=(1, 2)) / ridge)[:, None]

    def pushes(y: Array) -> Array:
        return np.maximum(np.einsum("kmn,km->kn", basis, y), 0.0)

    def height(y: Array, push: Array) -> Array:
        return (y * (0.5 * y - goal)).sum(axis=1) + (push**2).sum(axis=1) / (2 * ridge)

    push = pushes(y)
    for _ in range(100):
        slope = y - goal + np.einsum("kmn,kn->km", basis, push) / ridge
        if np.abs(slope).max(initial=0.0) < 1e-10 * (1.0 + np.abs(goal).max(initial=0.0)):
            break
        active = basis * (push > 0)[:, None]
        curvature = np.eye(basis.shape[1]) + active @ active.transpose(0, 2, 1) / ridge
        step = -np.linalg.solve(curvature, slope[..., None])[..., 0]
        now, fall = height(y, push), (slope * step).sum(axis=1)
        size = np.ones(len(y))
        for _ in range(30):
            tried = y + size[:, None] * step
            too_far = height(tried, pushes(tried)) > now + 1e-4 * size * fall + 1e-15
            if not too_far.any():
                break
            size = np.where(too_far, size / 2, size)
        y = y + size[:, None] * step
        push = pushes(y)
    return y, push / ridge


def _rows_around(subject: Subject, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the touches of every inner frame and its two neighbours, and the frame each of them is used at."""
    frame = subject.touches.contacts.frame
    rows = np.concatenate([np.arange(len(frame))] * 3)
    at = np.concatenate([frame - 1, frame, frame + 1])
    inner = (at >= 1) & (at <= count - 2)
    order = np.argsort(at[inner], kind="stable")
    return rows[inner][order], at[inner][order]


def _friction_edges(normal: Array, friction: Array) -> Array:
    """Unit vectors (K, edges, 3) along the edges of each friction pyramid."""
    helper = np.where(np.abs(normal[:, :1]) < 0.7, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    side = np.cross(normal, helper)
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    angles = np.arange(_EDGES) * (2 * np.pi / _EDGES)
    around = np.cos(angles)[:, None] * side[:, None] + np.sin(angles)[:, None] * np.cross(normal, side)[:, None]
    edges = normal[:, None] + friction[:, None, None] * around
    return edges / np.linalg.norm(edges, axis=-1, keepdims=True)
