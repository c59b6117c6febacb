"""``gambol list``."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from gambol.characters import NAMES, Character, build
from gambol.cli.output import out, print_json
from gambol.front import METHODS
from gambol.goals import load_task, shipped_tasks
from gambol.motion.formats import read, shipped_motions
from gambol.scenes import KINDS


def list_everything(
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """List methods, tasks, motions, characters, scenes and policies."""
    everything = _everything()
    if json:
        print_json(everything)
        return
    for heading, entries in everything.items():
        out.print(f"[bold]{heading}[/]")
        for entry in entries:
            summary = entry.get("summary", "")
            out.print(f"  {escape(entry['name']):<28} [dim]{escape(summary)}[/]")
        if not entries:
            out.print("  [dim]none yet[/]")


def _everything() -> dict[str, list[dict[str, Any]]]:
    methods = [
        {
            "name": m.name,
            "summary": m.summary,
            "goals": list(m.goals),
            "online": m.online,
            "trained": m.trained,
            "devices": list(m.devices),
        }
        for m in METHODS.values()
    ]
    tasks = []
    for name in shipped_tasks():
        task = load_task(name)
        tasks.append({"name": name, "summary": task.summary, "goal": task.goal_kind, "method": task.method})
    scenes = [{"name": kind, "summary": _first_line(thing.__doc__).replace("``", "")} for kind, thing in KINDS.items()]
    policies = Path(str(resources.files("gambol"))) / "library" / "policies"
    return {
        "methods": methods,
        "tasks": tasks,
        "motions": [_motion(name) for name in shipped_motions()],
        "characters": [{"name": name, "summary": _body(build(name))} for name in NAMES],
        "scenes": scenes,
        "policies": [{"name": path.stem} for path in sorted(policies.glob("*.safetensors"))],
    }


def _motion(name: str) -> dict[str, Any]:
    motion = read(name)
    source = motion.source
    summary = f"{motion.duration:.2f} s, by {source.method}, seed {source.seed}"
    return {"name": name, "summary": summary, "seconds": motion.duration, "task": source.task}


def _body(character: Character) -> str:
    return f"{character.mass:.1f} kg, {character.model.nv} degrees of freedom, {character.model.nu} actuators"


def _first_line(text: str | None) -> str:
    return (text or "").strip().splitlines()[0] if text else ""
