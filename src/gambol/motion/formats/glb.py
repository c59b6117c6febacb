"""Binary glTF 2.0, for Blender, Unity, Unreal, Godot and the web: each character one skinned mesh on its skeleton.

glTF's Y is up and its assets look along Z; gambol's Z is up and characters look along X. Every vector (x, y, z) is
written as (y, z, x), in all frames, so that no node carries a turn that only converts axes.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gambol import files
from gambol.motion.formats import staging
from gambol.motion.formats.staging import Actor, Colour, Stage, Surface, Thing
from gambol.rotations import Array, to_matrix
from gambol.version import __version__

if TYPE_CHECKING:
    from gambol.motion.motion import Motion, Poses

_COMPONENTS = {np.dtype("<f4"): 5126, np.dtype("<u4"): 5125, np.dtype("<u2"): 5123, np.dtype("u1"): 5121}
_TYPES = {(): "SCALAR", (3,): "VEC3", (4,): "VEC4", (4, 4): "MAT4"}
_VERTICES, _INDICES = 34962, 34963
_RESTART = 0xFFFF
"""The 16-bit index that no vertex may have."""


def write(motion: Motion, path: str | Path, *, fps: float = 30.0) -> None:
    """Write the motion at ``fps`` frames a second, with furniture, props and ground."""
    content = encoded(motion, fps=fps)
    with files.replacing(path) as temporary:
        temporary.write_bytes(content)


def encoded(motion: Motion, *, fps: float = 30.0) -> bytes:
    """The bytes of the file."""
    document = _Document(staging.staged(motion, fps))
    document.root["asset"] = {
        "version": "2.0",
        "generator": f"gambol {__version__}",
        "extras": staging.metadata(motion.source),
    }
    text = json.dumps(document.root, separators=(",", ":"), allow_nan=False, ensure_ascii=False).encode()
    chunks = b""
    for kind, data, padding in ((b"JSON", text, b" "), (b"BIN\0", bytes(document.binary), b"\0")):
        data += padding * (-len(data) % 4)
        chunks += struct.pack("<I4s", len(data), kind) + data
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def axes(vectors: Array) -> Array:
    """Vectors (..., 3) in glTF's axes."""
    return vectors[..., [1, 2, 0]]


def turns(quats: Array) -> Array:
    """Quaternions (..., 4) wxyz as glTF's xyzw in its axes."""
    return quats[..., [2, 3, 1, 0]]


