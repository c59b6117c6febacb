"""Spacetime windows: variables, objectives, the search, and clips."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

import gambol
from gambol.characters import build
from gambol.errors import InputError
from gambol.goals import Objective, Task, Window, load_task
from gambol.results import Status
from gambol.rotations import Array
from gambol.sim import backend, pack_state
from gambol.spacetime import method
from gambol.spacetime.device import DeviceCosts
from gambol.spacetime.method import Prepared
from gambol.spacetime.objectives import TERMS, Weighed
from gambol.spacetime.observing import Observer, View
from gambol.spacetime.problem import Problem
from gambol.spacetime.reference import Reference, waves
from gambol.spacetime.search import minimise
from gambol.spacetime.settings import Settings
from samples import CLIP, STAND

pytestmark = pytest.mark.usefixtures("own_cache")


def reference(**window: Any) -> Reference:
    athlete = build("athlete")
    return Reference.of(athlete, load_task(CLIP).world.model, Window(**{**STAND, **window}), 0.1)


def test_a_pair_of_windows_has_as_many_variables_as_in_the_paper() -> None:
    assert 2 * reference().variables == 350
    assert 2 * reference(symmetric=True).variables == 220
    assert 2 * reference(coupled_arms=True).variables == 332


def test_the_reference_begins_where_the_last_window_ended_and_passes_through_its_key_poses() -> None:
    rng, ref = np.random.default_rng(0), reference()
    before = 0.1 * rng.normal(size=35)
    poses, beyond = ref.key_poses(0.3 * rng.normal(size=(2, ref.variables)))
    targets = ref.targets(before, poses)
    assert targets.shape == (2, 100, 35)
    every = 100 // ref.knots
    np.testing.assert_allclose(targets[:, every - 1 :: every], poses, atol=1e-12)
    assert np.abs(targets[:, 0] - np.clip(before, ref.low, ref.high)).max() < 0.1
    assert (targets >= ref.low - 1e-12).all()
    assert (targets <= ref.high + 1e-12).all()
    assert (ref.key_poses(np.zeros((1, ref.variables)))[0] == np.clip(0.0, ref.low, ref.high)).all()
    assert ref.key_poses(9.0 * np.ones((1, ref.variables)))[1] > beyond.max()


def test_symmetric_windows_move_left_and_right_alike() -> None:
    ref, names = reference(symmetric=True), list(build("athlete").actuators)
    poses, _ = ref.key_poses(0.3 * np.random.default_rng(0).normal(size=(3, ref.variables)))
    for name in names:
        if name.startswith("left_"):
            other = poses[..., names.index(name.replace("left_", "right_"))]
            np.testing.assert_allclose(poses[..., names.index(name)], other)
    assert np.abs(poses[..., names.index("lumbar_x")]).min() > 0.0, "the trunk stays free"
    strict = reference(symmetric="strictly")
    poses, _ = strict.key_poses(0.3 * np.random.default_rng(0).normal(size=(3, strict.variables)))
    aside = [names.index(f"{joint}_{axis}") for joint in ("lumbar", "thorax", "neck") for axis in "xz"]
    assert strict.variables == ref.variables - ref.knots * len(aside)
    assert not poses[..., aside].any()
    assert np.abs(poses[..., names.index("lumbar_y")]).min() > 0.0


def test_coupled_arms_swing_against_each_other_with_the_legs() -> None:
    ref, names = reference(coupled_arms=True), list(build("athlete").actuators)
    values = 0.1 * np.random.default_rng(0).normal(size=(1, ref.variables))
    values[0, -1] = 0.5
    poses, _ = ref.key_poses(values)
    left, right, left_hip, right_hip = (
        poses[..., names.index(n)] for n in ("left_shoulder_y", "right_shoulder_y", "left_hip_y", "right_hip_y")
    )
    np.testing.assert_allclose(left, 0.5 * (right_hip - left_hip))
    np.testing.assert_allclose(right, -left)


def seen(qpos: Array, qvel: Array | None = None, points: tuple[str, ...] = ("left_foot", "right_foot", "head")) -> View:
    """The view of a few frames, through MuJoCo's own sensors."""
    scene = load_task(CLIP).world
    observer = Observer.of(scene, points)
    data, rows = mujoco.MjData(observer.model), []
    for t in range(len(qpos)):
        data.qpos[:] = qpos[t]
        data.qvel[:] = 0.0 if qvel is None else qvel[t]
        mujoco.mj_forward(observer.model, data)
        rows.append(data.sensordata.copy())
    return View(observer, np.array(rows)[None])


