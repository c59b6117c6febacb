from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import mujoco
import numpy as np
import pytest

from gambol.characters import Character, Point, Pose, build
from gambol.errors import InputError
from gambol.motion import Motion
from gambol.motion.formats import archive
from gambol.motion.metrics import measure
from gambol.motion.retarget import Goals, clearance, direction_errors, follow, retarget
from gambol.rotations import from_yaw, multiply, to_matrix
from gambol.scenes import Scene, parse_objects, place
from samples import ARCHIVE, needs_archive

ARM_RAISED = {
    "humanoid": Pose({"right_shoulder1": -0.9, "right_shoulder2": 0.9, "right_elbow": -0.3, "abdomen_z": 0.4}),
    "athlete": Pose(
        {"right_shoulder_x": -2.4, "right_elbow": -0.4, "lumbar_z": 0.5, "left_hip_y": -0.9, "left_knee": 1.2}
    ),
}


def _held(name: str, pose: str, frames: int = 2, yaw: float = 0.0) -> Motion:
    character = build(name)
    character = replace(character, poses={**character.poses, "arm raised": ARM_RAISED.get(name, Pose())})
    scene = Scene.alone(character)
    qpos = np.tile(place(scene, pose), (frames, 1))
    qpos[:, 3:7] = multiply(from_yaw(yaw), qpos[:, 3:7])
    return Motion(scene, 1 / 30, qpos)


def _walk(name: str, frames: int = 45) -> Motion:
    """Legs and arms swing while the body goes straight on at a metre a second."""
    still = _held(name, "standing", frames)
    time, qpos = still.times, still.qpos.copy()
    qpos[:, 0] += time
    model = still.scene.characters[name].model
    for side, phase in (("right", 0.0), ("left", np.pi)):
        qpos[:, model.joint(f"{side}_hip_y").qposadr[0]] += 0.4 * np.sin(6 * time + phase) - 0.1
    return replace(still, qpos=qpos)


@pytest.mark.parametrize("pose", ["standing", "sitting", "supine", "arm raised"])
@pytest.mark.parametrize(
    ("source", "target", "degrees"),
    [("humanoid", "athlete", 1.0), ("athlete", "humanoid", 7.0), ("athlete", "mocap-humanoid", 1.0)],
)
def test_poses_keep_their_directions(source: str, target: str, degrees: float, pose: str) -> None:
    motion = _held(source, pose, yaw=1.0)
    performed = retarget(motion, build(target))
    errors = direction_errors(motion, performed)
    assert errors.mean() < degrees
    assert performed.source.figures["direction_error_deg"] == pytest.approx(errors.mean())
    # as near the floor, within the ranges, and facing the same way
    np.testing.assert_allclose(clearance(performed, target), clearance(motion, source), atol=2e-4)
    assert measure(performed, ["joint_limit_excess"])["joint_limit_excess"].value == pytest.approx(0.0, abs=1e-6)
    turned = [
        to_matrix(m.state_at(0).body(f"{name}/pelvis" if name != "mocap-humanoid" else f"{name}/Hips").xquat)
        for m, name in ((motion, source), (performed, target))
    ]
    np.testing.assert_allclose(turned[0], turned[1], atol=0.12)


def test_there_and_back_again() -> None:
    motion = _walk("humanoid")
    back = retarget(retarget(motion, build("athlete")), build("humanoid"))
    assert direction_errors(motion, back).mean() < 1.0
    np.testing.assert_allclose(back.qpos[:, :3], motion.qpos[:, :3], atol=0.03)


def test_the_way_over_the_ground_goes_by_the_length_of_the_legs() -> None:
    motion = _walk("humanoid")
    performed = retarget(motion, build("athlete"))

    def leg(name: str) -> float:
        character = build(name)
        data = mujoco.MjData(character.model)
        mujoco.mj_forward(character.model, data)
        marks = [character.landmarks[f"right_{joint}"] for joint in ("hip", "knee", "ankle")]
        points = [data.body(m.body).xpos + data.body(m.body).xmat.reshape(3, 3) @ m.offset for m in marks]
        return float(sum(np.linalg.norm(b - a) for a, b in pairwise(points)))

    ways = [
        np.ptp(m.poses().positions[:, m.scene.model.body(f"{n}/pelvis").id, 0])
        for m, n in ((motion, "humanoid"), (performed, "athlete"))
    ]
    assert ways[1] / ways[0] == pytest.approx(leg("athlete") / leg("humanoid"), rel=0.02)


def test_among_furniture_the_place_is_kept() -> None:
    objects, terrain = parse_objects({"armchair": {}, "ball": {"at": [1.0, 1.0]}})
    scene = Scene({"humanoid": build("humanoid")}, objects, terrain)
    qpos = np.tile(place(scene, "sitting"), (3, 1))
    ball = scene.model.joint("ball").qposadr[0]
    qpos[:, ball] += [0.0, 0.1, 0.2]
    motion = Motion(scene, 0.1, qpos, qvel=np.zeros((3, scene.model.nv)))
    performed = retarget(motion, build("athlete"), name="guest")
    assert set(performed.scene.characters) == {"guest"}
    assert performed.qvel is None
    pelves = [m.state_at(1).body(f"{n}/pelvis").xpos[:2] for m, n in ((motion, "humanoid"), (performed, "guest"))]
    np.testing.assert_allclose(pelves[0], pelves[1], atol=0.05)
    np.testing.assert_array_equal(performed.qpos[:, performed.scene.model.joint("ball").qposadr[0]], qpos[:, ball])


