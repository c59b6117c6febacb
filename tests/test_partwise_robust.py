"""What a run says when it cannot reach, when physics goes wrong, and when its keyframes are wrong."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import gambol
from gambol.arrays import write_arrays
from gambol.cli.app import app
from gambol.errors import InputError
from gambol.goals import Keyframe, load_task
from gambol.motion.metrics import measure
from gambol.partwise.incident import Incident
from gambol.partwise.live import LiveSession
from gambol.partwise.progress import KeyframeProgress
from gambol.results import Status
from gambol.sim import Simulation, UnstableError, unpack_state
from test_live import waited_for
from test_partwise import STAY

SETTINGS = {"rollouts": 12, "horizon": 0.1}
TASK = {**STAY, "settings": SETTINGS, "keyframes": [{**STAY["keyframes"][0], "sustain": 1.0}]}
BROKEN_AFTER = 0.05


@pytest.fixture
def breaking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Physics gets a kick it cannot survive after some time; the states before and after are the simulation's own."""
    step = Simulation.step

    def kicked(self: Simulation, control: np.ndarray) -> None:
        if self.data.time >= BROKEN_AFTER:
            self.data.qvel[:] = 9e9
        step(self, control)

    monkeypatch.setattr(Simulation, "step", kicked)


@pytest.fixture
def hopeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every rollout of the sixth plan fails, which is the one after 0.05 s."""
    from gambol.sim.cpu import CpuBackend

    fill, calls = CpuBackend._fill, count(1)

    def failing(self: CpuBackend, initial: np.ndarray, *arguments: Any) -> None:
        fill(self, initial, *arguments)
        arguments[-1].failed[...] |= next(calls) >= 6

    monkeypatch.setattr(CpuBackend, "_fill", failing)


def test_the_farthest_pair_at_the_closest_moment_is_known() -> None:
    progress = KeyframeProgress([Keyframe(pairs=[{"body": "pelvis"}, {"body": "right_hand", "on": "torso"}], limit=9)])
    assert progress.farthest is None
    assert progress.shortfall == ""
    for pelvis, hand in ((0.5, 2.0), (0.6, 0.7), (0.9, 0.1), (3.0, 0.0)):
        progress.update(np.array([[pelvis, 0, 0], [0, hand, 0]]), 0.1)
    assert progress.farthest is not None
    pair, distance = progress.farthest
    assert (pair.body, distance) == ("pelvis", 0.9)
    assert progress.closest == pytest.approx(np.hypot(0.9, 0.1))
    assert progress.shortfall == "farthest apart then: pelvis -> floor, 0.90 m"


def test_what_could_not_be_reached_is_reported() -> None:
    sky = {"body": "left_hand", "on": "floor", "at": [0, 0, 50]}
    keyframe = {"name": "sky", "pairs": [*STAY["keyframes"][0]["pairs"], sky], "limit": 0.05}
    report = gambol.solve({**TASK, "keyframes": [keyframe]}, seed=0).report
    assert report.status is Status.FAILED
    assert report.figures["farthest_pair"] == "left_hand -> floor"
    assert 48 < report.figures["farthest_pair_distance"] <= report.figures["closest"] < 50
    assert (report.figures["missed_keyframe"], report.figures["keyframes_reached"]) == ("sky", 0)
    assert f"left_hand -> floor, {report.figures['farthest_pair_distance']:.2f} m" in report.advice
    json.dumps(report.as_json())


def test_reports_say_how_smooth_the_motion_is() -> None:
    result = gambol.solve(load_task(STAY, ["rollouts=12"]), seed=0)
    figures = result.report.figures
    assert result.succeeded
    assert not {"farthest_pair", "missed_keyframe"} & set(figures)
    for name, metric in measure(result.motion, ("jerk", "control_roughness")).items():
        assert metric.value is not None
        assert figures[name] == pytest.approx(metric.value, abs=1e-3)
        assert metric.value > 0
    assert result.motion.source.figures == figures


@pytest.mark.parametrize("trouble", ["breaking", "hopeless"])
def test_an_unstable_run_keeps_its_motion_and_the_moment(
    trouble: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    request.getfixturevalue(trouble)
    result = gambol.solve(TASK, seed=4)
    assert result.report.status is Status.FAILED
    assert "unstable" in result.report.advice
    assert "planning_step" in result.report.advice
    assert result.motion.duration == pytest.approx(BROKEN_AFTER, abs=0.006)
    assert np.isfinite(result.motion.qpos).all()
    assert isinstance(result.incident, Incident)
    result.incident.save(tmp_path / "moment.npz")
    again = Incident.load(tmp_path / "moment.npz")
    np.testing.assert_array_equal(again.state, result.incident.state)
    np.testing.assert_array_equal(again.plan.knots, result.incident.plan.knots)
    assert again.task.in_file() == load_task(TASK).in_file()
    assert (again.seed, again.keyframe, again.settings) == (4, 0, result.incident.settings)
    assert again.problem == result.incident.problem
    assert 0.0 <= again.age < 0.02
    qpos = unpack_state(again.task.world.model, again.state).qpos
    np.testing.assert_array_equal(qpos, result.motion.qpos[-1])


def test_a_kept_moment_goes_wrong_again(breaking: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state kept is the one that blew up: without the kick, playing it and planning from it fail as before."""
    incident = gambol.solve(TASK, seed=0).incident
    assert isinstance(incident, Incident)
    monkeypatch.undo()
    replayed = incident.replay()
    assert "again: the simulation became unstable" in replayed.source.notes
    assert len(replayed) == 1
    assert incident.plan_again() == incident.settings.rollouts
    assert incident.plan_again(rollouts=20, knots=2) == 20


