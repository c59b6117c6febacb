"""The whole optimisation on a small problem."""

from __future__ import annotations

import numpy as np
import pytest

from gambol.characters import build
from gambol.scenes import Scene, place

jax = pytest.importorskip("jax", reason="JAX is an optional extra")
from gambol.cio import optimise, problem, wishes  # noqa: E402
from gambol.cio.features import FeatureModel  # noqa: E402
from gambol.cio.settings import Settings  # noqa: E402
from gambol.cio.surfaces import Surfaces  # noqa: E402


def test_a_standing_body_keeps_standing_on_both_feet() -> None:
    settings = Settings(iterations=(10, 80, 80), first_contacts=(0.3,))
    model = FeatureModel.of(build("wide-biped"))
    scene = Scene.alone(model.character)
    start = model.features_of(place(scene, "standing"))
    timing = problem.Timing(2, 0.5, settings.knots_per_phase, settings.samples_per_phase)
    given = problem.make_problem(model, Surfaces.of(scene), start, wishes.standing(model), timing, settings)
    found = optimise.optimise(given, timing, settings, seed=0)
    feet = [model.patch_names.index(f"{side}_foot") for side in ("right", "left")]
    trunk = model.patch_names.index("torso")
    assert found.costs["physics"] / settings.physics < 1e-3
    assert found.costs["contact"] / settings.contact < 1e-3
    assert found.solution.contacts[:, feet].min() > 0.3 > found.solution.contacts[:, trunk].max()
    again = optimise.optimise(given, timing, settings, seed=0)
    np.testing.assert_array_equal(found.solution.features, again.solution.features)