def moments(term: str, view: View, **parameters: Any) -> Array:
    found = TERMS[term]
    return found.at_each_moment(view, found.parameters(**parameters))[0]


def test_objectives_read_what_they_say() -> None:
    start = load_task(CLIP).initial_qpos()
    qpos = np.tile(start, (3, 1))
    qpos[1, :3] += (0.3, 0.4, 0.1)
    qpos[2, 3:7] = np.cos(np.pi / 8), 0, 0, np.sin(np.pi / 8)
    qvel = np.zeros((3, 41))
    qvel[1, 5], qvel[2, 5] = 2.0, -2.0
    view = seen(qpos, qvel)
    com = view.position("com")[0]
    assert com[0, 2] == pytest.approx(1.09, abs=0.03)
    np.testing.assert_allclose(moments("ground", view, points=["left_foot"]), view.height("left_foot")[0] ** 2)
    assert moments("ground", view, points=["left_foot", "right_foot"])[:2] == pytest.approx([0, 0.02], abs=1e-3)
    height = com[0, 2]
    assert moments("com_height", view, height=height) == pytest.approx([0, 0.01, 0], abs=1e-6)
    assert moments("com_height", view, height=height, within=0.11) == pytest.approx([0, 0, 0], abs=1e-6)
    assert moments("stay", view)[1] == pytest.approx(0.25)
    assert moments("step", view, by=(0.3, 0.4, 0.1))[1] == pytest.approx(0, abs=1e-9)
    assert moments("hold", view, points=["left_foot"])[1] == pytest.approx(0.25)
    assert moments("heading", view, degrees=45) == pytest.approx([(np.pi / 4) ** 2] * 2 + [0])
    assert moments("high", view, points=["com"])[1] == pytest.approx(-height - 0.1)
    assert moments("keep", view, points=["com"], above=height + 0.05).tolist() == [1, 0, 1]
    assert moments("keep", view, points=["com"], below=height + 0.05).tolist() == [0, 1, 0]
    spins = view.spin[0, :, 2]
    assert spins[1] > 1.0
    assert moments("spin", view) == pytest.approx(-(spins**2), abs=1e-6)
    assert moments("momentum", view, value=2.0) == pytest.approx((spins - 2.0) ** 2, abs=1e-6)
    assert moments("spin", view, most=0.0) == pytest.approx([0, 0, -(spins[2] ** 2)], abs=1e-6)
    assert moments("torque", view).shape == (3,)
    assert moments("rest_pose", view, joints=["elbow"]) == pytest.approx([2 * 0.2**2] * 3)
    off = moments("balance", view, height=height)
    assert off[1] == pytest.approx(off[0] + 0.01 + 0.0, abs=1e-3)
    np.testing.assert_allclose(
        off - (com[:, 2] - height) ** 2, moments("plumb", view, points=["left_foot", "right_foot"])
    )


def test_the_axis_of_a_spin_turns_with_the_character() -> None:
    qpos = np.tile(load_task(CLIP).initial_qpos(), (1, 1))
    qpos[0, 3:7] = np.cos(np.pi / 4), 0, 0, np.sin(np.pi / 4)
    qvel = np.zeros((1, 41))
    qvel[0, 4] = 3.0  # about its own left
    view = seen(qpos, qvel)
    assert moments("spin", view, axis="left")[0] < -1.0
    assert moments("spin", view, axis="left", most=0.0)[0] == 0.0
    assert moments("spin", view, axis="forward")[0] == pytest.approx(0.0, abs=0.3)


def test_a_mirrored_window_means_the_joints_of_the_other_side() -> None:
    character = build("athlete")
    given = TERMS["rest_pose"].parameters(joints=["left_elbow", "left_hip_x", "lumbar_z"], angle=20)
    chosen, angles = given.mirrored().wished(character)
    names = [character.actuators[place] for place in chosen]
    signed = dict(zip(names, np.degrees(angles).round(), strict=True))
    assert signed == {"right_elbow": 20, "right_hip_x": 20, "lumbar_z": -20}, (
        "hips mirror outwards, a twist turns round"
    )


def test_a_dear_motion_is_not_an_unstable_one() -> None:
    wish = {"term": "com_height", "weight": 1e9, "parameters": {"height": 3}}
    report = gambol.solve({**CLIP, "windows": [{"duration": 0.1, "objectives": [wish]}]}).report
    assert report.status is Status.SUCCESS
    assert report.figures["by_window"][0]["cost"] > 1e9


