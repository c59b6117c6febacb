"""Staying out of things: capsules along the limbs and the trunk against the world and against each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from gambol.cio.features import Body
from gambol.cio.kinematics import Frames
from gambol.cio.limbs import Chains
from gambol.cio.surfaces import Surfaces, clearance, placed, soft_clearance

_ALONG = np.linspace(0.0, 1.0, 5)
"""Where along a capsule its depth in the world is looked at."""
_STILL = 1.0
"""Metres a second that a still point counts as moving."""


def penetration(body: Body, frames: Frames, found: Chains, surfaces: Surfaces, dt: Any) -> Any:
    """Squared depth of the body in solids, the floor apart, summed over capsules and over their ways, in m² s.

    Depth counts by the metre of the way through a solid and not by the second alone, as in trajectory optimisation
    for robots (CHOMP, Ratliff and others 2009): otherwise a limb would pass faster to pay less, and between two moments
    that are looked at it would pay nothing.
    """
    points, depths = _depths(body, frames, found, surfaces, soft_clearance)
    squares = (depths[..., 1:] ** 2).sum(-1)
    ways = jnp.sqrt(((points[1:] - points[:-1]) ** 2).sum(-1) + (_STILL * dt) ** 2)
    return (0.5 * (squares[1:] + squares[:-1]) * ways).sum()


def sunk(body: Body, frames: Frames, found: Chains) -> Any:
    """Squared depth (T,) of both ends of all capsules in the floor, summed, in m²."""
    starts, ends, radii = capsules(body, frames, found)
    depths = jnp.maximum(radii - jnp.stack([starts[..., 2], ends[..., 2]]), 0.0)
    return (depths**2).sum((0, -1))


def deepest(body: Body, frames: Frames, found: Chains, surfaces: Surfaces) -> Any:
    """How deep (T,) capsules are in the world or in each other at most, metres."""
    world = _depths(body, frames, found, surfaces, clearance)[1].max((-1, -2, -3))
    return jnp.maximum(world, _overlaps(body, frames, found).max(-1))


def _depths(
    body: Body, frames: Frames, found: Chains, surfaces: Surfaces, distances: Callable[[Surfaces, Any], Any]
) -> tuple[Any, Any]:
    """Points along all capsules (T, C, A, 3), and how deep they are in each solid (T, C, A, 1 + B) by ``distances``."""
    starts, ends, radii = capsules(body, frames, found)
    points = starts[..., None, :] + _ALONG[:, None] * (ends - starts)[..., None, :]
    solids = placed(surfaces, frames.positions, frames.turns)
    depths = jnp.maximum(radii[:, None, None] - distances(solids, points), 0.0)
    # a box does not penetrate itself
    owners = jnp.concatenate([body.limbs.effectors, body.limbs.effectors, body.solid_owners])
    others = jnp.concatenate([jnp.full((len(radii), 1), True), owners[:, None] != surfaces.box_owners], axis=1)
    return points, others[:, None] * depths


def overlap(body: Body, frames: Frames, found: Chains) -> Any:
    """Squared overlap (T,) of capsules that should not meet, summed, in m²."""
    return (_overlaps(body, frames, found) ** 2).sum(-1)


def _overlaps(body: Body, frames: Frames, found: Chains) -> Any:
    """Metres (T, Q) by which capsules that should not meet overlap."""
    starts, ends, radii = capsules(body, frames, found)
    first, second = body.overlaps[:, 0], body.overlaps[:, 1]
    apart = segment_distance(starts[:, first], ends[:, first], starts[:, second], ends[:, second])
    return jnp.maximum(radii[first] + radii[second] - apart, 0.0)


def capsules(body: Body, frames: Frames, found: Chains) -> tuple[Any, Any, Any]:
    """Starts and ends (T, 2 L + C, 3) and radii of the upper links, the lower links and what is fixed to features."""
    turns, positions = frames.turns[:, body.solid_owners], frames.positions[:, body.solid_owners]
    fixed = positions[:, :, None] + jnp.einsum("tcij,cej->tcei", turns, body.solid_ends)
    starts = jnp.concatenate([found.bases, found.middles, fixed[:, :, 0]], axis=1)
    ends = jnp.concatenate([found.middles, found.ends, fixed[:, :, 1]], axis=1)
    radii = jnp.concatenate([body.limbs.upper_radii, body.limbs.lower_radii, body.solid_radii])
    return starts, ends, radii


def segment_distance(p0: Any, p1: Any, q0: Any, q1: Any) -> Any:
    """Distances (…) between segments p0 p1 and q0 q1, each (…, 3)."""
    u, v, w = p1 - p0, q1 - q0, p0 - q0
    a, b, c = (u * u).sum(-1) + 1e-9, (u * v).sum(-1), (v * v).sum(-1) + 1e-9
    d, e = (u * w).sum(-1), (v * w).sum(-1)
    s = jnp.clip((b * e - c * d) / (a * c - b * b + 1e-9), 0.0, 1.0)
    t = jnp.clip((b * s + e) / c, 0.0, 1.0)
    s = jnp.clip((b * t - d) / a, 0.0, 1.0)
    gap = w + s[..., None] * u - t[..., None] * v
    return jnp.sqrt((gap**2).sum(-1) + 1e-9)
