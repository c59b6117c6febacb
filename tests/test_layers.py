"""Imports point one way, and importing gambol is light."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import gambol

ROOT = Path(gambol.__file__).parent
ORDER = (
    ("errors", "files", "arrays", "rotations", "sampling", "splines", "validation", "version", "words"),
    ("characters",),
    ("scenes",),
    ("motion",),
    ("goals",),
    ("sim",),
    ("results",),
    ("partwise", "spacetime", "cio", "masked", "srb", "learn"),
    ("front",),
    ("evaluate",),
    ("studio", "cli"),
    ("__main__",),
)
LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}


def imported_rooms(path: Path) -> set[str]:
    """Rooms a module imports when it is loaded or called, leaving out what only the type checker sees."""
    rooms = set()
    tree = ast.parse(path.read_text())
    skipped = {
        id(node)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and "TYPE_CHECKING" in ast.dump(branch.test)
        for node in ast.walk(branch)
    }
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "gambol":
                names = [f"gambol.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        rooms |= {name.split(".")[1] for name in names if name.startswith("gambol.")}
    return rooms


def test_imports_point_one_way() -> None:
    wrong = []
    for path in ROOT.rglob("*.py"):
        room = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        assert room in LEVEL, f"{room} has no place in the order of rooms"
        wrong += [
            f"{path.relative_to(ROOT)} imports {other}" for other in imported_rooms(path) if LEVEL[other] > LEVEL[room]
        ]
    assert not wrong


def test_methods_do_not_import_each_other() -> None:
    methods = {"partwise", "spacetime", "cio", "masked", "srb"}
    for path in ROOT.rglob("*.py"):
        room = path.relative_to(ROOT).parts[0]
        if room in methods:
            assert not imported_rooms(path) & (methods - {room}), path


def test_importing_gambol_loads_nothing_heavy() -> None:
    code = "import sys, gambol; print(' '.join(m for m in sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"jax", "viser", "mujoco", "numpy", "pydantic", "typer"} & set(loaded)


def test_everything_promised_is_there() -> None:
    for name in gambol.__all__:
        assert getattr(gambol, name) is not None
