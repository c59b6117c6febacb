"""The schedule: each window is optimised together with what it looks ahead to, and fixed before the next (Section 3,
Figure 1)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import mujoco
import numpy as np

from gambol.errors import InputError
from gambol.goals import Task, Window
from gambol.motion import Motion, Source
from gambol.results import Progress, ProgressListener, Report, Result, Status
from gambol.rotations import Array
from gambol.sim import Backend, backend, pack_state
from gambol.sim.gpu import SOLVER_STEPS
from gambol.spacetime.cache import Cache, Finished, Trail, usual_folder
from gambol.spacetime.cost import UNSTABLE_COST
from gambol.spacetime.device import DeviceCosts
from gambol.spacetime.objectives import Weighed, weighed_of
from gambol.spacetime.observing import Observer, ground_of, length_of
from gambol.spacetime.problem import Problem
from gambol.spacetime.reference import Reference, waves
from gambol.spacetime.search import Found, minimise
from gambol.spacetime.settings import Settings
from gambol.spacetime.tracking import survival, tracked
from gambol.version import __version__

NAME = "spacetime"
HEAVIER = 0.01
"""Share by which the body of the test for survival is heavier."""


@dataclass(frozen=True)
class Prepared:
    """A task's windows, checked and made ready."""

    windows: tuple[Window, ...]
    objectives: tuple[tuple[Weighed, ...], ...]
    references: tuple[Reference, ...]
    observer: Observer

    @staticmethod
    def of(task: Task, settings: Settings) -> Prepared:
        """Everything that can be wrong with a task is found here, before the work begins."""
        try:
            return Prepared._of(task, settings)
        except InputError as error:
            raise error.within(file=task.file) from None

    @staticmethod
    def _of(task: Task, settings: Settings) -> Prepared:
        windows = task.windows or ()
        character = task.world.characters[task.world.main_character]
        if task.world.model.nu != len(character.actuators):
            raise InputError("windows move one character, and others here have actuators too", key="characters")
        length, ground = length_of(character), ground_of(task.world)
        objectives: list[tuple[Weighed, ...]] = []
        for k, window in enumerate(windows):
            with _errors_in(window, k):
                objectives.append(weighed_of(window, character, length, ground))
        observer = Observer.of(task.world, [point for row in objectives for each in row for point in each.given.named])
        made: dict[tuple[Any, ...], Reference] = {}
        for k, window in enumerate(windows):  # one for windows that are alike
            if _shape(window) not in made:
                with _errors_in(window, k):
                    made[_shape(window)] = Reference.of(character, observer.model, window, settings.knot_spacing)
        return Prepared(windows, tuple(objectives), tuple(made[_shape(window)] for window in windows), observer)


@contextlib.contextmanager
def _errors_in(window: Window, k: int) -> Iterator[None]:
    """Errors say in which window they are, by its name too: it may be one of many that are written once."""
    try:
        yield
    except InputError as error:
        raise error.within(key=f"windows.{k}", hint=f"this is window {window.name!r}") from None


def _shape(window: Window) -> tuple[Any, ...]:
    return window.duration, window.symmetric, window.coupled_arms


def solve(task: Task, settings: Settings, seed: int, progress: ProgressListener) -> Result:
    """Optimise the task's windows; on a CPU the same seed gives the same motion at any number of threads."""
    began = time.perf_counter()
    prepared = Prepared.of(task, settings)
    clip = _Clip(task, prepared)
    libraries, ahead = _LIBRARIES[settings.device], None
    teller = _Teller(progress, prepared.windows, settings)
    status, rows = Status.SUCCESS, []
    with contextlib.ExitStack() as open_until_done:
        open_until_done.enter_context(contextlib.closing(clip))
        simulations, device = _engines(prepared, settings, open_until_done)
        named = {
            "versions": [__version__, mujoco.__version__, *map(version, libraries)],
            "scene": [task.world.spec.to_xml(), task.world.describe()],
            "start": clip.state.tolist(),
            "settings": _named(settings),
            "seed": seed,
        }
        trail = Trail(Cache(usual_folder() if settings.cache else None), task.identity, named)
        try:
            for k, window in enumerate(prepared.windows):
                problem = _problem(prepared, k, settings, clip, simulations, device)
                searched = [each.model_dump(mode="json") for each in prepared.windows[k : k + len(problem.references)]]
                finished = trail.next(searched, problem.variables)
                if finished is None:
                    finished = trail.keep(_searched(problem, ahead, settings, (seed, k), teller.of(k)))
                ahead = finished.values[problem.references[0].variables :]
                rows.append(_row(window, finished, problem))
                clip.add(problem, finished.values)
                if finished.cost >= UNSTABLE_COST:
                    status = Status.FAILED
                    break
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
    figures: dict[str, Any] = {
        "windows_done": len(rows),
        "windows": len(prepared.windows),
        "settings": _named(settings),
        **({"windows_from_before_an_edit": trail.from_before_an_edit} if trail.from_before_an_edit else {}),
        **({"windows_not_kept": trail.broken} if trail.broken else {}),
        **_costliest(rows),
        "by_window": rows,
    }
    motion = clip.motion(Source.now(*libraries, method=NAME, task=task.name, seed=seed, figures=figures))
    advice = _advice(status, rows, kept=settings.cache and not trail.broken)
    if settings.feedback and status is Status.SUCCESS:
        try:
            teller.last("tracking")
            figures["survives"] = survival(motion, HEAVIER, seed, settings.threads)
            followed = tracked(motion, seed, settings.threads)
        except KeyboardInterrupt:
            status, advice = Status.INTERRUPTED, "interrupted while tracking; the motion is the one that was found"
        else:
            if followed is None:
                status, advice = Status.FAILED, "feedback lost the motion on the way; the one that was found is kept"
            motion = followed or motion
    wall = time.perf_counter() - began
    return Result(motion, Report(status, task.name, NAME, seed, figures, motion.duration, wall, advice))


