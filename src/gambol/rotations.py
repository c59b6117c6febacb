"""Quaternions (w, x, y, z) and the few rotations everything shares, vectorised over leading axes.

Active rotations, right-handed, radians. MuJoCo's convention throughout.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
_AXES = {"X": 0, "Y": 1, "Z": 2}


def namespace(*arrays: Any) -> Any:
    """The array library of the given arrays: NumPy, or the other one where any of them comes from it."""
    found = [array.__array_namespace__() for array in arrays if hasattr(array, "__array_namespace__")]
    return next((library for library in found if library is not np), np)


def _array(values: Any) -> Any:
    """Arrays as they are, everything else as NumPy's."""
    return values if hasattr(values, "__array_namespace__") else np.asarray(values, float)


def normalise(quat: ArrayLike) -> Array:
    """Unit quaternions; a zero quaternion becomes the identity."""
    quat = np.asarray(quat, float)
    norm = np.linalg.norm(quat, axis=-1, keepdims=True)
    return np.where(norm > 1e-12, quat / np.maximum(norm, 1e-12), IDENTITY)


def unit(vector: Array) -> Array:
    """A vector (n,) of length one in the same direction; a zero vector stays one."""
    return vector / max(float(np.linalg.norm(vector)), 1e-12)


def multiply(left: ArrayLike, right: ArrayLike) -> Array:
    """The product ``left · right``: first ``right``, then ``left``."""
    left, right = np.asarray(left, float), np.asarray(right, float)
    w1, x1, y1, z1 = np.moveaxis(left, -1, 0)
    w2, x2, y2, z2 = np.moveaxis(right, -1, 0)
    return np.stack(
        [
            w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2,
            w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
            w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2,
            w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2,
        ],
        axis=-1,
    )


def conjugate(quat: ArrayLike) -> Array:
    """The inverse of a unit quaternion."""
    return np.asarray(quat, float) * np.array([1.0, -1.0, -1.0, -1.0])


def rotate(quat: ArrayLike, vector: ArrayLike) -> Array:
    """Vectors turned by quaternions. Arrays of another library (JAX) stay with it."""
    turns, vectors = _array(quat), _array(vector)
    w, x, y, z = (turns[..., k] for k in range(4))
    a, b, c = (vectors[..., k] for k in range(3))
    # twice the cross product of the axis and the vector, then v + w t + axis × t
    t, u, v = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    turned = [a + w * t + y * v - z * u, b + w * u + z * t - x * v, c + w * v + x * u - y * t]
    return namespace(turns, vectors).stack(turned, axis=-1)


def from_axis_angle(axis: ArrayLike, angle: ArrayLike) -> Array:
    """Quaternions about (not necessarily unit) axes by angles."""
    axis = np.asarray(axis, float)
    axis = axis / np.maximum(np.linalg.norm(axis, axis=-1, keepdims=True), 1e-12)
    half = np.asarray(angle, float)[..., None] / 2
    vector = np.sin(half) * axis
    quat = np.empty((*vector.shape[:-1], 4))
    quat[..., :1], quat[..., 1:] = np.cos(half), vector
    return quat


def to_rotation_vector(quat: ArrayLike) -> Array:
    """Axis times angle, the angle within [0, π]."""
    quat = normalise(quat)
    quat = np.where(quat[..., :1] < 0, -quat, quat)
    sine = np.linalg.norm(quat[..., 1:], axis=-1, keepdims=True)
    angle = 2 * np.arctan2(sine, quat[..., :1])
    return quat[..., 1:] * np.where(sine > 1e-9, angle / np.maximum(sine, 1e-9), 2.0)


def from_rotation_vector(vector: ArrayLike) -> Array:
    """The quaternion of a rotation vector."""
    vector = np.asarray(vector, float)
    return from_axis_angle(vector, np.linalg.norm(vector, axis=-1))


def to_matrix(quat: ArrayLike) -> Array:
    """Rotation matrices (..., 3, 3)."""
    return np.stack([rotate(quat, axis) for axis in np.eye(3)], axis=-1)


def from_matrix(matrix: ArrayLike) -> Array:
    """Quaternions of rotation matrices, from the largest of the four squared components so that none is ill-posed."""
    m = np.asarray(matrix, float)
    m00, m11, m22 = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    a, b, c = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    d, e, f = m[..., 1, 0] + m[..., 0, 1], m[..., 0, 2] + m[..., 2, 0], m[..., 2, 1] + m[..., 1, 2]
    squares = np.stack([1 + m00 + m11 + m22, 1 + m00 - m11 - m22, 1 - m00 + m11 - m22, 1 - m00 - m11 + m22], axis=-1)
    candidates = np.stack(
        [
            np.stack([squares[..., 0], a, b, c], axis=-1),
            np.stack([a, squares[..., 1], d, e], axis=-1),
            np.stack([b, d, squares[..., 2], f], axis=-1),
            np.stack([c, e, f, squares[..., 3]], axis=-1),
        ],
        axis=-2,
    )
    best = np.argmax(squares, axis=-1)[..., None, None]
    return normalise(np.take_along_axis(candidates, best, axis=-2)[..., 0, :])


