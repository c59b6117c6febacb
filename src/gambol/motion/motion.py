"""What every method returns: the states of characters and objects over time, their scene, and where they came from."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from gambol.errors import InputError
from gambol.motion.contacts import Contacts
from gambol.rotations import Array
from gambol.scenes import Scene
from gambol.version import __version__


@dataclass(frozen=True)
class Source:
    """Where a motion came from. The texts are made :func:`printable`: a run is not lost for what it was called."""

    method: str | None = None
    task: str | None = None
    seed: int | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, Any] = field(default_factory=dict)
    notes: str = ""

    def __post_init__(self) -> None:
        for name in ("method", "task", "notes"):
            text = getattr(self, name)
            if text:
                object.__setattr__(self, name, printable(text))

    @staticmethod
    def now(*libraries: str, **known: Any) -> Source:
        """A source that records the versions in use, those of further libraries too."""
        versions = {
            "gambol": __version__,
            "mujoco": mujoco.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
            **{library: version(library) for library in libraries},
        }
        return Source(versions=versions, **known)


@dataclass(frozen=True)
class Poses:
    """World frames of all bodies over time."""

    positions: Array
    """(T, nbody, 3) metres."""
    quats: Array
    """(T, nbody, 4) wxyz."""


@dataclass(frozen=True)
class Motion:
    """States on a scene at equal steps of time.

    ``qpos`` (T, nq), ``qvel`` (T, nv) and ``mocap`` (T, nmocap, 7: position, quaternion) are at the frames; ``ctrl``
    (T, nu) is what was applied from each frame to the next. What is not known is None.
    """

    scene: Scene
    dt: float
    qpos: Array
    qvel: Array | None = None
    ctrl: Array | None = None
    mocap: Array | None = None
    contacts: Contacts | None = None
    source: Source = field(default_factory=Source)

    def __post_init__(self) -> None:
        model = self.scene.model
        checked_step(self.dt)
        frames = len(self.qpos) if np.ndim(self.qpos) else 0
        if frames == 0:
            raise InputError("a motion has at least one frame", key="qpos")
        for name, width in widths(model).items():
            values = getattr(self, name)
            if values is not None:
                object.__setattr__(self, name, frozen(values, (frames, *width), key=name))
        if self.contacts is not None and len(self.contacts):
            if self.contacts.frame[-1] >= frames:
                raise InputError(f"name frames beyond the last of {frames}", key="contacts.frame")
            if self.contacts.geoms.max() >= model.ngeom:
                raise InputError(f"name solids beyond the {model.ngeom} of the scene", key="contacts.geoms")

    def __len__(self) -> int:
        return len(self.qpos)

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the last."""
        return (len(self) - 1) * self.dt

    @property
    def times(self) -> Array:
        """Seconds of the frames, the first at zero."""
        return np.arange(len(self), dtype=np.float64) * self.dt

    def state_at(self, frame: int) -> mujoco.MjData:
        """MuJoCo's data with everything computed at one frame."""
        model = self.scene.model
        data = mujoco.MjData(model)
        data.qpos[:] = self.qpos[frame]
        data.qvel[:] = self.velocities[frame]
        if self.ctrl is not None:
            data.ctrl[:] = self.ctrl[frame]
        if self.mocap is not None:
            data.mocap_pos[:], data.mocap_quat[:] = self.mocap[frame, :, :3], self.mocap[frame, :, 3:]
        mujoco.mj_forward(model, data)
        return data

    @cached_property
    def velocities(self) -> Array:
        """``qvel`` where known, central differences of the positions otherwise (T, nv)."""
        if self.qvel is not None:
            return self.qvel
        model, frames = self.scene.model, len(self)
        speeds = np.zeros((frames, model.nv))
        if frames > 1:
            for t in range(frames):
                before, after = max(t - 1, 0), min(t + 1, frames - 1)
                span = (after - before) * self.dt
                mujoco.mj_differentiatePos(model, speeds[t], span, self.qpos[before], self.qpos[after])
        if frames > 2:
            # one-sided differences lie half a frame inside: carry them on to the ends
            speeds[0], speeds[-1] = 2 * speeds[0] - speeds[1], 2 * speeds[-1] - speeds[-2]
        return speeds

    def poses(self) -> Poses:
        """World frames of all bodies at every frame."""
        return self._poses

    @cached_property
    def _poses(self) -> Poses:
        model = self.scene.model
        data = mujoco.MjData(model)
        positions, quats = np.empty((len(self), model.nbody, 3)), np.empty((len(self), model.nbody, 4))
        for t in range(len(self)):
            data.qpos[:] = self.qpos[t]
            if self.mocap is not None:
                data.mocap_pos[:], data.mocap_quat[:] = self.mocap[t, :, :3], self.mocap[t, :, 3:]
            mujoco.mj_kinematics(model, data)
            positions[t], quats[t] = data.xpos, data.xquat
        return Poses(positions, quats)

    def with_source(self, **changes: Any) -> Motion:
        """The same motion, told differently."""
        return replace(self, source=replace(self.source, **changes))

    def __getitem__(self, frames: slice) -> Motion:
        """A stretch of frames: ``motion[10:50]``; a step keeps every n-th frame."""
        if not isinstance(frames, slice):
            raise TypeError("a motion is cut with a slice of frames, motion[a:b]")
        start, stop, step = frames.indices(len(self))
        if step <= 0 or not range(start, stop, step):
            raise InputError(f"frames {start} to {stop} in steps of {step} hold nothing; this motion has {len(self)}")
        kept = np.arange(start, stop, step)
        arrays = {
            name: None if getattr(self, name) is None else getattr(self, name)[kept]
            for name in ("qpos", "qvel", "ctrl", "mocap")
        }
        contacts = self.contacts.at_frames(kept) if self.contacts is not None else None
        return replace(self, dt=self.dt * step, contacts=contacts, **arrays)

    def between(self, start: float, end: float) -> Motion:
        """The stretch between two times in seconds, as far as the motion goes."""
        first = np.ceil(max(start, 0.0) / self.dt - 1e-9)
        last = np.floor(min(end, self.duration) / self.dt + 1e-9)
        if not first <= last:
            raise InputError(f"no frame lies between {start} and {end} s; this motion lasts {self.duration:g} s")
        return self[int(first) : int(last) + 1]

    # The operations live in their own files; these are their doors.

    def resampled(self, dt: float) -> Motion:
        """The same motion at another time step (see :mod:`gambol.motion.editing`)."""
        from gambol.motion.editing import resample

        return resample(self, dt)

    def mirrored(self) -> Motion:
        """Left and right exchanged, scene included (see :mod:`gambol.motion.editing`)."""
        from gambol.motion.editing import mirror

        return mirror(self)

    def then(self, other: Motion, *, blend: float = 0.2, align: bool = True) -> Motion:
        """This motion followed by another (see :func:`gambol.motion.editing.concatenate`)."""
        from gambol.motion.editing import concatenate

        return concatenate(self, other, blend=blend, align=align)

    def save(self, path: str | Path) -> None:
        """Write it in the format of the extension (see :mod:`gambol.motion.formats`)."""
        from gambol.motion.formats import write

        write(self, path)


