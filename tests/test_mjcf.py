"""Bodies from MJCF: read with care, named, guessed at, told about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest

from gambol.characters import NAMES, Character, Patch, Point, Pose, build, describe
from gambol.characters.mjcf import from_mjcf
from gambol.errors import InputError
from gambol.goals import load_task
from gambol.motion import Motion
from gambol.motion.retarget import retarget
from gambol.partwise.sensing import instrument
from gambol.scenes import Scene, place
from samples import ROBOT, alone, with_legs

CUBE = "".join(f"v {x} {y} {z}\n" for x in (0, 0.1) for y in (0, 0.1) for z in (0, 0.1)) + "".join(
    f"f {a} {b} {c}\n" for a, b, c in ((1, 2, 4), (1, 4, 3), (5, 7, 8), (5, 8, 6), (1, 5, 6), (1, 6, 2), (3, 4, 8),
                                       (3, 8, 7), (1, 3, 7), (1, 7, 5), (2, 6, 8), (2, 8, 4))
)  # fmt: skip


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Character]:
    """A character from MJCF text."""

    def write_and_read(text: str, **about) -> Character:
        (tmp_path / "robot.xml").write_text(text)
        return from_mjcf(tmp_path / "robot.xml", **about)

    return write_and_read


def test_any_mjcf_with_a_free_root_becomes_a_character(read) -> None:
    robot = read(ROBOT)
    assert robot.name == "robot"
    assert robot.bodies == ("trunk", "left_leg", "right_leg")
    assert robot.model.ngeom == 3, "the file's own floor stays behind"
    assert set(robot.parts) == {"core", "left_leg", "right_leg"}
    assert robot.patches["left_leg"].points == (pytest.approx((0, 0, -0.44)),)
    assert robot.symmetry.qpos_index.tolist()[7:] == [8, 7]
    again = build(describe(robot), name="robot")
    assert again == robot


def into(section: str, text: str) -> Callable[[str], str]:
    """A change that puts more before the worldbody."""
    return lambda s: s.replace(
        "<worldbody>", f"{f'<{section}>' if section else ''}{text}{f'</{section}>' if section else ''}<worldbody>", 1
    )


HOSTILE = {
    "no root": (lambda s: s.replace("<freejoint/>", ""), "free joint"),
    "two roots": (lambda s: s.replace("</worldbody>", "<body><freejoint/><geom size='1'/></body></worldbody>"), "2 bodies"),
    "other": (lambda s: s.replace("<mujoco>", "<robot>").replace("</mujoco>", "</robot>"), "not MJCF"),
    "cut": (lambda s: s[:200], "well-formed"),
    "nan": (lambda s: s.replace('pos="0 0 1"', 'pos="nan 0 1"'), "not finite"),
    "far": (lambda s: s.replace('pos="0 .1 -.2"', 'pos="0 1e300 1"'), "beyond"),
    "include": (into("", '<include file="/etc/passwd"/>'), "include"),
    "outside": (into("asset", '<mesh file="../../secret.stl"/>'), "outside"),
    "outside dir": (into("", '<asset><mesh file="x.stl"/></asset><compiler meshdir="/etc"/>'), "outside"),
    "doctype": (lambda s: "<!DOCTYPE a [<!ENTITY b 'c'>]>" + s, "document type"),
    "negative": (lambda s: s.replace('size=".1 .1 .2"', 'size="-1 .1 .2"'), "compile"),
    "elements": (lambda s: s.replace("<light", "<light/>" * 5000 + "<light"), "5000 elements"),
    "depth": (lambda s: s.replace("</worldbody>", "<body>" * 400 + "</body>" * 400 + "</worldbody>"), "deep"),
    "joints": (lambda s: s.replace("<joint", "<joint/>" * 501 + "<joint"), "joints"),
    "fine mesh": (into("asset", '<mesh name="m" builtin="supersphere" params="2000 1 1"/>'), "fine"),
    "endless mesh": (into("asset", '<mesh name="m" builtin="sphere" params="1e200"/>'), "fine"),
    "mesh words": (into("asset", '<mesh name="m" builtin="sphere" params="many"/>'), "not a number"),
    "no mesh": (into("asset", '<mesh file="x.stl"/>'), r"'x.stl': no such file"),
    "long name": (into("asset", f'<mesh file="{"x" * 5000}"/>'), "read"),
    "digits": (lambda s: s.replace("<motor", f'<motor nsample="{"9" * 5000}"', 1), "more than 1000"),
    "history": (lambda s: s.replace("<motor", '<motor nsample="999999999"', 1), "more than 1000"),
    "exponent": (lambda s: s.replace("<motor", '<motor nsample="1e9"', 1), "more than 1000"),
    "muscles": (lambda s: s.replace("<motor", '<muscle joint="left_hip"/>' * 1500 + "<motor", 1), "lengthrange"),
    "controls": (lambda s: s.replace("<motor", "<pid", 1), "several controls"),
    "text": (lambda s: s + " " * 5_000_000, "bytes"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "said"), HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_mjcf_is_refused_with_the_file_named(read, change, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        read(change(ROBOT))
    assert "robot.xml" in str(caught.value)


def test_what_a_body_has_no_use_for_stays_behind_and_costs_nothing(read) -> None:
    textures = '<texture name="t{}" type="2d" builtin="flat" width="4096" height="8192"/>'
    large = "".join(textures.format(i) for i in range(12)) + '<material name="skin" texture="t0" rgba="1 0 0 1"/>'
    large += '<hfield name="hill" nrow="30000" ncol="30000" size="1 1 1 1"/>'
    text = alone(
        '<geom size=".1" material="skin" user="1 2 3"/><camera name="eye" resolution="9999 9999"/>',
        before=f'<option timestep="3"/><size memory="900G" nuser_geom="1000000" nkey="1000000"/><asset>{large}</asset>'
        '<visual><global offwidth="100000"/></visual><custom><numeric name="n" size="100000000"/></custom>',
        after='<sensor><user dim="100000000"/><rangefinder camera="eye"/></sensor><keyframe><key time="1"/></keyframe>',
    )
    text = text.replace("<worldbody>", '<worldbody><geom type="hfield" hfield="hill"/>')
    model = read(text).model
    assert (model.ntex, model.nhfield, model.nsensor, model.nnumeric, model.nkey, model.nuser_geom) == (0,) * 6
    np.testing.assert_array_equal(model.mat_rgba, [[1, 0, 0, 1]])
    assert model.opt.timestep == 0.002
    assert model.nbuffer < 1e6


def test_names_that_are_taken_are_not_given_again(read) -> None:
    geoms = '<geom name="geom_{}" size=".1"/><geom size=".1"/>'
    robot = read(alone("".join(geoms.format(i) for i in (2, 4, "4_")) + '<body name="body_3"/><body/>', ""))
    names = [robot.model.geom(i).name for i in range(robot.model.ngeom)]
    assert len(set(names)) == 7
    assert all(names)
    assert len(set(robot.bodies)) == 3


def test_the_free_joint_is_the_root(read) -> None:
    hinge = '<body><joint name="{}"/><geom size=".1"/></body>'
    robot = read(
        alone(
            hinge.format("arm"), '<actuator><motor name="lift" joint="float" gear="0 0 1 0 0 0"/></actuator>'
        ).replace("<freejoint/>", '<freejoint name="float"/>')
    )
    assert robot.model.joint(0).name == "root"
    assert robot.model.actuator("lift").trnid[0] == 0
    with pytest.raises(InputError, match="joint called 'root'"):
        read(alone(hinge.format("root")))


COMPILERS = {
    "before": '<compiler meshdir="meshes"/>{}',
    "after": '{}<compiler meshdir="meshes"/>',
    "two": '<compiler meshdir="meshes"/><compiler angle="radian" texturedir="elsewhere"/>{}',
    "assetdir": '<compiler assetdir="meshes"/><compiler texturedir="elsewhere"/>{}',
    "both": '<compiler assetdir="elsewhere" meshdir="meshes"/>{}',
    "later wins": '<compiler meshdir="elsewhere"/>{}<compiler meshdir="./meshes/../meshes"/>',
    "strippath": '{}<compiler meshdir="meshes" strippath="true"/>',
}


@pytest.mark.parametrize("compilers", COMPILERS.values(), ids=COMPILERS.keys())
def test_meshes_are_found_wherever_the_compiler_element_stands(read, tmp_path: Path, compilers: str) -> None:
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "cube.obj").write_text(CUBE)
    file = "C:\\drawings\\cube.obj" if "strippath" in compilers else "cube.obj"
    asset = f'<asset><mesh file="{file}"/></asset>'
    robot = read(alone('<geom type="mesh" mesh="cube"/>', before=compilers.format(asset)))
    assert robot.model.nmesh == 1
    assert dict(robot.assets) == {"meshes/cube.obj": CUBE.encode()}
    assert build(describe(robot), assets=robot.assets).xml == robot.xml
    with pytest.raises(InputError, match=r"meshes/cube\.obj"):
        build(describe(robot))


def test_meshes_together_have_a_limit(read, tmp_path: Path) -> None:
    with (tmp_path / "large.stl").open("wb") as file:
        file.truncate(2 * 2**20)
    meshes = "".join(f'<mesh name="m{i}" file="large.stl"/>' for i in range(40))
    with pytest.raises(InputError, match="64 MiB"):
        read(alone(before=f"<asset>{meshes}</asset>"))


def test_scenery_and_what_hangs_on_it_stay_behind(read) -> None:
    text = alone(
        after='<tendon><fixed name="latch"><joint joint="door" coef="1"/></fixed></tendon>'
        '<actuator><motor name="door" joint="door"/><motor name="latch" tendon="latch"/></actuator>'
        '<contact><exclude body1="door" body2="trunk"/></contact><equality><weld body1="door" body2="trunk"/></equality>',
    )
    door = '<body name="door"><joint name="door"/><geom size=".1"/></body>'
    robot = read(text.replace("<worldbody>", f"<worldbody>{door}"))
    assert robot.bodies == ("trunk",)
    assert (robot.model.nu, robot.model.ntendon, robot.model.neq, robot.model.nexclude) == (0, 0, 0, 0)


def landmark_places(character: Character) -> dict[str, np.ndarray]:
    data = mujoco.MjData(character.model)
    data.qpos[:] = character.pose_qpos("zero")
    mujoco.mj_kinematics(character.model, data)
    return {
        key: data.body(point.body).xpos + data.body(point.body).xmat.reshape(3, 3) @ point.offset
        for key, point in character.landmarks.items()
    }


@pytest.mark.parametrize("name", [name for name in NAMES if name != "quadruped"])
def test_what_the_names_of_a_two_legged_body_tell(read, name: str) -> None:
    """Bodies that ship are recognised from their MJCF alone."""
    known = build(name)
    guessed = read(known.xml)
    assert {part: set(bodies) for part, bodies in guessed.parts.items()} == {
        part: set(bodies) for part, bodies in known.parts.items()
    }
    assert {"right_foot", "left_foot"} <= set(guessed.patches)
    assert all(len(guessed.patches[f"{side}_foot"].points) >= 2 for side in ("right", "left"))
    expected, found = landmark_places(known), landmark_places(guessed)
    for key, place_known in expected.items():
        np.testing.assert_allclose(found[key], place_known, atol=0.065, err_msg=key)
        assert guessed.landmarks[key].body == known.landmarks[key].body


def test_four_legs_are_not_taken_for_two(read) -> None:
    guessed = read(build("quadruped").xml)
    assert not guessed.landmarks
    assert set(guessed.parts) == {
        "core",
        *(f"{end}_{side}_thigh" for end in ("front", "hind") for side in ("right", "left")),
    }


def test_a_body_that_was_recognised_can_be_retargeted_to_and_planned_for(tmp_path: Path) -> None:
    (tmp_path / "robot.xml").write_text(build("athlete").xml)
    source = Scene.alone(build("humanoid"))
    qpos = np.tile(place(source), (3, 1))
    qpos[:, 20] += [0.0, 0.2, 0.4]
    performed = retarget(Motion(source, 0.1, qpos), from_mjcf(tmp_path / "robot.xml"))
    assert performed.source.figures["direction_error_deg"] < 12
    task = load_task("armchair/sit-down").model_copy(
        update={"character": {"kind": "mjcf", "file": str(tmp_path / "robot.xml")}, "keyframes": None}
    )
    assert instrument(task.world, ()).landmarks.keys() >= {"pelvis", "chest", "head"}


def test_standing_is_upright_and_faces_forward_however_the_file_turns_the_body(read) -> None:
    assert read(ROBOT).poses["standing"] == Pose()
    tilted = ROBOT.replace('pos="0 0 1"', 'pos="0 0 1" euler="0 0 50"').replace("<freejoint/>", "<freejoint/>", 1)
    np.testing.assert_allclose(read(tilted).poses["standing"].root, [1, 0, 0, 0], atol=1e-12)
    lying = ROBOT.replace('pos="0 0 1"', 'pos="0 0 1" euler="90 0 0"')
    np.testing.assert_allclose(read(lying).poses["standing"].root, [0.5**0.5, 0.5**0.5, 0, 0], atol=1e-9)


TOLD = {
    "parts": {"left_leg": ["left_leg"], "rest": ["trunk"]},
    "landmarks": {"pelvis": {"body": "trunk", "offset": [0, 0, -0.2]}, "head": {"body": "trunk"}},
    "poses": {"crouching": {"joints": {"left_hip": 0.2}, "root": [2, 0, 0, 0]}, "lying": {"root": [1, 1, 0, 0]}},
    "patches": {"left_foot": {"body": "left_leg", "points": [[0, 0, -0.44]]}},
}


def test_what_is_told_takes_the_place_of_what_is_guessed(read, tmp_path: Path) -> None:
    robot = read(
        ROBOT,
        name="walker",
        parts=TOLD["parts"],
        landmarks={"pelvis": Point("trunk", (0, 0, -0.2)), "head": Point("trunk")},
        poses={"crouching": Pose({"left_hip": 0.2}, (2, 0, 0, 0)), "lying": Pose(root=(1, 1, 0, 0))},
        patches={"left_foot": Patch("left_leg", ((0, 0, -0.44),))},
    )
    assert dict(robot.parts) == {"left_leg": ("left_leg",), "rest": ("trunk", "right_leg")}
    assert robot.landmarks == {"pelvis": Point("trunk", (0.0, 0.0, -0.2)), "head": Point("trunk")}
    assert set(robot.patches) == {"left_leg", "right_leg", "left_foot"}
    assert set(robot.poses) == {"standing", "crouching", "lying"}
    np.testing.assert_allclose(robot.pose_qpos("crouching")[3:], [1, 0, 0, 0, 0.2, 0])
    np.testing.assert_allclose(robot.pose_qpos("lying")[3:5], [0.5**0.5, 0.5**0.5])
    recipe = {"kind": "mjcf", "file": str(tmp_path / "robot.xml"), **TOLD}
    assert build(recipe, name="walker") == robot
    assert build(describe(robot), name="walker") == robot


def test_parts_that_are_told_cover_the_body(read) -> None:
    robot = read(ROBOT, parts={"leg": ["left_leg"]})
    assert dict(robot.parts) == {"core": ("trunk", "right_leg"), "leg": ("left_leg",)}


WRONG = {
    "landmark body": ({"landmarks": {"pelvis": {"body": "trunc"}}}, "landmarks.pelvis.body", "did you mean 'trunk'"),
    "part body": ({"parts": {"core": ["trunk", "tail"]}}, "parts.core", "no body named 'tail'"),
    "part twice": ({"parts": {"a": ["trunk"], "b": ["trunk"]}}, "parts.b", "more than one part"),
    "patch body": ({"patches": {"p": {"body": "leg", "points": [[0, 0, 0]]}}}, "patches.p.body", "no body"),
    "patch without points": ({"patches": {"p": {"body": "trunk", "points": []}}}, "patches.p.points", "no points"),
    "pose joint": ({"poses": {"up": {"joints": {"knee": 1}}}}, "poses.up.joints", "no hinge or slide named 'knee'"),
    "pose root": ({"poses": {"up": {"root": [0, 0, 0, 0]}}}, "poses.up.root", "quaternion"),
    "pose of the root": ({"poses": {"up": {"joints": {"root": 1}}}}, "poses.up.joints", "no hinge or slide"),
    "misspelt": ({"landmarks": {"pelvis": {"body": "trunk", "ofset": [0, 0, 0]}}}, "landmarks.pelvis.ofset", "Unexpected"),
    "unknown": ({"landmark": {}}, "landmark", "did you mean 'landmarks'"),
    "not finite": ({"landmarks": {"pelvis": {"body": "trunk", "offset": [0, float("nan"), 0]}}}, "pelvis.offset", "finite"),
    "no mapping": ({"landmarks": ["trunk"]}, "landmarks", "should be a mapping"),
}  # fmt: skip


@pytest.mark.parametrize(("about", "key", "said"), WRONG.values(), ids=WRONG.keys())
def test_wrong_recipes_are_refused_with_their_key(tmp_path: Path, about: dict, key: str, said: str) -> None:
    (tmp_path / "robot.xml").write_text(ROBOT)
    with pytest.raises(InputError, match=said) as caught:
        build({"kind": "mjcf", "file": str(tmp_path / "robot.xml"), **about})
    assert caught.value.file is None
    assert str(caught.value).startswith("character.")
    assert key in str(caught.value)


def test_recipes_of_files_that_are_wrong_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="character.file: is required"):
        build({"kind": "mjcf"})
    with pytest.raises(InputError, match=r"robot\.xml: no such file"):
        build({"kind": "mjcf", "file": str(tmp_path / "robot.xml")})


def test_wrong_names_are_refused_with_their_key_in_python_too(read) -> None:
    with pytest.raises(InputError, match=r"landmarks\.pelvis\.body: no body named 'trunc'"):
        read(ROBOT, landmarks={"pelvis": Point("trunc")})
    with pytest.raises(InputError, match=r"landmarks\.pelvis\.offset"):
        read(ROBOT, landmarks={"pelvis": Point("trunk", (0, float("nan"), 0))})
    with pytest.raises(InputError, match="no hinge or slide"):
        read(with_legs('<joint name="{side}_hip" type="ball"/>'), poses={"up": Pose({"left_hip": 0.3})})
