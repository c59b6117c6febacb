"""What a scene object is: named solids on one body, placed on the ground, fixed or movable."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

import mujoco
import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from gambol.rotations import Array, from_axis_angle, multiply, rotate, to_matrix

Vec3 = tuple[float, float, float]
Length = Annotated[float, Field(gt=0.0, le=100.0)]
Angle = Annotated[float, Field(ge=-360.0, le=360.0)]
Coordinate = Annotated[float, Field(ge=-1000.0, le=1000.0)]


@dataclass(frozen=True)
class Solid:
    """One geom in its object's frame: ``size`` as MuJoCo counts it (half sizes; radius first), pitch in degrees."""

    name: str
    shape: str
    position: Vec3
    size: tuple[float, ...]
    pitch_deg: float = 0.0


@dataclass(frozen=True)
class Spot:
    """Where a character starts in a given pose: ground position in the object's frame and heading in degrees."""

    x: float
    y: float = 0.0
    yaw_deg: float = 0.0


class SceneObject(BaseModel, ABC):
    """Base of furniture, props and markers; subclasses add sizes and say which solids they consist of."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    kind: ClassVar[str]
    colour: ClassVar[tuple[float, float, float]] = (0.62, 0.50, 0.38)

    at: tuple[Coordinate, Coordinate] = (0.0, 0.0)
    """Ground position of the object's frame, metres."""
    yaw: Angle = 0.0
    """Heading, degrees counter-clockwise seen from above."""
    tilt: Angle = 0.0
    """Degrees the whole object leans backwards (its front, +x, rises)."""
    roll: Angle = 0.0
    """Degrees its left side (+y) rises."""
    friction: Annotated[float, Field(ge=0.0, le=10.0)] = 1.0
    """Sliding friction of its surfaces, whatever touches them."""

    def elevation(self) -> float:
        """Height of the object's frame above the ground, metres."""
        return 0.0

    @abstractmethod
    def solids(self) -> tuple[Solid, ...]:
        """The geoms, in the object's frame."""

    def spots(self) -> dict[str, Spot]:
        """Where characters start, by pose."""
        return {}

    def quat(self) -> Array:
        """How the object is turned in the world."""
        turn = from_axis_angle([0, 0, 1], np.deg2rad(self.yaw))
        lean = from_axis_angle([0, 1, 0], np.deg2rad(-self.tilt))
        return multiply(multiply(turn, lean), from_axis_angle([1, 0, 0], np.deg2rad(self.roll)))

    def spot_in_world(self, spot: Spot) -> tuple[float, float, float]:
        """Ground position and heading (degrees) of a spot."""
        turn = from_axis_angle([0, 0, 1], np.deg2rad(self.yaw))
        x, y = rotate(turn, [spot.x, spot.y, 0.0])[:2] + np.array(self.at)
        return float(x), float(y), self.yaw + spot.yaw_deg

    def mirrored(self) -> Self:
        """The object reflected in the world's x-z plane."""
        x, y = self.at
        return self.model_copy(update={"at": (x, -y), "yaw": -self.yaw, "roll": -self.roll})

    def add_to(self, spec: mujoco.MjSpec, name: str, ground: float) -> None:
        """Add this object's body ``name`` to a scene, on ground of that height."""
        body = spec.worldbody.add_body(name=name, pos=[*self.at, ground + self.elevation()], quat=self.quat())
        self._prepare(body, name)
        for solid in self.solids():
            body.add_geom(
                name=f"{name}/{solid.name}",
                type=getattr(mujoco.mjtGeom, f"mjGEOM_{solid.shape.upper()}"),
                pos=solid.position,
                size=[*solid.size, 0.0, 0.0][:3],
                quat=from_axis_angle([0, 1, 0], np.deg2rad(solid.pitch_deg)),
                rgba=[*self.colour, 1.0],
                **self._contact(),
            )

    def _prepare(self, body: mujoco.MjsBody, name: str) -> None:
        """Fixed objects need nothing more."""

    def _contact(self) -> dict[str, object]:
        # priority 1: this surface decides the friction, so that a slippery bench is slippery for everyone
        return {"friction": [self.friction, 0.005, 0.0001], "condim": 3, "priority": 1}


class Movable(SceneObject):
    """An object with mass that can be pushed, carried and thrown."""

    colour: ClassVar[tuple[float, float, float]] = (0.80, 0.36, 0.28)
    mass: Annotated[float, Field(gt=0.0, le=1000.0)] = 2.0
    """Kilograms, shared evenly among the solids."""
    lift: Annotated[float, Field(ge=0.0, le=100.0)] = 0.0
    """How far above the ground it starts, metres."""

    def elevation(self) -> float:
        """Resting on the lowest point of its solids as they are turned, plus the lift."""
        up = to_matrix(self.quat())[2]
        reach = {"sphere": lambda size: size[0], "box": lambda size: np.abs(up) @ size}
        return self.lift - float(min(up @ s.position - reach[s.shape](np.array(s.size)) for s in self.solids()))

    def _prepare(self, body: mujoco.MjsBody, name: str) -> None:
        body.add_freejoint(name=name)

    def _contact(self) -> dict[str, object]:
        # what it lies on decides how it slides
        return {**super()._contact(), "priority": 0, "mass": self.mass / len(self.solids())}
