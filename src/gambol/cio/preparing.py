"""A task made ready: everything that can be wrong with it is found here, before the work begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from gambol.cio.features import FeatureModel
from gambol.cio.problem import Problem, Timing, make_problem
from gambol.cio.resting import rested
from gambol.cio.settings import Settings
from gambol.cio.surfaces import Surfaces, clearance
from gambol.cio.wishes import Row, rows_of
from gambol.errors import InputError, unknown_name
from gambol.goals import Behaviour, Task
from gambol.goals.behaviour import Wish
from gambol.rotations import Array

_INSIDE = 0.02
"""Metres that the start may overlap with something; poses rest a little in what they lie on."""
_FASTEST = 6.0
"""Metres a second that nothing gets about faster than."""
AUTO_PHASES = (4, 6, 8, 10, 14, 20)
"""What is tried for ``phases: auto``, in this order, until contacts and physics are as they must be. The paper found
that too few phases end in impossible leaps, and that more than are needed do no harm."""
_JUMP = 0.6
"""Metres that a trunk may rise above where it is when standing."""


@dataclass(frozen=True)
class Prepared:
    """A behaviour of one character in a scene."""

    task: Task
    behaviour: Behaviour
    model: FeatureModel
    surfaces: Surfaces
    state: Array
    """(nq,) of the scene at the start, the character let down if nothing carries it there."""
    start: Array
    """(1 + L, 6) the features then."""
    rows: Sequence[Row]

    @staticmethod
    def of(task: Task) -> Prepared:
        """The task, checked."""
        try:
            return Prepared._of(task)
        except InputError as error:
            raise error.within(file=task.file) from None

    @staticmethod
    def _of(task: Task) -> Prepared:
        behaviour: Behaviour = task.goal
        scene = task.world
        if len(scene.characters) > 1:
            raise InputError("one character at a time", key="characters", hint="several together are not supported yet")
        if behaviour.load_share:
            raise InputError("there is nobody to share the work with", key="behaviour.load_share")
        name = scene.main_character
        model, surfaces = FeatureModel.of(scene.characters[name]), Surfaces.of(scene)
        for k, grabbing in enumerate(behaviour.grabbing):
            if grabbing not in model.patch_names:
                raise unknown_name("patch", grabbing, model.patch_names, key=f"behaviour.grabbing.{k}")
        state = task.initial_qpos()
        _refuse_overlap(task, state)
        state = rested(scene, name, model, surfaces, state)
        start = model.features_of(state[scene.spans[name].qpos])
        prepared = Prepared(task, behaviour, model, surfaces, state, start, rows_of(behaviour, model))
        for k, wish in enumerate(behaviour.wishes):
            try:
                prepared._check_reach(wish)
            except InputError as error:
                raise error.within(key=f"behaviour.wishes.{k}") from None
        return prepared

    @property
    def phase_counts(self) -> tuple[int, ...]:
        """The numbers of phases to try."""
        return AUTO_PHASES if self.behaviour.phases == "auto" else (self.behaviour.phases,)

    def problem(self, phases: int, settings: Settings) -> tuple[Problem, Timing]:
        """The optimisation problem over a number of phases."""
        duration = self.behaviour.phase_duration
        timing = Timing(phases, duration, settings.knots_per_phase, settings.samples_per_phase)
        given = self.model, self.surfaces, self.start, self.rows, timing, settings, self.behaviour.grabbing
        return make_problem(*given), timing

    def _check_reach(self, wish: Wish) -> None:
        """Places nobody can be at: in the ground, in something, too high, too far away for the time there is."""
        if wish.what == "height":
            self._check_height(float(np.array(wish.value)), wish.feature)
        if wish.what != "position" or not isinstance(wish.value, tuple):
            return
        place = np.array(wish.value)
        if len(place) == 3:
            if float(np.asarray(clearance(self.surfaces, place))[1:].min()) < 0.0:
                raise InputError(f"{_told(place)} lies inside something", key="value")
            self._check_height(place[2], wish.feature)
        time = wish.time * max(self.phase_counts) * self.behaviour.phase_duration
        reach = _FASTEST * time + float(np.max(self._arm_lengths()))
        away = float(np.linalg.norm(place[:2] - self.start[0, :2]))
        if away > reach:
            hint = "give it more phases, or a nearer place"
            raise InputError(f"{away:.1f} m away cannot be reached within {time:g} s", key="value", hint=hint)

    def _check_height(self, height: float, feature: str) -> None:
        top, body = float(self._tops().max()), self.model.character
        if height < 0.0:
            raise InputError(f"{height:g} m lies below the floor", key="value")
        rest = self.model.features_of(body.pose_qpos("standing" if "standing" in body.poses else "zero"))
        standing = float(rest[0, 2] - rest[1:, 2].min())
        trunk = feature == "com" or self.model.character.part_of.get(feature) == "core"
        highest = top + standing + (_JUMP if trunk else float(self._arm_lengths().max()))
        if height > highest:
            hint = f"the highest it gets from what it can stand on is about {highest:.1f} m"
            raise InputError(f"{height:g} m cannot be reached", key="value", hint=hint)

    def _arm_lengths(self) -> Array:
        """How far end effectors get from the trunk's centre (L,)."""
        limbs = self.model.body.limbs
        return np.linalg.norm(limbs.bases, axis=1) + limbs.longest + np.linalg.norm(limbs.ends, axis=1)

    def _tops(self) -> Array:
        """Heights of the floor and of the tops of all boxes."""
        surfaces = self.surfaces
        reach = np.einsum("bj,bj->b", np.abs(surfaces.box_turns[:, 2]), surfaces.box_halves)
        return np.concatenate([[0.0], surfaces.box_centres[:, 2] + reach])


def _refuse_overlap(task: Task, state: Array) -> None:
    """An error where a part of the character starts inside something."""
    scene = task.world
    model, own = scene.model, scene.spans[scene.main_character].bodies
    data = mujoco.MjData(model)
    data.qpos[:] = state
    mujoco.mj_forward(model, data)
    for touch in data.contact:
        first, second = (int(model.geom_bodyid[geom]) in own for geom in touch.geom)
        if first != second and touch.dist < -_INSIDE:
            mine, other = touch.geom if first else touch.geom[::-1]
            body = model.body(int(model.geom_bodyid[mine])).name.rpartition("/")[2]
            what = model.geom(int(other)).name or "something"
            raise InputError(f"{body} is {-touch.dist:.2f} m inside {what}", key="start")


def _told(place: Array) -> str:
    return f"[{', '.join(f'{number:g}' for number in place)}]"
