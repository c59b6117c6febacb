"""What is wrong in a task is told at its key, with what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from gambol.errors import InputError
from gambol.goals import load_task
from samples import SIT, TASK

WINDOW = {"objectives": [{"term": "torque"}]}


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("height", "key=value"),
        ("=3", "key=value"),
        ("scene.armchair.hight=3", "unknown key"),
        ("keyframes.7.tolerance=1", "not one of the 1 entries"),
        ("keyframes.0.tolerance=[", "not a value"),
        ("name.a.b=1", "valid string"),
    ],
)
def test_wrong_overrides(override: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_task(TASK, [override]).world  # noqa: B018


def test_two_objects_need_a_name_in_an_override() -> None:
    with pytest.raises(InputError, match="which object"):
        load_task({**TASK, "scene": {"armchair": {}, "box": {}}}, ["scene.height=1"])


def partial_text(**times: float) -> dict:
    return {"partial": {"duration": 4, "texts": [{"text": "wave", **times}]}}


def wishing(*wishes: dict) -> dict:
    return {"behaviour": {"wishes": list(wishes)}}


WRONG_TASKS = {
    "no goal": ({"scene": "armchair"}, "exactly one goal"),
    "two goals": ({**TASK, "windows": [{"objectives": [{"term": "x"}]}]}, "exactly one goal"),
    "zero pairs": ({"keyframes": [{"pairs": []}]}, "keyframes.0.pairs"),
    "negative tolerance": ({"keyframes": [{"pairs": [{"body": "pelvis"}], "tolerance": -1}]}, "keyframes.0.tolerance"),
    "unknown body": ({"keyframes": [{"pairs": [{"body": "pelvs"}]}]}, "keyframes.0 .keyframe..pairs.0.body"),
    "unknown style": (
        {"keyframes": [{"style": "x", "pairs": [{"body": "pelvis"}]}]},
        "keyframes.0.style: .*\n.*known: free",
    ),
    "a unit": ({"keyframes": [{"pairs": [{"body": "pelvis"}], "limit": "5 s"}]}, "keyframes.0.limit"),
    "centimetres": ({"keyframes": [{"pairs": [{"body": "pelvis"}], "tolerance": 18}]}, "less than or equal"),
    "unknown key": ({**TASK, "colour": 1}, "colour: unknown key"),
    "unknown weight": ({"keyframes": [{"weights": {"up": 1}, "pairs": [{"body": "pelvis"}]}]}, "weights.up"),
    "window without objectives": ({"windows": [{"objectives": []}]}, "windows.0.objectives"),
    "negative weight": ({"windows": [{"objectives": [{"term": "com", "weight": -1}]}]}, "weight"),
    "empty wish": ({"partial": {"duration": 3}}, "at least one of"),
    "late goal": ({"partial": {"duration": 1, "path": [{"time": 2, "at": [0, 0]}]}}, "after the end"),
    "unknown character": ({**TASK, "character": "giant"}, "no character named"),
    "unknown pose": ({**TASK, "start": "flying"}, "^start: no pose"),
    "unknown pose of a placement": ({**TASK, "start": {"pose": "flying"}}, "^start.pose: no pose"),
    "unknown pose of one": ({**TASK, "start": {"humanoid": "flying"}}, "^start.humanoid: no pose"),
    "incomplete state of one": ({**TASK, "start": {"humanoid": {"qpos": [1]}}}, "^start.humanoid.qpos: needs 28"),
    "misspelt placement": (
        {**TASK, "start": {"pos": "zero"}},
        "^start.pos: no character or key of a placement .*\n.*'pose'",
    ),
    "misspelt key of a placement": ({**TASK, "start": {"pose": "zero", "yw": 3}}, "^start.yw: unknown key .*\n.*'yaw'"),
    "start of no kind": ({**TASK, "start": 3}, "^start: should be a pose, a placement, or .* .given: 3"),
    "held longer than there is time": (
        {"keyframes": [{**SIT, "sustain": 9, "limit": 1}]},
        "keyframes.0.sustain: is longer than limit, 1 s",
    ),
    "facing without weight": ({"keyframes": [{**SIT, "facing": [1, 2]}]}, "keyframes.0: .*needs weights.facing"),
    "facing without point": ({"keyframes": [{**SIT, "weights": {"facing": 1}}]}, "keyframes.0: .*needs facing"),
    "two casts": ({**TASK, "character": "athlete", "characters": {"ann": "athlete"}}, "either character or characters"),
    "tracked backwards": ({"track": {"motion": "x", "start": 5, "end": 1}}, "track: end 1 s is not after start 5 s"),
    "tracked for no time": ({"track": {"motion": "x", "start": 5, "end": 5}}, "track: end 5 s is not after start 5 s"),
    "text backwards": (partial_text(start=3, end=1), "partial.texts.0: end 1 s is not after start 3 s"),
    "text that begins late": (partial_text(start=5), "texts.0.start is 5 s, after the end at 4 s"),
    "text that ends late": (partial_text(end=5), "texts.0.end is 5 s, after the end at 4 s"),
    "two postures": (
        wishing({"quantity": "standing"}, {"quantity": "handstand", "at": 1}),
        "1 .handstand. contradicts 0",
    ),
    "two places": (
        wishing({"value": [1, 2]}, {"value": [1, 3, 1]}),
        "1 .position 1, 3, 1 of com. contradicts 0 .position",
    ),
    "two headings": (
        wishing({"feature": "heading", "value": 0}, {"quantity": "heading", "value": 90}),
        "behaviour.wishes: 1 .heading 90 of com. contradicts 0 .heading 0 of com",
    ),
}


@pytest.mark.parametrize(("data", "said"), WRONG_TASKS.values(), ids=WRONG_TASKS.keys())
def test_wrong_tasks_name_the_key(data: dict, said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_task(data).initial_qpos()


def test_an_override_may_leave_too_little_time_to_give_up_early() -> None:
    assert load_task({"keyframes": [{**SIT, "sustain": 2}]}, ["keyframes.0.limit=0.1"]).keyframes
    assert load_task({"keyframes": [{**SIT, "limit": 0.1}]}).keyframes, "of the two it only says that it gives up early"


def test_wishes_may_say_the_same_in_other_words_and_something_else_at_another_time() -> None:
    load_task(
        wishing(
            {"value": [1, 2]},
            {"value": [1, 2, 1]},
            {"value": [0, 0], "at": 0.5},
            {"feature": "right_hand", "value": [1, 1]},
            {"feature": "heading", "value": 0},
            {"quantity": "heading", "value": 360},
            {"quantity": "standing"},
            {"quantity": "handstand", "at": 0.5},
        )
    )


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"characer": "athlete", **TASK}, r"^characer: unknown key .*'athlete'.*\n  did you mean 'character'"),
        ({"each_keyfram": {}, **TASK}, r"^each_keyfram: .*\n.*'each_keyframe'"),
        ({"fil": "x.yaml", **TASK}, r"^fil: .*\n  (?!.*'file')"),
        (
            {"windows": [{"durations": 1, **WINDOW}]},
            r"^windows.0.durations: .*\n.*'duration'.* known: alternate, coupled",
        ),
        (
            {"windows": [{"objectives": [{"term": "x", "wieght": 1}]}]},
            r"^windows.0.objectives.0.wieght: .*\n.*'weight'",
        ),
        (
            {**TASK, "scene": {"stool": {"heigt": 1}}},
            r"^scene.stool.heigt: .*\n.*'height'.* known: at, friction, height, kind",
        ),
        ({**TASK, "scene": {"floor": {"shap": 1}}}, r"^scene.floor.shap: .*\n.*'shape'"),
        ({**TASK, "scene": {"target": {"path": [{"tme": 1}]}}}, r"(?s)^scene.target.path.0.*tme: unknown key.*'time'"),
        ({"keyframes": [{**SIT, "weights": {"contct": 1}}]}, r"^keyframes.0.weights.contct: .*\n.*'contact'"),
        ({"keyframes": [{**SIT, "repeet": 2}]}, r"^keyframes.0.repeet: .*\n.*'repeat'"),
        ({"keyframes": [{"use": "stool/rotate", "olny": []}]}, r"^keyframes.0.olny: .*\n.*'only'"),
        ({**TASK, "success": [{"feat": "travelled", "atleast": 1}]}, r"^success.0.atleast: .*\n.*'at_least'"),
        ({**TASK, "start": {"ann": {"yw": 1}}}, r"^start.ann.yw: .*\n.*'yaw'"),
        ({"keyframes": [{"pears": []}]}, r"^keyframes.0.pairs: is required\n  also keyframes.0.pears: .*'pairs'"),
    ],
)
def test_unknown_keys_suggest_near_ones(data: dict, told: str) -> None:
    with pytest.raises(InputError, match=told):
        load_task(data).world  # noqa: B018


def test_unknown_keys_of_overrides_suggest_near_ones() -> None:
    with pytest.raises(InputError, match=r"^windows.0.duratio: .*\n  did you mean 'duration'"):
        load_task({"windows": [WINDOW]}, ["windows.0.duratio=1"])


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({**TASK, "character": 3}, "character: Input should be a valid string or a mapping of keys to values (given: 3)"),
        ({**TASK, "characters": {"a": 3}}, "characters.a: Input should be a valid string or a mapping of keys to values (given: 3)"),
        ({**TASK, "scene": [1]}, "scene: Input should be a valid string or a mapping of keys to values (given: [1])"),
        ({"behaviour": {"wishes": [{"value": 1, "quantity": "height"}], "phases": 0}}, "behaviour.phases: Input should be greater than or equal to 1 or 'auto' (given: 0)"),
        (wishing({"value": [1, 2], "at": 3}), "behaviour.wishes.0.at: Input should be 'end' or less than or equal to 1 (given: 3)"),
        (wishing({"value": [1, 2, float("nan")]}), "behaviour.wishes.0.value.2: Input should be a finite number (given: nan)"),
        (wishing({"value": ["x", 2]}), "behaviour.wishes.0.value.0: should be a number (given: 'x')"),
        (wishing({"value": [1]}), "behaviour.wishes.0.value.1: is required"),
        (wishing({"value": "x"}), "behaviour.wishes.0.value: should be a number or a list (given: 'x')"),
    ],
)  # fmt: skip
def test_what_a_value_may_be_is_told_at_its_key(data: dict, told: str) -> None:
    with pytest.raises(InputError) as caught:
        load_task(data)
    assert str(caught.value) == told


def test_a_key_given_twice_is_told_with_the_line_of_the_second(tmp_path: Path) -> None:
    path = tmp_path / "task.yaml"
    path.write_text("scene: stool\nsettings:\n  rollouts: 9\n  horizon: 1\n  rollouts: 8\n")
    with pytest.raises(InputError) as caught:
        load_task(path)
    assert str(caught.value) == f"{path}: is not valid YAML: line 5, column 3: the key 'rollouts' is given twice"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [1, 2", "not valid YAML"),
        ("- 1\n- 2", "mapping"),
        ("", "mapping"),
        ("a: 1\na: 2", "twice"),
        ("x: &x [*x]", "nests deeper"),
        ("a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "\n".join(f"{c}: &{c} [{','.join([f'*{p}'] * 10)}]" for p, c in zip("abcdefg", "bcdefgh", strict=True)), "more than"),
        ("[" * 5000, "not valid YAML"),
        ("!!python/object/apply:os.system ['true']", "not valid YAML"),
        ("? [a]\n: 1\nkeyframes: 3", "unhashable"),
    ],
)  # fmt: skip
def test_malformed_or_hostile_yaml_is_refused(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "task.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=said) as caught:
        load_task(path)
    assert "task.yaml" in str(caught.value)


def test_unknown_tasks_suggest_near_ones(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'armchair/sit-down'"):
        load_task("armchair/sit-dwn")
    with pytest.raises(InputError, match="no such file"):
        load_task(tmp_path / "none.yaml")
