"""What a plan costs beside the bare rollouts it consists of, measured in one run."""

from __future__ import annotations

import time

import numpy as np

from gambol.errors import InputError
from gambol.evaluate.benchmark import Findings, Request, Table
from gambol.front import check
from gambol.goals import load_task
from gambol.partwise.method import PARTWISE
from gambol.partwise.outlook import standing_heights
from gambol.partwise.planner import Partwise, Planner
from gambol.partwise.sensing import instrument
from gambol.partwise.terms import KeyframeTable, watched_frames
from gambol.results import Progress
from gambol.sim import Rollout, backend, pack_state

TASK = "armchair/stand-sit-stand"


def planning(request: Request) -> Findings:
    """Median seconds of whole plans and of bare rollouts of the same size, interleaved so that noise hits both."""
    if request.on != "local":
        raise InputError("times are taken on this machine alone", key="--on")
    request.chosen([TASK])
    task = load_task(TASK, request.overrides)
    settings = check(task, PARTWISE)[1]
    keyframes = task.keyframes
    if keyframes is None:
        raise InputError("this benchmark plans for contact keyframes", file=task.file)
    senses = instrument(task.world, watched_frames(keyframes), timestep=settings.planning_step)
    table = KeyframeTable.of(keyframes, senses)
    qpos, qvel = task.initial_qpos(), np.zeros(senses.model.nv)
    parts = Partwise.of(task.world, keyframes, table)
    planner = Planner(senses, table, parts, settings, standing_heights(task.world), seed=0)
    planner.reset()
    steps = round(settings.horizon / settings.planning_step)
    controls = np.zeros((settings.rollouts, steps, senses.model.nu))
    state, out = pack_state(senses.model, qpos, qvel), Rollout.empty(senses.model, settings.rollouts, steps)
    whole, bare = [], []
    with backend("cpu", senses.model) as rollouts:
        for trial in range(request.trials):
            request.progress(Progress(trial / request.trials, "planning"))
            began = time.perf_counter()
            planner.improve(qpos, qvel, 0, 0.01)
            middle = time.perf_counter()
            rollouts.rollout(state, controls, out=out)
            bare.append(time.perf_counter() - middle)
            whole.append(middle - began)
    planner.close()
    plan, roll = float(np.median(whole)), float(np.median(bare))
    row = {
        "rollouts": settings.rollouts,
        "steps": steps,
        "plan ms": round(1e3 * plan, 2),
        "bare rollouts ms": round(1e3 * roll, 2),
        "ratio": round(plan / roll, 3),
        "plans per second": round(1 / plan, 1),
    }
    return Findings({"planning": Table(f"A plan beside its bare rollouts ({TASK}, median of {request.trials})", [row])})
