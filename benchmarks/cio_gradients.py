"""How long a gradient of contact-invariant optimisation takes by automatic and by finite differences, in one run.

python benchmarks/cio_gradients.py [CHARACTER] [PHASES]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.flatten_util import ravel_pytree

from gambol.characters import build
from gambol.cio.features import FeatureModel
from gambol.cio.problem import STAGES, Timing, at_rest, make_problem, no_guess, total
from gambol.cio.settings import Settings
from gambol.cio.surfaces import Surfaces
from gambol.cio.wishes import standing
from gambol.scenes import Scene, place

_REPEATS = 20
_STEP = 1e-3
"""Of the finite differences, as in the paper."""


def main(character: str = "humanoid", phases: int = 10) -> None:
    """Print both times, their ratio, and how far the two gradients are apart."""
    settings = Settings()
    model = FeatureModel.of(build(character))
    scene = Scene.alone(model.character)
    timing = Timing(phases, 0.5, settings.knots_per_phase, settings.samples_per_phase)
    with jax.enable_x64(True):
        start = model.features_of(place(scene, "standing"))
        given = Surfaces.of(scene), start, standing(model), timing, settings
        problem = jax.device_put(make_problem(model, *given))
        flat, unravel = ravel_pytree(at_rest(problem, timing, 0.5))
        flat = np.asarray(flat) + 0.01 * np.abs(np.random.default_rng(0).normal(size=flat.size))
        guess = no_guess(problem)

        def cost(values: Any) -> Any:
            return total(problem, STAGES[-1], unravel(values), guess)[0]

        value, gradient = jax.jit(cost), jax.jit(jax.value_and_grad(cost))
        began = time.perf_counter()
        jax.block_until_ready(gradient(flat))
        compiling = time.perf_counter() - began
        one_value, one_gradient = _seconds(value, flat), _seconds(gradient, flat)
        columns = np.random.default_rng(1).choice(flat.size, 10, replace=False)
        steps = _STEP * np.eye(flat.size)[columns]
        measured = np.array([float(value(flat + step) - value(flat - step)) / (2 * _STEP) for step in steps])
        apart = np.abs(measured - np.asarray(gradient(flat)[1])[columns]).max() / np.abs(measured).max()
    print(f"{character}, {phases} phases, {flat.size} variables; compiled in {compiling:.1f} s")
    print(f"cost {1e3 * one_value:.1f} ms; cost and gradient by automatic differentiation {1e3 * one_gradient:.1f} ms")
    print(f"gradient by one-sided finite differences {(flat.size + 1) * one_value:.2f} s (one cost a variable)")
    print(f"ratio {(flat.size + 1) * one_value / one_gradient:.0f}; largest difference in ten columns {apart:.1e}")


def _seconds(function: Callable[[Any], Any], values: Any) -> float:
    """Of one call, the mean of several."""
    jax.block_until_ready(function(values))
    began = time.perf_counter()
    for _ in range(_REPEATS):
        jax.block_until_ready(function(values))
    return (time.perf_counter() - began) / _REPEATS


if __name__ == "__main__":
    main(*sys.argv[1:2], *(int(each) for each in sys.argv[2:3]))
