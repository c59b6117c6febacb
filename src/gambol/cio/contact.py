"""How patches and surfaces meet, and the contact-invariant cost (equation 2)."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

from gambol.cio.features import Body
from gambol.cio.kinematics import Frames
from gambol.cio.surfaces import Surfaces, nearest, placed


class Touch(NamedTuple):
    """Every contact at every time: a patch against its virtual nearest point; leading axes (T, N)."""

    points: Any
    """(…, 3) of the skin that faces the surface, metres."""
    gaps: Any
    """(…, 3) from the surface to there."""
    normals: Any
    """(…, 3) unit, of the surface."""
    tilts: Any
    """Squared metres that the ends of a flat patch stand off the surface by its tilt; 0 for round ones."""
    velocities: Any
    """(…, 3) against the surface, m/s: of the skin of round trunks, which roll; else of the patch's centre, as it is
    open how round end effectors turn."""
    spins: Any
    """(…, 3) of the ends of a flat patch about its centre, against the surface, m/s; 0 for round ones, which roll."""
    axes: Any
    """(…, 3) the patch's longer axis, in the world."""


def touching(body: Body, frames: Frames, surfaces: Surfaces) -> Touch:
    """Where the patches of all contacts are and what they are nearest to."""
    patch, partner = body.contacts.patches, body.contacts.partners
    patches = body.patches
    owners, offsets, radii = patches.owners[patch], patches.offsets[patch], patches.radii[patch]
    turns, spins = frames.turns[:, owners], frames.spins[:, owners]
    arms = jnp.einsum("tnij,nj->tni", turns, offsets)
    centres = frames.positions[:, owners] + arms
    solids = placed(surfaces, frames.positions, frames.turns)
    points, normals = nearest(solids, centres, radii, partner)
    # what is touched moves as well, unless it is the world
    touched, moves = body.roots[partner - 1], (partner > 0)[:, None]
    surface_spins = moves * frames.spins[:, touched]
    carried = frames.velocities[:, touched] + jnp.cross(surface_spins, centres - frames.positions[:, touched])
    rolling = (owners[:, None] == body.roots).any(-1) * radii
    skin = arms - rolling[:, None] * normals
    velocities = frames.velocities[:, owners] + jnp.cross(spins, skin) - moves * carried
    facing = jnp.einsum("tnij,nj,tni->tn", turns, patches.normals[patch], normals)
    # a radian counts as what it moves the ends of a flat patch by
    flat = (patches.normals[patch] ** 2).sum(-1)
    half = flat * patches.half_sizes[patch, 0]
    return Touch(
        centres - radii[:, None] * normals,
        centres - points,
        normals,
        2.0 * half**2 * (flat + facing),
        velocities,
        half[:, None] * (spins - surface_spins),
        jnp.einsum("tnij,nj->tni", turns, patches.axes[patch]),
    )


def violation(touch: Touch) -> Any:
    """|e|² + |ė|² of equation 2 (T, N), in m² and (m/s)².

    The paper says of ė that it corresponds to slip, which the derivative of the distance to a plane does not show:
    here ė is the velocity of the patch against the surface, and the angular velocity of a flat patch.
    """
    apart = (touch.gaps**2).sum(-1) + (touch.velocities**2).sum(-1)
    return apart + touch.tilts + (touch.spins**2).sum(-1)


def scuff(touch: Touch, height: float) -> Any:
    """Squared speed along a surface of patches closer to it than about ``height`` metres (T, N).

    Limbs have no mass here, so nothing else makes a swinging foot leave the ground; in the world it would catch.
    """
    along = touch.velocities - (touch.velocities * touch.normals).sum(-1, keepdims=True) * touch.normals
    gap = (touch.gaps * touch.normals).sum(-1)
    return (along**2).sum(-1) / (1.0 + (jnp.maximum(gap, 0.0) / height) ** 4)
