"""Any MJCF with a free root becomes a character.

MJCF from strangers is read with care: the text is inspected before MuJoCo compiles it, since a little XML can ask for
gigabytes, and files it names must lie beside it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import mujoco
import numpy as np

from gambol.characters.blueprint import mirror_name
from gambol.characters.character import Character, Patch, Point, Pose
from gambol.errors import InputError
from gambol.files import read_bytes, read_text

MAX_ELEMENTS = 20_000
MAX_ASSET_BYTES = 64 * 2**20
_COUNTS = {"count": 1000, "nrow": 2000, "ncol": 2000, "width": 4096, "height": 8192, "nuser_": 1000, "dim": 10}
_FORBIDDEN = ("include", "plugin", "extension", "composite", "flexcomp", "flex", "attach", "replicate", "model", "skin")


def from_mjcf(path: str | Path, *, name: str | None = None) -> Character:
    """The character of an MJCF file: its actuators, its limbs as parts, its feet as patches where they can be told."""
    path = Path(path)
    text = read_text(path, 16 * 2**20)
    try:
        assets = {file: read_bytes(_beside(path, file), MAX_ASSET_BYTES) for file in _inspect(text)}
        return _from_text(text, assets, name or path.stem)
    except InputError as error:
        raise error.within(file=path) from None


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


def from_text_recipe(recipe: Mapping[str, Any], assets: Mapping[str, bytes]) -> Character:
    """The character that :func:`text_recipe` described."""
    try:
        text = str(recipe["xml"])
        needed = {file: assets[file] for file in _inspect(text)}
        parts = {str(k): tuple(map(str, v)) for k, v in recipe["parts"].items()}
        patches = {
            k: Patch(str(p["body"]), tuple(_vector(q) for q in p["points"])) for k, p in recipe["patches"].items()
        }
        landmarks = {k: Point(str(p["body"]), _vector(p["offset"])) for k, p in recipe["landmarks"].items()}
        poses = {
            k: Pose({str(j): float(a) for j, a in p["joints"].items()}, _quat(p["root"]))
            for k, p in recipe["poses"].items()
        }
        name = str(recipe["name"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"is not a character recipe: {error!r}", key="character") from None
    _compile(text, needed)
    return Character(name, text, parts, patches, landmarks, poses, needed).verified()


def _quat(values: Any) -> tuple[float, float, float, float]:
    w, x, y, z = map(float, values)
    return (w, x, y, z)


def _vector(values: Any) -> tuple[float, float, float]:
    x, y, z = map(float, values)
    return (x, y, z)


def _beside(path: Path, file: str) -> Path:
    target = (path.parent / file).resolve()
    if not target.is_relative_to(path.parent.resolve()):
        raise InputError(f"names the file {file!r} outside its own folder", file=path)
    return target


def _inspect(text: str) -> list[str]:
    """The files an MJCF text names; an error where it is not MJCF or asks for more than a character needs."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise InputError("has a document type declaration; MJCF needs none")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise InputError(f"is not well-formed XML: {error}") from None
    if root.tag != "mujoco":
        raise InputError(f"is not MJCF: its root element is <{root.tag}>, not <mujoco>")
    files: list[str] = []
    folders = {"mesh": "", "texture": ""}
    for number, element in enumerate(root.iter()):
        if number > MAX_ELEMENTS:
            raise InputError(f"has more than {MAX_ELEMENTS} elements")
        if element.tag in _FORBIDDEN:
            raise InputError(
                f"uses <{element.tag}>, which a character may not", hint="save the compiled model as plain MJCF first"
            )
        for attribute, value in element.attrib.items():
            _check_number(element.tag, attribute, value)
        if element.tag == "compiler":
            folders = {
                "mesh": element.get("meshdir", element.get("assetdir", "")),
                "texture": element.get("texturedir", element.get("assetdir", "")),
            }
        if element.tag == "size" and set(element.attrib) & {"memory", "njmax", "nconmax", "nstack"}:
            raise InputError("sets its own memory sizes in <size>; leave them to MuJoCo")
        if element.get("file"):
            files.append(str(Path(folders.get(element.tag, "")) / element.get("file", "")))
    return files


