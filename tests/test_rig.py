"""Rigs from skeletons: exact angles, plausible bodies, standing; and motions as skeletons and back."""

from __future__ import annotations

import json
from pathlib import Path

import mujoco
import numpy as np
import pytest

from gambol.characters import NAMES, Character, build, describe
from gambol.characters.hinges import hinge_angles, joint_angles
from gambol.characters.rig import from_recipe, from_skeleton, mocap_humanoid
from gambol.characters.skeleton import Skeleton, SkeletonClip, axes_turn
from gambol.characters.tables import Anatomy
from gambol.errors import InputError
from gambol.motion.formats import archive
from gambol.motion.motion import Motion
from gambol.motion.skeletal import grounded, rig_motion, skeletal_clip, skeleton_of
from gambol.rotations import from_axis_angle, from_rotation_vector, multiply, normalise
from gambol.scenes import Scene
from samples import ARCHIVE, needs_archive

BONES = {
    # role: parent, offset on the left side in metres
    "pelvis": (None, (0, 0, 0.95)),
    "spine": ("pelvis", (0, 0, 0.12)),
    "chest": ("spine", (0, 0, 0.2)),
    "neck": ("chest", (0, 0, 0.2)),
    "head": ("neck", (0, 0, 0.1)),
    "clavicle": ("chest", (0, 0.05, 0.15)),
    "upper_arm": ("clavicle", (0, 0.14, 0.0)),
    "forearm": ("upper_arm", (0, 0.20, -0.20)),
    "hand": ("forearm", (0, 0.18, -0.18)),
    "thigh": ("pelvis", (0, 0.09, -0.05)),
    "shin": ("thigh", (0, 0.01, -0.42)),
    "foot": ("shin", (0, 0, -0.41)),
    "toes": ("foot", (0.13, 0.01, -0.05)),
}
SIDED = ("clavicle", "upper_arm", "forearm", "hand", "thigh", "shin", "foot", "toes")
NAMINGS = {
    "mixamo": {
        "pelvis": "mixamorig:Hips", "spine": "mixamorig:Spine", "chest": "mixamorig:Spine1", "neck": "mixamorig:Neck",
        "head": "mixamorig:Head", "clavicle": "mixamorig:{Left}Shoulder", "upper_arm": "mixamorig:{Left}Arm",
        "forearm": "mixamorig:{Left}ForeArm", "hand": "mixamorig:{Left}Hand", "thigh": "mixamorig:{Left}UpLeg",
        "shin": "mixamorig:{Left}Leg", "foot": "mixamorig:{Left}Foot", "toes": "mixamorig:{Left}ToeBase",
    },
    "unreal": {
        "pelvis": "pelvis", "spine": "spine_01", "chest": "spine_02", "neck": "neck_01", "head": "head",
        "clavicle": "clavicle_{l}", "upper_arm": "upperarm_{l}", "forearm": "lowerarm_{l}", "hand": "hand_{l}",
        "thigh": "thigh_{l}", "shin": "calf_{l}", "foot": "foot_{l}", "toes": "ball_{l}",
    },
    "plain": {
        "pelvis": "Hips", "spine": "Waist", "chest": "Chest", "neck": "Neck", "head": "Head",
        "clavicle": "{Left}Collar", "upper_arm": "{Left}Shoulder", "forearm": "{Left}Elbow", "hand": "{Left}Wrist",
        "thigh": "{Left}Hip", "shin": "{Left}Knee", "foot": "{Left}Ankle", "toes": "{Left}Toe",
    },
    "max": {
        "pelvis": "Bip01", "spine": "Bip01 Spine", "chest": "Bip01 Spine1", "neck": "Bip01 Neck", "head": "Bip01 Head",
        "clavicle": "Bip01 {L} Clavicle", "upper_arm": "Bip01 {L} UpperArm", "forearm": "Bip01 {L} Forearm",
        "hand": "Bip01 {L} Hand", "thigh": "Bip01 {L} Thigh", "shin": "Bip01 {L} Calf", "foot": "Bip01 {L} Foot",
        "toes": "Bip01 {L} Toe0",
    },
    "poser": {
        "pelvis": "hip", "spine": "abdomen", "chest": "chest", "neck": "neck", "head": "head",
        "clavicle": "{l}Collar", "upper_arm": "{l}Shldr", "forearm": "{l}ForeArm", "hand": "{l}Hand",
        "thigh": "{l}Thigh", "shin": "{l}Shin", "foot": "{l}Foot", "toes": "{l}Toe",
    },
}  # fmt: skip


