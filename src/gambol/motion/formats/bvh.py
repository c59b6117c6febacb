"""BVH: a character's motion for any animation tool, and any BVH rig as a simulated character in motion."""

from __future__ import annotations

from pathlib import Path

from gambol import files
from gambol.characters import Character, bvh
from gambol.characters.rig import from_skeleton
from gambol.errors import InputError
from gambol.motion.motion import Motion
from gambol.motion.skeletal import rig_motion, skeletal_clip


def read(
    path: str | Path,
    *,
    character: Character | None = None,
    mass: float | None = None,
    scale: str | float = "auto",
    up: str = "auto",
    forward: str = "auto",
    skip_first: bool = False,
    ground: bool = False,
) -> Motion:
    """The motion of a BVH file on a rig of its own, or on a given ``character`` with the same joints.

    ``mass`` of the rig in kilograms; ``scale``, ``up``, ``forward`` and ``skip_first`` as in
    :func:`gambol.characters.bvh.parse`; ``ground`` puts the body on the floor by its lowest solids.
    """
    path = Path(path)
    clip = bvh.load(path, scale=scale, up=up, forward=forward, skip_first=skip_first)
    try:
        character = character or from_skeleton(clip, name=path.stem, mass=mass)
        return rig_motion(clip, character, ground=ground, notes=f"read from {path.name}")
    except InputError as error:
        raise error.within(file=path) from None


def write(
    motion: Motion,
    path: str | Path,
    *,
    character: str | None = None,
    order: str = "ZXY",
    unit: float = 0.01,
    up: str = "+y",
    forward: str = "+z",
) -> None:
    """Write one character of a motion (by default the first); options as in :func:`gambol.characters.bvh.render`."""
    text = bvh.render(skeletal_clip(motion, character), order=order, unit=unit, up=up, forward=forward)
    with files.replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