def test_on_uneven_ground_the_clearance_is_that_above_it() -> None:
    objects, terrain = parse_objects({"floor": {"shape": "slope", "angle": 20.0, "flat_radius": 0.5}})
    scene = Scene({"humanoid": build("humanoid")}, objects, terrain)
    qpos = np.tile(place(scene), (4, 1))
    qpos[:, 0] += 2.0
    qpos[:, 2] += 1.5 * np.tan(np.deg2rad(20.0))
    motion = Motion(scene, 0.1, qpos)
    performed = retarget(motion, build("athlete"))
    np.testing.assert_allclose(clearance(performed, "athlete"), clearance(motion, "humanoid"), atol=1e-3)


def test_one_of_two_is_replaced() -> None:
    scene = Scene({"a": build("humanoid", name="a"), "b": build("humanoid", name="b")})
    qpos = np.tile(place(scene), (2, 1))
    motion = Motion(scene, 0.1, qpos)
    performed = retarget(motion, build("athlete"), source_character="b")
    assert list(performed.scene.characters) == ["a", "athlete"]
    np.testing.assert_array_equal(performed.qpos[:, performed.scene.spans["a"].qpos], qpos[:, scene.spans["a"].qpos])
    with pytest.raises(InputError, match="did you mean|known"):
        retarget(motion, build("athlete"), source_character="c")


def test_flight_stays_flight() -> None:
    still = _held("humanoid", "standing", 40)
    time = np.maximum(still.times - 0.2, 0.0)
    height = np.maximum(2.5 * time - 9.81 * time**2 / 2, 0.0)
    qpos = still.qpos.copy()
    qpos[:, 2] += height
    performed = retarget(replace(still, qpos=qpos), build("athlete"))
    rise = performed.qpos[:, 2] - performed.qpos[0, 2]
    np.testing.assert_allclose(rise, height, atol=2e-3)


def test_bodies_with_nothing_in_common_are_refused_with_what_they_have() -> None:
    with pytest.raises(InputError, match="too few landmarks") as caught:
        retarget(_held("humanoid", "standing"), build("quadruped"))
    assert "humanoid: chest, head, left_ankle" in str(caught.value)
    assert "quadruped: front_left_leg" in str(caught.value)
    bare = replace(build("athlete"), landmarks={})
    with pytest.raises(InputError, match="athlete: none"):
        retarget(_held("humanoid", "standing"), bare)


def test_bodies_without_arms_take_what_they_share() -> None:
    motion = _walk("athlete")
    performed = retarget(motion, build("wide-biped"))
    assert direction_errors(motion, performed).mean() < 5.0


def test_quadrupeds_of_other_sizes() -> None:
    small, large = build("quadruped"), build({"kind": "quadruped", "length": 1.2, "leg": 0.6}, name="large")
    scene = Scene.alone(small)
    qpos = np.tile(place(scene), (20, 1))
    qpos[:, 8] += 0.2 * np.sin(np.arange(20) / 3)
    motion = Motion(scene, 1 / 30, qpos)
    performed = retarget(motion, large)
    assert direction_errors(motion, performed).mean() < 6.0
    np.testing.assert_allclose(clearance(performed, "large"), clearance(motion, "quadruped"), atol=5e-3)


def test_tracking_reaches_what_can_be_reached() -> None:
    """Goals taken from states within the ranges are met, and the answer is the same from one run to the next."""
    character = build("athlete")
    model, rng = character.model, np.random.default_rng(5)
    low, high = model.jnt_range[1:].T
    start = character.pose_qpos("standing")
    wanted = np.tile(start, (3, 1))
    wanted[:, 7:] = np.clip(wanted[:, 7:] + 0.3 * rng.standard_normal((3, model.nq - 7)), low, high)
    points = [Point(body) for body in character.bodies]
    data, positions, quats = mujoco.MjData(model), [], []
    for state in wanted:
        data.qpos[:] = state
        mujoco.mj_kinematics(model, data)
        positions.append(data.xpos[1:].copy())
        quats.append(data.xquat[1:].copy())
    goals = Goals(points, np.array(positions), character.bodies, np.array(quats), np.full(len(points), 0.3))
    found = follow(character, goals, start)
    np.testing.assert_allclose(found[:, 7:], wanted[:, 7:], atol=0.02)
    np.testing.assert_array_equal(found, follow(character, goals, start))


def test_a_body_need_not_have_its_root_in_the_pelvis_nor_be_called_the_same() -> None:
    athlete = build("athlete")
    renamed = Character(
        "stranger", athlete.xml, athlete.parts, athlete.patches, athlete.landmarks, athlete.poses, recipe=None
    )
    motion = _held("humanoid", "sitting")
    assert direction_errors(motion, retarget(motion, renamed)).mean() < 1.0


@needs_archive
@pytest.mark.parametrize(("target", "degrees"), [("athlete", 4.0), ("humanoid", 8.0), ("mocap-humanoid", 1.0)])
def test_a_captured_walk_stays_a_walk(target: str, degrees: float) -> None:
    walk = archive.read(ARCHIVE, "02_01", ground=True)
    performed = retarget(walk, build(target))
    assert performed.source.figures["direction_error_deg"] < degrees
    names = ["foot_skate", "jerk", "joint_limit_excess"]
    before, after = measure(walk, names), measure(performed, names)
    assert after["foot_skate"].value < before["foot_skate"].value + 0.05
    assert after["jerk"].value < 1.3 * before["jerk"].value
    assert after["joint_limit_excess"].value < 1e-6
