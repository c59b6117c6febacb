"""One interface to stepping a model many times at once, whatever steps it.

A rollout holds an initial state and a row of controls and plays them open loop. Backends differ in speed and precision
(``cpu``: float64 on threads, ``gpu``: float32 on one GPU), not in what they return.
"""

from __future__ import annotations

import copy
import importlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from gambol.errors import InputError, unknown_name
from gambol.sim.state import Array, state_size

BACKENDS = {"cpu": "gambol.sim.cpu:CpuBackend", "gpu": "gambol.sim.gpu:GpuBackend"}

# Positions, velocities or accelerations beyond this (MuJoCo's own limit), or not a number, are no simulation any more.
LARGEST = mujoco.mjMAXVAL


@dataclass(frozen=True)
class Rollout:
    """What N rollouts of T recorded steps did.

    A rollout that failed (numbers that are not finite or beyond MuJoCo's limit, or a MuJoCo warning) repeats its last
    good row from there on, or its initial state and zero sensors where no step was good; its time stands still too.
    """

    states: Array  # (N, T, nstate): after each recorded step
    sensors: Array  # (N, T, nsensordata), or (N, T, 0): as computed inside that step, at the state it started from
    failed: NDArray[np.bool_]  # (N,)
    nq: int
    nv: int

    @classmethod
    def empty(cls, model: mujoco.MjModel, rollouts: int, steps: int, *, sensors: bool = True) -> Self:
        """Unfilled arrays, to be given as ``out`` again and again."""
        return cls(
            states=np.empty((rollouts, steps, state_size(model))),
            sensors=np.empty((rollouts, steps, model.nsensordata if sensors else 0)),
            failed=np.zeros(rollouts, bool),
            nq=model.nq,
            nv=model.nv,
        )

    @property
    def time(self) -> Array:
        """Seconds (N, T)."""
        return self.states[..., 0]

    @property
    def qpos(self) -> Array:
        """Positions (N, T, nq)."""
        return self.states[..., 1 : 1 + self.nq]

    @property
    def qvel(self) -> Array:
        """Velocities (N, T, nv)."""
        return self.states[..., 1 + self.nq : 1 + self.nq + self.nv]


class Backend(ABC):
    """Rolls out one model. It holds threads or device memory until closed; use it as a context manager.

    The model is copied when the backend is made: later edits do not reach it. One backend serves one thread at a time.
    """

    def __init__(self, model: mujoco.MjModel):
        self.model = self.copied(model)
        self.nstate = state_size(model)

    @staticmethod
    def copied(model: mujoco.MjModel) -> mujoco.MjModel:
        """A copy of a model that can be rolled out."""
        if model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_SLEEP:
            raise InputError(
                "the model lets bodies sleep, and what sleeps is not part of a state",
                hint="roll out a model without the sleep flag",
            )
        return copy.copy(model)

    def rollout(
        self,
        initial: ArrayLike,
        controls: ArrayLike,
        *,
        sensors: bool = True,
        steps_per_control: int = 1,
        out: Rollout | None = None,
    ) -> Rollout:
        """Play controls (N, T, nu) from states (N, nstate), or one state for all of them (1, nstate) or (nstate,).

        Each control is held for ``steps_per_control`` physics steps, of which the last is recorded. ``out`` is a
        :class:`Rollout` of the same shapes to write into and return, so that nothing is allocated.
        """
        initial, controls = self._checked(initial, controls, steps_per_control)
        rollouts, steps = controls.shape[:2]
        if out is None:
            out = Rollout.empty(self.model, rollouts, steps, sensors=sensors)
        else:
            self._check_out(out, rollouts, steps, sensors)
        self._fill(initial, controls, steps_per_control, out)
        return out

    @abstractmethod
    def _fill(self, initial: Array, controls: Array, steps_per_control: int, out: Rollout) -> None:
        """Run checked inputs: states (N or 1, nstate) and controls (N, T, nu); record sensors if ``out`` has room."""

    @abstractmethod
    def close(self) -> None:
        """Give back threads or device memory; the backend cannot be used after."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _checked(self, initial: ArrayLike, controls: ArrayLike, steps_per_control: int) -> tuple[Array, Array]:
        initial = np.atleast_2d(np.asarray(initial, float))
        controls = np.ascontiguousarray(controls, float)
        self._check_shapes(initial.shape, controls.shape, steps_per_control)
        if not np.isfinite(initial).all():
            raise InputError("holds numbers that are not finite", key="initial")
        return initial, controls

    def _check_shapes(self, initial: tuple[int, ...], controls: tuple[int, ...], steps_per_control: int) -> None:
        if len(controls) != 3 or controls[2] != self.model.nu or 0 in controls[:2]:
            raise InputError(f"has shape {controls}; the model needs (N, T, {self.model.nu})", key="controls")
        if len(initial) != 2 or initial[0] not in (1, controls[0]) or initial[1] != self.nstate:
            raise InputError(
                f"has shape {initial}; the model and the controls need (1 or {controls[0]}, {self.nstate})",
                key="initial",
            )
        if steps_per_control < 1:
            raise InputError(f"is {steps_per_control}; at least 1 is needed", key="steps_per_control")

    def _check_out(self, out: Rollout, rollouts: int, steps: int, sensors: bool) -> None:
        for name, array, width in (
            ("states", out.states, self.nstate),
            ("sensors", out.sensors, self.model.nsensordata if sensors else 0),
        ):
            if array.shape != (rollouts, steps, width) or not array.flags.c_contiguous or array.dtype != np.float64:
                raise InputError(
                    f"{name} has shape {array.shape}; a contiguous float64 array ({rollouts}, {steps}, {width}) "
                    "is needed",
                    key="out",
                )


def backend(name: str, model: mujoco.MjModel, **options: Any) -> Backend:
    """The backend of that name over a model; options are those of its class."""
    if name not in BACKENDS:
        raise unknown_name("backend", name, BACKENDS)
    module, _, kind = BACKENDS[name].partition(":")
    return getattr(importlib.import_module(module), kind)(model, **options)
