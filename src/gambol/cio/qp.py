"""Contact forces by inverse dynamics: the friction-cone QP of equation 6, for all time steps at once.

    minimise over f:  |Σᵢ Gᵢ fᵢ − τ|² + Σᵢ wᵢ |fᵢ|²     with every fᵢ in its cone

``fᵢ`` is the wrench at patch ``i`` in its contact frame: force (x, y along the surface, z along its normal), then
moment about the same axes. Because the regularisation of equation 7 is one number a patch, the optimum is a function of
the residuals ``λ = τ − Σ Gᵢ fᵢ`` alone, ``fᵢ = project(Gᵢᵀ λ) / wᵢ``: six equations a body and time step for any
number of patches, solved by Newton's method in at most a fixed number of steps. Gradients come from the implicit
function theorem: one more Newton step, taken with the derivatives on, at the solution.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax

NEWTON_STEPS = 40
"""At most; ten bring a thousand random problems to rounding from nothing, two or three suffice from a good guess."""
_TOLERANCE = 1e-9
"""Largest error of the residual equations at which all time steps count as solved."""
_STRIDES = (0.5, 0.2, 0.05, 0.01)
"""Shares of a Newton step that are tried where the whole step is too long; the best is taken."""
_ENOUGH = 1e-4
"""Share of the decrease that the slope promises, which the whole step must bring."""
_ROUNDING = 1e-13
"""Decrease of the dual, as a share of it, that is lost in rounding."""
_TANGENTIAL = (0, 1, 3, 4, 5)
"""Components of a wrench that the normal force bounds; the remaining one, 2, is the normal force itself."""


class Forces(NamedTuple):
    """What balances the motion, and what remains unbalanced."""

    wrenches: Any
    """(T, N, 6) in the contact frames."""
    residual: Any
    """(T, D): forces and moments that no contact provides; D is 6 times the number of bodies."""


def bounds(friction: Any, half_sizes: Any) -> Any:
    """What a unit of normal force allows (N, 5): friction along x and y, moments about x, y and the normal.

    ``friction`` (N,) is a coefficient, ``half_sizes`` (N, 2) those of the rectangle within which the force may act
    (metres). The centre of pressure stays in the rectangle when the moment about x is at most the half size along y
    times the normal force, and the other way round; torsion is friction acting at the rectangle's mean radius.
    """
    along_x, along_y = half_sizes[..., 0], half_sizes[..., 1]
    torsion = friction * (along_x + along_y) / 2
    return jnp.stack([friction, friction, along_y, along_x, torsion], axis=-1)


def solve(maps: Any, required: Any, weights: Any, limits: Any, grabs: Any, guess: Any | None = None) -> Forces:
    """The wrenches (T, N, 6) of the QP above, differentiable in everything but ``grabs`` and ``guess``.

    ``maps`` (T, N, D, 6) are the ``G``, ``required`` (T, D) the ``τ``, ``weights`` (T, N) the ``w`` above 0, ``limits``
    (N, 5) or (T, N, 5) are from :func:`bounds`, ``grabs`` (N,) says which patches hold on: those pull as well as push,
    in any direction. A grip carries no moment, which the paper leaves open: otherwise one hand could hold a body level.
    ``guess`` (T, D) is a residual to begin with, such as that of a similar motion; it changes how long it takes only.
    """
    problem = _Problem(maps, required, weights, limits, jnp.asarray(grabs))
    settled = lax.stop_gradient(problem)
    beginnings = jnp.stack([jnp.zeros_like(required), settled.required if guess is None else lax.stop_gradient(guess)])
    found, curvature = _newton(settled, _best(settled, beginnings))
    residual = found - _solved(curvature, _error(problem, found, _wrenches(problem, found)[0]))
    return Forces(_wrenches(problem, residual)[0], residual)


class _Problem(NamedTuple):
    """What :func:`solve` is given."""

    maps: Any
    required: Any
    weights: Any
    limits: Any
    grabs: Any


def _newton(problem: _Problem, residual: Any) -> tuple[Any, Any]:
    """The residuals (T, D) at the optimum, and the Hessian (T, D, D) of the dual there."""
    strides = jnp.asarray(_STRIDES, residual.dtype)[:, None, None]

    def unsolved(state: tuple[Any, _Point]) -> Any:
        steps, point = state
        return (steps < NEWTON_STEPS) & (jnp.abs(point.error).max() > _TOLERANCE)

    def step(state: tuple[Any, _Point]) -> tuple[Any, _Point]:
        steps, point = state
        way = _solved(point.curvature, point.error)
        whole = _Point.at(problem, point.residual - way)
        promised = _ENOUGH * (way * point.error).sum(-1)
        enough = whole.dual <= point.dual - promised + _ROUNDING * jnp.abs(point.dual)

        def shorter() -> _Point:
            best = _best(problem, point.residual - strides * way)
            return _Point.at(problem, jnp.where(enough[:, None], whole.residual, best))

        return steps + 1, lax.cond(enough.all(), lambda: whole, shorter)

    _, found = lax.while_loop(unsolved, step, (0, _Point.at(problem, residual)))
    return found.residual, found.curvature


class _Point(NamedTuple):
    """Residuals (T, D), the dual (T,) there, its gradient (T, D) and its Hessian (T, D, D)."""

    residual: Any
    dual: Any
    error: Any
    curvature: Any

    @staticmethod
    def at(problem: _Problem, residual: Any) -> _Point:
        """All that is known there."""
        wrenches, free, edge = _wrenches(problem, residual)
        # the projection is linear around here: the identity on the free components, a projection on the edge direction
        spread = problem.maps * jnp.sqrt(free / problem.weights[..., None])[..., None, :]
        along = jnp.einsum("tnij,tnj->tni", problem.maps, edge) / jnp.sqrt(problem.weights)[..., None]
        columns = jnp.concatenate([spread, along[..., None]], axis=-1)
        columns = jnp.swapaxes(columns, 1, 2).reshape(*residual.shape, -1)
        curvature = jnp.eye(residual.shape[-1]) + columns @ jnp.swapaxes(columns, 1, 2)
        return _Point(residual, _dual(problem, residual, wrenches), _error(problem, residual, wrenches), curvature)


def _best(problem: _Problem, residuals: Any) -> Any:
    """Of several residuals (S, T, D) the best at each time step."""
    chosen = jnp.argmin(_dual(problem, residuals, _wrenches(problem, residuals)[0]), axis=0)
    return jnp.take_along_axis(residuals, chosen[None, :, None], axis=0)[0]


def _dual(problem: _Problem, residual: Any, wrenches: Any) -> Any:
    """The convex function (…, T) of residuals (…, T, D) whose minimum is the optimal one."""
    contact = (problem.weights * (wrenches**2).sum(-1)).sum(-1)
    return 0.5 * (residual**2).sum(-1) + 0.5 * contact - (problem.required * residual).sum(-1)


def _error(problem: _Problem, residual: Any, wrenches: Any) -> Any:
    """The gradient (T, D) of :func:`_dual`."""
    return residual + jnp.einsum("tnij,tnj->ti", problem.maps, wrenches) - problem.required


def _wrenches(problem: _Problem, residual: Any) -> tuple[Any, Any, Any]:
    """Wrenches (…, T, N, 6), and as in :func:`_projected` where they are free and along which edge they move."""
    pulled = jnp.einsum("tnij,...ti->...tnj", problem.maps, residual)
    projected, free, edge = _projected(pulled, problem.limits)
    held = problem.grabs[:, None]
    gripping = jnp.where(held, jnp.asarray([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]), 0.0)
    projected = jnp.where(held, gripping * pulled, projected)
    return projected / problem.weights[..., None], jnp.where(held, gripping, free), jnp.where(held, 0.0, edge)


def _projected(wrenches: Any, limits: Any) -> tuple[Any, Any, Any]:
    """The nearest wrenches (…, 6) in the cone |component| ≤ limit · normal force.

    With them, where each component is free (…, 6: 1 or 0) and the unit direction (…, 6) along which the others move
    together; both are zero where the nearest wrench is none at all.
    """
    # component by component: compilers fuse what is elementwise and stop at sums over an axis
    sides, normal = [wrenches[..., k] for k in _TANGENTIAL], wrenches[..., 2]
    bounds = [limits[..., k] for k in range(len(_TANGENTIAL))]
    sizes = [jnp.abs(side) for side in sides]
    force = lax.stop_gradient(_normal_force(sizes, normal, bounds))
    beyond = [size > bound * force for size, bound in zip(sizes, bounds, strict=True)]
    signed = [
        jnp.where(each, jnp.sign(side) * bound, 0.0) for each, side, bound in zip(beyond, sides, bounds, strict=True)
    ]
    along = 1.0 + sum(each**2 for each in signed)
    chosen = jnp.maximum((normal + sum(a * b for a, b in zip(signed, sides, strict=True))) / along, 0.0)
    pushing = lax.stop_gradient(chosen > 0.0)
    inside = [jnp.where(each, a * chosen, side) for each, a, side in zip(beyond, signed, sides, strict=True)]
    projected = _assembled([jnp.where(pushing, side, 0.0) for side in inside], chosen)
    free = _assembled([jnp.where(pushing & ~each, 1.0, 0.0) for each in beyond], jnp.zeros_like(chosen))
    scale = jnp.where(pushing, 1.0 / jnp.sqrt(along), 0.0)
    return projected, free, _assembled([scale * each for each in signed], scale)


def _normal_force(sizes: list[Any], normal: Any, limits: list[Any]) -> Any:
    """The normal force (…) of the nearest wrench in the cone, from the sizes (…) of the other components.

    It is the root of the largest of some falling lines, one for every set of components that it may bound: the largest
    of their roots. Components with larger ratios of size to limit are bounded first, so six sets come into question.
    """
    largest = jnp.maximum(normal, 0.0)
    for size, limit in zip(sizes, limits, strict=True):
        pushed, falling = normal, 1.0
        for other, its in zip(sizes, limits, strict=True):
            bounded = jnp.where(other * limit >= size * its, its, 0.0)
            pushed, falling = pushed + bounded * other, falling + bounded**2
        largest = jnp.maximum(largest, pushed / falling)
    return largest


def _assembled(sides: list[Any], normal: Any) -> Any:
    """Wrenches (…, 6) of their bounded components (…) and normal force (…)."""
    return jnp.stack([*sides[:2], normal, *sides[2:]], axis=-1)


def _solved(matrices: Any, vectors: Any) -> Any:
    """``x`` (T, D) of ``A x = b`` for positive definite ``A`` (T, D, D)."""
    lower = jnp.linalg.cholesky(matrices)
    half = lax.linalg.triangular_solve(lower, vectors[..., None], left_side=True, lower=True)
    return lax.linalg.triangular_solve(lower, half, left_side=True, lower=True, transpose_a=True)[..., 0]
