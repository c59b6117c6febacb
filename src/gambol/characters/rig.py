"""Any skeleton becomes a simulated character: hinges, servos, solids, masses and names from its bones alone.

Bodies are the skeleton's joints and its zero pose is the character's, so that every rotation of an animation can be set
exactly (:func:`gambol.characters.hinges.joint_angles`). Bones without length keep their joint; their link is a ball. A
joint that never turns in the clip the rig is made from is welded, unless that is declined or it is of an arm or a leg:
it would only make the body softer and slower to simulate.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from gambol.characters import bvh
from gambol.characters.blueprint import Blueprint, Geom, Joint, Link, Servo, Surface
from gambol.characters.character import Character, Patch, Point, Pose
from gambol.characters.flesh import centre, geoms_of, lowest, masses_of, soles_of, vec3
from gambol.characters.hinges import (
    continuous_angles,
    hinge_angles,
    hinge_name,
    hinges_of,
    joint_angles,
    rig_name,
    still_joints,
)
from gambol.characters.skeleton import Skeleton, SkeletonClip
from gambol.characters.standing import standing_rotations
from gambol.characters.tables import ARM_ROLES, LEG_ROLES, SEGMENTS, Anatomy, Range
from gambol.errors import InputError, unknown_name
from gambol.rotations import Array

__all__ = ["from_recipe", "from_skeleton", "joint_angles", "mocap_humanoid"]

_GRAVITY = 9.81
_LOAD_GAIN = 40.0
"""Stiffness of joints without a usual gain, per newton metre that holding their branch level takes."""
_DAMPING = 0.1
"""Seconds: damping over stiffness of the servos."""
_TORQUE = 0.5
"""Radians: the servo's largest torque over its stiffness."""
_GAP = 0.004
"""Solids closer than this (metres) in the zero or standing pose belong together and never touch."""
_SPARE = 2.0
"""Degrees a range widened for a clip leaves beyond the clip's own extremes."""
_SIZES = (0.01, 100.0)
MAX_JOINTS = 500
_LANDMARK_ROLES = {
    "hip": "thigh",
    "knee": "shin",
    "ankle": "foot",
    "toe": "toes",
    "shoulder": "upper_arm",
    "elbow": "forearm",
    "wrist": "hand",
}
_RECIPE_KEYS = ("kind", "names", "parents", "offsets", "tips", "mass", "welded", "ranges")


def from_skeleton(
    source: str | Path | Skeleton | SkeletonClip,
    *,
    name: str | None = None,
    mass: float | None = None,
    weld: bool = True,
) -> Character:
    """The character of a skeleton, a clip or a BVH file; ``mass`` in kilograms is told from the stature by default.

    With a clip, joint limits are widened to what the clip does; with ``weld``, joints that never turn in it are rigid.
    """
    if isinstance(source, (str, Path)):
        try:
            return from_skeleton(bvh.load(source), name=name or Path(source).stem, mass=mass, weld=weld)
        except InputError as error:
            raise error.within(file=source) from None
    if isinstance(source, Skeleton):
        return _built(source, name or "rig", mass)
    clip, _ = source.rigid()
    welded = still_joints(clip) if weld else ()
    return _built(clip.skeleton, name or "rig", mass, welded, _ranges_of(clip))


def from_recipe(recipe: Mapping[str, Any]) -> Character:
    """The character whose ``recipe`` this is."""
    for key in recipe:
        if key not in _RECIPE_KEYS:
            raise unknown_name("setting of 'skeleton'", str(key), _RECIPE_KEYS, key="character")
    try:
        skeleton = Skeleton.from_description(recipe)
        mass = None if recipe.get("mass") is None else float(recipe["mass"])
        welded = tuple(str(name) for name in recipe.get("welded") or ())
        ranges = {str(k): (float(low), float(high)) for k, (low, high) in dict(recipe.get("ranges") or {}).items()}
        if not all(np.isfinite(limits).all() and limits[0] <= limits[1] for limits in ranges.values()):
            raise InputError("are degrees from low to high", key="ranges")
    except InputError as error:
        raise error.within(key="character") from None
    except (TypeError, ValueError) as error:
        raise InputError(f"is not a recipe of a skeleton: {error}", key="character") from None
    return _built(skeleton, "rig", mass, welded, ranges)


def mocap_humanoid(name: str = "mocap-humanoid", mass: float = 72.0) -> Character:
    """The body of the CMU motion capture database: 23 joints, 66 servos, the mean proportions of its subjects."""
    text = resources.files("gambol.characters").joinpath("mocap_humanoid.json").read_text("utf-8")
    built = _built(Skeleton.from_description(json.loads(text)), name, mass)
    return replace(built, recipe={"kind": "mocap-humanoid", "mass": mass})


