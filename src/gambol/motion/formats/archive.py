"""Archives of motion capture: many clips of one set of joints in one ``.npz``, each with its subject's own proportions.

For all clips ``joint_names``, ``parents`` and ``fps``; for each ``<clip>/root`` (T, 3) metres, ``<clip>/quat``
(T, J, 4) local rotations xyzw (16-bit integers over 32767, or floats) and ``<clip>/offset`` (J, 3) metres. Y up, Z
forward.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gambol.arrays import ArrayArchive
from gambol.characters import Character
from gambol.characters.rig import from_skeleton
from gambol.characters.skeleton import Skeleton, SkeletonClip, axes_turn
from gambol.errors import InputError, unknown_name
from gambol.motion.motion import Motion
from gambol.motion.skeletal import rig_motion

_TRACKS = ("root", "quat", "offset")
_USUAL_FPS = 30.0


def clips(path: str | Path) -> tuple[str, ...]:
    """The names of all clips of an archive."""
    with ArrayArchive(path) as archive:
        return _clip_names(archive)


def read(path: str | Path, clip: str, *, character: Character | None = None, ground: bool = False) -> Motion:
    """One clip on a rig with its subject's proportions, or on a given ``character`` with the same joints.

    ``ground`` puts the body on the floor by its lowest solids: captured floors are not always at height zero.
    """
    moving = load(path, clip)
    try:
        character = character or from_skeleton(moving, name="mocap", weld=False)
        return rig_motion(moving, character, ground=ground, notes=f"clip {clip} of {Path(path).name}")
    except InputError as error:
        raise error.within(file=path, key=clip) from None


def load(path: str | Path, clip: str) -> SkeletonClip:
    """One clip as a skeleton in motion, Z up and X forward."""
    with ArrayArchive(path) as archive:
        names = _clip_names(archive)
        if clip not in names:
            raise unknown_name("clip", clip, names, file=path)
        root, quats, offsets = (archive[f"{clip}/{track}"] for track in _TRACKS)
        joints, parents = archive["joint_names"], archive["parents"]
        fps = archive["fps"] if "fps" in archive else np.array(_USUAL_FPS)
    try:
        dt = 1.0 / _number(fps, "fps")
        scale = 32767.0 if np.issubdtype(quats.dtype, np.integer) else 1.0
        if quats.ndim != 3 or quats.shape[2] != 4 or quats.dtype.kind not in "fiu":
            raise InputError(
                f"has shape {quats.shape} of {quats.dtype}, expected numbers (frames, joints, 4)", key="quat"
            )
        if joints.ndim != 1 or joints.dtype.kind != "U":
            raise InputError("is not a list of names", key="joint_names")
        if parents.ndim != 1 or not np.issubdtype(parents.dtype, np.integer):
            raise InputError("is not a list of whole numbers", key="parents")
        skeleton = Skeleton(tuple(str(name) for name in joints), tuple(parents.tolist()), offsets)
        found = SkeletonClip(skeleton, dt, root, quats[..., [3, 0, 1, 2]] / scale)
    except InputError as error:
        raise error.within(file=path, key=clip) from None
    return found.turned(axes_turn("+y", "+z"))


def _clip_names(archive: ArrayArchive) -> tuple[str, ...]:
    found = [name.removesuffix("/root") for name in archive.names if name.endswith("/root")]
    names = tuple(name for name in found if all(f"{name}/{track}" in archive for track in _TRACKS))
    if not names or "joint_names" not in archive or "parents" not in archive:
        raise InputError(
            "is not an archive of motion capture",
            file=archive.path,
            hint="it has joint_names, parents and <clip>/root …",
        )
    return names


def _number(values: np.ndarray, key: str) -> float:
    if values.size != 1 or not np.issubdtype(values.dtype, np.number):
        raise InputError("is not a number", key=key)
    value = float(values.reshape(-1)[0])
    if not (np.isfinite(value) and 0.1 <= value <= 10_000):
        raise InputError(f"is not between 0.1 and 10000 (given: {value})", key=key)
    return value
