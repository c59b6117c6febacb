"""Any MJCF with a free root becomes a character; files it names must lie beside it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from gambol.characters.character import Character, Patch, Point, Pose
from gambol.characters.guesses import guessed
from gambol.characters.mjcf_text import MAX_TEXT_BYTES, cleaned
from gambol.errors import InputError, unknown_name
from gambol.files import read_bytes, read_text
from gambol.validation import explained

MAX_ASSET_BYTES = 64 * 2**20
"""All meshes together, each as often as it is used."""
_MOST = 1e9
"""What all numbers of a body stay below, in kilograms, metres and radians."""
_FREE = mujoco.mjtJoint.mjJNT_FREE
_ON_JOINTS = (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)


class _Told(BaseModel):
    """What people say about a body that its MJCF does not."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, revalidate_instances="always")
    parts: dict[str, tuple[str, ...]] = {}
    patches: dict[str, Patch] = {}
    landmarks: dict[str, Point] = {}
    poses: dict[str, Pose] = {}


class _FileRecipe(_Told):
    file: str
    name: str | None = None


class _TextRecipe(_Told):
    xml: str
    name: str
    assets: tuple[str, ...] = ()


def from_mjcf(
    path: str | Path,
    *,
    name: str | None = None,
    parts: Mapping[str, Iterable[str]] | None = None,
    landmarks: Mapping[str, Point] | None = None,
    poses: Mapping[str, Pose] | None = None,
    patches: Mapping[str, Patch] | None = None,
) -> Character:
    """The character of an MJCF file: the body with the free joint, its solids, joints and actuators.

    Parts, landmarks and patches are guessed: those of a two-legged body from the names of its bodies, otherwise limbs
    where it forks and a patch under every end. What is given takes the place of what is guessed; of ``parts`` all of
    it, and a body in none of them belongs where its parent does. Without a pose called standing, the pose in the file
    is.
    """
    path = Path(path)
    given = {"parts": parts, "landmarks": landmarks, "poses": poses, "patches": patches}
    try:
        told = _Told.model_validate({key: value for key, value in given.items() if value is not None})
    except ValidationError as error:
        raise explained(error, _Told) from None
    with _blaming(path):
        text, files = cleaned(read_text(path, MAX_TEXT_BYTES))
        assets = _read_beside(path, files)
        xml, files, model = _alone(text, assets)
        found = guessed(model)
    about = _merged(model, found, told)
    with _blaming(path):
        return _checked(Character(name or path.stem, xml, assets={file: assets[file] for file in files}, **about))


def text_recipe(character: Character) -> dict[str, Any]:
    """Plain data that describes a body which only its MJCF knows."""
    return {
        "kind": "mjcf",
        "name": character.name,
        "xml": character.xml,
        "parts": {part: list(bodies) for part, bodies in character.parts.items()},
        "patches": {k: {"body": p.body, "points": [list(q) for q in p.points]} for k, p in character.patches.items()},
        "landmarks": {k: {"body": p.body, "offset": list(p.offset)} for k, p in character.landmarks.items()},
        "poses": {k: {"joints": dict(p.joints), "root": list(p.root)} for k, p in character.poses.items()},
        "assets": sorted(character.assets),
    }


def from_recipe(recipe: Mapping[str, Any], assets: Mapping[str, bytes]) -> Character:
    """The character of a recipe, its kind aside.

    That is a ``file`` and what else :func:`from_mjcf` takes, or what :func:`text_recipe` gave and the ``assets`` it
    names.
    """
    shape = _TextRecipe if "xml" in recipe else _FileRecipe
    try:
        told = shape.model_validate(dict(recipe))
    except ValidationError as error:
        raise explained(error, shape, key="character") from None
    if isinstance(told, _FileRecipe):
        given = {key: getattr(told, key) for key in _Told.model_fields}
        try:
            return from_mjcf(told.file, name=told.name, **given)
        except InputError as error:
            raise error if error.file else error.within(key="character") from None
    try:
        text, files = cleaned(told.xml)
        for file in files:
            if file not in assets:
                raise unknown_name("file", file, assets, key="assets")
        _require_room(len(assets[file]) for file in files)
        needed, poses = {file: assets[file] for file in files}, _normalised(told.poses)
        return _checked(Character(told.name, text, told.parts, told.patches, told.landmarks, poses, needed))
    except InputError as error:
        raise error.within(key="character") from None


def _read_beside(path: Path, files: Iterable[str]) -> dict[str, bytes]:
    """The contents of files in the folder of ``path``, by the names they are given there."""
    folder, found, sizes = Path(os.path.realpath(path.parent)), {}, []
    for file in files:
        target = Path(os.path.realpath(folder / file))
        if not target.is_relative_to(folder):
            raise InputError(f"names the file {file!r} outside its own folder")
        try:
            found[file] = found[file] if file in found else read_bytes(target, MAX_ASSET_BYTES)
        except InputError as error:
            raise InputError(f"its mesh {file[:80]!r}: {error.problem}") from None
        sizes.append(len(found[file]))
        _require_room(sizes)
    return found


def _require_room(sizes: Iterable[int]) -> None:
    if sum(sizes) > MAX_ASSET_BYTES:
        raise InputError(f"has meshes of more than {MAX_ASSET_BYTES // 2**20} MiB", hint="simplify those only seen")


def _alone(text: str, assets: Mapping[str, bytes]) -> tuple[str, list[str], mujoco.MjModel]:
    """The body with the free joint as MJCF, all of it named, the files it needs, and its model."""
    with _compiling():
        spec = mujoco.MjSpec.from_string(text, assets=dict(assets))
        _keep_character(spec)
        _name_everything(spec)
        model = _sound(spec.compile())
        # MuJoCo simulates every muscle to find these out, and would again with every scene
        for actuator, lengths in zip(spec.actuators, model.actuator_lengthrange, strict=True):
            actuator.lengthrange = lengths
        return *cleaned(spec.to_xml()), model


