"""What every picture of a motion shares: which geoms are seen, their colours, and where the camera stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import mujoco
import numpy as np
from numpy.typing import NDArray

from gambol import rotations

if TYPE_CHECKING:
    from gambol.motion.motion import Motion, Poses

Array = NDArray[np.float64]

# MuJoCo gives this to every geom that says nothing about its colour, and draws the groups below this one.
PLAIN_GREY = np.array([0.5, 0.5, 0.5, 1.0])
HIDDEN_GROUPS_FROM = 3

CHARACTER_COLOURS = np.array(
    [[0.30, 0.52, 0.78], [0.89, 0.47, 0.28], [0.30, 0.64, 0.48], [0.62, 0.42, 0.74], [0.86, 0.66, 0.22]]
)
PROP_COLOUR = np.array([0.88, 0.62, 0.27])
FURNITURE_COLOUR = np.array([0.79, 0.70, 0.58])
TERRAIN_COLOUR = np.array([0.60, 0.66, 0.55])
GROUND_COLOUR = np.array([0.80, 0.82, 0.84])

FIELD_OF_VIEW = float(np.radians(38.0))
ELEVATION = float(np.radians(-14.0))
MARGIN = 1.12
TRAVELLING = 1.0  # metres on the ground beyond which the camera looks across the path instead of at the face
FOLLOW_BEYOND = 4.0  # metres on the ground beyond which a camera that holds everything would show a tiny figure
NEARBY = 4.0  # metres from the characters beyond which a thing is let out of the picture, or they would be tiny
_FITTED_FRAMES = 120


@dataclass(frozen=True)
class Camera:
    """A perspective camera, angles in radians as MuJoCo means them: azimuth 0 looks along x, elevation < 0 down."""

    lookat: Array  # (3,)
    distance: float
    azimuth: float
    elevation: float
    field_of_view: float = FIELD_OF_VIEW  # vertical

    @property
    def position(self) -> Array:
        """Where the camera stands (3,)."""
        return self.lookat - self.distance * axes(self.azimuth, self.elevation)[2]


def axes(azimuth: float, elevation: float) -> Array:
    """The camera's right, up and forward directions, one a row (3, 3)."""
    flat = np.array([np.cos(azimuth), np.sin(azimuth), 0.0])
    forward = np.cos(elevation) * flat + np.array([0.0, 0.0, np.sin(elevation)])
    right = np.array([flat[1], -flat[0], 0.0])
    return np.stack([right, np.cross(right, forward), forward])


def moving(poses: Poses) -> NDArray[np.bool_]:
    """Which bodies (nbody,) are ever anywhere else than in the first frame."""
    shift = np.abs(poses.positions - poses.positions[:1]).max(axis=(0, 2))
    turn = 1.0 - np.abs(np.sum(poses.quats * poses.quats[:1], axis=-1)).min(axis=0)
    return (shift > 1e-5) | (turn > 1e-10)


def characters(model: mujoco.MjModel) -> list[int]:
    """Root bodies of the trees with three joints or more, most bodies first; of all that can move when none has."""
    roots: dict[int, list[int]] = {}
    for joint in range(model.njnt):
        roots.setdefault(int(model.body_rootid[model.jnt_bodyid[joint]]), []).append(joint)
    articulated = [root for root, joints in roots.items() if len(joints) >= 3]
    bodies = np.bincount(model.body_rootid, minlength=model.nbody)
    return sorted(articulated or roots, key=lambda root: -bodies[root])


def things(model: mujoco.MjModel) -> list[int]:
    """Root bodies of all else that can move: loose objects, and targets."""
    able = {int(model.body_rootid[body]) for body in (*model.jnt_bodyid, *np.flatnonzero(model.body_mocapid >= 0))}
    return sorted(able.difference(characters(model)))


def visible(model: mujoco.MjModel) -> NDArray[np.intp]:
    """Indices of the geoms that are drawn: MuJoCo's default groups, not fully transparent."""
    return np.flatnonzero((model.geom_group < HIDDEN_GROUPS_FROM) & (_declared_colours(model)[:, 3] > 0))


