"""A motion performed with feedback: sampling around what its servos aimed at keeps it close when the world is not quite
the one it was made in.

As in predictive sampling, a spline of corrections is improved from the present state on while the motion goes on. What
counts is how far the body is from where it was in the motion.
"""

from __future__ import annotations

import contextlib
import copy
from dataclasses import dataclass, replace

import mujoco
import numpy as np

from gambol.errors import InputError
from gambol.motion import Motion
from gambol.rotations import Array, conjugate, multiply
from gambol.sampling import candidates, chosen, shaped_noise, strides, widths
from gambol.sim import Rollout, backend, pack_state
from gambol.splines import spline_matrix

ROLLOUTS, HORIZON, KNOTS, EVERY = 48, 0.5, 6, 0.02
"""Candidates of a plan, seconds it looks ahead, knots of its corrections, seconds between plans."""
NOISE, SPREAD, FOCUS, STRIDES = 0.06, 3.0, 0.5, (2.0, 4.0)
"""Radians of a correction's noise; the rest as in :mod:`gambol.partwise.settings`."""
PLACE, TURN, JOINTS, SPEED, CORRECTION = 100.0, 20.0, 1.0, 0.02, 0.1
"""Weights of squared metres and radians of the root, radians of the joints, speeds, and corrections."""
LOST = 0.3
"""Metres between the root and where it should be beyond which a motion is over."""
WHOLE, OPEN_LOOP, TRACKED = "of s", "open loop s", "tracked s"
"""What :func:`survival` tells: how long the motion is, and what of it is left without and with feedback."""


@dataclass(frozen=True)
class Performance:
    """How far a motion got in some world."""

    states: Array
    """(steps + 1, nstate)"""
    controls: Array
    """(steps, nu)"""
    survived: float
    """Seconds until the root was lost or the simulation became unstable, or the whole motion."""


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
    with contextlib.ExitStack() as open_until_done:
        world = open_until_done.enter_context(backend("cpu", model, threads=1))
        corrector = open_until_done.enter_context(_Corrector(wished, model, seed, threads)) if feedback else None
        for step in range(0, steps, every):
            count = min(every, steps - step)
            aims = wished.ctrl[step : step + count]
            if corrector is not None:
                aims = aims + corrector.corrections(state, step, every)[:count]
            played = world.rollout(state, aims[None], sensors=False)
            if played.failed[0]:
                break
            states.extend(played.states[0])
            controls.extend(aims)
            state = states[-1]
    whole = np.array(states)
    place = slice(1 + wished.root, 4 + wished.root)
    off = np.linalg.norm(whole[:, place] - wished.qpos[: len(whole), wished.root : wished.root + 3], axis=1)
    lost = np.flatnonzero(off > LOST)
    return Performance(whole, np.array(controls), float(lost[0] if len(lost) else len(whole) - 1) * dt)


@dataclass(frozen=True)
class _Wish:
    """A motion frame by frame: positions, velocities, and what the servos aimed at."""

    qpos: Array
    qvel: Array
    ctrl: Array
    root: int
    """First column of the main character's root among the positions."""
    joints: slice
    """Columns of its joints."""
    speeds: slice
    """Columns of its speeds among the velocities."""

    @staticmethod
    def of(motion: Motion, dt: float) -> _Wish:
        """At a time step."""
        motion = motion if abs(motion.dt - dt) < 1e-12 else motion.resampled(dt)
        if motion.ctrl is None:
            raise InputError("the motion has no controls to be performed with")
        if motion.mocap is not None:
            raise InputError("motions with targets cannot be performed again yet")
        span = motion.scene.spans[motion.scene.main_character]
        root, joints = span.qpos.start, slice(span.qpos.start + 7, span.qpos.stop)
        return _Wish(motion.qpos, motion.velocities, motion.ctrl, root, joints, span.qvel)


class _Corrector:
    """A spline of corrections, improved from state to state."""

    def __init__(self, wished: _Wish, model: mujoco.MjModel, seed: int, threads: int | None):
        self._wished, self._model = wished, model
        self._backend = backend("cpu", model, threads=threads)
        self._rng = np.random.default_rng(seed)
        dt = float(model.opt.timestep)
        self._steps = max(round(HORIZON / dt), 1)
        spacing = HORIZON / (KNOTS - 1)
        self._basis = spline_matrix(KNOTS, np.arange(self._steps, dtype=np.float64) * dt / spacing)
        later = max(round(EVERY / dt), 1) * dt / spacing
        self._shift = spline_matrix(KNOTS, np.arange(KNOTS, dtype=np.float64) + later)
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
        wished, at = self._wished, np.minimum(at, len(self._wished.qpos) - 1)
        place, turn = slice(wished.root, wished.root + 3), slice(wished.root + 3, wished.root + 7)
        turned = multiply(conjugate(wished.qpos[at, turn]), out.qpos[..., turn])[..., 1:]
        return (
            PLACE * ((out.qpos[..., place] - wished.qpos[at, place]) ** 2).sum(-1)
            + TURN * 4 * (turned**2).sum(-1)
            + JOINTS * ((out.qpos[..., wished.joints] - wished.qpos[at, wished.joints]) ** 2).sum(-1)
            + SPEED * ((out.qvel[..., wished.speeds] - wished.qvel[at, wished.speeds]) ** 2).sum(-1)
        ).mean(-1)


def tracked(motion: Motion, seed: int = 0, threads: int | None = None) -> Motion | None:
    """The motion as feedback performs it in its own world; None where it is lost on the way."""
    model = motion.scene.model
    done = perform(motion, model, feedback=True, seed=seed, threads=threads)
    if done.survived < motion.duration - 0.5 * motion.dt:
        return None
    qpos, qvel = done.states[:, 1 : 1 + model.nq], done.states[:, 1 + model.nq : 1 + model.nq + model.nv]
    ctrl = np.concatenate([done.controls, done.controls[-1:]])
    source = replace(motion.source, notes="performed with feedback")
    return Motion(motion.scene, float(model.opt.timestep), qpos, qvel, ctrl, source=source)


def survival(motion: Motion, share: float, seed: int = 0, threads: int | None = None) -> dict[str, float]:
    """Seconds that the motion survives with a heavier body, open loop and tracked, and how long it is."""
    other = heavier(motion.scene.model, share)
    found = {
        name: perform(motion, other, feedback=feedback, seed=seed, threads=threads).survived
        for name, feedback in ((OPEN_LOOP, False), (TRACKED, True))
    }
    return {"mass +%": 100 * share, **{k: round(v, 3) for k, v in found.items()}, WHOLE: round(motion.duration, 3)}


def heavier(model: mujoco.MjModel, share: float) -> mujoco.MjModel:
    """The same model with every mass larger by a share."""
    other = copy.copy(model)
    other.body_mass *= 1 + share
    other.body_inertia *= 1 + share
    mujoco.mj_setConst(other, mujoco.MjData(other))
    return other