def from_euler(order: str, angles: ArrayLike) -> Array:
    """Intrinsic Euler angles: ``from_euler("ZYX", (z, y, x))`` turns about Z, then the new Y, then the new X."""
    angles = np.asarray(angles, float)
    quat = np.broadcast_to(IDENTITY, (*angles.shape[:-1], 4))
    for k, name in enumerate(order.upper()):
        quat = multiply(quat, from_axis_angle(np.eye(3)[_AXES[name]], angles[..., k]))
    return quat


def to_euler(quat: ArrayLike, order: str) -> Array:
    """Intrinsic Euler angles of three distinct axes; the inverse of :func:`from_euler`, middle angle in [-π/2, π/2].

    Where the middle angle is ±π/2 the last angle is set to zero, which still gives the same rotation.
    """
    i, j, k = (_AXES[name] for name in order.upper())
    sign = 1.0 if (j - i) % 3 == 1 else -1.0
    m = to_matrix(normalise(quat))
    middle = np.arcsin(np.clip(sign * m[..., i, k], -1.0, 1.0))
    locked = np.abs(m[..., i, k]) > 1 - 1e-12
    first = np.where(
        locked, np.arctan2(sign * m[..., k, j], m[..., j, j]), np.arctan2(-sign * m[..., j, k], m[..., k, k])
    )
    last = np.where(locked, 0.0, np.arctan2(-sign * m[..., i, j], m[..., i, i]))
    return np.stack([first, middle, last], axis=-1)


def unwrap_euler(angles: ArrayLike) -> Array:
    """Per-frame Euler angles (T, ..., 3) of distinct axes made continuous in time.

    Each rotation has two triples and each angle any number of turns; every frame takes the one nearest the last frame.
    """
    angles = np.array(angles, float)
    for t in range(1, len(angles)):
        before, now = angles[t - 1], angles[t]
        other = np.stack([now[..., 0] + np.pi, np.pi - now[..., 1], now[..., 2] + np.pi], axis=-1)
        now, other = (c - 2 * np.pi * np.round((c - before) / (2 * np.pi)) for c in (now, other))
        nearer = np.abs(other - before).sum(-1) < np.abs(now - before).sum(-1)
        angles[t] = np.where(nearer[..., None], other, now)
    return angles


def continuous(quat: ArrayLike) -> Array:
    """Quaternions over time (T, ..., 4) with signs chosen so that neighbours never jump to the other half."""
    quat = np.array(quat, float)
    flips = np.sum(quat[1:] * quat[:-1], axis=-1) < 0
    signs = np.where(np.cumsum(flips, axis=0) % 2 == 1, -1.0, 1.0)
    quat[1:] *= signs[..., None]
    return quat


def slerp(start: ArrayLike, end: ArrayLike, fraction: ArrayLike) -> Array:
    """The rotation a fraction of the way along the shorter arc."""
    start, end = np.asarray(start, float), np.asarray(end, float)
    turn = to_rotation_vector(multiply(conjugate(start), end))
    return multiply(start, from_rotation_vector(turn * np.asarray(fraction, float)[..., None]))


def from_yaw(yaw: ArrayLike) -> Array:
    """A turn about the vertical (z) axis."""
    return from_axis_angle([0.0, 0.0, 1.0], yaw)


def yaw_of(quat: ArrayLike) -> Array:
    """The heading of a body whose forward axis is x: the angle of its x axis on the ground."""
    forward = rotate(quat, [1.0, 0.0, 0.0])
    return np.arctan2(forward[..., 1], forward[..., 0])


def level_forward(quat: ArrayLike) -> Array:
    """Where turned bodies face on the ground (..., 2), unit vectors.

    Told by their left sides: a body that bows, lies on its stomach or stands on its hands still faces where it did. One
    that lies on its side faces where its forward axis points.
    """
    ahead, left = (rotate(quat, np.eye(3)[axis])[..., :2] for axis in (0, 1))
    xp = namespace(left)
    by_left = xp.stack([left[..., 1], -left[..., 0]], axis=-1)
    facing = xp.where((left**2).sum(-1, keepdims=True) > _LEVEL, by_left, ahead)
    return facing / xp.sqrt((facing**2).sum(-1, keepdims=True))


_LEVEL = 0.25
"""Squared length on the ground from which on an axis counts as level."""
