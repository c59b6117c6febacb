"""Motions as skeletons in motion and back: any character leaves as joints and rotations, any clip returns on a rig.

A skeleton's joints turn about one point each, a MuJoCo body may have hinges at several: such a body becomes a joint for
every point, called after the hinges there, and the last one carries the body's name. So positions are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import mujoco
import numpy as np

from gambol.characters import Character
from gambol.characters.hinges import joint_angles
from gambol.characters.rig import from_skeleton
from gambol.characters.skeleton import Skeleton, SkeletonClip
from gambol.characters.tables import Anatomy
from gambol.errors import InputError, unknown_name
from gambol.motion.motion import Motion, Source
from gambol.rotations import IDENTITY, Array, conjugate, from_axis_angle, multiply, rotate, to_matrix
from gambol.scenes import Scene

_SAME_PLACE = 1e-9
_LEAST_TIP, _USUAL_TIP = 0.01, 0.05
"""Metres: a branch whose last body ends closer than the first gets a tip this long, so that its bone can be seen."""
_STRETCH = 1e-3
"""Metres that a bone may change its length without a word."""
_SAME_LENGTH = 1e-4
"""Legs whose lengths differ by less than this share are the same; a rig's own are rounded in its MJCF."""
_FREE, _BALL, _SLIDE, _HINGE = (
    mujoco.mjtJoint.mjJNT_FREE,
    mujoco.mjtJoint.mjJNT_BALL,
    mujoco.mjtJoint.mjJNT_SLIDE,
    mujoco.mjtJoint.mjJNT_HINGE,
)


def skeletal_clip(motion: Motion, character: str | None = None) -> SkeletonClip:
    """One character of a motion (by default the first) as a skeleton in motion.

    The skeleton's zero pose is the character's, facing forward, its frames parallel to the world.
    """
    name = motion.scene.main_character if character is None else character
    if name not in motion.scene.characters:
        raise unknown_name("character in this scene", name, motion.scene.characters)
    body = motion.scene.characters[name]
    return _animated(body, motion.qpos[:, motion.scene.spans[name].qpos], motion.dt)


def skeleton_of(character: Character) -> Skeleton:
    """The skeleton of a character's zero pose."""
    return _animated(character, character.pose_qpos()[None], 1.0).skeleton


def rig_motion(
    clip: SkeletonClip, character: Character | None = None, *, ground: bool = False, notes: str = ""
) -> Motion:
    """A clip as a motion, on the rig of its own skeleton or on a given one with the same joints.

    On a given rig every joint turns as in the clip, and the root's path is scaled by the lengths of the legs.
    ``ground`` puts the lowest point of the body on the floor (see :func:`grounded`).
    """
    clip, stretched = clip.rigid()
    told = [notes] if notes else []
    if stretched > _STRETCH:
        told.append(f"bones that stretched by up to {1000 * stretched:.1f} mm are held at their median lengths")
    if character is None:
        character = from_skeleton(clip)
    else:
        own, given = Anatomy.of(clip.skeleton).leg_length, Anatomy.of(skeleton_of(character)).leg_length
        if own > 0 and given > 0 and abs(given / own - 1) > _SAME_LENGTH:
            clip = replace(clip, root=clip.root * (given / own))
    qpos = joint_angles(character, clip)
    motion = Motion(Scene.alone(character), clip.dt, qpos, source=Source.now(notes="; ".join(told)))
    return grounded(motion) if ground else motion


def grounded(motion: Motion, *, percentile: float = 20.0) -> Motion:
    """The motion raised or lowered as a whole so that its lowest solids rest on the floor at height zero.

    The lowest point of each frame is found, and the low ``percentile`` of these heights becomes zero: frames in the air
    do not count, and neither do a few that sink in.
    """
    heights = np.min([_lowest(motion, name) for name in motion.scene.characters], axis=0)
    qpos = motion.qpos.copy()
    for span in motion.scene.spans.values():
        qpos[:, span.qpos.start + 2] -= np.percentile(heights, percentile)
    return replace(motion, qpos=qpos, contacts=None)


def _lowest(motion: Motion, name: str) -> Array:
    """The height of a character's lowest point at every frame (T,)."""
    model, poses = motion.scene.model, motion.poses()
    heights = []
    for geom in range(model.ngeom):
        body, shape = int(model.geom_bodyid[geom]), int(model.geom_type[geom])
        if body not in motion.scene.spans[name].bodies:
            continue
        middle = poses.positions[:, body] + rotate(poses.quats[:, body], model.geom_pos[geom])
        turned = multiply(poses.quats[:, body], model.geom_quat[geom])
        extent = _EXTENTS.get(shape)
        down = to_matrix(turned)[:, 2, :]
        reach = np.full(len(motion), model.geom_rbound[geom]) if extent is None else extent(model.geom_size[geom], down)
        heights.append(middle[:, 2] - reach)
    if not heights:
        raise InputError(f"character {name!r} has no solids to put on the ground")
    return np.min(heights, axis=0)


