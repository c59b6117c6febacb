"""glTF files, parsed back: valid as the specification says, and moving as the motion moves."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from gambol.characters import build
from gambol.errors import InputError
from gambol.motion import Motion, Source
from gambol.motion.formats import glb, shapes
from gambol.rotations import multiply, rotate
from gambol.scenes import Scene
from samples import furnished_scene, swaying

_COMPONENTS = {5121: "u1", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_SHAPES = {"SCALAR": (), "VEC3": (3,), "VEC4": (4,), "MAT4": (4, 4)}
_BYTES, _FLOAT = 5121, 5126
FPS = 30.0


class Parsed:
    """A glb file taken apart, every container and accessor checked on the way."""

    def __init__(self, content: bytes):
        magic, version, length = struct.unpack_from("<4sII", content)
        assert (magic, version, length) == (b"glTF", 2, len(content))
        size, kind = struct.unpack_from("<I4s", content, 12)
        assert kind == b"JSON"
        assert size % 4 == 0
        self.root: dict[str, Any] = json.loads(content[20 : 20 + size])
        size_bin, kind = struct.unpack_from("<I4s", content, 20 + size)
        assert kind == b"BIN\0"
        assert size_bin % 4 == 0
        self.binary = content[28 + size :]
        assert len(self.binary) == size_bin
        assert 0 <= size_bin - self.root["buffers"][0]["byteLength"] < 4
        self.arrays = [self._array(accessor) for accessor in self.root["accessors"]]

    def _array(self, accessor: dict[str, Any]) -> np.ndarray:
        view = self.root["bufferViews"][accessor["bufferView"]]
        dtype, shape = np.dtype(_COMPONENTS[accessor["componentType"]]), _SHAPES[accessor["type"]]
        assert view["byteOffset"] % 4 == 0
        assert view["byteLength"] == dtype.itemsize * accessor["count"] * int(np.prod(shape))
        assert view["byteOffset"] + view["byteLength"] <= self.root["buffers"][0]["byteLength"]
        data = self.binary[view["byteOffset"] :][: view["byteLength"]]
        array = np.frombuffer(data, dtype).reshape(accessor["count"], *shape)
        assert np.isfinite(array).all()
        if "min" in accessor:
            flat = array.reshape(len(array), -1)
            np.testing.assert_array_equal(flat.min(axis=0), np.array(accessor["min"], dtype))
            np.testing.assert_array_equal(flat.max(axis=0), np.array(accessor["max"], dtype))
        return array

    @property
    def names(self) -> list[str]:
        return [node["name"] for node in self.root["nodes"]]

    def frames_at(self, time: int) -> tuple[np.ndarray, np.ndarray]:
        """World positions (n, 3) and quaternions (n, 4) wxyz of all nodes in gambol's axes, from nodes and channels."""
        local = [{key: node.get(key) for key in ("translation", "rotation")} for node in self.root["nodes"]]
        for animation in self.root.get("animations", []):
            for channel in animation["channels"]:
                values = self.arrays[animation["samplers"][channel["sampler"]]["output"]]
                local[channel["target"]["node"]][channel["target"]["path"]] = values[time]
        positions, quats = np.zeros((len(local), 3)), np.tile([1.0, 0, 0, 0], (len(local), 1))

        def place(node: int, position: np.ndarray, quat: np.ndarray) -> None:
            x, y, z, w = local[node]["rotation"] if local[node]["rotation"] is not None else (0, 0, 0, 1)
            moved = local[node]["translation"] if local[node]["translation"] is not None else np.zeros(3)
            positions[node] = position + rotate(quat, np.asarray(moved, float))
            quats[node] = multiply(quat, [w, x, y, z])
            for child in self.root["nodes"][node].get("children", []):
                place(child, positions[node], quats[node])

        for node in self.root["scenes"][0]["nodes"]:
            place(node, np.zeros(3), np.array([1.0, 0, 0, 0]))
        return positions[:, [2, 0, 1]], quats[:, [0, 3, 1, 2]]


def written(motion: Motion, folder: Path) -> Parsed:
    glb.write(motion, folder / "motion.glb", fps=FPS)
    return Parsed((folder / "motion.glb").read_bytes())


@pytest.fixture(scope="module")
def motion() -> Motion:
    return swaying(furnished_scene(), dt=1 / FPS)