_LIBRARIES = {"cpu": ("cma",), "gpu": ("cma", "mujoco-warp", "warp-lang", "jax")}
"""What a search depends on, by device, beside MuJoCo."""


class _Clip:
    """The motion so far: where it stands, and with which key-pose it ended."""

    def __init__(self, task: Task, prepared: Prepared):
        model = prepared.observer.model
        self._scene = task.world
        start = task.initial_qpos()
        self.state: Array = pack_state(model, start, np.zeros(model.nv))
        joints = model.actuator_trnid[:, 0]
        self.pose: Array = start[model.jnt_qposadr[joints]]
        self._nq, self._nv = model.nq, model.nv
        self._body = backend("cpu", model, threads=1)
        self._states: list[Array] = [self.state[None]]
        self._targets: list[Array] = []

    def add(self, problem: Problem, values: Array) -> None:
        """Perform the first window of a solved problem."""
        targets = problem.first_targets(values)
        states = self._body.rollout(self.state, targets[None], sensors=False).states[0]
        self._targets.append(targets)
        self._states.append(states)
        self.state, self.pose = states[-1].copy(), problem.last_pose(values)
        self.state[0] = 0.0

    def close(self) -> None:
        """End the thread it is performed on."""
        self._body.close()

    def motion(self, source: Source) -> Motion:
        """All windows so far."""
        states = np.concatenate(self._states)
        qpos, qvel = states[:, 1 : 1 + self._nq], states[:, 1 + self._nq : 1 + self._nq + self._nv]
        targets = np.concatenate([*self._targets, (self._targets or [self.pose[None]])[-1][-1:]])
        return Motion(self._scene, float(self._scene.model.opt.timestep), qpos, qvel, targets, source=source)


class _Teller:
    """Turns generations into progress: a window is expected to take as many as those before it did."""

    def __init__(self, progress: ProgressListener, windows: Sequence[Window], settings: Settings):
        self._progress, self._windows = progress, windows
        self._parts = len(windows) + settings.feedback
        self._taken: list[int] = []
        self._guess = min(_USUAL_PATIENCES * (settings.patience or settings.generations), settings.generations)

    def of(self, k: int) -> Told:
        """A listener to the search of window ``k``."""
        expected = float(np.mean(self._taken)) if self._taken else self._guess
        self._taken.append(0)

        def told(generation: int, cost: float) -> None:
            self._taken[-1] = generation
            done = (k + min(generation / expected, _NEARLY)) / self._parts
            what = f"window {k + 1}/{len(self._windows)} {self._windows[k].name}"
            self._progress(Progress(done, what, {"generation": f"{generation}", "cost": f"{cost:.3g}"}))

        return told

    def last(self, what: str) -> None:
        """What comes after the windows begins."""
        self._progress(Progress(len(self._windows) / self._parts, what, {}))


_USUAL_PATIENCES, _NEARLY = 8, 0.95
"""How many times its patience a search usually takes, and how far along a longer one says it is."""


