"""What a body is told by its shape and the names of its links: parts, patches, landmarks and how it stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np

from gambol.characters.anatomy import SIDES
from gambol.characters.blueprint import mirror_name
from gambol.characters.character import Patch, Point, Pose
from gambol.characters.flesh import vec3
from gambol.characters.rig import anatomical_landmarks as landmarks_of
from gambol.characters.rig import limb_parts as parts_of
from gambol.characters.skeleton import Skeleton
from gambol.characters.tables import Anatomy
from gambol.rotations import Array, conjugate, from_yaw, multiply, rotate, yaw_of

_LEVEL = 0.01
"""Points within so many metres of the lowest or foremost belong together."""


def guessed(model: mujoco.MjModel) -> dict[str, Any]:
    """Parts, patches, landmarks and poses of a body alone in its model, as a character takes them."""
    # however the file turns the body, it is to face along x
    tilt = multiply(from_yaw(-yaw_of(model.qpos0[3:7])), model.qpos0[3:7]) + 0.0
    data = mujoco.MjData(model)
    data.qpos[:7] = [0, 0, 0, *tilt]
    mujoco.mj_kinematics(model, data)
    undersides = {body: _underside(model, data, body) for body in range(1, model.nbody) if model.body_geomnum[body]}
    names = tuple(model.body(body).name for body in range(1, model.nbody))
    parents = model.body_parentid[1:] - 1
    offsets = data.xpos[1:] - np.where(parents[:, None] < 0, 0.0, data.xpos[1:][parents])
    anatomy = Anatomy.of(Skeleton(names, tuple(int(parent) for parent in parents), offsets))
    w, x, y, z = (float(part) for part in tilt)
    found: dict[str, Any] = {"poses": {"standing": Pose(root=(w, x, y, z))}}
    if not _is_biped(anatomy):
        ends = {names[body - 1]: body for body in undersides if body not in model.body_parentid}
        found["parts"] = _limbs(model)
    else:
        ends = _ends(anatomy, undersides)
        found["parts"] = parts_of(anatomy, names)
        feet = {side: ends[f"{side}_foot"] for side in SIDES if f"{side}_foot" in ends}
        found["landmarks"] = anatomical_landmarks(anatomy, model, data, undersides, feet)
    found["patches"] = {
        key: Patch(names[body - 1], tuple(vec3(p) for p in _in_body(data, body, undersides[body])))
        for key, body in ends.items()
    }
    return found


def _in_body(data: mujoco.MjData, body: int, points: Array) -> Array:
    """Points (..., 3) of the world in the frame of a body."""
    return rotate(conjugate(data.xquat[body]), points - data.xpos[body])


def _is_biped(anatomy: Anatomy) -> bool:
    """Whether names tell one leg on either side, from hip to foot."""
    hips = [j for j in anatomy.find("thigh") if "thigh" not in _roles_above(anatomy, j)]
    feet = {anatomy.sides[foot] for foot in anatomy.find("foot")}
    return anatomy.two_legged and sorted(anatomy.sides[j] for j in hips) == ["left", "right"] and len(feet) == 2


def _roles_above(anatomy: Anatomy, joint: int) -> list[str]:
    return [anatomy.roles[j] for j in anatomy.skeleton.ancestors(joint)[1:]]


def _ends(anatomy: Anatomy, undersides: Mapping[int, Array]) -> dict[str, int]:
    """The bodies that touch things: the feet and the ends of all branches.

    The lowest of the bodies that make up a foot, toes or a hand is called so, all others by their names.
    """
    ends: dict[str, int] = {}
    for body in sorted(undersides, key=lambda b: float(undersides[b][:, 2].min())):
        joint = body - 1
        if anatomy.skeleton.children[joint] and anatomy.roles[joint] != "foot":
            continue
        # an unknown body at the end of a foot is part of the foot
        known = next((j for j in anatomy.skeleton.ancestors(joint) if anatomy.roles[j]), joint)
        name = f"{anatomy.sides[known]}_{anatomy.roles[known]}"
        if anatomy.roles[known] not in ("foot", "toes", "hand"):
            ends[anatomy.skeleton.names[joint]] = body
        elif name not in ends:
            ends[name] = body
        elif not anatomy.skeleton.children[joint]:
            ends.setdefault(anatomy.skeleton.names[joint], body)
    return ends


def anatomical_landmarks(
    anatomy: Anatomy,
    model: mujoco.MjModel,
    data: mujoco.MjData,
    undersides: Mapping[int, Array],
    feet: Mapping[str, int],
) -> dict[str, Point]:
    """The points all two-legged bodies share, as far as names, joints and solids tell; ``feet`` are bodies by side."""

    def on(body: int, place: Array) -> Point:
        return Point(model.body(body).name, vec3(_in_body(data, body, place)))

    points = landmarks_of(anatomy, anatomy.skeleton.names)
    for key, point in list(points.items()):
        body = model.body(point.body).id
        if key.endswith("_toe") and anatomy.roles[body - 1] != "toes":
            del points[key]
        elif key.startswith(SIDES):
            points[key] = on(body, _joint_centre(model, data, body))
    for side, foot in feet.items():
        # the whole foot turns with the body it stands on, whatever links make up the ankle
        points[f"{side}_ankle"] = on(foot, _joint_centre(model, data, anatomy.find("foot", side)[0] + 1))
        if f"{side}_toe" not in points:
            forward = undersides[foot][:, 0]
            points[f"{side}_toe"] = on(foot, undersides[foot][forward > forward.max() - _LEVEL].mean(axis=0))
    if "pelvis" not in points:
        hips = [model.body(points[f"{side}_hip"].body).id for side in SIDES]
        middle = np.mean([_joint_centre(model, data, hip) for hip in hips], axis=0)
        points["pelvis"] = on(int(model.body_parentid[hips[0]]), middle)
    return points


def _joint_centre(model: mujoco.MjModel, data: mujoco.MjData, body: int) -> Array:
    """What a body turns about (3,) in the world: its joints' anchors, or its origin where it has no joints."""
    first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
    return data.xanchor[first : first + count].mean(axis=0) if count else data.xpos[body].copy()


