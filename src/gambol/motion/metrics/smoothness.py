"""Jerky bodies, nervous controls, limping."""

from __future__ import annotations

import mujoco
import numpy as np

from gambol.errors import InputError
from gambol.motion.metrics.metric import CannotMeasureError, Reading, mean, measures, require_frames
from gambol.motion.metrics.subject import Subject
from gambol.rotations import conjugate, from_yaw, rotate

_LONGEST_SHIFT = 2.0
"""Seconds by which a motion and its mirror image may be shifted against each other: the half of a slow gait cycle."""


@measures("m/s³", "lower; compare motions of the same time step only")
def jerk(subject: Subject) -> Reading:
    """Mean length of the third derivative of the landmarks' positions (of all bodies where there are no landmarks).

    By third differences over four frames, so the shorter the time step, the more noise counts.
    """
    require_frames(subject, 4, "a third derivative")
    third = np.diff(subject.points(), n=3, axis=0) / subject.motion.dt**3
    curve = np.full(len(subject.motion), np.nan)
    curve[1:-2] = np.linalg.norm(third, axis=2).mean(axis=1)
    return mean(curve)


@measures("1/s", "lower; 1 is a steady sweep through the whole range in a second")
def control_roughness(subject: Subject) -> Reading:
    """Mean speed at which controls change, as a share of their range a second.

    The range is that of the control or, for targets of joints, that of the joint; controls without range are left out.
    """
    require_frames(subject, 2, "a change")
    if subject.motion.ctrl is None:
        raise CannotMeasureError("the controls are not known")
    model, span = subject.model, subject.span.ctrl
    widths = np.array([_width(model, i) for i in range(span.start, span.stop)])
    ranged = widths > 0
    if not ranged.any():
        raise CannotMeasureError(f"no control of {subject.name!r} has a range")
    controls = subject.motion.ctrl[:, span][:, ranged]
    change = np.abs(np.diff(controls, axis=0)) / widths[ranged] / subject.motion.dt
    return mean(np.append(change.mean(axis=1), np.nan))


def _width(model: mujoco.MjModel, actuator: int) -> float:
    """How far a control can go; zero where that is not known."""
    if model.actuator_ctrllimited[actuator]:
        return float(np.ptp(model.actuator_ctrlrange[actuator]))
    joint = model.actuator_trnid[actuator, 0]
    aims = model.actuator_biastype[actuator] == mujoco.mjtBias.mjBIAS_AFFINE
    on_joint = model.actuator_trntype[actuator] == mujoco.mjtTrn.mjTRN_JOINT
    return float(np.ptp(model.jnt_range[joint])) if aims and on_joint and model.jnt_limited[joint] else 0.0


@measures("m", "0: left and right do the same, at once or in turn")
def asymmetry(subject: Subject) -> Reading:
    """Distance between the motion and its mirror image, shifted in time as fits best (at most 2 s or half its length).

    Root mean square over frames and bodies of how far apart the bodies are, seen from the root and its heading.
    """
    try:
        twin = subject.character.symmetry.body_index[1:] - 1
    except InputError as error:
        raise CannotMeasureError(f"{subject.name!r} has no left-right symmetry: {error.problem}") from None
    bodies = list(subject.span.bodies)
    poses = subject.motion.poses()
    root = poses.quats[:, bodies[0]]
    # the turn about the vertical in the root's orientation, which a mirror turns round even for a lying body
    heading = from_yaw(2 * np.arctan2(root[:, 3], root[:, 0]))
    seen = poses.positions[:, bodies] - poses.positions[:, bodies[:1]]
    seen = rotate(conjugate(heading)[:, None], seen)
    image = seen[:, twin] * [1.0, -1.0, 1.0]
    frames = len(seen)
    furthest = min(round(_LONGEST_SHIFT / subject.motion.dt), (frames - 1) // 2)

    def apart(shift: int) -> np.ndarray:
        return ((seen[: frames - shift] - image[shift:]) ** 2).sum(axis=2).mean(axis=1)

    best = min((apart(shift) for shift in range(furthest + 1)), key=np.mean)
    curve = np.full(frames, np.nan)
    curve[: len(best)] = np.sqrt(best)
    return Reading(float(np.sqrt(best.mean())), curve)
