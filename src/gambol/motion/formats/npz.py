"""gambol's own format: a JSON header and plain arrays in one ``.npz``; the scene comes along, so files stand alone."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from gambol.arrays import ArrayArchive, write_arrays
from gambol.errors import InputError
from gambol.motion.contacts import Contacts
from gambol.motion.motion import Motion, Source
from gambol.scenes import Scene

KIND, VERSION = "gambol-motion", 1
_STATES = ("qpos", "qvel", "ctrl", "mocap")
_CONTACTS = ("frame", "geoms", "position", "depth", "force")


def write(motion: Motion, path: str | Path, *, dtype: str = "float64") -> None:
    """Write everything known about a motion; ``dtype="float32"`` halves the size."""
    header = {
        "format": KIND,
        "version": VERSION,
        "scene": motion.scene.describe(),
        "dt": motion.dt,
        "source": asdict(motion.source),
    }
    arrays: dict[str, np.ndarray] = {"header": np.frombuffer(json.dumps(header).encode(), np.uint8)}
    for name in _STATES:
        values = getattr(motion, name)
        if values is not None:
            arrays[name] = values.astype(dtype)
    if motion.contacts is not None:
        for name in _CONTACTS:
            values = getattr(motion.contacts, name)
            whole = np.issubdtype(values.dtype, np.integer)
            arrays[f"contact_{name}"] = values.astype(np.int32 if whole else np.float32)
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
            scene = Scene.from_description(_mapping(header, "scene"), assets)
            states = {name: _numbers(archive, name) for name in _STATES if name in archive}
            if "qpos" not in states:
                raise InputError("is missing", key="qpos")
            frames = len(states["qpos"])
            return Motion(
                scene, _dt(header), contacts=_contacts(archive, frames, scene), source=_source(header), **states
            )
    except InputError as error:
        raise error.within(file=path) from None


def _header(archive: ArrayArchive) -> dict[str, Any]:
    if "header" not in archive:
        raise InputError("is not a gambol motion: it has no header")
    raw = archive["header"]
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


def _dt(header: dict[str, Any]) -> float:
    value = header.get("dt")
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise InputError(f"must be a number of seconds (given: {value!r})", key="dt")
    return float(value)


def _numbers(archive: ArrayArchive, name: str) -> np.ndarray:
    values = archive[name]
    if values.dtype.kind not in "fiu" or values.ndim < 1:
        raise InputError(f"must be an array of numbers, not {values.dtype} of shape {values.shape}", key=name)
    return values.astype(float)


def _source(header: dict[str, Any]) -> Source:
    given = _mapping(header, "source")
    kinds = {"method": str, "task": str, "seed": int, "versions": dict, "figures": dict, "notes": str}
    unknown = set(given) - set(kinds)
    if unknown:
        raise InputError(f"has unknown keys {', '.join(sorted(map(str, unknown)))}", key="source")
    for key, value in given.items():
        if value is not None and not isinstance(value, kinds[key]):
            raise InputError(f"must be {kinds[key].__name__} (given: {value!r})", key=f"source.{key}")
    return Source(**{key: value for key, value in given.items() if value is not None})


def _contacts(archive: ArrayArchive, frames: int, scene: Scene) -> Contacts | None:
    if "contact_frame" not in archive:
        return None
    frame, geoms, position, depth, force = (_numbers(archive, f"contact_{name}") for name in _CONTACTS)
    rows = len(frame)
    shapes = {"frame": (rows,), "geoms": (rows, 2), "position": (rows, 3), "depth": (rows,), "force": (rows, 3)}
    for name, values in zip(_CONTACTS, (frame, geoms, position, depth, force), strict=True):
        if values.shape != shapes[name] or not np.isfinite(values).all():
            raise InputError(f"must hold finite numbers of shape {shapes[name]}", key=f"contact_{name}")
    if rows and (frame.min() < 0 or frame.max() >= frames or (np.diff(frame) < 0).any()):
        raise InputError(f"must be ascending frames below {frames}", key="contact_frame")
    if rows and (geoms.min() < 0 or geoms.max() >= scene.model.ngeom):
        raise InputError(f"must be solids of the scene, below {scene.model.ngeom}", key="contact_geoms")
    return Contacts(frame.astype(int), geoms.astype(int), position, depth, force)
