"""Whether Blender opens what gambol writes: bones, frames, and where the joints are at random frames, to a centimetre.

    python benchmarks/blender_opens.py --python /path/to/python-with-bpy
    python benchmarks/blender_opens.py --python … --character athlete --bvh recorded.bvh --json

Every motion is written as .bvh and as .glb, imported with Blender's own importers (``pip install bpy`` in an
interpreter of its own, which this script then calls), and the heads of the bones are compared with where MuJoCo has the
joints. Without ``--bvh`` the motions are waves on all joints of shipped characters: no wrong axis goes unseen.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gambol.motion import Motion

FPS = 30
FRAMES = 90
CHECKED_FRAMES = 5
TOLERANCE = 0.01
"""Metres."""


def main() -> int:
    options = _arguments()
    if options.inside_blender:
        print(json.dumps(opened(Path(options.inside_blender), json.loads(options.frames))))
        return 0
    from gambol.errors import GambolError

    try:
        motions = _motions(options)
        rows = [
            compared(name, motion, format_, options) for name, motion in motions.items() for format_ in options.format
        ]
    except GambolError as error:
        print(error, file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(rows, indent=2))
    else:
        _show(rows)
    return 0 if all(row["passed"] for row in rows) else 1


def opened(path: Path, frames: list[int]) -> dict[str, Any]:
    """Import a file in this interpreter's Blender: bones, keyed frames, and heads by bone at frames counted from 0."""
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.fps = FPS
    if path.suffix == ".bvh":
        # centimetres in the file; Blender's other defaults (Y up, -Z forward) are the same turn as its glTF importer's
        bpy.ops.import_anim.bvh(
            filepath=str(path), global_scale=0.01, update_scene_fps=True, update_scene_duration=True
        )
        first = 1
    else:
        bpy.ops.import_scene.gltf(filepath=str(path))
        first = 0
    (armature,) = [each for each in scene.objects if each.type == "ARMATURE"]
    start, end = armature.animation_data.action.frame_range
    heads = []
    for frame in frames:
        scene.frame_set(first + frame)
        heads.append({bone.name: list(armature.matrix_world @ bone.head) for bone in armature.pose.bones})
    rate = scene.render.fps / scene.render.fps_base
    return {"bones": len(armature.data.bones), "frames": round(end - start) + 1, "fps": rate, "heads": heads}


