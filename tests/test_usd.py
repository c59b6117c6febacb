"""USD files, opened with Pixar's own library: joints, skins and things are where the motion has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gambol.characters import build
from gambol.motion import Motion, Source
from gambol.motion.formats import shapes, usd
from gambol.scenes import Scene, parse_objects
from samples import furnished_scene, swaying

pxr = pytest.importorskip("pxr", reason="usd-core is not installed")
from pxr import Gf, Tf, Usd, UsdGeom, UsdShade, UsdSkel, Vt  # noqa: E402

FPS = 30.0


def opened(motion: Motion, folder: Path, name: str = "motion.usda") -> Any:
    usd.write(motion, folder / name, fps=FPS)
    return Usd.Stage.Open(str(folder / name))


def joint_positions(stage: Any, path: str, frame: int) -> tuple[list[str], np.ndarray]:
    """Names and world positions (J, 3) of a skeleton's joints as UsdSkel computes them."""
    cache = UsdSkel.Cache()
    cache.Populate(UsdSkel.Root.Get(stage, path), Usd.PrimDefaultPredicate)
    skeleton = UsdSkel.Skeleton.Get(stage, f"{path}/{path.rsplit('/', 1)[1]}_skeleton")
    query = cache.GetSkelQuery(skeleton)
    transforms = query.ComputeJointSkelTransforms(Usd.TimeCode(frame))
    to_world = UsdGeom.XformCache(Usd.TimeCode(frame)).GetLocalToWorldTransform(query.GetPrim())
    return list(skeleton.GetJointNamesAttr().Get()), np.array(
        [(transform * to_world).ExtractTranslation() for transform in transforms]
    )


@pytest.fixture(scope="module")
def motion() -> Motion:
    return swaying(furnished_scene(), dt=1 / FPS)


@pytest.fixture(scope="module")
def stage(motion: Motion, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return opened(motion, tmp_path_factory.mktemp("usd"))


def test_joints_are_where_the_bodies_are(motion: Motion, stage: Any) -> None:
    poses, model = motion.poses(), motion.scene.model
    for character in motion.scene.characters:
        for frame in np.random.default_rng(0).integers(0, len(motion), 5):
            names, positions = joint_positions(stage, f"/scene/{character}", int(frame))
            bodies = [model.body(f"{character}/{name}").id for name in names]
            assert len(names) == len(motion.scene.characters[character].bodies)
            assert np.abs(positions - poses.positions[frame, bodies]).max() < 1e-4


def test_skins_are_where_the_solids_are(motion: Motion, stage: Any) -> None:
    poses, model, frame = motion.poses(), motion.scene.model, 23
    cache = UsdSkel.Cache()
    root = UsdSkel.Root.Get(stage, "/scene/one")
    cache.Populate(root, Usd.PrimDefaultPredicate)
    (binding,) = cache.ComputeSkelBindings(root, Usd.PrimDefaultPredicate)
    transforms = cache.GetSkelQuery(binding.GetSkeleton()).ComputeSkinningTransforms(Usd.TimeCode(frame))
    (target,) = binding.GetSkinningTargets()
    points = UsdGeom.Mesh(target.GetPrim()).GetPointsAttr().Get()
    skinned = Vt.Vec3fArray(points)
    assert target.ComputeSkinnedPoints(transforms, skinned, Usd.TimeCode(frame))
    expected = [
        shapes.of_geom(model, geom, reach=1.0).placed(poses.positions[frame, body], poses.quats[frame, body]).vertices
        for body in motion.scene.spans["one"].bodies
        for geom in np.flatnonzero(model.geom_bodyid == body)
    ]
    assert np.abs(np.array(skinned) - np.concatenate(expected)).max() < 1e-4


def test_things_are_where_they_are(motion: Motion, stage: Any) -> None:
    poses, model = motion.poses(), motion.scene.model
    for name in ("armchair", "ball", "target"):
        body = model.body(name).id
        for frame in (0, 31, len(motion) - 1):
            prim = UsdGeom.Xformable(stage.GetPrimAtPath(f"/scene/{name}"))
            matrix = prim.ComputeLocalToWorldTransform(Usd.TimeCode(frame))
            point = np.array(matrix.Transform(Gf.Vec3d(0.1, 0.2, 0.3)))
            quat = Gf.Quatd(*map(float, poses.quats[frame, body]))
            turned = np.array(Gf.Rotation(quat).TransformDir(Gf.Vec3d(0.1, 0.2, 0.3)))
            assert np.abs(point - poses.positions[frame, body] - turned).max() < 1e-4
    assert not UsdGeom.Xformable(stage.GetPrimAtPath("/scene/armchair")).TransformMightBeTimeVarying()
    assert stage.GetPrimAtPath("/scene/floor/floor_surface_1")


def test_stage_says_its_units_axes_and_times(motion: Motion, stage: Any) -> None:
    assert UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.z
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    assert stage.GetTimeCodesPerSecond() == FPS
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0.0, len(motion) - 1)
    assert stage.GetDefaultPrim().GetPath() == "/scene"


def test_meshes_are_sound_and_have_materials(stage: Any) -> None:
    meshes = [prim for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh)]
    assert len(meshes) >= 5
    for prim in meshes:
        mesh = UsdGeom.Mesh(prim)
        points = mesh.GetPointsAttr().Get()
        sound, reason = UsdGeom.Mesh.ValidateTopology(
            mesh.GetFaceVertexIndicesAttr().Get(), mesh.GetFaceVertexCountsAttr().Get(), len(points)
        )
        assert sound, reason
        assert len(mesh.GetNormalsAttr().Get()) == len(points)
        material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
        assert material.ComputeSurfaceSource()[0].GetIdAttr().Get() == "UsdPreviewSurface"


def test_validators_find_nothing(stage: Any) -> None:
    validation = pytest.importorskip("pxr.UsdValidation", reason="this usd-core has no validators")
    validators = validation.ValidationRegistry().GetOrLoadAllValidators()
    errors = validation.ValidationContext(validators).Validate(stage)
    assert not [error.GetMessage() for error in errors]


def test_strange_and_clashing_names_and_sources(tmp_path: Path) -> None:
    strange = 'quo"te \\ 人 line'
    objects, terrain = parse_objects({"a-b": {"kind": "stool"}, "a_b": {"kind": "stool"}, "2nd": {"kind": "stool"}})
    scene = Scene(
        {"a.b": build("humanoid"), strange: build("humanoid"), "materials": build("humanoid")}, objects, terrain
    )
    source = Source(task=strange, seed=1, figures={"bad": float("inf"), "good": np.float32(0.5)})
    stage = opened(Motion(scene, 1 / FPS, scene.initial_qpos()[None], source=source), tmp_path, "motion.usd")
    children = [prim.GetName() for prim in stage.GetPrimAtPath("/scene").GetChildren()]
    assert len(children) == 1 + 3 + 3 + 1
    assert all(Tf.IsValidIdentifier(name) for name in children)
    assert {"a_b", "a_b_2", "a_b_3", "_2nd", "materials_2"} <= set(children)
    shown = {prim.GetDisplayName() for prim in stage.GetPrimAtPath("/scene").GetChildren()}
    assert {strange, "a-b", "2nd"} <= shown
    told = json.loads(stage.GetRootLayer().customLayerData["gambol"])
    assert told == {"task": strange, "seed": 1, "figures": {"bad": "inf", "good": 0.5}}
