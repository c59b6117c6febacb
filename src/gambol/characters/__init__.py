"""Bodies: parametric humanoids, a biped, a quadruped, any BVH skeleton, any MJCF with a free root."""

from __future__ import annotations

from gambol.characters.athlete import athlete
from gambol.characters.character import Character, Patch, Point, Pose
from gambol.characters.creatures import quadruped, wide_biped
from gambol.characters.humanoid import humanoid
from gambol.characters.mjcf import from_mjcf
from gambol.characters.registry import NAMES, build, describe
from gambol.characters.rig import from_skeleton, mocap_humanoid
from gambol.characters.symmetry import Symmetry

__all__ = [
    "NAMES",
    "Character",
    "Patch",
    "Point",
    "Pose",
    "Symmetry",
    "athlete",
    "build",
    "describe",
    "from_mjcf",
    "from_skeleton",
    "humanoid",
    "mocap_humanoid",
    "quadruped",
    "wide_biped",
]
