"""Targets that move: their paths, what rollouts and eyes see of them, and hands that follow."""

from __future__ import annotations

import time
from pathlib import Path

import mujoco
import numpy as np
import pytest

import gambol
from gambol.characters import build
from gambol.errors import InputError
from gambol.goals import load_task
from gambol.partwise.live import LiveSession
from gambol.partwise.outlook import Eyes
from gambol.partwise.planner import Planner
from gambol.partwise.settings import Settings
from gambol.rotations import Array
from gambol.scenes import Scene, Target, parse_objects
from gambol.sim import Simulation, UnstableError, backend, pack_state, set_state, state_of, unpack_state

# A ball beside two mocap bodies, and sensors that see them. Spheres alone keep Warp's compilation short.
MJCF = """
<mujoco>
  <worldbody>
    <geom type="plane" size="5 5 0.1"/>
    <body name="second" mocap="true" pos="1 0 1"><geom size="0.1" contype="0" conaffinity="0"/></body>
    <body name="ball" pos="0 0 0.5"><freejoint/><geom size="0.1"/></body>
    <body name="third" mocap="true" pos="2 0 1"/>
  </worldbody>
  <sensor>
    <framepos objtype="xbody" objname="second"/>
    <framequat objtype="xbody" objname="third"/>
    <framepos objtype="xbody" objname="ball" reftype="xbody" refname="third"/>
  </sensor>
</mujoco>
"""
PATH = [{"time": 1, "at": [1, 0.5], "height": 1.2}, {"time": 3, "at": [0, 0]}]
FOLLOW = {
    "name": "follow",
    "scene": {
        "armchair": {},
        "target": {"at": [0.25, -0.35], "height": 0.9, "path": [{"time": 0.35, "at": [0.25, 0.05], "height": 1.1}]},
    },
    "start": "sitting",
    "keyframes": [{"pairs": [{"body": "right_hand", "on": "target"}], "tolerance": 0.001, "limit": 0.6}],
    "settings": {"rollouts": 16, "planning_step": 0.02},
}


def test_a_path_leads_from_the_targets_place_through_its_waypoints_and_ends_there() -> None:
    objects, ground = parse_objects({"target": {"at": [0, 0.5], "height": 0.7, "path": PATH}})
    scene = Scene({"humanoid": build("humanoid")}, objects, ground)
    places = np.array([scene.target_poses(seconds)[0, :3] for seconds in (0, 0.5, 1, 2, 3, 99)])
    expected = [[0, 0.5, 0.7], [0.5, 0.5, 0.95], [1, 0.5, 1.2], [0.5, 0.25, 0.95], [0, 0, 0.7], [0, 0, 0.7]]
    np.testing.assert_allclose(places, expected)
    image = scene.mirrored()
    np.testing.assert_allclose(image.target_poses(2.0)[0, :3], [0.5, -0.25, 0.95])
    again = Scene.from_description(scene.describe())
    assert again.objects == scene.objects


def test_heights_count_from_the_ground_under_each_waypoint() -> None:
    objects, ground = parse_objects({"target": {"path": [{"time": 1, "at": [4, 0]}]}, "floor": {"shape": "slope"}})
    scene = Scene({"humanoid": build("humanoid")}, objects, ground)
    for seconds, x in ((0.0, 0.0), (1.0, 4.0)):
        assert scene.target_poses(seconds)[0, 2] == pytest.approx(0.8 + scene.terrain.height_at(x, 0.0))
    assert scene.terrain.height_at(4.0, 0.0) > 0.1


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ([{"time": 2, "at": [0, 0]}, {"time": 1, "at": [0, 0]}], r"scene.target.path: times must rise: waypoint 1"),
        ([{"time": 1, "at": [0, 0]}, {"time": 1, "at": [0, 0]}], r"times must rise"),
        ([{"time": -1, "at": [0, 0]}], r"scene.target.path.0.time"),
        ([{"time": 1, "at": [0, 0, 1]}], r"scene.target.path.0.at"),
        ([{"time": 1}], r"scene.target.path.0.at"),
        ([{"time": 1, "at": [0, 0], "hight": 2}], r"scene.target.path.0.hight: unknown key"),
        ([{"time": 1, "at": [0, 0], "height": "high"}], r"scene.target.path.0.height"),
        ([[0, 1, 2, 3]], r"scene.target.path.0"),
        (3, r"scene.target.path"),
    ],
)
def test_wrong_paths_name_the_file_and_the_key(path: object, said: str, tmp_path: Path) -> None:
    file = tmp_path / "task.yaml"
    file.write_text(f"scene: {{target: {{path: {path!r}}}}}\nkeyframes: [{{pairs: [{{body: pelvis}}]}}]\n")
    with pytest.raises(InputError, match=said) as caught:
        load_task(file).world  # noqa: B018
    assert "task.yaml" in str(caught.value)


