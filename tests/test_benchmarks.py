"""Benchmarks: every row can be run, and tables tell what the trials said."""

from __future__ import annotations

import csv
import itertools
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from PIL import Image

from gambol.evaluate import BENCHMARKS, Findings, Request, Table
from gambol.evaluate.charts import Bars, Chart, Curves
from gambol.evaluate.condition import Condition
from gambol.evaluate.partwise import baseline, budget, generalise
from gambol.evaluate.partwise.descent import descended, mean_descent
from gambol.evaluate.partwise.table2 import TABLE_2
from gambol.evaluate.planning import planning
from gambol.evaluate.running import Experiment, outcomes
from gambol.evaluate.spacetime.ablation import conditions as ablation_conditions
from gambol.evaluate.spacetime.search import compared
from gambol.evaluate.trial import TRIAL, interval, solved, summary
from gambol.goals import load_task
from gambol.motion import Motion
from gambol.partwise.planner import Planner
from gambol.results import Report, Result, Status

SIT = Condition("sit", "armchair/sit-down")
TINY = ("rollouts=12", "horizon=0.06", "replan_every=10", "keyframes.0.limit=0.1")


def interrupted(*arguments: Any, **options: Any) -> Any:
    raise KeyboardInterrupt


def test_a_real_trial_and_a_real_descent() -> None:
    condition = Condition("tiny", "armchair/sit-down", TINY)
    ended = solved(condition, 0)
    assert not ended["succeeded"]
    assert ended["seconds"] == pytest.approx(0.1, abs=0.011)
    assert all(np.isfinite(ended[name]) for name in ("mean_cost", "recombined_share", "jerk", "control_roughness"))
    course = descended(condition, 0)
    assert course["times"] == pytest.approx([0.005 * step for step in range(20)])
    assert np.mean(course["costs"]) == pytest.approx(ended["mean_cost"], abs=1e-3)
    assert not course["reached"]
    assert json.loads(json.dumps(course)) == course


def test_mean_descents_end_when_most_trials_have_arrived() -> None:
    trials = [{"times": [0.0, 0.1, 0.2, 0.3][:plans], "costs": [4.0, 3.0, 2.0, 1.0][:plans]} for plans in (1, 2, 3, 4)]
    assert mean_descent(trials) == [(0.0, 4.0, 4), (0.1, 3.0, 3), (0.2, 2.0, 2)]


@given(some.integers(1, 200).flatmap(lambda n: some.tuples(some.integers(0, n), some.just(n))))
def test_the_interval_holds_the_rate(counts: tuple[int, int]) -> None:
    low, high = interval(*counts)
    assert 0.0 <= low <= counts[0] / counts[1] + 1e-12
    assert counts[0] / counts[1] - 1e-12 <= high <= 1.0


@pytest.mark.parametrize(
    ("counts", "known"),
    [((36, 40), (0.769, 0.960)), ((90, 100), (0.826, 0.945)), ((0, 10), (0.0, 0.278)), ((10, 10), (0.722, 1.0))],
)
def test_the_interval_is_wilsons(counts: tuple[int, int], known: tuple[float, float]) -> None:
    assert interval(*counts) == pytest.approx(known, abs=5e-4)


def test_the_summary_of_trials() -> None:
    def ended(seconds: float, succeeded: bool) -> dict[str, Any]:
        return {"succeeded": succeeded, "seconds": seconds, "mean_cost": seconds, "jerk": None, "wall_seconds": 2.0}

    row = summary([ended(4, True), ended(6, True), ended(9, False), ended(9, False)])
    assert (row["trials"], row["success %"], row["wall s"]) == (4, 50.0, 8.0)
    assert (row["mean s"], row["sd s"], row["min s"], row["max s"]) == (5.0, 1.41, 4.0, 6.0)
    assert (row["mean cost"], row["jerk m/s³"]) == (7.0, None)
    assert summary([ended(9, False)])["mean s"] is None
    assert (summary([ended(4, True)])["mean s"], summary([ended(4, True)])["sd s"]) == (4.0, None)