def _check_number(tag: str, attribute: str, value: str) -> None:
    limit = next((most for key, most in _COUNTS.items() if attribute.startswith(key)), None)
    if limit is not None and re.fullmatch(r"\s*[-+]?\d+\s*", value) and abs(int(value)) > limit:
        raise InputError(f"<{tag} {attribute}={value.strip()!r}> is more than {limit}")
    if re.search(r"\b(nan|inf|infinity)\b", value, re.IGNORECASE) and attribute not in ("name", "file", "class"):
        raise InputError(f"<{tag} {attribute}={value.strip()!r}> is not finite")


def _compile(text: str, assets: Mapping[str, bytes]) -> tuple[mujoco.MjSpec, mujoco.MjModel]:
    try:
        spec = mujoco.MjSpec.from_string(text, assets=dict(assets))
        model = spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        raise InputError(f"MuJoCo cannot compile it: {str(error).strip().splitlines()[0]}") from None
    if not all(np.isfinite(field).all() for field in (model.body_mass, model.body_inertia, model.qpos0)):
        raise InputError("has masses or positions that are not finite")
    return spec, model


def _from_text(text: str, assets: Mapping[str, bytes], name: str) -> Character:
    spec, _ = _compile(text, assets)
    roots = [body for body in spec.worldbody.bodies if any(j.type == mujoco.mjtJoint.mjJNT_FREE for j in body.joints)]
    if len(roots) != 1:
        found = "no body" if not roots else f"{len(roots)} bodies"
        raise InputError(f"has {found} with a free joint; a character has exactly one")
    _keep_only(spec, roots[0])
    _name_everything(spec)
    _, model = _compile(spec.to_xml(), assets)
    return Character(
        name=name, xml=spec.to_xml(), parts=_limbs(model), patches=_feet(model), assets=dict(assets)
    ).verified()


def _keep_only(spec: mujoco.MjSpec, root: mujoco.MjsBody) -> None:
    """Floors, lights and other scenery of the file stay behind: the scene brings its own."""
    for group in (spec.worldbody.geoms, spec.worldbody.lights, spec.worldbody.cameras, spec.worldbody.sites, spec.keys):
        for element in list(group):
            spec.delete(element)
    for body in list(spec.worldbody.bodies):
        if body.id != root.id:
            spec.delete(body)


def _name_everything(spec: mujoco.MjSpec) -> None:
    """Names for what has none, so that everything can be addressed."""
    for kind in ("bodies", "joints", "geoms", "actuators"):
        for number, element in enumerate(getattr(spec, kind)):
            if not element.name:
                element.name = f"{kind.removesuffix('s').replace('bodie', 'body')}_{number}"
    for joint in spec.joints:
        if joint.type == mujoco.mjtJoint.mjJNT_FREE:
            joint.name = "root"


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


def _feet(model: mujoco.MjModel) -> dict[str, Patch]:
    """A patch at the lowest point of each body that has solids and no children: hands and feet of most bodies."""
    parents = set(model.body_parentid[1:].tolist())
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    patches = {}
    for body in range(1, model.nbody):
        if body in parents or model.body_geomnum[body] == 0:
            continue
        first = model.body_geomadr[body]
        geoms = range(first, first + model.body_geomnum[body])
        lowest = min(geoms, key=lambda g: data.geom_xpos[g, 2] - model.geom_rbound[g])
        point = data.geom_xpos[lowest] - [0, 0, model.geom_size[lowest, 0]]
        local = data.xmat[body].reshape(3, 3).T @ (point - data.xpos[body])
        name = model.body(body).name
        patches[name] = Patch(name, (_vector(local),))
    return patches