def test_a_search_leaves_the_draws_of_others_alone() -> None:
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    minimise(lambda x: (x**2).sum(-1), np.zeros(3), Settings(population=4, generations=3), 0, lambda *_: None)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_the_search_finds_the_bottom_of_a_bowl_and_stops_there() -> None:
    told: list[int] = []
    target = np.linspace(-0.5, 0.5, 12)
    found = minimise(
        lambda x: ((x - target) ** 2).sum(-1),
        np.zeros(12),
        Settings(population=16, patience=20),
        seed=1,
        told=lambda generation, cost: told.append(generation),
    )
    np.testing.assert_allclose(found.best[0], target, atol=0.05)
    assert (np.diff(found.costs) >= 0).all()
    assert found.generations == len(told) < 1000
    assert (np.diff(found.history) <= 0).all()


def test_of_several_searches_the_one_that_is_ahead_goes_on() -> None:
    """Two bowls, and a start in the less deep one: one search may stay there, of several some get out."""

    def bowls(x: Array) -> Array:
        return ((abs(x) - 1.0) ** 2).sum(-1) + 3.0 * (x[:, 0] < 0.0)

    def ends(starts: int) -> set[float]:
        settings, start = Settings(population=8, patience=20, starts=starts), np.array([-0.4, 0.0, 0.0])
        found = [minimise(bowls, start, settings, 10 * k, lambda *_: None) for k in range(4)]
        assert all(len(each.history) == each.generations < settings.generations for each in found)
        return {round(float(each.costs[0]), 1) for each in found}

    assert ends(1) == {0.0, 3.0}
    assert ends(6) == {0.0}


def test_a_search_does_not_depend_on_the_last_bits_of_linear_algebra() -> None:
    """Processors round matrix products in other ways, and motions in contact make much of little."""
    rng = np.random.default_rng(0)
    turn, _ = np.linalg.qr(rng.normal(size=(12, 12)))
    noisy = turn * (1.0 + 1e-15 * rng.normal(size=turn.shape))

    def rugged(x: Array) -> Array:
        return (x**2 + np.sin(1e12 * x)).sum(-1)

    settings, start = Settings(population=8, generations=40), np.linspace(-0.5, 0.5, 12)
    found = [minimise(rugged, start, settings, 0, lambda *_: None, basis).best for basis in (turn, noisy)]
    np.testing.assert_array_equal(*found)


def test_waves_are_a_basis_of_the_key_poses_in_which_slow_changes_are_the_largest() -> None:
    task = load_task({**CLIP, "windows": [{**CLIP["windows"][0], "symmetric": symmetric} for symmetric in (0, 0, 1)]})
    references = Prepared.of(task, Settings()).references
    for pair in (references[:2], references[1:]):
        basis = waves(pair)
        assert basis.shape == (sum(each.variables for each in pair),) * 2
        assert np.linalg.cond(basis) < 20
        np.testing.assert_allclose((basis**2).sum(1), 1.0, atol=0.3)  # every key-pose is varied
    width, knots = references[0].mixing.shape[1], references[0].knots
    slow, fast = (waves(references[:2]) @ np.eye(references[0].variables * 2)[k * width] for k in (0, 2 * knots - 1))
    assert np.ptp(slow[::width]) < 1e-9, "the slowest wave moves all key-poses of a joint alike"
    assert abs(slow).max() > abs(fast).max()


def test_a_gpu_finds_the_same_costs() -> None:
    pytest.importorskip("jax", reason="JAX is not installed")
    pytest.importorskip("mujoco_warp", reason="MuJoCo Warp is not installed")
    task = load_task(CLIP)
    prepared = Prepared.of(task, Settings())
    model = prepared.observer.model
    start = pack_state(model, task.initial_qpos(), np.zeros(model.nv))
    pose = np.zeros(model.nu)
    with backend("cpu", model) as cpu, backend("gpu", model, device="cpu") as gpu:
        both = prepared.references[:2], prepared.objectives[:2]
        problem = Problem(prepared.observer, cpu, *both, start, pose, DeviceCosts(prepared.observer, gpu))
        values = np.random.default_rng(0).normal(0, 0.2, (3, problem.variables))
        np.testing.assert_allclose(problem.tried(values), problem.costs(values), rtol=2e-3)


def test_a_clip_is_one_motion_the_same_for_every_number_of_threads() -> None:
    results = [gambol.solve(load_task(CLIP, [f"threads={threads}", "cache=false"]), seed=3) for threads in (1, 2)]
    for result in results:
        assert result.report.figures["windows_done"] == 3
        assert len(result.motion) == 61
    np.testing.assert_array_equal(results[0].motion.qpos, results[1].motion.qpos)
    motion = results[0].motion
    assert motion.ctrl is not None
    data = mujoco.MjData(motion.scene.model)
    data.qpos[:], data.qvel[:] = motion.qpos[0], motion.velocities[0]
    for t in range(20):
        data.ctrl[:] = motion.ctrl[t]
        mujoco.mj_step(motion.scene.model, data)
    np.testing.assert_allclose(data.qpos, motion.qpos[20], atol=1e-9)


