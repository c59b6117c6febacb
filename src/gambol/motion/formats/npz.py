"""gambol's own format: a JSON header and plain arrays in one ``.npz``; the scene comes along, so files stand alone."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gambol.arrays import ArrayArchive, write_arrays
from gambol.errors import InputError
from gambol.files import MAX_TEXT_BYTES
from gambol.motion.contacts import Contacts
from gambol.motion.motion import Motion, Source, frozen, printable, widths
from gambol.scenes import Scene

KIND, VERSION = "gambol-motion", 1
_STATES = ("qpos", "qvel", "ctrl", "mocap")
_CONTACTS = ("frame", "geoms", "position", "depth", "force")
MAX_NUMBERS = 100_000_000
"""In one file: hours of a simulated character. A few kilobytes of an archive can unpack to more."""
_MAX_DEPTH, _MAX_ENTRIES = 8, 10_000


def write(motion: Motion, path: str | Path, *, dtype: str = "float64") -> None:
    """Write everything known about a motion; ``dtype="float32"`` halves the size."""
    header = {
        "format": KIND,
        "version": VERSION,
        "scene": motion.scene.describe(),
        "dt": float(motion.dt),
        "source": _described(motion.source),
    }
    arrays: dict[str, np.ndarray] = {}
    for name in _STATES:
        values = getattr(motion, name)
        if values is not None:
            arrays[name] = values.astype(dtype)
    if motion.contacts is not None:
        for name in _CONTACTS:
            values = getattr(motion.contacts, name)
            whole = np.issubdtype(values.dtype, np.integer)
            arrays[f"contact_{name}"] = values.astype(np.int32 if whole else np.float32)
    _require_room(arrays)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    for character in motion.scene.characters.values():
        for name, content in character.assets.items():
            arrays[f"asset:{name}"] = np.frombuffer(content, np.uint8)
    write_arrays(path, arrays)


def read(path: str | Path) -> Motion:
    """Read a motion; anything wrong is an :class:`InputError` that names the file and the key."""
    try:
        with ArrayArchive(path) as archive:
            header = _header(archive)
            prefix = "asset:"
            assets = {n.removeprefix(prefix): archive[n].tobytes() for n in archive.names if n.startswith(prefix)}
            scene = _scene(header, assets)
            arrays = _arrays(archive)
            if "qpos" not in arrays:
                raise InputError("is missing", key="qpos")
            frames = arrays["qpos"].shape[:1]
            states = {
                name: frozen(arrays.pop(name), (*frames, *width), key=name)
                for name, width in widths(scene.model).items()
                if name in arrays
            }
            contacts = None
            if "contact_frame" in arrays:
                contacts = Contacts(**{name: arrays[f"contact_{name}"] for name in _CONTACTS})
            return Motion(scene, _dt(header), contacts=contacts, source=_source(header), **states)
    except InputError as error:
        raise error.within(file=path) from None


def _header(archive: ArrayArchive) -> dict[str, Any]:
    if "header" not in archive:
        raise InputError("is not a gambol motion: it has no header")
    raw = archive["header"]
    if raw.nbytes > MAX_TEXT_BYTES:
        raise InputError(f"has {raw.nbytes} bytes; at most {MAX_TEXT_BYTES} are read", key="header")
    try:
        header = json.loads(raw.tobytes())
    except (ValueError, RecursionError, TypeError):
        raise InputError("is not a gambol motion: its header is not JSON") from None
    if not isinstance(header, dict) or header.get("format") != KIND:
        raise InputError("is not a gambol motion: its header is of another kind")
    if header.get("version") != VERSION:
        raise InputError(f"has version {header.get('version')!r}; this gambol reads {VERSION}", key="version")
    return header


def _mapping(header: dict[str, Any], key: str) -> dict[str, Any]:
    value = header.get(key)
    if not isinstance(value, dict):
        raise InputError("must be a mapping", key=key)
    return value


def _scene(header: dict[str, Any], assets: dict[str, bytes]) -> Scene:
    description = _mapping(header, "scene")
    try:
        json.dumps(description, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        raise InputError("holds half of a surrogate pair, or is too deep", key="scene") from None
    return Scene.from_description(description, assets)


def _dt(header: dict[str, Any]) -> float:
    value = header.get("dt")
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise InputError(f"must be a number of seconds (given: {value!r})", key="dt")
    return float(value)


def _arrays(archive: ArrayArchive) -> dict[str, np.ndarray]:
    """States and contacts as they are stored: converting them comes once they are known to fit the scene."""
    names = [name for name in _STATES if name in archive]
    if "contact_frame" in archive:
        names += [f"contact_{name}" for name in _CONTACTS]
    arrays: dict[str, np.ndarray] = {}
    for name in names:
        arrays[name] = archive[name]
        _require_room(arrays)
    return arrays


def _require_room(arrays: Mapping[str, np.ndarray]) -> None:
    held = sum(array.size for array in arrays.values())
    if held > MAX_NUMBERS:
        raise InputError(f"a file holds at most {MAX_NUMBERS} numbers (here: {held} or more)", key=", ".join(arrays))


def _source(header: dict[str, Any]) -> Source:
    given = _mapping(header, "source")
    kinds = {"method": str, "task": str, "seed": int, "versions": dict, "figures": dict, "notes": str}
    unknown = set(given) - set(kinds)
    if unknown:
        raise InputError(f"has unknown keys {reprlib.repr(sorted(unknown))}", key="source")
    for key, value in given.items():
        if value is not None and (not isinstance(value, kinds[key]) or isinstance(value, bool)):
            raise InputError(f"must be {kinds[key].__name__} (given: {reprlib.repr(value)})", key=f"source.{key}")
    _require_plain(given, "source")
    return Source(**{key: value for key, value in given.items() if value is not None})


def _described(source: Source) -> dict[str, Any]:
    """A source as the plain data that reading it will give."""

    def plain(value: Any) -> Any:
        if isinstance(value, np.ndarray | np.generic):
            return value.tolist()
        if isinstance(value, Mapping):
            return dict(value)
        raise InputError(f"cannot hold {type(value).__name__}: only numbers, text, lists and mappings", key="source")

    described = json.loads(json.dumps(vars(source), default=plain))
    _require_plain(described, "source")
    return described


def _require_plain(value: Any, key: str, depth: int = 0) -> None:
    """Only what every format and every terminal can show: text must be printable, lists and mappings small."""
    if isinstance(value, str):
        if printable(value) != value:
            raise InputError(f"holds characters that cannot be shown (given: {reprlib.repr(value)})", key=key)
    elif isinstance(value, dict | list):
        if depth == _MAX_DEPTH or len(value) > _MAX_ENTRIES:
            raise InputError(f"is deeper than {_MAX_DEPTH} levels or longer than {_MAX_ENTRIES} entries", key=key)
        for inner in value:
            _require_plain(inner, key, depth + 1)
            if isinstance(value, dict):
                _require_plain(value[inner], f"{key}.{inner}", depth + 1)
