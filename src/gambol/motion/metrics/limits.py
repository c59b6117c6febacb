"""Joints bent too far and motors asked for too much."""

from __future__ import annotations

import copy

import mujoco
import numpy as np

from gambol.motion.metrics.metric import CannotMeasureError, Reading, largest, mean, measures, require_frames
from gambol.motion.metrics.subject import Subject, is_single_axis
from gambol.motion.metrics.support import best_support
from gambol.rotations import Array, to_rotation_vector

_JOINT = mujoco.mjtJoint


def _beyond(subject: Subject) -> Array:
    """(T,) degrees by which the joint that is bent worst exceeds its range."""
    model, qpos = subject.model, subject.motion.qpos
    excess = []
    for joint in subject.joints:
        if not model.jnt_limited[joint]:
            continue
        place, (low, high) = model.jnt_qposadr[joint], model.jnt_range[joint]
        if model.jnt_type[joint] == _JOINT.mjJNT_HINGE:
            excess.append(np.maximum(low - qpos[:, place], qpos[:, place] - high))
        elif model.jnt_type[joint] == _JOINT.mjJNT_BALL:
            turn = np.linalg.norm(to_rotation_vector(qpos[:, place : place + 4]), axis=1)
            excess.append(turn - max(low, high))
    if not excess:
        raise CannotMeasureError(f"no turning joint of {subject.name!r} has a range")
    return np.rad2deg(np.maximum(np.max(excess, axis=0), 0.0))


@measures("deg", "0; limits in simulation give by a degree or two")
def joint_limit_excess(subject: Subject) -> Reading:
    """Largest angle by which any hinge or ball joint is beyond its range, over all frames."""
    return largest(_beyond(subject))


@measures("deg", "0")
def joint_limit_excess_mean(subject: Subject) -> Reading:
    """Mean over the frames of the angle by which the worst joint is beyond its range."""
    return mean(_beyond(subject))


@measures("share", "0: within the limits; 1: twice as much as there is")
def torque_excess(subject: Subject) -> Reading:
    """Mean over the frames of the share by which the worst actuator's force exceeds its limit.

    Where controls are known, the force they ask for before it is clamped. Otherwise the torque that inverse dynamics
    needs at the joint: with the recorded contact forces, or those that explain the motion best.
    """
    if subject.motion.ctrl is not None and subject.span.ctrl.stop > subject.span.ctrl.start:
        force, limits = subject.once(drives)[0], actuator_limits(subject.model)[subject.span.ctrl]
    else:
        force, limits = _needed_torques(subject)
    bounded = np.isfinite(limits).all(axis=1)
    if not bounded.any():
        raise CannotMeasureError(f"no actuator of {subject.name!r} has a force limit")
    force, (low, high) = force[:, bounded], limits[bounded].T
    most = np.maximum(np.maximum(np.abs(low), np.abs(high)), 1e-9)
    return mean((np.maximum(np.maximum(low - force, force - high), 0.0) / most).max(axis=1))


def drives(subject: Subject) -> tuple[Array, Array]:
    """(T, actuators of the character) forces the controls ask for before any clamp, and how fast the actuators move."""
    model, motion = _unclamped(subject.model), subject.motion
    if motion.ctrl is None:
        raise CannotMeasureError("the controls are not known")
    if model.na:
        raise CannotMeasureError("actuators with an inner state are not recorded in motions")
    data = mujoco.MjData(model)
    force, speed = np.empty((2, len(motion), model.nu))
    for t in range(len(motion)):
        data.qpos[:], data.qvel[:], data.ctrl[:] = motion.qpos[t], motion.velocities[t], motion.ctrl[t]
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        mujoco.mj_fwdActuation(model, data)
        force[t], speed[t] = data.actuator_force, data.actuator_velocity
    return force[:, subject.span.ctrl], speed[:, subject.span.ctrl]


def _unclamped(model: mujoco.MjModel) -> mujoco.MjModel:
    """The model without contacts, limits of joints and clamps on actuators."""
    model = copy.copy(model)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL
    model.actuator_forcelimited[:] = 0
    model.jnt_actfrclimited[:] = 0
    return model


