"""What objectives look at: a character's points, centre of mass, momentum and torques, from sensors in the rollout."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import mujoco
import numpy as np

from gambol.characters import Character
from gambol.errors import unknown_name
from gambol.rotations import Array, level_forward, namespace, rotate
from gambol.scenes import Scene
from gambol.sim.watching import first_column, watch_frame

_SENSOR = mujoco.mjtSensor
AXES = ("forward", "left", "up")


@dataclass(frozen=True)
class Observer:
    """Where signals lie in the sensor array of an instrumented model; readers work on arrays (..., nsensordata)."""

    model: mujoco.MjModel
    character: Character
    points: Mapping[str, tuple[int, Array]]
    """By name: first column of the body's position and quaternion, and points (P, 3) in its frame."""
    com: int
    spin: int
    root: int
    torque: int
    angles: int
    """First column of the servos' torques, and of the angles of the joints they drive."""

    @staticmethod
    def of(scene: Scene, points: Iterable[str]) -> Observer:
        """The scene with sensors for the main character and the named points."""
        main = scene.main_character
        character = scene.characters[main]
        spec = scene.spec.copy()
        places = {name: place_of(character, name) for name in dict.fromkeys(points)}
        wanted = {name: place for name, place in places.items() if place is not None}
        labels = {name: watch_frame(spec, scene.frame(f"{main}/{body}")) for name, (body, _) in wanted.items()}
        root = watch_frame(spec, scene.frame(f"{main}/{character.bodies[0]}"))
        body = f"{main}/{character.bodies[0]}"
        for kind, label in ((_SENSOR.mjSENS_SUBTREECOM, "com"), (_SENSOR.mjSENS_SUBTREEANGMOM, "spin")):
            spec.add_sensor(name=label, type=kind, objtype=mujoco.mjtObj.mjOBJ_BODY, objname=body)
        for kind, label in ((_SENSOR.mjSENS_ACTUATORFRC, "torque"), (_SENSOR.mjSENS_ACTUATORPOS, "angle")):
            for name in character.actuators:
                spec.add_sensor(
                    name=f"{label}:{name}", type=kind, objtype=mujoco.mjtObj.mjOBJ_ACTUATOR, objname=f"{main}/{name}"
                )
        model = spec.compile()
        first = character.actuators[0]
        return Observer(
            model,
            character,
            {name: (first_column(model, f"{labels[name]}:position"), offsets) for name, (_, offsets) in wanted.items()},
            first_column(model, "com"),
            first_column(model, "spin"),
            first_column(model, f"{root}:position"),
            first_column(model, f"torque:{first}"),
            first_column(model, f"angle:{first}"),
        )


@dataclass(frozen=True)
class View:
    """One window of many motions: sensors (N, T, nsensordata), and the same with names."""

    observer: Observer
    sensors: Array

    def position(self, point: str) -> Array:
        """World position (N, T, 3): the centre of mass for ``com``, the middle of a patch, or a landmark."""
        if point == "com":
            return self.sensors[..., self.observer.com : self.observer.com + 3]
        start, offsets = self.observer.points[point]
        place, turn = self.sensors[..., start : start + 3], self.sensors[..., start + 3 : start + 7]
        return place + rotate(turn, offsets.mean(0))

    def height(self, point: str) -> Array:
        """Metres above the ground plane (N, T)."""
        return self.position(point)[..., 2]

    @property
    def spin(self) -> Array:
        """Angular momentum (N, T, 3) about the centre of mass, N m s."""
        return self.sensors[..., self.observer.spin : self.observer.spin + 3]

    @property
    def torque(self) -> Array:
        """(N, T, nu) N m."""
        return self._of_actuators(self.observer.torque)

    @property
    def angles(self) -> Array:
        """(N, T, nu) radians, of the joints that the servos drive."""
        return self._of_actuators(self.observer.angles)

    @property
    def forward(self) -> Array:
        """Where the root faces on the ground (N, T, 2), a unit vector."""
        return level_forward(self.sensors[..., self.observer.root + 3 : self.observer.root + 7])

    def axis(self, name: str) -> Array:
        """One of :data:`AXES` as the root faces at the first step (N, 1, 3)."""
        forward = self.forward[:, :1]
        if name == "up":
            return np.array([0.0, 0.0, 1.0]) + 0.0 * forward[..., :1]
        ahead, aside = forward[..., :1], forward[..., 1:]
        parts = [ahead, aside] if name == "forward" else [-aside, ahead]
        return namespace(self.sensors).concat([*parts, 0.0 * ahead], axis=-1)

    def _of_actuators(self, start: int) -> Array:
        return self.sensors[..., start : start + self.observer.model.nu]


def point_names(character: Character) -> list[str]:
    """Every name an objective may call a point: the centre of mass, patches, heels, and landmarks."""
    heels = [name.replace("_foot", "_heel") for name in character.patches if name.endswith("_foot")]
    return ["com", *character.patches, *heels, *(name for name in character.landmarks if name not in character.patches)]


def place_of(character: Character, name: str) -> tuple[str, Array] | None:
    """The body and the points (P, 3) in its frame that a name stands for; None for the centre of mass, on no body."""
    if name == "com":
        return None
    if name in character.patches:
        patch = character.patches[name]
        return patch.body, np.array(patch.points)
    if name.endswith("_heel") and name.replace("_heel", "_foot") in character.patches:
        patch = character.patches[name.replace("_heel", "_foot")]
        corners = np.array(patch.points)
        return patch.body, corners[corners[:, 0] <= corners[:, 0].min() + 1e-6]
    if name in character.landmarks:
        point = character.landmarks[name]
        return point.body, np.array([point.offset])
    raise unknown_name(f"point of {character.name!r}", name, point_names(character))


def ground_of(scene: Scene) -> tuple[float, float]:
    """Heights of the lowest ground and, a little more rather than less, of the highest thing to stand on, metres."""
    model = scene.model
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    roots = [model.body(f"{name}/{character.bodies[0]}").id for name, character in scene.characters.items()]
    thing = ~np.isin(model.body_rootid[model.geom_bodyid], roots) & (model.geom_type != mujoco.mjtGeom.mjGEOM_PLANE)
    highest = (data.geom_xpos[thing, 2] + model.geom_rbound[thing]).max(initial=0.0)
    return float(scene.terrain.heights().min()), float(highest)


def length_of(character: Character) -> float:
    """Metres from one end of the body to the other with its joints at zero, a little more rather than less."""
    model = character.model
    data = mujoco.MjData(model)
    data.qpos[:] = character.pose_qpos("zero")
    mujoco.mj_kinematics(model, data)
    apart = np.linalg.norm(data.geom_xpos[:, None] - data.geom_xpos, axis=-1)
    return float((apart + model.geom_rbound[:, None] + model.geom_rbound).max())
