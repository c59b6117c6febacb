"""One of the like tasks whose trials share a batch: other furniture, another body, the same pairs elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from gambol.errors import InputError
from gambol.goals import Keyframe, Task
from gambol.partwise.method import recombines
from gambol.partwise.outlook import standing_heights
from gambol.partwise.planner import Partwise
from gambol.partwise.sensing import Senses, instrument
from gambol.partwise.settings import Settings
from gambol.partwise.terms import KeyframeTable, watched_frames
from gambol.rotations import Array
from gambol.sim import pack_state


@dataclass(frozen=True)
class Variant:
    """What one of the tasks brings into a batch."""

    keyframes: tuple[Keyframe, ...]
    planning: Senses
    seeing: Senses
    table: KeyframeTable
    parts: Partwise | None
    heights: tuple[float, float]
    start: Array
    """(nstate,)"""

    @staticmethod
    def of(task: Task, settings: Settings, method: str) -> Variant:
        """Everything of a task that a batch computes with."""
        if task.keyframes is None:
            raise InputError("trials in a batch perform contact keyframes", file=task.file)
        frames = watched_frames(task.keyframes)
        planning = instrument(task.world, frames, timestep=settings.planning_step)
        seeing = instrument(task.world, frames)
        table = KeyframeTable.of(task.keyframes, seeing)
        parts = None
        if recombines(method):
            parts = Partwise.of(task.world, task.keyframes, planning, own_joints=settings.own_joints)
        start = pack_state(seeing.model, task.initial_qpos(), np.zeros(seeing.model.nv))
        return Variant(task.keyframes, planning, seeing, table, parts, standing_heights(task.world), start)


def joined(tables: Sequence[KeyframeTable]) -> KeyframeTable:
    """One below the other."""
    if any(not np.array_equal(table.columns, tables[0].columns) for table in tables):
        raise InputError("tasks in one batch have the same bodies and objects in their pairs")
    columns = (np.concatenate([getattr(t, field.name) for t in tables]) for field in fields(KeyframeTable))
    return KeyframeTable(*columns)
