"""Finished trials on disk, a small file each: what was done once is not done again."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from gambol.errors import InputError
from gambol.evaluate.condition import Condition, fingerprint
from gambol.files import json_text, read_text, replacing


class Shelf:
    """The finished trials of one condition.

    Its folder is named after everything a trial depends on, so that changed tasks, settings or versions find an empty
    one, and benchmarks that share a condition share its trials.
    """

    def __init__(self, folder: Path, condition: Condition, experiment: str, engine: str):
        described = {**condition.described(engine), "experiment": experiment}
        words = re.sub(r"[^\w-]+", "-", f"{condition.task} {condition.solver}").strip("-").lower()
        self.folder = folder / f"{words}-{fingerprint(described)}"
        self.engine = engine
        self._described = described

    def _file(self, seed: int) -> Path:
        return self.folder / f"{seed}.json"

    def find(self, seed: int) -> dict[str, Any] | None:
        """The outcome of a seed, where it is known; a number that was not finite is None."""
        path = self._file(seed)
        if not path.exists():
            return None
        try:
            outcome = json.loads(read_text(path))
        except json.JSONDecodeError as error:
            raise InputError(f"is damaged: {error}", file=path, hint="delete it, and the trial is done again") from None
        if not isinstance(outcome, dict):
            raise InputError("is not the outcome of a trial", file=path, hint="delete it, and the trial is done again")
        return outcome

    def keep(self, seed: int, outcome: dict[str, Any]) -> None:
        """Write an outcome down; the first one also says what the condition is."""
        about = self.folder / "condition.json"
        if not about.exists():
            _write(about, self._described)
        _write(self._file(seed), outcome)

    def forget(self, seed: int) -> None:
        """Remove the outcome of a seed, where there is one."""
        path = self._file(seed)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(f"cannot be removed: {error.strerror or error}", file=path) from error


def _write(path: Path, data: dict[str, Any]) -> None:
    with replacing(path) as temporary:
        temporary.write_text(json_text(data, indent=1), encoding="utf-8")
