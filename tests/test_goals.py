"""Wishes and task files: reading, checking, changing, writing."""

from __future__ import annotations

from pathlib import Path

import pytest

from gambol.errors import InputError
from gambol.goals import Keyframe, Pair, Task, concatenate, load_task, mirror, repeat, reverse, shipped_tasks
from samples import SIT, TASK


def keyframes() -> tuple[Keyframe, ...]:
    return (Keyframe(**SIT), Keyframe(name="stand", style="standing", pairs=[{"body": "torso", "at": [0, 0, 1.2]}]))


def test_a_style_gives_weights_and_single_ones_may_be_overridden() -> None:
    sit = Keyframe(**SIT)
    assert sit.weights.control == 0.5
    assert sit.weights.knee_feet == 30.0
    assert Keyframe(pairs=[Pair(body="pelvis")]).weights.contact == 100.0


def test_sequence_operations() -> None:
    sequence = keyframes()
    assert concatenate(sequence, sequence) == repeat(sequence, 2)
    assert reverse(reverse(sequence)) == sequence
    assert mirror(mirror(sequence)) == sequence
    image = mirror(sequence)[0]
    assert image.pairs[0].at == (0, -0.1, 0.05)
    assert (image.pairs[1].body, image.pairs[1].on) == ("left_hand", "armchair/left_arm")
    with pytest.raises(InputError, match="at least 1"):
        repeat(sequence, 0)


def test_mirroring_exchanges_the_feet() -> None:
    leaning = Keyframe(
        pairs=[Pair(body="pelvis")], weights={"upright_left_foot": 7.0, "facing": 1.0}, facing=(1.0, 2.0)
    )
    image = leaning.mirrored()
    assert (image.weights.upright_right_foot, image.weights.upright_left_foot) == (7.0, 0.0)
    assert image.facing == (1.0, -2.0)


@pytest.mark.parametrize("name", list(shipped_tasks()))
def test_shipped_tasks_are_right_and_survive_being_written(name: str, tmp_path: Path) -> None:
    task = load_task(name)
    assert task.summary
    assert task.initial_qpos().shape == (task.world.model.nq,)
    task.save(tmp_path / "again.yaml")
    again = load_task(tmp_path / "again.yaml")
    assert again.in_file() == task.in_file()
    assert again.keyframes == task.keyframes


def test_on_is_a_key_and_not_a_truth_value(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text("scene: armchair\nkeyframes: [{pairs: [{body: pelvis, on: armchair/seat}], tolerance: 2e-1}]\n")
    task = load_task(path)
    assert task.keyframes is not None
    assert task.keyframes[0].pairs[0].on == "armchair/seat"
    assert task.keyframes[0].tolerance == 0.2


def test_overrides_reach_scene_character_settings_and_goal() -> None:
    task = load_task(
        TASK,
        ["scene.height=0.12", "character=big-belly", "rollouts=90", "keyframes.0.tolerance=0.4", "settings.noise=0.1"],
    )
    assert task.world.objects["armchair"].model_dump()["height"] == 0.12
    assert task.world.main_character == "big-belly"
    assert task.settings == {"rollouts": 90, "noise": 0.1}
    assert task.keyframes is not None
    assert task.keyframes[0].tolerance == 0.4
    assert load_task(TASK, ["character.girth.right_arm=1.2"]).world.characters["humanoid"].mass > 41
    assert load_task(TASK, ["scene.floor.shape=rough"]).world.terrain.shape == "rough"


def test_other_goals_are_typed() -> None:
    task = load_task(
        {"windows": [{"objectives": [{"term": "com_height", "weight": 2, "parameters": {"target": 1.09}}]}]}
    )
    assert task.goal_kind == "windows"
    behaviour = load_task({"behaviour": {"wishes": [{"feature": "com", "value": [1, 0, 1]}], "phases": 10}})
    assert isinstance(behaviour, Task)
    assert behaviour.goal.wishes[0].at == "end"
    track = load_task({"track": {"motion": "walk.npz", "pushes": [{"time": 1, "force": [650, 0, 0]}]}})
    assert track.goal.pushes[0].duration == 0.2