def test_a_sound_moment_plays_to_the_end_of_its_plan(hopeless: None, monkeypatch: pytest.MonkeyPatch) -> None:
    incident = gambol.solve(TASK, seed=0).incident
    assert isinstance(incident, Incident)
    monkeypatch.undo()
    replayed = incident.replay()
    assert replayed.duration == pytest.approx(SETTINGS["horizon"], abs=0.02)
    assert "it went well" in replayed.source.notes
    assert incident.plan_again(planning_step=0.005) == 0


def test_the_command_line_keeps_the_moment_and_says_how_to_see_it(
    breaking: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    load_task(TASK).save("stay.yaml")
    told = CliRunner().invoke(app, ["solve", "stay.yaml", "--out", "stay.bvh", "--json"])
    assert told.exit_code == 3
    advice = json.loads(told.stdout)["advice"]
    assert "kept in stay.unstable.npz" in advice
    assert {path.name for path in tmp_path.iterdir()} == {"stay.yaml", "stay.bvh", "stay.unstable.npz"}
    python, *arguments = shlex.split(advice.partition("to see it: ")[2])
    assert python == "python"
    subprocess.run([sys.executable, *arguments], check=True, timeout=60)
    assert (tmp_path / "stay.unstable.html").stat().st_size > 10_000


def test_files_that_are_no_incidents_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.npz"
    with pytest.raises(InputError, match="no such file"):
        Incident.load(file)
    gambol.solve(load_task(STAY, ["rollouts=12", "keyframes.0.limit=0.02"])).motion.save(file)
    with pytest.raises(InputError, match="has no array 'state'"):
        Incident.load(file)
    for header in (b"[]", b"{", b'{"format": "gambol-incident", "version": 1}', b'{"format": "x", "version": 1}'):
        write_arrays(file, {"header": np.frombuffer(header, np.uint8), "state": np.zeros(3), "knots": np.zeros((2, 2))})
        with pytest.raises(InputError, match="x.npz: is (not a saved incident|of another kind)"):
            Incident.load(file)


def test_an_unstable_live_session_keeps_its_motion_and_the_moment(breaking: None) -> None:
    session = LiveSession(load_task(TASK), slowdown=1.0).start()
    assert waited_for(lambda: not session.running)
    with pytest.raises(UnstableError, match="unstable"):
        session.stop()
    assert session.motion().duration == pytest.approx(BROKEN_AFTER, abs=0.006)
    assert session.incident is not None
    assert session.incident.keyframe == 0


WRONG_KEYFRAMES = {
    "body": ("{pairs: [{body: pelvs}]}", r"keyframes.0 \(keyframe\).pairs.0.body: no body.*'pelvs'", "pelvis"),
    "object": ("{name: sit, pairs: [{body: pelvis, on: sofa}]}", r"keyframes.0 \(sit\).pairs.0.on: no .*'sofa'", "armchair"),
    "part of an object": ("{pairs: [{body: pelvis, on: armchair/set}]}", r"pairs.0.on: no .*'armchair/set'", "armchair/seat"),
    "part of a body": ("{pairs: [{body: humanoid/tail}]}", r"pairs.0.body: no .*'humanoid/tail'", "humanoid/"),
    "second pair": ("{pairs: [{body: pelvis}, {body: torso, on: lap}]}", r"pairs.1.on: no .*'lap'", "known|mean"),
    "no pairs": ("{pairs: []}", r"keyframes.0.pairs: .*at least 1", ""),
    "pairs left out": ("{name: sit}", r"keyframes.0.pairs: is required", ""),
    "no body": ("{pairs: [{on: floor}]}", r"keyframes.0.pairs.0.body", ""),
    "negative tolerance": ("{tolerance: -0.1, pairs: [{body: pelvis}]}", r"keyframes.0.tolerance: .*greater than 0", ""),
    "zero tolerance": ("{tolerance: 0, pairs: [{body: pelvis}]}", r"keyframes.0.tolerance: .*greater than 0", ""),
    "endless tolerance": ("{tolerance: .inf, pairs: [{body: pelvis}]}", r"keyframes.0.tolerance", ""),
    "negative sustain": ("{sustain: -1, pairs: [{body: pelvis}]}", r"keyframes.0.sustain", ""),
    "no time": ("{limit: 0, pairs: [{body: pelvis}]}", r"keyframes.0.limit", ""),
    "a flat point": ("{pairs: [{body: pelvis, at: [0, 1]}]}", r"keyframes.0.pairs.0.at", ""),
    "a point of words": ("{pairs: [{body: pelvis, point: [x, y, z]}]}", r"keyframes.0.pairs.0.point.0", ""),
}  # fmt: skip


@pytest.mark.parametrize(("keyframe", "said", "hinted"), WRONG_KEYFRAMES.values(), ids=WRONG_KEYFRAMES.keys())
def test_wrong_keyframes_name_file_and_key(keyframe: str, said: str, hinted: str, tmp_path: Path) -> None:
    file = tmp_path / "task.yaml"
    file.write_text(f"scene: armchair\nkeyframes: [{keyframe}]\n")
    with pytest.raises(InputError, match=rf"task\.yaml: (.*\.)?{said}[\s\S]*{hinted}"):
        gambol.solve(file)
