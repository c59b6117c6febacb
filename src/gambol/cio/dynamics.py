"""Inverse dynamics of the trunk (Section 4.2): what force and moment a motion needs, and which contacts give them.

Forces are counted in body weights and moments in body weights times a metre, so that the costs of light and heavy
characters, and the paper's constants of equation 7, mean the same.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from gambol.cio import qp
from gambol.cio.contact import Touch
from gambol.cio.features import Body
from gambol.cio.kinematics import Frames, cross_matrix, momentum_change

GRAVITY = 9.81
_K0, _K1 = 1e-2, 1e-3
"""Of equation 7."""
_AWAKE = 0.05
"""Added to the contact variables of equation 7, which changes with their square: at zero the forces would not feel a
change, and a contact once given up could never come back."""
_WEAK_FACTOR = 4.0
"""How much dearer the forces of weak patches are."""
_HULL_WEIGHT = 3.0
"""How firmly the shares of the nearest point in the support region add up to one."""


def required(body: Body, frames: Frames) -> Any:
    """Force and moment about the trunk's centre (T, 6) that the motion needs; no applied force acts on the trunk."""
    force = frames.accelerations[:, 0, :3] / GRAVITY + jnp.asarray([0.0, 0.0, 1.0])
    turning = momentum_change(body.inertia, frames.vectors[:, 0], frames.rates[:, 0], frames.accelerations[:, 0, 3:])
    return jnp.concatenate([force, turning / (body.mass * GRAVITY)], axis=-1)


def force_weights(weak: Any, contacts: Any) -> Any:
    """The W of equation 7 (T, P) for contact variables (T, P)."""
    return (1.0 + (_WEAK_FACTOR - 1.0) * weak) * _K0 / ((contacts + _AWAKE) ** 2 + _K1)


def contact_forces(
    body: Body, frames: Frames, touch: Touch, contacts: Any, friction: Any, grabs: Any, guess: Any
) -> qp.Forces:
    """The forces of equation 6 in the contact frames; what remains unbalanced is that of equation 8."""
    along = touch.axes - (touch.axes * touch.normals).sum(-1, keepdims=True) * touch.normals
    flatness = jnp.sqrt((along**2).sum(-1) + 1e-8)
    # an axis that points into the surface leaves the frame's turn about the normal open: any will do
    spare = jnp.cross(touch.normals, jnp.roll(touch.normals, 1, axis=-1))
    along = along + 1e-3 * spare
    first = along / jnp.linalg.norm(along, axis=-1, keepdims=True)
    turns = jnp.stack([first, jnp.cross(touch.normals, first), touch.normals], axis=-1)
    levers = cross_matrix(touch.points - frames.positions[:, :1]) @ turns
    upper = jnp.concatenate([turns, jnp.zeros_like(turns)], axis=-1)
    maps = jnp.concatenate([upper, jnp.concatenate([levers, turns], axis=-1)], axis=-2)
    sizes = body.patches.half_sizes * jnp.stack([flatness, jnp.ones_like(flatness)], axis=-1)
    limits = qp.bounds(jnp.broadcast_to(friction, flatness.shape), sizes)
    return qp.solve(maps, required(body, frames), force_weights(body.patches.weak, contacts), limits, grabs, guess)


def support_distance(body: Body, frames: Frames, touch: Touch, contacts: Any, guess: Any) -> tuple[Any, Any]:
    """Horizontal distance (T,) of the zero moment point from the support region (equation 11), and the QP's residual.

    The point of the region is a combination of patches with shares from 0 that add up to one, regularised by W: the
    QP of the forces again, with pushes that have no friction and no extent.
    """
    shares = contacts / (contacts.sum(-1, keepdims=True) + 1e-6)
    ground = (shares * touch.points[..., 2]).sum(-1)
    position, acceleration = frames.positions[:, 0], frames.accelerations[:, 0, :3]
    falling = jnp.maximum(acceleration[:, 2] + GRAVITY, 0.3 * GRAVITY)
    zero_moment = position[:, :2] - ((position[:, 2] - ground) / falling)[:, None] * acceleration[:, :2]
    apart = touch.points[..., :2] - zero_moment[:, None]
    count = contacts.shape[-1]
    maps = jnp.zeros((*contacts.shape, 6, 6)).at[..., :2, 2].set(apart).at[..., 2, 2].set(_HULL_WEIGHT)
    wanted = jnp.zeros((len(apart), 6)).at[:, 2].set(_HULL_WEIGHT)
    weights = force_weights(body.patches.weak, contacts)
    found = qp.solve(maps, wanted, weights, jnp.zeros((count, 5)), jnp.zeros(count, bool), guess)
    return jnp.sqrt((found.residual[:, :2] ** 2).sum(-1) + 1e-8), found.residual
