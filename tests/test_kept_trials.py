"""Trials of benchmarks: what is kept is not done again, and what is missing runs where there is room."""

from __future__ import annotations

import importlib.metadata
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gambol.characters import build
from gambol.errors import InputError, MissingExtraError
from gambol.evaluate import Request
from gambol.evaluate.condition import Condition, fingerprint
from gambol.evaluate.running import Experiment, outcomes, wanted

SIT = Condition("sit", "armchair/sit-down")


def twice(condition: Condition, seed: int) -> dict[str, Any]:
    return {"value": 2 * seed, "wall_seconds": 4.0}


def interrupted(*arguments: Any, **options: Any) -> Any:
    raise KeyboardInterrupt


class Counting:
    """Makes outcomes and remembers for which seeds it was asked."""

    def __init__(self, breaks_at: int | None = None):
        self.seeds: list[int] = []
        self.batches: list[list[int]] = []
        self.breaks_at = breaks_at

    def alone(self, condition: Condition, seed: int) -> dict[str, Any]:
        if seed == self.breaks_at:
            raise KeyboardInterrupt
        self.seeds.append(seed)
        return twice(condition, seed)

    def together(self, conditions: list[Condition], seeds: list[int], progress: Any) -> list[list[dict[str, Any]]]:
        self.batches.append([len(conditions), *seeds])
        return [[twice(condition, seed) for seed in seeds] for condition in conditions]

    def experiment(self) -> Experiment:
        return Experiment("counting", self.alone, self.together)


def test_finished_trials_are_kept_and_taken_from_there(tmp_path: Path) -> None:
    counting = Counting()

    def run(trials: int, condition: Condition = SIT, **options: Any) -> list[int]:
        counting.seeds.clear()
        (found,) = outcomes([condition], Request(trials, tmp_path, **options), counting.experiment())
        assert [outcome["value"] for outcome in found] == [2 * seed for seed in range(trials)]
        return counting.seeds

    assert run(3) == [0, 1, 2]
    assert run(3) == []
    assert run(5) == [3, 4]
    assert run(2) == []
    assert run(2, fresh=True) == [0, 1]
    assert run(2, replace(SIT, label="another name")) == []
    assert run(2, replace(SIT, overrides=("threads=1",))) == [], "the motion does not depend on threads"
    assert run(2, replace(SIT, overrides=("rollouts=45",))) == [], "said or by default is the same"
    for override in ("rollouts=20", "keyframes.0.tolerance=0.2", "scene.height=0.1", "character=big-arms"):
        assert run(2, replace(SIT, overrides=(override,))) == [0, 1]
    assert run(2, replace(SIT, method="predictive-sampling")) == [0, 1]


def test_the_content_of_files_counts_not_their_names(tmp_path: Path) -> None:
    body = build("humanoid").xml
    pair = "{body: pelvis, on: floor, at: [0, 0, 1]}"
    for folder, text in (("a", body), ("b", body), ("c", body.replace('stiffness="20"', 'stiffness="21"'))):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "body.xml").write_text(text)
        task = f"character: body.xml\nstart: standing\nkeyframes: [{{pairs: [{pair}]}}]"
        (tmp_path / folder / "task.yaml").write_text(task)
    prints = [fingerprint(Condition("", str(tmp_path / f / "task.yaml")).described("cpu")) for f in "abc"]
    assert prints[0] == prints[1] != prints[2]


def test_versions_of_the_gpus_packages_count_on_a_gpu_alone(
    gpu_extra: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    engines = ("cpu", "gpu")
    before = [fingerprint(SIT.described(engine)) for engine in engines]
    gpu_extra["warp-lang"] = "1.20"
    after = [fingerprint(SIT.described(engine)) for engine in engines]
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, False]
    monkeypatch.setattr("gambol.evaluate.condition.version", importlib.metadata.version)
    monkeypatch.setattr("gambol.evaluate.condition._GPU_PACKAGES", ("no-such-package",))
    with pytest.raises(MissingExtraError, match="no-such-package"):
        SIT.described("gpu")


def test_a_fresh_run_that_is_interrupted_leaves_nothing_old(tmp_path: Path) -> None:
    outcomes([SIT], Request(4, tmp_path), Counting().experiment())
    with pytest.raises(KeyboardInterrupt):
        outcomes([SIT], Request(3, tmp_path, fresh=True), Counting(breaks_at=1).experiment())
    again = Counting()
    outcomes([SIT], Request(4, tmp_path), again.experiment())
    assert again.seeds == [1, 2], "seed 3 was not asked for afresh"


def test_numbers_that_are_not_finite_are_kept_as_none(tmp_path: Path) -> None:
    def cut_off(condition: Condition, seed: int) -> dict[str, Any]:
        return {"seconds": float("inf"), "costs": [1.0, float("nan")], "wall_seconds": 1.0}

    assert outcomes([SIT], Request(1, tmp_path), Experiment("cut off", cut_off)) == [
        [{"seconds": None, "costs": [1.0, None], "wall_seconds": 1.0}]
    ]
    assert not any(word in next(tmp_path.rglob("0.json")).read_text() for word in ("Infinity", "NaN"))


