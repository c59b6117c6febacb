from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from gambol.characters import build
from gambol.errors import InputError
from gambol.motion import Motion
from gambol.motion.contacts import ContactRecorder, Contacts, detect, survey
from gambol.scenes import Scene, parse_objects, place


def _balls(gaps: list[float]) -> Motion:
    """A ball held at the given distances above the floor, the humanoid far away in the air."""
    objects, terrain = parse_objects({"ball": {"radius": 0.1}})
    scene = Scene({"humanoid": build("humanoid")}, objects, terrain)
    span = scene.spans["humanoid"].qpos
    ball = scene.model.joint("ball").qposadr[0]
    qpos = np.tile(scene.initial_qpos(), (len(gaps), 1))
    qpos[:, span.start + 2] = 50.0
    qpos[:, ball + 2] = 0.1 + np.array(gaps)
    return Motion(scene, 0.1, qpos)


def test_what_is_nearer_than_the_margin_counts() -> None:
    gaps = [0.05, 0.011, 0.009, 0.0, -0.02]
    found = detect(_balls(gaps), margin=0.01)
    assert found.frame.tolist() == [2, 3, 4]
    np.testing.assert_allclose(found.depth, [-0.009, 0.0, 0.02], atol=1e-9)
    assert not found.has_forces
    model = _balls(gaps).scene.model
    assert all({model.geom(g).name for g in pair} == {"floor", "ball/ball"} for pair in found.geoms)


def test_normals_point_from_the_second_solid_to_the_first() -> None:
    motion = _balls([0.0])
    found, surfaces = survey(motion, margin=0.01)
    up = 1.0 if motion.scene.model.geom(int(found.geoms[0, 0])).name == "ball/ball" else -1.0
    np.testing.assert_allclose(surfaces.normal, [[0, 0, up]], atol=1e-12)
    np.testing.assert_allclose(surfaces.friction, [1.0])


def test_detecting_leaves_the_scene_alone() -> None:
    motion = _balls([0.0])
    before = motion.scene.model.geom_margin.copy()
    detect(motion, margin=0.3)
    np.testing.assert_array_equal(motion.scene.model.geom_margin, before)


@pytest.mark.parametrize("margin", [-0.1, np.nan, np.inf])
def test_a_senseless_margin_is_refused(margin: float) -> None:
    with pytest.raises(InputError, match="margin"):
        detect(_balls([0.0]), margin=margin)


def test_recorded_forces_carry_the_weight() -> None:
    scene = Scene.alone(build("wide-biped"))
    model, data = scene.model, mujoco.MjData(scene.model)
    data.qpos[:] = place(scene)
    driven = model.jnt_qposadr[model.actuator_trnid[:, 0]]
    data.ctrl[:] = data.qpos[driven]
    recorder = ContactRecorder()
    for t in range(300):
        mujoco.mj_step(model, data)
        if t >= 200:
            recorder.add(t - 200, model, data, forces=True)
    contacts = recorder.collected()
    floor = model.geom("floor").id
    on_body = np.where(contacts.geoms[:, :1] == floor, -contacts.force, contacts.force)
    total = on_body.sum(axis=0) / 100
    assert contacts.has_forces
    assert total[2] == pytest.approx(scene.characters["wide-biped"].mass * 9.81, rel=0.05)
    assert np.abs(total[:2]).max() < 0.1 * total[2]


def test_rows_go_with_their_frames() -> None:
    depth = np.arange(4.0)
    rows = Contacts(np.array([0, 0, 2, 5]), np.zeros((4, 2), int), np.zeros((4, 3)), depth, np.zeros((4, 3)))
    assert rows.at_frames(np.array([2, 3, 5])).frame.tolist() == [0, 2]
    again = rows.at_frames(np.array([5, 0, 0]))
    assert (again.frame.tolist(), again.depth.tolist()) == ([0, 1, 1, 2, 2], [3, 0, 1, 0, 1])
    assert len(rows.at_frames(np.array([], int))) == 0


def test_columns_must_fit_together() -> None:
    with pytest.raises(InputError, match=r"contacts\.force"):
        Contacts(np.array([0]), np.zeros((1, 2), int), np.zeros((1, 3)), np.zeros(1), np.zeros((2, 3)))
    with pytest.raises(InputError, match="ascend"):
        Contacts(np.array([1, 0]), np.zeros((2, 2), int), np.zeros((2, 3)), np.zeros(2), np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("column", "wrong", "told"),
    [
        ("frame", [-1, 0], "below zero"),
        ("frame", [0.0, 1.0], "whole numbers"),
        ("geoms", [[0, 1], [0, -1]], "below zero"),
        ("geoms", [[0, 1], [0, 0.5]], "whole numbers"),
        ("position", [[0, 0, 0], [0, np.nan, 0]], "finite"),
        ("depth", [0, np.inf], "finite"),
        ("depth", ["a", "b"], "numbers"),
        ("force", [[0, 0, 0], [0, -np.inf, 0]], "finite"),
    ],
)
def test_senseless_rows_are_refused_by_their_column(column: str, wrong: list, told: str) -> None:
    good = {
        "frame": [0, 1],
        "geoms": [[0, 1]] * 2,
        "position": [[0, 0, 0]] * 2,
        "depth": [0, 0],
        "force": [[0] * 3] * 2,
    }
    assert Contacts(**good).position.dtype == float  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match=rf"contacts\.{column}: .*{told}"):
        Contacts(**{**good, column: np.array(wrong)})


@pytest.mark.parametrize(("column", "value"), [("frame", 2), ("geoms", 10_000)])
def test_a_motion_refuses_contacts_of_other_frames_and_solids(column: str, value: int) -> None:
    motion = _balls([0.0, 0.0])
    found = detect(motion)
    changed = np.array(getattr(found, column))
    changed[-1] = value
    with pytest.raises(InputError, match=rf"contacts\.{column}"):
        replace(motion, contacts=replace(found, **{column: changed}))


def test_nothing_recorded_is_no_contacts() -> None:
    assert len(ContactRecorder().collected()) == 0
    assert len(detect(_balls([1.0, 2.0]))) == 0
