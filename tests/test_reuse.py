"""Lists of keyframes and windows are short: what entries share is said once, others can be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from gambol.errors import InputError
from gambol.goals import load_task, mirror


def test_keyframes_of_other_tasks_can_be_used(tmp_path: Path) -> None:
    sit = load_task("armchair/sit-down").keyframes
    rise = load_task("armchair/stand-up").keyframes
    assert sit is not None
    assert rise is not None
    both = load_task("armchair/stand-sit-stand", ["keyframes.5.tolerance=0.7"]).keyframes
    assert both is not None
    assert both[:5] == (*sit, *rise[:3])
    assert both[5].tolerance == 0.7
    (tmp_path / "sit.yaml").write_text("scene: armchair\nkeyframes: [{use: armchair/sit-down}]\n", encoding="utf-8")
    wish = {"use": str(tmp_path / "sit.yaml"), "only": ["lean back"], "mirror": True, "repeat": 2}
    assert load_task({"keyframes": [wish]}).keyframes == tuple(mirror(sit[1:])) * 2
    back = load_task({"keyframes": [{"use": "armchair/sit-down", "reverse": True}]}).keyframes
    assert back == tuple(reversed(sit))
    (tmp_path / "beside.yaml").write_text("keyframes: [{use: sit.yaml}]\n", encoding="utf-8")
    assert load_task(tmp_path / "beside.yaml").keyframes == sit


def test_an_entry_can_be_repeated_and_alternate_sides() -> None:
    step = {"name": "step", "repeat": 3, "alternate": True, "objectives": [{"term": "torque"}]}
    stand = {"name": "stand", "repeat": 2, "objectives": [{"term": "torque"}]}
    windows = load_task({"each_window": {"duration": 0.4}, "windows": [step, stand]}).windows
    assert windows is not None
    assert [w.name for w in windows] == ["step 1", "step 2", "step 3", "stand 1", "stand 2"]
    assert [w.mirror for w in windows] == [False, True, False, False, False]
    assert {w.duration for w in windows} == {0.4}
    keyframe = {"pairs": [{"body": "pelvis"}], "repeat": 2}
    keyframes = load_task({"keyframes": [keyframe]}).keyframes
    assert keyframes is not None
    assert [k.name for k in keyframes] == ["keyframe 1", "keyframe 2"]
    for wrong, told in (
        ({"windows": [{**step, "repeat": 0}]}, "windows.0.repeat"),
        ({"windows": [step, {**stand, "repeat": 1, "objectives": []}]}, "windows.1.objectives"),
        ({"windows": [{**step, "repeat": 1}]}, "windows.0.alternate"),
        ({"windows": [{**step, "mirror": "maybe"}]}, "windows.0.mirror"),
        ({"windows": [{**step, "name": None}]}, "windows.0.name"),
        ({"keyframes": [{**keyframe, "alternate": True}]}, "keyframes.0.alternate"),
    ):
        with pytest.raises(InputError, match=told):
            load_task(wrong)


def test_wrong_uses_of_keyframes_are_told(tmp_path: Path) -> None:
    for wish, told in (
        ({"use": "armchair/sit-dwn"}, "keyframes.0: no task named"),
        ({"use": "armchair/sit-down", "only": ["sat"]}, "keyframes.0.only: no keyframe named 'sat'"),
        ({"use": "armchair/sit-down", "tolerance": 1}, "keyframes.0.tolerance: unknown key"),
        ({"use": "armchair/sit-down", "repeat": 0}, "keyframes.0.repeat"),
        ({"use": 3}, "keyframes.0.use"),
    ):
        with pytest.raises(InputError, match=told):
            load_task({"keyframes": [wish]})
    for name, other in (("a", "b"), ("b", "a")):
        (tmp_path / f"{name}.yaml").write_text(f"keyframes: [{{use: {other}.yaml}}]\n", encoding="utf-8")
    with pytest.raises(InputError, match="uses itself"):
        load_task(tmp_path / "a.yaml")
    (tmp_path / "sub").mkdir()
    (tmp_path / "c.yaml").write_text("keyframes: [{use: sub/../c.yaml}]\n", encoding="utf-8")
    with pytest.raises(InputError, match="uses itself"):
        load_task(tmp_path / "c.yaml")
    (tmp_path / "d.yaml").write_text("keyframes: [{pairs: [{body: torso}], tolerence: 1}]\n", encoding="utf-8")
    (tmp_path / "e.yaml").write_text("keyframes: [{use: d.yaml}]\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"d.yaml: keyframes.0.tolerence"):
        load_task(tmp_path / "e.yaml")
    (tmp_path / "w.yaml").write_text("windows: [{objectives: [{term: x}]}]\n", encoding="utf-8")
    with pytest.raises(InputError, match="has no keyframes"):
        load_task({"keyframes": [{"use": str(tmp_path / "w.yaml")}]})


def test_what_keyframes_share_is_said_once() -> None:
    first, second = (
        {"pairs": [{"body": "pelvis"}]},
        {"pairs": [{"body": "torso"}], "limit": 9, "weights": {"com_feet": 1}},
    )
    shared = {"style": "sitting", "tolerance": 0.1, "limit": 7, "weights": {"contact": 50, "com_feet": 3}}
    given = load_task({"each_keyframe": shared, "keyframes": [first, second, {"use": "armchair/sit-down"}]}).keyframes
    assert given is not None
    assert [k.tolerance for k in given[:2]] == [0.1, 0.1]
    assert [k.limit for k in given[:2]] == [7, 9]
    assert [(k.weights.contact, k.weights.com_feet) for k in given[:2]] == [(50, 3), (50, 1)]
    assert given[2:] == load_task("armchair/sit-down").keyframes
    changed = load_task("stool/rotate", ["each_keyframe.tolerance=0.4", "keyframes.1.tolerance=0.3"]).keyframes
    assert changed is not None
    assert [k.tolerance for k in changed[:3]] == [0.4, 0.3, 0.4]
    for wrong, told in (
        ({"each_keyframe": 3, "keyframes": [first]}, "each_keyframe: must be a mapping"),
        ({"each_keyframe": {"tolerence": 1}, "keyframes": [first]}, "each_keyframe: no key of a keyframe named"),
        ({"each_keyframe": {"limit": 1}, "windows": [{"objectives": [{"term": "x"}]}]}, "there are no keyframes"),
    ):
        with pytest.raises(InputError, match=told):
            load_task(wrong)
