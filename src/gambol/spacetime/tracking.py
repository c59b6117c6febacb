"""A motion performed with feedback: sampling around what its servos aimed at keeps it close when the world is not quite
the one it was made in.

As in predictive sampling, a spline of corrections is improved from the present state on while the motion goes on. What
counts is how far the body is from where it was in the motion.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import mujoco
import numpy as np

from gambol.errors import InputError
from gambol.motion import Motion
from gambol.rotations import Array, conjugate, multiply
from gambol.sampling import candidates, chosen, shaped_noise, strides, widths
from gambol.sim import Rollout, backend, pack_state
from gambol.splines import spline_matrix

ROLLOUTS, HORIZON, KNOTS, EVERY = 48, 0.3, 4, 0.02
"""Candidates of a plan, seconds it looks ahead, knots of its corrections, seconds between plans."""
NOISE, SPREAD, FOCUS, STRIDES = 0.06, 3.0, 0.5, (2.0, 4.0)
"""Radians of a correction's noise; the rest as in :mod:`gambol.partwise.settings`."""
PLACE, TURN, JOINTS, SPEED, CORRECTION = 100.0, 20.0, 1.0, 0.02, 0.1
"""Weights of squared metres and radians of the root, radians of the joints, speeds, and corrections."""
LOST = 0.3
"""Metres between the root and where it should be beyond which a motion is over."""


@dataclass(frozen=True)
class Performance:
    """How far a motion got in some world."""

    states: Array
    """(steps + 1, nstate)"""
    controls: Array
    """(steps, nu)"""
    survived: float
    """Seconds until the root was lost, or the whole motion."""


def perform(
    motion: Motion, model: mujoco.MjModel, *, feedback: bool, seed: int = 0, threads: int | None = None
) -> Performance:
    """Play what the servos aimed at in a world of one's own: another mass, another time step.

    Without ``feedback`` the motion is open loop, as it was found.
    """
    dt = float(model.opt.timestep)
    wished = _Wish.of(motion, dt)
    steps = len(wished.qpos) - 1
    state = pack_state(model, wished.qpos[0], wished.qvel[0])
    states, controls = [state], []
    every = max(round(EVERY / dt), 1)
    with backend("cpu", model, threads=1) as world, _Corrector(wished, model, seed, threads) as corrector:
        for step in range(0, steps, every):
            count = min(every, steps - step)
            aims = wished.ctrl[step : step + count]
            if feedback:
                aims = aims + corrector.corrections(state, step, every)[:count]
            played = world.rollout(state, aims[None], sensors=False).states[0]
            states.extend(played)
            controls.extend(aims)
            state = played[-1]
    whole = np.array(states)
    off = np.linalg.norm(whole[:, 1:4] - wished.qpos[:, :3], axis=1)
    lost = np.flatnonzero(off > LOST)
    return Performance(whole, np.array(controls), float(lost[0] if len(lost) else steps) * dt)


@dataclass(frozen=True)
class _Wish:
    """A motion frame by frame: positions, velocities, and what the servos aimed at."""

    qpos: Array
    qvel: Array
    ctrl: Array

    @staticmethod
    def of(motion: Motion, dt: float) -> _Wish:
        """At a time step."""
        motion = motion if abs(motion.dt - dt) < 1e-12 else motion.resampled(dt)
        if motion.ctrl is None:
            raise InputError("the motion has no controls to be performed with")
        return _Wish(motion.qpos, motion.velocities, motion.ctrl)


