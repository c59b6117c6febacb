"""Predictive sampling: splines, costs, determinism, success and honest failure."""

from __future__ import annotations

import numpy as np
import pytest

import gambol
from gambol.characters import build
from gambol.errors import InputError
from gambol.goals import Keyframe, load_task
from gambol.partwise.groups import Grouping, parts_of_actuators
from gambol.partwise.planner import Partwise, Plan
from gambol.partwise.progress import KeyframeProgress
from gambol.partwise.recombining import recombine
from gambol.partwise.sensing import _belonging, instrument
from gambol.partwise.terms import (
    Column,
    KeyframeTable,
    Rolled,
    common_columns,
    concerned_parts,
    costs,
    smooth_abs,
    watched_frames,
)
from gambol.results import Progress, Status
from gambol.sampling import candidates, shaped_noise, strides, widths
from gambol.sim import backend, pack_state
from gambol.splines import spline_matrix

STAY = {
    "name": "stay",
    "scene": "armchair",
    "start": "sitting",
    "keyframes": [
        {
            "name": "stay",
            "style": "relaxed",
            "pairs": [{"body": "pelvis", "point": [0, 0, -0.09], "on": "armchair/seat", "at": [-0.08, 0, 0.05]}],
            "tolerance": 0.3,
            "sustain": 0.1,
            "limit": 2,
        }
    ],
    "settings": {"rollouts": 12},
}


def test_splines_pass_through_their_knots_and_keep_constants() -> None:
    rng = np.random.default_rng(0)
    for knots in (1, 2, 3, 6):
        values = rng.normal(size=(knots, 4))
        np.testing.assert_allclose(spline_matrix(knots, np.arange(knots, dtype=float)) @ values, values, atol=1e-12)
        phases = np.linspace(-1, knots + 1, 50)
        np.testing.assert_allclose(spline_matrix(knots, phases).sum(1), 1.0)


def test_splines_are_smooth() -> None:
    phases = np.linspace(0, 4, 4001)
    curve = spline_matrix(5, phases) @ np.random.default_rng(1).normal(size=5)
    slope = np.diff(curve) / np.diff(phases)
    assert np.abs(np.diff(slope)).max() < 0.05


def test_contact_cost_is_equation_5() -> None:
    d = np.array([[0.3, 0.0, -0.4]])
    assert smooth_abs(d).sum() == pytest.approx(sum(np.sqrt(x * x + 0.01) - 0.1 for x in (0.3, 0.0, -0.4)))


def rolled_at_start(task_data: dict, **weights: float) -> tuple[np.ndarray, Rolled]:
    data = {**task_data, "keyframes": [{**task_data["keyframes"][0], "weights": {"contact": 0, "joint_velocity": 0, "control": 0, "com_velocity": 0, "upright_left_foot": 0, "upright_right_foot": 0, **weights}}]}  # fmt: skip
    task = load_task(data)
    assert task.keyframes is not None
    senses = instrument(task.world, watched_frames(task.keyframes), timestep=1e-4)
    state = pack_state(senses.model, task.initial_qpos(), np.zeros(senses.model.nv))
    with backend("cpu", senses.model) as cpu:
        out = cpu.rollout(state, np.zeros((1, 1, senses.model.nu)))
    table = KeyframeTable.of(task.keyframes, senses)
    rolled = Rolled(
        senses,
        out.sensors[None],
        out.qvel[None, ..., 6:],
        np.full((1, 1, 1, senses.model.nu), 0.5),
        table.facing[[0]][:, None, None],
        (1.4, 1.2),
    )
    return costs(rolled, table, np.array([0]))[0, 0], rolled


def test_terms_measure_what_appendix_a_says() -> None:
    found, rolled = rolled_at_start({**STAY, "start": "standing", "scene": None, "keyframes": [
        {"pairs": [{"body": "pelvis", "on": "floor", "at": [0, 0, 1.0]}]}]}, upright_torso=1, head_height=2, com_feet=1, control=1)  # fmt: skip
    columns = ["contact", *(column.term for column in common_columns(rolled.senses))]
    named = {name: sum(cost for column, cost in zip(columns, found, strict=True) if column == name) for name in columns}
    head = rolled.senses.position(rolled.sensors, "head")[0, 0, 0, 2]
    assert named["upright_torso"] == pytest.approx(0.0, abs=1e-9)
    assert named["head_height"] == pytest.approx(2 * smooth_abs(head - 1.4))
    assert named["control"] == pytest.approx(21 * 0.09 * (np.cosh(0.5 / 0.3) - 1))
    assert named["com_feet"] < 0.05
    assert named["knee_feet"] == 0.0


