r"""Several bounds whose samples depend on each other, merged into one on the mean.

Predictor ``j`` of `K` has the true mean loss ``mu_j``, and ``P_j`` is a p-value against it: a
function of its own losses with ``P(P_j <= u) <= u`` for all ``u``, for example the binomial tail at
``mu_j``. Nothing is known about how the `K` samples depend on each other. Let ``0 < t <= 1``,
``x = t / (1 - exp(-K t))`` and ``f(p) = min(K, ln(x delta / p) / t)``, or 0 if that is negative. As
``f`` does not increase, ``E f(P_j)`` is at most its integral over [0, 1], which is
``delta x (1 - exp(-K t)) / t = delta``. So, by Markov's inequality, the mean of the ``f(P_j)``
reaches 1 with probability at most `delta`. Where it does not,

``mean_j max(0, ln(x delta) - ln P_j) < t``,

and the largest mean of ``mu_1, ..., mu_K`` under this constraint is the bound. The constant ``t``
depends on `K` alone: it is best where all samples look alike, and then each ``P_j`` exceeds
``delta / c`` with ``c = 2`` for two predictors and at most ``e = 2.718...`` for any number. A union
bound would need ``c = K``. For ``K <= 2`` the best ``t`` is 0, which is the union bound.

That a geometric mean of p-values times ``e`` is a p-value again, whatever their dependence, is in
Vovk and Wang, "Combining p-values via averaging", Biometrika 107, 2020; that such rules are
Markov's inequality for a mean of functions of integral 1, and that those may be cut off at `K`, in
Vovk, Wang and Wang, "Admissible ways of merging p-values under arbitrary dependence", Annals of
Statistics 50, 2022. The form above, with its constant and as a bound on a mean, is derived here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from skbound.bounds._inversion import binomial_tail_inverse, bisect, kl_inverse_upper

__all__ = ["largest_mean", "merged_mean", "union_mean"]

Numbers = NDArray[np.float64]
Costs = Callable[[Numbers], tuple[Numbers, Numbers]]

# Rounding of logarithms of tails, and of the maximum under the constraint, counted as losses.
_SLACK = 1e-10
# Below this, tails are too close to the smallest double.
_LOG_SMALLEST = -600.0
# A predictor that may be as bad as this at no cost failed on all its rows.
_LARGEST = 1.0 - 1e-8
# Steps that place a number well enough to compare prices; a wrong price is still a valid one.
_ROUGH = 22


def binomial_tails(sizes: NDArray[np.intp], counts: NDArray[np.intp]) -> Costs:
    """Return ``-ln P(Bin(size, mean) <= count)`` and its slope as functions of the means.

    Parameters
    ----------
    sizes, counts : ndarray of int of shape (n_predictors,)
        Rows and errors.

    Returns
    -------
    callable
        Maps means in (0, 1), one for each predictor, to the convex, non-decreasing costs, 0 or
        more, and their slopes. The tail is the distribution function of a beta law at
        ``1 - mean``, whose density is log-concave, and so is the tail.
    """
    open_ends = counts < sizes
    below = np.maximum(sizes - counts, 1)
    log_choose = -np.log1p(sizes) - special.betaln(counts + 1.0, sizes - counts + 1.0)

    def costs(means: Numbers) -> tuple[Numbers, Numbers]:
        tails = np.where(open_ends, special.betaincc(counts + 1.0, below, means), 1.0)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            log_tails = np.log(tails)
            log_one = log_choose + special.xlogy(counts, means) + below * np.log1p(-means)
            slopes = np.exp(np.log(below / (1.0 - means)) + log_one - log_tails)
        slopes = np.where(tails > 0.0, np.where(open_ends, slopes, 0.0), np.inf)
        return np.maximum(0.0, -log_tails - _SLACK), slopes

    return costs


def chernoff_tails(sizes: NDArray[np.intp], sums: Numbers) -> Costs:
    """Return ``size kl(sum / size, mean)`` and its slope, for losses in [0, 1].

    Parameters
    ----------
    sizes, sums : ndarray of shape (n_predictors,)
        Rows and summed losses.

    Returns
    -------
    callable
        As in `binomial_tails`: the exponential of minus the cost is no less than the tail.
    """
    rates = np.minimum(sums / sizes, 1.0)

    def costs(means: Numbers) -> tuple[Numbers, Numbers]:
        above = means > rates
        safe = np.where(above, means, 0.5)
        nats = special.rel_entr(rates, safe) + special.rel_entr(1.0 - rates, 1.0 - safe)
        with np.errstate(divide="ignore"):
            slopes = sizes * (safe - rates) / (safe * (1.0 - safe))
        return (
            np.where(above, np.maximum(0.0, sizes * nats - _SLACK), 0.0),
            np.where(above, slopes, 0.0),
        )

    return costs


def bounded_tails(sizes: NDArray[np.intp], sums: Numbers) -> Costs:
    """Return the better of Chernoff's and Bentkus's bounds on the tail of losses in [0, 1].

    Parameters
    ----------
    sizes, sums : ndarray of shape (n_predictors,)
        Rows and summed losses.

    Returns
    -------
    callable
        As in `binomial_tails`. Bentkus, "On Hoeffding's inequalities", Annals of Probability 32,
        2004, Theorem 1.2: the tail of a sum of losses is at most ``e`` times that of a binomial
        law of the same mean, at whole numbers. Both bounds hold for one and the same tail, so the
        smaller of them does.
    """
    chernoff = chernoff_tails(sizes, sums)
    # A sum that rounding has made too large only makes the bound larger.
    whole = np.minimum(np.ceil(sums), sizes).astype(np.intp)
    binomial = binomial_tails(sizes, whole)

    def costs(means: Numbers) -> tuple[Numbers, Numbers]:
        first, first_slopes = chernoff(means)
        second, second_slopes = binomial(means)
        better = second - 1.0 > first
        return np.where(better, second - 1.0, first), np.where(better, second_slopes, first_slopes)

    return costs


@cache
def _constant(n_predictors: int) -> float:
    """Return the `t` for which ``t exp(-t) / (1 - exp(-K t))`` is largest."""

    def still_rising(t: float) -> bool:
        rest = math.exp(-n_predictors * t)
        return 1.0 / t - 1.0 > n_predictors * rest / (1.0 - rest)

    return bisect(still_rising, 1e-3, 1.0)[0]


def merged_mean(
    sizes: NDArray[np.intp], sums: Numbers, log_delta: float, *, zero_one: bool
) -> float:
    """Bound the mean of several true mean losses whose samples depend on each other in any way.

    Parameters
    ----------
    sizes, sums : ndarray of shape (n_predictors,)
        Rows of each predictor and its summed losses on them; the sum of one predictor is that of
        independent losses in [0, 1] with a common mean, given the rows it was trained on.
    log_delta : float
        Logarithm of the failure probability.
    zero_one : bool
        Whether the losses are 0 or 1, so that binomial tails are exact.

    Returns
    -------
    float
        Exceeded by the equally weighted mean of the true means with probability at most `delta`;
        at most 1. See the head of this file.
    """
    n_predictors = len(sizes)
    if n_predictors <= 2:
        return union_mean(sizes, sums, log_delta, zero_one=zero_one)
    t = _constant(n_predictors)
    start = math.log(t) - math.log(-math.expm1(-n_predictors * t)) + log_delta
    if start - n_predictors * t < _LOG_SMALLEST:
        tails = chernoff_tails(sizes, sums)
    elif zero_one:
        tails = binomial_tails(sizes, sums.astype(np.intp))
    else:
        tails = bounded_tails(sizes, sums)

    def costs(means: Numbers) -> tuple[Numbers, Numbers]:
        nats, slopes = tails(means)
        above = nats > -start
        return np.where(above, nats + start, 0.0), np.where(above, slopes, 0.0)

    return largest_mean(costs, n_predictors, t)


def union_mean(
    sizes: NDArray[np.intp], sums: Numbers, log_delta: float, *, zero_one: bool
) -> float:
    """Average the bounds of all predictors, each at ``delta / n_predictors``.

    Parameters
    ----------
    sizes, sums, log_delta, zero_one
        As in `merged_mean`.

    Returns
    -------
    float
        Exceeded by the mean of the true means with probability at most `delta`.
    """
    share = log_delta - math.log(len(sizes))
    found = [
        binomial_tail_inverse(int(total), int(n), log_delta=share)
        if zero_one
        else kl_inverse_upper(min(1.0, float(total) / n), -share / n)
        for n, total in zip(sizes, sums, strict=True)
    ]
    return math.fsum(found) / len(found)


def largest_mean(costs: Costs, n_predictors: int, limit: float) -> float:
    """Return the largest mean of numbers in [0, 1] whose mean cost is at most `limit`.

    Parameters
    ----------
    costs : callable
        Maps numbers in (0, 1) to convex, non-decreasing costs and their slopes.
    n_predictors : int
        How many numbers.
    limit : float
        Positive.

    Returns
    -------
    float
        Rounded up.

    Notes
    -----
    For any price ``g > 0`` let ``a_j`` be where the slope of cost ``j`` passes ``g``. By convexity
    ``cost_j(mu) >= cost_j(a_j) + g (mu - a_j)``, so the mean of the numbers is at most
    ``mean_j a_j + (limit - mean_j cost_j(a_j)) / g``, whatever the price. The best price is the one
    at which the costs meet the limit; an inaccurate one only makes the result larger.
    """

    def passed(log_price: float, n_steps: int) -> tuple[float, float]:
        """Return what the price leaves of the limit, and the bound that it gives."""
        price = math.exp(log_price)
        inside, outside = _where(lambda means: costs(means)[1] <= price, n_predictors, n_steps)
        left = limit - float(costs(inside)[0].mean())
        return left, float(outside.mean()) + left / price

    free = _where(lambda means: costs(means)[0] <= 0.0, n_predictors, 30)[0] > _LARGEST
    if free.all():
        return 1.0
    # At the best price not all others are below this cost, nor all above.
    even = limit / float(1.0 - free.mean())
    inside, _ = _where(lambda means: costs(means)[0] <= even, n_predictors, 42)
    slopes = costs(inside)[1][~free]
    price, high = math.log(slopes.min()), math.log(slopes.max())
    if passed(price, _ROUGH)[0] > 0.0 > passed(high, _ROUGH)[0]:
        price = optimize.brentq(lambda x: passed(x, _ROUGH)[0], price, high, xtol=1e-4)
    return min(1.0, passed(price, 50)[1] * (1.0 + _SLACK) + _SLACK)


def _where(
    holds: Callable[[Numbers], NDArray[np.bool_]], n: int, n_steps: int
) -> tuple[Numbers, Numbers]:
    """Return numbers up to which a condition holds, and from which on it does not."""
    inside, outside = np.zeros(n), np.ones(n)
    for _ in range(n_steps):
        middle = (inside + outside) / 2.0
        true = holds(middle)
        inside = np.where(true, middle, inside)
        outside = np.where(true, outside, middle)
    return inside, outside
