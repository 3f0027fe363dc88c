"""Bounds on votes: they hold for the vote, whatever the members' errors have in common."""

import math

import numpy as np
import pytest

from skbound.bounds import (
    c_bound,
    c_bound_upper,
    first_order_upper,
    kl_inverse_lower,
    kl_inverse_upper,
    log_xi,
    tandem_upper,
)


def moments(wrong, weights):
    """Gibbs error, tandem error and disagreement of weighted members; the error of their vote."""
    z = wrong @ weights
    return z.mean(), (z**2).mean(), 2.0 * (z * (1.0 - z)).mean(), (z >= 0.5).mean()


def random_votes(rng, n, members):
    hard = rng.beta(0.3, 1.2, size=(n, 1))
    weights = rng.dirichlet(np.ones(members))
    return rng.random((n, members)) < hard * rng.uniform(0.3, 1.0, size=members), weights


def test_population_inequalities():
    rng = np.random.default_rng(0)
    for _ in range(300):
        wrong, weights = random_votes(rng, 50, rng.integers(2, 9))
        gibbs, tandem, disagreement, vote = moments(wrong, weights)
        assert vote <= min(2.0 * gibbs, 4.0 * tandem, c_bound(gibbs, disagreement)) + 1e-9


def test_values_by_hand():
    nats = (1.0 + log_xi(1000) - math.log(0.05)) / 1000
    value = first_order_upper(0.1, divergence=1.0, n_samples=1000, delta=0.05)
    assert value == pytest.approx(2.0 * kl_inverse_upper(0.1, nats))
    nats2 = (2.0 + log_xi(1000) - math.log(0.05)) / 1000
    value = tandem_upper(0.02, divergence=1.0, n_samples=1000, delta=0.05)
    assert value == pytest.approx(4.0 * kl_inverse_upper(0.02, nats2))
    value = c_bound_upper(0.2, 0.3, divergence=1.0, n_samples=1000, delta=0.05)
    half = math.log(2.0) / 1000
    upper, lower = kl_inverse_upper(0.2, nats + half), kl_inverse_lower(0.3, nats2 + half)
    assert value == pytest.approx(1.0 - (1.0 - 2.0 * upper) ** 2 / (1.0 - 2.0 * lower))


def test_c_bound_is_monotone_and_exact_at_its_ends():
    grid = np.linspace(0.0, 0.5, 51)
    values = np.array([[c_bound(g, d) for d in grid] for g in grid])
    assert (np.diff(values, axis=0) >= -1e-12).all()
    assert (np.diff(values, axis=1) <= 1e-12).all()
    assert c_bound(0.5, 0.1) == c_bound(0.9, 0.0) == 1.0
    assert c_bound(0.0, 0.0) == 0.0
    # Independent members without end never err together for long: the variance vanishes.
    assert c_bound(0.3, 2 * 0.3 * 0.7) == pytest.approx(0.0)
    assert c_bound(0.2, 0.0) == pytest.approx(1.0 - 0.36)


def test_values_fall_with_rows_and_delta_and_grow_with_divergence():
    for bound in (
        lambda **s: first_order_upper(0.1, **s),
        lambda **s: tandem_upper(0.03, **s),
        lambda **s: c_bound_upper(0.1, 0.14, **s),
    ):
        at = {"divergence": 1.0, "n_samples": 500, "delta": 0.05}
        base = bound(**at)
        assert bound(**at | {"n_samples": 1000}) < base
        assert bound(**at | {"delta": 0.2}) < base
        assert bound(**at | {"divergence": 2.0}) > base


@pytest.mark.parametrize("delta", [0.2, 0.5])
def test_coverage_with_weights_that_follow_the_rows(delta):
    """Twenty members with known errors; the weights favour those that did well on the rows."""
    rng, n, members, misses = np.random.default_rng(1), 100, 20, np.zeros(3)
    rates = np.linspace(0.15, 0.45, members)
    for _ in range(400):
        wrong = rng.random((n, members)) < rates
        weights = np.exp(-40.0 * wrong.mean(axis=0))
        weights /= weights.sum()
        kept = weights[weights > 0.0]
        divergence = float(kept @ np.log(kept * members))
        gibbs, tandem, disagreement, _ = moments(wrong, weights)
        z, variance = rates @ weights, (weights**2) @ (rates * (1.0 - rates))
        # The population versions of the three bounds, which the empirical ones must not fall below.
        true = 2 * z, 4 * (variance + z**2), c_bound(z, 2 * (z - variance - z**2))
        at = {"divergence": divergence, "n_samples": n, "delta": delta}
        values = (
            first_order_upper(gibbs, **at),
            tandem_upper(tandem, **at),
            c_bound_upper(gibbs, disagreement, **at),
        )
        misses += np.array(values) < np.array(true)
    assert (misses / 400 <= delta).all()


def test_refusals():
    with pytest.raises(ValueError, match="gibbs must lie in"):
        c_bound(0.1, 0.6)
    with pytest.raises(ValueError, match="divergence be at least 0"):
        tandem_upper(0.1, divergence=-1.0, n_samples=10, delta=0.1)
