"""Contact-invariant optimisation from task to motion: wishes, the body, judging, failures and wrong input."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gambol
from gambol.characters import build
from gambol.errors import InputError, MissingExtraError
from gambol.goals import load_task, shipped_tasks
from gambol.goals.behaviour import Wish
from gambol.motion import Motion
from gambol.motion.metrics import measure
from gambol.motion.metrics.feats import FEATS
from gambol.motion.metrics.subject import Subject
from gambol.results import Progress, Status
from gambol.rotations import Array, normalise, to_matrix
from gambol.scenes import Scene, place

jax = pytest.importorskip("jax", reason="JAX is an optional extra")
pytest.importorskip("scipy", reason="SciPy is an optional extra")
from gambol.cio import judging, kinematics, limbs, preparing, several, solving, wishes  # noqa: E402
from gambol.cio.features import FeatureModel, posed  # noqa: E402
from gambol.cio.hinging import HingeGroup  # noqa: E402
from gambol.cio.optimise import Outcome  # noqa: E402
from gambol.cio.preparing import Prepared  # noqa: E402
from gambol.cio.problem import at_rest  # noqa: E402
from gambol.cio.settings import Settings  # noqa: E402
from gambol.cio.skeleton import embodied  # noqa: E402

BODIES = ("humanoid", "athlete", "wide-biped", "quadruped")
STAND: dict[str, Any] = {
    "name": "stand",
    "character": "wide-biped",
    "behaviour": {"phases": 2, "wishes": [{"quantity": "standing"}]},
    "settings": {"iterations": [5, 60, 60], "insistence": 20, "first_contacts": [0.3]},
    "success": [{"feat": "com_off_feet_at_end", "at_most": 0.1}],
}


def wishing(*given: dict[str, Any], **further: Any) -> dict[str, Any]:
    """The task above with other wishes."""
    return {**STAND, "behaviour": {"phases": 2, "wishes": list(given) or [{"quantity": "standing"}], **further}}


@pytest.fixture(scope="module")
def stood() -> gambol.Result:
    return gambol.solve(STAND)


# The body


@pytest.mark.parametrize("body", ["right_thigh", "right_shin", "right_foot"])
def test_hinges_make_every_rotation_they_can(body: str) -> None:
    character = build("athlete")
    group, rng = HingeGroup.of(character.model, body), np.random.default_rng(0)
    for _ in range(20):
        angles = rng.uniform(group.low, group.high)
        state = character.pose_qpos("zero")
        before = posed(character, state).xmat[group.body].reshape(3, 3)
        state[group.places] = angles
        after = posed(character, state).xmat[group.body].reshape(3, 3)
        np.testing.assert_allclose(group.angles(before.T @ after, angles), angles, atol=1e-6)


def test_hinges_stay_within_their_ranges() -> None:
    rng = np.random.default_rng(1)
    for body in ("right_thigh", "right_shin", "right_foot"):
        group = HingeGroup.of(build("humanoid").model, body)
        for turn in to_matrix(normalise(rng.normal(size=(20, 4)))):
            found = group.angles(turn, np.zeros(len(group.axes)))
            assert (found >= group.low).all()
            assert (found <= group.high).all()


def bending(name: str, frames: int = 26) -> tuple[FeatureModel, Array, kinematics.Frames]:
    """A body that bends its limbs and leans, by joint angles, and the frames of its features."""
    model = FeatureModel.of(build(name))
    start = place(Scene.alone(model.character), "standing")
    physics = model.character.model
    limb = [physics.body(body) for part, bodies in model.character.parts.items() if part != "core" for body in bodies]
    joints = np.array([k for body in limb for k in range(body.jntadr[0], body.jntadr[0] + body.jntnum[0])])
    places = physics.jnt_qposadr[joints]
    low, high = physics.jnt_range[joints].T
    goal = start.copy()
    goal[places] += 0.4 * (np.clip((low + high) / 2, -1.0, 1.0) - start[places])
    goal[:3] += 0.1, 0.05, -0.1
    share = np.linspace(0, 1, frames)[:, None] ** 2
    qpos = start + share * (goal - start)
    features = np.stack([model.features_of(state) for state in qpos])
    still = np.zeros_like(features[..., :3])
    turns = np.asarray(kinematics.turn(features[..., 3:]))
    positions = features[..., :3]
    return model, qpos, kinematics.Frames(positions, turns, still, still, still, still, features[..., 3:])


@pytest.mark.parametrize("name", BODIES)
def test_a_body_takes_on_the_features_of_its_own_motion_and_bends_to_the_same_side(name: str) -> None:
    with jax.enable_x64(True):
        model, qpos, frames = bending(name)
        holding = np.repeat([[True, False]], len(model.limb_names), axis=1).repeat(len(qpos), axis=0)
        found = embodied(model, frames, qpos[0], 10, holding)
        middles = np.asarray(limbs.chains(model.body.limbs, frames.positions, frames.turns).middles)[-1]
    np.testing.assert_array_equal(found.qpos[0], qpos[0])
    assert found.misses.max() < 0.01
    physics = model.character.model
    limited = np.flatnonzero(physics.jnt_limited > 0)
    low, high = physics.jnt_range[limited].T
    angles = found.qpos[1:, physics.jnt_qposadr[limited]]
    assert (angles >= low - 1e-9).all()
    assert (angles <= high + 1e-9).all()
    assert np.abs(np.diff(found.qpos[:, 7:], axis=0)).max() < 0.2, "no joint jumps"
    data = posed(model.character, found.qpos[-1])
    for limb, middle in zip(model.limb_names, middles, strict=True):
        bodies = [physics.body(body) for body in model.character.parts[limb]]
        joint = [body for body in bodies if body.jntnum[0] > 0][1].jntadr[0]
        # arms of the humanoid have two hinges at the shoulder: where the elbow is, is not theirs to choose
        assert np.linalg.norm(data.xanchor[joint] - middle) < (0.3 if name == "humanoid" else 0.1), limb


def test_what_the_start_bends_in_the_trunk_is_kept_and_straightens() -> None:
    model = FeatureModel.of(build("humanoid"))
    start = place(Scene.alone(model.character), "standing")
    bend = model.character.model.joint("abdomen_y").qposadr[0]
    start[bend] = -0.5
    features = np.repeat(model.features_of(start)[None], 12, axis=0)
    still = np.zeros_like(features[..., :3])
    with jax.enable_x64(True):
        turns = np.asarray(kinematics.turn(features[..., 3:]))
        frames = kinematics.Frames(features[..., :3], turns, still, still, still, still, features[..., 3:])
        found = embodied(model, frames, start, 10, np.repeat([[True, False]], 4, axis=1).repeat(12, axis=0)).qpos
    assert found[0, bend] == -0.5
    assert (np.abs(np.diff(found[:, bend])) < 0.15).all()
    assert abs(found[-1, bend]) < 0.15


# The method


def test_standing_is_solved_and_told(stood: gambol.Result) -> None:
    report, motion = stood.report, stood.motion
    assert report.status is Status.SUCCESS, report.advice
    assert motion.duration == pytest.approx(1.0)
    assert motion.dt <= 1 / 30
    np.testing.assert_array_equal(motion.qpos[0], load_task(STAND).initial_qpos())
    figures = report.figures
    assert figures["L_Physics"] < 1e-3
    assert figures["L_CI"] < 1e-3
    assert [set(row) for row in figures["contacts"]] == [{"phase", "right_foot", "left_foot"}] * 2
    assert min(row["right_foot"] for row in figures["contacts"]) >= judging.CONTACT
    assert {"gap", "slip", "force", "moment", "miss", "wished place"} <= set(figures["worst"])
    assert figures["feats"]["com_off_feet_at_end"] < 0.1
    assert motion.source.figures["L_CI"] == figures["L_CI"]


def test_a_solved_motion_is_a_motion_like_any_other(stood: gambol.Result, tmp_path: Path) -> None:
    stood.motion.save(tmp_path / "stood.npz")
    again = gambol.load_motion(tmp_path / "stood.npz")
    np.testing.assert_allclose(again.qpos, stood.motion.qpos, atol=1e-5)
    bounds = {"momentum_residual": 0.05, "foot_skate": 0.05, "penetration": 10.0, "joint_limit_excess": 0.1}
    found = {name: metric.value for name, metric in measure(again, list(bounds)).items()}
    assert all(found[name] is not None and found[name] < bound for name, bound in bounds.items()), found


def test_the_same_seed_gives_the_same_motion(stood: gambol.Result) -> None:
    np.testing.assert_array_equal(gambol.solve(STAND).motion.qpos, stood.motion.qpos)


def test_the_number_of_cores_changes_nothing(stood: gambol.Result, tmp_path: Path) -> None:
    """Where work can be bound to one core."""
    if not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2:
        pytest.skip("there is one core, or no way to use one only")
    path = tmp_path / "alone.npy"
    script = (
        f"import os; os.sched_setaffinity(0, {{{min(os.sched_getaffinity(0))}}}); import gambol, numpy; "
        f"numpy.save({str(path)!r}, gambol.solve({STAND!r}).motion.qpos)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    np.testing.assert_array_equal(np.load(path), stood.motion.qpos)


def test_progress_is_told_and_an_interruption_keeps_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solving, "residuals", lambda *_: pytest.fail("judging takes compilation"))
    heard: list[Progress] = []

    def stop_soon(progress: Progress) -> None:
        heard.append(progress)
        if len(heard) == 3:
            raise KeyboardInterrupt

    result = gambol.solve(wishing({"quantity": "standing"}, {"value": [1.5, 0]}), progress=stop_soon)
    assert result.report.status is Status.INTERRUPTED
    assert "interrupted" in result.report.advice
    assert result.report.figures["iterations"] == [3]
    assert result.motion.qpos[-1, 0] - result.motion.qpos[0, 0] > 0.1  # on its way
    assert [0.0 <= each.fraction <= 1.0 for each in heard] == [True] * 3
    assert "wishful thinking" in heard[0].what
    assert set(heard[0].figures) == {"iteration", "cost"}


@pytest.mark.parametrize("where", ["Prepared.of", "optimise", "motion_of"])
def test_interrupted_before_anything_was_found_the_start_is_what_there_is(
    monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(solving, "optimise", fake_optimise)
    monkeypatch.setattr(f"gambol.cio.solving.{where}", interrupted)
    result = gambol.solve(STAND)
    assert result.report.status is Status.INTERRUPTED
    assert "the start" in result.report.advice
    np.testing.assert_array_equal(result.motion.qpos, [load_task(STAND).initial_qpos()] * 2)
    assert result.motion.source.method == "cio"


def test_interrupted_while_the_cost_is_compiled_it_is_not_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    compilations: list[Any] = []

    def interrupted(*given: Any) -> None:
        compilations.append(given)
        raise KeyboardInterrupt

    monkeypatch.setattr("gambol.cio.optimise._compiled_total", interrupted)
    result = gambol.solve(STAND)
    assert len(compilations) == 1
    assert "the start" in result.report.advice


def test_what_was_finished_goes_before_what_was_interrupted_which_is_not_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted_later(*given: Any) -> Outcome:
        return replace(fake_optimise(*given), interrupted=given[3] == 0.5, iterations=(1, 1, 1, int(10 * given[3])))

    judgements: list[Any] = []
    judge = solving.residuals
    monkeypatch.setattr(solving, "residuals", lambda *given: judgements.append(given) or judge(*given))
    monkeypatch.setattr(solving, "optimise", interrupted_later)
    report = gambol.solve({**wishing(phases=1), "settings": {"first_contacts": [0.3, 0.5]}}).report
    assert report.status is Status.INTERRUPTED
    assert report.figures["iterations"] == [1, 1, 1, 3]
    assert len(judgements) == 1
    assert "gap" in report.figures["worst"]


def test_what_does_not_converge_says_what_is_wrong_and_when() -> None:
    far = wishing({"quantity": "standing"}, {"value": [1.5, 0]})
    result = gambol.solve({**far, "settings": {"iterations": [20, 2, 2], "insistence": 2, "first_contacts": [0.3]}})
    assert result.report.status is Status.FAILED
    assert "did not converge: " in result.report.advice
    assert " s (at most " in result.report.advice
    assert len(result.motion) > 1


def fake_optimise(problem: Any, timing: Any, settings: Settings, first: float, seed: int, told: Any) -> Outcome:
    """The start held; from two phases on the feet carry it."""
    held = at_rest(problem, timing, 0.0)
    feet = np.arange(held.contacts.shape[1]) < 2
    contacts = np.tile(2.0 * feet, (timing.phases, 1)) * (timing.phases >= 2)
    costs = dict.fromkeys(("physics", "contact", "hint"), 0.0)
    return Outcome(held._replace(contacts=contacts), costs, (1, 1, 1), 0.0)


def test_the_number_of_phases_grows_until_it_converges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solving, "optimise", fake_optimise)
    monkeypatch.setattr(preparing, "AUTO_PHASES", (1, 2, 3))
    prepared = Prepared.of(load_task(wishing(phases="auto")))
    settings = Settings(first_contacts=(0.3,))
    found = list(solving.search(prepared, settings, 0, lambda progress: None))
    assert [each.timing.phases for each in found] == [1, 2]
    assert [each.converged for each in found] == [False, True]
    assert min(found, key=lambda each: each.order) is found[1]


@pytest.mark.parametrize(("given", "taken"), [({}, [0, (0, 1)]), ({"tries": 1}, [0]), ({"noise": 0.0}, [0])])
def test_what_did_not_converge_is_tried_again_with_other_noise(
    given: dict[str, Any], taken: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds: list[Any] = []

    def lucky_later(problem: Any, timing: Any, settings: Settings, first: float, seed: Any, told: Any) -> Outcome:
        seeds.append(seed)
        found = fake_optimise(problem, timing, settings, first, seed, told)
        return found if seed else replace(found, solution=at_rest(problem, timing, 0.0))

    monkeypatch.setattr(solving, "optimise", lucky_later)
    settings = Settings(first_contacts=(0.3,), **{"tries": 3, **given})
    found = list(solving.search(Prepared.of(load_task(STAND)), settings, 0, lambda progress: None))
    assert seeds == taken
    assert found[-1].converged == (len(taken) == 2)


def test_other_seeds_give_other_solutions_once_each(stood: gambol.Result) -> None:
    def found(seed: int) -> gambol.Result:
        contacts = [{"phase": "0-1 s", "left": 1.0 * (seed % 2), "right": 1.0}, {"phase": "1-2 s", "left": 1.0}]
        figures = {"contacts": contacts, "costs": {"wish": 3.0 - seed}}
        return replace(stood, report=replace(stood.report, seed=seed, figures=figures))

    results = several.several(found, range(4))
    assert [result.report.seed for result in results] == [3, 2]
    assert several.contact_pattern(results[0]) == (("left", "right"), ("left",))


def test_without_jax_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "gambol.cio.solving")
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(MissingExtraError, match=r"gambol\[cio\]"):
        gambol.solve(STAND)


# Wishes and wrong input


def test_postures_are_wishes() -> None:
    model = FeatureModel.of(build("humanoid"))
    rows = wishes.rows_of(Wish.model_validate({"quantity": "standing", "at": 0.5, "weight": 2.0}), model)
    assert [(row.at, row.weight) for row in rows] == [(0.5, 2.0)] * len(rows)
    upside_down = Wish.model_validate({"quantity": "handstand"})
    assert len(wishes.rows_of(upside_down, model)) > len(rows)
    with pytest.raises(InputError, match=r"quantity: 'wide-biped' has no arms"):
        wishes.rows_of(upside_down, FeatureModel.of(build("wide-biped")))


def test_a_place_of_two_numbers_leaves_the_height_open() -> None:
    model = FeatureModel.of(build("humanoid"))
    (row,) = wishes.rows_of(Wish.model_validate({"value": [1.0, 2.0]}), model)
    assert row.mask.tolist() == [1, 1, 0]
    assert row.value.tolist() == [1, 2, 0]


def inside_a_wall() -> dict[str, Any]:
    state = load_task(STAND).initial_qpos()
    return {**STAND, "scene": {"wall": {"at": [0.0, 0.0]}}, "start": {"qpos": state.tolist()}}


@pytest.mark.parametrize(
    ("task", "told"),
    [
        (wishing({"quantity": "standing", "value": 1.0}), r"behaviour.wishes.0: .*neither feature nor value"),
        (wishing({"quantity": "height", "value": [1, 2, 3]}), r"behaviour.wishes.0: .*height wants a number"),
        (wishing({"feature": "com"}), r"behaviour.wishes.0: .*position wants two numbers or three numbers"),
        (wishing({"feature": "right_knee", "value": [0, 0, 1]}), r"behaviour.wishes.0.feature: no feature"),
        (wishing({"value": [0, 0, -0.5]}), r"behaviour.wishes.0.value: -0.5 m lies below the floor"),
        (wishing({"quantity": "height", "value": 3.0}), r"behaviour.wishes.0.value: 3 m cannot be reached"),
        (wishing({"value": [30, 0, 1]}), r"behaviour.wishes.0.value: 30.0 m away cannot be reached within 1 s"),
        (
            {**wishing({"value": [3, 0, 0.2]}), "scene": {"box": {"at": [3, 0]}}},
            r"behaviour.wishes.0.value: \[3, 0, 0.2\] lies inside something",
        ),
        (wishing(grabbing=["right_fot"]), r"behaviour.grabbing.0: no patch named 'right_fot'"),
        (wishing(phases=0), r"behaviour.phases"),
        (inside_a_wall(), r"start: .* m inside wall"),
        ({**STAND, "scene": {"stool": {}}}, r"scene: stool/seat is a cylinder"),
        (wishing({"value": [900, 0]}, phases="auto"), r"behaviour.wishes.0.value: 900.0 m away cannot be reached"),
        ({**STAND, "settings": {"iterations": [1, 2]}}, r"settings.iterations"),
    ],
)
def test_wrong_wishes_are_told(task: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        gambol.solve({key: value for key, value in task.items() if value is not None})


def test_heights_are_reached_from_what_one_can_stand_on() -> None:
    high = wishing({"quantity": "height", "value": 3.0})
    Prepared.of(load_task({**high, "scene": {"box": {"at": [3, 0], "height": 2.0}}}))


def test_shipped_behaviours_can_be_prepared() -> None:
    names = [name for name in shipped_tasks() if name.startswith("cio/")]
    assert names
    for name in names:
        task = load_task(name)
        assert task.success, f"{name} states no success"
        assert task.goal_kind == "behaviour"
        Prepared.of(task)


# Feats


def test_hands_and_feet_are_followed() -> None:
    scene = Scene.alone(build("athlete"))
    qpos = np.tile(place(scene, "standing"), (3, 1))
    hip, shoulder = (scene.model.joint(f"athlete/right_{name}_y").qposadr[0] for name in ("hip", "shoulder"))
    qpos[1, hip] -= 1.2
    qpos[2, shoulder] -= 1.5
    subject = Subject(Motion(scene, 0.1, qpos), "athlete")
    foot, hand = FEATS["highest_foot"](subject), FEATS["farthest_hand"](subject)
    assert foot.curve is not None
    assert np.argmax(foot.curve) == 1
    assert (foot.value or 0.0) > 0.4
    assert hand.curve is not None
    assert np.argmax(hand.curve) == 2
    assert 0.4 < (hand.value or 0.0) < 0.9
