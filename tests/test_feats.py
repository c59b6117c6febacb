"""What a character did, measured on motions made by hand."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from gambol.characters import build
from gambol.goals import load_task, shipped_tasks
from gambol.goals.success import refuse_impossible
from gambol.motion import Motion
from gambol.motion.metrics.feats import FEATS
from gambol.motion.metrics.subject import Subject
from gambol.rotations import Array
from gambol.scenes import Placement, Scene, place

DT = 0.01


def scene() -> Scene:
    return Scene({"athlete": build("athlete")})


def standing(frames: int) -> tuple[Scene, Array]:
    world = scene()
    return world, np.tile(place(world, Placement(pose="standing")), (frames, 1))


def feat(name: str, world: Scene, qpos: Array, qvel: Array | None = None) -> float:
    found = FEATS[name](Subject(Motion(world, DT, qpos, qvel), "athlete"))
    assert found.value is not None, found.reason
    return found.value


def test_standing_still() -> None:
    world, qpos = standing(11)
    assert feat("com_height_at_end", world, qpos) == pytest.approx(1.09, abs=0.05)
    assert feat("com_off_feet_at_end", world, qpos) < 0.1
    assert feat("feet_height_at_end", world, qpos) == pytest.approx(0.0, abs=0.01)
    assert feat("com_speed_at_end", world, qpos) == pytest.approx(0.0, abs=1e-9)
    assert feat("head_height_at_end", world, qpos) > 1.4
    assert feat("longest_on_feet", world, qpos) == pytest.approx(11 * DT)
    assert feat("longest_on_hands", world, qpos) == 0.0
    assert feat("travelled_on_hands", world, qpos) == 0.0
    assert feat("turned_back_in_air", world, qpos) == 0.0


def test_going_and_turning() -> None:
    world, qpos = standing(101)
    yaw = np.linspace(0.0, 1.5 * np.pi, 101)
    qpos[:, 3], qpos[:, 6] = np.cos(yaw / 2), np.sin(yaw / 2)
    assert feat("turned", world, qpos) == pytest.approx(270.0, rel=0.02)
    world, qpos = standing(101)
    qpos[:, 0] += np.linspace(0.0, 2.0, 101)
    assert feat("travelled", world, qpos) == pytest.approx(2.0)
    assert feat("com_speed_at_end", world, qpos) == pytest.approx(2.0, rel=1e-6)


def test_a_body_on_its_stomach_still_faces_ahead() -> None:
    world, qpos = standing(11)
    qpos[:, 3:7] = np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0
    qpos[:, 0] += np.linspace(0.0, 2.0, 11)
    assert feat("travelled", world, qpos) == pytest.approx(2.0)
    assert feat("turned", world, qpos) == pytest.approx(0.0)
    qpos[:, 3:7] = np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0  # on its side
    assert feat("travelled", world, qpos) == pytest.approx(2.0)


def test_a_cartwheel_is_no_turn() -> None:
    world, qpos = standing(101)
    roll = np.linspace(0.0, 2.0 * np.pi, 101)
    qpos[:, 3], qpos[:, 4] = np.cos(roll / 2), np.sin(roll / 2)
    assert feat("turned", world, qpos) == pytest.approx(0.0, abs=1e-6)


def test_rises_are_counted_once_they_are_high_enough() -> None:
    world, qpos = standing(201)
    time = np.linspace(0.0, 3.0, 201)
    for swing, times in ((0.2, 3), (0.04, 0)):
        moved = qpos.copy()
        moved[:, 2] -= swing * np.cos(2 * np.pi * time)
        assert feat("rises", world, moved) == times


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_a_somersault_counts_in_the_air_only(way: float) -> None:
    world, qpos = standing(101)
    pitch = -way * np.linspace(0.0, 2.0 * np.pi, 101)  # forwards is positive about the left
    qpos[:, 3], qpos[:, 5] = np.cos(pitch / 2), np.sin(pitch / 2)
    qpos[:, 2] += 3.0
    assert feat("turned_back_in_air", world, qpos) == pytest.approx(way * 360.0, rel=0.03)
    qpos[:, 2] -= 3.9
    assert abs(feat("turned_back_in_air", world, qpos)) < 30.0


def test_standing_on_hands_and_turning_on_the_head() -> None:
    world, qpos = standing(51)
    model = world.model
    data = mujoco.MjData(model)
    qpos[:, 3:7] = 0.0, 0.0, 1.0, 0.0  # upside down
    on_head = qpos.copy()
    for side in ("left", "right"):
        qpos[:, model.joint(f"athlete/{side}_shoulder_y").qposadr[0]] = -np.pi
        qpos[:, model.joint(f"athlete/{side}_elbow").qposadr[0]] = 0.0

    def lowered(states: Array) -> Array:
        data.qpos[:] = states[0]
        mujoco.mj_kinematics(model, data)
        solids = range(1, model.ngeom)
        bottoms = [mujoco.mj_geomDistance(model, data, 0, g, 5.0, None) for g in solids if model.geom_bodyid[g]]
        states[:, 2] -= min(bottoms) - 0.002
        return states

    assert feat("longest_on_hands", world, lowered(qpos)) == pytest.approx(51 * DT)
    assert feat("longest_on_one_hand", world, qpos) == 0.0
    one_handed = qpos.copy()
    one_handed[:, model.joint("athlete/right_shoulder_y").qposadr[0]] = 0.0
    assert feat("longest_on_one_hand", world, one_handed) == pytest.approx(51 * DT)
    on_head = lowered(on_head)
    assert feat("longest_on_hands", world, on_head) == 0.0
    pushed = qpos.copy()
    pushed[:, 0] += np.linspace(0.0, 0.3, 51)
    assert feat("travelled_on_hands", world, pushed) == feat("travelled", world, pushed)
    assert abs(feat("travelled_on_hands", world, pushed)) == pytest.approx(0.3)
    spin = np.zeros((51, model.nv))
    spin[:, 5] = 2.0
    assert feat("turned_on_head", world, on_head, spin) == pytest.approx(np.degrees(2.0 * 51 * DT), rel=1e-6)


def test_diagonal_legs_of_a_trot_move_together() -> None:
    world = Scene({"dog": build("quadruped")})
    model, qpos = world.model, np.tile(place(world, Placement(pose="standing")), (40, 1))

    def bend(leg: str, frames: slice) -> None:
        qpos[frames, model.jnt_qposadr[model.joint(f"dog/{leg}_knee").id]] *= 1.8

    def together() -> float:
        value = FEATS["diagonals_together"](Subject(Motion(world, DT, qpos, None), "dog")).value
        assert value is not None
        return value

    assert together() == 1.0
    for leg in ("front_right", "hind_left"):
        bend(leg, slice(10))
    for leg in ("front_left", "hind_right"):
        bend(leg, slice(20, 30))
    assert together() == 1.0
    bend("front_left", slice(30, 40))
    assert together() == pytest.approx(0.875)
    with_arms, standing_still = standing(3)
    assert FEATS["diagonals_together"](Subject(Motion(with_arms, DT, standing_still, None), "athlete")).value is None


def test_a_flight_lands_on_the_feet_or_not() -> None:
    world, qpos = standing(81)
    qpos[20:60, 2] += 0.5
    assert feat("landings_on_feet", world, qpos) == 1
    qpos[61:, 3:7] = np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0  # flat on its stomach, a moment after its feet
    qpos[61:, 2] = 0.1
    assert feat("landings_on_feet", world, qpos) == 0


def test_a_hop_is_no_flight() -> None:
    world, qpos = standing(61)
    qpos[20:40, 2] += 0.5
    assert feat("landings_on_feet", world, qpos) == 0


@pytest.mark.parametrize("name", [name for name in shipped_tasks() if load_task(name).success])
def test_what_a_shipped_task_calls_success_can_be_measured_in_its_scene(name: str) -> None:
    task = load_task(name)
    refuse_impossible(task.success, Motion(task.world, 0.01, np.tile(task.initial_qpos(), (2, 1))))
