"""The closed forms of PAC-Bayes bounds, as functions of plain numbers.

Throughout, `mean` is the empirical loss in [0, 1] and `radius` is what the posterior's divergence
and the confidence cost per row, in nats. All results are rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from skbound.bounds._inversion import bisect, kl_inverse_upper, rounded_up

__all__ = [
    "catoni_upper",
    "fixed_rates_upper",
    "gaussian_divergence",
    "lambda_upper",
    "mcallester_upper",
    "monte_carlo_upper",
    "quadratic_upper",
]


def mcallester_upper(mean: float, radius: float) -> float:
    """Bound the true loss by Pinsker's inequality [1]_.

    Parameters
    ----------
    mean, radius : float
        ``(divergence + ln(xi(n) / delta)) / n`` is the radius.

    Returns
    -------
    float
        ``mean + sqrt(radius / 2)``; may exceed 1.

    References
    ----------
    .. [1] D. McAllester, "Some PAC-Bayesian theorems", Machine Learning 37, 1999; in this form
       from A. Maurer, "A note on the PAC Bayesian theorem", arXiv:cs/0411099, 2004.

    Examples
    --------
    >>> round(mcallester_upper(0.02, 0.01), 6)
    0.090711
    """
    return rounded_up(mean + math.sqrt(radius / 2.0))


def quadratic_upper(mean: float, radius: float) -> float:
    """Bound the true loss by the refined Pinsker inequality ``kl(q, p) >= (p - q)^2 / 2p`` [1]_.

    Parameters
    ----------
    mean, radius : float
        ``(divergence + ln(xi(n) / delta)) / n`` is the radius.

    Returns
    -------
    float
        ``(sqrt(mean + radius / 2) + sqrt(radius / 2))^2``; may exceed 1.

    References
    ----------
    .. [1] M. Pérez-Ortiz, O. Rivasplata, J. Shawe-Taylor and C. Szepesvári, "Tighter risk
       certificates for neural networks", JMLR 22, 2021.

    Examples
    --------
    >>> round(quadratic_upper(0.02, 0.01), 6)
    0.052361
    """
    return rounded_up((math.sqrt(mean + radius / 2.0) + math.sqrt(radius / 2.0)) ** 2)


def lambda_upper(mean: float, radius: float, parameter: float | None = None) -> float:
    """Bound the true loss by a bound that is linear in the empirical one [1]_.

    Parameters
    ----------
    mean, radius : float
        ``(divergence + ln(xi(n) / delta)) / n`` is the radius.
    parameter : float or None, default=None
        In (0, 2). The bound holds for all of them at once, so the best one is free; None takes it.

    Returns
    -------
    float
        ``mean / (1 - a/2) + radius / (a (1 - a/2))``; may exceed 1. At the best parameter it
        equals :func:`quadratic_upper`.

    Raises
    ------
    ValueError
        If the parameter is out of range.

    References
    ----------
    .. [1] N. Thiemann, C. Igel, O. Wintenberger and Y. Seldin, "A strongly quasiconvex
       PAC-Bayesian bound", ALT 2017.

    Examples
    --------
    >>> round(lambda_upper(0.02, 0.01), 6), round(lambda_upper(0.02, 0.01, 1.0), 6)
    (0.052361, 0.06)
    """
    if radius == 0.0:
        return rounded_up(mean)
    if parameter is None:
        parameter = 2.0 / (math.sqrt(2.0 * mean / radius + 1.0) + 1.0)
    if not 0.0 < parameter < 2.0:
        raise ValueError(f"parameter must lie in (0, 2), got {parameter!r}.")
    return rounded_up((mean + radius / parameter) / (1.0 - parameter / 2.0))


def catoni_upper(mean: float, radius: float, rate: float) -> float:
    """Bound the true loss with one rate that was fixed before the rows were read [1]_.

    Parameters
    ----------
    mean, radius : float
        ``(divergence + ln(1 / delta)) / n`` is the radius.
    rate : float
        Positive.

    Returns
    -------
    float
        ``(1 - exp(-rate mean - radius)) / (1 - exp(-rate))``; may exceed 1. The rate that makes
        it smallest gives ``kl_inverse_upper(mean, radius)``, but would not be fixed beforehand.

    Raises
    ------
    ValueError
        If the rate is not positive.

    References
    ----------
    .. [1] O. Catoni, "PAC-Bayesian supervised classification: the thermodynamics of statistical
       learning", IMS Lecture Notes 56, 2007, Theorem 1.2.1.

    Examples
    --------
    >>> round(catoni_upper(0.02, 0.01, 1.0), 6)
    0.046754
    """
    if not rate > 0.0:
        raise ValueError(f"rate must be positive, got {rate!r}.")
    return rounded_up(math.expm1(-rate * mean - radius) / math.expm1(-rate))


def fixed_rates_upper(
    mean: float, n_samples: int, nats: float, rates: Sequence[float], weights: Sequence[float]
) -> float:
    """Bound the true loss with several rates that were fixed before the rows were read.

    Parameters
    ----------
    mean : float
        Empirical loss on the rows, in [0, 1].
    n_samples : int
        Number of rows.
    nats : float
        ``divergence + ln(1 / delta)``, at least 0.
    rates, weights : sequence of float
        Positive rates; positive weights of sum 1.

    Returns
    -------
    float
        The largest ``mu`` in [mean, 1] with ``ln sum_j w_j exp(-a_j n mean) / (1 - c_j mu)^n <=
        nats`` and ``c_j = 1 - exp(-a_j)``. For one rate that is :func:`catoni_upper`.

    Examples
    --------
    >>> round(fixed_rates_upper(0.02, 1000, 10.0, [1.0], [1.0]), 6)
    0.046754
    """
    parts = [
        (math.log(weight) - rate * n_samples * mean, -math.expm1(-rate))
        for rate, weight in zip(rates, weights, strict=True)
    ]

    def within(mu: float) -> bool:
        logs = [fixed - n_samples * math.log1p(-c * mu) for fixed, c in parts]
        top = max(logs)
        return top + math.log(math.fsum(math.exp(log - top) for log in logs)) <= nats

    if mean >= 1.0 or within(1.0):
        return 1.0
    return min(1.0, rounded_up(bisect(within, mean, 1.0)[1]))


def monte_carlo_upper(mean: float, n_draws: int, nats: float, inflation: float = 1.0) -> float:
    """Bound a posterior's exact mean loss on the rows by a Monte-Carlo mean.

    Parameters
    ----------
    mean : float
        Mean over the passes of the mean loss on all rows, with fresh weights for each minibatch.
    n_draws : int
        Passes times minibatches.
    nats : float
        ``ln(1 / delta)`` for the share of delta that this step may use.
    inflation : float, default=1.0
        Number of minibatches times the largest share of the rows in one of them.

    Returns
    -------
    float
        With probability at least ``1 - delta`` over the draws no less than the exact mean.

    Notes
    -----
    With ``B`` minibatches, `P` passes and ``s_b`` the share of the rows in minibatch ``b``,
    ``mean / inflation`` is the mean of ``P B`` independent numbers ``B s_b loss / inflation`` in
    [0, 1]. Chernoff's bound for the mean of independent, not identically distributed numbers is
    that of W. Hoeffding, "Probability inequalities for sums of bounded random variables", JASA
    58, 1963, Theorem 1.

    Examples
    --------
    >>> round(monte_carlo_upper(0.30408205, 5000, math.log(2 / 0.01)), 6)
    0.325526
    """
    return rounded_up(inflation * kl_inverse_upper(mean / inflation, nats / n_draws))


def gaussian_divergence(
    mean: ArrayLike, deviation: ArrayLike, prior_mean: ArrayLike, prior_deviation: ArrayLike
) -> float:
    """Return the relative entropy of two Gaussians with independent coordinates.

    Parameters
    ----------
    mean, deviation : array-like
        Of the posterior; standard deviations, not variances.
    prior_mean, prior_deviation : array-like
        Of the prior.

    Returns
    -------
    float
        In nats.

    Examples
    --------
    >>> round(gaussian_divergence(0.3, 0.5, 0.0, 1.0), 7)
    0.3631472
    """
    m, s, m0, s0 = (
        np.atleast_1d(np.asarray(values, dtype=np.float64))
        for values in (mean, deviation, prior_mean, prior_deviation)
    )
    ratios = np.square(s / s0)
    # r - 1 - ln r without cancellation where r is close to 1.
    spread = (ratios - 1.0) - np.log1p(ratios - 1.0)
    return 0.5 * math.fsum((spread + np.square((m - m0) / s0)).ravel())
