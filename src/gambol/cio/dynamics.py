"""Inverse dynamics of rigid bodies (Section 4.2): what forces and moments a motion needs, and which contacts give them.

Bodies are the trunks of characters and the objects they move (R), each with all the mass it has. Contact forces are
counted in weights of the heaviest body and moments in that times a metre, so that the costs of light and heavy
characters, and the paper's constants of equation 7, mean the same. What a body needs and what remains unbalanced is
counted in its own weight: in the weight of who carries it, a light thing could float for next to nothing.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from gambol.cio import qp
from gambol.cio.contact import Touch
from gambol.cio.features import Body
from gambol.cio.kinematics import Frames, cross_matrix, momentum_change
from gambol.cio.limbs import Chains

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
    """Forces and moments about the bodies' centres (T, 6 R) that the motion needs, in their own weights."""
    accelerations = frames.accelerations[:, body.roots]
    force = accelerations[..., :3] / GRAVITY + jnp.asarray([0.0, 0.0, 1.0])
    turning = momentum_change(
        body.inertias, frames.vectors[:, body.roots], frames.rates[:, body.roots], accelerations[..., 3:]
    )
    both = jnp.concatenate([force, turning / (body.masses[:, None] * GRAVITY)], axis=-1)
    return both.reshape(len(both), -1)


def force_weights(body: Body, contacts: Any) -> Any:
    """The W of equation 7 (T, N) for contact variables (T, N).

    Forces count in weights of the lightest body they push: what is next to nothing for a character lifts a light thing.
    """
    weak = body.patches.weak[body.contacts.patches]
    lightness = jnp.where(body.contacts.signs != 0.0, body.masses.max() / body.masses, 1.0).max(-1)
    return lightness**2 * (1.0 + (_WEAK_FACTOR - 1.0) * weak) * _K0 / ((contacts + _AWAKE) ** 2 + _K1)


def contact_frames(touch: Touch) -> tuple[Any, Any]:
    """Turns (T, N, 3, 3) of the contacts' frames to the world, and how flat the patches' longer axes lie (T, N)."""
    along = touch.axes - (touch.axes * touch.normals).sum(-1, keepdims=True) * touch.normals
    flatness = jnp.sqrt((along**2).sum(-1) + 1e-8)
    # an axis that points into the surface leaves the frame's turn about the normal open: any will do
    along = along + 1e-3 * jnp.cross(touch.normals, jnp.roll(touch.normals, 1, axis=-1))
    first = along / jnp.linalg.norm(along, axis=-1, keepdims=True)
    return jnp.stack([first, jnp.cross(touch.normals, first), touch.normals], axis=-1), flatness


def contact_forces(
    body: Body, frames: Frames, touch: Touch, contacts: Any, friction: Any, grabs: Any, guess: Any
) -> qp.Forces:
    """The forces of equation 6 in the contact frames; what remains unbalanced is that of equation 8."""
    turns, flatness = contact_frames(touch)
    # what is touched feels the force where it is touched, though the patch may still be on its way there
    points = jnp.where(
        body.contacts.signs[:, :, None] < 0.0, (touch.points - touch.gaps)[:, :, None], touch.points[:, :, None]
    )
    arms = points - frames.positions[:, None, body.roots]
    levers = cross_matrix(arms) @ turns[:, :, None]
    linear = jnp.broadcast_to(turns[:, :, None], levers.shape)
    upper = jnp.concatenate([linear, jnp.zeros_like(linear)], axis=-1)
    maps = jnp.concatenate([upper, jnp.concatenate([levers, linear], axis=-1)], axis=-2)
    # a contact pushes the body whose patch it is, and what that touches the other way
    signs = body.contacts.signs * body.masses.max() / body.masses
    maps = (signs[:, :, None, None] * maps).reshape(*flatness.shape, -1, 6)
    sizes = body.patches.half_sizes[body.contacts.patches]
    sizes = sizes * jnp.stack([flatness, jnp.ones_like(flatness)], axis=-1)
    limits = qp.bounds(jnp.broadcast_to(friction, flatness.shape), sizes)
    return qp.solve(maps, required(body, frames), force_weights(body, contacts), limits, grabs, guess)


def effort(body: Body, found: Chains, touch: Touch, wrenches: Any) -> Any:
    """Squared moments (T, L) that contact forces put on the two joints of each limb.

    Limbs have no mass, so these are the controls ``u`` of equations 4 and 9. The paper leaves them out and regrets it:
    without them limbs are infinitely strong and bodies rest on bent ones.
    """
    forces = jnp.einsum("tnij,tnj->tni", contact_frames(touch)[0], wrenches[..., :3])
    moments = 0.0
    for joints in (found.bases, found.middles):
        each = jnp.cross(touch.points[:, :, None] - joints[:, None], forces[:, :, None])
        moments += (jnp.einsum("nl,tnli->tli", body.contacts.bearing, each) ** 2).sum(-1)
    # a limb is as weak as its end
    weak = body.contacts.bearing.T @ body.patches.weak[body.contacts.patches] > 1.5
    return (1.0 + (_WEAK_FACTOR - 1.0) * weak) * moments


def support_distance(body: Body, frames: Frames, touch: Touch, contacts: Any, guess: Any) -> tuple[Any, Any]:
    """Horizontal distances (T, R) of zero moment points from support regions (equation 11), and the QP's residual.

    The point of the region is a combination of patches with shares from 0 that add up to one, regularised by W: the
    QP of the forces again, with pushes that have no friction and no extent.
    """
    own = jnp.maximum(body.contacts.signs, 0.0).T
    shares = own * contacts[:, None]
    shares = shares / (shares.sum(-1, keepdims=True) + 1e-6)
    ground = (shares * touch.points[:, None, :, 2]).sum(-1)
    position, acceleration = frames.positions[:, body.roots], frames.accelerations[:, body.roots, :3]
    falling = jnp.maximum(acceleration[..., 2] + GRAVITY, 0.3 * GRAVITY)
    zero_moment = position[..., :2] - ((position[..., 2] - ground) / falling)[..., None] * acceleration[..., :2]
    apart = own[:, :, None] * (touch.points[:, None, :, :2] - zero_moment[:, :, None])
    times, bodies, count = shares.shape
    maps = jnp.zeros((times, bodies, count, 3, 6))
    maps = maps.at[..., :2, 2].set(apart).at[..., 2, 2].set(_HULL_WEIGHT * own)
    wanted = jnp.zeros((times * bodies, 3)).at[:, 2].set(_HULL_WEIGHT)
    weights = jnp.repeat(force_weights(body, contacts), bodies, axis=0)
    maps = maps.reshape(-1, count, 3, 6)
    found = qp.solve(maps, wanted, weights, jnp.zeros((count, 5)), jnp.zeros(count, bool), guess)
    distance = jnp.sqrt((found.residual[:, :2] ** 2).sum(-1) + 1e-8).reshape(times, bodies)
    # things that are carried stand on nothing
    return distance * ((own @ body.contacts.bearing).sum(-1) > 0.0), found.residual
