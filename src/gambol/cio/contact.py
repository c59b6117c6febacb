"""How patches and surfaces meet, and the contact-invariant cost (equation 2)."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

from gambol.cio.features import Patches
from gambol.cio.kinematics import Frames
from gambol.cio.surfaces import Surfaces, nearest

_LEVER = 0.3
"""Metres that a radian counts for."""


class Touch(NamedTuple):
    """Every patch at every time against its virtual nearest point; leading axes (T, P)."""

    points: Any
    """(…, 3) of the skin that faces the surface, metres."""
    gaps: Any
    """(…, 3) from the surface to there."""
    normals: Any
    """(…, 3) unit, of the surface."""
    tilts: Any
    """Squared angle (small-angle sense) between a flat patch and the surface; 0 for round ones."""
    velocities: Any
    """(…, 3) of the patch's centre, m/s."""
    spins: Any
    """(…, 3) rad/s; 0 for round patches, which may roll."""
    axes: Any
    """(…, 3) the patch's longer axis, in the world."""


def touching(patches: Patches, frames: Frames, surfaces: Surfaces) -> Touch:
    """Where the patches are and what they are nearest to."""
    turns = frames.turns[:, patches.owners]
    arms = jnp.einsum("tpij,pj->tpi", turns, patches.offsets)
    centres = frames.positions[:, patches.owners] + arms
    spins = frames.spins[:, patches.owners]
    velocities = frames.velocities[:, patches.owners] + jnp.cross(spins, arms)
    points, normals = nearest(surfaces, centres, patches.radii)
    facing = jnp.einsum("tpij,pj,tpi->tp", turns, patches.normals, normals)
    flat = (patches.normals**2).sum(-1)
    return Touch(
        centres - patches.radii[:, None] * normals,
        centres - points,
        normals,
        2.0 * (flat + facing),
        velocities,
        flat[:, None] * spins,
        jnp.einsum("tpij,pj->tpi", turns, patches.axes),
    )


def violation(touch: Touch) -> Any:
    """|e|² + |ė|² of equation 2 (T, P), in m² and (m/s)².

    The paper says of ė that it corresponds to slip, which the derivative of the distance to a plane does not show:
    here ė is the velocity of the patch against the surface, and the angular velocity of a flat patch.
    """
    apart = (touch.gaps**2).sum(-1) + (touch.velocities**2).sum(-1)
    return apart + _LEVER**2 * (touch.tilts + (touch.spins**2).sum(-1))


def scuff(touch: Touch, height: float) -> Any:
    """Squared speed along a surface of patches closer to it than about ``height`` metres (T, P).

    Limbs have no mass here, so nothing else makes a swinging foot leave the ground; in the world it would catch.
    """
    along = touch.velocities - (touch.velocities * touch.normals).sum(-1, keepdims=True) * touch.normals
    gap = (touch.gaps * touch.normals).sum(-1)
    return (along**2).sum(-1) / (1.0 + (jnp.maximum(gap, 0.0) / height) ** 4)