def compared(name: str, motion: Motion, format_: str, options: argparse.Namespace) -> dict[str, Any]:
    """Write, import in the other interpreter, and compare."""
    import numpy as np

    from gambol.motion.formats import write

    rng = np.random.default_rng(options.seed)
    frames = sorted(rng.choice(len(motion), min(CHECKED_FRAMES, len(motion)), replace=False).tolist())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"motion.{format_}"
        write(motion, path)
        command = [options.python, __file__, "--inside-blender", str(path), "--frames", json.dumps(frames)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        last = (ran.stderr.strip() or ran.stdout.strip() or "it said nothing").splitlines()[-1]
        return {"motion": name, "format": format_, "passed": False, "problem": f"Blender's interpreter failed: {last}"}
    found = json.loads(ran.stdout.strip().splitlines()[-1])
    expected = [_expected(motion, format_, frame) for frame in frames]
    missing = sorted(set(expected[0]) - set(found["heads"][0]))
    # Blender's importers turn Y up, Z forward (as both formats have it) to Z up, -Y forward
    errors = [
        np.linalg.norm(np.array([-here[1], here[0], here[2]]) - wanted[bone])
        for wanted, heads in zip(expected, found["heads"], strict=True)
        for bone, here in heads.items()
        if bone in wanted
    ]
    worst = float(max(errors, default=np.inf))
    row = {
        "motion": name,
        "format": format_,
        "bones": [found["bones"], len(expected[0])],
        "frames": [found["frames"], len(motion)],
        "fps": found["fps"],
        "checked_frames": frames,
        "worst_mm": 1000 * worst,
        "mean_mm": 1000 * float(np.mean(errors)) if errors else None,
    }
    problems = [
        f"{what}: {row[what][0]}, not {row[what][1]}" for what in ("bones", "frames") if len(set(row[what])) > 1
    ]
    problems += [f"missing: {', '.join(missing)}"] if missing else []
    problems += [f"a joint is {1000 * worst:.1f} mm away"] if worst > TOLERANCE else []
    problems += [f"{found['fps']:g} frames a second"] if abs(found["fps"] - 1 / motion.dt) > 0.01 / motion.dt else []
    return {**row, "passed": not problems, "problem": "; ".join(problems)}


def _expected(motion: Motion, format_: str, frame: int) -> dict[str, Any]:
    """Where (3,) each bone must be at a frame, by its name in the file.

    A glTF joint is a body's frame. A BVH joint is a point that a body turns about: it has the body's name, or that of
    the hinge where the body has further ones elsewhere (with ``_joint`` where a body is called so).
    """
    from gambol.motion.skeletal import skeletal_clip

    name, model = motion.scene.main_character, motion.scene.model
    span, positions = motion.scene.spans[name], motion.poses().positions[frame]
    if format_ == "glb":
        return {model.body(body).name.removeprefix(f"{name}/"): positions[body] for body in span.bodies}
    anchors, points = motion.state_at(frame).xanchor, {}
    for hinge in range(model.njnt):
        points |= dict.fromkeys((model.joint(hinge).name, f"{model.joint(hinge).name}_joint"), anchors[hinge])
    for body in span.bodies:
        last = model.body_jntadr[body] + model.body_jntnum[body] - 1
        points[model.body(body).name] = anchors[last] if model.body_jntnum[body] else positions[body]
    return {joint: points[f"{name}/{joint}"] for joint in skeletal_clip(motion).skeleton.names}


def _motions(options: argparse.Namespace) -> dict[str, Motion]:
    from gambol.characters import build
    from gambol.motion.formats import read
    from gambol.scenes import Scene

    characters = options.character or ([] if options.bvh else ["humanoid", "athlete"])
    motions = {name: waving(Scene.alone(build(name)), options.seed) for name in characters}
    return motions | {Path(path).name: read(path).resampled(1 / FPS) for path in options.bvh}


def waving(scene: Any, seed: int) -> Motion:
    """Waves of random size, speed and phase on every joint; the root wanders and turns."""
    import numpy as np

    from gambol.motion import Motion
    from gambol.rotations import from_rotation_vector
    from gambol.scenes import place

    rng, times = np.random.default_rng(seed), np.arange(FRAMES)[:, None] / FPS
    start = place(scene)
    rates, phases = rng.uniform(1, 5, len(start)), rng.uniform(0, 2 * np.pi, len(start))
    waves = np.sin(rates * times + phases)
    qpos = start + rng.uniform(0.3, 1.0, len(start)) * waves
    qpos[:, 3:7] = from_rotation_vector(waves[:, 3:6] * 2.0)
    return Motion(scene, 1 / FPS, qpos)


def _show(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("motion", "format", "bones", "frames", "worst", "mean", "result", title="Opened in Blender")
    for row in rows:
        figures = ["–"] * 4
        if "bones" in row:
            mean = "–" if row["mean_mm"] is None else f"{row['mean_mm']:.4f} mm"
            figures = [str(row["bones"][0]), str(row["frames"][0]), f"{row['worst_mm']:.4f} mm", mean]
        table.add_row(row["motion"], row["format"], *figures, "passed" if row["passed"] else row["problem"])
    Console().print(table)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has bpy (default: this one)")
    parser.add_argument("--character", action="append", default=[], help="a shipped character; may be repeated")
    parser.add_argument("--bvh", action="append", default=[], help="a recorded motion on its own rig; may be repeated")
    parser.add_argument("--format", action="append", choices=("bvh", "glb"), help="only this one (default: both)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--inside-blender", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--frames", default="[]", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.format = options.format or ["bvh", "glb"]
    if shutil.which(options.python) is None:
        parser.error(f"--python: {options.python} cannot be run")
    return options


if __name__ == "__main__":
    sys.exit(main())
