"""The parts of contact-invariant optimisation: splines, rotations, surfaces, feature models, inverse dynamics."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gambol.characters import build
from gambol.errors import InputError
from gambol.goals.behaviour import Wish
from gambol.rotations import from_rotation_vector, to_matrix
from gambol.scenes import Scene, parse_objects, place

jax = pytest.importorskip("jax", reason="JAX is an optional extra")
from gambol.cio import contact, dynamics, kinematics, limbs, obstacles, wishes  # noqa: E402
from gambol.cio.features import FeatureModel  # noqa: E402
from gambol.cio.surfaces import Surfaces, clearance, nearest, soft_clearance  # noqa: E402

FRAMES, CHAINS = jax.jit(kinematics.frames), jax.jit(limbs.chains)
DEEPEST, COST = jax.jit(obstacles.deepest), jax.jit(wishes.cost)
BODIES = ("humanoid", "quadruped")


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="module", params=BODIES)
def model(request: pytest.FixtureRequest) -> FeatureModel:
    return FeatureModel.of(build(request.param))


def still(features: np.ndarray) -> kinematics.Frames:
    """The frames (1, …) of a body that holds still."""
    knots = np.stack([features, features, 0 * features, 0 * features])
    return FRAMES(kinematics.Basis.at(np.array([0.5]), 2, 1.0), knots)


def placed(model: FeatureModel, pose: str) -> np.ndarray:
    return model.features_of(place(Scene.alone(model.character), pose))


def test_splines_pass_through_their_knots_and_their_derivatives_fit() -> None:
    rng = np.random.default_rng(0)
    knots, spacing = 4, 0.25
    values = rng.normal(size=2 * knots)
    at_knots = kinematics.Basis.at(np.arange(knots) * spacing, knots, spacing)
    np.testing.assert_allclose(at_knots.values @ values, values[:knots], atol=1e-12)
    np.testing.assert_allclose(at_knots.first @ values, values[knots:], atol=1e-12)
    times, size = rng.uniform(0.01, 0.74, 20), 1e-6
    middle, ahead, behind = (kinematics.Basis.at(times + d, knots, spacing) for d in (0.0, size, -size))
    np.testing.assert_allclose(middle.first, (ahead.values - behind.values) / (2 * size), atol=1e-6)
    np.testing.assert_allclose(middle.second, (ahead.first - behind.first) / (2 * size), atol=1e-5)


@pytest.mark.parametrize("size", [0.0, 1e-5, 1.0, 3.0])
def test_rotations_and_their_rates(size: float) -> None:
    rng = np.random.default_rng(1)
    vectors, rates = size * rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
    np.testing.assert_allclose(kinematics.turn(vectors), to_matrix(from_rotation_vector(vectors)), atol=1e-9)
    ahead, behind = (kinematics.turn(vectors + d * rates) for d in (1e-6, -1e-6))
    skew = (ahead - behind) / 2e-6 @ np.swapaxes(kinematics.turn(vectors), 1, 2)
    np.testing.assert_allclose(skew, kinematics.cross_matrix(kinematics.spin(vectors, rates)), atol=1e-6)


def test_a_free_body_keeps_its_momentum() -> None:
    """A ball that turns evenly needs no moment; an uneven body turning about a skew axis does."""
    vectors, rates = np.array([[0.0, 0.0, 0.7]]), np.array([[0.0, 0.0, 2.0]])
    even = kinematics.momentum_change(np.eye(3), vectors, rates, np.zeros((1, 3)))
    np.testing.assert_allclose(even, 0.0, atol=1e-12)
    skew = np.array([[1.0, 0.0, 0.3], [0.0, 2.0, 0.0], [0.3, 0.0, 3.0]])
    assert np.linalg.norm(kinematics.momentum_change(skew, vectors, rates, np.zeros((1, 3)))) > 0.1


def test_the_nearest_point_is_soft_far_away_and_sharp_close_by() -> None:
    surfaces = Surfaces.of_boxes([(np.array([1.0, 0.0, 0.25]), np.eye(3), np.array([0.3, 0.5, 0.25]))])
    world = np.array(0)
    on_top, normal = nearest(surfaces, np.array([1.0, 0.0, 0.503]), np.array(0.0), world)
    np.testing.assert_allclose(on_top, [1.0, 0.0, 0.5], atol=3e-3)
    np.testing.assert_allclose(normal, [0.0, 0.0, 1.0], atol=2e-2)
    between, _ = nearest(surfaces, np.array([0.4, 0.0, 0.3]), np.array(0.0), world)
    assert 0.0 < between[2] < 0.3
    ball, _ = nearest(surfaces, np.array([-1.0, 0.0, 0.1]), np.array(0.1), world)
    np.testing.assert_allclose(ball, [-1.0, 0.0, 0.1], atol=1e-3)


def test_clearance_is_signed() -> None:
    surfaces = Surfaces.of_boxes([(np.array([1.0, 0.0, 0.25]), np.eye(3), np.array([0.3, 0.5, 0.25]))])
    floor, box = np.asarray(clearance(surfaces, np.array([[1.0, 0.0, 0.4], [1.0, 0.0, 0.8]]))).T
    np.testing.assert_allclose(floor, [0.4, 0.8])
    np.testing.assert_allclose(box, [-0.1, 0.3], atol=1e-5)


def test_a_foot_on_the_ground_inside_a_box_is_deep_in_it_and_sent_up() -> None:
    surfaces = Surfaces.of_boxes([(np.array([1.0, 0.0, 0.1]), np.eye(3), np.array([0.125, 0.5, 0.1]))])
    foot = np.array([0.99, 0.0, 0.01])
    assert clearance(surfaces, foot)[1] == pytest.approx(-0.115, abs=1e-5)
    assert jax.grad(lambda point: soft_clearance(surfaces, point)[1])(foot)[2] > 0.05
    outside = foot + np.array([0.2, 0.0, 0.0])
    np.testing.assert_allclose(soft_clearance(surfaces, outside), clearance(surfaces, outside), atol=1e-5)


def test_passing_a_box_faster_is_no_cheaper() -> None:
    model = FeatureModel.of(build("humanoid"))
    surfaces = Surfaces.of_boxes([(np.array([2.0, 0.0, 0.5]), np.eye(3), np.array([0.2, 2.0, 0.5]))])
    features = placed(model, "standing")
    ahead = features + 4.0 * np.eye(6)[0]
    costs = []
    for duration in (1.0, 0.25):
        knots = np.stack([features, ahead, *[4.0 / duration * np.broadcast_to(np.eye(6)[0], features.shape)] * 2])
        times = np.linspace(0.0, duration, 101)
        moving = FRAMES(kinematics.Basis.at(times, 2, duration), knots)
        found = CHAINS(model.body.limbs, moving.positions, moving.turns)
        costs.append(float(obstacles.penetration(model.body, moving, found, surfaces, duration / 100)))
    assert costs[1] > 0.9 * costs[0] > 0.0


def test_middle_joints_move_as_the_limbs_do(model: FeatureModel) -> None:
    rng = np.random.default_rng(3)
    knots = np.concatenate([[placed(model, "standing")] * 2, 0.3 * rng.normal(size=(2, len(model.effectors) + 1, 6))])
    at = [kinematics.Basis.at(np.array([0.5 + d]), 2, 1.0) for d in (-1e-6, 0.0, 1e-6)]
    behind, now, later = (limbs.with_middles(model.body.limbs, FRAMES(basis, knots))[1] for basis in at)
    assert now.positions.shape == (1, 1 + 2 * len(model.effectors), 3)
    np.testing.assert_allclose(now.velocities, (later.positions - behind.positions) / 2e-6, atol=1e-5)


def test_scenes_become_surfaces_of_few_sizes() -> None:
    shapes = []
    for scene in (None, {"box": {}}, {"box": {}, "wall": {}}):
        objects, terrain = parse_objects(scene)
        surfaces = Surfaces.of(Scene({"humanoid": build("humanoid")}, objects, terrain))
        shapes.append((surfaces.centres.shape[0], surfaces.box_centres.shape[0]))
    assert shapes == [(2, 1), (8, 1), (16, 4)]
    objects, terrain = parse_objects({"stool": {}})
    with pytest.raises(InputError, match="cylinder"):
        Surfaces.of(Scene({"humanoid": build("humanoid")}, objects, terrain))


def test_features_are_where_the_body_is(model: FeatureModel) -> None:
    features = placed(model, "standing")
    found = CHAINS(model.body.limbs, features[None, :, :3], kinematics.turn(features[None, :, 3:]))
    assert limbs.length_cost(model.body.limbs, found)[0] < 1e-3
    assert limbs.limit_cost(model.body.limbs, found)[0] < 1e-3
    links = np.linalg.norm(found.middles - found.bases, axis=-1), np.linalg.norm(found.ends - found.middles, axis=-1)
    np.testing.assert_allclose(links[0][0], model.body.limbs.uppers, rtol=1e-3)
    np.testing.assert_allclose(links[1][0], model.body.limbs.lowers, rtol=2e-2)


def test_standing_feet_touch_the_floor_and_carry_the_weight(model: FeatureModel) -> None:
    frames, surfaces = still(placed(model, "standing")), Surfaces.of_boxes([])
    frames = limbs.with_middles(model.body.limbs, frames)[1]
    touch = jax.jit(contact.touching)(model.body, frames, surfaces)
    feet = np.flatnonzero(np.abs(touch.gaps[0, :, 2]) < 0.02)
    assert len(feet) >= 2
    assert contact.violation(touch)[0, feet].max() < 1e-2
    on_feet = np.isin(np.arange(len(model.patch_names)), feet)[None].astype(float)
    none = np.zeros(len(model.patch_names), bool)
    solved = jax.jit(dynamics.contact_forces)
    guess = np.zeros((1, 6))
    carried, dropped = (
        solved(model.body, frames, touch, c, np.array(1.0), none, guess) for c in (on_feet, 0 * on_feet)
    )
    assert np.linalg.norm(carried.residual) < 0.3 * np.linalg.norm(dropped.residual)
    assert np.asarray(carried.wrenches)[0, :, 2].sum() == pytest.approx(1.0, abs=0.1)


def test_a_trunk_that_rolls_does_not_slip() -> None:
    model = FeatureModel.of(build("quadruped"))
    body, torso = model.body, model.patch_names.index("torso")
    still = model.features_of(place(Scene.alone(model.character), "standing"))
    still[:, 2] += body.patches.radii[torso] - still[0, 2] - body.patches.offsets[torso, 2]
    spin = np.array([1.0, 0.0, 0.0])
    over = body.patches.offsets[torso] - [0.0, 0.0, body.patches.radii[torso]]
    slips = []
    for velocity in (np.zeros(3), -np.cross(spin, over)):
        moving = np.zeros_like(still)
        moving[0] = np.concatenate([velocity, spin])
        now = kinematics.frames(kinematics.Basis.at(np.zeros(1), 2, 1.0), np.stack([still, still, moving, moving]))
        with_middles = limbs.with_middles(body.limbs, now)[1]
        touch = contact.touching(body, with_middles, Surfaces.of_boxes([]))
        slips.append(float(np.linalg.norm(touch.velocities[0, torso])))
    assert slips[0] > 0.1
    assert slips[1] < 1e-3


def test_a_box_tips_over_its_edges() -> None:
    model = FeatureModel.of(build("wide-biped"))
    body, surfaces = model.body, Surfaces.of_boxes([])
    names = [name for name in model.patch_names if name.startswith("torso edge")]
    assert len(names) == 4
    leaning = placed(model, "standing")
    leaning[0, 3:] = [0.0, np.pi / 4, 0.0]
    corners = kinematics.turn(leaning[0, 3:]) @ np.array([0.16, 0.45, -0.2])
    for sunk in (0.0, 0.1):
        leaning[0, 2] = -corners[2] - sunk
        now = still(leaning)
        found, now = limbs.with_middles(body.limbs, now)
        touch = contact.touching(body, now, surfaces)
        heights = np.asarray(touch.points)[0, [model.patch_names.index(name) for name in names], 2]
        assert heights.min() == pytest.approx(-sunk, abs=1e-6)
        starts, _, radii = obstacles.capsules(body, now, found)
        on_trunk = len(radii) - len(body.solid_owners) + np.flatnonzero(body.solid_owners == 0)
        assert (starts[0, on_trunk, 2] - radii[on_trunk]).min() == pytest.approx(-sunk, abs=1e-6)


@pytest.mark.parametrize(("name", "count"), [("humanoid", 0), ("quadruped", 4)])
def test_legs_outside_of_the_trunk_bear_where_they_begin(name: str, count: int) -> None:
    model = FeatureModel.of(build(name))
    thighs = [k for k, patch in enumerate(model.patch_names) if patch.endswith("_thigh")]
    assert len(thighs) == count
    if count:
        now = limbs.with_middles(model.body.limbs, still(placed(model, "on-side")))[1]
        gaps = np.linalg.norm(contact.touching(model.body, now, Surfaces.of_boxes([])).gaps[0], axis=-1)
        under = [model.patch_names.index(f"{end}_right_thigh") for end in ("front", "hind")]
        np.testing.assert_allclose(gaps[under], 0.0, atol=0.01)


def test_standing_bodies_overlap_nothing(model: FeatureModel) -> None:
    features, surfaces = placed(model, "standing"), Surfaces.of_boxes([])
    depths = []
    for sunk in (0.0, 0.2):
        frames = still(features - sunk * np.eye(6)[2])
        found = CHAINS(model.body.limbs, frames.positions, frames.turns)
        depths.append(float(DEEPEST(model.body, frames, found, surfaces)[0]))
    assert depths[0] < 0.03
    assert depths[1] > 0.15


def test_distances_of_segments() -> None:
    rng = np.random.default_rng(2)
    ends = rng.normal(size=(4, 50, 3))
    share = np.linspace(0, 1, 101)[:, None, None]
    first, second = ends[0] + share * (ends[1] - ends[0]), ends[2] + share * (ends[3] - ends[2])
    nearest_pair = np.linalg.norm(first[:, None] - second[None], axis=-1).min((0, 1))
    np.testing.assert_allclose(obstacles.segment_distance(*ends), nearest_pair, atol=0.03)


def test_wishes_are_costs_of_what_is_missing() -> None:
    model = FeatureModel.of(build("humanoid"))
    features = placed(model, "standing")
    knots = np.stack([features, features, 0 * features, 0 * features])

    def cost(rows: list[wishes.Row]) -> float:
        return float(COST(wishes.Wishes.of(rows, 2, 1.0), knots))

    assert cost(wishes.standing(model)) < 0.02
    ahead = features[0, :3] + [0.3, 0.0, 0.0]
    wish = Wish.model_validate({"feature": "com", "value": ahead.tolist(), "weight": 2.0})
    assert cost(wishes.rows_of(wish, model)) == pytest.approx(2.0 * 0.09)
    turned = Wish.model_validate({"feature": "heading", "value": 90.0})
    assert cost(wishes.rows_of(turned, model)) == pytest.approx(2.0, abs=0.02)
    unknown = Wish.model_validate({"feature": "right_knee", "value": [0, 0, 0]})
    with pytest.raises(InputError, match="right_knee"):
        wishes.rows_of(unknown, model)
    with pytest.raises(ValueError, match="three numbers"):
        Wish.model_validate({"feature": "com", "quantity": "position", "value": 1.0})