@pytest.mark.parametrize(
    "condition",
    [
        *(Condition(name, name) for name in TABLE_2),
        *generalise.conditions(),
        *baseline.conditions()[::11],
        *baseline.descent_conditions(),
    ],
    ids=lambda condition: condition.label,
)
def test_every_row_can_be_run(condition: Condition) -> None:
    assert condition.loaded.initial_qpos() is not None
    assert condition.settings.rollouts >= 15


def test_the_paper_counts_eighteen_conditions_and_slowdowns_are_plans_a_second() -> None:
    conditions = baseline.conditions()
    assert len({c.label for c in conditions if c.task in baseline.COUNTED}) == 18
    assert len(conditions) == 2 * len({c.label for c in conditions}) == 2 * (18 + 6 + 2)
    plans = {}
    for slowdown in budget.ROUNDS:
        rounds = Condition("", "armchair/sit-down", ("rounds=3", *budget.budget(15, slowdown)))
        plans[slowdown] = budget.spent(rounds)
    assert plans == {g: {"rollouts": 15, "plans a second": 200 / g} for g in (0.25, 0.5, 1.0)}


@pytest.mark.usefixtures("gpu_extra")
def test_a_batch_gives_the_outcomes_of_single_trials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    batch = pytest.importorskip("gambol.partwise.batch")

    class Batch:
        def __init__(self, tasks: Any, settings: Any, seeds: list[int], *, method: str, keep: int):
            assert (method, keep, settings.rollouts) == ("partwise", len(seeds), 45)
            (self.task,), self.seeds = tasks, seeds

        def run(self, progress: Any) -> list[Any]:
            return [batch.Trial(seed > 0, 3.0, seed, 2.0, 0.4) for seed in self.seeds]

        def motions(self) -> list[Motion]:
            qpos = np.tile(self.task.initial_qpos(), (5, 1))
            ctrl = np.zeros((5, self.task.world.model.nu))
            return [Motion(self.task.world, 0.005, qpos, ctrl=ctrl) for _ in self.seeds]

    monkeypatch.setattr(batch, "TrialBatch", Batch)
    (found,) = outcomes([SIT], Request(3, tmp_path, on="gpu"), TRIAL)
    assert found[0].keys() == solved(replace(SIT, overrides=TINY), 0).keys()
    row = summary(found)
    assert (row["success %"], row["jerk m/s³"], row["roughness 1/s"]) == (66.7, 0.0, 0.0)
    for height, rate in ((0.5, 66.7), (5, 0.0)):
        feat = f"success=[{{feat: com_height_at_end, at_least: {height}}}]"
        (found,) = outcomes([replace(SIT, overrides=(feat,))], Request(3, tmp_path, on="gpu"), TRIAL)
        assert summary(found)["success %"] == rate, "a batch is judged by the task's own success, too"


