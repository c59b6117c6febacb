"""Contact forces by inverse dynamics: the friction-cone QP of equation 6, for all time steps at once.

    minimise over f:  |Σᵢ Gᵢ fᵢ − τ|² + Σᵢ wᵢ |fᵢ|²     with every fᵢ in its cone

``fᵢ`` is the wrench at patch ``i`` in its contact frame: force (x, y along the surface, z along its normal), then
moment about the same axes. Because the regularisation of equation 7 is one number a patch, the optimum is a function of
the six residuals ``λ = τ − Σ Gᵢ fᵢ`` alone, ``fᵢ = project(Gᵢᵀ λ) / wᵢ``: six equations a time step for any number
of patches, solved by Newton's method in at most a fixed number of steps. Gradients come from the implicit function
theorem: one more Newton step, taken with the derivatives on, at the solution.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax

NEWTON_STEPS = 20
"""At most; ten bring a thousand random problems to rounding from nothing, two or three suffice from a good guess."""
_TOLERANCE = 1e-9
"""Largest error of the residual equations at which all time steps count as solved."""
_STRIDES = (1.0, 0.5, 0.25, 0.1)
"""Shares of a Newton step that are tried; the best is taken."""
_TANGENTIAL = (0, 1, 3, 4, 5)
"""Components of a wrench that the normal force bounds; the remaining one, 2, is the normal force itself."""


class Forces(NamedTuple):
    """What balances the motion, and what remains unbalanced."""

    wrenches: Any
    """(T, N, 6) in the contact frames."""
    residual: Any
    """(T, 6): force and moment that no contact provides."""


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

    ``maps`` (T, N, 6, 6) are the ``G``, ``required`` (T, 6) the ``τ``, ``weights`` (T, N) the ``w`` above 0, ``limits``
    (N, 5) or (T, N, 5) are from :func:`bounds`, ``grabs`` (N,) says which patches hold on: those pull as well as push,
    in any direction. A grip carries no moment, which the paper leaves open: otherwise one hand could hold a body level.
    ``guess`` (T, 6) is a residual to begin with, such as that of a similar motion; it changes how long it takes only.
    """
    problem = _Problem(maps, required, weights, limits, jnp.asarray(grabs))
    settled = lax.stop_gradient(problem)
    found = _newton(settled, settled.required if guess is None else lax.stop_gradient(guess))
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
    """The residuals (T, 6) at the optimum."""
    strides = jnp.asarray(_STRIDES, residual.dtype)[:, None, None]

    def unsolved(state: tuple[Any, Any, Any, Any]) -> Any:
        steps, _, error, _ = state
        return (steps < NEWTON_STEPS) & (jnp.abs(error).max() > _TOLERANCE)

    def step(state: tuple[Any, Any, Any, Any]) -> tuple[Any, Any, Any, Any]:
        steps, residual, error, curvature = state
        tried = residual - strides * _solved(curvature, error)
        best = jnp.argmin(_dual(problem, tried), axis=0)
        residual = jnp.take_along_axis(tried, best[None, :, None], axis=0)[0]
        return steps + 1, residual, *_imbalance(problem, residual)

    return lax.while_loop(unsolved, step, (0, residual, *_imbalance(problem, residual)))[1]


def _dual(problem: _Problem, residual: Any) -> Any:
    """The convex function (…, T) of residuals (…, T, 6) whose minimum is the optimal one."""
    wrenches = _wrenches(problem, residual)[0]
    contact = (problem.weights * (wrenches**2).sum(-1)).sum(-1)
    return 0.5 * (residual**2).sum(-1) + 0.5 * contact - (problem.required * residual).sum(-1)


def _imbalance(problem: _Problem, residual: Any) -> tuple[Any, Any]:
    """Gradient (T, 6) and Hessian (T, 6, 6) of :func:`_dual`."""
    wrenches, free, edge = _wrenches(problem, residual)
    error = residual + jnp.einsum("tnij,tnj->ti", problem.maps, wrenches) - problem.required
    # the projection is linear around here: the identity on the free components, a projection on the edge direction
    spread = problem.maps * jnp.sqrt(free / problem.weights[..., None])[..., None, :]
    along = jnp.einsum("tnij,tnj->tni", problem.maps, edge) / jnp.sqrt(problem.weights)[..., None]
    columns = jnp.concatenate([spread, along[..., None]], axis=-1)
    columns = jnp.swapaxes(columns, 1, 2).reshape(len(residual), 6, -1)
    return error, jnp.eye(6) + columns @ jnp.swapaxes(columns, 1, 2)


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
    # the best normal force is the root of a concave increasing piecewise linear function: at most five kinks
    still = [lax.stop_gradient(each) for each in (sizes, normal, limits)]
    force = jnp.zeros_like(normal)
    for _ in _TANGENTIAL:
        force = _bounded(still[0], still[1], still[2], force)[1]
    beyond, chosen = _bounded(sizes, normal, limits, force)
    pushing = lax.stop_gradient(chosen > 0.0)[..., None]
    signed = jnp.sign(sides) * jnp.where(beyond, limits, 0.0)
    inside = jnp.where(beyond, signed * chosen[..., None], sides)
    projected = jnp.where(pushing, _assembled(inside, chosen), 0.0)
    free = jnp.where(pushing, _assembled(jnp.where(beyond, 0.0, 1.0), jnp.zeros_like(chosen)), 0.0)
    edge = _assembled(signed, jnp.ones_like(chosen))
    edge = jnp.where(pushing, edge / jnp.linalg.norm(edge, axis=-1, keepdims=True), 0.0)
    return projected, free, edge


def _bounded(sizes: Any, normal: Any, limits: Any, force: Any) -> tuple[Any, Any]:
    """Which components (…, 5) a normal ``force`` (…) bounds, and the best normal force (…) if just those are."""
    beyond = lax.stop_gradient(sizes > limits * force[..., None])
    bound = jnp.where(beyond, limits, 0.0)
    return beyond, jnp.maximum((normal + (bound * sizes).sum(-1)) / (1.0 + (bound**2).sum(-1)), 0.0)


def _assembled(sides: Any, normal: Any) -> Any:
    """Wrenches (…, 6) of their bounded components (…, 5) and normal force (…)."""
    return jnp.concatenate([sides[..., :2], normal[..., None], sides[..., 2:]], axis=-1)


def _solved(matrices: Any, vectors: Any) -> Any:
    """``x`` (T, 6) of ``A x = b`` for positive definite ``A`` (T, 6, 6)."""
    lower = jnp.linalg.cholesky(matrices)
    half = lax.linalg.triangular_solve(lower, vectors[..., None], left_side=True, lower=True)
    return lax.linalg.triangular_solve(lower, half, left_side=True, lower=True, transpose_a=True)[..., 0]
