"""The whole cost and the whole optimisation on small problems, of one character and of several bodies."""

from __future__ import annotations

import numpy as np
import pytest

from gambol.characters import build
from gambol.errors import InputError
from gambol.scenes import Scene, place

jax = pytest.importorskip("jax", reason="JAX is an optional extra")
from jax.flatten_util import ravel_pytree  # noqa: E402

from gambol.cio import contact, dynamics, kinematics, limbs, optimise, problem, wishes  # noqa: E402
from gambol.cio.cast import Cast, Thing  # noqa: E402
from gambol.cio.features import FeatureModel  # noqa: E402
from gambol.cio.metric import Metric  # noqa: E402
from gambol.cio.resting import rested, unsupported  # noqa: E402
from gambol.cio.settings import Settings  # noqa: E402
from gambol.cio.surfaces import Surfaces  # noqa: E402

CRATE = Thing("crate", 6.0, np.array([0.15, 0.2, 0.1]))


@pytest.fixture(scope="module")
def biped() -> FeatureModel:
    return FeatureModel.of(build("wide-biped"))


def standing_features(model: FeatureModel) -> np.ndarray:
    return model.features_of(place(Scene.alone(model.character), "standing"))


def test_the_gradient_of_the_whole_cost_matches_finite_differences(biped: FeatureModel) -> None:
    """With a box to touch and to stay out of, a thing to move, and every term of the cost weighing something."""
    settings = Settings(samples_per_phase=3, hint=10.0, scuffing=1.0)
    timing = problem.Timing(1, 0.5, 2, settings.samples_per_phase)
    with jax.enable_x64(True):
        world = Surfaces.of_boxes([(np.array([0.3, 0.0, 0.2]), np.eye(3), np.array([0.2, 0.5, 0.2]))])
        cast = Cast.of({"biped": biped}, [CRATE], world)
        features = standing_features(biped)
        start = cast.placed({"biped": features, "crate": np.array([0.6, 0.0, 0.1, 0.0, 0.0, 0.0])})
        rows = cast.rows("biped", wishes.standing(biped))
        given = problem.make_problem(cast, cast.surfaces, start, rows, timing, settings)
        rng = np.random.default_rng(0)
        flat, unravel = ravel_pytree(problem.at_rest(given, timing, 0.5))
        flat = np.asarray(flat) + 0.05 * np.abs(rng.normal(size=flat.size))
        stage = problem.Stage(1.0, 1.0, 1.0, 1.0)

        def cost(values: np.ndarray) -> float:
            return problem.total(given, stage, unravel(values), problem.no_guess(given))[0]

        both = jax.jit(jax.value_and_grad(cost))
        value, gradient = both(flat)
        assert np.isfinite(value)
        for _ in range(20):
            direction = rng.normal(size=flat.size)
            step = 1e-6 * direction
            measured = (float(both(flat + step)[0]) - float(both(flat - step)[0])) / 2e-6
            assert float(np.dot(gradient, direction)) == pytest.approx(measured, rel=1e-4, abs=1e-3)


def test_the_costs_of_parts_add_up(biped: FeatureModel) -> None:
    settings = Settings(samples_per_phase=3)
    with jax.enable_x64(True):
        world = Surfaces.of_boxes([(np.array([0.3, 0.0, 0.2]), np.eye(3), np.array([0.2, 0.5, 0.2]))])
        rng, costs = np.random.default_rng(0), jax.jit(lambda *given: problem.terms(*given)[0])
        start = standing_features(biped)

        def lasting(phases: int) -> tuple[problem.Problem, problem.Timing]:
            timing = problem.Timing(phases, 0.5, 2, settings.samples_per_phase)
            return problem.make_problem(biped, world, start, wishes.standing(biped), timing, settings), timing

        odd, _ = lasting(3)
        assert odd.parts(2)[0] is odd, "an odd number of samples stays together"
        given, timing = lasting(2)
        held = problem.at_rest(given, timing, 0.5)
        moved = jax.tree.map(lambda part: part + 0.05 * np.abs(rng.normal(size=part.shape)), held)
        each = [costs(part, moved, problem.no_guess(part)) for part in given.parts(2)]
        assert len(each) == 2
        for name, whole in costs(given, moved, problem.no_guess(given)).items():
            assert sum(float(found[name]) for found in each) == pytest.approx(float(whole), rel=1e-9), name


