"""Conditions × seeds become outcomes: those on disk are taken from there, the rest is done wherever there is room."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from gambol.errors import InputError
from gambol.evaluate.benchmark import Request
from gambol.evaluate.condition import CPU, GPU, Condition
from gambol.evaluate.keeping import Shelf
from gambol.results import Progress, ProgressListener
from gambol.sim import check_place, executor

_EXECUTORS = {"local": "serial", "processes": "local"}
"""Rollouts of one trial use every core already: ``local`` trials run one after the other. Where there are many cores,
one trial on each is faster."""
_LARGEST_BATCH = 160
"""Trials; a GPU gains little from more."""
SHELVES = "kept"
"""Folder of the finished trials, in that of the benchmark."""


Alone = Callable[[Condition, int], dict[str, Any]]
Together = Callable[[Sequence[Condition], Sequence[int], ProgressListener], list[list[dict[str, Any]]]]


@dataclass(frozen=True)
class Experiment:
    """What is done with one seed of a condition. Its outcome is plain data, ``wall_seconds`` among it."""

    name: str
    alone: Alone
    together: Together | None = None
    """All seeds of like conditions as one batch on a GPU, for conditions with keyframes.

    The others, and what has no batch, run on the cores of this machine instead.
    """

    def engine(self, condition: Condition, on: str) -> str:
        """What simulates the trials of a condition at a place."""
        batched = on == GPU and self.together is not None and condition.loaded.keyframes is not None
        return GPU if batched else CPU


def wanted(conditions: Sequence[Condition], request: Request) -> list[Condition]:
    """The conditions whose rows were asked for, with the overrides that were asked for, which must fit all of them."""
    names = request.chosen(list(dict.fromkeys(condition.label for condition in conditions)))
    chosen = [
        replace(condition, overrides=(*condition.overrides, *request.overrides))
        for condition in conditions
        if condition.label in names
    ]
    misfits = {c.label: error for c in chosen if (error := _misfit(c))}
    if misfits:
        error = next(iter(misfits.values()))
        fitting = [name for name in names if name not in misfits]
        if not fitting or not request.overrides:
            raise error
        problem = f"does not fit {', '.join(misfits)} ({error.key or 'there'}: {error.problem})"
        raise InputError(problem, key="--set", hint=f"choose from the others with --rows: {', '.join(fitting)}")
    return chosen


def _misfit(condition: Condition) -> InputError | None:
    try:
        _ = condition.settings
    except InputError as error:
        return error
    return None


class _Missing(NamedTuple):
    """An outcome that is not known yet."""

    condition: Condition
    seed: int
    shelf: Shelf


def outcomes(conditions: Sequence[Condition], request: Request, experiment: Experiment) -> list[list[dict[str, Any]]]:
    """For each condition the outcomes of seeds 0, 1, 2 …; each is on disk as soon as it is known.

    Everything that can be wrong with a condition is said before the work begins.
    """
    shelves, seeds = _shelves(conditions, request, experiment), range(request.trials)
    if request.fresh:
        forget(conditions, request, experiment)
    # by shelf, because conditions may share one
    missing = {
        (shelf.folder, seed): _Missing(condition, seed, shelf)
        for condition, shelf in zip(conditions, shelves, strict=True)
        for seed in seeds
        if shelf.find(seed) is None
    }
    batched = [each for each in missing.values() if each.shelf.engine == GPU]
    single = [each for each in missing.values() if each.shelf.engine != GPU]
    share = len(batched) / max(len(missing), 1)
    if batched and experiment.together:
        _in_batches(batched, experiment.together, _partly(request.progress, 0.0, share))
    if single:
        on = "processes" if request.on == GPU else request.on
        _one_by_one(single, experiment.alone, on, _partly(request.progress, share, 1.0 - share))
    return [[outcome for seed in seeds if (outcome := shelf.find(seed)) is not None] for shelf in shelves]


def forget(conditions: Sequence[Condition], request: Request, experiment: Experiment) -> None:
    """Remove the kept outcomes of the seeds that are wanted.

    All of them before the first is done again: if that is interrupted, what is found later is new.
    """
    for shelf in _shelves(conditions, request, experiment):
        for seed in range(request.trials):
            shelf.forget(seed)


def _shelves(conditions: Sequence[Condition], request: Request, experiment: Experiment) -> list[Shelf]:
    check_bench_place(request.on)
    folder = request.folder / SHELVES
    return [Shelf(folder, each, experiment.name, experiment.engine(each, request.on)) for each in conditions]


def _partly(progress: ProgressListener, begin: float, share: float) -> ProgressListener:
    """A listener to a part of the whole."""

    def listen(moment: Progress, /) -> None:
        progress(replace(moment, fraction=begin + share * moment.fraction))

    return listen


def check_bench_place(on: str) -> None:
    """An error where ``on`` is no place for a benchmark."""
    if on.startswith("ray"):
        check_place(on)
    elif on not in (*_EXECUTORS, GPU):
        known = ", ".join((*_EXECUTORS, GPU, "ray", "ray://HOST:PORT"))
        raise InputError(f"cannot run a benchmark on {on!r}", key="--on", hint=f"allowed: {known}")


def _one_by_one(missing: Sequence[_Missing], alone: Alone, on: str, progress: ProgressListener) -> None:
    light = {each.shelf.folder: replace(each.condition) for each in missing}  # copies travel without their worlds
    jobs = [(alone, light[each.shelf.folder], each.seed) for each in missing]
    with executor(_EXECUTORS.get(on, on)) as workers:
        for done, (index, outcome) in enumerate(workers.as_completed(_job, jobs), start=1):
            each = missing[index]
            # its share of the machine's time, so that the times of a row add up to that of the row
            each.shelf.keep(each.seed, {**outcome, "wall_seconds": outcome["wall_seconds"] / workers.workers})
            progress(Progress(done / len(jobs), each.condition.label, {"trial": f"{done}/{len(jobs)}"}))


def _job(job: tuple[Alone, Condition, int]) -> dict[str, Any]:
    alone, condition, seed = job
    return alone(condition, seed)


def _in_batches(missing: Sequence[_Missing], together: Together, progress: ProgressListener) -> None:
    """The missing seeds of like conditions are one batch."""
    rows: dict[Path, list[_Missing]] = {}
    for each in missing:
        rows.setdefault(each.shelf.folder, []).append(each)
    batches = _batches(list(rows.values()))
    for place, batch in enumerate(batches):
        conditions, seeds = [row[0].condition for row in batch], [each.seed for each in batch[0]]
        label = conditions[0].label + (f" and {len(batch) - 1} more" if len(batch) > 1 else "")

        def listen(moment: Progress, /, place: int = place, label: str = label) -> None:
            progress(Progress((place + moment.fraction) / len(batches), f"{label}: {moment.what}", moment.figures))

        for row, ended in zip(batch, together(conditions, seeds, listen), strict=True):
            for each, outcome in zip(row, ended, strict=True):
                each.shelf.keep(each.seed, outcome)


def _batches(rows: Sequence[list[_Missing]]) -> list[list[list[_Missing]]]:
    """Rows that can share a batch, as many as it may hold; the rows of a batch miss the same seeds."""
    batches: list[list[list[_Missing]]] = []
    open_batches: dict[Hashable, list[list[_Missing]]] = {}
    for row in rows:
        kind = row[0].condition.kind, tuple(each.seed for each in row)
        batch = open_batches.get(kind)
        if batch is None or (len(batch) + 1) * len(row) > _LARGEST_BATCH:
            batch = open_batches[kind] = []
            batches.append(batch)
        batch.append(row)
    return batches