def test_the_time_of_a_plan_is_that_of_one_round(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    closed: list[Planner] = []
    monkeypatch.setattr(Planner, "close", lambda planner: closed.append(planner))
    clock = SimpleNamespace(perf_counter=itertools.count().__next__)
    monkeypatch.setattr(sys.modules[planning.__module__], "time", clock)
    request = Request(2, tmp_path, overrides=["rounds=4", *TINY[:2], "threads=1"])
    (row,) = planning(request).tables["planning"].rows
    assert (row["plan ms"], row["bare rollouts ms"]) == (250.0, 1000.0)
    monkeypatch.setattr(Planner, "improve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        planning(request)
    assert len(closed) == 2


@pytest.fixture
def fake_solves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Partwise always succeeds in 4 + seed seconds; plain sampling fails with seed 0 and takes twice as long."""
    task = load_task("armchair/sit-down")
    motion = Motion(task.world, 0.005, task.initial_qpos()[None])

    def solve(task: Any, method: str, seed: int) -> Result:
        plain = method != "partwise"
        figures = {"mean_cost": 2.0 + plain, "recombined_share": 0.3, "jerk": 5.0, "control_roughness": 1.0 + plain}
        status = Status.FAILED if plain and seed == 0 else Status.SUCCESS
        return Result(motion, Report(status, task.name, method, seed, figures, (4.0 + seed) * (1 + plain), 2.0))

    def descended(condition: Condition, seed: int) -> dict[str, Any]:
        start = 10.0 if condition.solver == "partwise" else 20.0
        return {"times": [0.0, 0.1], "costs": [start, start - seed], "reached": True, "wall_seconds": 1.0}

    monkeypatch.setattr("gambol.evaluate.trial.solve", solve)
    monkeypatch.setattr("gambol.evaluate.partwise.baseline.DESCENT", Experiment("descent", descended))


@pytest.fixture
def run(fake_solves: None, tmp_path: Path):
    def run(name: str, trials: int = 3) -> Findings:
        found = BENCHMARKS[name].run(Request(trials, tmp_path))
        for path in found.save(tmp_path):
            assert path.stat().st_size > 0
        return found

    return run


def test_table2_tells_ours_beside_the_papers(run, tmp_path: Path) -> None:
    run("partwise-table2")
    rows = list(csv.DictReader((tmp_path / "partwise-table2.csv").open(encoding="utf-8")))
    assert [row["task"] for row in rows] == list(TABLE_2)
    climb = rows[-1]
    told = [climb[key] for key in ("success %", "paper success %", "mean s", "paper mean s")]
    assert told == ["100.0", "75", "5.0", "11.9"]
    assert all(float(row["plans a second"]) >= 50 and int(row["rollouts"]) > 0 for row in rows)
    assert Image.open(tmp_path / "partwise-table2.png").width > 500


def test_the_baseline_counts_where_partwise_is_better(run, tmp_path: Path) -> None:
    found = run("partwise-baseline")
    told = " ".join(found.remarks)
    assert "lower mean cost in 18 of 18 conditions (paper: 14 of 18)" in told
    assert "shorter motions in 18 of 18 conditions (paper: 13 of 18)" in told
    assert "higher success in 18 of 18" in told
    assert "bench/hand-targets, 15 rollouts, slowdown 0.5: partwise succeeds in 100.0 %" in told
    row = found.tables["partwise-baseline"].rows[0]
    assert (row["partwise roughness 1/s"], row["predictive-sampling roughness 1/s"]) == (1.0, 2.0)
    assert row["wall s"] == 12.0
    descent = found.tables["partwise-descent"].rows[0]
    assert (descent["partwise mean cost"], descent["predictive-sampling mean cost"]) == (9.5, 19.5)
    curves = list(csv.DictReader((tmp_path / "partwise-descent-curves.csv").open(encoding="utf-8")))
    assert len(curves) == 3 * 2 * 2
    assert curves[1] == {
        **{"task": "bench/hand-targets", "method": "partwise", "seconds": "0.1", "mean cost": "9.0", "trials": "3"},
    }


def test_a_fresh_baseline_forgets_its_curves_before_the_trials(
    run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    request = Request(1, tmp_path, rows=["bench/hand-targets"])
    BENCHMARKS["partwise-baseline"].run(request)
    monkeypatch.setattr("gambol.evaluate.trial.solve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        BENCHMARKS["partwise-baseline"].run(replace(request, fresh=True))
    assert not list(tmp_path.rglob("0.json"))


def test_shares_and_variants(run) -> None:
    found = run("partwise-share")
    rows = {row["task"]: row for row in found.tables["partwise-share"].rows}
    assert len(rows) == 8
    assert (rows["bench/shuffle"]["recombined %"], rows["bench/shuffle"]["paper recombined %"]) == (30.0, 22.0)
    assert all(row["rollouts"] == 90 and row["plans a second"] == 400 for row in rows.values())
    found = run("partwise-generalise")
    rows = [row for row in found.tables["partwise-generalise"].rows if row["variant"] == "big belly"]
    assert len(rows) == 3
    assert rows[0]["mass kg"] == rows[0]["paper mass kg"] == 64.95
    assert "were performed" in found.remarks[0]


def test_benchmarks_share_the_trials_of_the_conditions_they_share(
    run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run("trials")

    def unexpected(*arguments: Any) -> None:
        raise AssertionError("already done")

    monkeypatch.setattr("gambol.evaluate.trial.solve", unexpected)
    run("partwise-table2")
    assert TRIAL.name == json.loads(next((tmp_path / "kept").rglob("condition.json")).read_text())["experiment"]


def test_tables_show_cells_put_together_and_leave_unknown_ones_empty() -> None:
    shown = {"task": "{task}", "s": "{mean s} ± {sd s}"}
    table = Table("t", [{"task": "[sit]", "mean s": 4.0, "sd s": None}, {"task": "stand", "mean s": None}], shown)
    cells = [list(column.cells) for column in table.as_rich().columns]
    assert cells == [[r"\[sit]", "stand"], ["4.0 ± –", ""]]
    assert [column.header for column in Table("t", table.rows).as_rich().columns] == ["task", "mean s", "sd s"]


def test_charts_draw_what_is_known(tmp_path: Path) -> None:
    bars = Bars("%", ["a", "b"], {"ours": [None, 50.0], "paper": [100.0, 0.0]}, 100, {"ours": [None, 5.0]})
    empty = Curves("nothing", "s", {"one": ([], [])})
    chart = Chart([bars, empty, Curves("cost", "s", {"one": ([0.0, 1.0], [2.0, 1.0])})], "all")
    chart.save(tmp_path / "chart.png")
    colours = Image.open(tmp_path / "chart.png").convert("RGB").getcolors(100_000)
    assert {(31, 95, 168), (224, 138, 30)} <= {colour for _, colour in colours or ()}
    without = Chart([replace(bars, series={"ours": [None, None]}, spreads={})]).image()
    assert without.size[0] > 0


def test_searches_for_windows_are_compared(tmp_path: Path) -> None:
    """Really, but short: both search for the first window of the same task."""
    short = ["generations=2", "population=4"]
    found = BENCHMARKS["spacetime-search"].run(Request(1, tmp_path, rows=["spacetime/balance"], overrides=short))
    (row,) = found.tables["spacetime-search"].rows
    assert row["published motions"] == row["our motions"] == 8
    assert row["published cost"] > 0
    for path in found.save(tmp_path):
        assert path.stat().st_size > 0


def test_a_search_is_as_good_once_its_cost_is_that_of_the_other() -> None:
    ours = {"generations": [1, 2, 4], "costs": [9.0, 5.0, 1.0], "motions": 400, "search_seconds": 8.0}
    published = {"generations": [1, 100], "costs": [9.0, 5.5], "motions": 1600, "search_seconds": 40.0}
    row = compared([ours], [published])
    assert (row["as good after s"], row["times as fast"]) == (4.0, 10.0)
    better = compared([ours], [{**published, "costs": [9.0, 0.5]}])
    assert (better["as good after s"], better["times as fast"]) == (None, None)


def test_clips_are_optimised_with_and_without_their_parts(tmp_path: Path) -> None:
    short = ["generations=1", "population=4", "cache=false"]
    request = Request(1, tmp_path, rows=["spacetime/push-ups"], overrides=short)
    rows = {
        row["clip"].partition(": ")[2]: row
        for row in BENCHMARKS["spacetime-ablation"].run(request).tables["spacetime-ablation"].rows
    }
    assert list(rows) == ["as it ships", "without look-ahead", "without symmetry"]
    assert all(row["success %"] == 0.0 and row["windows"] == 6 for row in rows.values())
    assert len({row["cost"] for row in rows.values()}) == 3


def test_clips_that_do_not_look_ahead_are_compared_with_those_that_do() -> None:
    labels = [condition.label for condition in ablation_conditions()]
    assert "spacetime/walk: with look-ahead" in labels
    assert "spacetime/handstand: without look-ahead" in labels


def test_shipped_motions_are_performed_with_a_heavier_body(tmp_path: Path) -> None:
    request = Request(1, tmp_path, rows=["spacetime/balance"])
    (row,) = BENCHMARKS["spacetime-survival"].run(request).tables["spacetime-survival"].rows
    assert 0 < row["open loop s"] <= row["of s"] == pytest.approx(1.0)
    assert row["tracked s"] == row["of s"], "feedback stands a body that is a little heavier"
    assert row["tracked to the end %"] == 100
