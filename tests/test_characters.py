"""Bodies: their published figures, their symmetry, their way through files."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import mujoco
import numpy as np
import pytest

from gambol.characters import NAMES, Character, build, describe, from_mjcf
from gambol.characters.blueprint import mirror_name
from gambol.errors import InputError
from samples import with_legs

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


BALL = '<joint name="{side}_hip" type="ball"/>'
PAIR = '<{kind} name="{one}" joint="right_hip" {options}/><{kind} name="{two}" joint="left_hip" {options}/>'
MIRRORED = {
    "unnamed actuators": with_legs(
        '<joint name="{side}_hip" axis="0 1 0"/>',
        after='<actuator><motor joint="left_hip"/><motor joint="right_hip"/></actuator>',
    ),
    "misnamed actuators of two kinds": with_legs(
        '<joint name="{side}_hip" axis="1 0 0"/>',
        after="<actuator>"
        + PAIR.format(kind="motor", one="left_a", two="b", options='gear="3"')
        + PAIR.format(kind="position", one="left_b", two="right_b", options='kp="5"')
        + PAIR.format(kind="motor", one="x", two="y", options='gear="-7"')
        + "</actuator>",
    ),
    "gears of opposite signs": with_legs(
        '<joint name="{side}_hip" axis="0 1 0"/>',
        after='<actuator><position joint="left_hip" kp="5" gear="-2"/><position joint="right_hip" kp="5" gear="2"/>'
        "</actuator>",
    ),
    "hinges and slides with a reference": with_legs(
        '<joint name="{side}_hip" axis="1 0 0" ref="20"/><joint name="{side}_reach" type="slide" axis="0 1 0" ref=".1"/>',
        after='<actuator><position joint="left_hip" kp="9"/><position joint="right_hip" kp="9"/>'
        '<position joint="left_reach" kp="9"/><position joint="right_reach" kp="9"/></actuator>',
    ),
    "references that differ": with_legs(
        right='<joint name="right_hip" axis="0 1 0" ref="20"/>',
        left='<joint name="left_hip" axis="0 -1 0" ref="-50"/>',
        after='<actuator><position joint="left_hip" kp="9"/><position joint="right_hip" kp="9"/></actuator>',
    ),
    "balls": with_legs(
        BALL,
        after="<actuator>"
        + "".join(PAIR.format(kind="motor", one=f"r{k}", two=f"l{k}", options=f'gear="{g}"') for k, g in enumerate(("2 0 0", "0 2 0", "0 0 2")))
        + "</actuator>",
    ),
    "balls turned as mirror images": with_legs(BALL, turns=((1, 0, 0, 1), (1, 0, 0, -1))),
    "balls turned alike": with_legs(BALL, turns=((1, 1, 1, 1), (1, 1, 1, 1))),
    "balls whose axes are exchanged": with_legs(
        BALL,
        turns=((1, 0, 0, 0), (1, 1, 1, 1)),
        after='<actuator><motor joint="right_hip" gear="1 0 0"/><motor joint="left_hip" gear="0 0 1"/></actuator>',
    ),
    "muscles": with_legs(
        '<joint name="{side}_hip" axis="1 0 0" range="-60 60"/>',
        after="<actuator>"
        + "".join(f'<muscle joint="{s}_hip" gear="{g}" force="5" lengthrange="-2 2"/>' for s in ("right", "left") for g in (0.1, -0.1))
        + "</actuator>",
    ),
    "tendons": with_legs(
        '<joint name="{side}_hip" axis="1 0 0" ref="20"/><joint name="{side}_swing" axis="0 1 0"/>',
        after='<tendon><fixed name="one"><joint joint="right_hip" coef="1"/><joint joint="right_swing" coef="2"/></fixed>'
        '<fixed name="two"><joint joint="left_hip" coef="1"/><joint joint="left_swing" coef="-2"/></fixed></tendon>'
        '<actuator><position tendon="one" kp="4"/><position tendon="two" kp="4"/></actuator>',
    ),
    "turned root": with_legs(
        '<joint name="{side}_hip" axis="1 0 0"/>',
        after='<actuator><motor joint="left_hip"/><motor joint="right_hip"/></actuator>',
    ).replace('pos="0 0 1"', 'pos="2 1 1" euler="0 0 70"'),
    "bodies without sides": re.sub(
        r'name="(right|left)_leg"', "", with_legs('<joint name="{side}_hip" axis="0 1 0"/>')
    ),
}  # fmt: skip


def _from_text(folder: Path, text: str) -> Character:
    (folder / "robot.xml").write_text(text)
    return from_mjcf(folder / "robot.xml")


@pytest.mark.parametrize("text", MIRRORED.values(), ids=MIRRORED.keys())
def test_the_mirror_image_moves_as_the_image_of_what_moves(tmp_path: Path, text: str) -> None:
    """Bodies lie as images of each other, and still do after both were simulated with images of the same controls."""
    robot = _from_text(tmp_path, text)
    model, symmetry, rng = robot.model, robot.symmetry, np.random.default_rng(0)
    qpos = model.qpos0.copy()
    mujoco.mj_integratePos(model, qpos, rng.normal(size=model.nv), 0.3)
    qvel, ctrl = rng.normal(size=model.nv), rng.uniform(0.1, 0.9, model.nu)
    image = (symmetry.qpos(qpos), symmetry.qvel(qvel), symmetry.ctrl(ctrl))
    ends = []
    for start in ((qpos, qvel, ctrl), image):
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:], data.ctrl[:] = start
        mujoco.mj_step(model, data, 50)
        mujoco.mj_forward(model, data)
        ends.append(data)
    np.testing.assert_allclose(ends[1].qpos, symmetry.qpos(ends[0].qpos), atol=1e-9)
    np.testing.assert_allclose(ends[1].qvel, symmetry.qvel(ends[0].qvel), atol=1e-8)
    for field in ("xpos", "xipos"):
        original = getattr(ends[0], field)[symmetry.body_index]
        np.testing.assert_allclose(getattr(ends[1], field), original * [1, -1, 1], atol=1e-9)
    for mirrored, vector in ((symmetry.qpos, qpos), (symmetry.qvel, qvel), (symmetry.ctrl, ctrl)):
        np.testing.assert_allclose(mirrored(mirrored(vector)), vector, atol=1e-12)


LOPSIDED = {
    "one motor": (
        with_legs('<joint name="{side}_hip"/>', after='<actuator><motor name="a" joint="left_hip"/></actuator>'),
        "actuator 'a' has no mirror image",
    ),
    "two kinds": (
        with_legs(
            '<joint name="{side}_hip"/>',
            after='<actuator><motor name="a" joint="left_hip"/><position joint="right_hip"/></actuator>',
        ),
        "actuator 'a' has no mirror image",
    ),
    "oblique balls": (with_legs(BALL, turns=((5, 1, 0, 1), (5, 1, 0, 1))), "not mirror images"),
    "shifted balls": (
        with_legs(right='<joint name="right_hip" type="ball" pos=".1 0 0"/>', left='<joint name="left_hip" type="ball"/>'),
        "not mirror images",
    ),
    "another order": (
        with_legs(
            right='<joint name="right_x" axis="1 0 0"/><joint name="right_y" axis="0 1 0"/>',
            left='<joint name="left_y" axis="0 1 0"/><joint name="left_x" axis="1 0 0"/>',
        ),
        "not mirror images",
    ),
    "other kinds": (
        with_legs(right='<joint name="right_hip"/>', left='<joint name="left_hip" type="slide"/>'),
        "different kinds",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "said"), LOPSIDED.values(), ids=LOPSIDED.keys())
def test_bodies_without_symmetry_are_not_mirrored(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        _ = _from_text(tmp_path, text).symmetry
