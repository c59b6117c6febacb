"""The front door: every method behind one function, and a registry that states what each accepts and needs."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from gambol.errors import InputError, unknown_name
from gambol.goals import Task, load_task
from gambol.goals.success import judged, refuse_impossible
from gambol.motion import Motion
from gambol.results import Controller, ProgressListener, Result, Status, silent
from gambol.sim import check_place, executor
from gambol.validation import explained


@dataclass(frozen=True)
class Method:
    """What a method is, as data. ``settings`` and ``run`` are addresses, ``module:name``, imported when first used."""

    name: str
    summary: str
    goals: tuple[str, ...]
    """Which of the goals of a task it fulfils."""
    settings: str
    run: str
    controller: str | None = None
    """Address of what makes a :class:`gambol.results.Controller`, for methods that run online."""
    trained: bool = False
    """Whether it needs learned weights."""
    devices: tuple[str, ...] = ("cpu",)
    reference: str = ""

    @property
    def online(self) -> bool:
        """Whether it can also drive a simulation step by step."""
        return self.controller is not None

    def settings_type(self) -> Any:
        """The pydantic model of its settings."""
        return _at(self.settings)


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "partwise",
            "sampling MPC that also recombines the best motions of single body parts",
            ("keyframes",),
            "gambol.partwise.settings:Settings",
            "gambol.partwise.method:solve_partwise",
            controller="gambol.partwise.method:partwise_controller",
            reference="Khoshsiyar et al. 2024, PartwiseMPC: Interactive Control of Contact-Guided Motions",
        ),
        Method(
            "predictive-sampling",
            "tries noisy variations of the present plan many times a second and keeps the best",
            ("keyframes",),
            "gambol.partwise.settings:Settings",
            "gambol.partwise.method:solve_plain",
            controller="gambol.partwise.method:plain_controller",
            reference="Howell et al. 2022, Predictive Sampling: Real-time Behaviour Synthesis with MuJoCo",
        ),
        Method(
            "spacetime",
            "optimises half-second windows of motion one after the other by CMA-ES, from a few simple objectives",
            ("windows",),
            "gambol.spacetime.settings:Settings",
            "gambol.spacetime.method:solve",
            reference="Al Borno, de Lasa, Hertzmann 2013, Trajectory Optimization for Full-Body Movements",
        ),
        Method(
            "cio",
            "optimises a motion together with its contacts, from nothing but what should be true in the end",
            ("behaviour",),
            "gambol.cio.settings:Settings",
            "gambol.cio.method:solve",
            reference="Mordatch, Todorov, Popović 2012, Discovery of Complex Behaviors through CIO",
        ),
    )
}
"""Every method by name. Adding one is one room and one entry here."""


def solve(
    task: Task | str | Path | Mapping[str, Any],
    method: str | None = None,
    seed: int = 0,
    on: str = "local",
    progress: ProgressListener | None = None,
) -> Result:
    """Turn a wish into a motion.

    ``task`` is a task, a shipped task's name, a YAML file or plain data; ``method`` overrides the task's own. ``on`` is
    where it runs: ``local``, ``ray`` for a local Ray cluster or ``ray://host:port``. Wrong input raises
    :class:`gambol.InputError`; a method that does not succeed returns a result whose report says so.
    """
    task = task if isinstance(task, Task) else load_task(task)
    chosen, settings = check(task, method, seed, on)
    job = (task, chosen.run, settings, seed)
    if on == "local":
        return _run(job, progress or silent)
    with executor(on) as elsewhere:
        return elsewhere.run(_run, [job])[0]


def controller(task: Task | str | Path | Mapping[str, Any], method: str | None = None, seed: int = 0) -> Controller:
    """An online method as a thing that drives your own simulation of ``task.world``: reset it, then step it."""
    task = task if isinstance(task, Task) else load_task(task)
    chosen, settings = check(task, method, seed)
    if chosen.controller is None:
        online = ", ".join(m.name for m in METHODS.values() if m.online)
        raise InputError(f"{chosen.name!r} does not run online", hint=f"online: {online}")
    return _at(chosen.controller)(task, settings, seed)


def check(task: Task, method: str | None = None, seed: int = 0, on: str = "local") -> tuple[Method, Any]:
    """The method and its settings; an error where anything is wrong that can be known before the work begins."""
    chosen = method_for(task, method)
    settings = _settings(chosen, task)
    if type(seed) is not int or seed < 0:
        raise InputError(f"must be a whole number from 0 up (given: {seed!r})", key="seed")
    if on != "local":
        check_place(on)
    at_rest = Motion(task.world, 1.0, np.tile(task.initial_qpos(), (2, 1)))
    try:
        refuse_impossible(task.success, at_rest)
    except InputError as error:
        raise error.within(file=task.file) from None
    return chosen, settings


def method_for(task: Task, name: str | None = None) -> Method:
    """The method that solves a task: the one named, the task's own, or the first that accepts its goal."""
    name = name or task.method
    if name is None:
        fitting = [method for method in METHODS.values() if task.goal_kind in method.goals]
        if not fitting:
            raise InputError(f"no method fulfils {task.goal_kind!r} yet", file=task.file)
        return fitting[0]
    if name not in METHODS:
        raise unknown_name("method", name, METHODS, file=task.file, key="method")
    method = METHODS[name]
    if task.goal_kind not in method.goals:
        raise InputError(
            f"{name!r} fulfils {' or '.join(method.goals)}, and this task wishes for {task.goal_kind}", file=task.file
        )
    return method


def _settings(method: Method, task: Task) -> Any:
    kind = method.settings_type()
    try:
        return kind(**task.settings)
    except ValidationError as error:
        raise explained(error, kind, file=task.file, key="settings") from None


def _run(job: tuple[Task, str, Any, int], progress: ProgressListener = silent) -> Result:
    task, address, settings, seed = job
    result: Result = _at(address)(task, settings, seed, progress)
    return _judged(task, result) if task.success else result


def _judged(task: Task, result: Result) -> Result:
    """The result with the feats that the task's success is stated in; a motion that misses one has not succeeded."""
    feats, missed = judged(task.success, result.motion)
    report = replace(result.report, figures={**result.report.figures, "feats": feats})
    if report.succeeded and missed:
        advice = f"{missed}. Try another --seed or more search (see the settings of {report.method})"
        report = replace(report, status=Status.FAILED, advice=advice)
    motion = replace(result.motion, source=replace(result.motion.source, figures=report.figures))
    return replace(result, motion=motion, report=report)


def _at(address: str) -> Any:
    module, _, name = address.partition(":")
    return getattr(importlib.import_module(module), name)