def test_only_contacts_with_the_world_push_a_cast_as_a_whole(biped: FeatureModel) -> None:
    """What bodies do to each other cancels out, forces and, where they touch, moments."""
    with jax.enable_x64(True):
        cast = Cast.of({"biped": biped}, [CRATE], Surfaces.of_boxes([]))
        features = standing_features(biped)
        start = cast.placed({"biped": features, "crate": np.array([0.1, 0.0, 0.4, 0.0, 0.3, 0.0])})
        knots = np.stack([start, start, 0 * start, 0 * start])
        names = list(cast.contact_names)
        grabs = np.array(["on crate" in name for name in names])

        @jax.jit
        def solved() -> tuple:
            still = kinematics.frames(kinematics.Basis.at(np.array([0.5]), 2, 1.0), knots)
            still = limbs.with_middles(cast.body.limbs, still)[1]
            touch = contact.touching(cast.body, still, cast.surfaces)
            forces = dynamics.contact_forces(
                cast.body, still, touch, np.ones((1, len(names))), np.array(1.0), grabs, None
            )
            turns = dynamics.contact_frames(touch)[0]
            given = dynamics.required(cast.body, still) - forces.residual
            return touch.points, touch.gaps, turns, forces.wrenches, given

        points, gaps, turns, wrenches, given = (np.asarray(part)[0] for part in solved())
    pushes = np.einsum("nij,nkj->nki", turns, wrenches.reshape(-1, 2, 3))
    assert np.abs(pushes[grabs]).max() > 0.01
    # in weights of the heaviest body
    shares = cast.body.masses / cast.body.masses.max()
    given, ground = shares[:, None, None] * given.reshape(2, 2, 3), ~grabs
    np.testing.assert_allclose(given[:, 0].sum(0), pushes[ground, 0].sum(0), atol=1e-6)
    about_origin = given[:, 1] + np.cross(start[cast.body.roots, :3], given[:, 0])
    by_ground = pushes[ground, 1] + np.cross(points[ground], pushes[ground, 0])
    # a thing is pushed where it would be touched
    by_gaps = np.cross(gaps[grabs], pushes[grabs, 0])
    np.testing.assert_allclose(about_origin.sum(0), by_ground.sum(0) + by_gaps.sum(0), atol=1e-6)


def test_a_cast_has_everybodys_features_once(biped: FeatureModel) -> None:
    cast = Cast.of({"one": biped, "two": biped}, [CRATE], Surfaces.of_boxes([]), ["two"])
    assert cast.features == {"one": slice(0, 3), "two": slice(3, 6), "crate": slice(6, 7)}
    assert {"one/right_foot on crate", "two/left_foot on one", "crate"} <= set(cast.contact_names)
    np.testing.assert_array_equal(cast.body.limbs.effectors, [1, 2, 4, 5])
    burdens = dict(zip(cast.contact_names, cast.burdens({"one": 0.8, "two": 0.2}), strict=True))
    assert burdens["two/left_foot on crate"] == pytest.approx(64 * burdens["one/left_foot on crate"])
    assert burdens["two/left_foot"] == burdens["crate"] == 1.0
    with pytest.raises(InputError, match="three"):
        cast.burdens({"three": 1.0})
    with pytest.raises(InputError, match="every name once"):
        Cast.of({"crate": biped}, [CRATE], Surfaces.of_boxes([]))


