"""The motions that come with gambol: they do what their tasks say, and physics would do the same."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import gambol
from gambol.goals import load_task, shipped_tasks
from gambol.goals.success import judged
from gambol.motion import Motion
from gambol.motion.formats import shipped_motions
from gambol.sim import Rollout, backend, pack_state
from gambol.spacetime.cost import weighed
from gambol.spacetime.method import Prepared
from gambol.spacetime.settings import Settings

_ROUNDING = 2e-3
"""How far one step from a state in single precision may end from the next, metres or radians."""
_LARGEST = 1_000_000
"""Bytes of a file."""


def test_motions_come_along() -> None:
    assert set(shipped_motions()) == {name for name in shipped_tasks() if load_task(name).windows}


@pytest.mark.parametrize("name", shipped_motions())
def test_a_shipped_motion_does_what_its_task_says(name: str) -> None:
    motion, task = gambol.load_motion(name), load_task(name)
    assert motion.source.task == name
    assert motion.source.seed is not None
    assert motion.source.method == task.method
    assert task.success
    _, missed = judged(task.success, motion)
    assert not missed


def stepped(motion: Motion, model: mujoco.MjModel) -> Rollout:
    """One step from each frame but the last, with its controls."""
    assert motion.qvel is not None
    assert motion.ctrl is not None
    states = np.stack([pack_state(model, *row) for row in zip(motion.qpos[:-1], motion.qvel[:-1], strict=True)])
    with backend("cpu", model) as simulation:
        return simulation.rollout(states, motion.ctrl[:-1, None])


@pytest.mark.parametrize("name", shipped_motions())
def test_a_shipped_motion_is_simulated(name: str) -> None:
    motion = gambol.load_motion(name)
    model = motion.scene.model
    assert float(model.opt.timestep) == pytest.approx(motion.dt)
    after = stepped(motion, model).states[:, 0, 1 : 1 + model.nq]
    off = np.abs(after - motion.qpos[1:]).max(axis=1)
    assert np.quantile(off, 0.99) < _ROUNDING


@pytest.mark.parametrize("name", [name for name in shipped_motions() if load_task(name).windows])
def test_a_shipped_motion_was_made_for_its_task_as_it_is_now(name: str) -> None:
    """What each objective costs is what was written down when the motion was found."""
    motion, prepared = gambol.load_motion(name), Prepared.of(load_task(name), Settings())
    sensors = stepped(motion, prepared.observer.model).sensors[None, :, 0]
    found = weighed(prepared.observer, prepared.references, prepared.objectives, sensors)
    rows = motion.source.figures["by_window"]
    assert [row["window"] for row in rows] == [window.name for window in prepared.windows]
    for row, objectives, costs in zip(rows, prepared.objectives, found, strict=True):
        told = [f"{place} {objective.name}" for place, objective in enumerate(objectives)]
        assert list(row["terms"]) == told
        np.testing.assert_allclose(costs[:, 0], list(row["terms"].values()), rtol=0.02, atol=2e-3)


@pytest.mark.parametrize("name", shipped_motions())
def test_shipped_motions_are_small(name: str) -> None:
    assert shipped_motions()[name].stat().st_size < _LARGEST
