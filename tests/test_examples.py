"""What README, docs and examples show is run, with tiny settings; what is registered is named in the docs."""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gambol
from gambol import front
from gambol.characters import NAMES
from gambol.cli.app import app
from gambol.evaluate import BENCHMARKS
from gambol.goals import STYLES, Task, Weights, load_task, shipped_tasks
from gambol.goals.reuse import Repetition, Reuse
from gambol.goals.task import GOALS
from gambol.goals.windows import Objective, Window
from gambol.goals.yaml import parse_yaml
from gambol.motion.formats import FORMATS
from gambol.motion.metrics import METRICS
from gambol.motion.metrics.feats import FEATS
from gambol.scenes import KINDS, Terrain
from gambol.spacetime.objectives import TERMS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
TINY = ["rollouts=12", "horizon=0.06", "replan_every=10", "keyframes.0.limit=0.1"]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture
def solve_a_moment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Any]:
    """Solving as usual, but for a tenth of a second with few candidates; files go to a folder of their own."""
    whole = front.solve

    def brief(task: Any, *args: Any, **options: Any) -> Any:
        task = task if isinstance(task, Task) else load_task(task)
        return whole(load_task({"name": task.name, **task.in_file()}, TINY), *args, **options)

    monkeypatch.setattr(gambol, "solve", brief, raising=False)
    monkeypatch.chdir(tmp_path)
    return brief


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_the_examples_run(script: Path, solve_a_moment: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [str(script)])
    runpy.run_path(str(script), run_name="__main__")


def test_examples_are_short_and_listed() -> None:
    listed = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    for script in SCRIPTS:
        assert len(script.read_text(encoding="utf-8").splitlines()) < 40, script.name
        assert script.name in listed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_python_and_the_task_files_of_a_page_work(page: Path, solve_a_moment: Callable[..., Any]) -> None:
    solve_a_moment("armchair/sit-down").motion.save("sit.npz")  # what pages take for solved before
    names: dict[str, Any] = {"__name__": page.stem}
    for block in blocks(page, "python"):
        exec(compile(block, f"{page.name}: {block.strip().splitlines()[0]}", "exec"), names)
    for block in blocks(page, "yaml"):
        data = parse_yaml(block, page)
        if not set(data) & set(GOALS):  # a scene or a character alone
            data["track"] = {"motion": "sit.npz"}
        load_task(data).initial_qpos()


def overrides_in_tables() -> list[str]:
    text = (DOCS / "tasks.md").read_text(encoding="utf-8")
    return re.findall(r'^\| `--set "?(.+?)"?` \|', text, re.MULTILINE)


@pytest.mark.parametrize("override", overrides_in_tables())
def test_the_overrides_shown_are_valid(override: str) -> None:
    task = load_task("armchair/sit-down", [override])
    task.initial_qpos()
    front.method_for(task).settings_type()(**task.settings)


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("characters.md", NAMES),
        ("scenes.md", [*KINDS, *Terrain.model_fields["shape"].annotation.__args__]),  # type: ignore[union-attr]
        ("scenes.md", [field for kind in KINDS.values() for field in kind.model_fields]),
        ("motions.md", [extension for known in FORMATS for extension in known.extensions]),
        ("motions.md", METRICS),
        ("methods.md", front.METHODS),
        ("methods.md", [name for method in front.METHODS.values() for name in method.settings_type().model_fields]),
        ("methods.md", BENCHMARKS),
        ("tasks.md", list(shipped_tasks())),
        ("tasks.md", [*TERMS, *FEATS]),
        ("tasks.md", [*Objective.model_fields, *Window.model_fields, *Repetition.model_fields, *Reuse.model_fields]),
        ("tasks.md", [*STYLES, *Weights.model_fields, *(set(Task.model_fields) - {"file"})]),
        ("command-line.md", [command.name for command in app.registered_commands]),
        ("../README.md", [command.name for command in app.registered_commands]),
        ("../README.md", [extension for known in FORMATS for extension in known.extensions]),
    ],
)
def test_the_docs_name_everything_there_is(page: str, names: list[str]) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    missing = [name for name in names if not re.search(rf"(?<![\w-]){re.escape(str(name))}(?![\w-])", text)]
    assert not missing


def test_links_between_the_pages_lead_somewhere() -> None:
    for page in (*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md", *(DOCS / "api").glob("*.md")):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
