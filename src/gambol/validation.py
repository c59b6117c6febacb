"""Turning pydantic's findings into one clear line."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from gambol.errors import InputError, unknown_name

MAX_SHOWN = 5
_PLAINLY = {
    "extra_forbidden": "unknown key",
    "missing": "is required",
    "too_short": "too few entries: at least {min_length} needed",
    "too_long": "too many entries: at most {max_length} allowed",
    "float_parsing": "should be a number",
    "float_type": "should be a number",
    "int_from_float": "should be a whole number",
    "int_parsing": "should be a whole number",
    "int_type": "should be a whole number",
    "tuple_type": "should be a list",
    "list_type": "should be a list",
    "dict_type": "should be a mapping of keys to values",
    "model_type": "should be a mapping of keys to values",
}
"""What pydantic finds, by its names, in the words of those who write files."""

_Path = tuple[int | str, ...]


def explained(
    error: ValidationError,
    model: type[BaseModel],
    *,
    file: str | Path | None = None,
    key: str | None = None,
    known: Iterable[str] = (),
) -> InputError:
    """An input error that names the first wrong key, what it held and what is allowed, and lists the further ones.

    ``model`` is what the values were meant for: its fields are the keys to suggest from when one is unknown, at the top
    together with ``known``.
    """
    findings = _fitting([_Finding.of(details, model, tuple(known)) for details in error.errors(include_url=False)])
    # pydantic also complains about the list around a wrong entry: the entry alone says more
    findings = [f for f in findings if not any(o.path != f.path and _begins(o.path, f.path) for o in findings)]
    by_path: dict[_Path, list[_Finding]] = {}
    for finding in findings:
        by_path.setdefault(finding.path, []).append(finding)
    keys = [".".join(str(part) for part in (key, *path) if part is not None and part != "") for path in by_path]
    (first, hint), *rest = [(_told(group), group[0].hint) for group in by_path.values()]
    more = [f"also {k}: {'; '.join(filter(None, line))}" for k, line in zip(keys[1:MAX_SHOWN], rest, strict=False)]
    if len(rest) >= MAX_SHOWN:
        more.append(f"and {len(rest) - MAX_SHOWN + 1} more")
    return InputError(first, file=file, key=keys[0] or None, hint="\n  ".join(filter(None, (hint, *more))) or None)


@dataclass(frozen=True, eq=False)
class _Finding:
    """One of pydantic's findings, and where that is in the file."""

    details: ErrorDetails
    path: _Path
    """The keys that lead there."""
    unions: tuple[int, ...]
    """Which steps of pydantic's own way are no keys, but say which member of a union was tried."""
    allowed: tuple[str, ...]
    """Keys that may stand where the last one of the path does."""

    @property
    def way(self) -> _Path:
        """Pydantic's own way to the value."""
        return self.details["loc"]

    @property
    def hint(self) -> str | None:
        """What may be meant by an unknown key."""
        if self.details["type"] != "extra_forbidden" or not self.allowed:
            return None
        return unknown_name("key", str(self.path[-1]), self.allowed).hint

    @staticmethod
    def of(details: ErrorDetails, model: type[BaseModel], known: tuple[str, ...]) -> _Finding:
        """A finding about values for a model."""
        kinds: list[Any] = [model]
        path: _Path = ()
        unions: tuple[int, ...] = ()
        allowed: tuple[str, ...] = ()
        at_union = False
        for place, step in enumerate(details["loc"]):
            if at_union:
                unions, at_union = (*unions, place), False
                continue
            allowed = (*(known if place == 0 else ()), *(name for kind in kinds for name in _keys(kind)))
            inside = [_members(annotation) for kind in kinds for annotation in _inside(kind, step)]
            kinds, at_union = [kind for members in inside for kind in members], any(len(each) > 1 for each in inside)
            path = (*path, step)
        return _Finding(details, path, unions, allowed)


def _keys(kind: Any) -> list[str]:
    """The keys that a mapping of a kind may have, where they are known."""
    return [name for name, field in kind.model_fields.items() if not field.exclude] if _is_model(kind) else []


def _inside(kind: Any, step: int | str) -> Sequence[Any]:
    """The annotation of what is at a key or place inside a value of a kind; nothing where that is not known."""
    if _is_model(kind):
        return [kind.model_fields[step].annotation] if step in kind.model_fields else []
    origin, arguments = get_origin(kind), get_args(kind)
    if not isinstance(origin, type) or not issubclass(origin, Collection):
        return []
    if issubclass(origin, Mapping):
        return arguments[1:]
    differ = origin is tuple and arguments[-1] is not Ellipsis
    return arguments[step : step + 1] if differ and isinstance(step, int) else arguments[:1]


def _members(annotation: Any) -> list[Any]:
    """What a value may be by its annotation, ``None`` aside: several kinds only where it is a union."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _members(arguments[0])
    if origin in (Union, UnionType):
        return [kind for member in arguments if member is not NoneType for kind in _members(member)]
    return [annotation]


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _begins(path: _Path, beginning: _Path) -> bool:
    return path[: len(beginning)] == beginning


def _fitting(findings: list[_Finding]) -> list[_Finding]:
    """Of each union the member alone that has the shape of what was given, if there is one."""
    unions = {finding.way[:place] for finding in findings for place in finding.unions}
    for union in sorted(unions, key=len, reverse=True):
        members: dict[int | str, list[_Finding]] = {}
        for finding in findings:
            if len(union) in finding.unions and _begins(finding.way, union):
                members.setdefault(finding.way[len(union)], []).append(finding)
        shaped = [found for found in members.values() if all(len(each.way) > len(union) + 1 for each in found)]
        if shaped:
            others = {each for found in members.values() for each in found} - set(min(shaped, key=len))
            findings = [finding for finding in findings if finding not in others]
    return findings


def _told(findings: Sequence[_Finding]) -> str:
    """What is wrong with one value, in words; of the members of a union any would do."""
    lines: list[str] = []
    for details in (finding.details for finding in findings):
        line = _PLAINLY.get(details["type"], "{msg}").format(msg=details["msg"], **details.get("ctx", {}))
        lines.append(line.removeprefix("Value error, "))
    first, *others = dict.fromkeys(lines)
    told = " or ".join([first, *(line.removeprefix("Input ").removeprefix("should be ") for line in others)])
    if all(finding.details["type"] in ("missing", "value_error") for finding in findings):
        return told
    held = repr(findings[0].details["input"])
    return f"{told} (given: {held if len(held) <= 60 else held[:57] + '…'})"
