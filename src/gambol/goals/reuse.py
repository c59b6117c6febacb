"""Shorter lists of keyframes: what they share is said once, and other tasks' keyframes can be used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, cast

from pydantic import Field, ValidationError

from gambol.errors import InputError, unknown_name
from gambol.goals.keyframes import Keyframe, mirror, repeat, reverse
from gambol.goals.model import GoalModel, Name
from gambol.validation import explained

SHARED = "each_keyframe"
"""The key of a task file under which stands what its keyframes share."""


class Reuse(GoalModel):
    """The keyframes of another task, all or some, as they are or changed."""

    use: Name
    """A shipped task or a task file, counted from the folder of the file that uses it."""
    only: Annotated[tuple[Name, ...], Field(min_length=1, max_length=1000)] | None = None
    """Names of the keyframes to take, in the other task's order; all by default."""
    mirror: bool = False
    """Left and right exchanged."""
    reverse: bool = False
    """In the opposite order."""
    repeat: Annotated[int, Field(ge=1, le=100)] = 1

    def keyframes(self, found: Sequence[Keyframe]) -> tuple[Keyframe, ...]:
        """What is taken from the keyframes of the task that is used."""
        known = [keyframe.name for keyframe in found]
        for name in self.only or ():
            if name not in known:
                raise unknown_name("keyframe", name, known, key="only")
        taken = tuple(keyframe for keyframe in found if self.only is None or keyframe.name in self.only)
        taken = mirror(taken) if self.mirror else taken
        return repeat(reverse(taken) if self.reverse else taken, self.repeat)


def expanded(data: dict[str, Any], keyframes_of: Callable[[str], Sequence[Keyframe]]) -> dict[str, Any]:
    """Task data in which every keyframe stands for itself: ``use`` replaced by the keyframes it means, and what
    ``each_keyframe`` says put into all others that do not say it themselves.
    """
    shared, plain = _shared(data), {key: value for key, value in data.items() if key != SHARED}
    items = plain.get("keyframes")
    if isinstance(items, list):
        plain["keyframes"] = [
            keyframe
            for place, item in enumerate(cast("list[Any]", items))
            for keyframe in _meant(item, f"keyframes.{place}", shared, keyframes_of)
        ]
    return plain


def _shared(data: dict[str, Any]) -> dict[str, Any]:
    shared = data.get(SHARED, {})
    if not isinstance(shared, dict):
        raise InputError("must be a mapping of what keyframes share", key=SHARED)
    if shared and "keyframes" not in data:
        raise InputError("there are no keyframes", key=SHARED)
    fields = sorted(Keyframe.model_fields)
    for key in cast("dict[Any, Any]", shared):
        if key not in fields:
            raise unknown_name("key of a keyframe", str(key), fields, key=SHARED)
    return cast("dict[str, Any]", shared)


def _meant(item: Any, key: str, shared: dict[str, Any], keyframes_of: Callable[[str], Sequence[Keyframe]]) -> list[Any]:
    """The keyframes, as plain data, that an entry of the list stands for; what is no keyframe at all stays as it is."""
    if not isinstance(item, dict):
        return [item]
    given = cast("dict[str, Any]", item)
    if "use" not in given:
        item = {**shared, **given}
        if isinstance(shared.get("weights"), dict) and isinstance(given.get("weights"), dict):
            item["weights"] = {**shared["weights"], **given["weights"]}
        return [item]
    try:
        wish = Reuse(**given)
        return [keyframe.in_file() for keyframe in wish.keyframes(keyframes_of(wish.use))]
    except ValidationError as error:
        raise explained(error).within(key=key) from None
    except InputError as error:
        raise error.within(key=key) from None
