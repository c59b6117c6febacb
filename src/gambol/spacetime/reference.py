"""The variables of the optimisation, and the reference trajectory they stand for (Section 3, equation 2).

Key-poses lie ``knot_spacing`` apart, the last at the end of a window; the pose before the first is where the window
before ended. Between them run cubic splines. The paper speaks of cubic B-splines with C0 continuity at key-poses: ours
pass through the key-poses and are also smooth there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from gambol.characters import Character
from gambol.errors import InputError
from gambol.goals import Window
from gambol.rotations import Array, namespace
from gambol.splines import spline_matrix


@dataclass(frozen=True, eq=False)
class Reference:
    """How the variables of one window become angles that servos aim at.

    A variable is an angle as a share of half the joint's range, so zero is the zero pose.
    """

    low: Array
    """(nu,) radians."""
    high: Array
    mixing: Array
    """(nu, variables) which variable drives which angle, scale included."""
    coupling: Array | None
    """(nu, nu) what the arms get from the hips for one unit of the coupling variable, or None."""
    knots: int
    steps: int
    basis: Array
    """(steps, knots + 1) of the splines."""

    @staticmethod
    def of(character: Character, model: mujoco.MjModel, window: Window, spacing: float) -> Reference:
        """For a character whose actuators are servos."""
        low, high = angle_ranges(character)
        dt = float(model.opt.timestep)
        steps, knots = round(window.duration / dt), max(round(window.duration / spacing), 1)
        if steps < knots:
            raise InputError(
                f"{window.duration:g} s are {steps} simulation steps, fewer than {knots} key-poses",
                key="duration",
                hint=f"a step takes {dt:g} s; key-poses are knot_spacing apart, {spacing:g} s",
            )
        times = np.arange(1, steps + 1, dtype=np.float64) / steps * knots
        driven = _drivers(character, window)
        mixing = np.zeros((len(low), driven.max() + 1))
        scale = 0.5 * (high - low)
        rows = driven >= 0
        mixing[np.flatnonzero(rows), driven[rows]] = (scale * _signs(character, window))[rows]
        coupling = _coupling(character) if window.coupled_arms else None
        return Reference(low, high, mixing, coupling, knots, steps, spline_matrix(knots + 1, times))

    @property
    def variables(self) -> int:
        """How many numbers describe the window."""
        return self.knots * self.mixing.shape[1] + (self.coupling is not None)

    def like(self, other: Reference) -> bool:
        """Whether its variables drive the same angles."""
        return self.mixing.shape == other.mixing.shape and np.array_equal(self.mixing != 0, other.mixing != 0)

    def key_poses(self, values: Array) -> tuple[Array, Array]:
        """Angles (N, knots, nu) within the joints' ranges, and how far (N,) the variables (N, variables) went beyond.

        With coupled arms the last variable says how far the arms swing with the legs (equations 15, 16). The paper
        counts 348 variables for a pair of walking windows and does not say how; one for each window makes ours 332.
        """
        xp, count = namespace(values), self.knots * self.mixing.shape[1]
        poses = values[:, :count].reshape(len(values), self.knots, -1) @ self.mixing.T
        if self.coupling is not None:
            poses = poses + values[:, count:, None] * (poses @ self.coupling.T)
        inside = xp.clip(poses, self.low, self.high)
        return inside, ((poses - inside) ** 2).mean((1, 2))

    def targets(self, before: Array, poses: Array) -> Array:
        """What the servos aim at (N, steps, nu), the window before having ended with the pose (nu,) or (N, nu)."""
        xp = namespace(poses)
        first = xp.broadcast_to(before, (len(poses), len(self.low)))[:, None]
        # no matrix product: its last bits depend on the processor and on how many threads it has
        between = xp.einsum("sk,nkj->nsj", self.basis, xp.concat([first, poses], axis=1))
        return xp.clip(between, self.low, self.high)


def waves(references: Sequence[Reference]) -> Array:
    """A basis (variables, variables) of the variables of some windows in a row: cosines over the key-poses of a joint,
    columns at right angles.

    Slow ones are larger than fast ones, so that equal steps in them make smooth changes first. Waves run through all
    windows where these have the same variables, and through each window on its own where they have not.
    """
    starts = np.cumsum([0, *(reference.variables for reference in references)])
    grids = [
        start + np.arange(each.knots * each.mixing.shape[1]).reshape(each.knots, -1)
        for start, each in zip(starts[:-1], references, strict=True)
    ]
    alike = all(references[0].like(each) for each in references)
    basis = np.eye(starts[-1])
    for grid in [np.concatenate(grids)] if alike else grids:
        cosines = _cosines(len(grid))
        for places in grid.T:
            basis[np.ix_(places, places)] = cosines
    return basis


_SLOW_FIRST = 0.5
"""How much smaller each faster wave is: 1 / (1 + 0.5 k)."""


def _cosines(count: int) -> Array:
    """Waves (count, count), a column each, that together vary every one of ``count`` key-poses by about one."""
    k = np.arange(count)
    columns = np.cos(np.pi * (k[:, None] + 0.5) * k / count) * np.where(k, np.sqrt(2.0), 1.0) / (1 + _SLOW_FIRST * k)
    return columns / np.sqrt((columns**2).sum(1)).mean()


def angle_ranges(character: Character) -> tuple[Array, Array]:
    """Ranges (nu,) of the joints that the servos drive, radians."""
    model = character.model
    if model.nu == 0:
        raise InputError(f"the character {character.name!r} has no actuators")
    servos = model.actuator_biastype == mujoco.mjtBias.mjBIAS_AFFINE
    if not servos.all():
        raise InputError(
            f"the actuators of {character.name!r} are no servos", hint="use a character with PD servos: athlete"
        )
    joints = model.actuator_trnid[:, 0]
    limited = model.jnt_limited[joints].astype(bool)[:, None]
    ranges = np.where(limited, model.jnt_range[joints], [[-np.pi, np.pi]])
    return ranges[:, 0], ranges[:, 1]


def _drivers(character: Character, window: Window) -> np.ndarray:
    """The variable (nu,) of each angle, -1 for none: mirrored limbs share theirs, coupled arms have none.

    Those of the trunk stay free unless symmetry is strict: that makes the paper's count of 220 variables.
    """
    own, other = np.arange(len(character.actuators)), character.symmetry.ctrl_index
    if window.symmetric:
        own = np.minimum(own, other)
    if window.symmetric == "strictly":
        aside = (other == np.arange(len(other))) & (character.symmetry.ctrl_sign < 0)
        own = np.where(aside, -1, own)
    if window.coupled_arms:
        own = np.where(_coupling(character).any(axis=1), -1, own)
    kept = np.unique(own[own >= 0])
    return np.where(own >= 0, np.searchsorted(kept, own), -1)


def _signs(character: Character, window: Window) -> Array:
    """Which way each angle goes with its variable."""
    other = character.symmetry.ctrl_index
    mirrored = bool(window.symmetric) & (other < np.arange(len(other)))
    return np.where(mirrored, character.symmetry.ctrl_sign, 1.0)


def _coupling(character: Character) -> Array:
    """Left shoulder by right minus left hip, and the right shoulder against it, in the sagittal plane."""
    names = list(character.actuators)
    wanted = ("left_shoulder_y", "right_shoulder_y", "left_hip_y", "right_hip_y")
    missing = [name for name in wanted if name not in names]
    if missing:
        raise InputError(f"{character.name!r} has no {', '.join(missing)}", key="coupled_arms")
    left, right, left_hip, right_hip = (names.index(name) for name in wanted)
    matrix = np.zeros((len(names), len(names)))
    matrix[left, [right_hip, left_hip]] = 1.0, -1.0
    matrix[right, [right_hip, left_hip]] = -1.0, 1.0
    return matrix
