"""Markers to reach for, which stay, follow a path of their own, or are moved from outside."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Annotated, ClassVar, Self

import mujoco
import numpy as np
from pydantic import BaseModel, ConfigDict, Field, field_validator

from gambol.rotations import Array
from gambol.scenes.objects import Coordinate, Length, SceneObject, Solid

Height = Annotated[float, Field(ge=0.0, le=100.0)]


class Waypoint(BaseModel):
    """Where a target is at a time."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    time: Annotated[float, Field(ge=0.0, le=3600.0)]
    """Seconds after the start."""
    at: tuple[Coordinate, Coordinate]
    """Ground position, metres."""
    height: Height | None = None
    """Metres above the ground there; by default the target's own."""


class Target(SceneObject):
    """A marker to reach for: nothing collides with it, and it may move."""

    kind: ClassVar[str] = "target"
    colour: ClassVar[tuple[float, float, float]] = (0.95, 0.75, 0.20)
    height: Height = 0.8
    size: tuple[Length, Length, Length] = (0.02, 0.2, 0.2)
    path: Annotated[tuple[Waypoint, ...], Field(max_length=1000)] = ()
    """Where it goes from its place: straight from waypoint to waypoint, and there it stays at the last."""

    @field_validator("path")
    @classmethod
    def _times_rise(cls, path: tuple[Waypoint, ...]) -> tuple[Waypoint, ...]:
        for number, (before, after) in enumerate(pairwise(path), start=1):
            if after.time <= before.time:
                raise ValueError(f"times must rise: waypoint {number} ({after.time} s) comes after {before.time} s")
        return path

    def elevation(self) -> float:
        """The marker's middle is at ``height``."""
        return self.height

    def solids(self) -> tuple[Solid, ...]:
        """The marker."""
        x, y, z = self.size
        return (Solid("marker", "box", (0, 0, 0), (x / 2, y / 2, z / 2)),)

    def mirrored(self) -> Self:
        """Its path changes sides too."""
        path = tuple(point.model_copy(update={"at": (point.at[0], -point.at[1])}) for point in self.path)
        return super().mirrored().model_copy(update={"path": path})

    def route(self, ground: Callable[[float, float], float]) -> tuple[Array, Array]:
        """Times (W,) and the world positions (W, 3) it has then, on ground of that height; its own place first."""
        points = self.path
        if not points or points[0].time > 0.0:
            points = (Waypoint(time=0.0, at=self.at), *points)
        places = [
            (*point.at, ground(*point.at) + (self.height if point.height is None else point.height)) for point in points
        ]
        return np.array([point.time for point in points]), np.array(places)

    def _prepare(self, body: mujoco.MjsBody, name: str) -> None:
        body.mocap = True

    def _contact(self) -> dict[str, object]:
        return {"contype": 0, "conaffinity": 0}