@contextlib.contextmanager
def _blaming(path: Path) -> Iterator[None]:
    """Errors of the input name this file, unless they name another."""
    try:
        yield
    except InputError as error:
        raise error.within(file=path) from None


@contextlib.contextmanager
def _compiling() -> Iterator[None]:
    """What MuJoCo has to say about a text, as an error of the input."""
    try:
        yield
    except InputError:
        raise
    except (ValueError, mujoco.FatalError) as error:
        raise InputError(f"MuJoCo cannot compile it: {str(error).strip().splitlines()[0]}") from None


def _checked(character: Character) -> Character:
    with _compiling():
        _sound(character.model)
    return character.verified()


def _sound(model: mujoco.MjModel) -> mujoco.MjModel:
    """The model, if it can be simulated and steered as all others are."""
    numbers = (model.body_mass, model.body_inertia, model.body_pos, model.geom_pos, model.geom_size, model.qpos0)
    if not all((np.abs(field) < _MOST).all() for field in numbers):
        raise InputError(f"has masses, sizes or positions that are not finite or beyond {_MOST:g}")
    if model.nactuator != model.nu:
        raise InputError("has actuators with several controls", hint="a character's actuators have one control each")
    return model


def _keep_character(spec: mujoco.MjSpec) -> None:
    """Floors, lights and other scenery of the file stay behind: the scene brings its own."""
    roots = [body for body in spec.worldbody.bodies if any(joint.type == _FREE for joint in body.joints)]
    if len(roots) != 1:
        found = "no body" if not roots else f"{len(roots)} bodies"
        raise InputError(f"has {found} with a free joint; a character has exactly one")
    world = spec.worldbody
    scenery = [body for body in world.bodies if not any(joint.type == _FREE for joint in body.joints)]
    for element in (*world.geoms, *world.lights, *world.cameras, *world.sites, *scenery):
        spec.delete(element)


def _name_everything(spec: mujoco.MjSpec) -> None:
    """Names for what has none, so that everything can be addressed; the free joint is the root."""
    free = next(joint for joint in spec.joints if joint.type == _FREE)
    if any(joint.name == "root" for joint in spec.joints if joint.type != _FREE):
        raise InputError("has a joint called 'root', as a character's free joint is", hint="give it another name")
    for actuator in spec.actuators:
        if actuator.target == free.name and actuator.trntype in _ON_JOINTS:
            actuator.target = "root"
    free.name = "root"
    for kind, word in (("bodies", "body"), ("joints", "joint"), ("geoms", "geom"), ("actuators", "actuator")):
        taken = {element.name for element in getattr(spec, kind)}
        for number, element in enumerate(getattr(spec, kind)):
            if not element.name:
                name = f"{word}_{number}"
                while name in taken:
                    name += "_"
                element.name = name
                taken.add(name)


def _merged(model: mujoco.MjModel, found: Mapping[str, Any], told: _Told) -> dict[str, Any]:
    """What was found out about a body with what was told about it; wrong names are refused with their key."""
    bodies = [model.body(body).name for body in range(1, model.nbody)]
    named = [(f"parts.{part}", body) for part, of_part in told.parts.items() for body in of_part]
    named += [(f"landmarks.{key}.body", point.body) for key, point in told.landmarks.items()]
    named += [(f"patches.{key}.body", patch.body) for key, patch in told.patches.items()]
    for key, body in named:
        if body not in bodies:
            raise unknown_name("body", body, bodies, key=key)
    for key, patch in told.patches.items():
        if not patch.points:
            raise InputError("has no points", key=f"patches.{key}.points")
    # a ball joint's turn is no single number
    scalar = [int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)]
    angles = [model.joint(j).name for j in range(model.njnt) if model.jnt_type[j] in scalar]
    for key, pose in told.poses.items():
        for joint in pose.joints:
            if joint not in angles:
                raise unknown_name("hinge or slide", joint, angles, key=f"poses.{key}.joints")
    merged = {key: {**found.get(key, {}), **getattr(told, key)} for key in ("patches", "landmarks")}
    merged["poses"] = {**found["poses"], **_normalised(told.poses)}
    merged["parts"] = _completed(model, told.parts) if told.parts else found["parts"]
    return merged


def _normalised(poses: Mapping[str, Pose]) -> dict[str, Pose]:
    """The poses, their roots turned by unit quaternions."""
    turned = {}
    for key, pose in poses.items():
        length = float(np.linalg.norm(pose.root))
        if not 1e-6 < length < 1e6:
            raise InputError(f"is no quaternion (given: {list(pose.root)})", key=f"poses.{key}.root")
        w, x, y, z = pose.root if abs(length - 1) < 1e-9 else (part / length for part in pose.root)
        turned[key] = replace(pose, root=(w, x, y, z))
    return turned


def _completed(model: mujoco.MjModel, parts: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The parts with every body in one of them: those not named are with their parents, the root in the core."""
    part_of = {0: "core"}
    for part, bodies in parts.items():
        for body in bodies:
            if part_of.setdefault(model.body(body).id, part) != part:
                raise InputError(f"{body!r} is in more than one part", key=f"parts.{part}")
    for body in range(1, model.nbody):
        part_of.setdefault(body, part_of[int(model.body_parentid[body])])
    whole: dict[str, tuple[str, ...]] = dict.fromkeys(("core", *parts), ())
    for body in range(1, model.nbody):
        whole[part_of[body]] += (model.body(body).name,)
    return {part: bodies for part, bodies in whole.items() if bodies}
