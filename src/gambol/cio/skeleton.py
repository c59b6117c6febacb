"""From features to a body: the states of a character whose trunk and end effectors are where a feature motion has them.

The trunk is stiff: what the start pose bends in it straightens during the first phase. Limbs follow in closed form with
the middle joints of :mod:`gambol.cio.limbs` (see :mod:`gambol.cio.hinging`). A limb whose hinges do not meet in points,
or that has fewer of them than two-link kinematics assumes, misses its mark by some centimetres then: a fit of the whole
motion from there brings it nearer, within the joint ranges (see :mod:`gambol.cio.fitting`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np

from gambol.cio.compiling import compiled
from gambol.cio.features import FeatureModel, posed
from gambol.cio.fitting import Marks, fitted
from gambol.cio.hinging import LimbHinges, frame
from gambol.cio.kinematics import Frames
from gambol.cio.limbs import Chains, Limbs, carried, chains
from gambol.rotations import Array, from_matrix

_TRUNK, _HOLDING, _MOVING = (0.3, 0.1), (1.0, 0.3), (0.3, 0.03)
"""How much an error of a metre counts in the fit, and one of a radian: of the trunk, of end effectors in contact and of
others."""
_LONG = 0.3
"""Share of that for the turn of a round but longish end effector, whose feature knows no joint ranges; a ball may be
turned anyhow."""
_MIDDLE = (0.3, 0.03)
"""The same for a metre of a middle joint that is in contact, and of others."""


@dataclass(frozen=True)
class Embodied:
    """States of the character alone, and how far its end effectors are from where they should be."""

    qpos: Array
    """(T, nq)"""
    misses: Array
    """(T, L) metres."""


def embodied(model: FeatureModel, frames: Frames, start: Array, straight_after: int, holding: np.ndarray) -> Embodied:
    """The body's states for ``frames`` (T, 1 + L), from the state ``start`` (nq,) of the character alone.

    The core is straight from frame ``straight_after`` on; ``holding`` (T, 2 L) says which end effectors, and
    then which middle joints, are in contact.
    """
    frames = Frames(*(np.asarray(part) for part in frames))
    positions, turns = frames.positions, frames.turns
    found, normals = jax.tree.map(np.asarray, _chains_and_normals(model.body.limbs, positions, turns))
    hinges = [LimbHinges.of(model, limb) for limb in range(len(model.limb_names))]
    qpos = _trunk_states(model, positions[:, 0], turns[:, 0], start, straight_after)
    data = mujoco.MjData(model.character.model)
    for t in range(len(qpos)):
        ways = np.stack([found.middles[t] - found.bases[t], found.ends[t] - found.middles[t]])
        _bend_limbs(model, data, hinges, qpos[t], qpos[t - 1] if t else start, ways, normals[t], turns[t, 1:])
    qpos[0] = start
    qpos = fitted(model.character.model, qpos, _marks(model, hinges, qpos, frames, found, holding))
    return Embodied(qpos, _misses(model, qpos, positions))


@compiled
def _chains_and_normals(limbs: Limbs, positions: Any, turns: Any) -> tuple[Chains, Any]:
    """The limbs, and the directions (T, L, 3) in the world about which their middle joints bend."""
    found = chains(limbs, positions, turns)
    poles = carried(limbs.rests, found.directions, limbs.poles)
    return found, jnp.einsum("tij,tlj->tli", turns[:, 0], jnp.cross(poles, found.directions))


def _trunk_states(model: FeatureModel, positions: Array, turns: Array, start: Array, straight_after: int) -> Array:
    """States (T, nq) whose trunk is at ``positions`` (T, 3) with ``turns`` (T, 3, 3), limbs as in the zero pose."""
    character = model.character
    rest = character.pose_qpos("zero")
    core = [model.character.model.body(body) for body in character.parts["core"]]
    joints = [k for body in core for k in range(body.jntadr[0], body.jntadr[0] + body.jntnum[0]) if k > 0]
    places = character.model.jnt_qposadr[joints]
    share = np.clip(np.arange(len(positions)) / max(straight_after, 1), 0.0, 1.0)
    share = (1.0 - share**2 * (3.0 - 2.0 * share))[:, None]
    states = np.tile(rest, (len(positions), 1))
    states[:, places] = share * start[places] + (1.0 - share) * rest[places]
    for t, state in enumerate(states):
        turn, position = model.trunk.fitted(character, posed(character, state))
        turned = turns[t] @ turn.T
        state[:3], state[3:7] = positions[t] - turned @ position, from_matrix(turned)
    return states


def _bend_limbs(
    model: FeatureModel,
    data: mujoco.MjData,
    hinges: list[LimbHinges],
    state: Array,
    before: Array,
    ways: Array,
    normals: Array,
    turns: Array,
) -> None:
    """Write the limbs' angles into ``state`` (nq,), near those of the state ``before`` (nq,) where there is a choice.

    ``ways`` (2, L, 3) lead along the upper and the lower links, ``normals`` (L, 3) are at right angles to the limbs'
    planes, ``turns`` (L, 3, 3) are those of the end effectors.
    """
    for level in range(3):
        data.qpos[:] = state
        mujoco.mj_kinematics(model.character.model, data)
        for limb, each in enumerate(hinges):
            if level >= len(each.groups):
                continue
            group = each.groups[level]
            wanted = frame(ways[level, limb], normals[limb]).T @ each.links[level] if level < 2 else turns[limb]
            state[group.places] = group.angles(data.xmat[group.body].reshape(3, 3).T @ wanted, before[group.places])


def _marks(
    model: FeatureModel, hinges: list[LimbHinges], qpos: Array, frames: Frames, found: Chains, holding: np.ndarray
) -> Marks:
    """Where the trunk, the end effectors and, faintly, the middle joints of limbs should be."""
    physics, effectors = model.character.model, len(model.effectors)
    ends_and_root = [physics.body(name).id for name in (model.character.bodies[0], *model.effectors)]
    bodies = np.array([*ends_and_root, *(limb.groups[1].body for limb in hinges)])
    offsets = np.zeros((len(bodies), 3))
    offsets[1 : 1 + effectors] = model.effector_offsets
    offsets[1 + effectors :] = physics.jnt_pos[physics.body_jntadr[bodies[1 + effectors :]]]
    patches = model.body.patches
    flat = np.asarray(patches.normals)[:effectors].any(axis=1)
    turning = np.where(flat, 1.0, np.where(np.asarray(patches.half_sizes)[:effectors, 0] > 0.0, _LONG, 0.0))
    weights, turn_weights = np.zeros((2, len(qpos), len(bodies)))
    weights[:, 0], turn_weights[:, 0] = _TRUNK
    ends, bent = holding[:, :effectors], holding[:, effectors:]
    weights[:, 1 : 1 + effectors] = np.where(ends, _HOLDING[0], _MOVING[0])
    turn_weights[:, 1 : 1 + effectors] = turning * np.where(ends, _HOLDING[1], _MOVING[1])
    weights[:, 1 + effectors :] = np.where(bent, *_MIDDLE)
    quats = np.tile([1.0, 0.0, 0.0, 0.0], (len(qpos), len(bodies), 1))
    quats[:, 0], quats[:, 1 : 1 + effectors] = qpos[:, 3:7], from_matrix(frames.turns[:, 1:])
    positions = np.concatenate([qpos[:, None, :3], frames.positions[:, 1:], found.middles], axis=1)
    return Marks(bodies, offsets, positions, weights, quats, turn_weights)


def _misses(model: FeatureModel, qpos: Array, positions: Array) -> Array:
    """Distances (T, L) of the end effectors of states from ``positions`` (T, 1 + L, 3)."""
    found = np.empty((len(qpos), len(model.effectors)))
    for t, state in enumerate(qpos):
        data = posed(model.character, state)
        for k, (body, offset) in enumerate(zip(model.effectors, model.effector_offsets, strict=True)):
            place = data.body(body).xpos + data.body(body).xmat.reshape(3, 3) @ offset
            found[t, k] = np.linalg.norm(place - positions[t, 1 + k])
    return found