def _built(
    skeleton: Skeleton,
    name: str,
    mass: float | None,
    welded: Collection[str] = (),
    ranges: Mapping[str, Range] | None = None,
) -> Character:
    """``ranges`` are degrees that hinges must reach at least, by name."""
    if len(skeleton) > MAX_JOINTS:
        raise InputError(f"has {len(skeleton)} joints; at most {MAX_JOINTS} are simulated")
    for joint in welded:
        if joint not in skeleton.names:
            raise unknown_name("joint", joint, skeleton.names, key="welded")
    anatomy, names = Anatomy.of(skeleton), tuple(rig_name(joint) for joint in skeleton.names)
    if len(set(names)) < len(names):
        raise InputError("has joints whose names differ only in '_' and what cannot stand in a name")
    if not _SIZES[0] <= anatomy.stature <= _SIZES[1]:
        raise InputError(f"is {anatomy.stature:g} m large; a body is between {_SIZES[0]:g} and {_SIZES[1]:g} m")
    geoms = geoms_of(anatomy, names)
    masses = masses_of(anatomy, geoms, mass)
    standing = standing_rotations(anatomy, geoms, masses)
    joints, pose = _joints(anatomy, names, standing, welded, ranges or {})
    gains = _gains(anatomy, masses)
    ground = -min(
        float(p[2]) + lowest(g) for p, g in zip(skeleton.rest_positions - skeleton.offsets[0], geoms, strict=True)
    )
    links = tuple(
        Link(
            body,
            names[parent] if parent >= 0 else None,
            vec3(skeleton.offsets[j]) if parent >= 0 else (0.0, 0.0, ground),
            geoms[j],
            tuple(replace(h, damping=0.005 * gains[j], armature=0.002 + 2e-5 * gains[j]) for h in joints[j]),
            float(masses[j]),
        )
        for j, (body, parent) in enumerate(zip(names, skeleton.parents, strict=True))
    )
    servos = tuple(
        Servo(hinge.name, gains[j], _DAMPING * gains[j], _TORQUE * gains[j])
        for j, of_joint in enumerate(joints)
        for hinge in of_joint
    )
    blueprint = Blueprint(name, links, servos, (), Surface(friction=1.0, condim=3), (0.50, 0.66, 0.60))
    poses = {"zero": Pose()} if pose is None else {"zero": Pose(), "standing": Pose(pose)}
    character = Character(name, blueprint.spec().to_xml(), poses=poses)
    blueprint = replace(blueprint, untouching=_overlaps(character))
    return Character(
        name=name,
        xml=blueprint.spec().to_xml(),
        parts=limb_parts(anatomy, names),
        patches=_patches(anatomy, names, geoms),
        landmarks=anatomical_landmarks(anatomy, names),
        poses=poses,
        recipe={
            "kind": "skeleton",
            **skeleton.describe(),
            "mass": mass,
            "welded": list(welded),
            "ranges": {hinge: list(limits) for hinge, limits in (ranges or {}).items()},
        },
    ).verified()


def _joints(
    anatomy: Anatomy,
    names: tuple[str, ...],
    standing: Array | None,
    welded: Collection[str],
    ranges: Mapping[str, Range],
) -> tuple[list[tuple[Joint, ...]], dict[str, float] | None]:
    """The hinges of every link, and the standing pose as their angles.

    The table's ranges count from standing, so they are shifted by the standing angles. A body that does not stand in
    its zero pose could start anywhere: its hinges are free to turn all the way round.
    """
    found: list[tuple[Joint, ...]] = []
    pose: dict[str, float] = {}
    for joint, hinges in enumerate(hinges_of(anatomy)):
        if joint == 0 or anatomy.skeleton.names[joint] in welded:
            found.append(())
            continue
        angles = np.zeros(3) if standing is None else hinge_angles(standing[joint], [h.axis for h in hinges])
        of_joint = []
        for hinge, angle in zip(hinges, angles, strict=True):
            name = hinge_name(names[joint], hinge.letter)
            low, high = hinge.range_deg if standing is not None else (-180.0, 180.0)
            shift = float(np.rad2deg(angle))
            usual = (max(low + shift, -180.0), min(high + shift, 180.0))
            needed = ranges.get(name, usual)
            wide = (min(usual[0], needed[0]), max(usual[1], needed[1]))
            of_joint.append(Joint(name, vec3(hinge.axis), wide))
            if abs(angle) > 1e-6:
                pose[name] = float(angle)
        found.append(tuple(of_joint))
    return found, None if standing is None else pose