def first_search(task: Task, settings: Settings, seed: int) -> tuple[Found, float]:
    """The search for the first window, with those it looks ahead to, and the seconds it took."""
    prepared = Prepared.of(task, settings)
    with contextlib.ExitStack() as open_until_done:
        clip = open_until_done.enter_context(contextlib.closing(_Clip(task, prepared)))
        simulations, device = _engines(prepared, settings, open_until_done)
        problem = _problem(prepared, 0, settings, clip, simulations, device)
        began = time.perf_counter()
        found = _found(problem, None, settings, (seed, 0), lambda generation, cost: None)
        return found, time.perf_counter() - began


def _engines(
    prepared: Prepared, settings: Settings, open_until_done: contextlib.ExitStack
) -> tuple[Backend, DeviceCosts | None]:
    """What motions are performed on, and what they are tried on where that is a GPU."""
    model = prepared.observer.model
    simulations = open_until_done.enter_context(backend("cpu", model, threads=settings.threads))
    if settings.device == "cpu":
        return simulations, None
    trying = open_until_done.enter_context(backend("gpu", model, solver_steps=SOLVER_STEPS))
    return simulations, DeviceCosts(prepared.observer, trying)


def _problem(
    prepared: Prepared, k: int, settings: Settings, clip: _Clip, simulations: Backend, device: DeviceCosts | None
) -> Problem:
    """The problem of window ``k`` from where the clip stands."""
    row = slice(k, k + 1 + settings.look_ahead)
    parts = prepared.references[row], prepared.objectives[row]
    return Problem(prepared.observer, simulations, *parts, clip.state, clip.pose, device)


def _start(problem: Problem, ahead: Array | None) -> Array:
    """The zero pose, or what the last search found for these windows, and its last pose held on in the one after."""
    start, references = np.zeros(problem.variables), problem.references
    if ahead is not None and len(ahead):
        start[: len(ahead)] = ahead
        if len(ahead) < len(start) and references[-2].like(references[-1]):
            known, new = references[-2:]
            width = known.mixing.shape[1]
            poses = ahead[len(ahead) - known.variables :][: known.knots * width].reshape(known.knots, width)
            start[len(ahead) :][: new.knots * width] = np.tile(poses[-1], new.knots)
    return start


Told = Callable[[int, float], None]
"""Hears of each generation and of the best cost so far."""


def _found(problem: Problem, ahead: Array | None, settings: Settings, seed: tuple[int, int], told: Told) -> Found:
    drawn = int(np.random.SeedSequence(seed).generate_state(1)[0]) % 2**31
    start = _start(problem, ahead if settings.carry_on else None)
    basis = waves(problem.references) if settings.basis == "waves" else None
    return minimise(problem.tried, start, settings, drawn, told, basis)


def _searched(problem: Problem, ahead: Array | None, settings: Settings, seed: tuple[int, int], told: Told) -> Finished:
    began = time.perf_counter()
    found = _found(problem, ahead, settings, seed, told)
    # what a GPU finds good is performed on a CPU, where it may turn out a little different
    costs = problem.costs(found.best) if settings.device == "gpu" else found.costs
    best = int(np.argmin(costs))
    return Finished(found.best[best], float(costs[best]), found.generations, time.perf_counter() - began)


def _row(window: Window, finished: Finished, problem: Problem) -> dict[str, Any]:
    return {
        "window": window.name,
        "cost": round(finished.cost, 4),
        "generations": finished.generations,
        "seconds": round(finished.seconds, 1),
        "terms": problem.by_term(finished.values)[0],
    }


def _costliest(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The window that came off worst and its dearest objectives: where to look when a motion is not as wished."""
    if not rows:
        return {}
    worst = max(rows, key=lambda row: sum(row["terms"].values()))
    dearest = sorted(worst["terms"].items(), key=lambda item: -item[1])[:_DEAREST]
    told = ", ".join(f"{name.partition(' ')[2]} {cost:.3g}" for name, cost in dearest)
    return {"costliest": f"{worst['window']}: {told}"}


_DEAREST = 3


def _named(settings: Settings) -> dict[str, Any]:
    """Settings that change what is found."""
    return settings.model_dump(mode="json", exclude={"cache", "threads", "feedback"})


def _advice(status: Status, rows: Sequence[dict[str, Any]], *, kept: bool) -> str:
    if status is Status.SUCCESS:
        return ""
    if status is Status.INTERRUPTED and not rows:
        return "interrupted in the first window, of which nothing is kept"
    if status is Status.INTERRUPTED:
        go_on = "kept: solve again to go on" if kept else "without the cache a new search begins anew"
        return f"interrupted after {len(rows)} window{'s' * (len(rows) > 1)}; {go_on}"
    costly = max(rows[-1]["terms"].items(), key=lambda item: item[1])
    return f"window {len(rows)} ({rows[-1]['window']}) became unstable; its costliest objective is {costly[0]}"