def test_what_was_finished_before_an_interrupt_is_not_lost(tmp_path: Path) -> None:
    request = Request(4, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        outcomes([SIT], request, Counting(breaks_at=2).experiment())
    counting = Counting()
    outcomes([SIT], request, counting.experiment())
    assert counting.seeds == [2, 3]
    (shelf,) = (tmp_path / "kept").iterdir()
    assert sorted(path.name for path in shelf.iterdir()) == ["0.json", "1.json", "2.json", "3.json", "condition.json"]
    assert json.loads((shelf / "condition.json").read_text())["settings"]["rollouts"] == 45
    (shelf / "1.json").write_text("{")
    with pytest.raises(InputError, match=r"1\.json"):
        outcomes([SIT], request, counting.experiment())


@pytest.mark.usefixtures("gpu_extra")
def test_on_a_gpu_the_missing_seeds_of_a_condition_are_one_batch(tmp_path: Path) -> None:
    counting = Counting()
    other = replace(SIT, label="other", overrides=("rollouts=20",))
    outcomes([SIT], Request(2, tmp_path, on="gpu"), counting.experiment())
    outcomes([SIT, other], Request(3, tmp_path, on="gpu"), counting.experiment())
    assert counting.batches == [[1, 0, 1], [1, 2], [1, 0, 1, 2]]
    outcomes([SIT], Request(1, tmp_path), counting.experiment())
    assert counting.seeds == [0], "trials of a GPU are not taken for those of a CPU"


@pytest.mark.usefixtures("gpu_extra")
def test_on_a_gpu_like_conditions_share_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counting = Counting()
    low, heavy = (replace(SIT, label=o, overrides=(o,)) for o in ("scene.height=0.1", "character=big-belly"))
    longer = replace(SIT, label="longer", overrides=("horizon=0.4",))
    outcomes([low], Request(1, tmp_path, on="gpu"), counting.experiment())
    outcomes([SIT, low, heavy, longer], Request(2, tmp_path, on="gpu"), counting.experiment())
    assert counting.batches == [[1, 0], [2, 0, 1], [1, 1], [1, 0, 1]]
    monkeypatch.setattr("gambol.evaluate.running._LARGEST_BATCH", 4)
    counting.batches.clear()
    outcomes([SIT, low, heavy], Request(2, tmp_path, on="gpu", fresh=True), counting.experiment())
    assert counting.batches == [[2, 0, 1], [1, 0, 1]]


@pytest.mark.usefixtures("gpu_extra")
def test_on_a_gpu_what_has_no_keyframes_is_done_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gambol.evaluate.running._EXECUTORS", {"local": "serial", "processes": "serial"})
    counting, fractions = Counting(), list[float]()
    balance = Condition("balance", "spacetime/balance")
    request = Request(2, tmp_path, on="gpu", progress=lambda moment: fractions.append(moment.fraction))
    found = outcomes([balance, SIT], request, counting.experiment())
    assert (counting.seeds, counting.batches) == ([0, 1], [[1, 0, 1]])
    assert [[outcome["value"] for outcome in row] for row in found] == [[0, 2], [0, 2]]
    assert fractions == [0.75, 1.0], "the batch, which says nothing itself, was the first half"
    outcomes([balance], Request(2, tmp_path), counting.experiment())
    assert counting.seeds == [0, 1], "its trials are those of a CPU"


def test_processes_share_the_time_of_the_machine_and_stand_in_for_missing_batches(tmp_path: Path) -> None:
    alone = Experiment("twice", twice)
    (found,) = outcomes([SIT], Request(3, tmp_path, on="processes"), alone)
    assert [outcome["value"] for outcome in found] == [0, 2, 4]
    assert all(0 < outcome["wall_seconds"] <= 4.0 for outcome in found)
    assert outcomes([SIT], Request(3, tmp_path, on="gpu"), alone) == [found]


def test_wrong_requests_are_refused_before_the_work(tmp_path: Path) -> None:
    counting = Counting()
    for conditions, request in (
        ([SIT], Request(1, tmp_path, on="mars")),
        ([SIT, Condition("none", "armchair/none")], Request(1, tmp_path)),
        ([SIT, replace(SIT, overrides=("rollouts=none",))], Request(1, tmp_path)),
    ):
        with pytest.raises(InputError):
            outcomes(conditions, request, counting.experiment())
    with pytest.raises(InputError, match="--rows"):
        wanted([SIT], Request(1, tmp_path, rows=["stand"]))
    assert counting.seeds == []
    both = [SIT, Condition("balance", "spacetime/balance")]
    with pytest.raises(InputError, match="(?s)--set: does not fit balance .*rollouts.* --rows: sit"):
        wanted(both, Request(1, tmp_path, overrides=["rollouts=20"]))
    assert len(wanted(both, Request(1, tmp_path, overrides=["rollouts=20"], rows=["sit"]))) == 1
    with pytest.raises(InputError, match="nonsense"):
        wanted(both, Request(1, tmp_path, overrides=["nonsense=20"]))


def test_rows_are_chosen_by_parts_of_their_names_and_overrides_come_last(tmp_path: Path) -> None:
    conditions = [Condition(name, "armchair/sit-down", ("rollouts=45",)) for name in ("sit", "stand", "stand still")]
    (first, second) = wanted(conditions, Request(1, tmp_path, rows=["stand"], overrides=["rollouts=20"]))
    assert (first.label, second.label) == ("stand", "stand still")
    assert first.settings.rollouts == 20
