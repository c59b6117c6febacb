"""Bodies: parametric humanoids, a biped, a quadruped, any BVH skeleton, any MJCF with a free root."""

from __future__ import annotations

from gambol.characters.character import Character, Patch, Point, Pose
from gambol.characters.registry import NAMES, build, describe
from gambol.characters.symmetry import Symmetry

__all__ = ["NAMES", "Character", "Patch", "Point", "Pose", "Symmetry", "build", "describe"]