@pytest.fixture(scope="module")
def parsed(motion: Motion, tmp_path_factory: pytest.TempPathFactory) -> Parsed:
    return written(motion, tmp_path_factory.mktemp("glb"))


@pytest.mark.parametrize("name", ["humanoid", "athlete", "quadruped"])
def test_nodes_move_as_the_bodies_do(name: str, tmp_path: Path) -> None:
    motion = swaying(Scene.alone(build(name)), dt=1 / FPS)
    parsed, poses, model = written(motion, tmp_path), motion.poses(), motion.scene.model
    nodes = [parsed.names.index(model.body(body).name.removeprefix(f"{name}/")) for body in range(1, model.nbody)]
    for time in np.random.default_rng(0).integers(0, len(motion), 5):
        positions, quats = parsed.frames_at(time)
        assert np.abs(positions[nodes] - poses.positions[time, 1:]).max() < 1e-4
        assert np.abs(np.sum(quats[nodes] * poses.quats[time, 1:], axis=1)).min() > 1 - 1e-6


def test_several_characters_furniture_props_and_targets_move_as_in_the_motion(motion: Motion, parsed: Parsed) -> None:
    poses, model = motion.poses(), motion.scene.model
    nodes = [parsed.names.index(model.body(body).name) for body in range(1, model.nbody)]
    for time in np.random.default_rng(1).integers(0, len(motion), 5):
        positions, _ = parsed.frames_at(time)
        assert np.abs(positions[nodes] - poses.positions[time, 1:]).max() < 1e-4
    animated = {parsed.names[c["target"]["node"]] for c in parsed.root["animations"][0]["channels"]}
    assert {"ball", "target"} <= animated
    assert not {"armchair", "floor"} & animated


def test_skins_follow_their_bodies(motion: Motion, parsed: Parsed) -> None:
    model, poses, time = motion.scene.model, motion.poses(), 17
    positions, quats = parsed.frames_at(time)
    skinned = [node for node in parsed.root["nodes"] if "skin" in node]
    assert len(skinned) == len(motion.scene.characters)
    for node in skinned:
        skin = parsed.root["skins"][node["skin"]]
        inverse = parsed.arrays[skin["inverseBindMatrices"]].transpose(0, 2, 1)
        np.testing.assert_array_equal(inverse[:, 3], np.tile([0, 0, 0, 1], (len(inverse), 1)))
        (primitive,) = parsed.root["meshes"][node["mesh"]]["primitives"]
        vertices, joints = (parsed.arrays[primitive["attributes"][key]] for key in ("POSITION", "JOINTS_0"))
        joint = joints[:, 0]
        in_joint = np.einsum("vij,vj->vi", inverse[joint, :3, :3], vertices) + inverse[joint, :3, 3]
        carriers = np.array(skin["joints"])[joint]
        world = positions[carriers] + rotate(quats[carriers], in_joint[:, [2, 0, 1]])
        for k in set(joint.tolist()):
            body = model.body(parsed.names[skin["joints"][k]]).id
            solids = [shapes.of_geom(model, geom, reach=1.0) for geom in np.flatnonzero(model.geom_bodyid == body)]
            expected = shapes.joined(solids).placed(poses.positions[time, body], poses.quats[time, body])
            assert np.abs(world[joint == k] - expected.vertices).max() < 1e-4


