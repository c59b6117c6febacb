"""The command line as people and scripts use it: words, exit codes, one message, nothing half-written."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from gambol.cli import main
from gambol.cli.interrupting import interruption_told

EASY = """
summary: Stay seated.
scene: armchair
start: sitting
keyframes:
  - name: stay
    style: relaxed
    pairs: [{body: pelvis, point: [0, 0, -0.09], on: armchair/seat, at: [-0.08, 0, 0.05]}]
    tolerance: 0.3
    sustain: 0.1
    limit: 2
settings: {rollouts: 12}
"""


class Outcome:
    def __init__(self, code: int, out: str, err: str):
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def gambol(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    """Runs a command in an empty folder that holds ``easy.yaml``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "easy.yaml").write_text(EASY)

    def run(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["gambol", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), told.out, told.err)

    return run


def test_list_says_what_there_is(gambol) -> None:
    listed = json.loads(gambol("list", "--json").out)
    assert set(listed) == {"methods", "tasks", "motions", "characters", "scenes", "policies"}
    assert "armchair/stand-sit-stand" in [task["name"] for task in listed["tasks"]]
    assert "humanoid" in [character["name"] for character in listed["characters"]]
    assert "predictive-sampling" in gambol("list").out


def test_shipped_motions_are_called_by_their_names(gambol, tmp_path: Path) -> None:
    first = json.loads(gambol("list", "--json").out)["motions"][0]
    assert json.loads(gambol("info", first["name"], "--json").out)["seconds"] == pytest.approx(first["seconds"])
    assert gambol("export", first["name"], "m.bvh").code == 0
    assert (tmp_path / "m.bvh").exists()


def test_figures_that_are_rows_are_a_table(capsys) -> None:
    from gambol.cli.output import print_figures

    print_figures(
        "clip", {"windows": 2, "by_window": [{"name": "up", "terms": {"torque": 1}}, {"name": "down", "terms": {}}]}
    )
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["name", "terms"] in lines
    assert ["up", "torque", "1"] in lines


def test_solve_prints_one_json_object_and_writes_the_motion(gambol, tmp_path: Path) -> None:
    outcome = gambol("solve", "easy.yaml", "--seed", "3", "--out", "m.npz", "--json")
    assert outcome.code == 0
    report = json.loads(outcome.out)
    assert {"status", "task", "method", "seed", "sim_seconds", "wall_seconds", "figures"} <= set(report)
    assert (report["status"], report["seed"], report["task"]) == ("success", 3, "easy")
    assert (tmp_path / "m.npz").exists()


def test_solve_takes_a_default_name_and_overrides(gambol, tmp_path: Path) -> None:
    outcome = gambol("solve", "easy.yaml", "--set", "rollouts=12", "--set", "scene.height=0.18")
    assert outcome.code == 0, outcome.err
    assert (tmp_path / "easy.npz").exists()
    assert "success" in outcome.out


