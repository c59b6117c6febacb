"""Rollouts in float32 on a GPU, one world each, through MuJoCo Warp.

For each shape (N, T) what one control does is captured once as a CUDA graph and replayed T times, which runs as fast as
one graph of all T and is captured ten times sooner. States and sensors are written down on the device and copied out
once. On Warp's CPU device the same code runs without a graph, slowly, which is how it is tested.

Worlds may differ: models that have the same structure and other numbers (a heavier body, a lower chair) are rolled out
side by side, which is faster than one after the other.

MuJoCo Warp takes contacts in the order in which GPU threads find them, so on a GPU two runs agree to float32 rounding
and no further.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from gambol.errors import InputError, MissingExtraError
from gambol.sim.backend import LARGEST, Backend, Rollout
from gambol.sim.kernels import kernels
from gambol.sim.state import STATE, Array

SOLVER_STEPS = 6
"""Newton steps that are enough for ninety-nine worlds of a hundred."""


@dataclass(frozen=True)
class DeviceRollout:
    """A rollout that stayed on the device, as Warp arrays; the next one of the same shape overwrites it."""

    states: Any  # (N, T, nstate) float32
    sensors: Any  # (N, T, nsensordata) float32, at the state each recorded step started from
    failed: Any  # (N,) bool
    overflowed: Any  # (N,) int32, bits of mujoco_warp.OverflowType

    def check(self) -> None:
        """Raise if a world ran out of room for its contacts, which makes its physics wrong; waits for the device."""
        overflowed = self.overflowed.numpy()
        if overflowed.any():
            from mujoco_warp import OverflowType

            raise InputError(
                f"{np.count_nonzero(overflowed)} of {len(overflowed)} worlds ran out of room on the GPU "
                f"({OverflowType(int(np.bitwise_or.reduce(overflowed))).name})",
                hint="give the backend a larger nconmax= (contacts a world) or njmax= (constraint rows a world)",
            )


class GpuBackend(Backend):
    """Rollouts on a Warp device, the first CUDA GPU unless given.

    ``nconmax`` is how many contacts a world has on average over all worlds, ``njmax`` how many constraint rows it has
    at most; both are guessed from the model unless given. Each shape (N, T) that was rolled out keeps its device memory
    until the backend is closed.

    ``variants`` are models that differ from the first in numbers alone, or that model again; rollouts are shared out
    evenly among the model and its variants, in their order.

    ``solver_steps`` are the Newton steps in which contacts are solved at most, for motions that are only tried: all
    worlds of a batch wait for the slowest. :data:`SOLVER_STEPS` is a good number.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        *,
        device: str | None = None,
        nconmax: int | None = None,
        njmax: int | None = None,
        variants: Sequence[mujoco.MjModel] = (),
        solver_steps: int | None = None,
    ):
        super().__init__(model)
        copies = {id(model): self.model}
        for variant in variants:
            if id(variant) not in copies:
                copies[id(variant)] = Backend.copied(variant)
        self._models = tuple(copies[id(each)] for each in (model, *variants))
        if solver_steps is not None:
            for each in copies.values():
                each.opt.iterations = min(each.opt.iterations, solver_steps)
        self._wp, self._mjw = _import_warp()
        self.device = self._find_device(device)
        contacts, rows = room(model)
        self.nconmax, self.njmax = nconmax or contacts, njmax or rows
        self._closed = False
        overflow = self._mjw.OverflowType
        # A solver that stops at its iteration limit is no overflow: the CPU solver stops there as well.
        self._overflow_bits = int(overflow.ALL & ~(overflow.ITERATIONS | overflow.LS_ITERATIONS))
        self._worlds: dict[int, tuple[Any, Any]] = {}
        self._programs: dict[tuple[int, int, int], _Program] = {}

    def close(self) -> None:
        """Free the device memory of every shape."""
        self._programs.clear()
        self._worlds.clear()
        self._closed = True

    def rollout_device(self, initial: Any, controls: Any, *, steps_per_control: int = 1) -> DeviceRollout:
        """As :meth:`rollout`, without waiting for the device or copying to the host.

        Either input may be a float32 Warp array on the device, states then (N, nstate). Call ``check`` on the result
        when it is time to wait.
        """
        wp = self._wp
        if not isinstance(initial, wp.array):
            initial = _float32(np.atleast_2d(initial))
        if not isinstance(controls, wp.array):
            controls = _float32(controls)
        self._check_shapes(initial.shape, controls.shape, steps_per_control)
        rollouts, steps = controls.shape[:2]
        program = self._program(rollouts, steps, steps_per_control)
        for name, source, target in (("initial", initial, program.initial), ("controls", controls, program.controls)):
            if isinstance(source, np.ndarray):
                target.assign(np.ascontiguousarray(np.broadcast_to(source, target.shape)))
            elif source.dtype is wp.float32 and source.shape == target.shape:
                wp.copy(target, source)
            else:
                raise InputError(f"a Warp array must be float32 and have shape {target.shape}", key=name)
        program.run()
        return program.result

    def rollout_jax(self, initial: Any, controls: Any) -> DeviceRollout:
        """As :meth:`rollout_device`, from JAX arrays to JAX arrays; waits for the device on the way in and out."""
        import jax

        wp = self._wp
        jax.block_until_ready((initial, controls))
        out = self.rollout_device(wp.from_jax(initial), wp.from_jax(controls))
        wp.synchronize_device(self.device)
        return DeviceRollout(*(wp.to_jax(array) for array in (out.states, out.sensors, out.failed, out.overflowed)))

    def _fill(self, initial: Array, controls: Array, steps_per_control: int, out: Rollout) -> None:
        result = self.rollout_device(initial, controls, steps_per_control=steps_per_control)
        result.check()
        out.states[...], out.failed[...] = result.states.numpy(), result.failed.numpy()
        if out.sensors.shape[2]:
            out.sensors[...] = result.sensors.numpy()

    def _find_device(self, name: str | None) -> Any:
        if name is None and not self._wp.is_cuda_available():
            raise InputError("no CUDA GPU was found", hint='device="cpu" runs the same code slowly, without a GPU')
        try:
            return self._wp.get_device(name or "cuda")
        except ValueError as error:
            raise InputError(f"no such Warp device: {error}", key="device") from error

    def _program(self, rollouts: int, steps: int, steps_per_control: int) -> _Program:
        if self._closed:
            raise InputError("the backend is closed")
        shape = (rollouts, steps, steps_per_control)
        if shape not in self._programs:
            with self._wp.ScopedDevice(self.device):
                if rollouts not in self._worlds:
                    self._worlds[rollouts] = self._make_worlds(rollouts)
                self._programs[shape] = _Program(self, *self._worlds[rollouts], steps, steps_per_control)
        return self._programs[shape]

    def _make_worlds(self, worlds: int) -> tuple[Any, Any]:
        """The model and the data of that many worlds on the device."""
        if worlds % len(self._models):
            raise InputError(f"{worlds} rollouts cannot be shared out evenly among {len(self._models)} models")
        different = {id(model): model for model in self._models}
        try:
            put = {key: self._mjw.put_model(model) for key, model in different.items()}
        except NotImplementedError as error:
            raise InputError(f"MuJoCo Warp cannot simulate this model: {error}") from error
        places = [list(different).index(id(model)) for model in self._models]
        of_world = np.repeat(places, worlds // len(places))
        shared = _varied(self._wp, list(put.values()), of_world)
        shared.opt.warn_overflow = 0  # the rollout says so itself, once
        data = self._mjw.make_data(self.model, nworld=worlds, nconmax=self.nconmax, njmax=self.njmax)
        _place_geoms(data, list(different.values()), of_world)
        return shared, data


_ONLY_ASLEEP = ("dof_length",)
"""What is the same for all worlds and matters for bodies that are put to sleep alone."""


def _varied(wp: Any, models: Sequence[Any], of_world: np.ndarray) -> Any:
    """The first of the models on the device, with the numbers of that model that each world is ``of``."""
    first = models[0]
    for model in models[1:]:
        for field in fields(first.opt):
            if not np.array_equal(*(_plain(getattr(each.opt, field.name)) for each in (first, model))):
                raise InputError(f"the models differ in their options: {field.name}")
    for field in fields(first) if len(models) > 1 else ():
        values = [getattr(model, field.name) for model in models]
        if not isinstance(values[0], wp.array) or field.name in _ONLY_ASLEEP:
            continue
        arrays = [value.numpy() for value in values]
        if all(np.array_equal(array, arrays[0]) for array in arrays):
            continue
        by_world = getattr(field.type, "shape", ())[:1] == ("*",)
        if not by_world or any(array.shape != arrays[0].shape for array in arrays):
            raise InputError(f"the models differ in more than numbers: {field.name}")
        setattr(first, field.name, wp.array(np.concatenate(arrays)[of_world], dtype=values[0].dtype))
    return first


def _place_geoms(data: Any, models: Sequence[mujoco.MjModel], of_world: np.ndarray) -> None:
    """Geoms that never move are placed when the data is made and not again: each world gets those of its own model."""
    if len(models) > 1:
        placed = [mujoco.MjData(model) for model in models]
        for model, each in zip(models, placed, strict=True):
            mujoco.mj_kinematics(model, each)
        data.geom_xpos.assign(np.stack([each.geom_xpos for each in placed])[of_world])
        data.geom_xmat.assign(np.stack([each.geom_xmat.reshape(-1, 3, 3) for each in placed])[of_world])


class _Program:
    """Everything one shape (N, T) needs on the device, and the captured steps."""

    def __init__(self, owner: GpuBackend, device_model: Any, worlds: Any, steps: int, steps_per_control: int):
        wp, model, rollouts = owner._wp, owner.model, worlds.nworld
        self.owner, self.device_model, self.data, self.steps = owner, device_model, worlds, steps
        self.steps_per_control = steps_per_control
        self.initial = wp.zeros((rollouts, owner.nstate), dtype=float)
        self.controls = wp.zeros((rollouts, steps, model.nu), dtype=float)
        self.no_sensors = wp.zeros((rollouts, model.nsensordata), dtype=float)
        self.result = DeviceRollout(
            states=wp.zeros((rollouts, steps, owner.nstate), dtype=float),
            sensors=wp.zeros((rollouts, steps, model.nsensordata), dtype=float),
            failed=wp.zeros(rollouts, dtype=wp.bool),
            overflowed=wp.zeros(rollouts, dtype=int),
        )
        self.step = wp.zeros(1, dtype=int)
        self.parts = _state_parts(model, self.data)
        self.graphs: tuple[Any, Any] | None = None
        if owner.device.is_cuda:
            # Once without a graph, so that every kernel is compiled and loaded before the capture.
            self._begin()
            self._advance()
            self.graphs = self._captured(self._begin), self._captured(self._advance)

    def run(self) -> None:
        """Play the controls; returns before the device is done."""
        wp = self.owner._wp
        with wp.ScopedDevice(self.owner.device):
            if self.graphs is None:
                self._begin()
                for _ in range(self.steps):
                    self._advance()
            else:
                begin, advance = self.graphs
                wp.capture_launch(begin)
                for _ in range(self.steps):
                    wp.capture_launch(advance)

    def _captured(self, work: Callable[[], None]) -> Any:
        with self.owner._wp.ScopedCapture(self.owner.device) as capture:
            work()
        return capture.graph

    def _begin(self) -> None:
        for array in (self.result.failed, self.result.overflowed, self.step, self.data.overflow):
            array.zero_()
        self.data.qacc_warmstart.zero_()  # as in every rollout on the CPU, the first step starts cold
        for part, first in self.parts:
            self._launch("load", part.shape, [self.initial, first], [part])

    def _advance(self) -> None:
        """One control: its physics steps, of which the last is written down."""
        owner, data, result = self.owner, self.data, self.result
        self._launch("control", data.ctrl.shape, [self.controls, self.step, LARGEST], [data.ctrl, result.failed])
        for _ in range(self.steps_per_control):
            owner._mjw.step(self.device_model, data)
            self._launch(
                "check",
                data.nworld,
                [data.qpos, data.qvel, data.qacc, data.act, data.overflow, owner._overflow_bits, LARGEST],
                [result.failed, result.overflowed],
            )
        for part, first in self.parts:
            self._launch("record", part.shape, [part, self.initial, first, self.step, result.failed], [result.states])
        sensors = data.sensordata
        self._launch("record", sensors.shape, [sensors, self.no_sensors, 0, self.step, result.failed], [result.sensors])
        self._launch("advance", 1, [], [self.step])

    def _launch(self, kernel: str, size: int | tuple[int, ...], inputs: list[Any], outputs: list[Any]) -> None:
        self.owner._wp.launch(getattr(kernels(), kernel), dim=size, inputs=inputs, outputs=outputs)


def _plain(value: Any) -> Any:
    return value.numpy() if hasattr(value, "numpy") else value


def room(model: mujoco.MjModel) -> tuple[int, int]:
    """A generous guess of the contacts and constraint rows one world needs: (nconmax, njmax).

    Two contacts for every geom on a moving body (a body lying flat), four times that on a height field, and the rows
    these contacts, the limits, dry friction and equalities make.
    """
    collides = (model.geom_contype | model.geom_conaffinity) != 0
    moving = np.count_nonzero(collides & (model.body_weldid[model.geom_bodyid] != 0))
    contacts = int(24 + 2 * moving) * (4 if model.nhfield else 1)
    dimensions = int(model.geom_condim.max(initial=3))
    pyramidal = model.opt.cone == mujoco.mjtCone.mjCONE_PYRAMIDAL
    rows_per_contact = 2 * (dimensions - 1) if pyramidal and dimensions > 1 else dimensions
    limits = np.count_nonzero(model.jnt_limited) + 2 * np.count_nonzero(model.tendon_limited)
    friction = np.count_nonzero(model.dof_frictionloss) + np.count_nonzero(model.tendon_frictionloss)
    return contacts, int(contacts * rows_per_contact + 2 * limits + friction + 6 * model.neq)


def _state_parts(model: mujoco.MjModel, data: Any) -> list[tuple[Any, int]]:
    """The device arrays (N, width) that make up a state row, each with its first column."""
    bits = mujoco.mjtState
    named = [
        (bits.mjSTATE_TIME, data.time.reshape((data.nworld, 1))),
        (bits.mjSTATE_QPOS, data.qpos),
        (bits.mjSTATE_QVEL, data.qvel),
        (bits.mjSTATE_ACT, data.act),
        (bits.mjSTATE_HISTORY, data.history),
        (bits.mjSTATE_MOCAP_POS, _as_columns(data.mocap_pos)),
        (bits.mjSTATE_MOCAP_QUAT, _as_columns(data.mocap_quat)),
        (bits.mjSTATE_PLASTIC, data.plastic),
    ]
    return [
        (part, mujoco.mj_stateSize(model, STATE & (bit.value - 1)))
        for bit, part in named
        if mujoco.mj_stateSize(model, bit.value)
    ]


def _as_columns(vectors: Any) -> Any:
    """The same memory as numbers (N, width) where a device array holds vectors (N, count)."""
    numbers = vectors.view(float)
    return numbers.reshape((numbers.shape[0], numbers.shape[1] * numbers.shape[2]))


def _float32(values: ArrayLike) -> np.ndarray:
    # Numbers too large for float32 become infinite and then fail their rollout, as they should; no warning is wanted.
    with np.errstate(over="ignore"):
        return np.asarray(values, np.float32)


def _import_warp() -> tuple[Any, Any]:
    try:
        import mujoco_warp
        import warp
    except ImportError as error:
        raise MissingExtraError("MuJoCo Warp", "gpu") from error
    warp.config.log_level = max(warp.config.log_level, warp.LOG_WARNING)
    return warp, mujoco_warp
