"""When a task has succeeded, in numbers that can be measured on any motion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import field_validator, model_validator

from gambol.errors import InputError
from gambol.goals.model import GoalModel, Name
from gambol.motion import Motion
from gambol.motion.metrics.feats import FEATS
from gambol.motion.metrics.metric import CannotMeasureError, DidNotHappenError
from gambol.motion.metrics.subject import Subject


class Criterion(GoalModel):
    """A feat and the range it must lie in."""

    feat: Name
    of: Name | None = None
    """The character that it is about; the first one unless told otherwise."""
    at_least: float | None = None
    at_most: float | None = None

    @field_validator("feat")
    @classmethod
    def _known(cls, feat: str) -> str:
        if feat not in FEATS:
            raise ValueError(f"no feat named {feat!r}; known: {', '.join(FEATS)}")
        return feat

    @model_validator(mode="after")
    def _bounded(self) -> Criterion:
        if self.at_least is None and self.at_most is None:
            raise ValueError("needs at_least, at_most or both")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ValueError(f"at_least {self.at_least:g} is more than at_most {self.at_most:g}")
        return self

    def holds(self, value: float | None) -> bool:
        """Whether a measured value lies in the range; what could not be measured does not."""
        if value is None:
            return False
        return (self.at_least is None or value >= self.at_least) and (self.at_most is None or value <= self.at_most)

    def overlaps(self, other: Criterion) -> bool:
        """Whether a value may lie in the ranges of both."""
        lows = [bound for bound in (self.at_least, other.at_least) if bound is not None]
        highs = [bound for bound in (self.at_most, other.at_most) if bound is not None]
        return not lows or not highs or max(lows) <= min(highs)

    @property
    def name(self) -> str:
        """The feat, with the character where one is named."""
        return f"{self.of}/{self.feat}" if self.of else self.feat

    def told(self) -> str:
        """The range in words."""
        bounds = (("at least", self.at_least), ("at most", self.at_most))
        return " and ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)


def refuse_impossible(criteria: Sequence[Criterion], start: Motion) -> None:
    """An error where no motion could meet the criteria in the scene that ``start`` shows at rest."""
    for i, criterion in enumerate(criteria):
        for other in criteria[:i]:
            if criterion.name == other.name and not criterion.overlaps(other):
                problem = f"{criterion.name} cannot be {other.told()} and {criterion.told()}"
                raise InputError(problem, key=f"success.{i}")
        try:
            FEATS[criterion.feat].read(Subject(start, criterion.of or start.scene.main_character))
        except DidNotHappenError:
            continue
        except CannotMeasureError as error:
            raise InputError(f"{criterion.name} cannot be measured: {error}", key=f"success.{i}.feat") from None


def judged(criteria: Sequence[Criterion], motion: Motion) -> tuple[dict[str, Any], str]:
    """The feats that criteria speak of, measured, and what is wrong with them in words (empty if nothing is)."""
    main = motion.scene.main_character
    names = dict.fromkeys(criterion.of or main for criterion in criteria)
    subjects = {name: Subject(motion, name) for name in names}
    found = {criterion.name: FEATS[criterion.feat](subjects[criterion.of or main]) for criterion in criteria}
    missed = [
        f"{criterion.name} is {found[criterion.name].value:.3g} {found[criterion.name].unit}, not {criterion.told()}"
        if found[criterion.name].value is not None
        else f"{criterion.name} cannot be measured: {found[criterion.name].reason}"
        for criterion in criteria
        if not criterion.holds(found[criterion.name].value)
    ]
    values = {name: None if each.value is None else round(each.value, 4) for name, each in found.items()}
    return values, "; ".join(missed)
