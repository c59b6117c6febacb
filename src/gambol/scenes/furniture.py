"""Furniture with the published sizes, as parameters, and props to carry or throw.

``height`` is measured as the published scenes measure it (the table below says what lies at that height), so that their
variants are one number: an armchair of 0.12 is the short one, a table of 0.75 the tall one.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Self

from pydantic import Field

from gambol.scenes.objects import Length, Movable, SceneObject, Solid, Spot
from gambol.scenes.targets import Target

Height = Annotated[float, Field(gt=-1.0, le=10.0)]


class Armchair(SceneObject):
    """A deep chair with arms. Its frame is at ``height``; the seat's top lies 0.17 m higher."""

    kind: ClassVar[str] = "armchair"
    at: tuple[float, float] = (-0.35, 0.0)
    height: Height = 0.2

    def elevation(self) -> float:
        """As published: the frame sits at ``height``."""
        return self.height

    def solids(self) -> tuple[Solid, ...]:
        """Seat, base, back and arms."""
        return (
            Solid("seat", "box", (0.0, 0.0, 0.12), (0.25, 0.35, 0.05)),
            Solid("base", "box", (-0.12, 0.0, -0.05), (0.3, 0.35, 0.15)),
            Solid("back", "box", (-0.35, 0.0, 0.35), (0.05, 0.35, 0.3), pitch_deg=-20.5),
            Solid("left_arm", "box", (-0.12, 0.37, 0.1), (0.3, 0.05, 0.3)),
            Solid("right_arm", "box", (-0.12, -0.37, 0.1), (0.3, 0.05, 0.3)),
        )

    def spots(self) -> dict[str, Spot]:
        """On the seat, or standing in front of it."""
        return {"sitting": Spot(-0.06), "standing": Spot(0.37)}


class Stool(SceneObject):
    """A round seat; its top is at ``height``."""

    kind: ClassVar[str] = "stool"
    height: Length = 0.4
    radius: Length = 0.3

    def solids(self) -> tuple[Solid, ...]:
        """A seat whose frame follows the height, on a round base."""
        thickness = min(0.04, self.height)
        parts = (Solid("seat", "cylinder", (0, 0, self.height - thickness / 2), (self.radius, thickness / 2)),)
        rest = (self.height - thickness) / 2
        return parts + ((Solid("base", "cylinder", (0, 0, rest), (0.98 * self.radius, rest)),) if rest > 1e-3 else ())

    def spots(self) -> dict[str, Spot]:
        """In the middle, or standing in front of it."""
        return {"sitting": Spot(0.0), "standing": Spot(self.radius + 0.3)}


class Bench(SceneObject):
    """A long seat with back and arms. The seat's middle is at ``height``, its top 0.05 m higher."""

    kind: ClassVar[str] = "bench"
    at: tuple[float, float] = (-0.35, 0.0)
    height: Height = 0.25
    length: Length = 1.8
    friction: Annotated[float, Field(ge=0.0, le=10.0)] = 0.7

    def elevation(self) -> float:
        """The frame of the default bench is on the floor."""
        return self.height - 0.25

    def solids(self) -> tuple[Solid, ...]:
        """Seat, back and arms; back and arms reach the floor."""
        floor, half = 0.25 - self.height, self.length / 2

        def upright(name: str, x: float, y: float, top: float, across: tuple[float, float]) -> Solid:
            return Solid(name, "box", (x, y, (floor + top) / 2), (*across, (top - floor) / 2))

        return (
            Solid("seat", "box", (0.0, 0.0, 0.25), (0.25, half, 0.05)),
            upright("back", -0.3, 0.0, 0.7, (0.05, half + 0.1)),
            upright("left_arm", 0.0, half + 0.05, 0.4, (0.25, 0.05)),
            upright("right_arm", 0.0, -half - 0.05, 0.4, (0.25, 0.05)),
        )

    def spots(self) -> dict[str, Spot]:
        """In the middle of the seat, or standing in front of it."""
        return {"sitting": Spot(-0.05), "standing": Spot(0.4)}


class Bed(SceneObject):
    """A mattress without back or arms, its front edge where a bench has its own. The top is 0.05 m above ``height``."""

    kind: ClassVar[str] = "bed"
    at: tuple[float, float] = (-0.35, 0.0)
    height: Height = 0.25
    length: Length = 1.8
    width: Length = 1.0

    def elevation(self) -> float:
        """The frame of the default bed is on the floor."""
        return self.height - 0.25

    def solids(self) -> tuple[Solid, ...]:
        """Mattress and base."""
        x, low = 0.25 - self.width / 2, 0.25 - self.height
        base = Solid(
            "base", "box", (x, 0.0, (low + 0.2) / 2), (self.width / 2 - 0.03, self.length / 2 - 0.03, (0.2 - low) / 2)
        )
        return (
            Solid("mattress", "box", (x, 0.0, 0.25), (self.width / 2, self.length / 2, 0.05)),
            *((base,) if 0.2 - low > 2e-3 else ()),
        )

    def spots(self) -> dict[str, Spot]:
        """On the edge, standing in front, or lying along the bed."""
        x = 0.25 - self.width / 2
        return {
            "sitting": Spot(0.05),
            "standing": Spot(0.4),
            "supine": Spot(x, yaw_deg=90.0),
            "prone": Spot(x, yaw_deg=90.0),
        }


