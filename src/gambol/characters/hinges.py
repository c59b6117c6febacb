"""Three hinges for every joint of a rig: where their axes point, how they are ordered, which angles make a rotation.

The axes of a joint are the world's in the zero pose, tilted by the least rotation that lines one of them up with the
bone: that one is ``twist``. Down a limb the tilt is carried along, so that a knee bends about one axis even where the
zero pose has splayed legs. Turning about the others is ``bend`` (the main way a limb folds) and ``side``:

    bone along    twist  bend  side
    z (legs, spine)   z     y     x
    y (arms held out) y     z     x
    x (feet)          x     y     z

The hinge with the widest range turns first (it is fixed in the parent), the one with the narrowest in the middle, where
three hinges lock if it comes to ±90°.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from gambol.characters.character import Character
from gambol.characters.skeleton import SkeletonClip
from gambol.characters.tables import ARM_ROLES, LEG_ROLES, OTHER, SEGMENTS, Anatomy, Range
from gambol.errors import InputError
from gambol.rotations import Array, continuous, from_matrix, multiply, normalise, to_euler, to_matrix, unwrap_euler
from gambol.rotations import conjugate as inverse

_USES = {
    2: {"twist": 2, "bend": 1, "side": 0},
    1: {"twist": 1, "bend": 2, "side": 0},
    0: {"twist": 0, "bend": 1, "side": 2},
}
_LIMBS = {*LEG_ROLES, *ARM_ROLES} - {"finger"}
_STILL = 1e-4
"""Radians under which a joint is said not to turn."""


@dataclass(frozen=True)
class Hinge:
    """One axis of a joint (unit vector in the joint's frame), the letter it is called by, and its range in degrees."""

    letter: str
    axis: Array
    range_deg: Range


def hinges_of(anatomy: Anatomy) -> list[tuple[Hinge, Hinge, Hinge]]:
    """The hinges of every joint in the order they turn; ranges are those of the table, as if standing were zero."""
    frames: list[Array] = []
    found = []
    for joint, role in enumerate(anatomy.roles):
        parent = anatomy.skeleton.parents[joint]
        limb = next((roles for roles in (LEG_ROLES, ARM_ROLES) if role in roles), ())
        base = frames[parent] if parent >= 0 and anatomy.roles[parent] in limb else np.eye(3)
        bone = base.T @ bone_direction(anatomy, joint)
        along = int(np.argmax(np.abs(bone)))
        frames.append(base @ to_matrix(least_turn(np.eye(3)[along] * np.sign(bone[along]), bone)))
        segment = SEGMENTS.get(role, OTHER)
        ranges = {axis: getattr(segment, use) for use, axis in _USES[along].items()}
        if anatomy.sides[joint] == "left":
            ranges = {axis: r if axis == 1 else (-r[1], -r[0]) for axis, r in ranges.items()}
        narrow, middling, wide = sorted(ranges, key=lambda axis: (ranges[axis][1] - ranges[axis][0], axis))
        found.append(tuple(Hinge("xyz"[a], frames[-1][:, a], ranges[a]) for a in (wide, narrow, middling)))
    return found


def bone_direction(anatomy: Anatomy, joint: int) -> Array:
    """Where the bones of a joint lead in the zero pose, as a unit vector; without bones, where its parent's did."""
    skeleton = anatomy.skeleton
    candidates = [skeleton.bone_ends(joint).sum(axis=0), *(skeleton.offsets[a] for a in skeleton.ancestors(joint)[:-1])]
    for vector in candidates:
        if (length := np.linalg.norm(vector)) > 1e-3 * anatomy.stature:
            return vector / length
    return np.array([0.0, 0.0, 1.0])


def least_turn(start: Array, end: Array) -> Array:
    """The smallest rotation that brings one unit vector onto another; half a turn about any axis across if opposite."""
    cosine = float(start @ end)
    if cosine < -1 + 1e-9:
        return normalise(np.array([0.0, *np.cross(start, np.eye(3)[int(np.argmin(np.abs(start)))])]))
    return normalise(np.array([1 + cosine, *np.cross(start, end)]))


def hinge_angles(rotations: Array, axes: Sequence[Array]) -> Array:
    """Angles (..., 3) about three perpendicular axes, in turning order, that make the rotations (..., 4)."""
    order, columns = "XYZ", list(axes)
    if np.linalg.det(np.array(columns)) < 0:
        order, columns = "YXZ", [columns[1], columns[0], columns[2]]
    frame = from_matrix(np.stack(columns, axis=1))
    return to_euler(multiply(multiply(inverse(frame), rotations), frame), order)


def continuous_angles(rotations: Array, axes: Sequence[Sequence[Array]]) -> Array:
    """Angles (T, K, 3) of K joints' rotations (T, K, 4) over time, without jumps; the first are nearest to zero."""
    angles = np.stack([hinge_angles(rotations[:, k], of_joint) for k, of_joint in enumerate(axes)], axis=1)
    return unwrap_euler(np.concatenate([np.zeros_like(angles[:1]), angles]))[1:]


def joint_angles(character: Character, clip: SkeletonClip) -> Array:
    """The states (T, nq) of a rig that make a clip's rotations, continuous in time, the root where the clip has it.

    The rig's bodies must be the clip's joints. Joints that slide are held where the rig has them.
    """
    model = character.model
    joints = {rig_name(name): joint for joint, name in enumerate(clip.skeleton.names)}
    if set(joints) != set(character.bodies):
        odd = sorted(set(joints) ^ set(character.bodies))
        raise InputError(
            f"the joints of the clip are not the bodies of {character.name!r}",
            hint=f"not in both: {', '.join(odd[:12])}",
        )
    turned: list[tuple[int, int]] = []  # joint of the clip, first hinge of the model
    root = clip.rotations[:, 0]
    for body in range(1, model.nbody):
        name, first = model.body(body).name, int(model.body_jntadr[body])
        kinds = model.jnt_type[first : first + int(model.body_jntnum[body])].tolist() if first >= 0 else []
        if kinds == [mujoco.mjtJoint.mjJNT_HINGE] * 3:
            turned.append((joints[name], first))
        elif kinds == [mujoco.mjtJoint.mjJNT_FREE]:
            root = clip.rotations[:, joints[name]]
        elif kinds or turning(clip.rotations[:, joints[name]]) > _STILL:
            what = "has other joints than three hinges" if kinds else "has no joint, and the clip turns it"
            raise InputError(f"body {name!r} of {character.name!r} {what}")
    qpos = np.tile(model.qpos0, (len(clip), 1))
    qpos[:, :3], qpos[:, 3:7] = clip.root, continuous(root)
    if turned:
        rotations = clip.rotations[:, [joint for joint, _ in turned]]
        angles = continuous_angles(rotations, [model.jnt_axis[first : first + 3] for _, first in turned])
        columns = [int(model.jnt_qposadr[first]) + k for _, first in turned for k in range(3)]
        qpos[:, columns] = angles.reshape(len(clip), -1)
    return qpos


def turning(rotations: Array) -> float:
    """The largest angle (radians) by which rotations (T, 4) differ from none."""
    return float(2 * np.arctan2(np.linalg.norm(rotations[..., 1:], axis=-1), np.abs(rotations[..., 0])).max())


def still_joints(clip: SkeletonClip) -> tuple[str, ...]:
    """The joints below the root that never turn in a clip, those of arms and legs excepted: a body needs its knees."""
    roles = Anatomy.of(clip.skeleton).roles
    return tuple(
        name
        for joint, name in enumerate(clip.skeleton.names)
        if joint > 0 and roles[joint] not in _LIMBS and turning(clip.rotations[:, joint]) <= _STILL
    )


def rig_name(joint: str) -> str:
    """What the body of a joint is called: never as the world, nothing unprintable and no '/', which divides names."""
    name = "".join(letter if letter.isprintable() and letter != "/" else "_" for letter in joint)
    return f"{name}_" if name == "world" else name


def hinge_name(body: str, letter: str) -> str:
    """The joint name of a hinge, written so that a trailing side (``thigh_l``) still ends it and mirrors."""
    if len(body) > 2 and body[-2] in "_." and body[-1] in "lrLR":
        return f"{body[:-2]}_{letter}{body[-2:]}"
    return f"{body}_{letter}"
