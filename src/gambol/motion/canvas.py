"""Drawing states of a scene into pictures, off-screen, with MuJoCo's own OpenGL renderer."""

from __future__ import annotations

import copy
import ctypes
import ctypes.util
import importlib
import os
import sys
from types import TracebackType
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from gambol.errors import InputError
from gambol.motion import drawing
from gambol.motion.drawing import Array, Camera

Picture = NDArray[np.uint8]

MAX_SIDE = 8192  # pixels
_ZENITH, _HORIZON = np.array([0.62, 0.75, 0.89]), np.array([0.93, 0.95, 0.97])
_GRID_COLOUR = np.array([1.0, 1.0, 1.0, 0.85], np.float32)
_GRID_REACH = 60  # lines to each side
# In units of the camera's distance, so that a picture looks the same from near and far.
_NEAR, _FOG_FROM, _FOG_TO, _SKY, _FAR = 0.02, 2.0, 9.0, 20.0, 30.0


class Canvas:
    """Draws states as seen by one camera, with a sun, its shadow, and a ground that fades into the sky.

    Holds an OpenGL context: use it as a context manager, in one thread.
    """

    def __init__(self, model: mujoco.MjModel, camera: Camera, *, size: tuple[int, int]):
        width, height = checked_size(size)
        self._model = model = _dressed(model, camera, size)
        self._camera, self._rect = camera, mujoco.MjrRect(0, 0, width, height)
        planes = int(np.sum(model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE))
        room = 2 * model.ngeom + 1000 + planes * 2 * (2 * _GRID_REACH + 1)
        self._data, self._scene = mujoco.MjData(model), mujoco.MjvScene(model, maxgeom=room)
        self._option = mujoco.MjvOption()
        self._option.sitegroup[:] = 0
        self._context, self._renderer = _opened(model, width, height)
        self._sky = _sky(camera, width, height)

    def __enter__(self) -> Canvas:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._context.make_current()
        self._renderer.free()
        self._context.free()

    def picture(self, qpos: Array, mocap: Array | None = None, *, shift: Array | None = None) -> Picture:
        """The picture (height, width, 3) of a state, from the camera moved by ``shift`` (3,)."""
        model, data, scene, rect = self._model, self._data, self._scene, self._rect
        data.qpos[:] = qpos
        if mocap is not None:
            data.mocap_pos[:], data.mocap_quat[:] = mocap[:, :3], mocap[:, 3:]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        lookat = self._camera.lookat + (0.0 if shift is None else shift)
        everything = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(model, data, self._option, None, self._view(lookat), everything, scene)
        flags = mujoco.mjtRndFlag
        scene.flags[flags.mjRND_FOG] = True
        for unwanted in (flags.mjRND_HAZE, flags.mjRND_REFLECTION, flags.mjRND_SKYBOX):
            scene.flags[unwanted] = False
        self._add_backdrop(lookat)
        self._add_grids(lookat)
        self._add_lights(lookat)
        colours = np.empty((rect.height, rect.width, 3), np.uint8)
        depths = np.empty((rect.height, rect.width), np.float32)
        self._context.make_current()  # another canvas may have drawn meanwhile
        mujoco.mjr_render(rect, scene, self._renderer)
        mujoco.mjr_readPixels(colours, depths, rect, self._renderer)
        far = (1 / _NEAR - 1 / _SKY) / (1 / _NEAR - 1 / _FAR)
        return np.where(depths[::-1, :, None] > far - 1e-5, self._sky, colours[::-1])

    def _view(self, lookat: Array) -> mujoco.MjvCamera:
        view = mujoco.MjvCamera()
        view.lookat[:], view.distance = lookat, self._camera.distance
        view.azimuth, view.elevation = np.degrees(self._camera.azimuth), np.degrees(self._camera.elevation)
        return view

    def _add(self, kind: mujoco.mjtGeom, size: Any, position: Array, matrix: Array, rgba: Any) -> mujoco.MjvGeom:
        scene = self._scene
        geom = scene.geoms[scene.ngeom]
        mujoco.mjv_initGeom(geom, kind, np.array(size, float), position, matrix.ravel(), np.array(rgba, np.float32))
        geom.category = mujoco.mjtCatBit.mjCAT_DECOR
        scene.ngeom += 1
        return geom

    def _add_backdrop(self, lookat: Array) -> None:
        """A wall in the fog behind everything: where nothing is drawn MuJoCo leaves black, also in smoothed edges."""
        right, up, forward = drawing.axes(self._camera.azimuth, self._camera.elevation)
        away = (_SKY + 1) * self._camera.distance
        centre = lookat + (away - self._camera.distance) * forward
        frame = np.stack([right, up, -forward], axis=1)
        wall = self._add(mujoco.mjtGeom.mjGEOM_BOX, (2 * away, 2 * away, 0.01), centre, frame, (*_HORIZON, 1))
        wall.emission = 1.0

    def _add_grids(self, lookat: Array) -> None:
        """Lines a metre apart on every plane, or ten where metres would be too small to tell apart."""
        model, data, distance = self._model, self._data, self._camera.distance
        spacing = 1.0 if distance < 20 else 10.0
        reach = np.ceil(min(_FOG_TO * distance / spacing, _GRID_REACH))
        lines = spacing * np.arange(-reach, reach + 1)
        for geom in drawing.visible(model):
            if model.geom_type[geom] != mujoco.mjtGeom.mjGEOM_PLANE or drawing.textured(model, int(geom)):
                continue
            position, frame = data.geom_xpos[geom], data.geom_xmat[geom].reshape(3, 3)
            middle = np.round(frame.T @ (lookat - position) / spacing) * spacing
            middle[2] = 0.002 * distance  # clear of the plane in the depth buffer
            for swap in (False, True):
                for line in lines:
                    ends = np.array([[line, lines[0], 0.0], [line, lines[-1], 0.0]])
                    ends = (ends[:, [1, 0, 2]] if swap else ends) + middle
                    start, end = ends @ frame.T + position
                    made = self._add(mujoco.mjtGeom.mjGEOM_LINE, (0, 0, 0), start, np.eye(3), _GRID_COLOUR)
                    mujoco.mjv_connector(made, mujoco.mjtGeom.mjGEOM_LINE, 1.5, start, end)

    def _add_lights(self, lookat: Array) -> None:
        """A sun from behind the camera's shoulder, and a fill from the other side that also lights the shadows."""
        lights = (
            # turn and elevation from the camera's, diffuse, ambient, casts a shadow
            (0.75, -0.85, 0.55, 0.0, True),
            (-0.6, -0.7, 0.25, 0.48, False),
        )
        for light, (turn, elevation, diffuse, ambient, shadow) in zip(self._scene.lights, lights, strict=False):
            direction = drawing.axes(self._camera.azimuth + turn, elevation)[2]
            light.type, light.headlight, light.castshadow, light.texid = (
                mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
                False,
                shadow,
                -1,
            )
            light.dir[:], light.pos[:] = direction, lookat - 1.5 * self._camera.distance * direction
            light.diffuse[:], light.ambient[:], light.specular[:] = diffuse, ambient, 0.12
            light.attenuation[:] = 1.0, 0.0, 0.0
        self._scene.nlight = len(lights)


