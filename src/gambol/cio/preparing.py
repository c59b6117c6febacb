"""A task made ready: everything that can be wrong with it is found here, before the work begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from gambol.cio.cast import Cast, Thing
from gambol.cio.features import FeatureModel
from gambol.cio.problem import Problem, Timing, make_problem
from gambol.cio.resting import rested
from gambol.cio.settings import Settings
from gambol.cio.surfaces import Surfaces, clearance
from gambol.cio.wishes import Row, rows_of
from gambol.errors import InputError, unknown_name
from gambol.goals import Behaviour, Task
from gambol.goals.behaviour import Wish
from gambol.rotations import Array, to_rotation_vector
from gambol.scenes import Scene
from gambol.scenes.objects import Movable

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
    """A behaviour of the characters of a scene and of the things they move."""

    task: Task
    behaviour: Behaviour
    models: Mapping[str, FeatureModel]
    """By the names of the characters."""
    cast: Cast
    state: Array
    """(nq,) of the scene at the start, characters let down if nothing carries them there."""
    start: Array
    """(O, 6) the features then."""
    rows: Sequence[Row]
    grabbing: Sequence[str]
    """Patches of the cast."""
    burdens: Array
    """(N,) how dear forces are."""

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
        models = {name: FeatureModel.of(character) for name, character in scene.characters.items()}
        world = Surfaces.of(scene)
        cast = _cast(behaviour, models, things_of(scene), world)
        state = task.initial_qpos()
        for name in models:
            _refuse_overlap(scene, name, state)
        for name, model in models.items():
            span = scene.spans[name].qpos
            state[span] = rested(scene, name, model, world, state)[span]
        start = cast.placed({name: _features(scene, models, name, state) for name in cast.features})
        try:
            grabbing, burdens = _grabbing(behaviour, cast), cast.burdens(behaviour.load_share)
        except InputError as error:
            raise error.within(key="behaviour") from None
        rows: list[Row] = []
        prepared = Prepared(task, behaviour, models, cast, state, start, rows, grabbing, burdens)
        for k, wish in enumerate(behaviour.wishes):
            try:
                name = wish.of or scene.main_character
                if name not in cast.features:
                    raise unknown_name("character or thing", name, cast.features, key="of")
                rows += cast.rows(name, rows_of(wish, models.get(name)))
                prepared._check_reach(wish, name)
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
        given = self.cast, self.cast.surfaces, self.start, self.rows, timing, settings, self.grabbing, self.burdens
        return make_problem(*given), timing

    def _check_reach(self, wish: Wish, name: str) -> None:
        """Places nobody can be at: in the ground, in something, too high, too far away for the time there is."""
        if wish.what == "height":
            self._check_height(float(np.array(wish.value)), wish.feature, name)
        if wish.what != "position" or not isinstance(wish.value, tuple):
            return
        place = np.array(wish.value)
        if len(place) == 3:
            if float(np.asarray(clearance(Surfaces.of(self.task.world), place))[1:].min()) < 0.0:
                raise InputError(f"{_told(place)} lies inside something", key="value")
            self._check_height(place[2], wish.feature, name)
        time = wish.time * max(self.phase_counts) * self.behaviour.phase_duration
        arms = _arm_lengths(self.models[name]).max() if name in self.models else 0.0
        reach = _FASTEST * time + float(arms)
        away = float(np.linalg.norm(place[:2] - self.start[self.cast.features[name].start, :2]))
        if away > reach:
            hint = "give it more phases, or a nearer place"
            raise InputError(f"{away:.1f} m away cannot be reached within {time:g} s", key="value", hint=hint)

    def _check_height(self, height: float, feature: str, name: str) -> None:
        if height < 0.0:
            raise InputError(f"{height:g} m lies below the floor", key="value")
        heights = {each: _standing_height(model) for each, model in self.models.items()}
        reaches = {each: float(_arm_lengths(model).max()) for each, model in self.models.items()}
        if name in self.models:
            trunk = feature == "com" or self.models[name].character.part_of.get(feature) == "core"
            own = heights[name] + (_JUMP if trunk else reaches[name])
            own += sum(heights.values()) - heights[name] if name in self.behaviour.climbers else 0.0
        else:
            own = max(heights[each] + reaches[each] for each in self.models)
        highest = float(_tops(Surfaces.of(self.task.world)).max()) + own
        if height > highest:
            hint = f"the highest it gets from what it can stand on is about {highest:.1f} m"
            raise InputError(f"{height:g} m cannot be reached", key="value", hint=hint)


def _cast(behaviour: Behaviour, models: Mapping[str, FeatureModel], things: Sequence[Thing], world: Surfaces) -> Cast:
    try:
        return Cast.of(models, things, world, behaviour.climbers)
    except InputError as error:
        raise error.within(key="behaviour") from None


def things_of(scene: Scene) -> list[Thing]:
    """The things of a scene that can be moved, which must be boxes."""
    found = []
    for name, each in scene.objects.items():
        if isinstance(each, Movable):
            solid, *more = each.solids()
            if more or solid.shape != "box":
                hint = "things that are moved are single boxes"
                raise InputError(f"{name} is a {solid.shape}, not a box", key=f"scene.{name}", hint=hint)
            found.append(Thing(name, each.mass, np.array(solid.size)))
    return found


def thing_span(scene: Scene, name: str) -> slice:
    """Where a thing lies in the scene's states."""
    first = int(scene.model.joint(name).qposadr[0])
    return slice(first, first + 7)


def _features(scene: Scene, models: Mapping[str, FeatureModel], name: str, state: Array) -> Array:
    """The features (1 + L, 6) of a character, or (6,) of a thing, in a state (nq,) of the scene."""
    if name in models:
        return models[name].features_of(state[scene.spans[name].qpos])
    pose = state[thing_span(scene, name)]
    return np.concatenate([pose[:3], to_rotation_vector(pose[3:])])


def _grabbing(behaviour: Behaviour, cast: Cast) -> list[str]:
    """The patches of a cast that hold on; a name without a character means everybody's."""
    found = []
    for k, name in enumerate(behaviour.grabbing):
        meant = [patch for patch in cast.patch_names if name in (patch, patch.rpartition("/")[2])]
        if not meant or name in cast.features:
            raise unknown_name("patch", name, cast.patch_names, key=f"grabbing.{k}")
        found += meant
    return found


def _arm_lengths(model: FeatureModel) -> Array:
    """How far end effectors get from the trunk's centre (L,)."""
    limbs = model.body.limbs
    return np.linalg.norm(limbs.bases, axis=1) + limbs.longest + np.linalg.norm(limbs.ends, axis=1)


def _standing_height(model: FeatureModel) -> float:
    """How high the trunk's centre is above the lowest end effector when the character stands."""
    body = model.character
    rest = model.features_of(body.pose_qpos("standing" if "standing" in body.poses else "zero"))
    return float(rest[0, 2] - rest[1:, 2].min())


def _tops(world: Surfaces) -> Array:
    """Heights of the floor and of the tops of all boxes."""
    reach = np.einsum("bj,bj->b", np.abs(world.box_turns[:, 2]), world.box_halves)
    return np.concatenate([[0.0], world.box_centres[:, 2] + reach])


def _refuse_overlap(scene: Scene, name: str, state: Array) -> None:
    """An error where a part of a character starts inside something."""
    model, own = scene.model, scene.spans[name].bodies
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
