"""Contact-invariant optimisation with things to move and several characters: from task to motion, and wrong input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gambol
from gambol.errors import InputError
from gambol.goals import load_task
from gambol.goals.success import Criterion, judged
from gambol.motion import Motion
from gambol.motion.metrics.handling import HANDLING
from gambol.motion.metrics.subject import Subject
from gambol.results import Status
from gambol.rotations import from_axis_angle
from gambol.scenes import Scene, place

jax = pytest.importorskip("jax", reason="JAX is an optional extra")
pytest.importorskip("scipy", reason="SciPy is an optional extra")
from gambol.cio import judging, solving  # noqa: E402
from gambol.cio.optimise import Outcome  # noqa: E402
from gambol.cio.preparing import Prepared, thing_span  # noqa: E402
from gambol.cio.problem import Solution, at_rest  # noqa: E402
from gambol.cio.settings import Settings  # noqa: E402

PUSH: dict[str, Any] = {
    "name": "push",
    "scene": {"crate": {"at": [0.6, 0], "mass": 5}},
    "character": "wide-biped",
    "behaviour": {"phases": 2, "wishes": [{"of": "crate", "value": [0.8, 0]}]},
    "settings": {"first_contacts": [0.3]},
}
PAIR: dict[str, Any] = {
    "name": "pair",
    "characters": {"anna": "wide-biped", "ben": "wide-biped"},
    "start": {"anna": {"at": [0, 0]}, "ben": {"at": [0, 2]}},
    "behaviour": {"phases": 2, "wishes": [{"of": "ben", "quantity": "standing"}]},
}


def wishing(task: dict[str, Any], **behaviour: Any) -> dict[str, Any]:
    """A task with other wishes."""
    return {**task, "behaviour": {**task["behaviour"], **behaviour}}


def found(task: dict[str, Any], change: Any = None) -> tuple[Prepared, solving.Found]:
    """A solution that was not optimised: the start held, but for a change."""
    prepared = Prepared.of(load_task(task))
    problem, timing = prepared.problem(2, Settings())
    held = at_rest(problem, timing, 0.3)
    outcome = Outcome(change(prepared, held) if change else held, {"hint": 0.0}, (0, 0, 0, 0), 0.0)
    return prepared, solving.Found.of(prepared, problem, timing, outcome)


def test_a_task_with_a_thing_becomes_a_motion_of_both(monkeypatch: pytest.MonkeyPatch) -> None:
    def slid(problem: Any, timing: Any, settings: Settings, first: float, seed: int, told: Any) -> Outcome:
        held = at_rest(problem, timing, first)
        features = held.features.copy()
        features[:, -1, 0] += np.linspace(0.0, 0.2, len(features))
        costs: dict[str, float] = dict.fromkeys(("physics", "contact", "hint"), 0.0)
        return Outcome(held._replace(features=features), costs, (1, 1, 1, 1), 0.0)

    monkeypatch.setattr(solving, "optimise", slid)
    pushed = gambol.solve(PUSH)
    motion = pushed.motion
    assert motion.duration == pytest.approx(1.0)
    assert motion.qpos.shape[1] == load_task(PUSH).world.model.nq
    np.testing.assert_array_equal(motion.qpos[0], load_task(PUSH).initial_qpos())
    span = thing_span(motion.scene, "crate")
    assert motion.qpos[-1, span.start] == pytest.approx(motion.qpos[0, span.start] + 0.2)
    np.testing.assert_allclose(np.linalg.norm(motion.qpos[:, span][:, 3:], axis=1), 1.0)
    assert pushed.report.status is Status.FAILED
    assert "on crate is" in pushed.report.advice


def test_hands_begin_at_things_and_things_on_nothing() -> None:
    prepared = Prepared.of(load_task(PUSH))
    problem, timing = prepared.problem(2, Settings())
    begun = dict(zip(prepared.cast.contact_names, at_rest(problem, timing, 0.3).contacts[0], strict=True))
    assert {name: value for name, value in begun.items() if value > 0} == pytest.approx(
        {"right_foot": 0.3, "left_foot": 0.3, "right_foot on crate": 0.3, "left_foot on crate": 0.3}
    )
    assert begun["crate"] == 0.0


def test_contacts_are_judged_against_what_they_are_with() -> None:
    """A foot on the floor is not on the crate, and a crate in the air is not on the floor."""

    def lifted(prepared: Prepared, held: Solution) -> Solution:
        features, contacts = held.features.copy(), np.zeros_like(held.contacts)
        features[:, prepared.cast.features["crate"], 2] += 0.1
        contacts[:, prepared.cast.contact_names.index("crate")] = 1.0
        return held._replace(features=features, contacts=contacts)

    def residual(change: Any) -> judging.Residual:
        return next(each for each in found(PUSH, change)[1].residuals if each.term == "gap")

    assert residual(lifted).who == "crate"
    assert residual(lifted).value == pytest.approx(0.1, abs=0.01)
    apart = residual(None)
    assert apart.who.endswith("on crate")
    assert apart.value > 0.2


def test_everybody_moves_and_is_named() -> None:
    prepared = Prepared.of(load_task(PAIR))
    problem, timing = prepared.problem(2, Settings())
    motion, missed = solving.motion_of(prepared, problem, timing, at_rest(problem, timing, 0.3))
    np.testing.assert_allclose(motion.qpos[-1], prepared.state, atol=0.05)
    limbs = [f"{who}/{side}_leg" for who in ("anna", "ben") for side in ("right", "left")]
    assert prepared.cast.limb_names == tuple(limbs)
    assert missed.who in limbs
    assert missed.value < 0.01


def test_shares_of_the_work_make_forces_dearer() -> None:
    task = wishing(PAIR, load_share={"anna": 0.8})
    with pytest.raises(InputError, match="nothing to move together"):
        Prepared.of(load_task(task))
    prepared = Prepared.of(load_task({**task, "scene": PUSH["scene"]}))
    burdens = dict(zip(prepared.cast.contact_names, prepared.burdens, strict=True))
    assert burdens["ben/left_foot on crate"] == pytest.approx(64 * burdens["anna/left_foot on crate"])
    np.testing.assert_array_equal(Prepared.of(load_task(PAIR)).burdens, 1.0)


def test_a_grip_without_a_character_is_everybodys() -> None:
    assert Prepared.of(load_task(wishing(PAIR, grabbing=["right_foot", "ben/left_foot"]))).grabbing == [
        "anna/right_foot",
        "ben/right_foot",
        "ben/left_foot",
    ]


@pytest.mark.parametrize(
    ("task", "told"),
    [
        (wishing(PUSH, wishes=[{"of": "crat", "value": [1, 0]}]), r"behaviour.wishes.0.of: no character or thing"),
        (wishing(PUSH, wishes=[{"of": "crate", "quantity": "standing"}]), r"behaviour.wishes.0.quantity: a thing"),
        (wishing(PUSH, wishes=[{"of": "crate", "feature": "pelvis", "value": [1, 0]}]), r"behaviour.wishes.0.feature"),
        (wishing(PUSH, wishes=[{"of": "crate", "value": [0, 0, 9]}]), r"behaviour.wishes.0.value: 9 m cannot"),
        (wishing(PUSH, wishes=[{"of": "crate", "value": [99, 0]}]), r"behaviour.wishes.0.value: 98.4 m away"),
        (wishing(PUSH, load_share={"wide-biped": 0.5}), r"behaviour.load_share: there is nobody"),
        (wishing(PAIR, load_share={"carl": 0.5}), r"behaviour.load_share: no character named 'carl'"),
        (wishing(PAIR, load_share={"anna": 1.5}), r"behaviour.load_share.anna"),
        (wishing(PAIR, load_share={"anna": 0.9, "ben": 0.9}), r"behaviour.load_share: the shares add up to 1.8"),
        (wishing(PAIR, grabbing=["left_hand"]), r"behaviour.grabbing.0: no patch"),
        (wishing(PAIR, climbers=["carl"]), r"behaviour.climbers.0: no character"),
        (wishing(PUSH, climbers=["wide-biped"]), r"behaviour.climbers: there is nobody"),
        ({**PUSH, "scene": {"ball": {"at": [1, 0]}}}, r"scene.ball: ball is a sphere"),
        ({**PUSH, "success": [{"feat": "turned", "of": "carl", "at_most": 1}]}, r"success.0.of: no character"),
    ],
)
def test_wrong_input_is_told(task: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        Prepared.of(load_task(task))


def test_a_character_on_another_reaches_higher() -> None:
    high = [{"of": "anna", "quantity": "height", "value": 2.0}]
    with pytest.raises(InputError, match=r"behaviour.wishes.0.value: 2 m cannot be reached"):
        Prepared.of(load_task(wishing(PAIR, wishes=high)))
    prepared = Prepared.of(load_task(wishing(PAIR, wishes=high, climbers=["anna"])))
    assert "anna/left_foot on ben" in prepared.cast.contact_names
    assert "ben/left_foot on anna" not in prepared.cast.contact_names


# Feats


def moved() -> Motion:
    """A crate that one character holds for a while and that is then lifted by nobody, to the left and tilted."""
    task = load_task({**PAIR, "scene": {"crate": {"at": [0.3, 0]}}})
    scene: Scene = task.world
    qpos = np.tile(place(scene, task.start), (5, 1))
    span = thing_span(scene, "crate")
    # from beside one character to beside the other
    qpos[:, span.start + 1] = [0.0, 0.05, 0.1, 1.9, 2.0]
    qpos[3:, span.start + 2] += 0.2
    qpos[4, span.start + 3 : span.stop] = from_axis_angle([1, 0, 0], np.deg2rad(30))
    return Motion(scene, 0.1, qpos)


def test_what_was_done_with_a_thing_is_measured() -> None:
    motion = moved()
    values = {feat.name: feat(Subject(motion, "anna")).value for feat in HANDLING}
    assert values["thing_left_at_end"] == pytest.approx(2.0, abs=1e-6)
    assert values["thing_lifted"] == pytest.approx(0.2)
    assert values["thing_tilt_at_end"] == pytest.approx(30.0)
    assert values["thing_speed_at_end"] == pytest.approx(1.0)
    shares = [
        next(f for f in HANDLING if f.name == "thing_share")(Subject(motion, who)).value for who in ("anna", "ben")
    ]
    assert sum(share or 0.0 for share in shares) == pytest.approx(1.0)


def test_feats_may_be_of_any_character() -> None:
    criteria = [Criterion(feat="thing_lifted", at_least=0.1), Criterion(feat="com_height_at_end", of="ben", at_least=9)]
    values, missed = judged(criteria, moved())
    assert set(values) == {"thing_lifted", "ben/com_height_at_end"}
    assert "ben/com_height_at_end is" in missed
    assert "thing_lifted" not in missed


def test_without_a_thing_there_is_nothing_to_measure() -> None:
    scene = load_task(PAIR).world
    motion = Motion(scene, 0.1, np.tile(place(scene), (3, 1)))
    for feat in HANDLING:
        assert "0 things" in (feat(Subject(motion, "anna")).reason or "")
