"""Trials in a batch: the same planner on JAX and Warp arrays."""

from __future__ import annotations

import numpy as np
import pytest

from gambol.goals import load_task
from gambol.partwise.settings import Settings
from test_partwise import STAY

pytest.importorskip("jax", reason="JAX is not installed")
pytest.importorskip("mujoco_warp", reason="MuJoCo Warp is not installed")

from gambol.partwise.batch import TrialBatch


def test_trials_run_together_and_end_like_single_ones() -> None:
    """Three trials of an easy task succeed at the time their keyframe asks for; a hopeless one fails at its limit."""
    easy = {**STAY["keyframes"][0], "sustain": 0.03}
    hopeless = {**easy, "pairs": [{"body": "pelvis", "on": "floor", "at": [0, 0, 9]}], "limit": 0.05}
    outcomes = {}
    for name, keyframe in (("easy", easy), ("hopeless", hopeless)):
        batch = TrialBatch(
            load_task({**STAY, "keyframes": [keyframe]}), Settings(rollouts=12), [0, 1, 2], device="cpu", keep=1
        )
        outcomes[name] = batch.run(lambda moment: None)
        (motion,) = batch.motions()
        assert np.isfinite(motion.qpos).all()
    assert all(trial.succeeded and trial.seconds == pytest.approx(0.03, abs=0.006) for trial in outcomes["easy"])
    assert not any(trial.succeeded for trial in outcomes["hopeless"])
    assert all(trial.seconds == pytest.approx(0.055, abs=0.006) for trial in outcomes["hopeless"])
    assert len({trial.mean_cost for trial in outcomes["easy"]}) == 3, "each trial has its own random stream"
