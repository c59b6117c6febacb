"""Contact keyframes performed by sampling in lockstep: plan, simulate a few steps, plan again."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from gambol.errors import unknown_name
from gambol.goals import Keyframe, Task
from gambol.motion import Motion, Source
from gambol.motion.metrics import measure
from gambol.partwise.incident import Incident
from gambol.partwise.outlook import Outlook
from gambol.partwise.planner import Plan
from gambol.partwise.progress import KeyframeProgress, pair_told
from gambol.partwise.recording import Recording
from gambol.partwise.settings import Settings
from gambol.results import Progress, ProgressListener, Report, Result, Status
from gambol.rotations import Array
from gambol.sim import Simulation, UnstableError

PLAIN, PARTWISE = "predictive-sampling", "partwise"


def recombines(method: str) -> bool:
    """Whether a method of this name recombines parts; an error for a name that is neither."""
    if method not in (PLAIN, PARTWISE):
        raise unknown_name("method", method, (PLAIN, PARTWISE), key="method")
    return method == PARTWISE


class KeyframeController:
    """Drives a simulation through keyframes; an online method as a thing that is asked for controls."""

    def __init__(self, task: Task, settings: Settings, seed: int, *, partwise: bool):
        self.keyframes: tuple[Keyframe, ...] = task.keyframes or ()
        self._settings = settings
        self._outlook = Outlook(task.world, self.keyframes, settings, seed, partwise=partwise)
        self._planner = self._outlook.planner
        self._dt = float(self._outlook.model.opt.timestep)
        self.progress = KeyframeProgress(self.keyframes)
        self.costs: list[float] = []
        """What each simulation step so far cost on the way to its keyframe."""
        self.plans_seconds = 0.0
        self._since_plan = 0
        self._time = 0.0
        self.planned_for = 0.0
        """Seconds of simulated time the plan begins at."""

    def close(self) -> None:
        """End the planning threads."""
        self._planner.close()

    def reset(self, state: Array) -> None:
        """Begin with the first keyframe and an empty plan."""
        self.progress = KeyframeProgress(self.keyframes)
        self._planner.reset()
        self.costs.clear()
        self._since_plan = 0
        self._time = self.planned_for = float(state[0])

    def step(self, state: Array) -> Array:
        """The control to apply during the next simulation step; plans when the last plan is old enough.

        The state given is also what the keyframes are judged by: see ``progress``.
        """
        self._observe(state)
        if self.progress.finished or self.progress.failed:
            return self._planner.plan.control(self._since_plan * self._dt)
        if self._since_plan % self._settings.replan_every == 0:
            began = time.perf_counter()
            self.planned_for = float(state[0])  # a plan that fails has been carried on to now all the same
            self._outlook.improve(state, self.progress.row, self._since_plan * self._dt)
            self.plans_seconds += time.perf_counter() - began
            self._since_plan = 0
        control = self._planner.plan.control(self._since_plan * self._dt)
        self.costs.append(self._outlook.cost(state, control, self.progress.row))
        self._since_plan += 1
        return control

    def _observe(self, state: Array) -> None:
        """Account for the time that has passed since the last state."""
        passed = float(state[0]) - self._time
        if passed > 0.0:
            self._time = float(state[0])
            self.progress.update(self._outlook.displacements(state, self.progress.row), passed)

    @property
    def plan(self) -> Plan:
        """What is followed now."""
        return self._planner.plan

    @property
    def plans(self) -> int:
        """Plans so far, every round counted."""
        return self._planner.plans

    @property
    def discarded(self) -> int:
        """Unstable rollouts so far."""
        return self._planner.discarded

    @property
    def recombined_share(self) -> float:
        """Share of the plans in which a recombined candidate was the best."""
        return self._planner.recombined_wins / max(self.plans, 1)


def plain_controller(task: Task, settings: Settings, seed: int) -> KeyframeController:
    """Predictive sampling as a controller."""
    return KeyframeController(task, settings, seed, partwise=False)


def partwise_controller(task: Task, settings: Settings, seed: int) -> KeyframeController:
    """Partwise MPC as a controller."""
    return KeyframeController(task, settings, seed, partwise=True)


def solve_plain(task: Task, settings: Settings, seed: int, progress: ProgressListener) -> Result:
    """Perform the task's keyframes by predictive sampling."""
    return _solve(task, settings, seed, progress, PLAIN)


