"""The friction-cone QP: against a reference solver, its own optimality, its cones and its gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from gambol.rotations import Array, normalise, to_matrix

jax = pytest.importorskip("jax", reason="JAX is an optional extra")
from gambol.cio import qp  # noqa: E402

BOUNDED = (0, 1, 3, 4, 5)
COMPILED = jax.jit(qp.solve)


class Problems(NamedTuple):
    maps: Array
    required: Array
    weights: Array
    limits: Array
    grabs: Any


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def cross_matrix(vectors: Array) -> Array:
    return np.stack([np.cross(vectors, axis) for axis in -np.eye(3)], axis=-2)


def random_problems(count: int, patches: int = 6, seed: int = 0) -> Problems:
    """Patches anywhere and turned anyhow, some of them in contact; what is required, wrenches in the cones provide."""
    rng = np.random.default_rng(seed)
    shape = (count, patches)
    turns = to_matrix(normalise(rng.normal(size=(*shape, 4))))
    maps = np.zeros((*shape, 6, 6))
    maps[..., :3, :3] = maps[..., 3:, 3:] = turns
    maps[..., 3:, :3] = cross_matrix(rng.uniform(-1, 1, (*shape, 3))) @ turns
    contact = rng.uniform(0, 1, shape) * (rng.uniform(size=shape) < 0.6)
    contact[:, 0] += 0.1
    limits = np.asarray(qp.bounds(rng.uniform(0.3, 2.0, shape), rng.uniform(0, 0.15, (*shape, 2))))
    wrenches = np.zeros((*shape, 6))
    wrenches[..., 2] = rng.uniform(0, 1, shape) * (contact > 0)
    wrenches[..., BOUNDED] = rng.uniform(-1, 1, (*shape, 5)) * limits * wrenches[..., 2:3]
    required = np.einsum("tnij,tnj->ti", maps, wrenches)
    return Problems(maps, required, 1e-2 / (contact**2 + 1e-3), limits, np.arange(patches) == patches - 1)


def by_clarabel(maps: Array, required: Array, weights: Array, limits: Array, grabs: Any) -> Array:
    """The same problem, one time step, by an interior-point solver."""
    clarabel, sparse = pytest.importorskip("clarabel"), pytest.importorskip("scipy.sparse")
    patches = len(weights)
    wide = np.concatenate(list(maps), axis=-1)
    cost = 2 * (wide.T @ wide + np.diag(np.repeat(weights, 6)))
    unit = np.eye(6 * patches)
    zero = [unit[6 * i + k] for i in np.flatnonzero(grabs) for k in (3, 4, 5)]
    below = [-unit[6 * i + 2] for i in np.flatnonzero(~grabs)]
    below += [
        sign * unit[6 * i + k] - limit * unit[6 * i + 2]
        for i in np.flatnonzero(~grabs)
        for k, limit in zip(BOUNDED, limits[i], strict=True)
        for sign in (1, -1)
    ]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    cones = [clarabel.ZeroConeT(len(zero)), clarabel.NonnegativeConeT(len(below))]
    rows = sparse.csc_matrix(np.array(zero + below))
    upper = sparse.csc_matrix(np.triu(cost))
    solver = clarabel.DefaultSolver(upper, -2 * wide.T @ required, rows, np.zeros(rows.shape[0]), cones, settings)
    found = solver.solve()
    assert str(found.status) == "Solved"
    return np.array(found.x).reshape(patches, 6)


def solved(problems: Problems, guess: Array | None = None) -> qp.Forces:
    return COMPILED(*problems, problems.required if guess is None else guess)


def test_agrees_with_an_interior_point_solver() -> None:
    problems = random_problems(1000, patches=4)
    found = np.asarray(solved(problems).wrenches)
    per_step = zip(*problems[:4], strict=True)
    reference = np.array([by_clarabel(*each, problems.grabs) for each in per_step])
    error = np.linalg.norm(found - reference, axis=(1, 2)) / np.linalg.norm(reference, axis=(1, 2))
    assert error.max() < 1e-4


def test_wrenches_lie_in_their_cones() -> None:
    problems = random_problems(300, seed=1)
    wrenches = np.asarray(solved(problems).wrenches)
    pushing, gripping = wrenches[:, ~problems.grabs], wrenches[:, problems.grabs]
    allowed = problems.limits[:, ~problems.grabs] * pushing[..., 2:3]
    assert pushing[..., 2].min() >= 0
    assert (np.abs(pushing[..., BOUNDED]) <= allowed + 1e-9).all()
    assert (gripping[..., 3:] == 0).all()
    assert gripping[..., 2].min() < 0


def test_the_residual_is_what_the_wrenches_leave() -> None:
    problems = random_problems(300, seed=2)
    forces = solved(problems)
    left = problems.required - np.einsum("tnij,tnj->ti", problems.maps, forces.wrenches)
    np.testing.assert_allclose(forces.residual, left, atol=1e-8)


def test_a_guess_changes_nothing() -> None:
    problems = random_problems(300, seed=3)
    guess = np.random.default_rng(0).normal(size=problems.required.shape)
    plain, guessed = solved(problems), solved(problems, guess)
    np.testing.assert_allclose(plain.wrenches, guessed.wrenches, atol=1e-8)


def test_without_contact_forces_fade() -> None:
    problems = random_problems(300, seed=4)
    strong, weak = (np.full_like(problems.weights, 1e-2 / (c**2 + 1e-3)) for c in (1.0, 0.0))
    held = np.linalg.norm(solved(problems._replace(weights=strong)).residual, axis=-1)
    dropped = np.linalg.norm(solved(problems._replace(weights=weak)).residual, axis=-1)
    assert (held < dropped).all()


def test_gradients_match_finite_differences() -> None:
    problems = random_problems(40, seed=5)
    rng = np.random.default_rng(6)
    mixing = rng.normal(size=(40, 6, 6)), rng.normal(size=(40, 6))

    @jax.jit
    def scalars(given: Any) -> Any:
        forces = qp.solve(*given, problems.grabs)
        return (mixing[0] * forces.wrenches).sum((1, 2)) + (mixing[1] * forces.residual**2).sum(1)

    given = problems[:4]
    gradients = jax.jit(jax.grad(lambda given: scalars(given).sum()))(given)
    for argument, (values, gradient) in enumerate(zip(given, gradients, strict=True)):
        change = 1e-6 * rng.normal(size=values.shape) * values
        ahead, behind = (
            tuple(each + (sign * change if k == argument else 0.0) for k, each in enumerate(given)) for sign in (1, -1)
        )
        measured = np.asarray(scalars(ahead) - scalars(behind)) / 2e-6
        derived = (np.asarray(gradient) * change).reshape(40, -1).sum(1) / 1e-6
        np.testing.assert_allclose(derived, measured, rtol=1e-4, atol=1e-5)
