"""Scenes: published sizes, stable names, placement, terrain."""

from __future__ import annotations

import pickle

import mujoco
import numpy as np
import pytest

from gambol.characters import build
from gambol.errors import InputError
from gambol.scenes import KINDS, Placement, Scene, Terrain, parse_objects, place

SHAPES = ["slope", "stairs", "rough", "hill", "pyramid", "stepping-stones"]


def scene_of(description, *characters: str) -> Scene:
    objects, terrain = parse_objects(description)
    return Scene({name: build(name) for name in characters or ("humanoid",)}, objects, terrain)


def top_of(scene: Scene, solid: str) -> float:
    """Highest point of a box or cylinder, by casting a ray down on it."""
    data = mujoco.MjData(scene.model)
    mujoco.mj_forward(scene.model, data)
    geom = scene.model.geom(solid).id
    x, y, _ = data.geom_xpos[geom]
    hit = np.zeros(1, np.int32)
    length = mujoco.mj_ray(scene.model, data, np.array([x, y, 10.0]), np.array([0.0, 0.0, -1.0]), None, 1, -1, hit)
    return 10.0 - length


@pytest.mark.parametrize(
    ("description", "solid", "height"),
    [
        ("armchair", "armchair/seat", 0.37),
        ({"armchair": {"height": 0.12}}, "armchair/seat", 0.29),
        ({"armchair": {"height": 0.04}}, "armchair/seat", 0.21),
        ("stool", "stool/seat", 0.4),
        ({"stool": {"height": 0.001}}, "stool/seat", 0.001),
        ("bench", "bench/seat", 0.30),
        ({"bench": {"height": 0.35}}, "bench/seat", 0.40),
        ({"bench": {"height": 0.05}}, "bench/seat", 0.10),
        ("bed", "bed/mattress", 0.30),
        ("table", "table/top", 0.70),
        ({"table": {"height": 0.35}}, "table/top", 0.50),
        ({"table": {"height": 0.75}}, "table/top", 0.90),
        ({"box": {"height": 0.6}}, "box/block", 0.6),
    ],
)
def test_furniture_has_the_published_heights(description, solid: str, height: float) -> None:
    objects, terrain = parse_objects(description)
    scene = Scene({}, objects, terrain)
    assert top_of(scene, solid) == pytest.approx(height, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_every_object_compiles_and_keeps_its_names(kind: str) -> None:
    scene = scene_of(kind)
    assert scene.frame(kind).kind == "body"
    for solid in KINDS[kind]().solids():
        assert scene.frame(f"{kind}/{solid.name}").kind == "geom"


def test_friction_of_furniture_decides() -> None:
    """A box slides on a smooth tilted bench and stays on a rough one (Table 3's variants)."""
    travelled = {}
    for friction in (0.1, 1.0):
        objects, terrain = parse_objects(
            {
                "bench": {"roll": 10, "friction": friction},
                "crate": {"at": [-0.3, 0], "size": [0.1, 0.1, 0.1], "lift": 0.32},
            }
        )
        scene = Scene({}, objects, terrain)
        data = mujoco.MjData(scene.model)
        for _ in range(200):
            mujoco.mj_step(scene.model, data)
        travelled[friction] = abs(data.body("crate").xpos[1])
    assert travelled[0.1] > 0.2 > travelled[1.0]


def test_names_may_be_short_where_there_is_no_doubt() -> None:
    scene = Scene({"alice": build("humanoid"), "bob": build("humanoid")}, *parse_objects("armchair"))
    assert scene.frame("alice/pelvis").index != scene.frame("bob/pelvis").index
    with pytest.raises(InputError, match="alice or bob"):
        scene.frame("pelvis")
    assert scene_of("armchair").frame("pelvis").name == "humanoid/pelvis"
    assert scene.frame("floor").kind == "world"
    with pytest.raises(InputError, match="armchair/seat"):
        scene.frame("armchair/saet")


def test_spans_cover_the_whole_state() -> None:
    scene = Scene({"alice": build("humanoid"), "rex": build("quadruped")}, *parse_objects({"ball": {"at": [1, 1]}}))
    model = scene.model
    spans = scene.spans
    sizes = sum(s.qpos.stop - s.qpos.start for s in spans.values())
    assert sizes + 7 == model.nq
    assert sum(s.ctrl.stop - s.ctrl.start for s in spans.values()) == model.nu
    assert model.joint(int(model.body_jntadr[spans["rex"].bodies[0]])).name == "rex/root"


@pytest.mark.parametrize("kind", ["armchair", "stool", "bench", "bed", "table"])
def test_characters_start_in_place_without_overlap(kind: str) -> None:
    scene = scene_of(kind)
    for pose in KINDS[kind]().spots():
        data = mujoco.MjData(scene.model)
        data.qpos[:] = place(scene, pose)
        mujoco.mj_forward(scene.model, data)
        assert data.ncon > 0, "touches something"
        assert min(c.dist for c in data.contact) > -0.01


def test_placement_says_where_and_how() -> None:
    scene = scene_of(None)
    qpos = place(scene, Placement(pose="standing", at=(2.0, -1.0), yaw=90.0))
    data = mujoco.MjData(scene.model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(scene.model, data)
    np.testing.assert_allclose(data.body("humanoid/pelvis").xpos[:2], [2.0, -1.0], atol=1e-6)
    np.testing.assert_allclose(data.body("humanoid/torso").xmat.reshape(3, 3)[:, 0], [0, 1, 0], atol=1e-6)
    with pytest.raises(InputError, match="start.on"):
        place(scene, Placement(on="sofa"))
    with pytest.raises(InputError, match="finite numbers"):
        place(scene, Placement(qpos=(1.0, 2.0)))


@pytest.mark.parametrize("shape", SHAPES)
def test_terrain_is_made_from_its_seed_and_matches_what_is_simulated(shape: str) -> None:
    terrain = Terrain(shape=shape, seed=3, height=0.4)
    again, other = Terrain(shape=shape, seed=3, height=0.4), Terrain(shape=shape, seed=4, height=0.4)
    heights = terrain.heights()
    np.testing.assert_array_equal(heights, again.heights())
    if shape in ("rough", "stepping-stones"):
        assert np.abs(heights - other.heights()).max() > 0.01
    assert terrain.height_at(0, 0) == pytest.approx(0.0, abs=1e-9)
    assert np.ptp(heights) > 0.1
    scene = Scene({}, {}, terrain)
    data = mujoco.MjData(scene.model)
    mujoco.mj_forward(scene.model, data)
    rng = np.random.default_rng(0)
    hit = np.zeros(1, np.int32)
    gaps = []
    for x, y in rng.uniform(-8, 8, (20, 2)):
        length = mujoco.mj_ray(scene.model, data, np.array([x, y, 10.0]), np.array([0, 0, -1.0]), None, 1, -1, hit)
        gaps.append(abs(10.0 - length - terrain.height_at(x, y)))
    assert np.median(gaps) < 0.01
    np.testing.assert_allclose(terrain.mirrored().heights(), heights[::-1], atol=1e-9)


def test_a_scene_survives_description_and_travel() -> None:
    scene = scene_of(
        {"bench": {"height": 0.3, "tilt": 5}, "floor": {"shape": "rough", "seed": 2}, "ball": {"at": [2, 0]}}
    )
    for again in (Scene.from_description(scene.describe()), pickle.loads(pickle.dumps(scene))):
        assert again.describe() == scene.describe()
        np.testing.assert_array_equal(again.model.body_pos, scene.model.body_pos)


@pytest.mark.parametrize(
    ("description", "said"),
    [
        ("sofa", "no kind of object"),
        ({"armchair": {"hight": 0.2}}, "scene.armchair.hight: unknown key"),
        ({"armchair": {"height": "tall"}}, "scene.armchair.height"),
        ({"armchair": {"height": float("nan")}}, "finite"),
        ({"mine": {"kind": "stool", "radius": -1}}, "scene.mine.radius"),
        ({"floor": {"shape": "lava"}}, "scene.floor.shape"),
        ([1, 2], "a name or a mapping"),
        ({"armchair": 3}, "mapping of settings"),
        ({f"b{i}": {"kind": "box"} for i in range(500)}, "at most"),
    ],
)
def test_wrong_scenes_are_refused_by_key(description, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_objects(description)


def test_two_things_cannot_share_a_name() -> None:
    with pytest.raises(InputError, match="twice"):
        Scene({"armchair": build("humanoid")}, *parse_objects("armchair"))
