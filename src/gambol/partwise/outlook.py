"""Everything that planning for one sequence of keyframes in one scene needs, put together once."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from gambol.goals import Keyframe
from gambol.partwise.planner import Partwise, Planner
from gambol.partwise.sensing import instrument
from gambol.partwise.settings import Settings
from gambol.partwise.terms import KeyframeTable, Rolled, costs, watched_frames
from gambol.rotations import Array
from gambol.scenes import Placement, Scene, place
from gambol.sim import set_state

_HEAD_SHARE, _TORSO_SHARE = 0.953, 0.938
"""Heights aimed at as shares of the standing pose's: the published 1.4 m and 1.2 m on the published humanoid."""


class Eyes:
    """See how far each keyframe of a sequence is."""

    def __init__(self, scene: Scene, keyframes: Sequence[Keyframe]):
        self.keyframes = tuple(keyframes)
        self.senses = instrument(scene, watched_frames(self.keyframes))
        self.model = self.senses.model
        self.table = KeyframeTable.of(self.keyframes, self.senses)
        self._data = mujoco.MjData(self.model)

    def displacements(self, state: Array, row: int) -> Array:
        """Vectors (P, 3) from the targets of a keyframe to its points in a state (nstate,)."""
        return self.table.displacements(self._look(state).sensordata[None], np.array([row]))[0]

    def _look(self, state: Array) -> mujoco.MjData:
        """Everything that is sensed of places in a state."""
        set_state(self.model, self._data, state)
        mujoco.mj_fwdPosition(self.model, self._data)
        mujoco.mj_sensorPos(self.model, self._data)
        return self._data


class Outlook(Eyes):
    """Eyes, what is thought of what they see, and a planner that betters it."""

    def __init__(self, scene: Scene, keyframes: Sequence[Keyframe], settings: Settings, seed: int, *, partwise: bool):
        super().__init__(scene, keyframes)
        # sensors lie at the same columns in both models
        planning = instrument(scene, watched_frames(self.keyframes), timestep=settings.planning_step)
        parts = Partwise.of(scene, self.keyframes, planning, own_joints=settings.own_joints) if partwise else None
        self._heights = standing_heights(scene)
        self.planner = Planner(planning, self.table, parts, settings, self._heights, seed)

    def cost(self, state: Array, control: Array, row: int) -> float:
        """What being in a state (nstate,) costs on the way to a keyframe, under the control (nu,) given there."""
        data = self._look(state)
        mujoco.mj_fwdVelocity(self.model, data)
        mujoco.mj_sensorVel(self.model, data)
        index = np.array([row])
        rolled = Rolled(
            self.senses,
            data.sensordata[None, None, None],
            data.qvel[None, None, None, self.senses.joint_dofs],
            control[None, None, None],
            self.table.facing[index][:, None, None],
            self._heights,
        )
        return float(costs(rolled, self.table, index).sum())

    def improve(self, state: Array, row: int, age: float) -> None:
        """One plan from a state towards a keyframe, the last plan being ``age`` seconds old."""
        self.planner.improve(state, row, age)


def standing_heights(scene: Scene) -> tuple[float, float]:
    """Heights the head and the torso should aim at: a little below those of the standing pose."""
    name = scene.main_character
    marks = scene.characters[name].landmarks
    alone = Scene({name: scene.characters[name]})
    data = mujoco.MjData(alone.model)
    data.qpos[:] = place(alone, Placement(pose="standing"))
    mujoco.mj_kinematics(alone.model, data)
    head, chest = (float(data.body(f"{name}/{marks[k].body}").xpos[2]) for k in ("head", "chest"))
    return _HEAD_SHARE * head, _TORSO_SHARE * chest
