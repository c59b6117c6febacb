"""Solve a shipped task and save the motion; values may be changed: ``python 01_solve.py scene.height=0.12``."""

from __future__ import annotations

import sys

import gambol

task = gambol.load_task("armchair/stand-sit-stand", overrides=sys.argv[1:])
result = gambol.solve(task, seed=2, progress=lambda now: print(f"{now.fraction:4.0%} {now.what}", end="\r"))

report = result.report
print(f"{report.task}: {report.status.value}, {report.sim_seconds:.1f} s simulated in {report.wall_seconds:.1f} s")
for name, figure in report.figures.items():
    print(f"  {name}: {figure}")
if report.advice:
    print("  advice:", report.advice)

for name in ("sit.npz", "sit.bvh", "sit.glb", "sit.html"):
    result.motion.save(name)
    print("wrote", name)