def checked_size(size: tuple[int, int]) -> tuple[int, int]:
    """The width and height in pixels, if a picture can have them."""
    width, height = size
    if not (1 <= width <= MAX_SIDE and 1 <= height <= MAX_SIDE):
        raise InputError(f"{width} × {height} pixels cannot be drawn", key="size", hint=f"each is 1 to {MAX_SIDE}")
    return width, height


def _dressed(model: mujoco.MjModel, camera: Camera, size: tuple[int, int]) -> mujoco.MjModel:
    """A copy with our colours and with the picture's settings, which MuJoCo keeps in the model."""
    model = copy.copy(model)
    unpainted = [geom for geom in range(model.ngeom) if not drawing.textured(model, geom)]
    model.geom_rgba[unpainted] = drawing.colours(model)[unpainted]
    model.stat.extent, model.stat.center[:] = camera.distance, camera.lookat
    look, place = model.vis, model.vis.map
    look.global_.offwidth, look.global_.offheight = size
    look.global_.fovy = np.degrees(camera.field_of_view)
    look.quality.offsamples, look.quality.shadowsize = 4, 2048
    look.headlight.active = False
    look.rgba.fog[:] = *_HORIZON, 1.0
    place.znear, place.zfar, place.fogstart, place.fogend = _NEAR, _FAR, _FOG_FROM, _FOG_TO
    place.shadowclip = 1.0
    return model


