"""Keyframes of the published strategy files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gambol.errors import InputError
from gambol.goals import from_mjpc, load_task

STRATEGIES = Path(__file__).parents[2] / "shared" / "reference" / "partwise" / "strategies.json"


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
