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
_STRIDES = (1.0, 0.5, 0.2, 0.05, 0.01)
"""Shares of a Newton step that are tried; the best is taken."""
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
    found = _newton(settled, _best(settled, beginnings))
    curvature = _imbalance(settled, found)[1]
    residual = found - _solved(curvature, _imbalance(problem, found)[0])
    return Forces(_wrenches(problem, residual)[0], residual)


class _Problem(NamedTuple):
    """What :func:`solve` is given."""

    maps: Any
    required: Any
    weights: Any
    limits: Any
    grabs: Any


def _newton(problem: _Problem, residual: Any) -> Any:
    """The residuals (T, D) at the optimum."""
    strides = jnp.asarray(_STRIDES, residual.dtype)[:, None, None]

    def unsolved(state: tuple[Any, Any, Any, Any]) -> Any:
        steps, _, error, _ = state
        return (steps < NEWTON_STEPS) & (jnp.abs(error).max() > _TOLERANCE)

    def step(state: tuple[Any, Any, Any, Any]) -> tuple[Any, Any, Any, Any]:
        steps, residual, error, curvature = state
        residual = _best(problem, residual - strides * _solved(curvature, error))
        return steps + 1, residual, *_imbalance(problem, residual)

    return lax.while_loop(unsolved, step, (0, residual, *_imbalance(problem, residual)))[1]


def _best(problem: _Problem, residuals: Any) -> Any:
    """Of several residuals (S, T, D) the best at each time step."""
    chosen = jnp.argmin(_dual(problem, residuals), axis=0)
    return jnp.take_along_axis(residuals, chosen[None, :, None], axis=0)[0]


def _dual(problem: _Problem, residual: Any) -> Any:
    """The convex function (…, T) of residuals (…, T, D) whose minimum is the optimal one."""
    wrenches = _wrenches(problem, residual)[0]
    contact = (problem.weights * (wrenches**2).sum(-1)).sum(-1)
    return 0.5 * (residual**2).sum(-1) + 0.5 * contact - (problem.required * residual).sum(-1)


def _imbalance(problem: _Problem, residual: Any) -> tuple[Any, Any]:
    """Gradient (T, D) and Hessian (T, D, D) of :func:`_dual`."""
    wrenches, free, edge = _wrenches(problem, residual)
    error = residual + jnp.einsum("tnij,tnj->ti", problem.maps, wrenches) - problem.required
    # the projection is linear around here: the identity on the free components, a projection on the edge direction
    spread = problem.maps * jnp.sqrt(free / problem.weights[..., None])[..., None, :]
    along = jnp.einsum("tnij,tnj->tni", problem.maps, edge) / jnp.sqrt(problem.weights)[..., None]
    columns = jnp.concatenate([spread, along[..., None]], axis=-1)
    columns = jnp.swapaxes(columns, 1, 2).reshape(*residual.shape, -1)
    return error, jnp.eye(error.shape[-1]) + columns @ jnp.swapaxes(columns, 1, 2)


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
    sides = wrenches[..., _TANGENTIAL]
    normal = wrenches[..., 2]
    sizes = jnp.abs(sides)
    force = _normal_force(*(lax.stop_gradient(each) for each in (sizes, normal, limits)))
    beyond = sizes > limits * force[..., None]
    bound = jnp.where(beyond, limits, 0.0)
    chosen = jnp.maximum((normal + (bound * sizes).sum(-1)) / (1.0 + (bound**2).sum(-1)), 0.0)
    pushing = lax.stop_gradient(chosen > 0.0)[..., None]
    signed = jnp.sign(sides) * jnp.where(beyond, limits, 0.0)
    inside = jnp.where(beyond, signed * chosen[..., None], sides)
    projected = jnp.where(pushing, _assembled(inside, chosen), 0.0)
    free = jnp.where(pushing, _assembled(jnp.where(beyond, 0.0, 1.0), jnp.zeros_like(chosen)), 0.0)
    edge = _assembled(signed, jnp.ones_like(chosen))
    edge = jnp.where(pushing, edge / jnp.linalg.norm(edge, axis=-1, keepdims=True), 0.0)
    return projected, free, edge


def _normal_force(sizes: Any, normal: Any, limits: Any) -> Any:
    """The normal force (…) of the nearest wrench in the cone, from the sizes (…, 5) of the other components.

    It is the root of the largest of some falling lines, one for every set of components that it may bound: the largest
    of their roots. Components with larger ratios of size to limit are bounded first, so six sets come into question.
    """
    limits = jnp.broadcast_to(limits, sizes.shape)
    sets = sizes[..., None, :] * limits[..., :, None] >= sizes[..., :, None] * limits[..., None, :]
    pushed = normal[..., None] + jnp.where(sets, (limits * sizes)[..., None, :], 0.0).sum(-1)
    roots = pushed / (1.0 + jnp.where(sets, (limits**2)[..., None, :], 0.0).sum(-1))
    return jnp.maximum(jnp.maximum(roots.max(-1), normal), 0.0)


def _assembled(sides: Any, normal: Any) -> Any:
    """Wrenches (…, 6) of their bounded components (…, 5) and normal force (…)."""
    return jnp.concatenate([sides[..., :2], normal[..., None], sides[..., 2:]], axis=-1)


def _solved(matrices: Any, vectors: Any) -> Any:
    """``x`` (T, D) of ``A x = b`` for positive definite ``A`` (T, D, D)."""
    lower = jnp.linalg.cholesky(matrices)
    half = lax.linalg.triangular_solve(lower, vectors[..., None], left_side=True, lower=True)
    return lax.linalg.triangular_solve(lower, half, left_side=True, lower=True, transpose_a=True)[..., 0]
