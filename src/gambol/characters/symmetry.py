"""Left-right symmetry of a model, found from names and geometry instead of being written down."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from gambol.characters.blueprint import mirror_name
from gambol.errors import InputError
from gambol.rotations import Array, conjugate, multiply, rotate, to_matrix

_TOLERANCE = 0.05
"""How far apart (metres, unit vectors, shares of a lever arm) two sides may be and still mirror each other."""
_POINT = np.array([1.0, -1.0, 1.0])
_AXIS = -_POINT
"""Points and axes of rotation reflected in the x-z plane: the signs of their components."""
_FREE, _BALL, _HINGE = mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL, mujoco.mjtJoint.mjJNT_HINGE


@dataclass(frozen=True)
class Symmetry:
    """Reflection in the x-z plane, as index maps, signs and rests of positions, velocities and controls.

    ``mirrored[i] = rest[i] + sign[i] * (original[index[i]] - rest[index[i]])`` for each vector (velocities rest at
    zero); reflecting twice is the identity.
    """

    qpos_index: np.ndarray
    qpos_sign: Array
    qpos_rest: Array
    """What hinges and slides count from; zero for quaternions and where the root is."""
    qvel_index: np.ndarray
    qvel_sign: Array
    ctrl_index: np.ndarray
    ctrl_sign: Array
    ctrl_rest: Array
    """Controls that ask nothing of the actuators in the reference pose."""
    body_index: np.ndarray

    def qpos(self, qpos: Array) -> Array:
        """Mirrored positions (..., nq)."""
        return self.qpos_rest + (qpos - self.qpos_rest)[..., self.qpos_index] * self.qpos_sign

    def qvel(self, qvel: Array) -> Array:
        """Mirrored velocities (..., nv)."""
        return qvel[..., self.qvel_index] * self.qvel_sign

    def ctrl(self, ctrl: Array) -> Array:
        """Mirrored controls (..., nu)."""
        return self.ctrl_rest + (ctrl - self.ctrl_rest)[..., self.ctrl_index] * self.ctrl_sign

    @staticmethod
    def of(model: mujoco.MjModel) -> Symmetry:
        """The symmetry of a compiled model in its reference pose; an error says what has no counterpart."""
        data = mujoco.MjData(model)
        mujoco.mj_fwdPosition(model, data)
        q_index, q_sign, q_rest = np.arange(model.nq), np.ones(model.nq), np.zeros(model.nq)
        v_index, v_sign = np.arange(model.nv), np.ones(model.nv)
        bodies = np.array([_counterpart(model, mujoco.mjtObj.mjOBJ_BODY, body) for body in range(model.nbody)])
        for joint in range(model.njnt):
            other = _counterpart(model, mujoco.mjtObj.mjOBJ_JOINT, joint)
            order, turns = _joint_map(model, data, joint, other)
            v, v2 = model.jnt_dofadr[joint], model.jnt_dofadr[other]
            v_index[v : v + len(order)], v_sign[v : v + len(order)] = v2 + order, turns
            q, q2 = model.jnt_qposadr[joint], model.jnt_qposadr[other]
            if int(model.jnt_type[joint]) in (_FREE, _BALL):
                # the place comes first, then the quaternion: its real part stays, the others turn as velocities do
                order = np.concatenate([order[:-3], [len(order) - 3], order[-3:] + 1])
                turns = np.concatenate([turns[:-3], [1.0], turns[-3:]])
            else:
                q_rest[q] = model.qpos0[q]
            q_index[q : q + len(order)], q_sign[q : q + len(order)] = q2 + order, turns
            body = model.jnt_bodyid[joint]
            if bodies[body] == body:
                bodies[body] = model.jnt_bodyid[other]
        u_index, u_sign, u_rest = _actuators(model, data, v_index, v_sign)
        return Symmetry(q_index, q_sign, q_rest, v_index, v_sign, u_index, u_sign, u_rest, bodies)


def _joint_map(model: mujoco.MjModel, data: mujoco.MjData, joint: int, other: int) -> tuple[np.ndarray, Array]:
    """Which velocities of the counterpart mirror those of a joint, counted from its first, and their signs.

    Axes and anchors are compared relative to the root, so that a model may be built anywhere and face any way.
    """
    kind = int(model.jnt_type[joint])
    if kind != model.jnt_type[other]:
        raise InputError(f"joints {_name(model, joint)!r} and {_name(model, other)!r} are of different kinds")
    if kind == _FREE:
        return np.arange(6), np.concatenate([_POINT, _AXIS])
    root = int(model.body_rootid[model.jnt_bodyid[joint]])
    turn_back = conjugate(data.xquat[root])
    first, second = model.jnt_bodyid[joint], model.jnt_bodyid[other]
    anchor, image = (rotate(turn_back, data.xanchor[j] - data.xpos[root]) for j in (joint, other))
    apart = float(np.linalg.norm(anchor - _POINT * image))
    turn, other_turn = (to_matrix(multiply(turn_back, data.xquat[body])) for body in (first, second))
    if kind != _BALL:
        # a hinge or slide is one axis of the frame that a ball has whole
        turn, other_turn = turn @ model.jnt_axis[joint][:, None], other_turn @ model.jnt_axis[other][:, None]
    across = turn.T @ ((_AXIS if kind in (_BALL, _HINGE) else _POINT)[:, None] * other_turn)
    order = np.argmax(np.abs(across), axis=1)
    aligned = np.take_along_axis(across, order[:, None], axis=1)[:, 0]
    same_rank = joint - model.body_jntadr[first] == other - model.body_jntadr[second]
    if not same_rank or apart > _TOLERANCE or np.abs(aligned).min() < 1 - _TOLERANCE:
        raise InputError(
            f"joint {_name(model, joint)!r} and its counterpart {_name(model, other)!r} are not mirror images",
            hint=f"their axes agree to {np.abs(aligned).min():.3f} and their anchors lie {apart:.3f} m from the image"
            if same_rank
            else "they come in another order among the joints of their bodies",
        )
    return order, np.sign(aligned)


def _actuators(
    model: mujoco.MjModel, data: mujoco.MjData, v_index: np.ndarray, v_sign: Array
) -> tuple[np.ndarray, Array, Array]:
    """Index, sign and rest of every control: actuators are paired by what they move, not by what they are called.

    The counterpart is of the same kind and pulls at the counterparts of the joints, the other way round only where none
    pulls the same way. Of several that do, the first mirrors the first. What pulls nowhere is paired by name.
    """
    moments = np.zeros((model.nu, model.nv))
    if model.nu:
        mujoco.mju_sparse2dense(
            moments, data.actuator_moment, data.moment_rownnz, data.moment_rowadr, data.moment_colind
        )
    gain, fixed = model.actuator_gainprm[:, 0], model.actuator_gaintype == mujoco.mjtGain.mjGAIN_FIXED
    # muscles and the like only pull
    both_ways = fixed | (model.actuator_gaintype == mujoco.mjtGain.mjGAIN_AFFINE)
    pulls = moments * np.where(fixed & (gain < 0), -1.0, 1.0)[:, None]
    images = pulls[:, v_index] * v_sign
    kinds = np.stack([model.actuator_trntype, model.actuator_dyntype, model.actuator_gaintype, model.actuator_biastype])
    index, sign = np.arange(model.nu), np.ones(model.nu)
    for i in range(model.nu):
        size = float(np.linalg.norm(pulls[i]))
        if size < 1e-9:
            index[i] = _counterpart(model, mujoco.mjtObj.mjOBJ_ACTUATOR, i)
            continue
        like = (kinds == kinds[:, [i]]).all(axis=0)

        def pulling(way: Array, like: np.ndarray = like, size: float = size) -> list[int]:
            return np.flatnonzero(like & (np.linalg.norm(pulls - way, axis=1) < _TOLERANCE * size)).tolist()

        same, images_of_it = pulling(pulls[i]), pulling(images[i])
        if not images_of_it and both_ways[i]:
            images_of_it, sign[i] = pulling(-images[i]), -1.0
        if len(images_of_it) != len(same):
            raise _lone_actuator(model, i)
        index[i] = images_of_it[same.index(i)]
    if lone := np.flatnonzero(index[index] != np.arange(model.nu)).tolist():
        raise _lone_actuator(model, lone[0])
    return index, sign, _rests(model, data)


def _rests(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """The controls (nu,) at which servos apply no force in the reference pose; zero for all others."""
    direct = (mujoco.mjtDyn.mjDYN_NONE, mujoco.mjtDyn.mjDYN_FILTER, mujoco.mjtDyn.mjDYN_FILTEREXACT)
    gain, bias = model.actuator_gainprm[:, 0], model.actuator_biasprm
    is_servo = (
        np.isin(model.actuator_dyntype, [int(kind) for kind in direct])
        & (model.actuator_gaintype == mujoco.mjtGain.mjGAIN_FIXED)
        & (model.actuator_biastype == mujoco.mjtBias.mjBIAS_AFFINE)
        & (gain != 0)
    )
    return np.where(is_servo, -(bias[:, 0] + bias[:, 1] * data.actuator_length) / np.where(is_servo, gain, 1.0), 0.0)


def _lone_actuator(model: mujoco.MjModel, actuator: int) -> InputError:
    return InputError(
        f"actuator {model.actuator(actuator).name!r} has no mirror image",
        hint="its counterpart is of the same kind and moves the joints of the other side as this one does its own",
    )


def _name(model: mujoco.MjModel, joint: int) -> str:
    return model.joint(joint).name


def _counterpart(model: mujoco.MjModel, kind: mujoco.mjtObj, index: int) -> int:
    name = mujoco.mj_id2name(model, kind, index) or ""
    head, slash, tail = name.rpartition("/")
    other = mujoco.mj_name2id(model, kind, f"{head}{slash}{mirror_name(tail)}") if name else index
    return other if other >= 0 else index
