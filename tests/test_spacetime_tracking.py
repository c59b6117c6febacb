"""Motions performed with feedback: what survives a world that is not quite the one they were made in."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import gambol
from gambol.goals import load_task
from gambol.motion import Motion
from gambol.spacetime.tracking import perform
from samples import CLIP, STAND

pytestmark = pytest.mark.usefixtures("own_cache")


def test_feedback_keeps_a_motion_that_would_be_lost() -> None:
    """On a slope an open-loop stand falls; with feedback it stays."""
    task = load_task({**CLIP, "windows": [{**STAND, "name": "stand", "duration": 1.0}]})
    model, still = task.world.model, np.zeros((241, task.world.model.nu))
    start = task.initial_qpos()
    standing = Motion(task.world, 0.005, np.tile(start, (241, 1)), np.zeros((241, model.nv)), still)
    slipping = copy.copy(model)
    slipping.opt.gravity[0] = 0.8  # as on a slope of 5 degrees
    survived = [perform(standing, slipping, feedback=feedback).survived for feedback in (False, True)]
    assert survived[0] < 1.2
    assert survived[1] == pytest.approx(1.2)


def test_tracking_tells_what_it_survives() -> None:
    plain, result = gambol.solve(load_task(CLIP)), gambol.solve(load_task(CLIP, ["feedback=true"]))
    told = result.report.figures["survives"]
    assert told["of s"] == pytest.approx(0.3)
    assert 0 < told["open loop s"] <= 0.3
    assert 0 < told["tracked s"] <= 0.3
    assert len(result.motion) == 61
    assert np.abs(result.motion.ctrl - plain.motion.ctrl).max() > 1e-6, "feedback corrects what the servos aim at"


def test_a_motion_that_becomes_unstable_is_lost_and_so_is_one_beside_a_crate_that_stays() -> None:
    task = load_task({**CLIP, "scene": {"crate": {"kind": "crate", "at": [3, 0]}}})
    model, frames = task.world.model, 61
    qpos, ctrl = np.tile(task.initial_qpos(), (frames, 1)), np.zeros((frames, task.world.model.nu))
    standing = Motion(task.world, 0.005, qpos, np.zeros((frames, model.nv)), ctrl)
    root = task.world.spans[task.world.main_character].qpos.start
    assert root > 0
    assert perform(standing, model, feedback=True).survived == pytest.approx(0.3)
    elsewhere = qpos.copy()
    elsewhere[10:, root] += 1.0
    lost = Motion(task.world, 0.005, elsewhere, np.zeros((frames, model.nv)), ctrl)
    assert perform(lost, model, feedback=False).survived == pytest.approx(0.05)
    wild = copy.copy(model)
    wild.actuator_gainprm[:, 0] *= 1e8
    wild.actuator_forcelimited[:] = 0
    jolted = Motion(task.world, 0.005, qpos, np.zeros((frames, model.nv)), ctrl + 1.0)
    assert perform(jolted, wild, feedback=False).survived < 0.3