_EXTENTS: dict[int, Callable[[Array, Array], Array]] = {
    int(mujoco.mjtGeom.mjGEOM_SPHERE): lambda size, down: np.full(len(down), size[0]),
    int(mujoco.mjtGeom.mjGEOM_CAPSULE): lambda size, down: size[0] + size[1] * np.abs(down[:, 2]),
    int(mujoco.mjtGeom.mjGEOM_BOX): lambda size, down: np.abs(down) @ size,
    int(mujoco.mjtGeom.mjGEOM_ELLIPSOID): lambda size, down: np.linalg.norm(down * size, axis=1),
    int(mujoco.mjtGeom.mjGEOM_CYLINDER): lambda size, down: (
        size[1] * np.abs(down[:, 2]) + size[0] * np.sqrt(np.maximum(1 - down[:, 2] ** 2, 0))
    ),
}
"""How far a solid reaches below its middle, by its sizes and the world's vertical in its axes (T, 3)."""


@dataclass
class _Node:
    """A joint of the skeleton: where it is in the zero pose, and which of MuJoCo's joints turn there."""

    name: str
    parent: int
    place: Array
    joints: list[int] = field(default_factory=list)


def _animated(character: Character, qpos: Array, dt: float) -> SkeletonClip:
    model = character.model
    rest = mujoco.MjData(model)
    rest.qpos[:] = character.pose_qpos()
    mujoco.mj_kinematics(model, rest)
    mujoco.mj_comPos(model, rest)
    nodes, node_of_body = _nodes(model, rest)
    frames = len(qpos)
    rotations = np.tile(IDENTITY, (frames, len(nodes), 1))
    offsets, moving = np.zeros((len(nodes), 3)), {}
    for index, node in enumerate(nodes):
        if node.parent >= 0:
            offsets[index] = node.place - nodes[node.parent].place
        for joint in node.joints:
            kind, start = model.jnt_type[joint], int(model.jnt_qposadr[joint])
            body = int(model.jnt_bodyid[joint])
            value = qpos[:, start] - model.qpos0[start]
            if kind == _HINGE:
                turn = from_axis_angle(rest.xaxis[joint], value)
                rotations[:, index] = multiply(rotations[:, index], turn)
            elif kind == _BALL:
                turn = multiply(multiply(rest.xquat[body], qpos[:, start : start + 4]), conjugate(rest.xquat[body]))
                rotations[:, index] = multiply(rotations[:, index], turn)
            elif kind == _SLIDE:
                moving[node.name] = offsets[index] + value[:, None] * rest.xaxis[joint]
    rotations[:, 0] = qpos[:, 3:7]
    names = tuple(node.name for node in nodes)
    tips = _tips(character, rest, nodes, offsets, node_of_body)
    return SkeletonClip(
        Skeleton(names, tuple(n.parent for n in nodes), offsets, tips), dt, qpos[:, :3], rotations, moving
    )


def _nodes(model: mujoco.MjModel, rest: mujoco.MjData) -> tuple[list[_Node], dict[int, int]]:
    """The skeleton's joints, parents first, and which of them carries each body."""
    nodes: list[_Node] = []
    node_of_body: dict[int, int] = {0: -1}
    bodies = {model.body(b).name for b in range(model.nbody)}
    for body in range(1, model.nbody):
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        groups: list[_Node] = []
        parent = node_of_body[int(model.body_parentid[body])]
        for joint in range(first, first + count):
            kind = model.jnt_type[joint]
            place = rest.xpos[body] if kind == _FREE else rest.xanchor[joint]
            # a slide moves its own joint and nothing before it, so it never shares one
            apart = not groups or kind == _SLIDE or np.abs(groups[-1].place - place).max() > _SAME_PLACE
            if apart or model.jnt_type[groups[-1].joints[-1]] == _SLIDE:
                groups.append(_Node(model.joint(joint).name, parent, place.copy()))
            groups[-1].joints.append(joint)
        groups = groups or [_Node("", parent, rest.xpos[body].copy())]
        groups[-1].name = model.body(body).name
        for node in groups:
            node.parent, parent = parent, len(nodes)
            if node is not groups[-1] and node.name in bodies:
                node.name += "_joint"
            nodes.append(node)
        node_of_body[body] = len(nodes) - 1
    return nodes, node_of_body


def _tips(
    character: Character, rest: mujoco.MjData, nodes: list[_Node], offsets: Array, node_of_body: dict[int, int]
) -> dict[str, Array]:
    """Where the last bones end: where the rig had them, else twice as far as the centre of mass of the last body."""
    known = (character.recipe or {}).get("tips")
    names = {node.name for node in nodes}
    if known is not None and set(known) <= names:
        return {name: np.array(ends, float) for name, ends in known.items()}
    tips, parents = {}, {node.parent for node in nodes}
    for body, index in node_of_body.items():
        if body == 0 or index in parents:
            continue
        tip = 2 * (rest.xipos[body] - nodes[index].place)
        if np.linalg.norm(tip) < _LEAST_TIP:
            length = float(np.linalg.norm(offsets[index]))
            way = offsets[index] / length if length > _LEAST_TIP else np.array([0.0, 0.0, 1.0])
            tip = _USUAL_TIP * way
        tips[nodes[index].name] = tip[None]
    return tips