@pytest.mark.parametrize(("ahead", "together"), [(0, [1, 1, 1]), (1, [2, 2, 1]), (2, [3, 2, 1]), (5, [3, 2, 1])])
def test_a_window_is_optimised_together_with_as_many_as_it_looks_ahead_to(
    ahead: int, together: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    starts: list[Array] = []

    def first_generation(costs: Any, start: Array, *rest: Any) -> Any:
        starts.append(start)
        return minimise(costs, start, *rest)

    monkeypatch.setattr(method, "minimise", first_generation)
    gambol.solve(load_task(CLIP, [f"look_ahead={ahead}", "generations=2", "cache=false"]))
    assert [len(start) for start in starts] == [70 * count for count in together]
    begun = starts[1].reshape(-1, 35)
    known = 2 * (together[0] - 1)
    assert starts[1][: 35 * known].any() == (known > 0)
    if known:
        np.testing.assert_array_equal(begun[known:], np.tile(begun[known - 1], (len(begun) - known, 1)))


def test_success_is_judged_by_feats() -> None:
    wish = {**CLIP, "success": [{"feat": "com_height_at_end", "at_least": 0.9}]}
    good = gambol.solve(wish)
    assert good.succeeded
    assert good.report.figures["feats"]["com_height_at_end"] > 0.9
    bad = gambol.solve({**wish, "success": [{"feat": "com_height_at_end", "at_least": 3}]})
    assert bad.report.status is Status.FAILED
    assert "com_height_at_end is 1" in bad.report.advice
    assert len(bad.motion) == len(good.motion)


def test_shipped_tasks_can_be_prepared() -> None:
    for name in gambol.goals.shipped_tasks():
        if name.startswith("spacetime/"):
            task: Task = load_task(name)
            Prepared.of(task, Settings())
            assert task.success, f"{name} states no success"


def test_an_objective_counts_at_the_end_or_throughout() -> None:
    qpos = np.tile(load_task(CLIP).initial_qpos(), (4, 1))
    qpos[:, 2] += [0.4, 0.0, 0.0, 0.0]
    view = seen(qpos)
    wish = {"term": "ground", "weight": 10, "parameters": {"points": ["left_foot"]}}
    at_end, throughout = (
        Weighed.of(Objective(**{**wish, "when": when}), "key").cost(view)[0] for when in ("end", "throughout")
    )
    assert at_end == pytest.approx(0.0, abs=1e-3)
    assert throughout == pytest.approx(10 * 0.16 / 4, rel=0.05)


def test_windows_of_other_tasks_can_be_used_and_mirrored() -> None:
    wish = {"term": "ground", "parameters": {"points": ["left_toes"]}}
    going = {"term": "step", "parameters": {"by": [0.5, 0.1, 0]}}
    task = load_task(
        {
            "each_window": {"duration": 0.2, "objectives": [{"term": "torque", "when": "throughout"}]},
            "character": "athlete",
            "windows": [
                {"name": "left", "objectives": [wish, going]},
                {"name": "right", "mirror": True, "objectives": [wish, going]},
                {"use": "spacetime/balance", "mirror": True},
            ],
        }
    )
    assert task.windows is not None
    assert [window.duration for window in task.windows[:2]] == [0.2, 0.2]
    prepared = Prepared.of(task, Settings())
    named = [[weighed.given for weighed in row] for row in prepared.objectives]
    assert [row[0].named for row in named[:2]] == [("left_toes",), ("right_toes",)]
    assert [row[1].model_dump()["by"] for row in named[:2]] == [(0.5, 0.1, 0.0), (0.5, -0.1, 0.0)]
    assert [row[2].name for row in prepared.objectives[:2]] == ["torque", "torque"]
    assert task.windows[2].mirror
    with pytest.raises(InputError, match=r"windows.0: .*has no windows|has no windows"):
        load_task({"windows": [{"use": "armchair/sit-down"}]})


def test_the_centre_of_mass_is_a_point_too() -> None:
    high = {"term": "keep", "parameters": {"points": ["com", "head"], "above": 0.3}}
    assert gambol.solve({**CLIP, "windows": [{"duration": 0.1, "objectives": [high]}]}).succeeded


def test_a_search_that_cannot_get_better_stops() -> None:
    found = minimise(lambda x: np.ones(len(x)), np.zeros(3), Settings(population=4, patience=5), 0, lambda *_: None)
    assert found.generations == 6
