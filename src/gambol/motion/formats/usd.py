"""Text USD (``.usda``, also valid as ``.usd``), for Houdini, Maya, Omniverse and Blender: UsdSkel, Z up, metres.

Under one ``scene`` prim, each character is a SkelRoot with its Skeleton, a SkelAnimation and skinned meshes; everything
else is an Xform with meshes. Names of the prims inside say whose they are, for tools that flatten the tree. A time code
is a frame.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gambol import files
from gambol.motion.formats import staging
from gambol.motion.formats.staging import Actor, Colour, Stage, Surface, Thing, UniqueNames
from gambol.rotations import Array, to_matrix
from gambol.version import __version__

if TYPE_CHECKING:
    from gambol.motion.motion import Motion, Poses

_SCENE = "scene"
_MATERIALS = "materials"
_Lines = list[str]


def write(motion: Motion, path: str | Path, *, fps: float = 30.0) -> None:
    """Write the motion at ``fps`` frames a second, with furniture, props and ground."""
    text = encoded(motion, fps=fps)
    with files.replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def encoded(motion: Motion, *, fps: float = 30.0) -> str:
    """The text of the file."""
    stage = staging.staged(motion, fps)
    source = json.dumps(staging.metadata(motion.source), ensure_ascii=False)
    header = [
        "#usda 1.0",
        "(",
        f"    doc = {_string(f'gambol {__version__}')}",
        "    customLayerData = {",
        f"        string gambol = {_string(source)}",
        "    }",
        f'    defaultPrim = "{_SCENE}"',
        '    upAxis = "Z"',
        "    metersPerUnit = 1",
        f"    timeCodesPerSecond = {fps:.10g}",
        f"    framesPerSecond = {fps:.10g}",
        "    startTimeCode = 0",
        f"    endTimeCode = {stage.frames - 1}",
        ")",
        "",
    ]
    return "\n".join([*header, *_scene(stage), ""])


def identifier(name: str) -> str:
    """The name as USD allows prims to be called: letters, digits and underscores, no digit first."""
    safe = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return safe if re.match(r"[A-Za-z_]", safe) else f"_{safe}"


def _scene(stage: Stage) -> _Lines:
    unique = UniqueNames()
    unique(_MATERIALS)
    colours: dict[Colour, str] = {}
    for owner in (*stage.actors, *stage.things):
        for surface in owner.skin if isinstance(owner, Actor) else owner.surfaces:
            colours.setdefault(surface.colour, f"</{_SCENE}/{_MATERIALS}/material_{len(colours) + 1}>")
    prims = [_prim("Scope", _MATERIALS, (line for colour, path in colours.items() for line in _material(colour, path)))]
    prims += [_actor(actor, unique(identifier(actor.name)), colours) for actor in stage.actors]
    prims += [_thing(thing, unique(identifier(thing.name)), colours) for thing in stage.things]
    return _prim("Xform", _SCENE, (line for prim in prims for line in prim))


def _actor(actor: Actor, name: str, materials: dict[Colour, str]) -> _Lines:
    path = f"/{_SCENE}/{name}"
    paths = _joint_paths(actor)
    joints = f"uniform token[] joints = {_list(map(_string, paths))}"
    skeleton = _prim(
        "Skeleton",
        f"{name}_skeleton",
        [
            joints,
            f"uniform token[] jointNames = {_list(map(_string, actor.joints))}",
            f"uniform matrix4d[] bindTransforms = {_matrices(actor.bind)}",
            f"uniform matrix4d[] restTransforms = {_matrices(actor.rest)}",
            f"rel skel:animationSource = <{path}/{name}_animation>",
        ],
        schemas=["SkelBindingAPI"],
    )
    animation = _prim(
        "SkelAnimation",
        f"{name}_animation",
        [
            joints,
            *_samples("float3[] translations", map(_tuples, actor.local.positions)),
            *_samples("quatf[] rotations", map(_tuples, actor.local.quats)),
            f"half3[] scales = {_list(['(1, 1, 1)'] * len(paths))}",
        ],
    )
    meshes = []
    for number, surface in enumerate(actor.skin, start=1):
        skinning = [
            f"rel skel:skeleton = <{path}/{name}_skeleton>",
            "matrix4d primvars:skel:geomBindTransform = ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1))",
            *_primvar("int[] primvars:skel:jointIndices", _integers(surface.joints), "vertex", element_size=1),
            *_primvar(
                "float[] primvars:skel:jointWeights", _list(["1"] * len(surface.joints)), "vertex", element_size=1
            ),
        ]
        meshes += _mesh(f"{name}_skin_{number}", surface, materials, skinning, schemas=["SkelBindingAPI"])
    return _prim("SkelRoot", name, [*skeleton, *animation, *meshes], display=actor.name)


def _joint_paths(actor: Actor) -> list[str]:
    """Joints as UsdSkel names them: by the path from the root."""
    unique = UniqueNames()
    paths: list[str] = []
    for joint, parent in zip(actor.joints, actor.parents, strict=True):
        name = unique(identifier(joint))
        paths.append(f"{paths[parent]}/{name}" if parent >= 0 else name)
    return paths


def _thing(thing: Thing, name: str, materials: dict[Colour, str]) -> _Lines:
    positions, quats = thing.frames.positions, thing.frames.quats
    if thing.moves:
        place = [
            *_samples("double3 xformOp:translate", map(_tuple, positions)),
            *_samples("quatf xformOp:orient", map(_tuple, quats)),
        ]
    else:
        place = [
            f"double3 xformOp:translate = {_tuple(positions[0])}",
            f"quatf xformOp:orient = {_tuple(quats[0])}",
        ]
    place.append('uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:orient"]')
    meshes = [
        line
        for number, surface in enumerate(thing.surfaces, start=1)
        for line in _mesh(f"{name}_surface_{number}", surface, materials)
    ]
    return _prim("Xform", name, [*place, *meshes], display=thing.name)


def _mesh(
    name: str, surface: Surface, materials: dict[Colour, str], more: Sequence[str] = (), schemas: Sequence[str] = ()
) -> _Lines:
    mesh = surface.mesh
    extent = np.stack([mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)])
    body = [
        f"float3[] extent = {_tuples(extent)}",
        f"int[] faceVertexCounts = {_list(['3'] * len(mesh.faces))}",
        f"int[] faceVertexIndices = {_integers(mesh.faces.ravel())}",
        f"point3f[] points = {_tuples(mesh.vertices)}",
        *_primvar("normal3f[] normals", _tuples(mesh.normals), "vertex"),
        *_primvar("color3f[] primvars:displayColor", _tuples(np.array([surface.colour[:3]])), "constant"),
        *_primvar("float[] primvars:displayOpacity", f"[{surface.colour[3]:.8g}]", "constant"),
        'uniform token subdivisionScheme = "none"',
        f"rel material:binding = {materials[surface.colour]}",
        *more,
    ]
    return _prim("Mesh", name, body, schemas=["MaterialBindingAPI", *schemas])


def _material(colour: Colour, path: str) -> _Lines:
    name = path.strip("<>").rsplit("/", 1)[1]
    shader = _prim(
        "Shader",
        "shader",
        [
            'uniform token info:id = "UsdPreviewSurface"',
            f"color3f inputs:diffuseColor = {_tuple(colour[:3])}",
            f"float inputs:opacity = {colour[3]:.8g}",
            "float inputs:roughness = 0.8",
            "float inputs:metallic = 0",
            "token outputs:surface",
        ],
    )
    connection = f"token outputs:surface.connect = {path[:-1]}/shader.outputs:surface>"
    return _prim("Material", name, [connection, *shader])


def _prim(
    kind: str, name: str, body: Iterable[str], *, schemas: Sequence[str] = (), display: str | None = None
) -> _Lines:
    """A prim's definition; ``display`` is the name it had before USD's rules."""
    metadata = [f"    prepend apiSchemas = {_list(map(_string, schemas))}"] if schemas else []
    if display is not None and display != name:
        metadata.append(f"    displayName = {_string(display)}")
    head = [f'def {kind} "{name}" (', *metadata, ")"] if metadata else [f'def {kind} "{name}"']
    return [*head, "{", *(f"    {line}" for line in body), "}"]


def _samples(attribute: str, values: Iterable[str]) -> _Lines:
    frames = [f"    {frame}: {value}," for frame, value in enumerate(values)]
    return [f"{attribute}.timeSamples = {{", *frames, "}"]


def _primvar(attribute: str, value: str, interpolation: str, *, element_size: int | None = None) -> _Lines:
    size = [f"    elementSize = {element_size}"] if element_size is not None else []
    return [f"{attribute} = {value} (", *size, f'    interpolation = "{interpolation}"', ")"]


def _matrices(frames: Poses) -> str:
    """Transforms of frames (J, …) that, as USD has it, multiply rows from the right."""
    matrices = np.zeros((len(frames.positions), 4, 4))
    matrices[:, :3, :3] = np.swapaxes(to_matrix(frames.quats), 1, 2)
    matrices[:, 3, :3] = frames.positions
    matrices[:, 3, 3] = 1.0
    return _list(f"({', '.join(map(_tuple, matrix))})" for matrix in matrices)


def _tuple(values: Iterable[float] | Array) -> str:
    return f"({', '.join([f'{value:.8g}' for value in values])})"


def _tuples(rows: Array) -> str:
    return _list(map(_tuple, rows.tolist()))


def _integers(values: Any) -> str:
    return _list(map(str, values.tolist()))


def _list(items: Iterable[str]) -> str:
    return f"[{', '.join(items)}]"


def _string(text: str) -> str:
    """A quoted string; control characters, which USD's text cannot say, become spaces."""
    safe = re.sub(r"[\x00-\x09\x0b-\x1f\x7f]", " ", text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{safe}"'
