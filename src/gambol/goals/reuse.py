"""Shorter lists of keyframes and windows: what they share is said once, and those of other tasks can be used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, cast

from pydantic import Field, ValidationError

from gambol.errors import InputError, unknown_name
from gambol.goals.keyframes import Keyframe
from gambol.goals.model import GoalModel, Name
from gambol.goals.windows import Window
from gambol.validation import explained

Listed = Literal["keyframes", "windows"]
Entry = Keyframe | Window
KINDS: dict[Listed, tuple[str, str, type[Entry]]] = {
    "keyframes": ("each_keyframe", "keyframe", Keyframe),
    "windows": ("each_window", "window", Window),
}
"""For each kind of list in a task: the key under which stands what its entries share, what one is called, its type."""

SHARED_KEYS = tuple(shared for shared, _, _ in KINDS.values())


class Reuse(GoalModel):
    """The keyframes or windows of another task, all or some, as they are or changed."""

    use: Name
    """A shipped task or a task file, counted from the folder of the file that uses it."""
    only: Annotated[tuple[Name, ...], Field(min_length=1, max_length=1000)] | None = None
    """Names of the entries to take, in the other task's order; all by default."""
    mirror: bool = False
    """Left and right exchanged."""
    reverse: bool = False
    """In the opposite order."""
    repeat: Annotated[int, Field(ge=1, le=100)] = 1

    def taken(self, found: Sequence[Entry], word: str) -> list[Entry]:
        """What is taken from the entries of the task that is used."""
        known = [entry.name for entry in found]
        for name in self.only or ():
            if name not in known:
                raise unknown_name(word, name, known, key="only")
        entries = [entry for entry in found if self.only is None or entry.name in self.only]
        entries = [entry.mirrored() for entry in entries] if self.mirror else entries
        return (entries[::-1] if self.reverse else entries) * self.repeat


class Repetition(GoalModel):
    """How often an entry that is written once stands in the list."""

    repeat: Annotated[int, Field(ge=1, le=100)] = 1
    alternate: bool = False
    """Every second one with left and right exchanged; for windows."""

    def of(self, entry: dict[str, Any], listed: Listed) -> list[dict[str, Any]]:
        """The entries, numbered if they are several."""
        if self.alternate and "mirror" not in KINDS[listed][2].model_fields:
            raise InputError(f"{listed} cannot be mirrored one by one", key="alternate")
        # here, so that what is wrong is told once, and with the place it is written at
        checked = KINDS[listed][2](**entry)
        checked.check_as_written()
        if self.repeat == 1:
            if self.alternate:
                raise InputError("needs repeat: there is one of it", key="alternate")
            return [entry]
        name, mirror = entry.get("name", KINDS[listed][1]), getattr(checked, "mirror", False)
        sides = [{"mirror": mirror ^ bool(k % 2)} if self.alternate else {} for k in range(self.repeat)]
        return [{**entry, "name": f"{name} {k}", **side} for k, side in enumerate(sides, start=1)]


def expanded(data: dict[str, Any], entries_of: Callable[[str, Listed], Sequence[Entry]]) -> dict[str, Any]:
    """Task data in which every keyframe and window stands for itself.

    ``use`` is replaced by the entries it means, ``repeat`` by as many entries, and what ``each_keyframe`` or
    ``each_window`` says is put into all others that do not say it themselves; shared objectives are added to a window's
    own.
    """
    plain = {key: value for key, value in data.items() if key not in SHARED_KEYS}
    for listed in KINDS:
        shared, items = _shared(data, listed), plain.get(listed)
        if isinstance(items, list):
            plain[listed] = [
                entry
                for place, item in enumerate(cast("list[Any]", items))
                for entry in _meant(item, listed, place, shared, entries_of)
            ]
    return plain


def _shared(data: dict[str, Any], listed: Listed) -> dict[str, Any]:
    key, word, kind = KINDS[listed]
    shared = data.get(key, {})
    if not isinstance(shared, dict):
        raise InputError(f"must be a mapping of what {listed} share", key=key)
    if shared and listed not in data:
        raise InputError(f"there are no {listed}", key=key)
    fields = sorted(kind.model_fields)
    for given in cast("dict[Any, Any]", shared):
        if given not in fields:
            raise unknown_name(f"key of a {word}", str(given), fields, key=key)
    return cast("dict[str, Any]", shared)


def _meant(
    item: Any,
    listed: Listed,
    place: int,
    shared: dict[str, Any],
    entries_of: Callable[[str, Listed], Sequence[Entry]],
) -> list[Any]:
    """The entries, as plain data, that one in the list stands for; what is no mapping at all stays as it is."""
    if not isinstance(item, dict):
        return [item]
    given = cast("dict[str, Any]", item)
    reused = "use" in given
    try:
        if not reused:
            times = Repetition(**{key: given[key] for key in Repetition.model_fields if key in given})
            own = {key: value for key, value in given.items() if key not in Repetition.model_fields}
            return list[Any](times.of({**shared, **own, **_joined(shared, own)}, listed))
        wish = Reuse(**given)
        return [entry.in_file() for entry in wish.taken(entries_of(wish.use, listed), KINDS[listed][1])]
    except ValidationError as error:
        kind, known = (Reuse, ()) if reused else (KINDS[listed][2], Repetition.model_fields)
        raise explained(error, kind, key=f"{listed}.{place}", known=known) from None
    except InputError as error:
        # an error in the task that is used has a file and a key of its own
        raise error if error.file else error.within(key=f"{listed}.{place}") from None


def _joined(shared: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """What is put together where both say something: weights one by one, objectives one after the other."""
    joined: dict[str, Any] = {}
    weights, objectives = ((shared.get(key), given.get(key)) for key in ("weights", "objectives"))
    if isinstance(weights[0], dict) and isinstance(weights[1], dict):
        joined["weights"] = {**weights[0], **weights[1]}
    if isinstance(objectives[0], list) and isinstance(objectives[1], list):
        joined["objectives"] = [*objectives[1], *objectives[0]]
    return joined