def test_without_a_terminal_progress_is_a_line_now_and_then(gambol, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "%" not in gambol("solve", "easy.yaml").err, "short work says nothing"
    monkeypatch.setattr("gambol.cli.output._BETWEEN_LINES", 0.0)
    lines = [line for line in gambol("solve", "easy.yaml").err.splitlines() if "%" in line]
    assert len(lines) > 1
    assert "stay" in lines[0]


def test_track_is_for_optimised_motions(gambol) -> None:
    told = gambol("solve", "easy.yaml", "--track")
    assert told.code == 2
    assert "--track" in told.err


def test_failure_is_exit_3_with_advice_and_the_motion_so_far(gambol, tmp_path: Path) -> None:
    outcome = gambol("solve", "easy.yaml", "--set", "keyframes.0.pairs.0.at=[0,0,9]", "--set", "keyframes.0.limit=0.1", "--json")  # fmt: skip
    assert outcome.code == 3
    report = json.loads(outcome.out)
    assert report["status"] == "failed"
    assert "closest" in report["advice"]
    assert (tmp_path / "easy.npz").exists()


WRONG = {
    "unknown task": ("solve", "armchair/sit-dwn"),
    "missing file": ("solve", "none.yaml"),
    "bad set": ("solve", "easy.yaml", "--set", "scene.hight=1"),
    "no equals": ("solve", "easy.yaml", "--set", "rollouts"),
    "bad method": ("solve", "easy.yaml", "--method", "magic"),
    "bad place": ("solve", "easy.yaml", "--on", "moon"),
    "bad extension": ("solve", "easy.yaml", "--out", "m.fbx"),
    "unwritable": ("solve", "easy.yaml", "--out", "/proc/none/m.npz"),
    "below a file": ("solve", "easy.yaml", "--out", "text.npz/m.npz"),
    "no motion for a new folder": ("keyframes", "none.npz", "new/m.yaml"),
    "bad set for a new folder": ("bench", "trials", "--set", "bogus=1", "--folder", "new"),
    "no row for a new folder": ("bench", "trials", "--rows", "none such", "--folder", "new"),
    "negative seed": ("solve", "easy.yaml", "--seed", "-1"),
    "a word for a seed": ("solve", "easy.yaml", "--seed", "x"),
    "not a motion": ("check", "easy.yaml"),
    "no motion": ("info", "none.npz"),
    "text as motion": ("export", "text.npz", "x.glb"),
    "no import": ("import", "none.bvh", "x.npz"),
    "bad character": ("import", "none.bvh", "x.npz", "--character", "giant"),
    "unknown verb": ("dance",),
    "unknown option": ("list", "--all"),
    "unknown benchmark": ("bench", "speed"),
    "nothing to train": ("train", "masked"),
    "no view": ("view", "none.npz"),
}


@pytest.mark.parametrize("arguments", WRONG.values(), ids=WRONG.keys())
def test_wrong_input_is_exit_2_one_message_no_traceback_no_file(gambol, tmp_path: Path, arguments) -> None:
    (tmp_path / "text.npz").write_text("not a zip")
    outcome = gambol(*arguments)
    assert outcome.code == 2
    assert outcome.err.strip()
    assert "Traceback" not in outcome.err
    assert outcome.out == ""
    assert sorted(p.name for p in tmp_path.iterdir()) == ["easy.yaml", "text.npz"]


def test_a_wrong_place_is_told_by_its_option(gambol) -> None:
    told = gambol("solve", "easy.yaml", "--on", "moon").err
    assert "--on: cannot run jobs on 'moon'" in told
    assert "serial" in told
    assert "serial" in gambol("solve", "--help").out


def test_a_wrong_mujoco_gl_is_told_like_other_wrong_input() -> None:
    process = command("list", env={**os.environ, "MUJOCO_GL": "foo"})
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert "MUJOCO_GL" in err
    assert "allowed: egl" in err
    assert "Traceback" not in err


def test_the_way_of_a_motion_through_check_info_and_export(gambol, tmp_path: Path) -> None:
    assert gambol("solve", "easy.yaml", "--out", "m.npz").code == 0
    told = json.loads(gambol("info", "m.npz", "--json").out)
    assert told["method"] == "partwise"
    assert "easy" in gambol("info", "m.npz").out
    checked = json.loads(gambol("check", "m.npz", "--json").out)
    assert "penetration" in " ".join(checked)
    assert gambol("check", "m.npz").code == 0
    for extension in ("bvh", "glb", "usda", "csv", "html"):
        outcome = gambol("export", "m.npz", f"m.{extension}")
        assert outcome.code == 0, outcome.err
        assert (tmp_path / f"m.{extension}").stat().st_size > 1000
    assert gambol("import", "m.bvh", "back.npz").code == 0
    outcome = gambol("import", "m.bvh", "back.npz", "--character", "athlete")
    assert outcome.code == 0, outcome.err
    assert json.loads(gambol("info", "back.npz", "--json").out)["characters"].keys() == {"athlete"}


def test_benchmarks_print_tables_and_write_csv(gambol, tmp_path: Path) -> None:
    outcome = gambol("bench", "planning", "--trials", "2", "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["rows"][0]["ratio"] > 0
    assert (tmp_path / "results" / "planning.csv").exists()


MAIN = "from gambol.cli import main; main()"


def command(*arguments: str, code: str = MAIN, **options) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def test_view_serves_the_player_and_frees_the_port(gambol, tmp_path: Path) -> None:
    assert gambol("solve", "easy.yaml", "--out", "m.npz").code == 0
    process = command("view", "m.npz", "--no-browser", cwd=tmp_path)
    assert process.stderr is not None
    line = process.stderr.readline()
    address = line.split(" at ")[1].split()[0]
    assert "<html" in urllib.request.urlopen(address, timeout=20).read().decode().lower()
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0


def test_ctrl_c_keeps_the_motion_so_far(tmp_path: Path) -> None:
    slow = EASY.replace("sustain: 0.1", "sustain: 100").replace("limit: 2", "limit: 1000")
    (tmp_path / "slow.yaml").write_text(slow)
    process = command("solve", "slow.yaml", "--json", cwd=tmp_path, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    try:
        process.wait(8)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    assert json.loads(out)["status"] == "interrupted"
    assert "the run is being ended" in err
    assert (tmp_path / "slow.npz").exists()


INTERRUPTED_IMPORT = """
import os, signal, sys

class Finder:
    def find_spec(name, *_):
        if name == "{module}":
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt:
                raise ImportError("initialization failed")

sys.meta_path.insert(0, Finder)
"""


@pytest.mark.parametrize("module", ["mujoco", "gambol.cli.app", "gambol.partwise.method"])
def test_ctrl_c_while_modules_are_loaded_is_130_even_where_they_make_another_error_of_it(
    tmp_path: Path, module: str
) -> None:
    (tmp_path / "easy.yaml").write_text(EASY)
    process = command("solve", "easy.yaml", code=INTERRUPTED_IMPORT.format(module=module) + MAIN, cwd=tmp_path)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err.endswith("interrupted\n")
    assert "Traceback" not in err


INTERRUPTED_EXPORT = """
import atexit, os, signal
from gambol.cli import files

atexit.register(os.abort)  # as what a compiler leaves behind may crash
files.write = lambda *_: signal.raise_signal(signal.SIGINT)
"""


def test_ctrl_c_outside_a_run_is_130_and_says_so_whatever_still_runs(tmp_path: Path) -> None:
    process = command("export", "spacetime/backflip", "m.bvh", code=INTERRUPTED_EXPORT + MAIN, cwd=tmp_path)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "interrupted\n")


def test_an_interruption_is_told_while_the_main_thread_is_busy() -> None:
    told = queue.Queue()
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(told.get(timeout=20)))
    try:
        with interruption_told(told.put):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == ["interrupted, the run is being ended"]


def test_version(gambol) -> None:
    assert gambol("--version").out.strip()[0].isdigit()