def test_states_carry_the_poses_of_mocap_bodies() -> None:
    model = mujoco.MjModel.from_xml_string(MJCF)
    rng = np.random.default_rng(0)
    poses = rng.normal(size=(3, 2, 7))
    rows = pack_state(model, np.tile(model.qpos0, (3, 1)), np.zeros(model.nv), mocap=poses)
    np.testing.assert_array_equal(unpack_state(model, rows).mocap, poses)
    data = mujoco.MjData(model)
    set_state(model, data, rows[1])
    np.testing.assert_array_equal(data.mocap_pos, poses[1, :, :3])
    np.testing.assert_array_equal(state_of(model, data), rows[1])
    at_rest = unpack_state(model, pack_state(model, model.qpos0, np.zeros(model.nv))).mocap
    np.testing.assert_array_equal(at_rest[:, :3], [[1, 0, 1], [2, 0, 1]])
    with pytest.raises(InputError, match=r"mocap: has shape \(2, 3\); the model needs \(\.\.\., 2, 7\)"):
        pack_state(model, model.qpos0, np.zeros(model.nv), mocap=np.zeros((2, 3)))


@pytest.mark.parametrize("name", ["cpu", "gpu"])
def test_rollouts_see_mocap_bodies_where_their_states_have_them(name: str) -> None:
    if name == "gpu":
        pytest.importorskip("mujoco_warp", reason="MuJoCo Warp is not installed")
    model = mujoco.MjModel.from_xml_string(MJCF)
    poses = np.array([[[k, 1, 2, 1, 0, 0, 0], [0, k, 1, 0.6, 0.8, 0, 0]] for k in (1, 2, 3)], float)
    starts = pack_state(model, np.tile(model.qpos0, (3, 1)), np.zeros(model.nv), mocap=poses)
    with backend(name, model, **({"device": "cpu"} if name == "gpu" else {})) as sim:
        rollout = sim.rollout(starts, np.zeros((3, 2, 0)))
        elsewhere = sim.rollout(starts[::-1], np.zeros((3, 2, 0)))
    seen = np.concatenate([poses[:, 0, :3], poses[:, 1, 3:]], axis=1)
    for step in range(2):
        np.testing.assert_allclose(rollout.sensors[:, step, :7], seen, atol=1e-6)
        np.testing.assert_allclose(unpack_state(model, rollout.states).mocap[:, step], poses, atol=1e-6)
    np.testing.assert_allclose(elsewhere.sensors[:, 0, :7], seen[::-1], atol=1e-6)


def test_eyes_see_targets_where_the_state_has_them() -> None:
    task = load_task(FOLLOW)
    assert task.keyframes is not None
    eyes = Eyes(task.world, task.keyframes)
    simulation = Simulation(task.world, task.initial_qpos())
    before = eyes.displacements(simulation.state, 0)
    simulation.move("target", simulation.data.body("humanoid/right_hand").xpos)
    simulation.step(np.zeros(simulation.model.nu))
    assert np.linalg.norm(before) > 0.2
    assert np.linalg.norm(eyes.displacements(simulation.state, 0)) < 0.05


def distance_at_the_end(motion: gambol.Motion) -> float:
    data = motion.state_at(-1)
    return float(np.linalg.norm(data.body("humanoid/right_hand").xpos - data.body("target").xpos))


