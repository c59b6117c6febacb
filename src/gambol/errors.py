"""The two ways things go wrong, as types.

Wrong input raises an :class:`InputError` that names the file, the key and what is allowed. A method that runs and does
not succeed raises nothing: it returns a result whose status says so, with advice.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path


class GambolError(Exception):
    """Base class of everything gambol raises on purpose."""


class InputError(GambolError, ValueError):
    """Something the user gave is wrong: a file, a key, a name or a number."""

    def __init__(
        self, problem: str, *, file: str | Path | None = None, key: str | None = None, hint: str | None = None
    ):
        self.problem, self.file, self.key, self.hint = problem, file, key, hint
        where = ": ".join(str(part) for part in (file, key) if part)
        message = f"{where}: {problem}" if where else problem
        super().__init__(f"{message}\n  {hint}" if hint else message)

    def within(self, *, file: str | Path | None = None, key: str | None = None, hint: str | None = None) -> InputError:
        """The same error, told with the file, the key or the further hint that only the caller knows."""
        joined = f"{key}.{self.key}" if key and self.key else key or self.key
        hints = "\n  ".join(each for each in (self.hint, hint) if each)
        return type(self)(self.problem, file=self.file or file, key=joined, hint=hints or None)


class MissingExtraError(InputError):
    """An optional dependency is needed and not installed."""

    def __init__(self, what: str, extra: str):
        super().__init__(f"{what} is not installed", hint=f'install it with: pip install "gambol[{extra}]"')
        self.extra = extra

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return type(self), (self.problem.removesuffix(" is not installed"), self.extra)


def unknown_name(
    kind: str, name: str, known: Iterable[str], *, file: str | Path | None = None, key: str | None = None
) -> InputError:
    """An error for a name that is not there, listing the names that are, the closest first."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if close:
        hint = f"did you mean {' or '.join(repr(c) for c in close)}?"
        if len(names) <= 12:
            hint += f" known: {', '.join(names)}"
    else:
        hint = f"known: {', '.join(names[:40])}{' …' if len(names) > 40 else ''}" if names else "there are none"
    return InputError(f"no {kind} named {name!r}", hint=hint, file=file, key=key)