def test_what_the_specification_asks(parsed: Parsed) -> None:
    root, accessors, views = parsed.root, parsed.root["accessors"], parsed.root["bufferViews"]
    assert root["asset"]["version"] == "2.0"
    parents = [child for node in root["nodes"] for child in node.get("children", [])]
    assert len(parents) == len(set(parents))
    assert not set(parents) & set(root["scenes"][0]["nodes"])
    assert len(parsed.names) == len(set(parsed.names))
    for node in root["nodes"]:
        assert abs(np.linalg.norm(node.get("rotation", [0, 0, 0, 1])) - 1) < 1e-6
    for mesh in root["meshes"]:
        for primitive in mesh["primitives"]:
            counts = {accessors[index]["count"] for index in primitive["attributes"].values()}
            assert len(counts) == 1
            for index in primitive["attributes"].values():
                assert views[accessors[index]["bufferView"]]["target"] == 34962
            assert {"min", "max"} <= set(accessors[primitive["attributes"]["POSITION"]])
            normals = parsed.arrays[primitive["attributes"]["NORMAL"]]
            np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1, atol=1e-6)
            indices = parsed.arrays[primitive["indices"]]
            assert views[accessors[primitive["indices"]]["bufferView"]]["target"] == 34963
            assert len(indices) % 3 == 0
            assert indices.max() < counts.pop()
            assert 0 <= primitive["material"] < len(root["materials"])
            if "JOINTS_0" in primitive["attributes"]:
                weights = primitive["attributes"]["WEIGHTS_0"]
                assert accessors[weights]["normalized"]
                assert (parsed.arrays[weights].sum(axis=1) == 255).all()
    (animation,) = root["animations"]
    targets = [(c["target"]["node"], c["target"]["path"]) for c in animation["channels"]]
    assert len(targets) == len(set(targets))
    for sampler in animation["samplers"]:
        times, values = accessors[sampler["input"]], parsed.arrays[sampler["output"]]
        assert {"min", "max"} <= set(times)
        assert (np.diff(parsed.arrays[sampler["input"]]) > 0).all()
        assert times["count"] == len(values)
        assert "target" not in views[accessors[sampler["output"]]["bufferView"]]
        if values.shape[1] == 4:
            np.testing.assert_allclose(np.linalg.norm(values, axis=1), 1, atol=1e-6)
            assert (np.sum(values[1:] * values[:-1], axis=1) > 0).all()


def test_only_bodies_with_an_anchor_elsewhere_have_translations(tmp_path: Path) -> None:
    motion = swaying(Scene.alone(build("humanoid")), dt=1 / FPS)
    parsed, model = written(motion, tmp_path), motion.scene.model
    moved = {
        parsed.names[c["target"]["node"]]
        for c in parsed.root["animations"][0]["channels"]
        if c["target"]["path"] == "translation"
    }
    away = {model.body(model.jnt_bodyid[j]).name for j in range(model.njnt) if np.abs(model.jnt_pos[j]).max() > 0}
    assert moved == {"torso"} | {name.removeprefix("humanoid/") for name in away}


def test_source_and_strange_names_survive(tmp_path: Path) -> None:
    strange = 'big "quoted" \\ é 人'
    source = Source(method="partwise", task=strange, seed=3, figures={"score": np.float64(0.5), "bad": float("nan")})
    scene = Scene({strange: build("humanoid")})
    parsed = written(Motion(scene, 1 / FPS, scene.initial_qpos()[None], source=source), tmp_path)
    assert strange in parsed.names
    asset = parsed.root["asset"]
    assert asset["generator"].startswith("gambol ")
    assert asset["extras"] == {
        "method": "partwise",
        "task": strange,
        "seed": 3,
        "figures": {"score": 0.5, "bad": "nan"},
    }


def test_character_stands_upright_and_looks_along_z(tmp_path: Path) -> None:
    scene = Scene.alone(build("humanoid"))
    parsed = written(Motion(scene, 1 / FPS, scene.initial_qpos()[None]), tmp_path)
    node = next(node for node in parsed.root["nodes"] if "skin" in node)
    vertices = np.concatenate(
        [parsed.arrays[p["attributes"]["POSITION"]] for p in parsed.root["meshes"][node["mesh"]]["primitives"]]
    )
    assert np.argmax(np.ptp(vertices, axis=0)) == 1
    feet = vertices[vertices[:, 1] < vertices[:, 1].min() + 0.05]
    assert feet[:, 2].max() > -feet[:, 2].min()  # toes reach farther ahead than heels behind


def test_the_frame_rate_must_make_sense(motion: Motion, tmp_path: Path) -> None:
    for fps in (0.0, -30.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="frames a second"):
            glb.write(motion, tmp_path / "motion.glb", fps=fps)
    assert not list(tmp_path.iterdir())