def test_a_hand_follows_a_moving_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """Better than a planner does that takes the target to be where the scene file puts it."""
    followed = gambol.solve(FOLLOW, seed=0)
    motion = followed.motion
    assert motion.mocap is not None
    np.testing.assert_allclose(motion.mocap[0, 0, :3], [0.25, -0.35, 0.9])
    np.testing.assert_allclose(motion.mocap[-1, 0, :3], [0.25, 0.05, 1.1])

    seeing = Planner.improve

    def blind_to_moves(self: Planner, state: Array, keyframe: int, age: float) -> float:
        parts = unpack_state(self.model, state)
        return seeing(self, pack_state(self.model, parts.qpos, parts.qvel), keyframe, age)

    monkeypatch.setattr(Planner, "improve", blind_to_moves)
    blind = gambol.solve(FOLLOW, seed=0).motion
    assert distance_at_the_end(motion) < 0.7 * distance_at_the_end(blind)
    assert distance_at_the_end(motion) < 0.3


def test_moving_targets_survive_being_saved(tmp_path: Path) -> None:
    motion = gambol.solve(load_task(FOLLOW, ["keyframes.0.limit=0.05"]), seed=0).motion
    motion.save(tmp_path / "follow.npz")
    again = gambol.load_motion(tmp_path / "follow.npz")
    np.testing.assert_array_equal(again.mocap, motion.mocap)
    target = again.scene.objects["target"]
    assert isinstance(target, Target)
    assert len(target.path) == 1


def test_a_target_is_moved_in_a_live_session() -> None:
    task = load_task({**FOLLOW, "keyframes": [{**FOLLOW["keyframes"][0], "limit": 1000}]})
    session = LiveSession(task, Settings(rollouts=12), slowdown=0.5)
    for wrong, said in ((("armchair", (0, 0, 1)), "no target"), (("target", (0, 0)), "three numbers")):
        with pytest.raises(InputError, match=said):
            session.move_target(*wrong)
    session.start()
    session.move_target("target", (0.3, -0.1, 1.0))
    until = time.monotonic() + 30
    while session.status.simulated < 0.05 and time.monotonic() < until:
        time.sleep(0.01)
    assert "right_hand -> target" in session.status.shortfall
    motion = session.stop()
    assert motion.mocap is not None
    np.testing.assert_allclose(motion.mocap[-1, 0, :3], (0.3, -0.1, 1.0))


def test_a_simulation_that_blows_up_says_so_and_goes_back(capfd: pytest.CaptureFixture[str]) -> None:
    """MuJoCo itself would start over from its reference state without a word to the caller."""
    scene = load_task(FOLLOW).world
    simulation = Simulation(scene, scene.initial_qpos())
    still = np.zeros(scene.model.nu)
    for _ in range(3):
        simulation.step(still)
    good = simulation.state
    with pytest.raises(UnstableError, match=r"0\.015 s: a control"):
        simulation.step(np.full_like(still, np.nan))
    np.testing.assert_array_equal(simulation.state, good)
    simulation.data.qvel[:] = 9e9
    with pytest.raises(UnstableError, match="too large or no number"):
        simulation.step(still)
    simulation.restore(good)
    simulation.step(still)
    assert simulation.data.time == pytest.approx(0.02)
    assert capfd.readouterr() == ("", "")


def test_trials_in_a_batch_see_their_targets_move() -> None:
    pytest.importorskip("jax", reason="JAX is not installed")
    pytest.importorskip("mujoco_warp", reason="MuJoCo Warp is not installed")
    from gambol.partwise.batch import TrialBatch

    target = {"at": [0.25, -0.35], "height": 0.9, "path": [{"time": 0.04, "at": [0.25, 0.05]}]}
    task = load_task({**FOLLOW, "scene": {"armchair": {}, "target": target}}, ["keyframes.0.limit=0.05"])
    settings = Settings(rollouts=4, horizon=0.02, knots=1, planning_step=0.02, strides=(), replan_every=1)
    batch = TrialBatch([task], settings, [0, 1], method="predictive-sampling", device="cpu", keep=2)
    assert not any(trial.succeeded for trial in batch.run(lambda moment: None))
    for motion in batch.motions():
        assert motion.mocap is not None
        np.testing.assert_allclose(motion.mocap[-1, 0, :3], (0.25, 0.05, 0.9), atol=1e-5)
        assert np.ptp(motion.mocap[:, 0, 1]) > 0.3