def _sky(camera: Camera, width: int, height: int) -> Picture:
    """The sky in every direction the camera looks, from the horizon's colour to the zenith's."""
    half = np.tan(camera.field_of_view / 2)
    x = np.linspace(-1, 1, width)[None, :, None] * half * width / height
    y = np.linspace(1, -1, height)[:, None, None] * half
    right, up, forward = drawing.axes(camera.azimuth, camera.elevation)
    rays = forward + x * right + y * up
    rise = np.clip(rays[..., 2:] / np.linalg.norm(rays, axis=-1, keepdims=True), 0, 1) ** 0.55
    return np.round(255 * (_HORIZON + rise * (_ZENITH - _HORIZON))).astype(np.uint8)


def _opened(model: mujoco.MjModel, width: int, height: int) -> tuple[Any, mujoco.MjrContext]:
    """An OpenGL context, current, and MuJoCo's renderer in it.

    MUJOCO_GL decides where it is set. Where it is not and there is no display, EGL or else OSMesa is taken. MuJoCo
    chooses when it is imported, and then always the display, which is why its ``Renderer`` is not used here.
    """
    name = os.environ.get("MUJOCO_GL", "").lower().strip()
    displays = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if not name and sys.platform == "linux" and not displays:
        name = "egl" if _egl_has_a_device() else "osmesa"
    try:
        maker = importlib.import_module(f"mujoco.{name}") if name in ("egl", "osmesa") else mujoco
        context = maker.GLContext(width, height)
        context.make_current()
        renderer = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
    except (ImportError, AttributeError, OSError, RuntimeError, mujoco.FatalError, *_opengl_errors()) as error:
        raise InputError(
            f"no picture can be drawn: OpenGL ({name or 'the display'}) did not start: {error}",
            key="MUJOCO_GL",
            hint="install libegl1 or libosmesa6, and set MUJOCO_GL to egl or osmesa (to glfw where there is a display)",
        ) from error
    mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, renderer)
    return context, renderer


def _opengl_errors() -> tuple[type[Exception], ...]:
    """Asked for only after a failure, since importing PyOpenGL settles which library it uses."""
    try:
        from OpenGL.error import Error
    except ImportError:
        return ()
    return (Error,)


def _egl_has_a_device() -> bool:
    """Whether EGL can draw without a display; asked of the library itself, since PyOpenGL could not change over."""
    try:
        egl = ctypes.CDLL(ctypes.util.find_library("EGL") or "libEGL.so.1")
        egl.eglGetProcAddress.restype = ctypes.c_void_p
        addresses = [egl.eglGetProcAddress(name) for name in (b"eglQueryDevicesEXT", b"eglGetPlatformDisplayEXT")]
    except (OSError, AttributeError):
        return False
    if not all(addresses):
        return False
    pointer, number = ctypes.c_void_p, ctypes.c_int
    query = ctypes.CFUNCTYPE(number, number, pointer, pointer)(addresses[0])
    display_of = ctypes.CFUNCTYPE(pointer, number, pointer, pointer)(addresses[1])
    devices, found = (pointer * 32)(), number()
    query(len(devices), ctypes.addressof(devices), ctypes.addressof(found))
    platform_device = 0x313F  # EGL_PLATFORM_DEVICE_EXT
    displays = [display_of(platform_device, device, None) for device in devices[: found.value]]
    return any(display and egl.eglInitialize(pointer(display), None, None) for display in displays)
