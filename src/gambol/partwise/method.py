"""Contact keyframes performed by sampling in lockstep: plan, simulate a few steps, plan again."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from gambol.goals import Keyframe, Task
from gambol.motion import Motion, Source
from gambol.motion.contacts import ContactRecorder
from gambol.partwise.planner import Partwise, Planner
from gambol.partwise.progress import KeyframeProgress
from gambol.partwise.sensing import instrument
from gambol.partwise.settings import Settings
from gambol.partwise.terms import KeyframeTable, watched_frames
from gambol.results import Progress, ProgressListener, Report, Result, Status
from gambol.rotations import Array
from gambol.sim import unpack_state

PLAIN, PARTWISE = "predictive-sampling", "partwise"

_HEAD_SHARE, _TORSO_SHARE = 0.953, 0.938
"""Heights aimed at as shares of the standing pose's: the published 1.4 m and 1.2 m on the published humanoid."""


class KeyframeController:
    """Drives a simulation through keyframes; an online method as a thing that is asked for controls."""

    def __init__(self, task: Task, settings: Settings, seed: int, *, partwise: bool):
        scene = task.world
        self.keyframes: tuple[Keyframe, ...] = task.keyframes or ()
        self._settings = settings
        frames = watched_frames(self.keyframes)
        self._planning = instrument(scene, frames, timestep=settings.planning_step)
        self._seeing = instrument(scene, frames)
        self._data = mujoco.MjData(self._seeing.model)
        # sensors lie at the same columns in both models
        self._table = KeyframeTable.of(self.keyframes, self._seeing)
        self._dt = self._seeing.model.opt.timestep
        parts = Partwise.of(scene, self.keyframes, self._table) if partwise else None
        self._planner = Planner(self._planning, self._table, parts, settings, standing_heights(task), seed)
        self.progress = KeyframeProgress(self.keyframes)
        self.costs: list[float] = []
        self.plans_seconds = 0.0
        self._since_plan = 0
        self._time = 0.0

    def close(self) -> None:
        """End the planning threads."""
        self._planner.close()

    def reset(self, state: Array) -> None:
        """Begin with the first keyframe and an empty plan."""
        self.progress = KeyframeProgress(self.keyframes)
        self._planner.reset()
        self.costs.clear()
        self._since_plan = 0
        self._time = float(unpack_state(self._seeing.model, state).time)

    def step(self, state: Array) -> Array:
        """The control to apply during the next simulation step; plans when the last plan is old enough.

        The state given is also what the keyframes are judged by: see ``progress``.
        """
        self._observe(state)
        if self.progress.finished or self.progress.failed:
            return self._planner.control(self._since_plan * self._dt)
        if self._since_plan % self._settings.replan_every == 0:
            began = time.perf_counter()
            parts = unpack_state(self._planning.model, state)
            age = self._since_plan * self._dt
            self.costs.append(self._planner.improve(parts.qpos, parts.qvel, self._row, age))
            self.plans_seconds += time.perf_counter() - began
            self._since_plan = 0
        control = self._planner.control(self._since_plan * self._dt)
        self._since_plan += 1
        return control

    def _observe(self, state: Array) -> None:
        """Account for the time that has passed since the last state."""
        parts = unpack_state(self._seeing.model, state)
        passed = float(parts.time) - self._time
        if passed <= 0.0:
            return
        self._time = float(parts.time)
        self._data.qpos[:], self._data.qvel[:] = parts.qpos, parts.qvel
        mujoco.mj_fwdPosition(self._seeing.model, self._data)
        mujoco.mj_sensorPos(self._seeing.model, self._data)
        distances = self._table.displacements(self._data.sensordata[None], np.array([self._row]))[0]
        self.progress.update(distances, passed)

    @property
    def _row(self) -> int:
        """The present keyframe's row (the last one's once all are done)."""
        return min(self.progress.index, len(self.keyframes) - 1)

    @property
    def discarded(self) -> int:
        """Unstable rollouts so far."""
        return self._planner.discarded

    @property
    def recombined_share(self) -> float:
        """Share of the plans in which a recombined candidate was the best."""
        return self._planner.recombined_wins / max(len(self.costs), 1)


