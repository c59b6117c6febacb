"""What a limb of a character can do, found by trying joint angles within their ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import mujoco
import numpy as np

from gambol.characters import Character, Patch
from gambol.cio.limbs import Limbs, chains, swing
from gambol.errors import InputError
from gambol.rotations import Array, unit

_TRIES = 600
_INNER = 2.0
"""Per cent of the tries at either end of a range that do not count."""


@dataclass(frozen=True)
class Reach:
    """A limb and its end effector."""

    limb: Limbs
    effector: str
    """The body at its end."""
    middle: str
    """The body that begins at its middle joint."""
    origin: Array
    """(3,) the patch's centre in that body's frame."""
    normal: Array
    """(3,) outwards in that body's frame, zero for a round patch."""
    axis: Array
    """(3,) the patch's longer side, in that body's frame."""
    half_sizes: Array
    """(2,) metres."""
    radius: float
    """From the centre to the skin; 0 for a flat patch."""


def reach_of(character: Character, bodies: Sequence[str], patch: Patch, centre: Array) -> Reach:
    """The reach of the limb made of ``bodies`` that ends in ``patch``; ``centre`` is the trunk's in the zero pose."""
    model = character.model
    jointed = jointed_bodies(model, bodies)
    if len(jointed) < 2:
        raise InputError(f"a limb of {character.name!r} has fewer than two links with joints", key="character")
    origin, normal, axis, half_sizes, radius = patch_shape(model, patch)
    anchors = [int(model.body(name).jntadr[0]) for name in jointed[:3]]
    ends_in_joint = len(jointed) > 2 and _hangs_on(model, patch.body, jointed[2])
    data = mujoco.MjData(model)
    columns = [k for name in jointed for k in _columns(model, name)]
    low, high = model.jnt_range[columns].T
    rng = np.random.default_rng(0)
    points, turns = np.empty((_TRIES, 4, 3)), np.empty((_TRIES, 3, 3))
    rest = character.pose_qpos("zero")
    standing = character.pose_qpos("standing" if "standing" in character.poses else "zero")
    for row in range(_TRIES):
        data.qpos[:] = rest
        # the first try is the pose it stands in, which decides where no side is the usual one
        angles = rng.uniform(low, high) if row else standing[model.jnt_qposadr[columns]]
        data.qpos[model.jnt_qposadr[columns]] = angles
        mujoco.mj_kinematics(model, data)
        turns[row] = data.body(patch.body).xmat.reshape(3, 3)
        tip = data.body(patch.body).xpos + turns[row] @ origin
        last = data.xanchor[anchors[2]] if ends_in_joint else tip
        points[row] = data.xanchor[anchors[0]], data.xanchor[anchors[1]], last, tip
    points -= centre
    radii = [_girth(model, name) for name in jointed[:2]]
    limb = _ranges(points, turns, radii, bounded=ends_in_joint and radius == 0.0)
    return Reach(limb, patch.body, jointed[1], origin, normal, axis, half_sizes, radius)


def jointed_bodies(model: mujoco.MjModel, bodies: Sequence[str]) -> list[str]:
    """Those of a limb's bodies that begin at a joint: its upper link, its lower link, its end effector …"""
    return [name for name in bodies if model.body(name).jntnum[0] > 0]


