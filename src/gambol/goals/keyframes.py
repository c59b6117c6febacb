"""Contact keyframes: which points of the body should meet which points of the world, in order, without timing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, cast

from pydantic import Field, field_validator, model_validator

from gambol.characters.blueprint import mirror_name, mirror_position
from gambol.errors import InputError, unknown_name
from gambol.goals.model import GoalModel, Name, Seconds, Vec2, Vec3
from gambol.goals.styles import STYLES, Weights
from gambol.scenes import Scene


class Pair(GoalModel):
    """A point on the body and the point it should meet."""

    body: Name
    """Body (or single solid, or movable object) that carries the point."""
    point: Vec3 = (0.0, 0.0, 0.0)
    """In the frame of ``body``, metres."""
    on: Name = "floor"
    """Frame of the target: the floor, an object, one of its solids, or another part of the body."""
    at: Vec3 = (0.0, 0.0, 0.0)
    """In the frame of ``on``, metres."""

    def mirrored(self) -> Pair:
        """Left and right exchanged, on both sides of the pair."""
        return Pair(
            body=_mirror_path(self.body),
            point=mirror_position(self.point),
            on=_mirror_path(self.on),
            at=mirror_position(self.at),
        )


class Keyframe(GoalModel):
    """A set of contacts to reach and hold, and how to carry oneself meanwhile."""

    name: Name = "keyframe"
    style: str = "free"
    weights: Weights = Weights()
    """The style's weights with the file's overrides applied."""
    pairs: Annotated[tuple[Pair, ...], Field(min_length=1, max_length=50)]
    tolerance: Annotated[float, Field(gt=0.0, le=5.0)] = 0.2
    """Metres: reached while the 2-norm of all pair distances is at most this."""
    sustain: Seconds = 0.3
    """Seconds it must stay reached."""
    limit: Annotated[float, Field(gt=0.0, le=3600.0)] = 5.0
    """Seconds after which it has failed."""
    facing: Vec2 | None = None
    """A point on the floor the torso should face."""

    @model_validator(mode="before")
    @classmethod
    def _style_then_overrides(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        data = cast("dict[str, Any]", given)
        style, weights = data.get("style", "free"), data.get("weights", {})
        if not isinstance(style, str) or style not in STYLES or not isinstance(weights, dict):
            return data
        return {**data, "weights": {**STYLES[style].model_dump(), **cast("dict[str, Any]", weights)}}

    @field_validator("style")
    @classmethod
    def _known(cls, style: str) -> str:
        if style not in STYLES:
            raise unknown_name("style", style, STYLES)
        return style

    @model_validator(mode="after")
    def _aims_at_a_point(self) -> Keyframe:
        if self.facing is not None and self.weights.facing == 0.0:
            raise ValueError("facing has no effect without a weight: needs weights.facing above 0")
        if self.facing is None and self.weights.facing > 0.0:
            raise ValueError("weights.facing has no effect without a point: needs facing")
        return self

    def mirrored(self) -> Keyframe:
        """Left and right exchanged."""
        return self.model_copy(
            update={
                "pairs": tuple(pair.mirrored() for pair in self.pairs),
                "weights": self.weights.mirrored(),
                "facing": None if self.facing is None else (self.facing[0], -self.facing[1]),
            }
        )

    def check_as_written(self) -> None:
        """It may not be told to hold for longer than there is time; ``--set`` may shorten that, to give up early."""
        if "sustain" in self.model_fields_set and self.sustain > self.limit:
            raise InputError(f"is longer than limit, {self.limit:g} s: it could only fail", key="sustain")

    def in_file(self) -> dict[str, Any]:
        """Plain data as a person would write it: what differs from the style and the defaults."""
        style = STYLES[self.style].model_dump()
        overrides = {k: v for k, v in self.weights.model_dump().items() if v != style[k]}
        plain = self.model_dump(mode="json", exclude_defaults=True, exclude={"weights", "style"})
        head = {"name": self.name, "style": self.style, **({"weights": overrides} if overrides else {})}
        return {**head, **{k: v for k, v in plain.items() if k != "name"}}


def _mirror_path(path: str) -> str:
    """A name whose last element changes sides: ``armchair/left_arm``, ``alice/right_hand``."""
    head, slash, tail = path.rpartition("/")
    return f"{head}{slash}{mirror_name(tail)}"


def concatenate(*sequences: Iterable[Keyframe]) -> tuple[Keyframe, ...]:
    """One sequence after another."""
    return tuple(keyframe for sequence in sequences for keyframe in sequence)


def reverse(keyframes: Sequence[Keyframe]) -> tuple[Keyframe, ...]:
    """The way back: the same contacts in the opposite order."""
    return tuple(reversed(keyframes))


def mirror(keyframes: Iterable[Keyframe]) -> tuple[Keyframe, ...]:
    """The same on the other side."""
    return tuple(keyframe.mirrored() for keyframe in keyframes)


def repeat(keyframes: Sequence[Keyframe], times: int) -> tuple[Keyframe, ...]:
    """The sequence a number of times."""
    if times < 1:
        raise InputError(f"must be at least 1 (given: {times})", key="times")
    return tuple(keyframes) * times


def check_against(keyframes: Sequence[Keyframe], scene: Scene) -> None:
    """An error that names the keyframe, the pair and the nearest names where one of them is not in the scene."""
    for number, keyframe in enumerate(keyframes):
        for index, pair in enumerate(keyframe.pairs):
            for key, name in (("body", pair.body), ("on", pair.on)):
                try:
                    scene.frame(name)
                except InputError as error:
                    raise error.within(key=f"keyframes.{number} ({keyframe.name}).pairs.{index}.{key}") from None