@dataclass
class _Recording:
    """States and controls of a run, a row each simulation step."""

    qpos: list[Array]
    qvel: list[Array]
    ctrl: list[Array]
    contacts: ContactRecorder

    def add(self, model: mujoco.MjModel, data: mujoco.MjData, ctrl: Array) -> None:
        self.contacts.add(len(self.qpos), model, data, forces=True)
        self.qpos.append(data.qpos.copy())
        self.qvel.append(data.qvel.copy())
        self.ctrl.append(ctrl.copy())


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
    scene, model = task.world, task.world.model
    data = mujoco.MjData(model)
    data.qpos[:] = task.initial_qpos()
    mujoco.mj_forward(model, data)
    controller = KeyframeController(task, settings, seed, partwise=method == PARTWISE)
    controller.reset(_state(model, data))
    record = _Recording([], [], [], ContactRecorder())
    status, trouble = Status.FAILED, ""
    try:
        while True:
            control = controller.step(_state(model, data))
            if controller.progress.finished or controller.progress.failed:
                break
            record.add(model, data, control)
            data.ctrl[:] = control
            mujoco.mj_step(model, data)
            mujoco.mj_forward(model, data)
            if len(record.qpos) % 10 == 0:
                progress(_moment(controller, data.time))
        status = Status.SUCCESS if controller.progress.finished else Status.FAILED
    except FloatingPointError as error:
        trouble = str(error)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    finally:
        controller.close()
    record.add(model, data, data.ctrl)
    wall = time.perf_counter() - began
    figures = _figures(controller, data.time, wall)
    report = Report(
        status, task.name, method, seed, figures, float(data.time), wall, trouble or _advice(status, controller)
    )
    motion = Motion(
        scene,
        model.opt.timestep,
        np.array(record.qpos),
        np.array(record.qvel),
        np.array(record.ctrl),
        contacts=record.contacts.collected(),
        source=Source.now(method=method, task=task.name, seed=seed, figures=figures),
    )
    return Result(motion, report)


def _state(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    state = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    return state


def standing_heights(task: Task) -> tuple[float, float]:
    """Heights the head and the torso should aim at: a little below those of the standing pose."""
    from gambol.scenes import Placement, Scene, place

    name = task.world.main_character
    scene = Scene({name: task.world.characters[name]})
    data = mujoco.MjData(scene.model)
    data.qpos[:] = place(scene, Placement(pose="standing"))
    mujoco.mj_kinematics(scene.model, data)
    marks = task.world.characters[name].landmarks
    head, chest = (float(data.body(f"{name}/{marks[k].body}").xpos[2]) for k in ("head", "chest"))
    return _HEAD_SHARE * head, _TORSO_SHARE * chest


def _moment(controller: KeyframeController, seconds: float) -> Progress:
    done = controller.progress
    return Progress(
        done.index / len(done.keyframes),
        f"keyframe {min(done.index + 1, len(done.keyframes))}/{len(done.keyframes)} {done.current.name}",
        {"simulated": f"{seconds:.1f} s", "closest": f"{done.closest:.2f} m"},
    )


def _figures(controller: KeyframeController, seconds: float, wall: float) -> dict[str, Any]:
    done = controller.progress
    plans = len(controller.costs)
    return {
        "keyframes_reached": done.index,
        "keyframes": len(done.keyframes),
        "mean_cost": round(float(np.mean(controller.costs)), 4) if plans else None,
        "plans": plans,
        "plans_per_wall_second": round(plans / max(controller.plans_seconds, 1e-9), 1),
        "slower_than_real_time": round(wall / max(seconds, 1e-9), 2),
        "recombined_share": round(controller.recombined_share, 3),
        "unstable_rollouts": controller.discarded,
    }


def _advice(status: Status, controller: KeyframeController) -> str:
    if status is Status.SUCCESS:
        return ""
    done = controller.progress
    if status is Status.INTERRUPTED:
        return f"interrupted after {done.index} of {len(done.keyframes)} keyframes"
    return (
        f"keyframe {done.index + 1} ({done.current.name}) was not held within {done.current.limit} s: closest "
        f"{done.closest:.2f} m, tolerance {done.current.tolerance} m. Try another --seed, more rollouts "
        "(--set rollouts=90), more plans (--set replan_every=1), or a wider tolerance"
    )
