"""Bounds for several predictors, each evaluated on rows that it was not trained on."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from skbound.bounds._bound import Bound
from skbound.bounds._inversion import kl_inverse_upper, log_xi
from skbound.bounds._merging import largest_mean, merged_mean, union_mean
from skbound.bounds._records import losses_of, record_of
from skbound.bounds._together import joint_terms, stands_for
from skbound.evidence import Evidence, FoldSample

__all__ = ["CrossFitBound", "FoldBound", "FoldKLBound", "FoldMixtureBound", "FoldUnionBound"]

Sizes = NDArray[np.intp]
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class FoldBound(Bound):
    r"""Bound on the mean true loss of several predictors, and on what they answer together.

    A subclass states `key` and `method` and implements `upper`, a bound ``U`` on the mean ``mu`` of
    the true losses of `K` predictors, all weighted alike, whatever the dependence among them.

    Parameters
    ----------
    loss : {"zero_one", "brier"}, default="zero_one"
        Loss that is bounded.

    Raises
    ------
    ValueError
        If the name of the loss is unknown.

    Notes
    -----
    Where a hash of the row chooses one predictor, its expected loss over the key is ``mu``. The
    error of a majority vote is at most ``K / ((K + 1) // 2)`` times ``mu``: 3/2 for three
    predictors, 5/3 for five, 2 for any even number. The error of averaged probabilities is at most
    four times the mean of half the predictors' Brier scores. Half the Brier score of the shares of
    votes is at most the mean error, that of averaged probabilities at most the mean of theirs. All
    of this is Markov's inequality and convexity.
    """

    @abstractmethod
    def upper(self, sizes: Sizes, sums: Numbers, delta: float, *, zero_one: bool) -> float:
        """Return what the mean true loss exceeds with probability at most `delta`.

        Parameters
        ----------
        sizes, sums : ndarray of shape (n_predictors,)
            Rows that each predictor was evaluated on, and its summed losses there.
        delta : float
            In (0, 1).
        zero_one : bool
            Whether the losses are 0 or 1.

        Returns
        -------
        float
            Bound on the equally weighted mean. Where it is below the mean loss seen, that is used.
        """

    def terms(self, evidence: Evidence, delta: float) -> dict[str, float]:
        """Split the bound into the mean loss, what confidence adds, and the price of the vote.

        Parameters
        ----------
        evidence : Evidence
            Of a cross-fit protocol.
        delta : float
            In (0, 1).

        Returns
        -------
        dict of str to float
            ``"empirical_loss"``, the mean loss of single predictors; ``"vote"`` or ``"average"``
            where the error of all together is bounded through it; and ``"confidence"``.

        Raises
        ------
        MissingEvidenceError
            If the rows were not cross-fitted, or probabilities are needed and there are none.
        """
        folds = record_of(evidence, self.method, FoldSample)
        loss, factor = stands_for(folds.predictor, self.loss, folds.n_predictors)
        for needed in (self.loss, loss):
            losses_of(folds.sample, needed, self.method)
        sizes, sums = folds.sums(loss)
        error, mean = _mean_of_means(*folds.sums("zero_one")), _mean_of_means(sizes, sums)
        upper = self.upper(sizes, sums, delta, zero_one=loss == "zero_one")
        return joint_terms(folds.predictor, factor, error, mean, confidence=upper)


def _mean_of_means(sizes: Sizes, sums: Numbers) -> float:
    return math.fsum(sums / sizes) / len(sizes)


@dataclass(frozen=True)
class CrossFitBound(FoldBound):
    r"""Merge the tails of all predictors, whatever their dependence.

    Parameters
    ----------
    loss : {"zero_one", "brier"}, default="zero_one"
        Loss that is bounded.

    Notes
    -----
    Let ``mu_j`` be the true loss of predictor ``j`` of `K` and ``P_j`` the tail of its own losses
    at ``mu_j``: the exact binomial tail for errors; for other losses the smaller of Chernoff's and
    Bentkus's bounds on it. Given the rows that it was trained on, ``P_j`` is a p-value. With
    probability at least ``1 - delta``

    ``mean_j max(0, ln(x delta / P_j)) < t``,  ``x = t / (1 - exp(-K t))``,

    and the bound is the largest mean of the ``mu_j`` for which this holds, found by convex
    optimisation. The constant ``t`` is the one that maximises ``t exp(-t) / (1 - exp(-K t))``. With
    equal counts each tail is then as at level ``delta / c``, with ``c`` between 2 (two predictors)
    and ``e = 2.718...`` (many), where a union bound pays ``K``. The proof is Markov's inequality:
    ``f(p) = min(K, max(0, ln(x delta / p)) / t)`` does not increase in ``p`` and has the integral
    `delta`, so the mean of the ``f(P_j)`` has an expectation of at most `delta`. Vovk and Wang,
    "Combining p-values via averaging", Biometrika 107, 2020, treat the geometric mean of dependent
    p-values. Bentkus, "On Hoeffding's inequalities", Annals of Probability 32, 2004, Theorem 1.2.

    Examples
    --------
    >>> from skbound.evidence import Evidence, FoldSample, Sample
    >>> sample = Sample(range(1000), ([1] * 20 + [0] * 180) * 5)
    >>> folds = FoldSample(sample, [i // 200 for i in range(1000)], "gibbs")
    >>> evidence = Evidence(protocol="cross_fit", n_fit=800, majority_share=0.5, certified=folds)
    >>> round(CrossFitBound()(evidence, 0.05).value, 4)
    0.1535
    """

    key: ClassVar[str] = "cross_fit"
    method: ClassVar[str] = "merged tail bound on the predictors' mean loss"

    def upper(self, sizes: Sizes, sums: Numbers, delta: float, *, zero_one: bool) -> float:
        """Find the largest mean that the merged tails allow. See `FoldBound.upper`."""
        return merged_mean(sizes, sums, math.log(delta), zero_one=zero_one)


@dataclass(frozen=True)
class FoldUnionBound(FoldBound):
    """Average the bounds of all predictors, each at ``delta / K``.

    Parameters
    ----------
    loss : {"zero_one", "brier"}, default="zero_one"
        Loss that is bounded.

    Notes
    -----
    Exact binomial tails for errors (:class:`BinomialBound`), Chernoff's bound for other losses
    (:class:`KLBound`). By Bonferroni's inequality all of them hold at once. For one or two
    predictors and 0-1 losses it is the same as :class:`CrossFitBound`.
    """

    key: ClassVar[str] = "cross_fit_union"
    method: ClassVar[str] = "union bound on the predictors' mean loss"

    def upper(self, sizes: Sizes, sums: Numbers, delta: float, *, zero_one: bool) -> float:
        """Average the bounds. See `FoldBound.upper`."""
        return union_mean(sizes, sums, math.log(delta), zero_one=zero_one)


@dataclass(frozen=True)
class FoldKLBound(FoldBound):
    """Bound the relative entropy between the mean loss and the mean true loss.

    Parameters
    ----------
    loss : {"zero_one", "brier"}, default="zero_one"
        Loss that is bounded.

    Notes
    -----
    Relative entropy is jointly convex, so with ``m`` the smallest number of rows of a predictor
    ``m kl(q, mu)`` is at most the mean of ``m_j kl(q_j, mu_j)``, and
    ``kl(q, mu) <= ln(xi(m_max) / delta) / m`` with Maurer's constant ``xi``. This is the bound of
    Thiemann, Igel, Wintenberger and Seldin, "A strongly quasiconvex PAC-Bayesian bound", ALT 2017,
    without weights to choose, and with ``xi`` in place of ``2 sqrt(m)``.
    """

    key: ClassVar[str] = "cross_fit_kl"
    method: ClassVar[str] = "relative-entropy bound on the predictors' mean loss"

    def upper(self, sizes: Sizes, sums: Numbers, delta: float, *, zero_one: bool) -> float:
        """Invert the relative entropy at the mean loss. See `FoldBound.upper`."""
        nats = (log_xi(int(sizes.max())) - math.log(delta)) / int(sizes.min())
        return kl_inverse_upper(min(1.0, _mean_of_means(sizes, sums)), nats)


@dataclass(frozen=True)
class FoldMixtureBound(FoldBound):
    """Average exponential e-values with constants that were fixed beforehand.

    Parameters
    ----------
    loss : {"zero_one", "brier"}, default="zero_one"
        Loss that is bounded.
    rates : tuple of float, default=(0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
        Positive constants, weighted alike. They must not depend on the evaluated rows, and in
        cross-fitting all rows are evaluated.

    Raises
    ------
    ValueError
        If there is no rate or one is not positive.

    Notes
    -----
    With ``S_j`` the sum of the ``m_j`` losses of predictor ``j`` and ``c = 1 - exp(-a)``, the
    expectation of ``exp(-a S_j) (1 - c mu_j)^(-m_j)`` is at most 1 for every rate ``a`` (by
    convexity of the exponential), and so is that of a mean over rates and predictors. By Markov's
    inequality it stays below ``1 / delta``; the bound is the largest mean of the ``mu_j`` for which
    it does, found by convex optimisation, so unequal numbers of rows need no care. With equal
    counts and the right rate it is Chernoff's bound without Maurer's constant. That a mean of
    e-values is one, whatever their dependence, is in V. Vovk and R. Wang, "E-values: calibration,
    combination and applications", Annals of Statistics 49, 2021.
    """

    key: ClassVar[str] = "cross_fit_mixture"
    method: ClassVar[str] = "averaged e-value bound on the predictors' mean loss"

    rates: tuple[float, ...] = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "rates", tuple(self.rates))
        if not self.rates or not all(0.0 < rate < math.inf for rate in self.rates):
            raise ValueError(f"rates must be positive numbers, at least one, got {self.rates!r}.")

    def upper(self, sizes: Sizes, sums: Numbers, delta: float, *, zero_one: bool) -> float:
        """Find the largest mean that the e-values allow. See `FoldBound.upper`."""
        rates = np.array(self.rates)[:, None]
        shares = -np.expm1(-rates)
        offset = math.log(delta) - math.log(len(self.rates))

        def costs(means: Numbers) -> tuple[Numbers, Numbers]:
            exponents = offset - rates * sums - sizes * np.log1p(-shares * means)
            # Cut off far beyond the limit of 1, where it changes nothing.
            values = np.exp(np.minimum(exponents, 600.0))
            slopes = values * sizes * shares / (1.0 - shares * means)
            return values.sum(axis=0), slopes.sum(axis=0)

        return largest_mean(costs, len(sizes), 1.0)
