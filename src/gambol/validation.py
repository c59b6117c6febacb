"""Turning pydantic's findings into one clear line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from gambol.errors import InputError, unknown_name

MAX_SHOWN = 5
_PLAINLY = {
    "extra_forbidden": "unknown key",
    "missing": "is required",
    "too_short": "too few entries: at least {min_length} needed",
    "too_long": "too many entries: at most {max_length} allowed",
    "tuple_type": "should be a list",
    "list_type": "should be a list",
    "dict_type": "should be a mapping of keys to values",
    "model_type": "should be a mapping of keys to values",
}
"""What pydantic finds, by its names, in the words of those who write files."""


def explained(
    error: ValidationError, *, file: str | Path | None = None, key: str | None = None, known: Iterable[str] = ()
) -> InputError:
    """An input error that names the first wrong key, what it held and what is allowed, and lists the further ones.

    ``known`` are the keys allowed at the top, to suggest from when one is unknown.
    """
    findings = error.errors(include_url=False)
    # pydantic also complains about the list around a wrong entry: the entry alone says more
    places = [finding["loc"] for finding in findings]
    findings = [f for f in findings if not any(p != f["loc"] and p[: len(f["loc"])] == f["loc"] for p in places)]
    lines: list[tuple[str, str]] = []
    for finding in findings:
        path = ".".join(str(part) for part in (key, *finding["loc"]) if part is not None and part != "")
        held = repr(finding["input"])
        held = held if len(held) <= 60 else held[:57] + "…"
        told = _PLAINLY.get(finding["type"], "{msg}").format(msg=finding["msg"], **finding.get("ctx", {}))
        told = told.removeprefix("Value error, ")
        lines.append((path, told if finding["type"] in ("missing", "value_error") else f"{told} (given: {held})"))
    (first_key, first), rest = lines[0], lines[1:]
    if rest == [] and findings[0]["type"] == "extra_forbidden" and known:
        nearest = unknown_name("key", str(findings[0]["loc"][-1]), known)
        return InputError(first, file=file, key=first_key, hint=nearest.hint)
    more = [f"also {path}: {told}" for path, told in rest[: MAX_SHOWN - 1]]
    if len(rest) >= MAX_SHOWN:
        more.append(f"and {len(rest) - MAX_SHOWN + 1} more")
    return InputError(first, file=file, key=first_key or None, hint="\n  ".join(more) or None)
