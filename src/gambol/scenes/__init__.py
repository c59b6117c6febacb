"""Furniture, props and terrain, composed with characters into one MuJoCo model."""

from __future__ import annotations

from gambol.scenes.furniture import KINDS
from gambol.scenes.objects import SceneObject, Solid, Spot
from gambol.scenes.parsing import parse_objects
from gambol.scenes.placement import Placement, place
from gambol.scenes.scene import Frame, Scene
from gambol.scenes.targets import Target, Waypoint
from gambol.scenes.terrain import Terrain

__all__ = [
    "KINDS",
    "Frame",
    "Placement",
    "Scene",
    "SceneObject",
    "Solid",
    "Spot",
    "Target",
    "Terrain",
    "Waypoint",
    "parse_objects",
    "place",
]