def biped(naming: str = "mixamo") -> Skeleton:
    """A human skeleton in A-pose under the given names."""
    names: list[str] = []
    parents: list[int] = []
    offsets: list[tuple[float, float, float]] = []
    index: dict[tuple[str, str], int] = {}
    for role, (parent, (x, y, z)) in BONES.items():
        for side in ("left", "right") if role in SIDED else ("",):
            words = {"Left": side.title(), "left": side, "l": side[:1], "L": side[:1].upper()}
            index[role, side] = len(names)
            names.append(NAMINGS[naming][role].format(**words))
            parents.append(-1 if parent is None else index[parent, side if parent in SIDED else ""])
            offsets.append((x, -y if side == "right" else y, z))
    return Skeleton(tuple(names), tuple(parents), np.array(offsets))


def wiggle(skeleton: Skeleton, frames: int = 30, seed: int = 0) -> SkeletonClip:
    """Every joint turning smoothly and far about changing axes."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(2, len(skeleton), 3)) * 1.2
    phase = np.linspace(0, np.pi, frames)[:, None, None]
    rotations = from_rotation_vector(np.sin(phase) * vectors[0] + np.sin(2 * phase) * vectors[1])
    root = np.cumsum(rng.normal(0, 0.02, (frames, 3)), axis=0) + [0, 0, 1.0]
    return SkeletonClip(skeleton, 1 / 60, root, rotations)


def stand(character: Character, seconds: float) -> tuple[float, float]:
    """The head's height at the start and its least while the servos hold the standing pose."""
    scene = Scene.alone(character)
    start = grounded(Motion(scene, 0.01, character.pose_qpos("standing")[None]))
    model, data = scene.model, mujoco.MjData(scene.model)
    data.qpos[:] = start.qpos[0]
    data.ctrl[:] = [data.qpos[model.jnt_qposadr[model.actuator_trnid[a, 0]]] for a in range(model.nu)]
    mujoco.mj_forward(model, data)
    head = model.body(f"{character.name}/{character.landmarks['head'].body}").id
    heights = [float(data.xpos[head, 2])]
    for _ in range(round(seconds / model.opt.timestep)):
        mujoco.mj_step(model, data)
        heights.append(float(data.xpos[head, 2]))
    assert np.isfinite(data.qpos).all()
    return heights[0], min(heights)


@pytest.mark.parametrize("naming", NAMINGS)
def test_names_of_many_programs_are_understood(naming: str) -> None:
    skeleton = biped(naming)
    anatomy = Anatomy.of(skeleton)
    expected = []
    for role in BONES:
        role_here = "spine" if role == "chest" else role
        expected += [(role_here, side) for side in (("left", "right") if role in SIDED else ("",))]
    assert list(zip(anatomy.roles, anatomy.sides, strict=True)) == expected
    character = from_skeleton(skeleton)
    assert set(character.parts) == {"core", "left_leg", "right_leg", "left_arm", "right_arm"}
    assert {"pelvis", "chest", "head", "left_toe", "right_wrist", "left_hip"} <= set(character.landmarks)
    assert {"left_foot", "right_toes", "left_hand", "pelvis"} <= set(character.patches)
    assert {"zero", "standing"} <= set(character.poses)
    assert len(character.landmarks) == 17


@pytest.mark.parametrize("naming", ["mixamo", "unreal", "plain"])
def test_rigs_are_symmetric_and_stand(naming: str) -> None:
    character = from_skeleton(biped(naming))
    qpos = character.pose_qpos("standing")
    np.testing.assert_allclose(character.symmetry.qpos(qpos), qpos, atol=1e-4)
    assert 50 < character.mass < 80
    first, least = stand(character, 1.5)
    assert least > first - 0.05


def test_cmu_clavicle_without_length_and_hip_joints() -> None:
    names = (
        "Hips",
        "LHipJoint",
        "LeftUpLeg",
        "LeftLeg",
        "LeftFoot",
        "RHipJoint",
        "RightUpLeg",
        "RightLeg",
        "RightFoot",
    )
    names += ("LowerBack", "Spine", "Neck", "Head", "LeftHand", "LeftFingerBase", "LThumb")
    offsets = [(0, 0, 1), (0, 0, 0), (0.05, 0.1, -0.1), (0, 0, -0.4), (0, 0, -0.4)]
    offsets += [(0, 0, 0), (0.05, -0.1, -0.1), (0, 0, -0.4), (0, 0, -0.4)]
    offsets += [(0, 0, 0), (0, 0, 0.3), (0, 0, 0.2), (0, 0, 0.1), (0, 0.4, 0), (0, 0, 0), (0, 0, 0)]
    skeleton = Skeleton(names, (-1, 0, 1, 2, 3, 0, 5, 6, 7, 0, 9, 10, 11, 10, 13, 13), np.array(offsets))
    anatomy = Anatomy.of(skeleton)
    assert anatomy.roles[1] == "pelvis"
    assert anatomy.roles[2] == "thigh"
    assert anatomy.roles[14:] == ("finger", "finger")
    model = from_skeleton(skeleton).model
    assert model.body_mass[1:].min() > 1e-3
    assert model.body_inertia[1:].min() > 0


