"""Staying out of things: capsules along the limbs and the trunk against the world and against each other."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from gambol.cio.features import Body
from gambol.cio.kinematics import Frames
from gambol.cio.limbs import Chains
from gambol.cio.surfaces import Surfaces, clearance

_ALONG = np.array([0.0, 0.5, 1.0])
"""Where along a capsule its depth in the world is looked at."""


def penetration(body: Body, frames: Frames, found: Chains, surfaces: Surfaces) -> Any:
    """Squared depth (T,) of capsules and soles in the world and in each other, summed, in m²."""
    starts, ends, radii = _capsules(body, frames, found)
    points = starts[..., None, :] + _ALONG[:, None] * (ends - starts)[..., None, :]
    depth = radii[:, None, None] - clearance(surfaces, points)
    world = (jnp.maximum(depth, 0.0) ** 2).sum((-1, -2, -3))
    soles = (jnp.maximum(-clearance(surfaces, _corners(body, frames)), 0.0) ** 2).sum((-1, -2))
    return world + soles + _among_themselves(starts, ends, radii, len(body.limbs.uppers))


def _capsules(body: Body, frames: Frames, found: Chains) -> tuple[Any, Any, Any]:
    """Starts and ends (T, 2 L + C, 3) and radii of the upper links, the lower links and the trunk's capsules."""
    trunk = frames.positions[:, None, None, 0] + jnp.einsum("tij,cej->tcei", frames.turns[:, 0], body.trunk_ends)
    starts = jnp.concatenate([found.bases, found.middles, trunk[:, :, 0]], axis=1)
    ends = jnp.concatenate([found.middles, found.ends, trunk[:, :, 1]], axis=1)
    radii = jnp.concatenate([body.limbs.upper_radii, body.limbs.lower_radii, body.trunk_radii])
    return starts, ends, radii


def _corners(body: Body, frames: Frames) -> Any:
    """The corners (T, 4 P, 3) of flat patches; of round ones, twice the ends of the axis inside."""
    patches = body.patches
    turns = frames.turns[:, patches.owners]
    across = jnp.cross(patches.normals, patches.axes)
    corners = []
    for along_sign in (1.0, -1.0):
        for across_sign in (1.0, -1.0):
            local = along_sign * patches.half_sizes[:, :1] * patches.axes
            local = patches.offsets + local + across_sign * patches.half_sizes[:, 1:] * across
            corners.append(frames.positions[:, patches.owners] + jnp.einsum("tpij,pj->tpi", turns, local))
    return jnp.concatenate(corners, axis=1)


def _among_themselves(starts: Any, ends: Any, radii: Any, limbs: int) -> Any:
    """Squared overlap (T,) of the links of different limbs, and of lower links with the trunk."""
    links = [(limb, limb + part * limbs) for part in (0, 1) for limb in range(limbs)]
    pairs = [(i, j) for a, i in links for b, j in links if a < b]
    pairs += [(limb + limbs, solid) for limb in range(limbs) for solid in range(2 * limbs, len(radii))]
    first, second = np.array(pairs).T
    apart = segment_distance(starts[:, first], ends[:, first], starts[:, second], ends[:, second])
    return (jnp.maximum(radii[first] + radii[second] - apart, 0.0) ** 2).sum(-1)


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