class _Corrector:
    """A spline of corrections, improved from state to state."""

    def __init__(self, wished: _Wish, model: mujoco.MjModel, seed: int, threads: int | None):
        self._wished, self._model = wished, model
        self._backend = backend("cpu", model, threads=threads)
        self._rng = np.random.default_rng(seed)
        dt = float(model.opt.timestep)
        self._steps = max(round(HORIZON / dt), 1)
        self._spacing = HORIZON / (KNOTS - 1)
        self._basis = spline_matrix(KNOTS, np.arange(self._steps, dtype=np.float64) * dt / self._spacing)
        self._shift = spline_matrix(
            KNOTS, np.arange(KNOTS, dtype=np.float64) + max(round(EVERY / dt), 1) * dt / self._spacing
        )
        self._fresh = ROLLOUTS - 1 - len(STRIDES)
        self._width = NOISE * np.tile(widths(self._fresh, SPREAD)[:, None], (1, model.nu))
        self._knots = np.zeros((1, KNOTS, model.nu))
        self._carried = np.zeros((1, len(STRIDES), KNOTS, model.nu))
        self._most = np.full(model.nu, np.pi)
        self._out: Rollout | None = None

    def __enter__(self) -> _Corrector:
        return self

    def __exit__(self, *_: object) -> None:
        self._backend.close()

    def corrections(self, state: Array, step: int, count: int) -> Array:
        """What to add to the servos' aims (count, nu) from a state (nstate,) at a step of the motion on."""
        ahead = np.minimum(np.arange(step, step + self._steps), len(self._wished.qpos) - 1)
        shape = (1, self._fresh, KNOTS, self._model.nu)
        draws = self._rng.standard_normal(shape), self._rng.random((1, self._fresh, 1, self._model.nu))
        noise = shaped_noise(*draws, self._width, FOCUS)
        tried = candidates(self._knots, self._carried, noise, -self._most, self._most)
        added = self._basis @ tried[0]
        aims = self._wished.ctrl[ahead] + added
        if self._out is None:
            self._out = Rollout.empty(self._model, *aims.shape[:2])
        out = self._backend.rollout(state, aims, sensors=False, out=self._out)
        costs = self._distance(out, ahead + 1) + CORRECTION * (added**2).mean((1, 2))
        costs = np.where(out.failed, np.inf, costs)[None]
        best = chosen(tried, np.argmin(costs, axis=1), 0.0)
        self._carried = self._shift @ strides(tried, costs, STRIDES)
        self._knots = self._shift @ best
        return self._basis[:count] @ best[0]

    def _distance(self, out: Rollout, at: np.ndarray) -> Array:
        """Mean squared distance (N,) of motions from the one wished for, at its frames ``at``."""
        at = np.minimum(at, len(self._wished.qpos) - 1)
        qpos, qvel = self._wished.qpos[at], self._wished.qvel[at]
        turn = multiply(conjugate(qpos[:, 3:7]), out.qpos[..., 3:7])[..., 1:]
        return (
            PLACE * ((out.qpos[..., :3] - qpos[:, :3]) ** 2).sum(-1)
            + TURN * 4 * (turn**2).sum(-1)
            + JOINTS * ((out.qpos[..., 7:] - qpos[:, 7:]) ** 2).sum(-1)
            + SPEED * ((out.qvel - qvel) ** 2).sum(-1)
        ).mean(-1)


def tracked(motion: Motion, seed: int = 0, threads: int | None = None) -> Motion:
    """The motion as feedback performs it in its own world."""
    model = motion.scene.model
    done = perform(motion, model, feedback=True, seed=seed, threads=threads)
    qpos, qvel = done.states[:, 1 : 1 + model.nq], done.states[:, 1 + model.nq : 1 + model.nq + model.nv]
    ctrl = np.concatenate([done.controls, done.controls[-1:]])
    return Motion(motion.scene, float(model.opt.timestep), qpos, qvel, ctrl, source=motion.source)


def survival(motion: Motion, share: float, seed: int = 0, threads: int | None = None) -> dict[str, float]:
    """Seconds that the motion survives with a heavier body, open loop and tracked, and how long it is."""
    other = heavier(motion.scene.model, share)
    found = {
        name: perform(motion, other, feedback=feedback, seed=seed, threads=threads).survived
        for name, feedback in (("open loop s", False), ("tracked s", True))
    }
    return {"mass +%": 100 * share, **{k: round(v, 3) for k, v in found.items()}, "of s": round(motion.duration, 3)}


def heavier(model: mujoco.MjModel, share: float) -> mujoco.MjModel:
    """The same model with every mass larger by a share."""
    other = copy.copy(model)
    other.body_mass *= 1 + share
    other.body_inertia *= 1 + share
    mujoco.mj_setConst(other, mujoco.MjData(other))
    return other