def test_hinge_angles_make_the_rotation_exactly() -> None:
    rng = np.random.default_rng(1)
    rotations = normalise(rng.normal(size=(200, 4)))
    frame = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    for axes in (frame, frame[[1, 0, 2]]):
        angles = hinge_angles(rotations, list(axes))
        made = np.array([1.0, 0, 0, 0])
        for k in range(3):
            made = multiply(made, from_axis_angle(axes[k], angles[:, k]))
        np.testing.assert_allclose(np.abs(np.sum(made * rotations, axis=-1)), 1, atol=1e-12)


@pytest.mark.parametrize("naming", ["mixamo", "unreal"])
def test_a_clip_on_its_rig_is_the_clip(naming: str) -> None:
    clip = wiggle(biped(naming))
    motion = rig_motion(clip)
    positions, quats = clip.global_frames()
    bodies = [motion.scene.model.body(f"rig/{name}").id for name in clip.skeleton.names]
    assert np.abs(motion.poses().positions[:, bodies] - positions).max() < 2e-5
    assert np.abs(np.sum(motion.poses().quats[:, bodies] * quats, axis=-1)).min() > 1 - 1e-9
    assert np.abs(np.diff(motion.qpos[:, 7:], axis=0)).max() < 2.0
    model = motion.scene.model
    inside = (motion.qpos[:, 7:] >= model.jnt_range[1:, 0]) & (motion.qpos[:, 7:] <= model.jnt_range[1:, 1])
    assert inside.all()


def test_motion_to_skeleton_and_back() -> None:
    clip = wiggle(biped())
    back = skeletal_clip(rig_motion(clip))
    order = [back.skeleton.names.index(name) for name in clip.skeleton.names]
    np.testing.assert_allclose(back.global_frames()[0][:, order], clip.global_frames()[0], atol=2e-5)
    again = joint_angles(from_skeleton(clip), back)
    np.testing.assert_allclose(again, rig_motion(clip).qpos, atol=2e-5)


def test_still_joints_are_welded_but_limbs_never() -> None:
    skeleton = biped()
    clip = wiggle(skeleton)
    rotations = clip.rotations.copy()
    for name in ("mixamorig:LeftShoulder", "mixamorig:LeftLeg"):
        rotations[:, skeleton.names.index(name)] = [1, 0, 0, 0]
    still = SkeletonClip(skeleton, clip.dt, clip.root, rotations)
    welded, free = from_skeleton(still), from_skeleton(still, weld=False)
    assert welded.recipe is not None
    assert welded.recipe["welded"] == ["mixamorig:LeftShoulder"]
    assert free.model.nu == welded.model.nu + 3
    with pytest.raises(InputError, match="the clip turns it"):
        joint_angles(welded, clip)


def test_joints_that_slide_are_held_and_noted() -> None:
    clip = wiggle(biped())
    name = clip.skeleton.names[2]
    track = np.tile(clip.skeleton.offsets[2] + [0, 0, 0.01], (len(clip), 1))
    track[3, 0] += 0.02
    motion = rig_motion(SkeletonClip(clip.skeleton, clip.dt, clip.root, clip.rotations, {name: track}))
    assert "20.0 mm" in motion.source.notes
    place = skeletal_clip(motion).skeleton.offsets[2]
    np.testing.assert_allclose(place, clip.skeleton.offsets[2] + [0, 0, 0.01], atol=1e-6)