def actuator_limits(model: mujoco.MjModel) -> Array:
    """(nu, 2) least and greatest force of each actuator, before its gear; infinite where nothing limits it."""
    limits = np.tile([-np.inf, np.inf], (model.nu, 1))
    for i in range(model.nu):
        ranges = []
        if model.actuator_forcelimited[i]:
            ranges.append(model.actuator_forcerange[i])
        plain = model.actuator_gaintype[i] == mujoco.mjtGain.mjGAIN_FIXED
        plain = plain and model.actuator_biastype[i] == mujoco.mjtBias.mjBIAS_NONE
        if plain and model.actuator_ctrllimited[i]:
            ranges.append(np.sort(model.actuator_ctrlrange[i] * model.actuator_gainprm[i, 0]))
        joint, gear = model.actuator_trnid[i, 0], model.actuator_gear[i, 0]
        if model.actuator_trntype[i] == mujoco.mjtTrn.mjTRN_JOINT and model.jnt_actfrclimited[joint] and gear:
            ranges.append(np.sort(model.jnt_actfrcrange[joint] / gear))
        if ranges:
            limits[i] = np.max(ranges, axis=0)[0], np.min(ranges, axis=0)[1]
    return limits


def _needed_torques(subject: Subject) -> tuple[Array, Array]:
    """Torques (T, n) at driven joints by inverse dynamics, NaN at both ends, and the actuators' limits (n, 2)."""
    require_frames(subject, 3, "inverse dynamics")
    model, motion = subject.model, subject.motion
    bounds = _joint_torque_limits(subject)
    if not bounds:
        raise CannotMeasureError(f"no joint of {subject.name!r} is driven by an actuator")
    plain = _unclamped(model)
    data = mujoco.MjData(plain)
    frame, body, position, force = _contact_forces(subject)
    starts = np.searchsorted(frame, np.arange(len(motion) + 1))
    acceleration, jacobian = subject.rate(motion.velocities), np.zeros((3, model.nv))
    torques = np.full((len(motion), model.nv), np.nan)
    for t in range(1, len(motion) - 1):
        data.qpos[:], data.qvel[:], data.qacc[:] = motion.qpos[t], motion.velocities[t], acceleration[t]
        mujoco.mj_inverse(plain, data)
        torques[t] = data.qfrc_inverse
        for k in range(starts[t], starts[t + 1]):
            mujoco.mj_jac(plain, data, jacobian, None, position[k], int(body[k]))
            torques[t] -= force[k] @ jacobian
    return torques[:, list(bounds)], np.array(list(bounds.values()))


def _joint_torque_limits(subject: Subject) -> dict[int, Array]:
    """What the actuators of each driven hinge or slide give together, by its place in the velocities."""
    model, span = subject.model, subject.span.ctrl
    limits, bounds = actuator_limits(model), {}
    for i in range(span.start, span.stop):
        joint = model.actuator_trnid[i, 0]
        if model.actuator_trntype[i] == mujoco.mjtTrn.mjTRN_JOINT and is_single_axis(model, joint):
            dof = int(model.jnt_dofadr[joint])
            bounds[dof] = bounds.get(dof, np.zeros(2)) + np.sort(limits[i] * model.actuator_gear[i, 0])
    return bounds


def _contact_forces(subject: Subject) -> tuple[np.ndarray, np.ndarray, Array, Array]:
    """Frame, body, position and force of every contact force on the character: recorded, or the best there could be."""
    contacts = subject.motion.contacts
    if contacts is None or not contacts.has_forces:
        support = subject.once(best_support)
        return support.frame, support.body, support.position, support.force
    bodies = subject.model.geom_bodyid[contacts.geoms]
    own = np.isin(bodies, list(subject.span.bodies))
    rows = np.repeat(np.arange(len(contacts)), 2)[own.ravel()]
    signs = np.tile([1.0, -1.0], len(contacts))[own.ravel()]
    return contacts.frame[rows], bodies[own], contacts.position[rows], contacts.force[rows] * signs[:, None]
