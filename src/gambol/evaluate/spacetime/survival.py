"""How long the shipped motions survive a body that is a little heavier, open loop and with feedback."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

from gambol.evaluate.benchmark import Findings, Request, Table
from gambol.evaluate.charts import Bars, Chart
from gambol.evaluate.condition import Condition
from gambol.evaluate.running import Experiment, outcomes, wanted
from gambol.evaluate.trial import mean_of
from gambol.goals import load_task
from gambol.motion.formats import read, shipped_motions
from gambol.spacetime.method import HEAVIER
from gambol.spacetime.tracking import OPEN_LOOP, TRACKED, WHOLE, survival


def survived(condition: Condition, seed: int) -> dict[str, Any]:
    """One performance without and one with feedback, whose noise the seed draws."""
    began = time.perf_counter()
    found = survival(read(condition.task), HEAVIER, seed, condition.settings.threads)
    return {**found, "wall_seconds": time.perf_counter() - began}


def conditions() -> list[Condition]:
    """Every shipped motion that windows made."""
    return [Condition(name, name) for name in shipped_motions() if load_task(name).windows]


def survivals(request: Request) -> Findings:
    """A row for each motion, means over seeds."""
    chosen = wanted(conditions(), request)
    found = outcomes(chosen, request, Experiment(f"survival of {_shipped()}", survived))
    rows = [{"motion": condition.task, **row_of(ended)} for condition, ended in zip(chosen, found, strict=True)]
    names = [row["motion"] for row in rows]
    bars = {key: [row[key] for row in rows] for key in (OPEN_LOOP, TRACKED)}
    title = f"Seconds that a body {100 * HEAVIER:g} % heavier stays with the motion"
    return Findings(
        {"spacetime-survival": Table(title, rows)}, {"spacetime-survival": Chart([Bars("seconds", names, bars)], title)}
    )


def row_of(ended: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Columns of a table."""
    whole = sum(outcome[TRACKED] >= outcome[WHOLE] for outcome in ended)
    return {
        "trials": len(ended),
        **{key: mean_of(ended, key) for key in (WHOLE, OPEN_LOOP, TRACKED)},
        "tracked to the end %": round(100 * whole / len(ended), 1),
        "wall s": round(sum(outcome["wall_seconds"] for outcome in ended), 1),
    }


def _shipped() -> str:
    """The same as long as the motions are."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in shipped_motions().values())).hexdigest()[:16]