@pytest.mark.parametrize("source", ["clip", "skeleton", "mocap-humanoid"])
def test_recipes_survive_json(source: str) -> None:
    made = {
        "clip": lambda: from_skeleton(wiggle(biped("unreal")), mass=60.0),
        "skeleton": lambda: from_skeleton(biped()),
        "mocap-humanoid": lambda: mocap_humanoid(mass=70.0),
    }[source]()
    again = build(json.loads(json.dumps(describe(made))), name=made.name)
    assert again.xml == made.xml
    assert again == made


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"names": ["a", "a"]}, "different"),
        ({"parents": [-1, 5]}, "before its parent"),
        ({"parents": [-1, -1]}, "root"),
        ({"offsets": [[0, 0, 0], [0, float("nan"), 1]]}, "finite"),
        ({"offsets": [[0, 0, 0], [0, 0, 0]]}, "0 m large"),
        ({"offsets": [[0, 0, 0], [0, 0, 1e200]]}, "m large"),
        ({"ranges": {"b_x": [float("nan"), 1]}}, "degrees"),
        ({"offsets": "long"}, "not a skeleton"),
        ({"mass": -1}, "kg"),
        ({"mass": "heavy"}, "recipe"),
        ({"welded": ["c"]}, "no joint named 'c'"),
        ({"tips": {"c": [[0, 0, 1]]}}, "no joint 'c'"),
        ({"ranges": {"b_x": [1]}}, "recipe"),
        ({"colour": "red"}, "no setting"),
    ],
)
def test_wrong_recipes_are_input_errors(change: dict[str, object], match: str) -> None:
    recipe = {"kind": "skeleton", "names": ["a", "b"], "parents": [-1, 0], "offsets": [[0, 0, 0], [0, 0, 1]]}
    assert from_recipe(recipe).model.nu == 3
    with pytest.raises(InputError, match=match):
        from_recipe({**recipe, **change})


def test_creatures_without_known_names_get_bodies_too() -> None:
    names = ("root", "a<&>", "b\"'", "ü", "world", "x/y\0")
    offsets = np.array([(0, 0, 0.5), (0.2, 0, 0), (0, 0.1, -0.4), (0, -0.1, -0.4), (-0.3, 0, 0), (-0.2, 0, 0.1)])
    character = from_skeleton(Skeleton(names, (-1, 0, 1, 1, 0, 4), offsets), name="thing")
    assert character.bodies == ("root", "a<&>", "b\"'", "ü", "world_", "x_y_")
    assert character.model.nu == 15
    assert "standing" not in character.poses
    assert character.mass > 0.1


def test_mocap_humanoid() -> None:
    character = mocap_humanoid()
    assert character.model.nu == 66
    assert 70 <= character.mass <= 75
    rng = np.random.default_rng(0)
    qpos = rng.normal(size=character.model.nq)
    np.testing.assert_allclose(character.symmetry.qpos(character.symmetry.qpos(qpos)), qpos)
    standing = character.pose_qpos("standing")
    np.testing.assert_allclose(character.symmetry.qpos(standing), standing, atol=1e-5)
    first, least = stand(character, 5.0)
    assert first > 1.3
    assert least > first - 0.02


@pytest.mark.parametrize("name", NAMES)
def test_any_character_leaves_as_a_skeleton_with_exact_anchors(name: str) -> None:
    character = build(name)
    scene = Scene({"bob": character})
    rng = np.random.default_rng(3)
    qpos = np.tile(character.pose_qpos(), (8, 1))
    qpos[:, 7:] += rng.normal(0, 0.6, (8, character.model.nq - 7))
    qpos[:, :3], qpos[:, 3:7] = rng.normal(size=(8, 3)), normalise(rng.normal(size=(8, 4)))
    clip = skeletal_clip(Motion(scene, 0.02, qpos), "bob")
    positions, quats = clip.global_frames()
    model, data = scene.model, mujoco.MjData(scene.model)
    for t in range(8):
        data.qpos[:] = qpos[t]
        mujoco.mj_kinematics(model, data)
        for anchor in data.xanchor:
            assert np.linalg.norm(positions[t] - anchor, axis=1).min() < 1e-9
        for body, body_name in enumerate(character.bodies, start=1):
            joint = clip.skeleton.names.index(body_name)
            assert abs(quats[t, joint] @ data.xquat[body]) > 1 - 1e-9
    with pytest.raises(InputError, match="no character"):
        skeletal_clip(Motion(scene, 0.02, qpos), "bobby")