def solve_partwise(task: Task, settings: Settings, seed: int, progress: ProgressListener) -> Result:
    """Perform the task's keyframes by partwise MPC."""
    return _solve(task, settings, seed, progress, PARTWISE)


def _solve(task: Task, settings: Settings, seed: int, progress: ProgressListener, method: str) -> Result:
    """The same seed gives the same motion at any number of threads."""
    began = time.perf_counter()
    simulation = Simulation(task.world, task.initial_qpos())
    controller = KeyframeController(task, settings, seed, partwise=method == PARTWISE)
    controller.reset(simulation.state)
    record = Recording(task.world)
    status, incident = Status.FAILED, None
    try:
        while True:
            control = controller.step(simulation.state)
            if controller.progress.finished or controller.progress.failed:
                break
            record.add(simulation.data, control)
            simulation.step(control)
            if len(record) % 10 == 0:
                progress(_moment(controller, simulation.data.time))
        status = Status.SUCCESS if controller.progress.finished else Status.FAILED
    except UnstableError as error:
        incident = Incident(
            problem=str(error),
            task=task,
            settings=settings,
            seed=seed,
            partwise=method == PARTWISE,
            keyframe=controller.progress.row,
            state=simulation.state,
            plan=controller.plan,
            age=simulation.data.time - controller.planned_for,
        )
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
        simulation.restore(simulation.state)  # it may have come in the middle of a step
    finally:
        controller.close()
    record.close(simulation.data)
    wall, seconds = time.perf_counter() - began, float(simulation.data.time)
    motion = record.motion(Source.now(method=method, task=task.name, seed=seed))
    figures = {**_figures(controller, seconds, wall, status), **_quality(motion)}
    advice = _advice(status, controller, incident)
    report = Report(status, task.name, method, seed, figures, seconds, wall, advice)
    return Result(motion.with_source(figures=figures), report, incident)


def _moment(controller: KeyframeController, seconds: float) -> Progress:
    done = controller.progress
    return Progress(
        done.index / len(done.keyframes),
        f"keyframe {min(done.index + 1, len(done.keyframes))}/{len(done.keyframes)} {done.current.name}",
        {"simulated": f"{seconds:.1f} s", "closest": f"{done.closest:.2f} m"},
    )


def _quality(motion: Motion) -> dict[str, float | None]:
    """How smooth a motion is: see :mod:`gambol.motion.metrics.smoothness`."""
    found = measure(motion, ("jerk", "control_roughness"))
    return {name: None if metric.value is None else round(metric.value, 3) for name, metric in found.items()}


def _figures(controller: KeyframeController, seconds: float, wall: float, status: Status) -> dict[str, Any]:
    done = controller.progress
    plans = controller.plans
    missed: dict[str, Any] = {}
    if status is not Status.SUCCESS and done.farthest is not None:
        pair, distance = done.farthest
        missed = {
            "missed_keyframe": done.current.name,
            "closest": round(done.closest, 4),
            "farthest_pair": pair_told(pair),
            "farthest_pair_distance": round(distance, 4),
        }
    return {
        "keyframes_reached": done.index,
        "keyframes": len(done.keyframes),
        "mean_cost": round(float(np.mean(controller.costs)), 4) if controller.costs else None,
        "plans": plans,
        "plans_per_wall_second": round(plans / max(controller.plans_seconds, 1e-9), 1),
        "slower_than_real_time": round(wall / max(seconds, 1e-9), 2),
        "recombined_share": round(controller.recombined_share, 3),
        "unstable_rollouts": controller.discarded,
        **missed,
    }


def _advice(status: Status, controller: KeyframeController, incident: Incident | None) -> str:
    if status is Status.SUCCESS:
        return ""
    done = controller.progress
    if incident is not None:
        return (
            f"{incident.problem}, after {float(incident.state[0]):.2f} s on the way to keyframe {done.row + 1} "
            f"({done.current.name}). Try shorter steps while planning (--set planning_step=0.005), less noise "
            "(--set noise=0.05) or another --seed, and look for bodies that start inside others"
        )
    if status is Status.INTERRUPTED:
        return f"interrupted after {done.index} of {len(done.keyframes)} keyframes"
    return (
        f"keyframe {done.index + 1} ({done.current.name}) was not held within {done.current.limit} s: closest "
        f"{done.closest:.2f} m, tolerance {done.current.tolerance} m ({done.shortfall}). Try another --seed, more "
        "rollouts (--set rollouts=90), more plans (--set replan_every=1), a wider tolerance, or a target within reach"
    )
