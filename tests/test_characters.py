"""Bodies: their published figures, their symmetry, their way through files."""

from __future__ import annotations

import pickle

import mujoco
import numpy as np
import pytest

from gambol.characters import NAMES, build, describe
from gambol.characters.blueprint import mirror_name
from gambol.errors import InputError

MASSES = {"humanoid": 40.84, "big-arms": 52.65, "big-legs": 47.31, "big-belly": 64.95}


@pytest.mark.parametrize(("name", "kilograms"), MASSES.items())
def test_humanoids_have_the_published_masses(name: str, kilograms: float) -> None:
    character = build(name)
    assert character.mass == pytest.approx(kilograms, abs=0.1)
    assert (character.model.nv, character.model.nu) == (27, 21)


def test_variants_differ_only_in_the_parts_they_thicken() -> None:
    plain, arms = build("humanoid"), build("big-arms")
    heavier = {b for b in plain.bodies if arms.model.body(b).mass[0] > plain.model.body(b).mass[0] + 1e-9}
    assert heavier == {b for side in ("right", "left") for b in plain.parts[f"{side}_arm"]}


def test_athlete_has_the_papers_degrees_of_freedom() -> None:
    athlete = build("athlete")
    assert (athlete.model.nv, athlete.model.nu) == (41, 35)
    free = {frozenset((j, mirror_name(j))) for j in athlete.joints}
    assert len(free) == 22  # 220 variables over two windows of five knots
    data = mujoco.MjData(athlete.model)
    mujoco.mj_forward(athlete.model, data)
    assert data.subtree_com[0, 2] == pytest.approx(1.09, abs=0.03)
    limits = athlete.model.actuator_forcerange
    assert np.all(limits == [-200.0, 200.0])
    assert np.all(build({"kind": "athlete", "torque": 400}).model.actuator_forcerange == [-400.0, 400.0])


@pytest.mark.parametrize("name", NAMES)
def test_every_character_is_whole(name: str) -> None:
    character = build(name)
    assert character.name == name
    covered = [body for bodies in character.parts.values() for body in bodies]
    assert sorted(covered) == sorted(character.bodies), "each body belongs to exactly one part"
    assert {"standing"} <= set(character.poses) or character.pose_qpos("zero") is not None
    assert character.patches
    lower, upper = character.model.jnt_range.T
    for pose in character.poses:
        for joint, angle in character.poses[pose].joints.items():
            index = character.model.joint(joint).id
            assert lower[index] - 1e-6 <= angle <= upper[index] + 1e-6, (pose, joint)


@pytest.mark.parametrize("name", NAMES)
def test_mirroring_a_state_mirrors_every_body(name: str) -> None:
    """The image of the state, simulated kinematically, is the image of the bodies."""
    character = build(name)
    model, symmetry = character.model, character.symmetry
    rng = np.random.default_rng(0)
    qpos = character.pose_qpos("zero")
    qpos[7:] += rng.uniform(-0.5, 0.5, model.nq - 7)
    qpos[:3] = rng.normal(size=3)
    qpos[3:7] = rng.normal(size=4)
    qpos[3:7] /= np.linalg.norm(qpos[3:7])
    positions = []
    for state in (qpos, symmetry.qpos(qpos)):
        data = mujoco.MjData(model)
        data.qpos[:] = state
        mujoco.mj_kinematics(model, data)
        positions.append(data.xpos.copy())
    original, image = positions
    np.testing.assert_allclose(image, original[symmetry.body_index] * [1, -1, 1], atol=2e-3)
    np.testing.assert_allclose(symmetry.qpos(symmetry.qpos(qpos)), qpos)


@pytest.mark.parametrize("name", NAMES)
def test_description_rebuilds_the_same_body(name: str) -> None:
    character = build(name)
    again = build(describe(character), name=name)
    assert again.xml == character.xml
    assert dict(again.parts) == dict(character.parts)
    travelled = pickle.loads(pickle.dumps(character))
    assert travelled.xml == character.xml


def test_errors_list_what_exists() -> None:
    with pytest.raises(InputError, match="did you mean 'humanoid'"):
        build("humanoyd")
    with pytest.raises(InputError, match="strength"):
        build({"kind": "athlete", "strength": 3})
    with pytest.raises(InputError, match="above 0"):
        build({"kind": "athlete", "mass": -3})
    with pytest.raises(InputError, match="no pose"):
        build("humanoid").pose_qpos("flying")


@pytest.mark.parametrize(
    ("name", "image"),
    [
        ("right_foot", "left_foot"),
        ("LeftUpLeg", "RightUpLeg"),
        ("LHipJoint", "RHipJoint"),
        ("hand.L", "hand.R"),
        ("l_arm", "r_arm"),
        ("arm_r", "arm_l"),
        ("Bip01 L Thigh", "Bip01 R Thigh"),
        ("lThigh", "rThigh"),
        ("leg", "leg"),
        ("Root", "Root"),
        ("pelvis", "pelvis"),
        ("Neck", "Neck"),
    ],
)
def test_mirror_names(name: str, image: str) -> None:
    assert mirror_name(name) == image
    assert mirror_name(image) == name
