"""From feature trajectories to frames over time: cubic splines over knots, rotations by the exponential map.

Features (Appendix A, equation 12) are the trunk and the limbs' end effectors, each a position and a rotation vector in
the world: an array (…, 1 + L, 6), the trunk first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from gambol.rotations import Array


class Frames(NamedTuple):
    """Where the trunk and the end effectors are, and how they move; leading axes (T, 1 + L)."""

    positions: Any
    """(…, 3) metres."""
    turns: Any
    """(…, 3, 3) to the world."""
    velocities: Any
    """(…, 3) m/s."""
    spins: Any
    """(…, 3) angular velocity in the world, rad/s."""
    accelerations: Any
    """(…, 6) second time derivative of the features."""
    rates: Any
    """(…, 3) first time derivative of the rotation vectors, rad/s."""
    vectors: Any
    """(…, 3) rotation vectors."""


class Basis(NamedTuple):
    """Weights (T, 2 knots) of the knots' values, then of their velocities, for values and two derivatives."""

    values: Any
    first: Any
    second: Any

    @staticmethod
    def at(times: Array, knots: int, spacing: float) -> Basis:
        """Cubic Hermite pieces between ``knots`` that are ``spacing`` seconds apart."""
        piece = np.clip((times / spacing).astype(int), 0, knots - 2)
        s = times / spacing - piece
        one, zero = np.ones_like(s), np.zeros_like(s)
        pieces = (
            (2 * s**3 - 3 * s**2 + 1, -2 * s**3 + 3 * s**2, s**3 - 2 * s**2 + s, s**3 - s**2),
            (6 * s**2 - 6 * s, -6 * s**2 + 6 * s, 3 * s**2 - 4 * s + 1, 3 * s**2 - 2 * s),
            (12 * s - 6 * one, 6 * one - 12 * s, 6 * s - 4 * one, 6 * s - 2 * one + zero),
        )
        rows = np.arange(len(times))
        tables = []
        for order, (begin, end, slope_begin, slope_end) in enumerate(pieces):
            table = np.zeros((len(times), 2 * knots))
            table[rows, piece], table[rows, piece + 1] = begin, end
            table[rows, knots + piece], table[rows, knots + piece + 1] = slope_begin * spacing, slope_end * spacing
            tables.append(table / spacing**order)
        return Basis(*tables)


def frames(basis: Basis, knots: Any) -> Frames:
    """Frames at the times of ``basis`` of the spline through ``knots`` (2 knots, 1 + L, 6): values, then velocities."""
    values, first, second = (jnp.einsum("tk,k...->t...", table, knots) for table in basis)
    vectors, rates = values[..., 3:], first[..., 3:]
    return Frames(values[..., :3], turn(vectors), first[..., :3], spin(vectors, rates), second, rates, vectors)


def turn(vectors: Any) -> Any:
    """Rotation matrices (…, 3, 3) of rotation vectors (…, 3)."""
    square = (vectors**2).sum(-1)
    sine, cosine, _ = _series(square)
    skew = cross_matrix(vectors)
    return jnp.eye(3) + sine[..., None, None] * skew + cosine[..., None, None] * (skew @ skew)


def spin(vectors: Any, rates: Any) -> Any:
    """Angular velocity (…, 3) in the world of rotation vectors that change at ``rates``."""
    _, cosine, cubic = _series((vectors**2).sum(-1))
    once = jnp.cross(vectors, rates)
    return rates + cosine[..., None] * once + cubic[..., None] * jnp.cross(vectors, once)


def cross_matrix(vectors: Any) -> Any:
    """The matrices (…, 3, 3) that take the cross product with ``vectors`` (…, 3)."""
    x, y, z = vectors[..., 0], vectors[..., 1], vectors[..., 2]
    zero = jnp.zeros_like(x)
    rows = ((zero, -z, y), (z, zero, -x), (-y, x, zero))
    return jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)


def _series(square: Any) -> tuple[Any, Any, Any]:
    """sin a / a, (1 - cos a) / a² and (a - sin a) / a³ of squared angles, with derivatives at zero too."""
    small = square < 1e-6
    safe = jnp.where(small, 1.0, square)
    angle = jnp.sqrt(safe)
    sine, cosine = jnp.sin(angle), jnp.cos(angle)
    return (
        jnp.where(small, 1.0 - square / 6.0, sine / angle),
        jnp.where(small, 0.5 - square / 24.0, (1.0 - cosine) / safe),
        jnp.where(small, 1.0 / 6.0 - square / 120.0, (angle - sine) / (safe * angle)),
    )


def momentum_change(inertia: Any, vectors: Any, rates: Any, accelerations: Any) -> Any:
    """Time derivative (…, 3) of the angular momentum of bodies with ``inertia`` (…, 3, 3) in their own frames."""

    def momentum(vectors: Any, rates: Any) -> Any:
        turns = turn(vectors)
        return jnp.einsum("...ij,...jk,...lk,...l->...i", turns, inertia, turns, spin(vectors, rates))

    return jax.jvp(momentum, (vectors, rates), (rates, accelerations))[1]
