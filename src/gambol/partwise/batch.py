"""Many trials at once on a GPU: B trials × N rollouts are one batch of worlds.

The trials are of one task or of variants of it: other furniture, other bodies, the same pairs elsewhere.

The costs and the search are the same functions as on the CPU, here on JAX arrays; MuJoCo Warp steps the worlds. Random
numbers come from JAX, and contacts are found in another order each time: single trials differ from those on the CPU,
their statistics do not.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gambol.errors import InputError, MissingExtraError
from gambol.goals import Task
from gambol.motion import Motion, Source
from gambol.partwise.method import PARTWISE
from gambol.partwise.planner import UNSTABLE_COST, carried_count, control_range, noise_width
from gambol.partwise.progress import ROUNDING
from gambol.partwise.recombining import recombine
from gambol.partwise.settings import Settings
from gambol.partwise.terms import KeyframeTable, Rolled, costs
from gambol.partwise.variant import Variant, joined
from gambol.results import Progress, ProgressListener
from gambol.rotations import Array
from gambol.sampling import candidates, chosen, shaped_noise, strides
from gambol.sim import backend, pack_state, unpack_state
from gambol.sim.gpu import SOLVER_STEPS
from gambol.sim.state import MOCAP, columns_of
from gambol.splines import spline_matrix

_SMALL_BATCH = 25
"""Trials; a smaller batch takes no less time."""


@dataclass(frozen=True)
class Trial:
    """How one trial ended."""

    succeeded: bool
    seconds: float
    """Simulated seconds until it ended."""
    reached: int
    """Keyframes reached."""
    mean_cost: float
    """Of its simulation steps."""
    recombined_share: float


@dataclass
class Pace:
    """Wall seconds of a batch so far, the waiting for the device included."""

    plans: int = 0
    planning: float = 0.0
    rollouts: float = 0.0
    """Of the planning, what its bare rollouts took."""
    simulation: float = 0.0


class _Course(NamedTuple):
    """Where every trial stands in its keyframes; all (B,)."""

    task: Any
    """Which of the tasks it performs."""
    index: Any
    elapsed: Any
    held: Any
    failed: Any
    ended: Any
    """Seconds at which it ended, or infinity."""
    cost: Any
    """Sum of what its simulation steps cost while it ran."""
    steps: Any
    wins: Any
    plans: Any


class TrialBatch:
    """Every one of some like tasks with every seed, planned for and simulated together; trials go task by task."""

    def __init__(
        self,
        tasks: Sequence[Task],
        settings: Settings,
        seeds: Sequence[int],
        *,
        method: str = PARTWISE,
        device: str | None = None,
        keep: int = 0,
    ):
        try:
            import jax
        except ImportError as error:
            raise MissingExtraError("JAX", "gpu") from error
        if not tasks or not seeds:
            raise InputError("a batch needs at least one task and one seed")
        self._jax, self._device = jax, device
        self.tasks, self.settings, self.method = tuple(tasks), settings, method
        self._trials, self._keep = len(tasks) * len(seeds), min(keep, len(tasks) * len(seeds))
        self._task_of = np.repeat(np.arange(len(tasks)), len(seeds))
        self._present = np.arange(self._trials)
        self._variants = variants = [Variant.of(task, settings, method) for task in tasks]
        self._planning, self._model = variants[0].planning, variants[0].seeing.model
        self._planner, self._world = self._engines()
        self._kept = carried_count(variants[0].parts, settings)
        self._steps = max(round(settings.horizon / self._planning.model.opt.timestep), 1)
        self._keyframes = variants[0].keyframes
        self._prepare(variants)
        self._keys = jax.vmap(jax.random.key)(np.tile(np.asarray(seeds, np.uint32), len(tasks)))
        jnp = jax.numpy
        starts = np.stack([variant.start for variant in variants])
        self._begin = starts[self._task_of]
        self._state = jnp.asarray(self._begin, jnp.float32)
        self._target_columns = columns_of(self._model, MOCAP)
        rest = np.clip(0.0, *self._range)
        shape = (self._trials, settings.knots, self._model.nu)
        self._nominal = jnp.broadcast_to(jnp.asarray(rest, jnp.float32), shape)
        self._carried = jnp.broadcast_to(self._nominal[:, None], (self._trials, self._kept, *shape[1:]))
        zeros = jnp.zeros(self._trials, jnp.float32)
        whole = jnp.zeros(self._trials, jnp.int32)
        task_of = jnp.asarray(self._task_of, jnp.int32)
        self._course = _Course(task_of, whole, zeros, zeros, zeros > 1, zeros + jnp.inf, zeros, whole, whole, whole)
        self._dismissed: list[tuple[np.ndarray, _Course]] = []
        self._recorded: list[tuple[np.ndarray, Array, Array]] = []
        self._now = 0.0
        self.pace = Pace()

    def _engines(self) -> tuple[Any, Any]:
        """What rolls out the plans of the present trials, and what steps their worlds."""
        present = [self._variants[task] for task in self._task_of[self._present]]
        first, *rest = [v.planning.model for v in present]
        planner = backend("gpu", first, variants=rest, device=self._device, solver_steps=SOLVER_STEPS)
        first, *rest = [v.seeing.model for v in present]
        return planner, backend("gpu", first, variants=rest, device=self._device)

    def _prepare(self, variants: Sequence[Variant]) -> None:
        """Compile the pieces of a round for the shapes of these tasks."""
        jax, settings, model = self._jax, self.settings, self._model
        jnp = jax.numpy
        dt = float(model.opt.timestep)
        spacing = settings.horizon / max(settings.knots - 1, 1)
        age = settings.replan_every * dt
        knots = np.arange(settings.knots, dtype=np.float64)
        shift = jnp.asarray(spline_matrix(settings.knots, knots + age / spacing), jnp.float32)
        plan_times = np.arange(self._steps, dtype=np.float64) * self._planning.model.opt.timestep
        basis = jnp.asarray(spline_matrix(settings.knots, plan_times / spacing), jnp.float32)
        act_times = np.arange(settings.replan_every, dtype=np.float64) * dt
        acting = jnp.asarray(spline_matrix(settings.knots, act_times / spacing), jnp.float32)
        self._range = control_range(model)
        low, high = (jnp.asarray(bound, jnp.float32) for bound in self._range)
        fresh = settings.rollouts - 1 - self._kept
        width = jnp.asarray(noise_width(settings, fresh, *self._range), jnp.float32)
        heights = jnp.asarray(np.array([variant.heights for variant in variants]).T[..., None, None, None], jnp.float32)
        table = joined([variant.table for variant in variants])
        device_table = KeyframeTable(
            jnp.asarray(table.columns),
            *(jnp.asarray(a, jnp.float32) for a in (table.offsets, table.present, table.weights, table.facing)),
        )
        parts = variants[0].parts
        every = [variant.parts.seen for variant in variants if variant.parts]
        seen = jnp.asarray(np.concatenate(every), jnp.float32) if every else None
        sources = None if parts is None else jnp.asarray(parts.source_groups)
        parted = 0 if parts is None else len(parts.source_groups)
        nq, nv = model.nq, model.nv
        tolerance, sustain, limit = (
            jnp.asarray([getattr(k, name) for variant in variants for k in variant.keyframes], jnp.float32)
            for name in ("tolerance", "sustain", "limit")
        )
        last = len(self._keyframes) - 1

        def rows_of(course: _Course) -> Any:
            """Where the tables have the keyframe that each trial aims at."""
            return course.task * (last + 1) + jnp.minimum(course.index, last)

        def costs_of(states: Any, sensors: Any, controls: Any, course: _Course) -> Any:
            """Costs of what the trials (B, N, T) do, by pair and term, on the way to their present keyframes."""
            index, velocities = rows_of(course), states[..., 1 + nq : 1 + nq + nv]
            facing = device_table.facing[index][:, None, None]
            joints = velocities[..., self._planning.joint_dofs]
            rolled = Rolled(self._planning, sensors, joints, controls, facing, heights[:, course.task])
            return costs(rolled, device_table, index)

        @jax.jit
        def later(nominal: Any, carried: Any) -> tuple[Any, Any]:
            return shift @ nominal, shift @ carried

        @jax.jit
        def propose(keys: Any, nominal: Any, carried: Any, state: Any) -> tuple[Any, ...]:
            keys, first, second = jnp.moveaxis(jax.vmap(partial(jax.random.split, num=3))(keys), 1, 0)
            shape = (fresh, settings.knots, model.nu)
            normal = jax.vmap(lambda key: jax.random.normal(key, shape))(first)
            uniform = jax.vmap(lambda key: jax.random.uniform(key, (fresh, 1, model.nu)))(second)
            tried = candidates(nominal, carried, shaped_noise(normal, uniform, width, settings.focus), low, high)
            controls = jnp.clip(basis @ tried, low, high)
            rows = controls.reshape(-1, *controls.shape[2:])
            return keys, tried, rows, jnp.repeat(state, settings.rollouts, axis=0)

        @jax.jit
        def select(
            tried: Any, rows: Any, states: Any, sensors: Any, failed: Any, overflowed: Any, course: _Course, now: Any
        ) -> tuple[Any, ...]:
            def by_trial(array: Any) -> Any:
                return array.reshape(-1, settings.rollouts, *array.shape[1:])

            found = costs_of(by_trial(states), by_trial(sensors), by_trial(rows), course)
            bad = by_trial(failed | (overflowed != 0)) | ~jnp.isfinite(found.sum(-1))
            found = jnp.where(bad[..., None], UNSTABLE_COST, found)
            totals = found.sum(-1)
            best = jnp.argmin(totals, axis=1)
            nominal = chosen(tried, best, settings.smoothing)
            made = [strides(tried, totals, settings.strides).astype(tried.dtype)]
            if seen is not None:
                made.append(recombine(tried, found, seen[rows_of(course)], sources))
            running = (~course.failed) & (course.index <= last)
            hopeless = running & bad.all(axis=1)
            planned = running & ~hopeless
            course = course._replace(
                wins=course.wins + (planned & (best >= settings.rollouts - parted)),
                plans=course.plans + planned,
                failed=course.failed | hopeless,
                ended=jnp.where(hopeless, now, course.ended),
            )
            return nominal, jnp.concat(made, axis=1), jnp.clip(acting @ nominal, low, high), course

        @jax.jit
        def advance(
            states: Any, sensors: Any, controls: Any, unstable: Any, overflowed: Any, course: _Course, now: Any
        ) -> _Course:
            wrong = (~course.failed) & (course.index <= last) & (unstable | (overflowed != 0))
            course = course._replace(failed=course.failed | wrong, ended=jnp.where(wrong, now, course.ended))
            for step in range(settings.replan_every):
                index = rows_of(course)
                gaps = device_table.displacements(sensors[:, step : step + 1], index)[:, 0]
                near = jnp.sqrt((gaps**2).sum((-1, -2))) <= tolerance[index]
                running = (~course.failed) & (course.index <= last)
                played, sensed, given = (part[:, None, step : step + 1] for part in (states, sensors, controls))
                cost = costs_of(played, sensed, given, course).sum((-1, -2))
                elapsed = course.elapsed + dt
                held = jnp.where(near, course.held + dt, 0.0)
                reached = running & near & (held >= sustain[index] - ROUNDING)
                failed = course.failed | (running & ~reached & (elapsed > limit[index]))
                after = course.index + reached
                over = running & (failed | (after > last))
                course = course._replace(
                    index=after,
                    elapsed=jnp.where(reached, 0.0, elapsed),
                    held=jnp.where(reached, 0.0, held),
                    failed=failed,
                    cost=course.cost + jnp.where(running, cost, 0.0),
                    steps=course.steps + running,
                    ended=jnp.where(over, now + (step + 1) * dt, course.ended),
                )
            return course

        self._later, self._propose, self._select, self._advance = later, propose, select, advance

    def run(self, progress: ProgressListener, *, wall_limit: float | None = None) -> list[Trial]:
        """Perform all trials to their ends; ``wall_limit`` seconds at most, what still runs then has failed."""
        began = time.perf_counter()
        longest = max(sum(k.limit for k in task.keyframes or ()) for task in self.tasks) + 1.0
        turns = int(longest / (float(self._model.opt.timestep) * self.settings.replan_every)) + 1
        for turn in range(turns):
            self.advance()
            if turn % 20 == 19:
                course, spent = self._course_now(), time.perf_counter() - began
                over = course.failed | (course.index >= len(self._keyframes))
                ended = self._trials - len(over) + int(over.sum())
                told = f"{ended}/{self._trials} trials over"
                progress(Progress(ended / self._trials, told, {"wall": f"{spent:.0f} s"}))
                if over.all() or (wall_limit is not None and spent > wall_limit):
                    break
                if len(over) > _SMALL_BATCH and 2 * over.sum() >= len(over):
                    self._go_on_with(np.flatnonzero(~over))
        return self._outcomes()

    def _go_on_with(self, rows: np.ndarray) -> None:
        """Dismiss the present trials but those in ``rows``: worlds that nobody looks at take time."""
        self._dismissed.append((self._present, self._course_now()))
        self._present = self._present[rows]
        take = partial(self._jax.tree.map, lambda array: array[rows])
        self._course, self._state, self._keys = take(self._course), take(self._state), take(self._keys)
        self._nominal, self._carried = take(self._nominal), take(self._carried)
        self._planner.close()
        self._world.close()
        self._planner, self._world = self._engines()

    def _course_now(self) -> _Course:
        """The course of the present trials on the host."""
        return _Course(*(np.asarray(part) for part in self._jax.device_get(self._course)))

    def advance(self) -> None:
        """Plans for every trial and the simulation steps until the next."""
        jax, pace = self._jax, self.pace
        began = time.perf_counter()
        self._place_targets(self._now)
        self._nominal, self._carried = self._later(self._nominal, self._carried)
        controls: Any = None
        for _ in range(self.settings.rounds):
            self._keys, tried, rows, starts = self._propose(self._keys, self._nominal, self._carried, self._state)
            jax.block_until_ready((rows, starts))
            rolling = time.perf_counter()
            out = self._planner.rollout_jax(starts, rows)
            pace.rollouts += time.perf_counter() - rolling
            sensed = out.states, out.sensors, out.failed, out.overflowed
            self._nominal, self._carried, controls, self._course = self._select(
                tried, rows, *sensed, self._course, self._now
            )
        jax.block_until_ready(controls)
        acting = time.perf_counter()
        acted = self._world.rollout_jax(self._state, controls)
        states = acted.states
        # copies: the arrays of the simulation are written over in the next round
        self._state = jax.numpy.array(states[:, -1])
        sensed = acted.sensors, controls, acted.failed, acted.overflowed
        self._course = self._advance(states, *sensed, self._course, self._now)
        if self._keep:
            rows = np.flatnonzero(self._present < self._keep)
            played, steered = (np.array(part) for part in jax.device_get((states[rows], controls[rows])))
            self._recorded.append((self._present[rows], played, steered))
        jax.block_until_ready((self._course, self._state))
        self._now += self.settings.replan_every * float(self._model.opt.timestep)
        pace.plans += self.settings.rounds
        pace.planning += acting - began
        pace.simulation += time.perf_counter() - acting

    def _place_targets(self, now: float) -> None:
        """Targets with paths go on once a round, whatever the simulation steps in it."""
        if any(task.world.moves for task in self.tasks):
            model, still = self._model, np.zeros(self._model.nv)
            poses = (task.world.target_poses(now) for task in self.tasks)
            rows = np.stack([pack_state(model, model.qpos0, still, mocap=pose) for pose in poses])
            placed = rows[self._task_of[self._present]][:, self._target_columns].astype(np.float32)
            self._state = self._state.at[:, self._target_columns].set(placed)

    def _whole_course(self) -> _Course:
        """The course of all trials, in their order."""
        now = self._course_now()
        whole = _Course(*(np.zeros(self._trials, part.dtype) for part in now))
        for trials, course in (*self._dismissed, (self._present, now)):  # the latest word on a trial last
            for part, found in zip(whole, course, strict=True):
                part[trials] = found
        return whole

    def _outcomes(self) -> list[Trial]:
        course = self._whole_course()
        plans, steps = (np.maximum(count, 1) for count in (course.plans, course.steps))
        return [
            Trial(
                bool(course.index[b] >= len(self._keyframes)),
                float(course.ended[b]),
                int(course.index[b]),
                float(course.cost[b] / steps[b]),
                float(course.wins[b] / plans[b]),
            )
            for b in range(self._trials)
        ]

    def motions(self) -> list[Motion]:
        """The motions of the first ``keep`` trials, each up to its end."""
        dt = float(self._model.opt.timestep)
        ends = self._whole_course().ended
        found = []
        for b in range(self._keep):
            task = self.tasks[self._task_of[b]]
            rounds = [(states[trials == b], ctrl[trials == b]) for trials, states, ctrl in self._recorded]
            states, controls = (
                np.concatenate([part[0] for part in parts if len(part)]).astype(float)
                for parts in zip(*rounds, strict=True)
            )
            steps = len(states) if np.isinf(ends[b]) else max(round(float(ends[b]) / dt), 1)
            parts = unpack_state(self._model, np.concatenate([self._begin[b, None], states[:steps]]))
            ctrl = np.concatenate([controls[:steps], controls[steps - 1 : steps]])
            mocap = parts.mocap if self._model.nmocap else None
            source = Source.now(method=self.method, task=task.name, notes="one of a batch of trials on a GPU")
            found.append(Motion(task.world, dt, parts.qpos, parts.qvel, ctrl, mocap=mocap, source=source))
        return found