class _Document:
    """glTF's lists, filled from a stage, and the bytes that their accessors point into."""

    def __init__(self, stage: Stage):
        self.binary = bytearray()
        self.root: dict[str, Any] = {name: [] for name in ("nodes", "meshes", "materials", "accessors", "bufferViews")}
        self._materials: dict[Colour, int] = {}
        self._unique = staging.UniqueNames()
        self._channels: list[dict[str, Any]] = []
        self._samplers: list[dict[str, Any]] = []
        self._times = self._accessor(np.arange(stage.frames) / stage.fps, bounds=True)
        shared_names = len(stage.actors) > 1
        shown = [
            node for actor in stage.actors for node in self._actor(actor, f"{actor.name}/" if shared_names else "")
        ]
        shown += [self._thing(thing) for thing in stage.things]
        if self._channels:
            self.root["animations"] = [{"name": "motion", "channels": self._channels, "samplers": self._samplers}]
        self.root.update(
            scene=0, scenes=[{"name": "scene", "nodes": shown}], buffers=[{"byteLength": len(self.binary)}]
        )
        self.root = {name: value for name, value in self.root.items() if value != []}

    def _actor(self, actor: Actor, prefix: str) -> list[int]:
        """A node above the joints and, beside it, one for the skin: glTF places a skin by its joints alone."""
        joints = [
            self._node(prefix + name, position, quat)
            for name, position, quat in zip(actor.joints, actor.rest.positions, actor.rest.quats, strict=True)
        ]
        armature = self._node(actor.name)
        for joint, parent in zip(joints, actor.parents, strict=True):
            above = self.root["nodes"][joints[parent] if parent >= 0 else armature]
            above.setdefault("children", []).append(joint)
        moved = staging.changes(actor.local.positions, actor.rest.positions)
        turned = staging.changes(actor.local.quats, actor.rest.quats)
        for k, joint in enumerate(joints):
            if moved[k]:
                self._animate(joint, "translation", axes(actor.local.positions[:, k]))
            if turned[k]:
                self._animate(joint, "rotation", turns(actor.local.quats[:, k]))
        inverse = self._accessor(_inverse_bind_matrices(actor.bind))
        skins = self.root.setdefault("skins", [])
        skins.append({"name": actor.name, "joints": joints, "inverseBindMatrices": inverse, "skeleton": armature})
        if not actor.skin:
            return [armature]
        skin = self._node(f"{actor.name} skin")
        self.root["nodes"][skin].update(mesh=self._mesh(actor.name, actor.skin, skinned=True), skin=len(skins) - 1)
        return [armature, skin]

    def _thing(self, thing: Thing) -> int:
        node = self._node(thing.name, thing.frames.positions[0], thing.frames.quats[0])
        self.root["nodes"][node]["mesh"] = self._mesh(thing.name, thing.surfaces)
        if thing.moves:
            self._animate(node, "translation", axes(thing.frames.positions))
            self._animate(node, "rotation", turns(thing.frames.quats))
        return node

    def _node(self, name: str, position: Array | None = None, quat: Array | None = None) -> int:
        node: dict[str, Any] = {"name": self._unique(name)}
        if position is not None and quat is not None:
            node.update(translation=_floats(axes(position)), rotation=_floats(turns(quat)))
        self.root["nodes"].append(node)
        return len(self.root["nodes"]) - 1

    def _animate(self, node: int, path: str, values: Array) -> None:
        self._channels.append({"sampler": len(self._samplers), "target": {"node": node, "path": path}})
        self._samplers.append({"input": self._times, "output": self._accessor(values), "interpolation": "LINEAR"})

    def _mesh(self, name: str, surfaces: tuple[Surface, ...], *, skinned: bool = False) -> int:
        primitives = []
        for surface in surfaces:
            mesh = surface.mesh
            attributes = {
                "POSITION": self._accessor(axes(mesh.vertices), _VERTICES, bounds=True),
                "NORMAL": self._accessor(axes(mesh.normals), _VERTICES),
            }
            if skinned:
                few = surface.joints.max() < 256
                joints = np.zeros((len(mesh.vertices), 4), "u1" if few else "<u2")
                joints[:, 0] = surface.joints
                weights = np.zeros((len(mesh.vertices), 4), "u1")
                weights[:, 0] = 255
                attributes["JOINTS_0"] = self._accessor(joints, _VERTICES)
                attributes["WEIGHTS_0"] = self._accessor(weights, _VERTICES, normalized=True)
            indices = mesh.faces.ravel().astype("<u2" if len(mesh.vertices) <= _RESTART else "<u4")
            primitives.append(
                {
                    "attributes": attributes,
                    "indices": self._accessor(indices, _INDICES),
                    "material": self._material(surface.colour),
                }
            )
        self.root["meshes"].append({"name": name, "primitives": primitives})
        return len(self.root["meshes"]) - 1

    def _material(self, colour: Colour) -> int:
        if colour not in self._materials:
            self._materials[colour] = len(self._materials)
            material: dict[str, Any] = {
                "name": f"material_{len(self._materials)}",
                "pbrMetallicRoughness": {"baseColorFactor": colour, "metallicFactor": 0.0, "roughnessFactor": 0.8},
            }
            if colour[3] < 1:
                material["alphaMode"] = "BLEND"
            self.root["materials"].append(material)
        return self._materials[colour]

    def _accessor(
        self, values: NDArray[Any], target: int | None = None, *, bounds: bool = False, normalized: bool = False
    ) -> int:
        """Append an array (n, …) to the bytes in a view of its own; real numbers become 32-bit ones."""
        values = values.astype("<f4") if values.dtype.kind == "f" else values
        # the widest element has four bytes, and a view must start at a multiple of its elements
        self.binary += b"\0" * (-len(self.binary) % 4)
        view: dict[str, Any] = {"buffer": 0, "byteOffset": len(self.binary), "byteLength": values.nbytes}
        if target is not None:
            view["target"] = target
        self.binary += values.tobytes()
        self.root["bufferViews"].append(view)
        accessor: dict[str, Any] = {
            "bufferView": len(self.root["bufferViews"]) - 1,
            "componentType": _COMPONENTS[values.dtype],
            "count": len(values),
            "type": _TYPES[values.shape[1:]],
        }
        if normalized:
            accessor["normalized"] = True
        if bounds:
            columns = values.reshape(len(values), -1)
            accessor.update(min=columns.min(axis=0).tolist(), max=columns.max(axis=0).tolist())
        self.root["accessors"].append(accessor)
        return len(self.root["accessors"]) - 1


def _inverse_bind_matrices(bind: Poses) -> Array:
    """From the world to each joint (J, 4, 4), as columns: the order in which glTF stores them."""
    # back to wxyz, now in glTF's axes
    rotations = to_matrix(np.roll(turns(bind.quats), 1, axis=-1))
    matrices = np.zeros((len(rotations), 4, 4))
    # the columns of the inverse rotation are the rows of the rotation
    matrices[:, :3, :3] = rotations
    matrices[:, 3, :3] = -np.einsum("jba,jb->ja", rotations, axes(bind.positions))
    matrices[:, 3, 3] = 1.0
    return matrices


def _floats(values: Array) -> list[float]:
    """Numbers that 32 bits hold exactly, as readers will keep them."""
    return values.astype(np.float32).tolist()