class Table(SceneObject):
    """A table to climb. Its top is 0.15 m above ``height`` (the published measure: 0.55, short 0.35, tall 0.75)."""

    kind: ClassVar[str] = "table"
    at: tuple[float, float] = (0.5, 0.0)
    height: Height = 0.55

    def elevation(self) -> float:
        """The published frame is half a metre below ``height``."""
        return self.height - 0.5

    def solids(self) -> tuple[Solid, ...]:
        """Top and four legs down to the floor."""
        floor = 0.5 - self.height
        legs = tuple(
            Solid(f"{end}_{side}_leg", "box", (x, y, (floor + 0.55) / 2), (0.03, 0.03, (0.55 - floor) / 2))
            for end, x in (("front", -0.2), ("back", 0.2))
            for side, y in (("right", -0.4), ("left", 0.4))
        )
        return (Solid("top", "box", (0.0, 0.0, 0.6), (0.35, 0.55, 0.05)), *legs)

    def spots(self) -> dict[str, Spot]:
        """Facing it."""
        return {"standing": Spot(-0.5)}


class Box(SceneObject):
    """A block standing on the floor; ``height`` is its top. Low ones are steps, high ones obstacles."""

    kind: ClassVar[str] = "box"
    at: tuple[float, float] = (1.2, 0.0)
    height: Length = 0.6
    length: Length = 1.2
    width: Length = 1.6

    def solids(self) -> tuple[Solid, ...]:
        """The block."""
        return (Solid("block", "box", (0, 0, self.height / 2), (self.length / 2, self.width / 2, self.height / 2)),)

    def spots(self) -> dict[str, Spot]:
        """Facing it."""
        return {"standing": Spot(-self.length / 2 - 0.5)}


class Wall(SceneObject):
    """An upright slab across the way."""

    kind: ClassVar[str] = "wall"
    at: tuple[float, float] = (0.7, 0.0)
    height: Length = 2.0
    width: Length = 2.0
    thickness: Length = 0.2

    def solids(self) -> tuple[Solid, ...]:
        """The slab."""
        return (Solid("slab", "box", (0, 0, self.height / 2), (self.thickness / 2, self.width / 2, self.height / 2)),)

    def spots(self) -> dict[str, Spot]:
        """Facing it."""
        return {"standing": Spot(-self.thickness / 2 - 0.6)}


class ClimbingWall(SceneObject):
    """A block with three ledges in front of it."""

    kind: ClassVar[str] = "climbing-wall"
    at: tuple[float, float] = (1.3, 0.0)
    height: Length = 2.0
    flipped: bool = False
    """The ledges with left and right exchanged."""

    def solids(self) -> tuple[Solid, ...]:
        """The block and its ledges, which keep their share of the height."""
        middle = self.height / 2
        ledges = ((-0.8, 0.0, 0.2, 1.0), (-0.7, 0.6, 0.7, 0.3), (-0.7, -0.7, 1.1, 0.3))
        side = -1.0 if self.flipped else 1.0
        return (
            Solid("block", "box", (0, 0, middle), (0.5, 1.0, middle)),
            *(
                Solid(f"ledge_{k}", "box", (x, side * y, z * middle), (0.3, half, 0.1))
                for k, (x, y, z, half) in enumerate(ledges, start=1)
            ),
        )

    def spots(self) -> dict[str, Spot]:
        """Facing it."""
        return {"standing": Spot(-1.6)}

    def mirrored(self) -> Self:
        """The ledges change sides too."""
        return super().mirrored().model_copy(update={"flipped": not self.flipped})


class Ball(Movable):
    """A ball to carry, kick or throw."""

    kind: ClassVar[str] = "ball"
    radius: Length = 0.12

    def solids(self) -> tuple[Solid, ...]:
        """The ball."""
        return (Solid("ball", "sphere", (0, 0, 0), (self.radius,)),)


class Crate(Movable):
    """A box to carry or push; sizes are full lengths."""

    kind: ClassVar[str] = "crate"
    size: tuple[Length, Length, Length] = (0.3, 0.4, 0.3)

    def solids(self) -> tuple[Solid, ...]:
        """The crate."""
        x, y, z = self.size
        return (Solid("crate", "box", (0, 0, 0), (x / 2, y / 2, z / 2)),)


class Stick(Movable):
    """A bar lying along y."""

    kind: ClassVar[str] = "stick"
    length: Length = 1.0
    radius: Length = 0.02
    mass: Annotated[float, Field(gt=0.0, le=1000.0)] = 0.5

    def solids(self) -> tuple[Solid, ...]:
        """A slim box: it does not roll away."""
        return (Solid("stick", "box", (0, 0, 0), (self.radius, self.length / 2, self.radius)),)


KINDS: dict[str, type[SceneObject]] = {
    each.kind: each
    for each in (Armchair, Stool, Bench, Bed, Table, Box, Wall, ClimbingWall, Ball, Crate, Stick, Target)
}
"""Every kind of object a scene file may name."""
