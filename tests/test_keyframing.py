"""Keyframes of motions: phases of contact, the pairs that hold a pose, and tasks that tell the same again."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from gambol.characters import build
from gambol.cli import main
from gambol.errors import InputError
from gambol.goals import load_task
from gambol.goals.keyframing import Choice, furnished, stills, task_from
from gambol.goals.keyframing.anchors import anchors_at, displacements
from gambol.goals.keyframing.performance import Performance
from gambol.motion import Motion
from gambol.motion.formats import importer, read
from gambol.motion.phases import Touching
from gambol.motion.settling import settled
from gambol.partwise.progress import KeyframeProgress
from gambol.scenes import Placement, Scene, parse_objects, place
from samples import ARCHIVE, needs_archive

DT = 1 / 30


def posed(*poses: str | Placement, objects: object = None, seconds: float = 1.0, between: float = 0.4) -> Motion:
    """A humanoid that holds poses one after the other and goes over evenly from each to the next."""
    things, terrain = parse_objects(objects)
    scene = Scene({"humanoid": build("humanoid")}, things, terrain)
    states = [place(scene, pose) for pose in poses]
    times = np.concatenate([[k * (seconds + between), k * (seconds + between) + seconds] for k in range(len(states))])
    values = np.repeat(states, 2, axis=0)
    at = np.arange(0.0, times[-1] + 1e-9, DT)
    qpos = np.stack([np.interp(at, times, column) for column in values.T], axis=1)
    qpos[:, 3:7] /= np.linalg.norm(qpos[:, 3:7], axis=1, keepdims=True)
    return Motion(scene, DT, qpos)


def raised(motion: Motion, height: float) -> Motion:
    qpos = motion.qpos.copy()
    qpos[:, 2] += height
    return replace(motion, qpos=qpos)


SITTING_DOWN = ("standing", "sitting")


@pytest.fixture(scope="module")
def sits() -> Motion:
    return posed(*SITTING_DOWN, objects="armchair")


def test_phases_are_those_of_constant_contact(sits: Motion) -> None:
    touching = Touching.of(sits)
    phases = touching.phases()
    assert (phases[0].start, phases[-1].stop) == (0, len(sits))
    assert all(before.stop == after.start for before, after in pairwise(phases))
    assert {(touch.body, touch.on) for touch in touching.at(10)} == {
        ("humanoid/right_foot", "floor"),
        ("humanoid/left_foot", "floor"),
    }
    assert "armchair/seat" in {touch.on for touch in touching.at(len(sits) - 1)}
    assert touching.moments()[-1] == len(sits) - 1


def test_flicker_is_no_phase() -> None:
    still = posed("standing", seconds=2.0)
    qpos = still.qpos.copy()
    qpos[30:32, 2] += 0.3
    assert len(Touching.of(replace(still, qpos=qpos)).phases()) == 1


def test_a_pose_that_is_held_is_one_moment() -> None:
    assert Touching.of(posed("standing", seconds=5.0)).moments() == [150]


def lifting_a_leg(objects: object = None) -> Motion:
    """Standing, with the right foot quickly up and down again."""
    still = posed(Placement(at=(0.0, 0.0)), objects=objects, seconds=2.0)
    qpos = still.qpos.copy()
    lift = np.clip(1.0 - np.abs(np.arange(len(qpos)) - 30) / 4, 0.0, 1.0)
    for joint, angle in (("right_hip_y", -1.3), ("right_knee", -1.8)):
        column = still.scene.model.joint(f"humanoid/{joint}").qposadr[0]
        qpos[:, column] += angle * lift
    return replace(still, qpos=qpos)


def test_ways_that_bend_are_told_where_they_do() -> None:
    touching = Touching.of(lifting_a_leg())
    assert touching.bends([10, 60]) == [30]
    assert touching.bends([10, 30]) == []  # a straight way up
    assert Touching.of(posed("standing", seconds=2.0)).bends([10, 60]) == []


def test_a_bend_is_passed_by_with_the_limb_that_moves_clear_of_objects() -> None:
    heights = list[float]()
    for objects in (None, {"box": {"at": [0.55, 0], "length": 0.6, "height": 0.3}}):
        motion = lifting_a_leg(objects)
        performance = Performance(motion, Touching.of(motion))
        limb = {anchor.pair.body: anchor for anchor in anchors_at(performance, 28, passes=True) if anchor.passes}
        assert set(limb) == {"right_foot", "right_shin"}
        assert not limb["right_foot"].touches
        heights.append(limb["right_foot"].place[2])
    assert heights[1] > heights[0] + 0.05


def test_a_bend_need_not_be_held() -> None:
    bent, last = (still.keyframe for still in stills(lifting_a_leg()))
    assert (bent.sustain, bent.name) == (0.0, "1.00 s")
    assert last.sustain > 0.0


def test_the_last_step_to_a_stand_is_left_to_who_performs_it() -> None:
    lifts = lifting_a_leg("armchair")
    sitting = np.tile(place(lifts.scene, "sitting"), (30, 1))
    rises = replace(lifts, qpos=np.concatenate([sitting, lifts.qpos]))
    frames = Choice().frames(Performance(rises, Touching.of(rises)))
    assert any(frames[-2] < bend < frames[-1] for bend in Touching.of(rises).bends(frames))
    assert [round(still.time / DT) for still in stills(rises)] == frames


def test_standing_on_something_is_standing_at_another_height() -> None:
    on_floor, on_box = (
        stills(posed(Placement(at=(1.2, 0.0)), objects=objects))[-1].keyframe for objects in (None, "box")
    )
    assert on_floor.style == on_box.style == "standing"
    assert on_floor.weights.head_height > 0.0 == on_box.weights.head_height
    assert on_box.weights.contact > on_floor.weights.contact


def test_who_leans_is_not_pulled_back() -> None:
    still = posed("standing")
    qpos = still.qpos.copy()
    for side in ("right", "left"):
        qpos[:, still.scene.model.joint(f"humanoid/{side}_hip_y").qposadr[0]] += 0.5  # feet behind the body
    leaning = stills(replace(still, qpos=qpos))[-1].keyframe
    assert leaning.weights.com_feet == 0.0 < stills(still)[-1].keyframe.weights.com_feet


def test_keyframes_tell_contacts_and_posture(sits: Motion) -> None:
    found = stills(sits)
    last = found[-1].keyframe
    touched = {pair.on: pair for pair in last.pairs[: found[-1].contacts]}
    assert touched["armchair/seat"].at[2] == pytest.approx(0.05, abs=1e-3)  # its top, from its middle
    assert touched["floor"].at[2] == pytest.approx(0.0, abs=1e-3)
    assert last.style == "sitting"
    assert any(still.keyframe.style == "standing" for still in found[:-1])
    assert [still.time for still in found] == sorted(still.time for still in found)


def test_the_motion_itself_performs_its_keyframes(sits: Motion) -> None:
    progress = KeyframeProgress([still.keyframe for still in stills(sits)])
    paths = [displacements(sits, keyframe.pairs) for keyframe in progress.keyframes]
    for t in range(len(sits)):
        if not progress.finished:
            progress.update(paths[progress.row][t], DT)
    assert progress.finished
    assert not progress.failed


def test_moments_can_be_chosen_by_hand(sits: Motion) -> None:
    assert [still.time for still in stills(sits, choice=Choice(at=(2.0, 0.5)))] == pytest.approx([0.5, 2.0], abs=DT)
    assert [still.time for still in stills(sits, choice=Choice(every=0.8))] == pytest.approx([0.8, 1.6, 2.4], abs=DT)


def test_contacts_only_leaves_out_points_in_the_air(sits: Motion) -> None:
    for still in stills(sits, choice=Choice(contacts_only=True)):
        assert len(still.keyframe.pairs) == still.contacts
    assert any(len(still.keyframe.pairs) > still.contacts for still in stills(sits))


def test_a_task_begins_and_ends_as_its_motion(sits: Motion, tmp_path: Path) -> None:
    task, found = task_from(sits)
    task.save(tmp_path / "sit.yaml")
    loaded = load_task(tmp_path / "sit.yaml")
    assert loaded.start == "standing"
    assert loaded.character == "humanoid"
    assert loaded.keyframes == tuple(still.keyframe for still in found) == task.keyframes
    assert np.allclose(loaded.initial_qpos(), sits.qpos[0], atol=2e-3)
    assert loaded.world.objects == sits.scene.objects


def test_any_first_state_is_kept() -> None:
    begun = posed(Placement(at=(0.7, 0.3), yaw=40))
    task, _ = task_from(begun)
    assert isinstance(task.start, Placement)
    assert np.allclose(load_task(task.in_file()).initial_qpos(), begun.qpos[0], atol=2e-3)


def test_scenes_are_carried_over_with_their_settings() -> None:
    objects = {"chair": {"kind": "armchair", "height": 0.12}, "floor": {"friction": 0.5}}
    task, _ = task_from(posed("standing", objects=objects))
    assert task.scene == objects
    assert {pair.on for keyframe in task.keyframes or () for pair in keyframe.pairs} == {"floor"}


def test_another_body_has_the_same_contacts(sits: Motion) -> None:
    task, found = task_from(sits, build("big-belly"))
    assert task.character == "big-belly"
    told = {(pair.body, pair.on) for pair in found[-1].keyframe.pairs[: found[-1].contacts]}
    ours = stills(sits)[-1]
    assert told == {(pair.body, pair.on) for pair in ours.keyframe.pairs[: ours.contacts]}


def test_a_shipped_motion_of_another_build_keeps_its_contacts() -> None:
    task, found = task_from(read("spacetime/get-up-prone-low"), build("humanoid"))
    touching = [still.keyframe.pairs[: still.contacts] for still in found]
    on_all_fours = {"right_hand", "left_hand", "right_shin"}
    assert any(on_all_fours <= {pair.body for pair in pairs} for pairs in touching)
    assert {pair.body for pair in touching[-1]} == {"right_foot", "left_foot"}
    assert all(pair.on == "floor" and abs(pair.at[2]) < 0.002 for pairs in touching for pair in pairs)
    assert found[-1].keyframe.style == "standing"
    assert task.world.main_character == "humanoid"
    assert [criterion.feat for criterion in task.success] == ["head_height_at_end"]


def test_what_hovers_is_put_on_the_ground() -> None:
    still = posed("standing")
    assert np.allclose(settled(raised(still, 0.1), "humanoid").qpos, still.qpos, atol=2e-3)
    assert np.allclose(settled(raised(still, -0.1), "humanoid").qpos, still.qpos, atol=2e-3)


def test_what_was_sat_on_must_be_there(sits: Motion) -> None:
    bare = Motion(Scene({"humanoid": build("humanoid")}), DT, sits.qpos)
    with pytest.raises(InputError, match=r"rests on nothing.*\n.*--scene"):
        stills(bare)
    again = stills(furnished(bare, {"armchair": {}}))
    assert [still.keyframe for still in again] == [still.keyframe for still in stills(sits)]


@pytest.mark.parametrize(
    ("change", "choice", "told"),
    [
        (lambda motion: motion[:3], Choice(), "too short"),
        (lambda motion: raised(motion, 3.0), Choice(), "hangs above everything"),
        (lambda motion: motion, Choice(at=(99.0,)), "99 s is not within the motion"),
        (lambda motion: motion, Choice(every=60.0), "longer than the motion"),
        (lambda motion: Motion(Scene({}), DT, np.zeros((9, 0))), Choice(), "no character"),
    ],
)
def test_what_cannot_be_told_is_an_error(change, choice: Choice, told: str) -> None:
    with pytest.raises(InputError, match=told):
        stills(change(posed("standing")), choice=choice)


def test_text_is_read_as_it_was_written(sits: Motion) -> None:
    text = task_from(sits)[0].text
    assert "- {body: right_foot, point: [" in text
    assert "on: floor" in text
    assert "'on'" not in text
    words = load_task({"summary": "on, off: yes", "keyframes": [{"name": "true", "pairs": [{"body": "pelvis"}]}]})
    assert "name: 'true'" in words.text


def test_the_verb_writes_a_task_and_tells_its_keyframes(monkeypatch, capsys, tmp_path: Path, sits: Motion) -> None:
    monkeypatch.chdir(tmp_path)
    sits.save("sit.npz")

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["gambol", "keyframes", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    code, out, err = run("sit.npz", "--json")
    assert code == 0
    assert "gambol solve sit.yaml" in err
    told = json.loads(out)["keyframes"]
    assert [entry["name"] for entry in told] == [keyframe.name for keyframe in load_task("sit.yaml").keyframes or ()]
    assert run("sit.npz", "belly.yaml", "--character", "big-belly", "--at", "2.2")[0] == 0
    assert len(load_task("belly.yaml").keyframes or ()) == 1
    for wrong, why in (
        (["sit.npz", "x.npz"], "task files end in .yaml"),
        (["none.npz"], "none.npz"),
        (["sit.npz"], "is already there"),
        (["sit.npz", "x.yaml", "--at", "9"], "9 s is not within"),
        (["sit.npz", "x.yaml", "--scene", "sofa"], "sofa"),
    ):
        code, _, err = run(*wrong)
        assert code == 2
        assert why in err


@needs_archive
def test_mocap_that_sinks_and_floats_has_its_contacts() -> None:
    found = stills(importer(ARCHIVE, "140_01"), build("humanoid"))
    assert found[0].keyframe.style == "lying"
    feet = [pair.body for pair in found[-1].keyframe.pairs[: found[-1].contacts]]
    assert sorted(feet) == ["left_foot", "right_foot"]