def test_contact_pairs_are_measured_in_their_frames() -> None:
    """A point given on a tilted solid is where MuJoCo has it."""
    import mujoco

    task = load_task(
        {**STAY, "keyframes": [{"pairs": [{"body": "torso", "on": "armchair/back", "at": [0.05, 0.1, 0.2]}]}]}
    )
    assert task.keyframes is not None
    senses = instrument(task.world, watched_frames(task.keyframes))
    data = mujoco.MjData(senses.model)
    data.qpos[:] = task.initial_qpos()
    mujoco.mj_forward(senses.model, data)
    target = data.geom("armchair/back").xpos + data.geom("armchair/back").xmat.reshape(3, 3) @ [0.05, 0.1, 0.2]
    expected = data.body("humanoid/torso").xpos - target
    table = KeyframeTable.of(task.keyframes, senses)
    ((measured,),) = table.displacements(data.sensordata[None], np.array([0]))
    np.testing.assert_allclose(measured, expected, atol=1e-9)


TABLE_1 = {
    "upright_torso": "C",
    "upright_pelvis": "C",
    "upright_left_foot": "LL",
    "upright_right_foot": "RL",
    "head_height": "C",
    "torso_height": "C",
    "knee_feet": "RL LL",
    "com_feet": "C RL LL RA LA",
    "facing": "C",
    "com_velocity": "C RL LL RA LA",
    "joint_velocity": "C RL LL RA LA",
    "control": "C RL LL RA LA",
}
PARTS = {"C": "core", "RL": "right_leg", "LL": "left_leg", "RA": "right_arm", "LA": "left_arm"}


def test_terms_concern_the_parts_of_table_1() -> None:
    character = build("humanoid")
    for term, letters in TABLE_1.items():
        assert concerned_parts(term, character) == {PARTS[letter] for letter in letters.split()}


@pytest.mark.parametrize("own", [True, False])
def test_a_part_answers_for_its_own_joints(own: bool) -> None:
    """The left arm's controls are seen by the groups it is in, and by all groups where parts answer for all joints."""
    task = load_task(STAY)
    assert task.keyframes is not None
    senses = instrument(task.world, watched_frames(task.keyframes))
    parts = Partwise.of(task.world, task.keyframes, senses, own_joints=own)
    columns = common_columns(senses)
    first = parts.seen.shape[-1] - len(columns)
    for term in ("control", "joint_velocity"):
        seen = parts.seen[0, :, first + columns.index(Column(term, "left_arm"))]
        groups = Grouping.of(task.world.characters["humanoid"]).groups
        assert [bool(each) for each in seen[:-1]] == [not own or "left_arm" in group for group in groups]
        owners = senses.actuator_owners if term == "control" else senses.joint_owners
        np.testing.assert_array_equal(owners.sum(1), 1.0)
    limp = _belonging([], senses.owners)
    assert limp.shape == (0, len(senses.owners))


@pytest.mark.parametrize("name", ["humanoid", "athlete", "quadruped", "wide-biped", "mocap-humanoid"])
def test_partitions_cover_every_actuator_once(name: str) -> None:
    character = build(name)
    grouping = Grouping.of(character)
    for partition in grouping.partitions:
        covered = [part for group in partition for part in grouping.groups[group]]
        assert sorted(covered) == sorted(character.parts)
    sources = grouping.source_groups(parts_of_actuators(character))
    assert sources.shape == (len(grouping.partitions), character.model.nu)
    if set(character.parts) == set(PARTS.values()):
        assert (len(grouping.groups), len(grouping.partitions)) == (9, 5)


def test_recombination_takes_each_part_from_its_best_candidate() -> None:
    """Two groups whose costs are independent: the recombined candidate is better than any that was tried."""
    rng = np.random.default_rng(0)
    target = rng.normal(size=4)
    knots = candidates(
        np.zeros((1, 1, 4)), np.zeros((1, 0, 1, 4)), rng.normal(size=(1, 30, 1, 4)), -9.0 * np.ones(4), 9.0 * np.ones(4)
    )
    found = np.stack([((knots - target)[..., part] ** 2).sum((-1, -2)) for part in ([0, 1], [2, 3])], axis=-1)
    seen = np.eye(2)[None]
    (mixed,) = recombine(knots, found, seen, np.array([[0, 0, 1, 1]]))[0]
    assert ((mixed - target) ** 2).sum() < found.sum(-1).min() - 1e-3
    assert ((mixed - target) ** 2).sum() == pytest.approx(found.min(axis=1).sum())