def colours(model: mujoco.MjModel) -> Array:
    """A colour for each geom (ngeom, 4): what the model says or, where it says nothing, what suits the geom's part."""
    rgba = _declared_colours(model)
    role = np.tile(FURNITURE_COLOUR, (model.ngeom, 1))
    root = model.body_rootid[model.geom_bodyid]
    people = characters(model)
    can_move = np.zeros(model.nbody, bool)
    can_move[model.body_rootid[model.jnt_bodyid]] = True
    role[can_move[root]] = PROP_COLOUR
    for k, person in enumerate(people):
        role[root == person] = CHARACTER_COLOURS[k % len(CHARACTER_COLOURS)]
    role[model.geom_type == mujoco.mjtGeom.mjGEOM_HFIELD] = TERRAIN_COLOUR
    role[model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE] = GROUND_COLOUR
    return np.where(undeclared(model)[:, None], np.concatenate([role, rgba[:, 3:]], axis=1), rgba)


def undeclared(model: mujoco.MjModel) -> NDArray[np.bool_]:
    """Which geoms (ngeom,) have no colour of their own: MuJoCo's plain grey, or white under a texture."""
    rgba = _declared_colours(model)
    painted = np.array([textured(model, geom) for geom in range(model.ngeom)], bool)
    return _is(rgba, PLAIN_GREY) | (painted & _is(rgba, np.ones(4)))


def textured(model: mujoco.MjModel, geom: int) -> bool:
    """Whether a picture is painted on the geom."""
    material = int(model.geom_matid[geom])
    return material >= 0 and bool((model.mat_texid[material] >= 0).any())


def _declared_colours(model: mujoco.MjModel) -> Array:
    """The geom's own colour, else its material's."""
    rgba = np.asarray(model.geom_rgba, float)
    by_material = _is(rgba, PLAIN_GREY) & (model.geom_matid >= 0)
    rgba[by_material] = model.mat_rgba[model.geom_matid[by_material]]
    return rgba


def _is(rgba: Array, colour: Array) -> NDArray[np.bool_]:
    return np.all(np.abs(rgba - colour) < 1e-3, axis=1)


def spheres(model: mujoco.MjModel, poses: Poses, roots: list[int]) -> tuple[Array, Array]:
    """Centres (T, n, 3) and radii (n,) of spheres around the seen geoms of the trees with these root bodies."""
    geoms = visible(model)
    geoms = geoms[np.isin(model.body_rootid[model.geom_bodyid[geoms]], roots)]
    bodies = model.geom_bodyid[geoms]
    centres = poses.positions[:, bodies] + rotations.rotate(poses.quats[:, bodies], model.geom_pos[geoms])
    return centres, np.asarray(model.geom_rbound[geoms], float)


def fitted(centres: Array, radii: Array, azimuth: float, elevation: float, aspect: float) -> Camera:
    """The nearest camera with this direction that sees all spheres (n, 3), (n,) in an image ``aspect`` times as wide.

    Each side of the frustum is a plane that must have every sphere on its inner side; the two sides of a pair give the
    camera's offset, and the pair that needs more room gives its distance.
    """
    view = axes(azimuth, elevation)
    right, up, forward = (centres @ view.T).T
    half = np.tan(FIELD_OF_VIEW / 2) / MARGIN
    nearest, offsets = [], []
    for across, slope in ((right, half * aspect), (up, half)):
        reach = radii * np.hypot(1.0, slope)
        high, low = np.max(across - slope * forward + reach), np.max(-across - slope * forward + reach)
        nearest.append(-(high + low) / (2 * slope))
        offsets.append((high - low) / 2)
    back = min(nearest)
    distance = max(float((forward.min() + forward.max()) / 2 - back), 0.5)
    lookat = view.T @ np.array([*offsets, back + distance])
    return Camera(lookat, distance, azimuth, elevation)