def _ranges(points: Array, turns: Array, radii: list[float], *, bounded: bool) -> Limbs:
    """The limb whose base, middle, end and tip (tries, 4, 3) and effector ``turns`` (tries, 3, 3) were seen."""
    base, middle, end, tip = points.swapaxes(0, 1)
    # where several hinges make up the last joint it is only nearly a point of the effector
    joint = np.einsum("tji,tj->ti", turns, end - tip).mean(0)
    end = tip + turns @ joint
    away = end - base
    lengths = np.linalg.norm(away, axis=-1)
    directions = away / lengths[:, None]
    rest = unit(directions.mean(0))
    out = middle - base - ((middle - base) * directions).sum(-1, keepdims=True) * directions
    # every try's middle joint is brought to the middle direction, where they can be averaged
    closeness = np.maximum(1 + directions @ rest, 0.05)[:, None]
    back = out - (out @ rest)[:, None] / closeness * (rest + directions)
    one_sided = np.linalg.norm(back.mean(0)) > 0.5 * np.linalg.norm(back, axis=1).mean()
    pole = back.mean(0) if one_sided else back[0]
    pole = unit(pole - (pole @ rest) * rest)
    upper, lower = (float(np.linalg.norm(a - b, axis=-1).mean()) for a, b in ((middle, base), (end, middle)))
    limb = Limbs(
        trunks=np.array(0),
        effectors=np.array(1),
        bases=base.mean(0),
        ends=joint,
        uppers=np.array(upper),
        lowers=np.array(lower),
        shortest=np.percentile(lengths, _INNER),
        longest=np.array(upper + lower),
        rests=rest,
        poles=pole,
        swing_axes=np.stack([pole, np.cross(pole, rest)]),
        swing_low=np.zeros(2),
        swing_high=np.zeros(2),
        bend_rests=np.eye(3),
        bend_cosines=np.array(-2.0),
        upper_radii=np.array(radii[0]),
        lower_radii=np.array(radii[1]),
    )
    swings = np.asarray(swing(limb, directions))
    limb = limb._replace(
        swing_low=np.percentile(swings, _INNER, axis=0), swing_high=np.percentile(swings, 100 - _INNER, axis=0)
    )
    if not bounded:
        return limb
    alone = jax.tree.map(lambda leaf: np.asarray(leaf)[None], limb)
    positions = np.stack([np.zeros_like(tip), tip], axis=1)
    frames = np.stack([np.broadcast_to(np.eye(3), turns.shape), turns], axis=1)
    bends = np.asarray(chains(alone, positions, frames).bends)[:, 0]
    left, _, right = np.linalg.svd(bends.mean(0))
    middle_bend = left @ np.diag([1.0, 1.0, float(np.linalg.det(left @ right))]) @ right
    cosines = (np.einsum("ij,tij->t", middle_bend, bends) - 1) / 2
    return limb._replace(bend_rests=middle_bend, bend_cosines=np.percentile(cosines, 2 * _INNER))


def patch_shape(model: mujoco.MjModel, patch: Patch) -> tuple[Array, Array, Array, Array, float]:
    """Centre, outward normal, longer axis (all in the body's frame), half sizes and radius of a patch.

    Three or more corners on the skin make a flat patch. Everything else is round, with the centre and radius of the
    solid it belongs to: it touches with whatever side it has there, as a fist, a paw or a hip does.
    """
    corners = np.array(patch.points)
    middle = corners.mean(0)
    geom = _geom_near(model, patch.body, middle)
    _, spread, rows = np.linalg.svd(corners - middle, full_matrices=True)
    outwards = middle - model.geom_pos[geom]
    if len(corners) >= 3 and spread[1] > 1e-3 and abs(outwards @ rows[2]) > 1e-3:
        normal = rows[2] * np.sign(outwards @ rows[2])
        halves = np.abs((corners - middle) @ rows[:2].T).mean(0)
        return middle, normal, rows[0], halves, 0.0
    axis, half, radius = capsule_of(model, geom)
    return model.geom_pos[geom].copy(), np.zeros(3), axis, np.array([half, 0.0]), radius


def capsule_of(model: mujoco.MjModel, geom: int) -> tuple[Array, float, float]:
    """Axis (3,) in the body's frame, half length and radius of the capsule that stands for a solid.

    A box becomes a capsule along its longest side, as thick as its shortest.
    """
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, model.geom_quat[geom])
    turn, size = turn.reshape(3, 3), model.geom_size[geom]
    kind = mujoco.mjtGeom(int(model.geom_type[geom]))
    if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
        return turn[:, 2], 0.0, float(size[0])
    if kind in (mujoco.mjtGeom.mjGEOM_CAPSULE, mujoco.mjtGeom.mjGEOM_CYLINDER):
        return turn[:, 2], float(size[1]), float(size[0])
    return turn[:, np.argmax(size)], float(size.max() - size.min()), float(size.min())


def _geom_near(model: mujoco.MjModel, body: str, point: Array) -> int:
    """The solid of a body whose middle is nearest to a point of its frame."""
    start, count = model.body(body).geomadr[0], model.body(body).geomnum[0]
    if count == 0:
        raise InputError(f"body {body!r} has a patch and no solid", key="character")
    return int(start + np.argmin(np.linalg.norm(model.geom_pos[start : start + count] - point, axis=1)))


def _girth(model: mujoco.MjModel, body: str) -> float:
    start, count = model.body(body).geomadr[0], model.body(body).geomnum[0]
    return max((capsule_of(model, geom)[2] for geom in range(start, start + count)), default=0.03)


def _columns(model: mujoco.MjModel, body: str) -> range:
    first = int(model.body(body).jntadr[0])
    return range(first, first + int(model.body(body).jntnum[0]))


def _hangs_on(model: mujoco.MjModel, body: str, ancestor: str) -> bool:
    index, wanted = model.body(body).id, model.body(ancestor).id
    while index > wanted:
        index = model.body_parentid[index]
    return bool(index == wanted)