def test_what_nothing_carries_is_let_down() -> None:
    model = FeatureModel.of(build("humanoid"))
    scene, surfaces = Scene.alone(model.character), Surfaces.of_boxes([])
    name, prone = model.character.name, place(scene, "prone")
    for pose in ("standing", "handstand"):
        carried = place(scene, pose)
        np.testing.assert_array_equal(rested(scene, name, model, surfaces, carried), carried)
    assert unsupported(model, surfaces, model.features_of(prone)) > 0.2
    assert unsupported(model, surfaces, model.features_of(rested(scene, name, model, surfaces, prone))) < 0.1


def test_feet_begin_in_contact_and_knees_that_one_lies_on() -> None:
    model = FeatureModel.of(build("humanoid"))
    scene, surfaces, settings = Scene.alone(model.character), Surfaces.of_boxes([]), Settings()
    timing = problem.Timing(2, 0.5, settings.knots_per_phase, settings.samples_per_phase)
    feet, knees = {"right_foot", "left_foot"}, {"right_shin", "left_shin"}
    for pose, begun in (("standing", feet), ("prone", feet | knees)):
        state = rested(scene, model.character.name, model, surfaces, place(scene, pose))
        features = model.features_of(state)
        given = problem.make_problem(model, surfaces, features, wishes.standing(model), timing, settings)
        contacts = problem.at_rest(given, timing, 0.3).contacts
        assert {name for name, contact in zip(model.patch_names, contacts[1], strict=True) if contact > 0} == begun


def test_a_wish_about_the_end_bends_the_whole_way_there(biped: FeatureModel) -> None:
    settings = Settings()
    timing = problem.Timing(8, 0.5, settings.knots_per_phase, settings.samples_per_phase)
    start = standing_features(biped)
    given = problem.make_problem(biped, Surfaces.of_boxes([]), start, wishes.standing(biped), timing, settings)
    shares = {}
    for wishful in (False, True):
        whitening = Metric.of(given, wishful=wishful).matrices[0]
        # how knots answer to a pull at the last one
        pulled = (whitening @ whitening.T)[: timing.knots - 1, timing.knots - 2]
        shares[wishful] = pulled[len(pulled) // 2] / pulled[-1]
    assert shares[False] < 0.1 < 0.25 < shares[True] < 1.0


def test_a_standing_body_keeps_standing_on_both_feet(biped: FeatureModel) -> None:
    settings = Settings(iterations=(10, 80, 80), insistence=0)
    model = biped
    scene = Scene.alone(model.character)
    start = model.features_of(place(scene, "standing"))
    timing = problem.Timing(2, 0.5, settings.knots_per_phase, settings.samples_per_phase)
    given = problem.make_problem(model, Surfaces.of(scene), start, wishes.standing(model), timing, settings)
    found = optimise.optimise(given, timing, settings, first_contact=0.3, seed=0)
    feet = [model.patch_names.index(f"{side}_foot") for side in ("right", "left")]
    trunk = [k for k, name in enumerate(model.patch_names) if name.startswith("torso")]
    assert found.costs["physics"] / settings.physics < 1e-3
    assert found.costs["contact"] / settings.contact < 1e-3
    assert found.solution.contacts[:, feet].min() > 0.3 > found.solution.contacts[:, trunk].max()
    assert found.iterations[3] == 0
    again = optimise.optimise(given, timing, settings, first_contact=0.3, seed=0)
    np.testing.assert_array_equal(found.solution.features, again.solution.features)
    longer = settings.model_copy(update={"iterations": (10, 300, 0), "least_gain": 1.0})
    assert 100 < optimise.optimise(given, timing, longer, first_contact=0.3).iterations[1] < 300


def test_a_stage_goes_on_as_long_as_it_gains() -> None:
    falling = [1.001**-k for k in range(201)]
    assert not optimise.gains_little(falling[:100], 0.5), "too early to say"
    assert not optimise.gains_little(falling, 0.1)
    assert optimise.gains_little(falling, 0.11)
    assert not optimise.gains_little([1.0] * 200, 0.0)
