"""Predictive sampling and its partwise extension: try variations of the present plan, keep the best (Section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from gambol.errors import InputError
from gambol.goals import Keyframe
from gambol.partwise.groups import Grouping, parts_of_actuators, parts_of_frame
from gambol.partwise.recombining import recombine
from gambol.partwise.sensing import Senses
from gambol.partwise.settings import Settings
from gambol.partwise.terms import KeyframeTable, Rolled, common_columns, concerned_parts, costs
from gambol.rotations import Array
from gambol.sampling import candidates, chosen, shaped_noise, strides, widths
from gambol.scenes import Scene
from gambol.sim import Rollout, UnstableError, backend
from gambol.splines import spline_matrix, spline_row


@dataclass(frozen=True)
class Partwise:
    """What recombination needs to know about a body and a sequence of keyframes."""

    source_groups: np.ndarray
    """(partitions, nu) the group that provides each actuator in each partition."""
    seen: Array
    """(K, G, P + C) which costs of each keyframe count for which group."""

    @staticmethod
    def of(scene: Scene, keyframes: tuple[Keyframe, ...], senses: Senses, *, own_joints: bool = True) -> Partwise:
        """Groups and partitions of the scene's main character; a pair counts for the parts of both its bodies.

        Table 1 has every part see the velocities and controls of joints. We take that as: each of its own joints
        (``own_joints``), because with those of all joints the noise of the others decides which arm is best.
        """
        main = scene.main_character
        character = scene.characters[main]
        grouping = Grouping.of(character)
        pairs, columns = max(len(keyframe.pairs) for keyframe in keyframes), common_columns(senses)
        groups = len(grouping.groups)
        # one more group sees everything: other characters in the scene follow the candidate that is best for all
        seen = np.ones((len(keyframes), groups + 1, pairs + len(columns)))
        for place, (term, owner) in enumerate(columns, start=pairs):
            parts = {owner} if owner and own_joints else concerned_parts(term, character)
            seen[:, :groups, place] = grouping.sees(parts)
        for row, keyframe in enumerate(keyframes):
            for place, pair in enumerate(keyframe.pairs):
                names = (scene.frame(pair.body).name, scene.frame(pair.on).name)
                parts = set().union(*(parts_of_frame(name, scene.characters, main) for name in names))
                seen[row, :groups, place] = grouping.sees(parts)
        sources = np.full((len(grouping.partitions), scene.model.nu), groups)
        sources[:, scene.spans[main].ctrl] = grouping.source_groups(parts_of_actuators(character))
        return Partwise(sources, seen)


@dataclass(frozen=True)
class Plan:
    """Knots (K, nu) of a control spline, ``spacing`` seconds apart, the first at the moment it was planned for."""

    knots: Array
    spacing: float
    bounds: tuple[Array, Array]
    """Lowest and highest controls (nu,): a spline may overshoot its knots."""

    def control(self, age: float) -> Array:
        """The control (nu,) to apply ``age`` seconds after that moment."""
        return np.clip(spline_row(len(self.knots), round(age / self.spacing, 9)) @ self.knots, *self.bounds)


class Planner:
    """Improves a control spline, one batch of rollouts at a time; its random stream is its own.

    Without ``partwise`` it is plain predictive sampling.
    """

    def __init__(
        self,
        senses: Senses,
        table: KeyframeTable,
        partwise: Partwise | None,
        settings: Settings,
        heights: tuple[float, float],
        seed: int,
    ):
        model = senses.model
        if model.nu == 0:
            raise InputError("the character has no actuators to plan for")
        self._kept = carried_count(partwise, settings)
        self._senses, self._table, self._partwise = senses, table, partwise
        self._settings, self._heights = settings, heights
        self._backend = backend("cpu", model, threads=settings.threads)
        self._seed, self._rng = seed, np.random.default_rng(seed)
        steps = max(round(settings.horizon / model.opt.timestep), 1)
        self._spacing = settings.horizon / max(settings.knots - 1, 1)
        times = np.arange(steps, dtype=np.float64) * model.opt.timestep
        self._phases = np.arange(settings.knots, dtype=np.float64)
        self._basis = spline_matrix(settings.knots, times / self._spacing)
        self._low, self._high = control_range(model)
        self._fresh = settings.rollouts - 1 - self._kept
        self._width = noise_width(settings, self._fresh, self._low, self._high)
        self._out = Rollout.empty(model, settings.rollouts, steps)
        self._nominal = np.zeros((1, settings.knots, model.nu))
        self._carried = np.zeros((1, self._kept, settings.knots, model.nu))
        self.controls = np.zeros((settings.rollouts, steps, model.nu))
        """What the last plan tried, over time."""
        self.discarded = 0
        """Rollouts thrown away so far because the simulation went unstable."""
        self.recombined_wins = 0
        """Plans so far in which a recombined candidate was the best."""
        self.plans = 0
        """Plans so far."""

    @property
    def model(self) -> mujoco.MjModel:
        """What candidates are rolled out in."""
        return self._senses.model

    def close(self) -> None:
        """End the planning threads."""
        self._backend.close()

    def reset(self) -> None:
        """Forget the plan (zero torque, or the zero pose for servos) and begin the random stream anew."""
        self._rng = np.random.default_rng(self._seed)
        self.discarded = self.recombined_wins = self.plans = 0
        rest = np.broadcast_to(np.clip(0.0, self._low, self._high), self._nominal[0].shape)
        self.resume(Plan(rest, self._spacing, (self._low, self._high)))

    @property
    def plan(self) -> Plan:
        """The present plan; later rounds make new ones and leave this as it is."""
        return Plan(self._nominal[0], self._spacing, (self._low, self._high))

    def resume(self, plan: Plan) -> None:
        """Go on from a plan that another planner of the same body made."""
        self._nominal = plan.knots[None].copy()
        self._carried = np.repeat(self._nominal[:, None], self._kept, axis=1)

    def improve(self, state: Array, keyframe: int, age: float) -> None:
        """One plan, or several rounds, from a state (nstate,) towards a keyframe; the last is ``age`` seconds old."""
        later = self._phases + age / self._spacing
        self._shift(spline_matrix(self._settings.knots, later))
        for _ in range(self._settings.rounds):
            self._round(state, keyframe)

    def _shift(self, later: Array) -> None:
        """Read the plan and the carried candidates from a later moment on."""
        self._nominal, self._carried = later @ self._nominal, later @ self._carried

    def _round(self, state: Array, keyframe: int) -> None:
        settings, rng = self._settings, self._rng
        shape = (1, self._fresh, settings.knots, len(self._low))
        draws = rng.standard_normal(shape), rng.random((1, self._fresh, 1, len(self._low)))
        noise = shaped_noise(*draws, self._width, settings.focus)
        knots = candidates(self._nominal, self._carried, noise, self._low, self._high)
        self.controls = controls = np.clip(self._basis @ knots[0], self._low, self._high)
        out = self._backend.rollout(state, controls, out=self._out)
        index = np.array([keyframe])
        rolled = Rolled(
            self._senses,
            out.sensors[None],
            out.qvel[None, ..., self._senses.joint_dofs],
            controls[None],
            self._table.facing[index][:, None, None],
            self._heights,
        )
        found = costs(rolled, self._table, index)
        bad = out.failed | ~np.isfinite(found[0].sum(-1))
        self.discarded += int(bad.sum())
        if bad.all():
            raise UnstableError("every candidate made the simulation unstable")
        found[0, bad] = UNSTABLE_COST
        totals = found.sum(-1)
        best = np.argmin(totals, axis=1)
        carried = [strides(knots, totals, settings.strides)]
        if self._partwise is not None:
            seen, sources = self._partwise.seen[index], self._partwise.source_groups
            carried.append(recombine(knots, found, seen, sources))
            self.recombined_wins += int(best[0] >= settings.rollouts - len(sources))
        self._nominal, self._carried = chosen(knots, best, settings.smoothing), np.concatenate(carried, axis=1)
        self.plans += 1


UNSTABLE_COST = 1e9
"""Of every pair and term of a rollout that went unstable: finite, so that sums of it can be compared."""


def carried_count(partwise: Partwise | None, settings: Settings) -> int:
    """How many candidates of a round come from the one before: strides, then one for each partition."""
    count = len(settings.strides) + (0 if partwise is None else len(partwise.source_groups))
    if settings.rollouts < count + 2:
        problem = f"must be at least {count + 2} for this body's partitions and strides"
        raise InputError(problem, key="settings.rollouts")
    return count


def noise_width(settings: Settings, fresh: int, low: Array, high: Array) -> Array:
    """Standard deviations (fresh, nu) of the candidates' noise."""
    return settings.noise * widths(fresh, settings.spread)[:, None] * 0.5 * (high - low)


def control_range(model: mujoco.MjModel) -> tuple[Array, Array]:
    """Bounds (nu,) of the controls; where a servo has none, half a turn either way."""
    ranges, limited = model.actuator_ctrlrange, model.actuator_ctrllimited.astype(bool)
    return np.where(limited, ranges[:, 0], -np.pi), np.where(limited, ranges[:, 1], np.pi)
