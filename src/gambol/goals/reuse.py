"""Keyframes taken from other tasks: ``- use: armchair/sit-down`` in place of a keyframe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, cast

from pydantic import Field, ValidationError

from gambol.errors import InputError, unknown_name
from gambol.goals.keyframes import Keyframe, mirror, repeat, reverse
from gambol.goals.model import GoalModel, Name
from gambol.validation import explained


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


def expanded(items: Any, keyframes_of: Callable[[str], Sequence[Keyframe]]) -> Any:
    """A task file's list of keyframes with every ``use`` replaced by the keyframes it stands for, as plain data."""
    if not isinstance(items, list):
        return items
    plain: list[Any] = []
    for place, item in enumerate(cast("list[Any]", items)):
        if not (isinstance(item, dict) and "use" in item):
            plain.append(item)
            continue
        key = f"keyframes.{place}"
        try:
            wish = Reuse(**cast("dict[str, Any]", item))
            plain += [keyframe.in_file() for keyframe in wish.keyframes(keyframes_of(wish.use))]
        except ValidationError as error:
            raise explained(error).within(key=key) from None
        except InputError as error:
            raise error.within(key=key) from None
    return plain