def _gains(anatomy: Anatomy, masses: Array) -> list[float]:
    """Servo stiffness (N m per rad) of every joint.

    Usual joints are as stiff as carrying the whole body needs, in shares of mass × gravity × stature. Others hold up
    their own branch; where no role is known that may carry the body, so the lowest branches hold up all of it.
    """
    skeleton, rest = anatomy.skeleton, anatomy.skeleton.rest_positions
    whole = float(masses.sum()) * _GRAVITY * anatomy.stature
    branch_mass, branch_moment, lowest_point = masses.copy(), masses[:, None] * rest, rest[:, 2].copy()
    for joint in range(len(skeleton) - 1, 0, -1):
        parent = skeleton.parents[joint]
        branch_mass[parent] += branch_mass[joint]
        branch_moment[parent] += branch_moment[joint]
        lowest_point[parent] = min(lowest_point[parent], lowest_point[joint])
    floor = lowest_point[0] + 0.1 * anatomy.stature
    gains = []
    for joint, role in enumerate(anatomy.roles):
        if role in SEGMENTS:
            gains.append(SEGMENTS[role].gain * whole)
            continue
        lever = float(np.linalg.norm(branch_moment[joint] / branch_mass[joint] - rest[joint]))
        carries = not anatomy.two_legged and lowest_point[joint] < floor
        load = whole / _LOAD_GAIN if carries else float(branch_mass[joint]) * _GRAVITY * lever
        gains.append(float(np.clip(_LOAD_GAIN * load, 0.002 * whole, 0.9 * whole)))
    return gains


def _overlaps(character: Character) -> tuple[tuple[str, str], ...]:
    """Pairs of bodies whose solids meet in the zero or the standing pose."""
    model = character.spec().compile()
    model.geom_margin[:] = model.body_margin[:] = _GAP / 2  # those of two solids add up
    data = mujoco.MjData(model)
    pairs = set()
    for pose in character.poses:
        data.qpos[:] = character.pose_qpos(pose)
        mujoco.mj_fwdPosition(model, data)
        for contact in data.contact:
            bodies = sorted(int(model.geom_bodyid[g]) for g in contact.geom)
            pairs.add((model.body(bodies[0]).name, model.body(bodies[1]).name))
    return tuple(sorted(pairs))


def _ranges_of(clip: SkeletonClip) -> dict[str, Range]:
    """The ranges (degrees) that a clip's joints turn through, by hinge."""
    hinges = hinges_of(Anatomy.of(clip.skeleton))
    angles = np.rad2deg(continuous_angles(clip.rotations, [[hinge.axis for hinge in of_joint] for of_joint in hinges]))
    low, high = np.round(angles.min(axis=0) - _SPARE, 2), np.round(angles.max(axis=0) + _SPARE, 2)
    return {
        hinge_name(rig_name(clip.skeleton.names[j]), hinge.letter): (float(low[j, k]), float(high[j, k]))
        for j, of_joint in enumerate(hinges)
        for k, hinge in enumerate(of_joint)
        if j > 0
    }


def limb_parts(anatomy: Anatomy, names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Core, legs and arms; a bone that is none of them belongs where its parent does."""
    of_joint: list[str] = []
    parts: dict[str, list[str]] = {"core": []}
    for joint, (role, side) in enumerate(zip(anatomy.roles, anatomy.sides, strict=True)):
        parent = anatomy.skeleton.parents[joint]
        limb = "leg" if role in LEG_ROLES else "arm" if role in ARM_ROLES else ""
        part = f"{side}_{limb}" if limb else "core" if role or parent < 0 else of_joint[parent]
        of_joint.append(part)
        parts.setdefault(part, []).append(names[joint])
    return {part: tuple(bodies) for part, bodies in parts.items()}


def _patches(anatomy: Anatomy, names: tuple[str, ...], geoms: list[tuple[Geom, ...]]) -> dict[str, Patch]:
    """Soles, toes, the middle of the hands, and the pelvis to sit on."""
    patches = {}
    for joint, sole in reversed(soles_of(anatomy).items()):
        patches[f"{anatomy.sides[joint]}_{anatomy.roles[joint]}"] = Patch(names[joint], sole.corners())
    for side in ("right", "left"):
        hand = anatomy.first(("hand",), side)
        if hand is not None:
            patches[f"{side}_hand"] = Patch(names[hand], (vec3(centre(geoms[hand])),))
    pelvis = anatomy.first(("pelvis",))
    if pelvis is not None:
        bar = geoms[pelvis][0]
        ends = {bar.start, bar.end or bar.start}
        patches["pelvis"] = Patch(names[pelvis], tuple((x, y, z - bar.size[0]) for x, y, z in sorted(ends)))
    return patches


def anatomical_landmarks(anatomy: Anatomy, names: tuple[str, ...]) -> dict[str, Point]:
    """The points all two-legged bodies share, as far as this one has them."""
    shoulder = anatomy.first(("clavicle", "upper_arm"))
    chest = anatomy.skeleton.parents[shoulder] if shoulder else anatomy.first(("spine",))
    joints = {"pelvis": anatomy.first(("pelvis",)), "chest": chest, "head": anatomy.first(("head",))}
    for side in ("right", "left"):
        for landmark, role in _LANDMARK_ROLES.items():
            joints[f"{side}_{landmark}"] = anatomy.first((role,), side)
    points = {key: Point(names[joint]) for key, joint in joints.items() if joint is not None}
    for joint, sole in soles_of(anatomy).items():
        points.setdefault(f"{anatomy.sides[joint]}_toe", Point(names[joint], vec3(sole.front)))
    return points
