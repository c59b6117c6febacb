"""What all parts of a task file share: strict fields, finite numbers, readable ranges."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Vec2 = tuple[Annotated[float, Field(ge=-1000, le=1000)], Annotated[float, Field(ge=-1000, le=1000)]]
Vec3 = tuple[
    Annotated[float, Field(ge=-1000, le=1000)],
    Annotated[float, Field(ge=-1000, le=1000)],
    Annotated[float, Field(ge=-1000, le=1000)],
]
Seconds = Annotated[float, Field(ge=0.0, le=3600.0)]
Weight = Annotated[float, Field(ge=0.0, le=1e9)]


def _printable(text: str) -> str:
    if not text.replace("\n", " ").isprintable():
        raise ValueError("must consist of printable characters")
    return text


Text = Annotated[str, AfterValidator(_printable), Field(max_length=2000)]
Name = Annotated[str, AfterValidator(_printable), Field(min_length=1, max_length=200)]


def require_later(start: float, end: float | None) -> None:
    """An error where a stretch of time ends before anything can happen in it."""
    if end is not None and end <= start:
        raise ValueError(f"end {end:g} s is not after start {start:g} s")


class GoalModel(BaseModel):
    """Base of everything a person may wish for in a file: unknown keys are errors, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, validate_default=True)

    def check_as_written(self) -> None:
        """An error where what a file says makes no sense that an override may well make."""