def _limbs(model: mujoco.MjModel) -> dict[str, tuple[str, ...]]:
    """The core down to the first fork, then a part for each branch, called after its first body."""
    children: dict[int, list[int]] = {body: [] for body in range(model.nbody)}
    for body in range(1, model.nbody):
        children[int(model.body_parentid[body])].append(body)
    core = [1]
    branches: list[int] = []
    for body in core:
        for child in children[body]:
            below = _below(children, child)
            sided = mirror_name(model.body(child).name) != model.body(child).name
            chain = len(below) > 1 and all(len(children[b]) <= 1 for b in below)
            (branches if sided or chain else core).append(child)
    parts = {"core": tuple(model.body(b).name for b in core)}
    for branch in branches:
        names = tuple(model.body(b).name for b in _below(children, branch))
        parts[names[0]] = names
    return parts


def _below(children: Mapping[int, list[int]], body: int) -> list[int]:
    found = [body]
    for each in found:
        found += children[each]
    return found


def _underside(model: mujoco.MjModel, data: mujoco.MjData, body: int) -> Array:
    """The lowest points (K, 3) of a body's solids in the world: ends of capsules, corners of boxes around others."""
    first = int(model.body_geomadr[body])
    geoms = range(first, first + int(model.body_geomnum[body]))
    solid = [g for g in geoms if model.geom_contype[g] or model.geom_conaffinity[g]] or list(geoms)
    points = []
    for geom in solid:
        turn, size = data.geom_xmat[geom].reshape(3, 3), model.geom_size[geom]
        if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_SPHERE:
            ends = np.array([[0, 0, -size[0]]])
        elif model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_CAPSULE:
            ends = np.array([[0, 0, -size[1]], [0, 0, size[1]]]) @ turn.T - [0, 0, size[0]]
        else:
            middle, half = model.geom_aabb[geom, :3], model.geom_aabb[geom, 3:]
            ends = (middle + half * (np.indices((2, 2, 2)).reshape(3, 8).T * 2 - 1)) @ turn.T
        points.append(data.geom_xpos[geom] + ends)
    found = np.unique(np.concatenate(points).round(9), axis=0)
    return found[found[:, 2] < found[:, 2].min() + _LEVEL]
