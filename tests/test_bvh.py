"""BVH in and out: what programs write is read, what is broken is refused with its line, nothing moves on the way."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gambol.characters import build, bvh
from gambol.characters.skeleton import Skeleton, SkeletonClip
from gambol.errors import InputError
from gambol.motion import formats
from gambol.motion.formats import bvh as bvh_format
from gambol.motion.motion import Motion
from gambol.motion.skeletal import skeletal_clip
from gambol.rotations import IDENTITY, from_euler, normalise
from gambol.scenes import Scene

SHARED = Path(__file__).parents[2] / "shared"
SAMPLES = SHARED / "data" / "cmu_bvh_sample.tar.xz"
needs_samples = pytest.mark.skipif(not SAMPLES.exists(), reason="the sample BVH files are not here")

SMALL = """HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Tail
  {
    OFFSET 0 10 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    End Site
    {
      OFFSET 0 5 0
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.05
0 90 0 0 0 0 10 20 30
1 90 2 0 0 90 10 20 30
"""
RAW = {"scale": 1.0, "up": "+z", "forward": "+x"}
"""Options that leave lengths and axes as they are in the text."""


def same_world(text: str) -> SkeletonClip:
    return bvh.parse(text, **RAW)


def chain(count: int, frames: int = 4, seed: int = 0) -> SkeletonClip:
    rng = np.random.default_rng(seed)
    parents = (-1, *(int(rng.integers(0, j)) for j in range(1, count)))
    offsets = np.concatenate([np.zeros((1, 3)), rng.normal(0, 0.3, (count - 1, 3))])
    skeleton = Skeleton(
        tuple(f"joint {j}" for j in range(count)), parents, offsets, {"joint 0": rng.normal(size=(2, 3))}
    )
    rotations = normalise(rng.normal(size=(frames, count, 4)))
    return SkeletonClip(skeleton, 1 / 24, rng.normal(size=(frames, 3)), rotations)


def furthest(first: SkeletonClip, second: SkeletonClip) -> float:
    """The largest distance between joints of the same name, white space aside."""
    names = ["_".join(name.split()) for name in second.skeleton.names]
    order = [names.index("_".join(name.split())) for name in first.skeleton.names]
    return float(np.abs(second.global_frames()[0][:, order] - first.global_frames()[0]).max())


def test_values_and_axes() -> None:
    clip = same_world(SMALL)
    assert clip.skeleton.names == ("Hips", "Tail")
    assert clip.dt == 0.05
    np.testing.assert_allclose(clip.root, [[0, 90, 0], [1, 90, 2]])
    np.testing.assert_allclose(clip.rotations[0, 1], from_euler("ZXY", np.deg2rad([10, 20, 30])))
    np.testing.assert_allclose(clip.skeleton.tips["Tail"], [[0, 5, 0]])
    ours = bvh.parse(SMALL, scale=0.01)
    np.testing.assert_allclose(ours.root, [[0, 0, 0.9], [0.02, 0.01, 0.9]])
    # a quarter turn about BVH's up, Y, carries forward to left
    np.testing.assert_allclose(ours.rotations[1, 0], [np.sqrt(0.5), 0, 0, np.sqrt(0.5)], atol=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        SMALL.replace("\n", "\r\n"),
        SMALL.replace("\n", "\r"),
        "\ufeff\n\n".lstrip("\ufeff") + SMALL,
        SMALL.replace("\n{", " {"),
        SMALL.replace("  ", "\t \t"),
        SMALL.replace("HIERARCHY", "hierarchy").replace("JOINT", "Joint").replace("Zrotation", "zRotation"),
        SMALL.replace("}\nMOTION", "} MOTION"),
        SMALL.replace("Frames: 2", "Frames:2").replace("Frame Time: 0.05", "FRAME TIME :\t5e-2"),
        SMALL.replace("0 90 0 0 0 0 10 20 30", "0 9.0e1 0\n0 0 0 1E1\n20 3.0e+01\n\n"),
        SMALL.replace("End Site", "End Site tail end"),
        SMALL + "\n\n   \n",
    ],
)
def test_tolerance(text: str) -> None:
    clip, plain = same_world(text), same_world(SMALL)
    np.testing.assert_allclose(clip.rotations, plain.rotations)
    np.testing.assert_allclose(clip.root, plain.root)
    assert clip.skeleton.describe() == plain.skeleton.describe()


def test_byte_order_mark_and_old_encodings(tmp_path: Path) -> None:
    path = tmp_path / "a.bvh"
    path.write_bytes(b"\xef\xbb\xbf" + SMALL.encode())
    assert len(bvh.load(path)) == 2
    path.write_bytes(SMALL.replace("Tail", "Rücken").encode("latin-1"))
    assert bvh.load(path).skeleton.names == ("Hips", "Rücken")


def test_odd_channels_and_names() -> None:
    text = """HIERARCHY
ROOT left  leg
{ OFFSET 1 2 3 CHANNELS 2 Yposition Xrotation
  JOINT same { OFFSET 0 1 0 CHANNELS 0 JOINT same { OFFSET 0 1 0 CHANNELS 1 Zrotation End Site { OFFSET 0 1 0 } } }
  JOINT same { OFFSET 0 2 0 CHANNELS 6 Zrotation Xposition Zrotation Zposition Yrotation Yposition
    End Site { OFFSET 1 0 0 } End Site { OFFSET 0 1 0 } End Site { OFFSET 0 0 0 } }
}
MOTION Frames: 1 Frame Time: 1
7 90 45 30 0.5 60 0.25 0 4
"""
    clip = same_world(text)
    assert clip.skeleton.names == ("left leg", "same", "same_2", "same_3")
    np.testing.assert_allclose(clip.root, [[1, 7, 3]])
    np.testing.assert_allclose(clip.rotations[0, 1], IDENTITY)
    np.testing.assert_allclose(clip.rotations[0, 0], from_euler("X", np.deg2rad([90])))
    np.testing.assert_allclose(clip.rotations[0, 3], from_euler("ZZY", np.deg2rad([30, 60, 0])))
    np.testing.assert_allclose(clip.moving["same_3"], [[0.5, 4, 0.25]])
    assert clip.skeleton.tips["same_3"].shape == (2, 3)
    np.testing.assert_allclose(clip.global_frames()[0][0, 3], [1.5, 7 - 0.25, 3 + 4])


BROKEN = [
    ("", "line 1: is not a BVH"),
    ("PK\x03\x04", "line 1: is not a BVH"),
    (SMALL[: SMALL.index("JOINT")], "the hierarchy ends"),
    (SMALL.replace("ROOT Hips", "Hips"), "line 2: 'Hips' where ROOT is expected"),
    (SMALL.replace("ROOT Hips", "JOINT Hips"), "line 2: JOINT stands before ROOT"),
    (SMALL.replace("    OFFSET 0 10 0\n", ""), "line 6: joint 'Tail' has no OFFSET"),
    (SMALL.replace("OFFSET 0 10 0", "OFFSET 0 ten 0"), "line 8: 'ten' is not a number"),
    (SMALL.replace("OFFSET 0 10 0", "OFFSET 0 nan 0"), "line 8: 'nan' is not a finite"),
    (SMALL.replace("OFFSET 0 10 0", "OFFSET 0 10"), "line 9: 'CHANNELS' is not a number"),
    (SMALL.replace("CHANNELS 3", "CHANNELS 4"), "line 10: 'End' is not a channel"),
    (SMALL.replace("CHANNELS 3", "CHANNELS 2"), "line 9: 'Yrotation' is not expected"),
    (SMALL.replace("CHANNELS 3", "CHANNELS many"), "line 9: 'many' is not a number of channels"),
    (SMALL.replace("MOTION", "} MOTION"), "line 16: '}' after the hierarchy"),
    (SMALL.replace("MOTION", "ROOT Other { OFFSET 0 0 0 }\nMOTION"), "line 16: a second ROOT"),
    (SMALL[: SMALL.index("MOTION")], "no MOTION"),
    (SMALL[: SMALL.index("Frame Time")], "line 16: MOTION is not followed"),
    (SMALL[: SMALL.index("0 90")], "line 18: 'Frames:' says 2, but 0"),
    (SMALL[: SMALL.index("1 90")], "line 18: 'Frames:' says 2, but 1"),
    (SMALL[:-4], "line 20: 8 values where the hierarchy has 9"),
    (SMALL.replace("10 20 30", "10 20"), "line 19: 8 values"),
    (SMALL.replace("Frames: 2", "Frames: 99999999999"), "says 99999999999, but 2"),
    (SMALL.replace("Frames: 2", f"Frames: {'9' * 5000}"), "line 17: .* is not a number of frames"),
    (SMALL.replace("Frames: 2", "Frames: 0"), "line 17: '0' is not a number of frames"),
    (SMALL.replace("Frames: 2", "Frames: -2"), "line 17"),
    (SMALL.replace("0.05", "0"), "line 18: a frame time of 0 s"),
    (SMALL.replace("0.05", "-0.05"), "line 18: a frame time"),
    (SMALL.replace("0.05", "1e30"), "line 18: a frame time"),
    (SMALL.replace("0.05", "soon"), "line 18: 'soon' is not a number"),
    (SMALL.replace("10 20 30\n1", "10 NaN 30\n1"), "line 19: 'NaN' is not a finite"),
    (SMALL.replace("1 90 2", "1 inf 2"), "line 20: 'inf' is not a finite"),
    (SMALL.replace("1 90 2", "1 9,5 2"), "(?s)line 20: '9,5' is not a number.*point"),
    (SMALL.replace("1 90 2", "1 1e999 2"), "line 20: '1e999' is not a finite"),
    (SMALL.replace("CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation", "")
     .replace("CHANNELS 3 Zrotation Xrotation Yrotation", ""), "no joint has channels"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "match"), BROKEN)
def test_broken_files_say_where(text: str, match: str) -> None:
    with pytest.raises(InputError, match=match) as caught:
        bvh.parse(text, file="my.bvh")
    assert str(caught.value).startswith("my.bvh: ")


def test_bombs_are_refused_quickly() -> None:
    deep = "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\n" + "JOINT a\n{\nOFFSET 0 0 1\n" * 100_000
    with pytest.raises(InputError, match="nested deeper"):
        bvh.parse(deep)
    wide = "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\n" + "JOINT a\n{\nOFFSET 0 0 1\n}\n" * 3000
    with pytest.raises(InputError, match="more than 2000 joints"):
        bvh.parse(wide + "}\nMOTION\n")
    joints = "JOINT a\n{\nOFFSET 0 0 1\n}\n" * 1900
    lean = (
        f"HIERARCHY\nROOT a\n{{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\n{joints}}}\nMOTION\nFrames: 20000\nFrame Time: 1\n"
    )
    with pytest.raises(InputError, match="rotations"):
        bvh.parse(lean + "0\n" * 20_000)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_mutated_text_is_read_or_refused(data: st.DataObject) -> None:
    text = SMALL
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 12))
        text = (
            text[:start]
            + data.draw(st.text("{}0123456789.eE-+ \nOFSETJINRHCDxyz:\0", max_size=6))
            + text[start + length :]
        )
    try:
        clip = bvh.parse(text)
    except InputError:
        return
    assert np.isfinite(clip.global_frames()[0]).all()


@pytest.mark.parametrize("order", bvh.ORDERS)
def test_round_trip_of_any_skeleton(order: str) -> None:
    clip = chain(12)
    text = bvh.render(clip, order=order, unit=0.0254, up="-x", forward="+y")
    assert furthest(clip, bvh.parse(text, scale=0.0254, up="-x", forward="+y")) < 1e-6


def test_round_trip_keeps_sliding_joints() -> None:
    clip = chain(5)
    track = np.random.default_rng(1).normal(size=(4, 3))
    clip = SkeletonClip(clip.skeleton, clip.dt, clip.root, clip.rotations, {"joint 3": track})
    again = bvh.parse(bvh.render(clip), scale=0.01, up="+y", forward="+z")
    assert furthest(clip, again) < 1e-6
    assert list(again.moving) == ["joint_3"]


def test_written_angles_do_not_jump() -> None:
    turn = np.linspace(0, 4 * np.pi, 60)
    rotations = from_euler("ZX", np.stack([turn, 0.3 * np.sin(turn)], axis=-1))[:, None]
    clip = SkeletonClip(
        Skeleton(("a",), (-1,), np.zeros((1, 3)), {"a": [[0, 0, 1]]}), 0.1, np.zeros((60, 3)), rotations
    )
    rows = bvh.render(clip).splitlines()[-60:]
    angles = np.array([[float(word) for word in row.split()[3:]] for row in rows])
    assert np.abs(np.diff(angles, axis=0)).max() < 40


@pytest.mark.parametrize("options", [{"order": "XYX"}, {"unit": 0}, {"up": "+y", "forward": "-y"}, {"up": "north"}])
def test_wrong_options_of_the_writer(options: dict[str, object]) -> None:
    with pytest.raises(InputError):
        bvh.render(chain(2), **options)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "options", [{"scale": "cm"}, {"scale": -1}, {"scale": float("nan")}, {"up": "y", "forward": "y"}]
)
def test_wrong_options_of_the_reader(options: dict[str, object]) -> None:
    with pytest.raises(InputError):
        bvh.parse(SMALL, **options)  # pyright: ignore[reportArgumentType]


def test_skip_first() -> None:
    assert len(bvh.parse(SMALL, skip_first=True)) == 1
    one = SMALL.replace("Frames: 2", "Frames: 1").replace("1 90 2 0 0 90 10 20 30\n", "")
    with pytest.raises(InputError, match="one frame only"):
        bvh.parse(one, skip_first=True)


def humanoid_motion(frames: int = 12) -> Motion:
    character = build("humanoid")
    rng = np.random.default_rng(0)
    qpos = np.tile(character.pose_qpos("standing"), (frames, 1))
    qpos[:, 7:] += np.cumsum(rng.normal(0, 0.05, (frames, character.model.nq - 7)), axis=0)
    qpos[:, :3] = np.cumsum(rng.normal(0, 0.05, (frames, 3)), axis=0) + [0, 0, 1.2]
    qpos[:, 3:7] = normalise([1, 0.1, -0.2, 0.8] + np.cumsum(rng.normal(0, 0.1, (frames, 4)), axis=0))
    return Motion(Scene({"bob": character}), 1 / 30, qpos)


@pytest.mark.parametrize("unit", [1.0, 0.01, 0.0254, 0.001])
@pytest.mark.parametrize(("up", "forward"), [("+y", "+z"), ("+z", "-y"), ("+y", "-x")])
def test_units_and_axes_are_found(tmp_path: Path, unit: float, up: str, forward: str) -> None:
    motion = humanoid_motion()
    bvh_format.write(motion, tmp_path / "a.bvh", unit=unit, up=up, forward=forward)
    assert furthest(skeletal_clip(motion), bvh.load(tmp_path / "a.bvh")) < 1e-5


def test_humanoid_there_and_back(tmp_path: Path) -> None:
    motion = humanoid_motion()
    formats.write(motion, tmp_path / "walk.bvh")
    again = formats.read(tmp_path / "walk.bvh")
    assert again.scene.main_character == "walk"
    assert again.dt == pytest.approx(motion.dt)
    assert furthest(skeletal_clip(motion), skeletal_clip(again)) < 1e-4
    with pytest.raises(InputError, match="no character"):
        bvh_format.write(motion, tmp_path / "walk.bvh", character="alice")


@needs_samples
def test_samples_survive_export(tmp_path: Path) -> None:
    with tarfile.open(SAMPLES) as tar:
        members = [member for member in tar.getmembers() if member.name.endswith(".bvh")]
        texts = [io.TextIOWrapper(file).read() for m in members[::6] if (file := tar.extractfile(m))]
    assert len(members) == 24
    for text in texts:
        (tmp_path / "in.bvh").write_text(text)
        clip = bvh.load(tmp_path / "in.bvh", skip_first=True)
        motion = bvh_format.read(tmp_path / "in.bvh", skip_first=True)
        bvh_format.write(motion, tmp_path / "out.bvh")
        assert furthest(clip, bvh.load(tmp_path / "out.bvh")) < 1e-4
        head = clip.global_frames()[0][:, clip.skeleton.names.index("Head"), 2]
        assert 1.1 < np.percentile(head, 90) < 1.8
