"""MJCF text from strangers, made harmless before MuJoCo compiles it: a little XML can ask for gigabytes or hours."""

from __future__ import annotations

import posixpath
import re
from xml.etree import ElementTree

from gambol.errors import InputError

MAX_TEXT_BYTES = 4 * 2**20
MAX_ELEMENTS = 5000
MAX_DEPTH = 250
MAX_JOINTS = 500
MAX_MUSCLE_WORK = 2000
"""Muscles whose range of lengths MuJoCo has to find out by simulation, times joints."""
MAX_BUILTIN_VERTICES = 20_000
_COUNTS = {"nsample": 1000, "actdim": 100}
_FORBIDDEN = ("include", "plugin", "extension", "composite", "flexcomp", "flex", "attach", "replicate", "model")
_OF_SCENES = ("option", "size", "visual", "statistic", "lengthrange")
_DROPPED = (*_OF_SCENES, "texture", "layer", "hfield", "skin", "custom", "keyframe", "sensor")
_DROPPED_ATTRIBUTES = ("texture", "user")
_FOLDERS = ("assetdir", "meshdir", "texturedir", "strippath")


def cleaned(text: str) -> tuple[str, list[str]]:
    """MJCF without what a character has no use for, and the files it names, each as often as it does.

    An error where it is not MJCF or asks for more than a character needs. File names in the new text count from the
    folder the text lies in.
    """
    if len(text) > MAX_TEXT_BYTES:
        raise InputError(f"has more than {MAX_TEXT_BYTES} characters")
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise InputError("has a document type declaration; MJCF needs none")
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, UnicodeError) as error:
        raise InputError(f"is not well-formed XML: {error}") from None
    if root.tag != "mujoco":
        raise InputError(f"is not MJCF: its root element is <{root.tag}>, not <mujoco>")
    if sum(1 for _ in root.iter()) > MAX_ELEMENTS:
        raise InputError(f"has more than {MAX_ELEMENTS} elements")
    level, depth = [root], 1
    while level:
        if depth > MAX_DEPTH:
            raise InputError(f"has elements nested more than {MAX_DEPTH} deep")
        for element in level:
            element[:] = [child for child in element if child.tag not in _DROPPED and "hfield" not in child.attrib]
            _check_element(element)
        level, depth = [child for element in level for child in element], depth + 1
    _check_work(root)
    files = _files(root)
    return ElementTree.tostring(root, encoding="unicode"), files


def _check_element(element: ElementTree.Element) -> None:
    if element.tag in _FORBIDDEN:
        raise InputError(
            f"uses <{element.tag}>, which a character may not", hint="save the compiled model as plain MJCF first"
        )
    for attribute in _DROPPED_ATTRIBUTES:
        element.attrib.pop(attribute, None)
    for attribute, value in element.attrib.items():
        if attribute in _COUNTS and max(_sizes(element, attribute), default=0.0) > _COUNTS[attribute]:
            raise InputError(f"<{element.tag} {attribute}={value[:20]!r}> is more than {_COUNTS[attribute]}")
        if attribute not in ("name", "file", "class") and re.search(r"\b(nan|inf|infinity)\b", value, re.IGNORECASE):
            raise InputError(f"<{element.tag} {attribute}={value.strip()[:60]!r}> is not finite")


def _sizes(element: ElementTree.Element, attribute: str) -> list[float]:
    try:
        return [abs(float(number)) for number in element.get(attribute, "").split()]
    except ValueError:
        raise InputError(f"<{element.tag} {attribute}={element.get(attribute, '')[:60]!r}> is not a number") from None


def _check_work(root: ElementTree.Element) -> None:
    """An error where MuJoCo would compute for minutes."""
    joints = sum(1 for world in root.iterfind("worldbody") for _ in world.iter("joint"))
    if joints > MAX_JOINTS:
        raise InputError(f"has {joints} joints; at most {MAX_JOINTS} are simulated")
    if any(e.tag == "muscle" or "muscle" in (e.get("gaintype"), e.get("biastype")) for e in root.iter()):
        unknown = sum(1 for actuator in root.iterfind("actuator/*") if "lengthrange" not in actuator.attrib)
        if unknown * joints > MAX_MUSCLE_WORK:
            raise InputError(f"has {unknown} actuators without a lengthrange", hint="give the muscles theirs")
    finest = [max(_sizes(mesh, "params"), default=0.0) for mesh in root.iterfind("asset/mesh[@builtin]")]
    if sum(edges * edges for edges in finest) > MAX_BUILTIN_VERTICES:
        raise InputError("has builtin meshes that are too fine", hint="give them smaller params")


def _files(root: ElementTree.Element) -> list[str]:
    """The files that meshes come from; their folder, wherever <compiler> says it, becomes part of their names."""
    folder, bare = "", False
    for compiler in root.iterfind("compiler"):
        folder = compiler.get("meshdir", compiler.get("assetdir", folder))
        bare = compiler.get("strippath", "true" if bare else "false") == "true"
        for attribute in _FOLDERS:
            compiler.attrib.pop(attribute, None)
    files: list[str] = []
    for mesh in root.iterfind("asset/mesh[@file]"):
        file = mesh.get("file", "").replace("\\", "/")
        file = posixpath.normpath(posixpath.join(folder, posixpath.basename(file) if bare else file))
        mesh.set("file", file)
        files.append(file)
    return files