def test_many_vertices_take_wide_indices(tmp_path: Path) -> None:
    scene = Scene.from_description(
        {"terrain": {"shape": "rough", "size": 28.0}, "characters": {"humanoid": "humanoid"}}
    )
    assert mujoco.mj_name2id(scene.model, mujoco.mjtObj.mjOBJ_GEOM, "floor") >= 0
    parsed = written(Motion(scene, 1 / FPS, scene.initial_qpos()[None]), tmp_path)
    mesh = parsed.root["meshes"][parsed.root["nodes"][parsed.names.index("floor")]["mesh"]]
    indices = parsed.arrays[mesh["primitives"][0]["indices"]]
    assert indices.dtype == np.uint32
    assert indices.max() == 281**2 - 1


SOLIDS = {
    "box": ("size='.1 .2 .3'", 8 * 0.1 * 0.2 * 0.3),
    "sphere": ("size='.2'", 4 / 3 * np.pi * 0.2**3),
    "capsule": ("size='.1 .3'", np.pi * (4 / 3 * 0.1**3 + 0.6 * 0.1**2)),
    "cylinder": ("size='.1 .3'", np.pi * 0.6 * 0.1**2),
    "ellipsoid": ("size='.1 .2 .3'", 4 / 3 * np.pi * 0.1 * 0.2 * 0.3),
    "mesh": ("mesh='wedge'", 0.3**3 / 6),
}


@pytest.mark.parametrize("kind", SOLIDS)
def test_meshes_are_closed_and_lie_on_their_solids(kind: str) -> None:
    attributes, volume = SOLIDS[kind]
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><asset><mesh name='wedge' vertex='0 0 0 .3 0 0 0 .3 0 0 0 .3'/></asset><worldbody>
        <geom type='{kind}' {attributes} pos='.1 -.2 .3' euler='20 40 60'/></worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mesh = shapes.of_geom(model, 0, reach=1.0)
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    across = np.cross(b - a, c - a)
    assert np.abs(across.sum(axis=0)).max() < 1e-6  # closed: the faces' areas cancel out
    assert 0.95 * volume < np.sum(a * across) / 6 <= volume * (1 + 1e-6)
    assert (np.einsum("fi,fki->fk", across, mesh.normals[mesh.faces]) > 0).all()
    for vertex, normal in zip(mesh.vertices, mesh.normals, strict=True):
        # a hair inside the vertex there is the solid, a hair outside there is not
        inward = vertex - 1e-3 * (normal + (vertex - data.geom_xpos[0]) / np.linalg.norm(vertex - data.geom_xpos[0]))
        start = vertex + (vertex - data.geom_xpos[0])
        distance = mujoco.mj_ray(model, data, start, inward - start, None, 1, -1, np.zeros(1, np.int32), None)
        assert abs(distance * np.linalg.norm(inward - start) - np.linalg.norm(vertex - start)) < 5e-3


def test_ground_meshes_are_the_ground_that_is_simulated() -> None:
    scene = Scene.from_description({"terrain": {"shape": "rough", "size": 4.0, "cell": 0.4, "height": 3.0}})
    model, data = scene.model, mujoco.MjData(scene.model)
    mujoco.mj_kinematics(model, data)
    mesh = shapes.of_geom(model, 0, reach=10.0)
    assert len(mesh.vertices) == 11 * 11
    assert np.abs(shapes.of_geom(model, 0, reach=1.0).vertices[:, :2]).max() == pytest.approx(0.8)
    down, rng = np.array([0.0, 0.0, -1.0]), np.random.default_rng(0)
    inside = rng.dirichlet([1, 1, 1], len(mesh.faces))
    for point in np.einsum("fk,fki->fi", inside, mesh.vertices[mesh.faces]):
        height = 10.0 - mujoco.mj_ray(model, data, [*point[:2], 10.0], down, None, 1, -1, np.zeros(1, np.int32), None)
        assert abs(height - point[2]) < 1e-5


def test_another_rate_is_resampled(tmp_path: Path) -> None:
    motion = swaying(Scene.alone(build("humanoid")), dt=1 / 120, frames=121)
    parsed = written(motion, tmp_path)
    sampler = parsed.root["animations"][0]["samplers"][0]
    np.testing.assert_allclose(parsed.arrays[sampler["input"]], np.arange(31) / FPS, atol=1e-6)
    positions, _ = parsed.frames_at(7)
    model = motion.scene.model
    node = parsed.names.index("right_hand")
    assert np.abs(positions[node] - motion.poses().positions[28, model.body("humanoid/right_hand").id]).max() < 1e-4
