"""Predictive sampling: try noisy variations of the present plan, keep the best (Section 3.1)."""

from __future__ import annotations

import numpy as np

from gambol.errors import InputError
from gambol.goals import Keyframe
from gambol.partwise.sensing import Senses
from gambol.partwise.settings import Settings
from gambol.partwise.spline import spline_matrix, spline_row
from gambol.partwise.terms import ContactPairs, Rolled, term_costs
from gambol.rotations import Array
from gambol.sim import Rollout, backend, pack_state


class Planner:
    """Improves a control spline, one batch of rollouts at a time; its random stream is its own."""

    def __init__(self, senses: Senses, settings: Settings, heights: tuple[float, float], seed: int):
        model = senses.model
        if model.nu == 0:
            raise InputError("the character has no actuators to plan for")
        self._senses, self._settings, self._heights = senses, settings, heights
        self._backend = backend("cpu", model, threads=settings.threads)
        self._rng = np.random.default_rng(seed)
        steps = max(round(settings.horizon / model.opt.timestep), 1)
        self._spacing = settings.horizon / max(settings.knots - 1, 1)
        self._basis = spline_matrix(settings.knots, np.arange(steps) * model.opt.timestep / self._spacing)
        self._low, self._high = _control_range(model.actuator_ctrlrange, model.actuator_ctrllimited.astype(bool))
        self._knots = np.zeros((settings.rollouts, settings.knots, model.nu))
        self._out = Rollout.empty(model, settings.rollouts, steps)
        self._joint_dofs = slice(6, None)
        self.discarded = 0
        """Rollouts thrown away so far because the simulation went unstable."""

    @property
    def nominal(self) -> Array:
        """Knots (knots, nu) of the present plan."""
        return self._knots[0]

    def close(self) -> None:
        """End the planning threads."""
        self._backend.close()

    def reset(self) -> None:
        """Forget the plan: zero torque, or the zero pose for servos."""
        self._knots[:] = np.clip(0.0, self._low, self._high)

    def control(self, age: float) -> Array:
        """The control (nu,) to apply ``age`` seconds after the plan was made."""
        return spline_row(self._settings.knots, round(age / self._spacing, 9)) @ self.nominal

    def improve(self, qpos: Array, qvel: Array, keyframe: Keyframe, pairs: ContactPairs, age: float) -> float:
        """One plan from a state, the last plan being ``age`` seconds old; the cost of the best candidate."""
        settings, knots = self._settings, self._knots
        phases = np.arange(settings.knots, dtype=np.float64) + age / self._spacing
        knots[0] = spline_matrix(settings.knots, phases) @ knots[0]
        scale = settings.noise * 0.5 * (self._high - self._low)
        knots[1:] = knots[0] + scale * self._rng.standard_normal(knots[1:].shape)
        np.clip(knots, self._low, self._high, out=knots)
        controls = self._basis @ knots
        np.clip(controls, self._low, self._high, out=controls)
        out = self._backend.rollout(pack_state(self._senses.model, qpos, qvel), controls, out=self._out)
        rolled = Rolled(self._senses, out.sensors, out.qvel[..., self._joint_dofs], controls, keyframe, self._heights)
        totals = term_costs(rolled, pairs).sum(-1)
        bad = out.failed | ~np.isfinite(totals)
        self.discarded += int(bad.sum())
        if bad.all():
            raise FloatingPointError("every candidate made the simulation unstable")
        best = int(np.argmin(np.where(bad, np.inf, totals)))
        knots[0] = knots[best]
        return float(totals[best])


def _control_range(ranges: Array, limited: np.ndarray) -> tuple[Array, Array]:
    """Bounds of the controls; where a servo has none, half a turn either way."""
    low, high = np.where(limited, ranges[:, 0], -np.pi), np.where(limited, ranges[:, 1], np.pi)
    return low, high
