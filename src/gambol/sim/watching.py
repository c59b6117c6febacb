"""Sensors for what costs look at: frames of a scene, written into its specification."""

from __future__ import annotations

import mujoco

from gambol.scenes import Frame

_SENSOR = mujoco.mjtSensor


def watch_frame(spec: mujoco.MjSpec, frame: Frame) -> str:
    """Sensors for a frame's position and quaternion, side by side and only once; the label they carry."""
    label = f"{frame.kind}:{frame.name}"
    if spec.sensor(f"{label}:position") is None:
        kinds = ((_SENSOR.mjSENS_FRAMEPOS, "position"), (_SENSOR.mjSENS_FRAMEQUAT, "quat"))
        name = frame.name if frame.kind != "world" else "world"
        for kind, what in kinds:
            spec.add_sensor(name=f"{label}:{what}", type=kind, objtype=frame.object_type, objname=name)
    return label


def first_column(model: mujoco.MjModel, sensor: str) -> int:
    """Where a sensor's numbers begin in the sensor array."""
    return int(model.sensor(sensor).adr[0])