def printable(text: str) -> str:
    """The text with a replacement character for what cannot be shown or stored: halves of surrogate pairs, and control
    characters but for tabs and ends of lines.
    """
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", "\ufffd", text)


def widths(model: mujoco.MjModel) -> dict[str, tuple[int, ...]]:
    """The shape of one frame in each array of a motion."""
    return {"qpos": (model.nq,), "qvel": (model.nv,), "ctrl": (model.nu,), "mocap": (model.nmocap, 7)}


def checked_step(dt: float) -> float:
    """The time step in seconds, if a motion can have it."""
    if not 1e-6 <= dt <= 60.0:
        raise InputError(f"must be between 1e-6 and 60 seconds (given: {dt!r})", key="dt")
    return dt


def frozen(values: ArrayLike, shape: tuple[int, ...], *, key: str) -> Array:
    """Numbers of a shape, none beyond what MuJoCo simulates, as floats that nobody can change any more.

    The shape is looked at first, and what is frozen already is not copied: motions may be large.
    """
    given = np.asarray(values)
    if given.dtype.kind not in "fiu":
        raise InputError(f"must be an array of numbers, not of {given.dtype}", key=key)
    if given.shape != shape:
        raise InputError(f"has shape {given.shape}, this scene needs {shape}", key=key)
    if given.dtype != np.float64 or not given.flags.c_contiguous or _may_change(given):
        given = np.array(given, np.float64, order="C")
        given.flags.writeable = False
    limit = mujoco.mjMAXVAL
    if not (given.min(initial=0.0) >= -limit and given.max(initial=0.0) <= limit):  # neither holds of NaN
        first = int(np.argwhere(~(np.abs(given) <= limit))[0][0])
        problem = f"is beyond ±{limit:.0e}" if np.isfinite(given[first]).all() else "is not finite"
        raise InputError(f"{problem} at frame {first}", key=key)
    return given


def _may_change(values: np.ndarray) -> bool:
    owner = values if values.base is None else values.base
    return values.flags.writeable or not isinstance(owner, np.ndarray) or owner.flags.writeable