def test_slides_balls_and_turned_bodies() -> None:
    xml = """<mujoco><worldbody><body name="a" pos="0 0 1"><freejoint name="root"/><geom size=".1"/>
      <body name="b" pos=".3 0 0" euler="30 40 50"><joint name="s" type="slide" axis="1 1 0" pos=".1 0 0"/>
      <joint name="h" axis="0 1 1" pos=".1 .2 0"/><geom size=".1"/>
      <body name="c" pos="0 .2 .1" euler="0 90 10"><joint name="ball" type="ball" pos="0 0 .1"/><geom size=".1"/>
      <body name="d" pos="0 0 .3" euler="10 0 0"><geom size=".05"/></body></body></body></body></worldbody></mujoco>"""
    character = Character("odd", xml)
    qpos = np.tile(character.pose_qpos(), (5, 1))
    rng = np.random.default_rng(0)
    qpos[:, 7:9] = rng.normal(size=(5, 2))
    qpos[:, 3:7], qpos[:, 9:13] = normalise(rng.normal(size=(5, 4))), normalise(rng.normal(size=(5, 4)))
    motion = Motion(Scene.alone(character), 0.1, qpos)
    clip = skeletal_clip(motion)
    positions, _ = clip.global_frames()
    data = mujoco.MjData(motion.scene.model)
    assert clip.skeleton.names == ("a", "s", "b", "c", "d")
    for t in range(5):
        data.qpos[:] = qpos[t]
        mujoco.mj_kinematics(motion.scene.model, data)
        np.testing.assert_allclose(positions[t, 2], data.joint("odd/h").xanchor, atol=1e-9)
        np.testing.assert_allclose(positions[t, 3], data.joint("odd/ball").xanchor, atol=1e-9)
        np.testing.assert_allclose(positions[t, 4], data.body("odd/d").xpos, atol=1e-9)


def test_grounded_puts_the_soles_on_the_floor() -> None:
    character = mocap_humanoid()
    qpos = np.tile(character.pose_qpos("standing"), (10, 1))
    qpos[:, 2] = 3.0
    qpos[7:, 2] += 0.5
    motion = grounded(Motion(Scene.alone(character), 0.1, qpos))
    sole = character.patches["left_foot"]
    data = motion.state_at(0)
    body = data.body(f"{character.name}/{sole.body}")
    heights = [(body.xmat.reshape(3, 3) @ point + body.xpos)[2] for point in sole.points]
    np.testing.assert_allclose(heights, 0, atol=2e-3)
    np.testing.assert_allclose(motion.qpos[9, 2] - motion.qpos[0, 2], 0.5)


def test_axes() -> None:
    turned = biped().turned(axes_turn("+y", "+z"))
    np.testing.assert_allclose(turned.offsets, biped().offsets[:, [2, 0, 1]], atol=1e-12)
    for up, forward in (("+y", "y"), ("up", "+z"), ("++y", "+z")):
        with pytest.raises(InputError):
            axes_turn(up, forward)


@needs_archive
def test_archive_on_its_own_rig_and_on_the_mean_body() -> None:
    names = archive.clips(ARCHIVE)
    assert len(names) == 334
    own = archive.read(ARCHIVE, "02_01", ground=True)
    positions, _ = archive.load(ARCHIVE, "02_01").global_frames()
    moved = own.poses().positions[:, 1:] - positions
    assert np.abs(moved - moved[0, 0]).max() < 2e-5
    np.testing.assert_allclose(moved[0, 0, :2], 0, atol=1e-6)
    shared = archive.read(ARCHIVE, "02_01", character=mocap_humanoid())
    assert shared.scene.main_character == "mocap-humanoid"
    assert len(shared) == len(own)
    assert shared.dt == pytest.approx(1 / 30)
    with pytest.raises(InputError, match="'02_01'"):
        archive.read(ARCHIVE, "02_1")


def test_archive_refuses_what_it_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    skeleton = biped()
    good = {
        "joint_names": np.array(skeleton.names),
        "parents": np.array(skeleton.parents),
        "c/root": np.zeros((3, 3)),
        "c/quat": np.tile(np.array([0, 0, 0, 32767], np.int16), (3, len(skeleton), 1)),
        "c/offset": skeleton.offsets,
    }
    np.savez(path, **good)
    assert archive.clips(path) == ("c",)
    assert len(archive.load(path, "c")) == 3
    for change in (
        {"c/quat": np.zeros((3, 4))},
        {"c/root": np.full((3, 3), np.nan)},
        {"c/offset": skeleton.offsets[:5]},
        {"parents": np.array(["a"])},
        {"parents": np.array(skeleton.parents[::-1])},
        {"fps": np.array(0)},
    ):
        np.savez(path, **{**good, **change})
        with pytest.raises(InputError, match=r"a\.npz: c"):
            archive.load(path, "c")
    np.savez(path, joint_names=np.array(["a"]))
    with pytest.raises(InputError, match="motion capture"):
        archive.clips(path)


def test_skeleton_of_a_character() -> None:
    skeleton, found = biped(), skeleton_of(from_skeleton(biped()))
    order = [found.names.index(name) for name in skeleton.names[1:]]
    np.testing.assert_allclose(found.offsets[order], skeleton.offsets[1:], atol=1e-6)
