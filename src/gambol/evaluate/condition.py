"""One row of a benchmark: a task, changed by overrides, solved by a method."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import mujoco
import numpy as np

from gambol.errors import MissingExtraError
from gambol.front import check
from gambol.goals import Task, load_task
from gambol.scenes import Scene
from gambol.version import __version__

CPU, GPU = "cpu", "gpu"
"""Engines that simulate."""
_STRUCTURE = (
    *("nq", "nv", "nu", "nmocap", "body_parentid", "geom_type", "geom_bodyid", "geom_condim", "geom_contype"),
    *("geom_conaffinity", "geom_priority", "jnt_type", "jnt_limited", "actuator_ctrlrange", "hfield_data"),
)
"""What is the same in all worlds of a batch."""
_GPU_PACKAGES = ("mujoco-warp", "warp-lang", "jax")


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

    @property
    def kind(self) -> tuple[str, ...]:
        """The same for conditions that differ in the numbers of their worlds alone: one batch can hold their trials."""
        model, keyframes = self.loaded.world.model, self.loaded.keyframes or ()
        structure = [np.asarray(getattr(model, name)).tolist() for name in _STRUCTURE]
        pairs = [[(pair.body, pair.on) for pair in keyframe.pairs] for keyframe in keyframes]
        step = float(model.opt.timestep)
        return self.task, self.solver, self.settings.model_dump_json(), repr(pairs), repr((step, structure))

    def described(self, engine: str) -> dict[str, Any]:
        """Everything that a trial on an engine depends on but its seed, as plain data."""
        task = self.loaded.in_file()
        for unimportant in ("summary", "settings", "method"):
            task.pop(unimportant, None)
        return {
            "task": task,
            "world": _content(self.loaded.world),
            "method": self.solver,
            "settings": self.settings.model_dump(mode="json", exclude={"threads"}),
            "engine": engine,
            "versions": {
                "gambol": __version__,
                "mujoco": mujoco.__version__,
                **(_gpu_versions() if GPU in (engine, getattr(self.settings, "device", CPU)) else {}),
            },
        }


def _content(world: Scene) -> str:
    """A fingerprint of a scene itself, so that it does not matter in which files it is written down."""
    model = np.zeros(mujoco.mj_sizeModel(world.model), np.uint8)
    mujoco.mj_saveModel(world.model, None, model)
    # the model knows meshes, the description knows what methods are told of a body: parts, patches, landmarks, poses
    told = json.dumps(world.describe(), sort_keys=True)
    return hashlib.sha256(model.tobytes() + told.encode()).hexdigest()


def _gpu_versions() -> dict[str, str]:
    try:
        return {package: version(package) for package in _GPU_PACKAGES}
    except PackageNotFoundError as error:
        raise MissingExtraError(str(error.name), "gpu") from None


def fingerprint(described: dict[str, Any]) -> str:
    """The same for the same plain data, and for nothing else."""
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:16]
