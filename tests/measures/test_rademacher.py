import itertools
import math

import numpy as np
import pytest

from skbound.measures import (
    kernel_rademacher,
    massart,
    rademacher_ball,
    rademacher_finite,
    rademacher_lower,
)

SIGNS = np.array(list(itertools.product([-1.0, 1.0], repeat=8)))


@pytest.mark.parametrize("seed", range(4))
def test_ball_is_within_chance_of_the_exact_mean_and_below_jensen(seed):
    X = np.random.default_rng(seed).normal(size=(8, 3))
    gram, radius = X @ X.T, 2.0
    exact = radius / 8 * np.linalg.norm(SIGNS @ X, axis=1).mean()
    found = rademacher_ball(gram, radius=radius, n_draws=2000, seed=seed)
    assert found.exact_supremum
    assert abs(float(found) - exact) <= found.deviation(1e-6)
    limit = kernel_rademacher(gram, radius=radius)
    assert limit / math.sqrt(2.0) <= exact <= limit


@pytest.mark.parametrize("n_functions", [1, 2, 30])
def test_finite_class_is_within_chance_of_the_exact_mean_and_below_massart(n_functions):
    values = np.random.default_rng(0).normal(size=(n_functions, 8))
    exact = (SIGNS @ values.T).max(axis=1).mean() / 8
    found = rademacher_finite(values, n_draws=2000)
    assert abs(float(found) - exact) <= found.deviation(1e-6)
    assert exact <= massart(values) + 1e-12


def test_a_constant_class_has_none():
    values = np.full((5, 400), 0.7)
    found = rademacher_finite(values, n_draws=400)
    assert abs(float(found)) <= found.deviation(1e-6) < 0.01
    assert massart(values[:1]) == 0.0
    assert float(rademacher_ball(np.zeros((3, 3)))) == 0.0


def test_all_signs_give_one():
    assert float(rademacher_finite(SIGNS, n_draws=50)) == 1.0


def test_a_learner_gives_a_lower_estimate():
    X = np.random.default_rng(3).normal(size=(30, 4))
    values = np.sign(np.random.default_rng(4).normal(size=(200, 4)) @ X.T)

    def weak(signs):
        # Finds the best of the first ten functions only.
        return values[:10][(values[:10] @ signs).argmax()]

    lower = rademacher_lower(weak, 30, n_draws=200)
    exact = rademacher_finite(values, n_draws=200)
    assert not lower.exact_supremum
    # The same signs were drawn.
    assert float(lower) < float(exact)
    assert float(lower) == pytest.approx(float(rademacher_finite(values[:10], n_draws=200)))
    assert float(rademacher_lower(lambda signs: signs, 30, n_draws=3)) == 1.0


def test_chance_is_that_of_mcdiarmid():
    found = rademacher_finite(np.full((1, 50), 3.0), n_draws=20)
    assert found.deviation(0.01) == pytest.approx(6.0 * math.sqrt(math.log(100.0) / 2000.0))
    drawn = [float(rademacher_finite(SIGNS[:3], n_draws=30, seed=s)) for s in range(300)]
    exact = (SIGNS @ SIGNS[:3].T).max(axis=1).mean() / 8
    limit = rademacher_finite(SIGNS[:3], n_draws=30).deviation(0.1)
    assert np.mean(np.array(drawn) - exact > limit) <= 0.1
    with pytest.raises(ValueError, match="delta"):
        found.deviation(0.0)


def test_what_a_learner_returns_is_checked():
    with pytest.raises(ValueError, match="size at most 1"):
        rademacher_lower(lambda signs: 2.0 * signs, 5)
    with pytest.raises(ValueError, match="5 numbers"):
        rademacher_lower(lambda signs: signs[:3], 5)


def test_same_seed_same_answer():
    gram = np.eye(5) + 1.0
    assert float(rademacher_ball(gram, seed=3)) == float(rademacher_ball(gram, seed=3))
    assert float(rademacher_ball(gram, seed=3)) != float(rademacher_ball(gram, seed=4))
