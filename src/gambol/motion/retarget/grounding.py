"""How far a body is above the ground, whatever part of it is lowest, and giving a body the height of another."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np

from gambol.motion.motion import Motion
from gambol.rotations import Array, conjugate, multiply, rotate

_STANCE = 0.03
"""Metres: less than this above its usual lowest height, a body counts as being on the ground."""
_SMOOTHING = 0.04
"""Seconds: standard deviation of the bell that smooths shifts of height."""
_ABOVE = 100.0
"""Metres above everything, from where uneven ground is looked for."""
_GEOM = mujoco.mjtGeom


def clearance(motion: Motion, name: str) -> Array:
    """(T,) height of the lowest point of a character's solids above the ground, objects left aside, metres."""
    model, poses = motion.scene.model, motion.poses()
    solid = (model.geom_contype > 0) | (model.geom_conaffinity > 0)
    geoms = np.flatnonzero(solid & np.isin(model.geom_bodyid, list(motion.scene.spans[name].bodies)))
    bodies = model.geom_bodyid[geoms]
    middle = poses.positions[:, bodies] + rotate(poses.quats[:, bodies], model.geom_pos[geoms])
    down = rotate(conjugate(multiply(poses.quats[:, bodies], model.geom_quat[geoms])), [0.0, 0.0, 1.0])
    reach = np.stack([_reach(model, int(geom), down[:, k]) for k, geom in enumerate(geoms)], axis=1)
    return (middle[..., 2] - reach - _ground(motion, middle)).min(axis=1)


def _reach(model: mujoco.MjModel, geom: int, axis: Array) -> Array:
    """(T,) how far below its middle a solid reaches, given the vertical in its own frame (T, 3)."""
    kind, size = model.geom_type[geom], model.geom_size[geom]
    if kind == _GEOM.mjGEOM_SPHERE:
        return np.full(len(axis), size[0])
    if kind == _GEOM.mjGEOM_CAPSULE:
        return size[0] + size[1] * np.abs(axis[:, 2])
    if kind == _GEOM.mjGEOM_CYLINDER:
        return size[0] * np.hypot(axis[:, 0], axis[:, 1]) + size[1] * np.abs(axis[:, 2])
    if kind == _GEOM.mjGEOM_ELLIPSOID:
        return np.linalg.norm(axis * size, axis=1)
    # boxes exactly, meshes by the box around them
    centre, half = model.geom_aabb[geom, :3], model.geom_aabb[geom, 3:]
    return np.abs(axis) @ half - axis @ centre


def _ground(motion: Motion, points: Array) -> Array:
    """Height of the ground under points (..., 3)."""
    if motion.scene.terrain.is_flat:
        return np.zeros(points.shape[:-1])
    model = motion.scene.model
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    floor = model.geom("floor").id
    below = np.array([0.0, 0.0, -1.0])
    heights = [
        _ABOVE - max(mujoco.mj_rayHfield(model, data, floor, np.array([x, y, _ABOVE]), below, None), 0.0)
        for x, y in points.reshape(-1, 3)[:, :2]
    ]
    return np.array(heights).reshape(points.shape[:-1])


def grounded_like(motion: Motion, name: str, other: Motion, other_name: str) -> Motion:
    """The motion with ``name`` raised or lowered until it is as far from the ground as ``other_name`` is in ``other``.

    That is while the other is on the ground; in between the shift goes over evenly, so that flights stay flights. The
    shift is smoothed a little: another part becoming the lowest must not shake the body.
    """
    wanted = clearance(other, other_name)
    usual = max(float(np.percentile(wanted, 5)), 0.0)
    stance = np.flatnonzero(wanted < usual + _STANCE)
    shift = np.interp(np.arange(len(wanted)), stance, (wanted - clearance(motion, name))[stance])
    shift = _smooth(shift, _SMOOTHING / motion.dt)
    qpos = motion.qpos.copy()
    qpos[:, motion.scene.spans[name].qpos.start + 2] += shift
    return replace(motion, qpos=qpos)


def _smooth(values: Array, width: float) -> Array:
    """Values (T,) under a moving bell, ``width`` frames its standard deviation; the ends go on as they are."""
    reach = int(np.ceil(3 * width))
    bell = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    around = np.lib.stride_tricks.sliding_window_view(np.pad(values, reach, mode="edge"), len(bell))
    return around @ (bell / bell.sum())
