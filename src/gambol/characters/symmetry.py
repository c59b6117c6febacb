"""Left-right symmetry of a model, found from names and geometry instead of being written down."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from gambol.characters.blueprint import mirror_axis, mirror_name, mirror_position
from gambol.errors import InputError
from gambol.rotations import Array, rotate

_TOLERANCE = 0.05
"""How far apart (metres, or unit-vector distance) two sides may be and still mirror each other."""


@dataclass(frozen=True)
class Symmetry:
    """Reflection in the x-z plane, as index maps and signs on positions, velocities and controls.

    ``mirrored[:, i] = sign[i] * original[:, index[i]]`` for each vector; reflecting twice is the identity.
    """

    qpos_index: np.ndarray
    qpos_sign: Array
    qvel_index: np.ndarray
    qvel_sign: Array
    ctrl_index: np.ndarray
    ctrl_sign: Array
    body_index: np.ndarray

    def qpos(self, qpos: Array) -> Array:
        """Mirrored positions (..., nq)."""
        return qpos[..., self.qpos_index] * self.qpos_sign

    def qvel(self, qvel: Array) -> Array:
        """Mirrored velocities (..., nv)."""
        return qvel[..., self.qvel_index] * self.qvel_sign

    def ctrl(self, ctrl: Array) -> Array:
        """Mirrored controls (..., nu)."""
        return ctrl[..., self.ctrl_index] * self.ctrl_sign

    @staticmethod
    def of(model: mujoco.MjModel) -> Symmetry:
        """The symmetry of a compiled model in its reference pose; an error says which joint has no counterpart."""
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        q_index, q_sign = np.arange(model.nq), np.ones(model.nq)
        v_index, v_sign = np.arange(model.nv), np.ones(model.nv)
        for joint in range(model.njnt):
            other = _counterpart(model, mujoco.mjtObj.mjOBJ_JOINT, joint)
            if model.jnt_type[joint] != model.jnt_type[other]:
                raise InputError(f"joints {_name(model, joint)!r} and {_name(model, other)!r} are of different kinds")
            q, v = model.jnt_qposadr[joint], model.jnt_dofadr[joint]
            q2, v2 = model.jnt_qposadr[other], model.jnt_dofadr[other]
            kind = model.jnt_type[joint]
            if kind == mujoco.mjtJoint.mjJNT_FREE:
                signs, turns = [1, -1, 1, 1, -1, 1, -1], [1, -1, 1, -1, 1, -1]
            elif kind == mujoco.mjtJoint.mjJNT_BALL:
                signs, turns = [1, -1, 1, -1], [-1, 1, -1]
            else:
                sign = _hinge_sign(model, data, joint, other)
                signs, turns = [sign], [sign]
            q_index[q : q + len(signs)] = np.arange(q2, q2 + len(signs))
            q_sign[q : q + len(signs)] = signs
            v_index[v : v + len(turns)] = np.arange(v2, v2 + len(turns))
            v_sign[v : v + len(turns)] = turns
        u_index, u_sign = _actuators(model, v_sign)
        bodies = [_counterpart(model, mujoco.mjtObj.mjOBJ_BODY, body) for body in range(model.nbody)]
        return Symmetry(q_index, q_sign, v_index, v_sign, u_index, u_sign, np.array(bodies))


def _actuators(model: mujoco.MjModel, v_sign: Array) -> tuple[np.ndarray, Array]:
    index = [_counterpart(model, mujoco.mjtObj.mjOBJ_ACTUATOR, i) for i in range(model.nu)]
    sign = np.ones(model.nu)
    for i in range(model.nu):
        if model.actuator_trntype[i] == mujoco.mjtTrn.mjTRN_JOINT:
            sign[i] = v_sign[model.jnt_dofadr[model.actuator_trnid[i, 0]]]
    return np.array(index, dtype=int), sign


def _hinge_sign(model: mujoco.MjModel, data: mujoco.MjData, joint: int, other: int) -> float:
    """+1 when equal angles are mirror images, -1 when opposite ones are.

    Axes and anchors are compared relative to the root, so that a model may be built anywhere and face any way.
    """
    frame = int(model.body_rootid[model.jnt_bodyid[joint]])
    turn_back = data.xquat[frame] * np.array([1, -1, -1, -1])

    def seen(j: int) -> tuple[Array, Array]:
        body = model.jnt_bodyid[j]
        axis = rotate(data.xquat[body], model.jnt_axis[j])
        anchor = data.xpos[body] + rotate(data.xquat[body], model.jnt_pos[j]) - data.xpos[frame]
        return rotate(turn_back, axis), rotate(turn_back, anchor)

    axis, anchor = seen(joint)
    other_axis, other_anchor = seen(other)
    image = np.array(
        mirror_axis(other_axis) if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_HINGE else mirror_position(other_axis)
    )
    apart = float(np.linalg.norm(anchor - mirror_position(other_anchor)))
    aligned = float(axis @ image)
    if abs(aligned) < 1 - _TOLERANCE or apart > _TOLERANCE:
        raise InputError(
            f"joint {_name(model, joint)!r} and its counterpart {_name(model, other)!r} are not mirror images",
            hint=f"their axes agree to {aligned:.3f} and their anchors lie {apart:.3f} m from the image",
        )
    return float(np.sign(aligned))


def _name(model: mujoco.MjModel, joint: int) -> str:
    return model.joint(joint).name


def _counterpart(model: mujoco.MjModel, kind: mujoco.mjtObj, index: int) -> int:
    name = mujoco.mj_id2name(model, kind, index) or ""
    head, slash, tail = name.rpartition("/")
    other = mujoco.mj_name2id(model, kind, f"{head}{slash}{mirror_name(tail)}") if name else index
    return other if other >= 0 else index
