"""Trials in a batch: the same planner on JAX and Warp arrays."""

from __future__ import annotations

import numpy as np
import pytest

from gambol.goals import load_task
from gambol.partwise.outlook import Outlook
from gambol.partwise.settings import Settings
from gambol.sim import pack_state
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
            [load_task({**STAY, "keyframes": [keyframe]})], Settings(rollouts=12), [0, 1, 2], device="cpu", keep=1
        )
        outcomes[name] = batch.run(lambda moment: None)
        (motion,) = batch.motions()
        assert np.isfinite(motion.qpos).all()
    assert all(trial.succeeded and trial.seconds == pytest.approx(0.03, abs=0.006) for trial in outcomes["easy"])
    assert not any(trial.succeeded for trial in outcomes["hopeless"])
    assert all(trial.seconds == pytest.approx(0.055, abs=0.006) for trial in outcomes["hopeless"])
    assert len({trial.mean_cost for trial in outcomes["easy"]}) == 3, "each trial has its own random stream"


def test_the_mean_cost_is_that_of_what_was_done() -> None:
    """A batch says the same about a motion as the eyes of a single trial do when they see it again."""
    task = load_task({**STAY, "keyframes": [{**STAY["keyframes"][0], "sustain": 0.1}]})
    settings = Settings(rollouts=12, horizon=0.1, noise=0.5)
    batch = TrialBatch([task], settings, [0], device="cpu", keep=1)
    (trial,) = batch.run(lambda moment: None)
    (motion,) = batch.motions()
    assert motion.qvel is not None
    assert motion.ctrl is not None
    outlook = Outlook(task.world, task.keyframes or (), settings, 0, partwise=True)
    done = [
        outlook.cost(pack_state(outlook.model, qpos, qvel), ctrl, 0)
        for qpos, qvel, ctrl in zip(motion.qpos[:-1], motion.qvel[1:], motion.ctrl[:-1], strict=True)
    ]
    outlook.planner.close()
    assert trial.mean_cost == pytest.approx(np.mean(done), rel=0.05)
    assert np.std(done) > 0.1 * np.mean(done), "costs that never change would prove little"


def test_variants_share_a_batch() -> None:
    """One task that holds and one that cannot: each trial is judged by its own keyframes, in its own world."""
    keyframe = {**STAY["keyframes"][0], "sustain": 0.02, "limit": 0.03}
    far = {**keyframe, "pairs": [{**keyframe["pairs"][0], "at": [0, 0, 9]}, *keyframe["pairs"][1:]]}
    tasks = [
        load_task({**STAY, "keyframes": [far]}),
        load_task({**STAY, "character": "big-belly", "keyframes": [keyframe]}),
    ]
    batch = TrialBatch(tasks, Settings(rollouts=12), [0, 1], device="cpu", keep=4)
    assert [trial.succeeded for trial in batch.run(lambda moment: None)] == [False, False, True, True]
    masses = [motion.scene.model.body_mass.sum() for motion in batch.motions()]
    assert masses[0] == masses[1] < masses[2] == masses[3]


def test_trials_that_are_over_leave_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left goes on as before: outcomes and motions are in their places."""
    monkeypatch.setattr("gambol.partwise.batch._SMALL_BATCH", 1)
    keyframe = {**STAY["keyframes"][0], "sustain": 0.15, "limit": 0.2}
    far = {**keyframe, "pairs": [{**keyframe["pairs"][0], "at": [0, 0, 9]}], "sustain": 0.02, "limit": 0.03}
    tasks = [load_task({**STAY, "keyframes": [each]}) for each in (far, keyframe)]
    settings = Settings(rollouts=10, horizon=0.1, replan_every=1)
    batch = TrialBatch(tasks, settings, [0, 1], device="cpu", keep=4)
    ended = batch.run(lambda moment: None)
    assert len(batch._present) == 2, "half of them should have left"
    assert [trial.succeeded for trial in ended] == [False, False, True, True]
    lengths = [trial.seconds for trial in ended]
    assert lengths == pytest.approx([0.035, 0.035, 0.15, 0.15], abs=0.006)
    assert [motion.duration for motion in batch.motions()] == pytest.approx(lengths, abs=1e-6)
