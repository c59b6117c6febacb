"""One row of a benchmark: a task, changed by overrides, solved by a method."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import mujoco

from gambol.front import check
from gambol.goals import Task, load_task
from gambol.version import __version__


@dataclass(frozen=True)
class Condition:
    """What is tried, without a seed."""

    label: str
    """The name of its row."""
    task: str
    """A shipped task or a file."""
    overrides: tuple[str, ...] = ()
    """``key=value``, as after ``--set``."""
    method: str | None = None
    """By default the task's own."""

    @cached_property
    def _ready(self) -> tuple[Task, str, Any]:
        task = load_task(self.task, self.overrides)
        method, settings = check(task, self.method)
        return task, method.name, settings

    @property
    def loaded(self) -> Task:
        """The task with its overrides."""
        return self._ready[0]

    @property
    def solver(self) -> str:
        """The method's name."""
        return self._ready[1]

    @property
    def settings(self) -> Any:
        """The method's settings, its defaults filled in."""
        return self._ready[2]

    def described(self) -> dict[str, Any]:
        """Everything that a trial depends on but its seed, as plain data."""
        task = self.loaded.in_file()
        for unimportant in ("summary", "settings", "method"):
            task.pop(unimportant, None)
        return {
            "task": task,
            "method": self.solver,
            "settings": self.settings.model_dump(mode="json", exclude={"threads"}),
            "versions": {"gambol": __version__, "mujoco": mujoco.__version__},
        }


def fingerprint(described: dict[str, Any]) -> str:
    """The same for the same plain data, and for nothing else."""
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:16]
