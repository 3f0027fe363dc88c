"""How often each certificate fails, on losses whose true mean is known."""

import numpy as np
import pytest

from skbound.bounds import (
    BestOf,
    BettingBound,
    BinomialBound,
    EmpiricalBernsteinBound,
    HoeffdingBound,
    KLBound,
)
from tests.bounds import checks

DELTAS = (0.05, 0.2, 0.5)
SIZES = (100, 287, 2000)
COUNT_BOUNDS = (BinomialBound(), KLBound(), HoeffdingBound(), EmpiricalBernsteinBound())
BRIER_LAWS = (
    checks.beta(0.4, 2.6),
    checks.discrete((0.0, 0.97), (0.81, 0.03)),
    checks.discrete((0.0, 0.5), (0.25, 0.3), (1.0, 0.2)),
)
named = {"ids": lambda x: getattr(x, "name", None) or repr(x)}


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("n_samples", SIZES)
@pytest.mark.parametrize("rate", [0.002, 0.03, 0.2, 0.6])
@pytest.mark.parametrize("bound", COUNT_BOUNDS, ids=repr)
def test_bounds_on_error_counts(bound, rate, n_samples, delta):
    law = checks.bernoulli(rate)
    checks.assert_covers(bound, law, n_samples, delta, n_runs=4000, by_count=True)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("n_samples", [1, 2, 50, 200])
def test_binomial_by_enumeration(n_samples, delta):
    checks.assert_covers_exactly(BinomialBound(), n_samples, delta)
    # It is exact: at some rate all of delta is spent.
    assert checks.worst_miss(BinomialBound(), n_samples, delta) > 0.95 * delta


@pytest.mark.parametrize("bound", COUNT_BOUNDS[1:], ids=repr)
def test_other_bounds_by_enumeration(bound):
    checks.assert_covers_exactly(bound, 100, 0.2)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("n_samples", SIZES)
@pytest.mark.parametrize("law", BRIER_LAWS, **named)
@pytest.mark.parametrize("bound", [KLBound, HoeffdingBound, EmpiricalBernsteinBound])
def test_bounds_on_brier_losses(bound, law, n_samples, delta):
    checks.assert_covers(bound("brier"), law, n_samples, delta)


@pytest.mark.parametrize("law", [checks.bernoulli(0.03), *BRIER_LAWS[:2]], **named)
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("n_samples", SIZES)
def test_betting(law, n_samples, delta):
    loss = "zero_one" if law.name.startswith("bernoulli") else "brier"
    checks.assert_covers(BettingBound(loss), law, n_samples, delta)


@pytest.mark.parametrize("delta", DELTAS)
def test_best_of(delta):
    bound = BestOf((KLBound("brier"), EmpiricalBernsteinBound("brier"), BettingBound("brier")))
    checks.assert_covers(bound, BRIER_LAWS[0], 100, delta)
    counts = BestOf((BinomialBound(), HoeffdingBound()))
    checks.assert_covers(counts, checks.bernoulli(0.1), 287, delta, by_count=True)


@pytest.mark.parametrize(
    ("n_candidates", "unpaid"), [(1, 0.038), (5, 0.179), (20, 0.552), (100, 0.984)]
)
def test_choosing_among_candidates(n_candidates, unpaid):
    """Unpaid, a choice misses as often as in an earlier simulation; paid for, at most delta."""
    bound, error = BinomialBound(), 3.0 * np.sqrt(0.25 / 2000)
    naive = checks.selection_miss_rate(bound, n_candidates, paid=False)
    assert naive == pytest.approx(unpaid, abs=error)
    paid = checks.selection_miss_rate(bound, n_candidates, paid=True)
    assert paid <= 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 2000)