def framed(motion: Motion, *, aspect: float = 4 / 3, shifts: Array | None = None) -> Camera:
    """A camera that holds the characters' whole motion and has as little as possible standing in its way.

    It stands still, and then holds also the things around them that can move and the targets; or it moves by ``shifts``
    (T, 3) from where it is at the first frame (see :func:`track`).
    """
    model, poses = motion.scene.model, motion.poses()
    roots = characters(model)
    centres, radii = spheres(model, poses, roots)
    if not radii.size:  # nothing is seen to move: the whole scene
        centres, radii = np.tile(model.stat.center, (len(motion), 1, 1)), np.array([model.stat.extent / 2])
    if shifts is not None:
        centres = centres - shifts[:, None]
    chosen = np.linspace(0, len(centres) - 1, min(len(centres), _FITTED_FRAMES)).round().astype(int)
    centres = centres[chosen]
    held, sizes = centres.reshape(-1, 3), np.tile(radii, len(centres))
    if shifts is None:
        around, around_sizes = _nearby(held, *spheres(model, poses, things(model)), chosen)
        held, sizes = np.concatenate([held, around]), np.concatenate([sizes, around_sizes])
    cameras = [
        fitted(held, sizes, azimuth, ELEVATION, aspect) for azimuth in _directions(poses, roots[0] if roots else 0)
    ]
    seen = centres[:1] if shifts is not None else centres[:: _FITTED_FRAMES // 8]
    hidden = [_hidden(motion, seen.reshape(-1, 3), camera) for camera in cameras]
    return cameras[int(np.argmin(np.round(hidden, 1)))]  # a wish is given up only for a clearly better view


def _nearby(people: Array, centres: Array, radii: Array, frames: NDArray[np.intp]) -> tuple[Array, Array]:
    """Those of the spheres (T, n, 3), (n,) at some frames that are near the box around the people's (m, 3)."""
    points, sizes = centres[frames].reshape(-1, 3), np.tile(radii, len(frames))
    outside = np.maximum(0.0, np.maximum(people.min(axis=0) - points, points - people.max(axis=0)))
    near = np.linalg.norm(outside, axis=1) <= NEARBY
    return points[near], sizes[near]


def track(motion: Motion, *, smoothing: float = 0.4) -> Array:
    """How far (T, 3) a camera that follows the first character has gone since the first frame.

    The root's path without its wobble: a mean over ``smoothing`` seconds to either side, shorter near the ends.
    """
    roots = characters(motion.scene.model)
    path = motion.poses().positions[:, roots[0] if roots else 0]
    frames = np.arange(len(path))
    side = np.minimum(round(smoothing / motion.dt), np.minimum(frames, frames[::-1]))
    sums = np.concatenate([np.zeros((1, 3)), np.cumsum(path, axis=0)])
    smooth = (sums[frames + side + 1] - sums[frames - side]) / (2 * side + 1)[:, None]
    return smooth - smooth[0]


def travel(poses: Poses, body: int) -> float:
    """The diagonal, in metres, of the rectangle on the ground that a body's path fills."""
    return float(np.linalg.norm(np.ptp(poses.positions[:, body, :2], axis=0)))


def _directions(poses: Poses, root: int) -> list[float]:
    """Azimuths to try, the most wanted first: across the path when there is one, else towards the face."""
    path = poses.positions[:, root, :2]
    if travel(poses, root) > TRAVELLING:
        along = path[-1] - path[0]
        if np.linalg.norm(along) < TRAVELLING / 2:
            along = np.linalg.svd(path - path.mean(axis=0), full_matrices=False)[2][0]
        heading = float(np.arctan2(along[1], along[0]))
        offsets = (115.0, -115.0, 65.0, -65.0)  # to the right or the left of the picture, coming nearer or going away
    else:
        heading = float(rotations.yaw_of(poses.quats[0, root]))
        offsets = (145.0, -145.0, 90.0, -90.0, 180.0)
    return [heading + float(np.radians(offset)) for offset in offsets]


def _hidden(motion: Motion, targets: Array, camera: Camera) -> float:
    """The share of the lines of sight from the camera to the targets (n, 3) that a thing at rest stands in."""
    model, data = motion.scene.model, mujoco.MjData(motion.scene.model)
    data.qpos[:] = motion.qpos[0]
    if motion.mocap is not None:
        data.mocap_pos[:], data.mocap_quat[:] = motion.mocap[0, :, :3], motion.mocap[0, :, 3:]
    mujoco.mj_kinematics(model, data)
    lines = targets - camera.position
    lengths = np.linalg.norm(lines, axis=1)
    lines /= lengths[:, None]
    geoms, distances = np.empty(len(lines), np.int32), np.empty(len(lines))
    drawn_groups = (np.arange(mujoco.mjNGROUP) < HIDDEN_GROUPS_FROM).astype(np.uint8)
    mujoco.mj_multiRay(
        model, data, camera.position, lines.ravel(), drawn_groups, True, -1, geoms, distances, None, len(lines), 1e6
    )
    of_characters = np.isin(model.body_rootid[model.geom_bodyid], characters(model))
    at_rest = ~moving(motion.poses())[model.geom_bodyid] & ~of_characters
    return float(np.mean(np.append(at_rest, False)[geoms] & (distances < lengths)))  # geom -1 is nothing, the last
