"""Sensors that make a scene observable: a model whose sensor array holds every frame the costs look at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from gambol.characters import Character
from gambol.errors import InputError
from gambol.partwise.groups import parts_of_actuators, parts_of_joints
from gambol.rotations import Array, conjugate, rotate
from gambol.scenes import Scene
from gambol.sim.watching import first_column, watch_frame

_SENSOR = mujoco.mjtSensor
OTHERS = "/others"
"""Who owns the actuators of other characters; no part can be called that."""
_LANDMARKS = ("chest", "pelvis", "head", "right_knee", "left_knee", "right_ankle", "left_ankle")
"""The landmarks that the common terms speak of."""


@dataclass(frozen=True)
class Senses:
    """Where signals lie in the sensor array of an instrumented model; readers work on arrays (..., nsensordata)."""

    model: mujoco.MjModel
    frames: Mapping[str, int]
    """First column of each frame's seven numbers (position, quaternion), by the name used in the goal."""
    landmarks: Mapping[str, int]
    rest_axes: Mapping[str, Array]
    """(3, 3) for each landmark: the world's axes at rest, in the frame of its body, a row each."""
    com: int
    """First column of the centre of mass, followed by its velocity."""
    joint_dofs: slice
    """Where the joints of the character that is planned for lie in the velocities, its root left out."""
    owners: tuple[str, ...]
    """The parts of that character, and :data:`OTHERS`."""
    joint_owners: Array
    """(joints, owners) 1 where a joint of that character belongs to an owner."""
    actuator_owners: Array
    """(nu, owners) the same for all actuators of the scene."""

    def position(self, sensors: Array, landmark: str) -> Array:
        """World position (..., 3) of a landmark's body."""
        start = self.landmarks[landmark]
        return sensors[..., start : start + 3]

    def axis(self, sensors: Array, landmark: str, axis: int) -> Array:
        """Where what points along a world axis (0 forward, 2 up) at rest points now (..., 3), on a landmark's body."""
        start = self.landmarks[landmark] + 3
        return rotate(sensors[..., start : start + 4], self.rest_axes[landmark][axis])

    def centre_of_mass(self, sensors: Array) -> Array:
        """World position (..., 3) of the character's centre of mass."""
        return sensors[..., self.com : self.com + 3]

    def momentum_velocity(self, sensors: Array) -> Array:
        """Velocity (..., 3) of the character's centre of mass."""
        return sensors[..., self.com + 3 : self.com + 6]

    def points(self, sensors: Array, columns: np.ndarray, offsets: Array) -> Array:
        """World positions (..., P, 3) of P points: ``columns`` (P,) of their frames, ``offsets`` (P, 3) in them."""
        place = sensors[..., columns[:, None] + np.arange(7)]
        return place[..., :3] + rotate(place[..., 3:], offsets)


def instrument(scene: Scene, frames: Iterable[str], *, timestep: float | None = None) -> Senses:
    """The scene's model with sensors for the named frames and for the main character's landmarks."""
    spec = scene.spec.copy()
    if timestep is not None:
        spec.option.timestep = timestep
    main = scene.main_character
    character = scene.characters[main]
    missing = [name for name in _LANDMARKS if name not in character.landmarks]
    if missing:
        raise InputError(
            f"the character {main!r} lacks the landmarks {', '.join(missing)}",
            hint="contact keyframes are followed by two-legged characters with named landmarks",
        )
    places: dict[str, str] = {}
    for name in dict.fromkeys(frames):
        places[name] = watch_frame(spec, scene.frame(name))
    bodies = {k: watch_frame(spec, scene.frame(f"{main}/{character.landmarks[k].body}")) for k in _LANDMARKS}
    root = f"{main}/{character.bodies[0]}"
    for kind, label in ((_SENSOR.mjSENS_SUBTREECOM, "com"), (_SENSOR.mjSENS_SUBTREELINVEL, "com_velocity")):
        spec.add_sensor(name=label, type=kind, objtype=mujoco.mjtObj.mjOBJ_BODY, objname=root)
    model = spec.compile()
    span, owners = scene.spans[main], (*character.parts, OTHERS)
    actuators = [OTHERS] * model.nu
    actuators[span.ctrl] = parts_of_actuators(character)
    return Senses(
        model,
        {name: first_column(model, f"{label}:position") for name, label in places.items()},
        {name: first_column(model, f"{label}:position") for name, label in bodies.items()},
        _rest_axes(character),
        first_column(model, "com"),
        slice(span.qvel.start + 6, span.qvel.stop),
        owners,
        _belonging(parts_of_joints(character), owners),
        _belonging(actuators, owners),
    )


def _belonging(parts: Sequence[str], owners: Sequence[str]) -> Array:
    """(parts, owners) 1 where they are the same."""
    rows = [[float(part == owner) for owner in owners] for part in parts]
    return np.array(rows).reshape(len(parts), len(owners))


def _rest_axes(character: Character) -> dict[str, Array]:
    """Bodies need not be modelled upright: what counts is how they are when the body stands with straight joints."""
    data = mujoco.MjData(character.model)
    data.qpos[:] = character.pose_qpos("zero")
    if "standing" in character.poses:
        data.qpos[3:7] = character.poses["standing"].root
    mujoco.mj_kinematics(character.model, data)
    return {k: rotate(conjugate(data.body(character.landmarks[k].body).xquat), np.eye(3)) for k in _LANDMARKS}