def test_strides_go_on_where_the_better_half_went() -> None:
    """On a slope every candidate sees, a stride is better than all that was tried."""
    rng = np.random.default_rng(0)
    nominal, target = np.zeros((2, 3, 4)), np.full((3, 4), 5.0)
    noise = rng.normal(size=(2, 40, 3, 4))
    knots = candidates(nominal, nominal[:, None][:, :0], noise, np.full(4, -9.0), np.full(4, 9.0))
    totals = ((knots - target) ** 2).sum((-1, -2))
    further = strides(knots, totals, (2.0, 4.0))
    assert further.shape == (2, 2, 3, 4)
    assert (((further - target) ** 2).sum((-1, -2)).min(axis=1) < totals.min(axis=1)).all()
    assert strides(knots, totals, ()).shape == (2, 0, 3, 4)


def test_candidates_vary_some_actuators_more_or_less_widely() -> None:
    rng = np.random.default_rng(0)
    width = 0.1 * widths(200, 2.0)[:, None] * np.ones(50)
    noise = shaped_noise(rng.normal(size=(1, 200, 3, 50)), rng.random((1, 200, 1, 50)), width, 0.25)[0]
    varied = (noise != 0.0).any(axis=1)
    assert varied.mean() == pytest.approx(0.25, abs=0.02)
    assert ((noise != 0.0).all(axis=1) == varied).all(), "all knots of an actuator vary, or none"
    deviation = [noise[part][np.repeat(varied[part][:, None], 3, axis=1)].std() for part in (slice(9), slice(-9, None))]
    assert deviation == pytest.approx([0.05, 0.2], rel=0.2)


def test_keyframes_are_reached_by_holding_them() -> None:
    two = [Keyframe(pairs=[{"body": "pelvis"}], tolerance=0.1, sustain=0.2, limit=1.0)] * 2
    progress = KeyframeProgress(two)
    near, far = np.array([[0.05, 0, 0]]), np.array([[0.5, 0, 0]])
    for displacement in [near, far, near, near]:
        progress.update(displacement, 0.1)
    assert progress.index == 1, "held for 0.2 s after the interruption"
    for _ in range(11):
        progress.update(far, 0.1)
    assert progress.failed
    assert progress.closest == pytest.approx(0.5)


def test_the_same_seed_gives_the_same_motion_at_any_number_of_threads() -> None:
    runs = [gambol.solve(load_task(STAY, [f"threads={threads}"]), seed=5) for threads in (1, 2)]
    np.testing.assert_array_equal(runs[0].motion.qpos, runs[1].motion.qpos)
    other = gambol.solve(load_task(STAY), seed=6)
    assert not np.array_equal(runs[0].motion.qpos, other.motion.qpos)


def test_success_comes_with_motion_controls_contacts_and_source() -> None:
    heard: list[Progress] = []
    result = gambol.solve(STAY, seed=1, progress=heard.append)
    assert result.report.status is Status.SUCCESS
    motion = result.motion
    assert motion.ctrl is not None
    assert motion.contacts is not None
    assert np.abs(motion.ctrl).max() <= 1.0
    assert motion.duration == pytest.approx(result.report.sim_seconds)
    assert motion.source.method == "partwise"
    assert motion.source.versions["mujoco"]
    assert heard
    held = motion.contacts.force[:, 2]
    assert np.abs(held).sum() > 0


def test_replaying_the_controls_gives_the_recorded_states() -> None:
    """What is recorded is what happened: open-loop replay reproduces the run."""
    import mujoco

    motion = gambol.solve(STAY, seed=2).motion
    model = motion.scene.model
    data = mujoco.MjData(model)
    data.qpos[:] = motion.qpos[0]
    mujoco.mj_forward(model, data)
    assert motion.ctrl is not None
    for t in range(len(motion) - 1):
        data.ctrl[:] = motion.ctrl[t]
        mujoco.mj_step(model, data)
        mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.qpos, motion.qpos[-1], atol=1e-9)


