"""A table for spreadsheets, pandas and plots: one row a frame, named columns, every number exact.

``time`` in seconds, then each joint by its full name (``humanoid/right_knee``, radians or metres). A free joint has
seven columns (``humanoid/root.x`` … ``.z`` and ``.qw`` … ``.qz``), a ball joint the last four of them. Then, where
known, the controls (``ctrl:humanoid/right_knee``) and the frames of moved targets (``mocap:target.x`` …).
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from gambol import files
from gambol.motion.formats.staging import UniqueNames
from gambol.rotations import Array

if TYPE_CHECKING:
    from gambol.motion.motion import Motion

_POSITION = (".x", ".y", ".z")
_QUAT = (".qw", ".qx", ".qy", ".qz")
_COLUMNS_OF = {
    mujoco.mjtJoint.mjJNT_FREE: (*_POSITION, *_QUAT),
    mujoco.mjtJoint.mjJNT_BALL: _QUAT,
    mujoco.mjtJoint.mjJNT_SLIDE: ("",),
    mujoco.mjtJoint.mjJNT_HINGE: ("",),
}


def write(motion: Motion, path: str | Path, *, bodies: bool = False) -> None:
    """Write the table; ``bodies`` adds the world position of every body (``body:humanoid/pelvis.x`` …, metres)."""
    names, values = table(motion, bodies=bodies)
    with files.replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(values.tolist())


def table(motion: Motion, *, bodies: bool = False) -> tuple[list[str], Array]:
    """Names of the columns, and the values (T, columns)."""
    model = motion.scene.model
    names = ["time"]
    for joint in range(model.njnt):
        name = model.joint(joint).name or f"joint_{joint}"
        names += [name + end for end in _COLUMNS_OF[mujoco.mjtJoint(int(model.jnt_type[joint]))]]
    columns = [motion.times[:, None], motion.qpos]
    if motion.ctrl is not None:
        names += [f"ctrl:{model.actuator(k).name or f'actuator_{k}'}" for k in range(model.nu)]
        columns.append(motion.ctrl)
    if motion.mocap is not None:
        moved = sorted(np.flatnonzero(model.body_mocapid >= 0), key=lambda body: model.body_mocapid[body])
        names += [f"mocap:{model.body(body).name}{end}" for body in moved for end in (*_POSITION, *_QUAT)]
        columns.append(motion.mocap.reshape(len(motion), -1))
    if bodies:
        names += [f"body:{model.body(k).name or f'body_{k}'}{end}" for k in range(1, model.nbody) for end in _POSITION]
        columns.append(motion.poses().positions[:, 1:].reshape(len(motion), -1))
    unique = UniqueNames()
    return [unique(name) for name in names], np.concatenate(columns, axis=1)
