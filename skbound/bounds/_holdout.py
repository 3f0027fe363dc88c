"""Bounds from the losses of one fixed predictor on rows that were set aside."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from skbound.bounds._bound import Bound, increments
from skbound.bounds._inversion import (
    binomial_tail_inverse,
    bisect,
    kl_inverse_upper,
    rounded_up,
)
from skbound.bounds._records import losses_of, record_of
from skbound.evidence import Evidence, Loss, Sample

__all__ = [
    "BettingBound",
    "BinomialBound",
    "EmpiricalBernsteinBound",
    "HoeffdingBound",
    "HoldoutBound",
    "KLBound",
]


@dataclass(frozen=True)
class HoldoutBound(Bound):
    """Upper bound on the mean of independent losses with one common law.

    A subclass states `key` and `method` and implements `upper`.

    Parameters
    ----------
    loss : {"zero_one", "brier"}, default="zero_one"
        Loss whose mean is bounded.

    Raises
    ------
    ValueError
        If the name of the loss is unknown.
    """

    @abstractmethod
    def upper(self, losses: NDArray[np.float64], delta: float) -> float:
        """Return a number that the true mean exceeds with probability at most `delta`.

        Parameters
        ----------
        losses : ndarray of shape (n_samples,)
            Independent losses in [0, 1] of a predictor that was fixed before.
        delta : float
            In (0, 1).

        Returns
        -------
        float
            Bound on the mean; it may exceed 1. Where it is below the mean of `losses`, that mean
            is used instead.
        """

    def terms(self, evidence: Evidence, delta: float) -> dict[str, float]:
        """Split the bound into the mean loss and what is added for confidence.

        Parameters
        ----------
        evidence : Evidence
            With certified rows.
        delta : float
            In (0, 1).

        Returns
        -------
        dict of str to float
            ``"empirical_loss"`` and ``"confidence"``.

        Raises
        ------
        MissingEvidenceError
            If no rows were certified, or the Brier loss is asked for and there are no
            probabilities.
        """
        sample = record_of(evidence, self.method, Sample)
        losses = losses_of(sample, self.loss, self.method)
        # Sorted by position, so that the order in which rows were evaluated does not matter.
        losses = losses[np.argsort(sample.rows, kind="stable")]
        return increments(empirical_loss=float(losses.mean()), confidence=self.upper(losses, delta))


@dataclass(frozen=True)
class BinomialBound(HoldoutBound):
    """Exact inversion of the binomial tail, for 0-1 losses only.

    No bound that is a non-decreasing function of the error count is tighter at the same level.

    Parameters
    ----------
    loss : "zero_one", default="zero_one"
        The only loss whose sum is binomial.

    Raises
    ------
    ValueError
        For another loss.

    Notes
    -----
    Langford, "Tutorial on practical prediction theory for classification", JMLR 6, 2005,
    Theorem 3.3. See :func:`skbound.bounds.binomial_tail_inverse`.
    """

    key: ClassVar[str] = "binomial"
    method: ClassVar[str] = "exact binomial tail bound"
    losses: ClassVar[tuple[Loss, ...]] = ("zero_one",)

    def upper(self, losses: NDArray[np.float64], delta: float) -> float:
        """Invert the tail at the error count. See `HoldoutBound.upper`."""
        return binomial_tail_inverse(int(losses.sum()), losses.size, log_delta=math.log(delta))


@dataclass(frozen=True)
class KLBound(HoldoutBound):
    """Chernoff's bound in relative-entropy form.

    Parameters
    ----------
    loss : {"zero_one", "brier"}, default="zero_one"
        Loss whose mean is bounded.

    Notes
    -----
    ``kl(mean, mu) <= ln(1/delta) / n``. Hoeffding, "Probability inequalities for sums of bounded
    random variables", JASA 58, 1963, Theorem 1.
    """

    key: ClassVar[str] = "kl"
    method: ClassVar[str] = "Chernoff bound, relative-entropy form"

    def upper(self, losses: NDArray[np.float64], delta: float) -> float:
        """Invert the relative entropy at the mean. See `HoldoutBound.upper`."""
        return kl_inverse_upper(float(losses.mean()), -math.log(delta) / losses.size)


@dataclass(frozen=True)
class HoeffdingBound(HoldoutBound):
    """Hoeffding's bound: wider than the relative-entropy form, but in closed form.

    Parameters
    ----------
    loss : {"zero_one", "brier"}, default="zero_one"
        Loss whose mean is bounded.

    Notes
    -----
    ``mean + sqrt(ln(1/delta) / (2 n))``. Hoeffding, JASA 58, 1963, Theorem 2.
    """

    key: ClassVar[str] = "hoeffding"
    method: ClassVar[str] = "Hoeffding bound"

    def upper(self, losses: NDArray[np.float64], delta: float) -> float:
        """Add the width to the mean. See `HoldoutBound.upper`."""
        width = math.sqrt(-math.log(delta) / (2.0 * losses.size))
        return rounded_up(float(losses.mean()) + width)


@dataclass(frozen=True)
class EmpiricalBernsteinBound(HoldoutBound):
    """Bound that narrows with the sample variance of the losses.

    Parameters
    ----------
    loss : {"zero_one", "brier"}, default="zero_one"
        Loss whose mean is bounded.

    Notes
    -----
    ``mean + sqrt(2 V ln(2/delta) / n) + 7 ln(2/delta) / (3 (n - 1))`` with the unbiased sample
    variance ``V``. Maurer and Pontil, "Empirical Bernstein bounds and sample variance
    penalization", COLT 2009, Theorem 4. A single row has no sample variance: the bound is then
    the trivial 1.
    """

    key: ClassVar[str] = "empirical_bernstein"
    method: ClassVar[str] = "empirical Bernstein bound"

    def upper(self, losses: NDArray[np.float64], delta: float) -> float:
        """Add the width to the mean. See `HoldoutBound.upper`."""
        n, log_term = losses.size, math.log(2.0 / delta)
        if n < 2:
            return 1.0
        spread = math.sqrt(2.0 * float(losses.var(ddof=1)) * log_term / n)
        return rounded_up(float(losses.mean()) + spread + 7.0 * log_term / (3.0 * (n - 1)))


# The largest share of its capital that the bet puts at risk. Below 1, so that one loss of 1 does
# not ruin it; of the values tried, the one that loses least on both smooth and 0-1 losses.
_LARGEST_SHARE = 0.75


@dataclass(frozen=True)
class BettingBound(HoldoutBound):
    r"""Bound that adapts to the variance by betting against too large a mean.

    Parameters
    ----------
    loss : {"zero_one", "brier"}, default="zero_one"
        Loss whose mean is bounded.

    Notes
    -----
    For a supposed mean ``mu``, a gambler with capital 1 stakes ``l_i >= 0`` on each loss in turn
    and ends with ``prod_i (1 - l_i (x_i - mu))``. The stake is ``min(a_i, c / (1 - mu))``, where
    ``a_i = sqrt(2 ln(1/delta) / (n v_i))``, ``v_i`` is a variance estimate from the losses before
    row ``i`` and ``c < 1``. So no factor is negative, and under the true mean the capital is a
    martingale: by Ville's inequality it ever reaches ``1/delta`` with probability at most
    `delta`. Each factor is non-decreasing in ``mu``: it is ``1 - a_i x_i + a_i mu`` while the
    stake is ``a_i``, ``1 - c + c (1 - x_i) / (1 - mu)`` after that, and continuous in between.
    Hence the means that are not refuted form an interval, whose end is found by bisection.
    Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", JRSS B 86,
    2024.

    The stakes depend on the order of the rows. Any order fixed without regard to the losses is
    valid; here it is the order of row positions, interleaved so that neighbours in a sorted table
    are far apart. The result depends on which row has which loss, but not on the order in which
    the rows are listed.
    """

    key: ClassVar[str] = "betting"
    method: ClassVar[str] = "betting bound"

    def upper(self, losses: NDArray[np.float64], delta: float) -> float:
        """Find the largest mean that was never refuted. See `HoldoutBound.upper`."""
        goal = -math.log(delta)
        x = losses[_interleaved(losses.size)]
        stakes = np.sqrt(2.0 * goal / (x.size * _past_variances(x)))

        def not_refuted(mu: float) -> bool:
            bets = np.minimum(stakes, _LARGEST_SHARE / (1.0 - mu))
            return bool(np.log1p(bets * (mu - x)).cumsum().max() < goal)

        _, outside = bisect(not_refuted, 0.0, 1.0)
        return min(1.0, rounded_up(outside))


def _interleaved(n: int) -> NDArray[np.intp]:
    """Return a fixed order of `n` items in which neighbours are far apart (golden section)."""
    golden = (math.sqrt(5.0) - 1.0) / 2.0
    return np.argsort(np.arange(n) * golden % 1.0, kind="stable")


def _past_variances(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Estimate the variance before each item, starting from mean 1/2 and variance 1/4."""
    seen = np.arange(2.0, x.size + 2.0)
    means = (0.5 + np.cumsum(x)) / seen
    variances = (0.25 + np.cumsum((x - means) ** 2)) / seen
    return np.concatenate(([0.25], variances[:-1]))