def test_a_controller_drives_a_simulation_of_ones_own() -> None:
    """Asked step by step, it goes through the keyframes and gives the motion that solving gives."""
    import mujoco

    task = load_task(STAY)
    controller = gambol.controller(task, seed=3)
    data = mujoco.MjData(task.world.model)
    data.qpos[:] = task.initial_qpos()
    mujoco.mj_forward(task.world.model, data)
    states = []

    def state() -> np.ndarray:
        return pack_state(task.world.model, data.qpos, data.qvel, data.time)

    controller.reset(state())
    for _ in range(400):
        control = controller.step(state())
        states.append(data.qpos.copy())
        if controller.progress.finished:
            break
        data.ctrl[:] = control
        mujoco.mj_step(task.world.model, data)
        mujoco.mj_forward(task.world.model, data)
    controller.close()
    np.testing.assert_array_equal(states, gambol.solve(task, seed=3).motion.qpos)


@pytest.mark.parametrize("method", ["partwise", "predictive-sampling"])
def test_other_people_and_props_may_be_in_the_scene(method: str) -> None:
    """Only the first character's joints are held still by the joint velocity term; nothing trips over the others."""
    task = {
        **STAY,
        "scene": {"armchair": {}, "ball": {"at": [1, 1]}},
        "characters": {"ann": "humanoid", "bob": "humanoid"},
        "start": {"ann": "sitting", "bob": {"pose": "standing", "at": [1, -1]}},
        "keyframes": [
            {**STAY["keyframes"][0], "pairs": [{"body": "ann/pelvis", "on": "armchair/seat"}], "sustain": 0.02}
        ],
    }
    result = gambol.solve(task, method=method, seed=0)
    assert result.succeeded, result.report.advice
    scene = result.motion.scene
    senses = instrument(scene, ["ann/pelvis"])
    names = {
        scene.model.joint(int(scene.model.dof_jntid[dof])).name for dof in range(scene.model.nv)[senses.joint_dofs]
    }
    assert names == {f"ann/{joint}" for joint in scene.characters["ann"].joints}


def test_an_unreachable_keyframe_is_reported_with_the_closest_distance() -> None:
    task = {
        **STAY,
        "keyframes": [{"name": "moon", "pairs": [{"body": "pelvis", "on": "floor", "at": [0, 0, 50]}], "limit": 0.1}],
    }
    result = gambol.solve(task, seed=0)
    assert result.report.status is Status.FAILED
    assert "moon" in result.report.advice
    assert "closest" in result.report.advice
    assert len(result.motion) > 10, "the motion so far is kept"


def test_characters_without_landmarks_are_refused() -> None:
    with pytest.raises(InputError, match="landmarks"):
        gambol.solve(
            {**STAY, "character": "quadruped", "start": "standing", "keyframes": [{"pairs": [{"body": "torso"}]}]}
        )


def test_wrong_settings_and_methods_are_refused() -> None:
    with pytest.raises(InputError, match="settings.rolouts: unknown key"):
        gambol.solve(load_task(STAY, ["rolouts=3"]))
    for few in (1, 8):
        with pytest.raises(InputError, match="settings.rollouts"):
            gambol.solve(load_task(STAY, [f"rollouts={few}"]))
    with pytest.raises(InputError, match="no method named"):
        gambol.solve(STAY, method="magic")
    with pytest.raises(InputError, match="fulfils keyframes"):
        gambol.solve({"windows": [{"objectives": [{"term": "x"}]}]}, method="predictive-sampling")
    with pytest.raises(InputError, match="seed"):
        gambol.solve(STAY, seed=-1)


def test_a_plan_stays_within_the_controls_it_was_made_for() -> None:
    plan = Plan(np.array([[0.0], [1.0], [1.0]]), 0.1, (-np.ones(1), np.ones(1)))
    controls = [plan.control(age)[0] for age in np.linspace(0.0, 0.2, 41)]
    assert max(controls) == 1.0, "its spline overshoots"


def test_a_keyframe_is_held_for_as_many_steps_as_its_time_has() -> None:
    for sustain in (0.3, 1.2, 2.0, 2.5, 3.4):
        progress = KeyframeProgress([Keyframe(pairs=[{"body": "pelvis"}], sustain=sustain, limit=9.0)])
        steps = 1
        while not progress.update(np.zeros((1, 3)), 0.005):
            steps += 1
        assert steps == round(sustain / 0.005)
