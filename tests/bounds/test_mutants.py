"""Wrong bounds, each a mistake seen in public code, that the checks must reject."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from skbound.bounds import (
    BestOf,
    BettingBound,
    BinomialBound,
    EmpiricalBernsteinBound,
    HoldoutBound,
    KLBound,
)
from skbound.bounds._holdout import _interleaved
from tests.bounds import checks


class UnpaidChoice(BinomialBound):
    def __call__(self, evidence, delta=0.05):
        return super().__call__(replace(evidence, n_candidates=1), delta)


class ShiftedBeta(HoldoutBound):
    """Beta(k, n - k + 1), the lower Clopper-Pearson limit's law, in place of Beta(k + 1, n - k)."""

    key = method = "shifted beta"

    def upper(self, losses, delta):
        k = losses.sum()
        return float(stats.beta.isf(delta, k, losses.size - k + 1)) if k else 0.0


class Wald(HoldoutBound):
    key = method = "wald"

    def upper(self, losses, delta):
        p = losses.mean()
        return p + stats.norm.isf(delta) * math.sqrt(p * (1.0 - p) / losses.size)


class VarianceDividedTwice(EmpiricalBernsteinBound):
    def upper(self, losses, delta):
        n, log_term = losses.size, math.log(2.0 / delta)
        variance = losses.var(ddof=1) / n
        return losses.mean() + math.sqrt(2.0 * variance * log_term / n) + 7 * log_term / 3 / (n - 1)


class BernsteinTermOverN(EmpiricalBernsteinBound):
    def upper(self, losses, delta):
        n, log_term = losses.size, math.log(2.0 / delta)
        return (
            losses.mean()
            + math.sqrt(2.0 * losses.var(ddof=1) * log_term / n)
            + 7 * log_term / 3 / n
        )


class RadiusOfTwiceTheRows(KLBound):
    def upper(self, losses, delta):
        return super().upper(losses, math.sqrt(delta))


class FreeBest(BestOf):
    def terms(self, evidence, delta):
        return super().terms(evidence, min(0.999, delta * len(self.bounds)))


class OrderSeesTheLosses(BettingBound):
    """Bets on the small losses first."""

    def upper(self, losses, delta):
        ordered = np.empty_like(losses)
        ordered[_interleaved(losses.size)] = np.sort(losses)
        return super().upper(ordered, delta)


def killed():
    return pytest.raises(AssertionError)


def test_unpaid_choice():
    checks.assert_pays_for_candidates(BinomialBound())
    with killed():
        checks.assert_pays_for_candidates(UnpaidChoice())
    assert checks.selection_miss_rate(UnpaidChoice(), 20, paid=True) > 0.5


@pytest.mark.parametrize("mutant", [ShiftedBeta(), Wald()], ids=repr)
def test_wrong_binomial_limits(mutant):
    checks.assert_covers_exactly(BinomialBound(), 200, 0.05)
    with killed():
        checks.assert_covers_exactly(mutant, 200, 0.05)
    assert checks.worst_miss(mutant, 200, 0.05) > 0.3
    with killed():
        checks.assert_covers(mutant, checks.bernoulli(0.002), 287, 0.05, by_count=True)


def test_variance_divided_twice():
    case = checks.discrete((0.0, 0.5), (0.25, 0.3), (1.0, 0.2)), 2000, 0.05
    checks.assert_covers(EmpiricalBernsteinBound("brier"), *case)
    with killed():
        checks.assert_covers(VarianceDividedTwice("brier"), *case)


def test_bernstein_term_over_n():
    checks.assert_constant_losses_give_the_bernstein_width(EmpiricalBernsteinBound())
    with killed():
        checks.assert_constant_losses_give_the_bernstein_width(BernsteinTermOverN())


def test_radius_of_twice_the_rows():
    # Chernoff's bound has room to spare: coverage alone would not notice.
    checks.assert_not_below_binomial(KLBound())
    with killed():
        checks.assert_not_below_binomial(RadiusOfTwiceTheRows())


def test_best_of_that_shares_nothing():
    bounds = KLBound("brier"), EmpiricalBernsteinBound("brier")
    checks.assert_shares_delta(BestOf(bounds))
    with killed():
        checks.assert_shares_delta(FreeBest(bounds))


class WeightsAreForgotten(BestOf):
    def terms(self, evidence, delta):
        return FreeBest(self.bounds).terms(evidence, delta)


def test_best_of_whose_weights_are_not_paid():
    bounds, weights = (KLBound(), BinomialBound()), (0.9, 0.1)
    evidence = checks.make_evidence(checks.typical_losses(KLBound()))
    paid = min(b(evidence, 0.05 * w).value for b, w in zip(bounds, weights, strict=True))
    assert BestOf(bounds, weights)(evidence).value == pytest.approx(paid, rel=1e-12)
    assert WeightsAreForgotten(bounds, weights)(evidence).value < paid


def test_order_that_sees_the_losses():
    case = checks.beta(0.4, 2.6), 100, 0.05
    checks.assert_covers(BettingBound("brier"), *case)
    with killed():
        checks.assert_covers(OrderSeesTheLosses("brier"), *case)
