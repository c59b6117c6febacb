"""Clips of windows go on where they stopped, and windows are searched for again only where something changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gambol
from gambol.goals import load_task
from gambol.results import Status
from samples import CLIP, STAND

pytestmark = pytest.mark.usefixtures("own_cache")


def test_an_interrupted_clip_goes_on_to_the_same_motion() -> None:
    whole = gambol.solve(load_task(CLIP, ["cache=false"]), seed=0)

    def stop_in_the_second_window(progress: gambol.results.Progress) -> None:
        if "window 2" in progress.what:
            raise KeyboardInterrupt

    half = gambol.solve(load_task(CLIP), seed=0, progress=stop_in_the_second_window)
    assert half.report.status is Status.INTERRUPTED
    assert half.report.figures["windows_done"] == 1
    worked: list[str] = []
    rest = gambol.solve(load_task(CLIP), seed=0, progress=lambda progress: worked.append(progress.what))
    assert not any("window 1" in what for what in worked)
    np.testing.assert_array_equal(rest.motion.qpos, whole.motion.qpos)


def test_a_changed_window_is_optimised_again_and_those_before_it_are_not() -> None:
    gambol.solve(load_task(CLIP))
    worked: set[str] = set()
    changed = load_task(CLIP, ["windows.1.objectives.2.weight=0.5"])
    gambol.solve(changed, progress=lambda progress: worked.add(progress.what))
    assert {what.split()[1][0] for what in worked} == {"2", "3"}


def test_windows_that_had_looked_ahead_to_what_has_changed_since_are_counted() -> None:
    changed = load_task(CLIP, ["windows.2.objectives.2.weight=0.5"])
    told = "windows_from_before_an_edit"
    assert told not in gambol.solve(load_task(CLIP)).report.figures
    assert told not in gambol.solve(load_task(CLIP)).report.figures
    assert gambol.solve(changed).report.figures[told] == 1
    assert gambol.solve(changed).report.figures[told] == 1
    assert told not in gambol.solve(load_task(CLIP)).report.figures


def test_another_task_that_begins_alike_takes_over_what_it_would_search_for() -> None:
    gambol.solve(load_task(CLIP))
    windows = [*CLIP["windows"][:2], {**CLIP["windows"][2], "duration": 0.05}]
    other, worked = load_task({**CLIP, "windows": windows, "name": "other"}), set()
    again = gambol.solve(other, progress=lambda progress: worked.add(progress.what))
    assert {what.split()[1][0] for what in worked} == {"2", "3"}, "the second looked ahead to something else"
    afresh = gambol.solve(load_task({**CLIP, "windows": windows}, ["cache=false"]))
    np.testing.assert_array_equal(again.motion.qpos, afresh.motion.qpos)


def test_a_window_is_not_taken_from_the_cache_where_it_began_in_another_state() -> None:
    """The second window was found after a first one that has been searched for again since, as it now ends the clip."""
    first, second = CLIP["windows"][0], {**CLIP["windows"][1], "duration": 0.15}
    both = {**CLIP, "windows": [first, second]}
    gambol.solve({**CLIP, "windows": [first, CLIP["windows"][1]]})
    gambol.solve(both)
    gambol.solve({**CLIP, "windows": [first]})
    again = gambol.solve(both)
    for row in again.report.figures["by_window"][1:]:
        assert row["cost"] == pytest.approx(sum(row["terms"].values()), abs=0.05)
    np.testing.assert_array_equal(again.motion.qpos, gambol.solve(load_task(both, ["cache=false"])).motion.qpos)


@pytest.mark.parametrize("told_apart", ["nothing", "folder"])
def test_tasks_without_a_name_of_their_own_do_not_take_over_each_others_windows(
    told_apart: str, tmp_path: Path
) -> None:
    """Their first windows are alike and the second are not, so what looks ahead to these is another problem."""
    other = {
        **STAND,
        "name": "two",
        "duration": 0.1,
        "objectives": [{"term": "com_height", "parameters": {"height": 0.5}}],
    }
    clips = [{**CLIP, "windows": [CLIP["windows"][0], second]} for second in (CLIP["windows"][1], other)]
    tasks: list[Any] = [{key: value for key, value in clip.items() if key != "name"} for clip in clips]
    if told_apart == "folder":
        for n, nameless in enumerate(tasks):
            (tmp_path / f"{n}").mkdir()
            tasks[n] = tmp_path / f"{n}" / "clip.yaml"
            tasks[n].write_text(json.dumps(nameless))
    gambol.solve(load_task(tasks[0]))
    second = gambol.solve(load_task(tasks[1]))
    np.testing.assert_array_equal(second.motion.qpos, gambol.solve(load_task(tasks[1], ["cache=false"])).motion.qpos)


def test_a_clip_that_is_known_writes_nothing(tmp_path: Path) -> None:
    gambol.solve(load_task(CLIP))
    files = sorted((tmp_path / "cache" / "spacetime").iterdir())
    before = [file.stat().st_mtime_ns for file in files]
    assert len(before) == 6
    gambol.solve(load_task(CLIP))
    assert [file.stat().st_mtime_ns for file in files] == before


def _damaged(file: Path, how: str) -> None:
    sound = file.read_bytes()
    with np.load(file) as kept:
        arrays = dict(kept)
    if how == "a folder":
        file.unlink()
        file.mkdir()
    elif how in ("generations", "seconds", "cost"):
        np.savez(file, **{**arrays, how: np.inf})
    elif how == "of another shape":
        np.savez(file, **{**arrays, "cost": np.zeros(2)})
    else:
        method = sound.index(b"PK\x01\x02") + 10  # where the list of members says how the first is compressed
        unknown = sound[:method] + b"\x63\x00" + sound[method + 2 :]
        file.write_bytes({"empty": b"", "cut off": sound[: len(sound) // 2], "compressed": unknown}[how])


@pytest.mark.parametrize(
    "how", ["empty", "cut off", "compressed", "a folder", "generations", "seconds", "cost", "of another shape"]
)
def test_a_damaged_window_is_searched_for_again(tmp_path: Path, how: str) -> None:
    first = gambol.solve(load_task(CLIP))
    for file in (tmp_path / "cache" / "spacetime").iterdir():
        _damaged(file, how)
    again = gambol.solve(load_task(CLIP))
    assert again.report.status is first.report.status
    np.testing.assert_array_equal(again.motion.qpos, first.motion.qpos)


def test_a_folder_that_cannot_be_written_does_not_stop_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "taken").write_text("a plain file")
    monkeypatch.setenv("GAMBOL_CACHE", str(tmp_path / "taken"))
    result = gambol.solve(load_task(CLIP))
    assert result.report.figures["windows_done"] == 3
    assert "taken" in result.report.figures["windows_not_kept"]
    assert "windows_not_kept" not in gambol.solve(load_task(CLIP, ["cache=false"])).report.figures


def test_nothing_is_said_to_be_kept_that_is_not() -> None:
    def stop(progress: gambol.results.Progress) -> None:
        raise KeyboardInterrupt

    advice = gambol.solve(load_task(CLIP), progress=stop).report.advice
    assert "first window" in advice
    assert "go on" not in advice
