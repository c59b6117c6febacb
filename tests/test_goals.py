"""Wishes and task files: reading, checking, changing, writing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gambol.errors import InputError
from gambol.goals import Keyframe, Pair, Task, concatenate, from_mjpc, load_task, mirror, repeat, reverse, shipped_tasks

STRATEGIES = Path(__file__).parents[2] / "shared" / "reference" / "partwise" / "strategies.json"

SIT = {
    "name": "sit",
    "style": "sitting",
    "weights": {"control": 0.5},
    "pairs": [
        {"body": "pelvis", "on": "armchair/seat", "at": [0, 0.1, 0.05]},
        {"body": "right_hand", "on": "armchair/right_arm", "at": [0, 0, 0.3]},
    ],
}
TASK = {"scene": "armchair", "keyframes": [SIT]}
WINDOW = {"objectives": [{"term": "torque"}]}


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


PUBLISHED = {
    "climb": {
        "scene": "desk",
        "keyframes": [
            {
                "name": "one",
                "tolerance": 0.2,
                "sustain": 0.5,
                "time_limit": 4.0,
                "facing": [1.0, 2.0, 0.0],
                "weights": {"Contact": 80.0, "Torso Up": 3.0, "Facing Dir": 5.0, "Torse Target": 0.0},
                "pairs": [
                    {"body": "left_hand", "point": [0, 0, 0], "target": "desk", "target_point": [0.1, 0.2, -0.65]},
                    {"body": "chair", "point": [0, 0, 0], "target": "none", "target_point": [0, 0, 0]},
                ],
            }
        ],
    }
}


def test_published_strategies_change_frames_and_names() -> None:
    (keyframe,) = from_mjpc(PUBLISHED)
    (pair,) = keyframe.pairs
    assert (pair.on, pair.at) == ("table", (-0.1, 0.2, 0.65))
    assert (keyframe.weights.contact, keyframe.weights.upright_torso, keyframe.facing) == (80.0, 3.0, (1.0, 2.0))
    entry = PUBLISHED["climb"]["keyframes"][0]
    (aimless,) = from_mjpc({"keyframes": [{**entry, "weights": {"Contact": 80.0}}]})
    assert aimless.facing is None, "without a weight it counts for nothing"
    with pytest.raises(InputError, match="no strategy"):
        from_mjpc(PUBLISHED, "dance")
    with pytest.raises(InputError, match="shape of a strategy file"):
        from_mjpc({"keyframes": [{"name": "x"}]})


@pytest.mark.skipif(not STRATEGIES.exists(), reason="the published strategies are not here")
def test_all_published_strategies_are_read_and_fit_their_scenes() -> None:
    scenes = {"desk": {"table": {}}, "bench_hand_target": {"bench": {}, "left_hand_target": {"kind": "target"}, "right_hand_target": {"kind": "target"}}}  # fmt: skip
    data = json.loads(STRATEGIES.read_text())
    assert len(data) == 43
    for name, strategy in data.items():
        sequence = from_mjpc(STRATEGIES, name)
        assert len(sequence) == len(strategy["keyframes"])
        scene = (
            {"table": {}, "armchair": {"at": [2, 0]}}
            if name == "dc_armchair"
            else scenes.get(strategy["scene"], strategy["scene"])
        )
        load_task({"scene": scene, "keyframes": [k.in_file() for k in sequence]}).world  # noqa: B018


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
