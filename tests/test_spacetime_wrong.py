"""What windows cannot ask for is told before the search begins."""

from __future__ import annotations

from typing import Any

import pytest

import gambol
from gambol.errors import InputError
from gambol.goals import load_task
from gambol.spacetime.method import Prepared
from gambol.spacetime.settings import Settings
from samples import CLIP, STAND

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"term": "balanse"}, r"windows.0.objectives.0.term: no objective named"),
        ({"term": "balance"}, r"windows.0.objectives.0.parameters.height"),
        ({"term": "balance", "parameters": {"hight": 1}}, r"windows.0.objectives.0.parameters"),
        ({"term": "ground", "parameters": {"points": ["left_fot"]}}, r"no point of 'athlete' named 'left_fot'"),
        ({"term": "ground", "parameters": {"points": []}}, r"windows.0.objectives.0.parameters.points"),
        ({"term": "balance", "parameters": {"height": 1.6}}, r"parameters.height: 1.6 m cannot be reached"),
        ({"term": "com_height", "parameters": {"height": 5}}, r"parameters.height: 5 m cannot be reached"),
        ({"term": "balance", "parameters": {"height": -0.1}}, r"parameters.height: -0.1 m is in the ground"),
        (
            {"term": "com_height", "parameters": {"height": -0.5, "within": 0.2}},
            r"parameters.height: -0.3 m is in the ground",
        ),
        ({"term": "keep", "parameters": {"points": ["com"], "below": -1}}, r"parameters.below: -1 m is in the ground"),
        (
            {"term": "plumb", "parameters": {"points": ["head", "com"]}},
            r"parameters.points: the centre of mass is always",
        ),
        ({"term": "keep", "parameters": {"points": ["com"]}}, r"needs above, below or both"),
        ({"term": "keep", "parameters": {"points": ["com"], "above": 1, "below": 0.5}}, r"cannot both hold"),
        ({"term": "keep", "parameters": {"points": ["com"], "above": 9}}, r"parameters.above: 9 m cannot be reached"),
        (
            {"term": "rest_pose", "parameters": {"joints": ["kneee"]}},
            r"parameters.joints: no driven joint of 'athlete'",
        ),
        ({"term": "spin", "parameters": {"axis": "down"}}, r"windows.0.objectives.0.parameters.axis"),
        ({"term": "spin", "parameters": {"least": 5, "most": -5}}, r"nothing lies between least 5 and most -5"),
        ({"term": "spin", "parameters": {"least": float("nan")}}, r"windows.0.objectives.0.parameters.least"),
        ({"term": "momentum", "parameters": {"value": 1e300}}, r"windows.0.objectives.0.parameters.value"),
        ({"term": "step", "parameters": {"by": [1000, 0, 0]}}, r"windows.0.objectives.0.parameters.by"),
        ({"term": "torque", "weight": -1}, r"windows.0.objectives.0.weight"),
        ({"term": "heading", "parameters": {"degrees": "north"}}, r"windows.0.objectives.0.parameters.degrees"),
    ],
)
def test_wrong_objectives_are_told(change: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        gambol.solve({**CLIP, "windows": [{"objectives": [change]}]})


def test_wrong_clips_are_told() -> None:
    for wrong, told in (
        ({"windows": []}, "windows"),
        ({"windows": [{"objectives": []}]}, "windows.0.objectives"),
        ({"character": "humanoid"}, "are no servos"),
        ({"success": [{"feat": "com_height"}]}, "no feat named"),
        ({"success": [{"feat": "travelled"}]}, "at_least, at_most"),
        ({"success": [{"feat": "thing_lifted", "at_least": 1}]}, r"success.0.feat: thing_lifted cannot be measured: "),
        (
            {"success": [{"feat": "turned", "at_least": 90}, {"feat": "turned", "at_most": 45}]},
            r"success.1: turned cannot be at least 90 and at most 45",
        ),
        ({"settings": {"populatoin": 3}}, "settings.populatoin"),
        ({"windows": [{**STAND, "duration": 0.001}]}, r"windows.0.duration: 0.001 s are 0 simulation steps"),
        ({"settings": {"knot_spacing": 0.001}}, r"windows.0.duration: 0.1 s are 20 simulation steps, fewer than 100"),
        ({"windows": [{**STAND, "symmetric": True, "coupled_arms": True}]}, "exclude each other"),
        ({"windows": [{"symmetric": "nearly", "objectives": [{"term": "torque"}]}]}, r"windows.0.symmetric: Input"),
    ):
        with pytest.raises(InputError, match=told):
            gambol.solve({**CLIP, **wrong})


@pytest.mark.parametrize(
    ("wishes", "told"),
    [
        (
            [("balance", {"height": 1.09}), ("balance", {"height": 0.5})],
            "height of com 0.5 contradicts 'balance', which wants 1.09",
        ),
        (
            [("com_height", {"height": 0.5, "within": 0.1}), ("keep", {"points": ["head", "com"], "above": 0.7})],
            "height of com at least 0.7 contradicts 'com_height', which wants at least 0.4 and at most 0.6",
        ),
        ([("heading", {"degrees": 0}), ("heading", {"degrees": 90})], "heading 90 contradicts"),
        (
            [("ground", {"points": ["left_hand", "head"]}), ("keep", {"points": ["head"], "above": 0.35})],
            "height of head at least 0.35 contradicts 'ground', which wants 0",
        ),
        ([("stay", {}), ("step", {"by": [0.1, 0, 0]})], "metres to go along x 0.1 contradicts 'stay', which wants 0"),
        ([("step", {"by": [0.1, 0, 0]}), ("step", {"by": [0.2, 0, 0]})], "metres to go along x 0.2 contradicts"),
        (
            [("spin", {"axis": "up", "most": 0}), ("momentum", {"axis": "up", "value": 9})],
            "momentum about up 9 contradicts 'spin', which wants at most 0",
        ),
        (
            [("rest_pose", {}), ("rest_pose", {"joints": ["left_elbow"], "angle": 90})],
            "angle of left_elbow 90 contradicts 'rest_pose', which wants 0",
        ),
    ],
)
def test_objectives_that_cannot_hold_together_are_told(wishes: list[tuple[str, dict[str, Any]]], told: str) -> None:
    objectives = [{"term": term, "parameters": parameters} for term, parameters in wishes]
    windows = [STAND, {"name": "torn", "objectives": objectives}]
    with pytest.raises(InputError, match=rf"windows.1.objectives.1.parameters: {told}[^$]*this is window 'torn'"):
        Prepared.of(load_task({**CLIP, "windows": windows}), Settings())


def test_objectives_that_ask_for_the_same_in_other_words_hold_together() -> None:
    agreeing = [
        {"term": "heading", "parameters": {"degrees": 90}},
        {"term": "heading", "parameters": {"degrees": -270}},
        {"term": "balance", "parameters": {"height": 1.0}},
        {"term": "com_height", "parameters": {"height": 1.1, "within": 0.1}},
        {"term": "keep", "parameters": {"points": ["com"], "above": 0.6}},
        {"term": "keep", "parameters": {"points": ["head"], "below": 0.5}},
        {"term": "momentum", "parameters": {"axis": "up", "value": 9}},
        {"term": "momentum", "parameters": {"axis": "left", "value": 0}},
        {"term": "rest_pose", "parameters": {"joints": ["lumbar", "knee"]}},
        {"term": "rest_pose", "parameters": {"joints": ["elbow"], "angle": 90}},
    ]
    Prepared.of(load_task({**CLIP, "windows": [{"objectives": agreeing}]}), Settings())


def test_heights_below_the_origin_are_fair_where_the_ground_is() -> None:
    window = {"objectives": [{"term": "balance", "parameters": {"height": -0.1}}]}
    downhill = {"floor": {"shape": "slope", "angle": -10}}
    Prepared.of(load_task({**CLIP, "scene": downhill, "windows": [window]}), Settings())


def test_heights_are_reached_from_what_one_can_stand_on() -> None:
    """The same wish is too much on the floor and fair on a table."""
    window = {"objectives": [{"term": "balance", "parameters": {"height": 1.79}}]}
    with pytest.raises(InputError, match="cannot be reached"):
        Prepared.of(load_task({**CLIP, "windows": [window]}), Settings())
    for thing in ({"table": {"at": [3, 0]}}, {"crate": {"at": [3, 0], "size": [0.5, 0.5, 0.6]}}):
        Prepared.of(load_task({**CLIP, "scene": thing, "windows": [window]}), Settings())
