"""Bound on a majority vote from how often two of its members err on the same row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skbound.bounds._bound import Bound
from skbound.bounds._merging import merged_mean
from skbound.bounds._records import record_of
from skbound.evidence import Evidence, FoldSample, Loss
from skbound.exceptions import MissingEvidenceError

__all__ = ["TandemBound"]


@dataclass(frozen=True)
class TandemBound(Bound):
    r"""Bound the error of a majority vote by the errors that its members share.

    Parameters
    ----------
    loss : "zero_one", default="zero_one"
        The only loss of which two predictors can share one.

    Raises
    ------
    ValueError
        For another loss.

    Notes
    -----
    Where the vote of `M` members is wrong, at least ``a = (M + 1) // 2`` of them are, and so at
    least ``a (a - 1) / 2`` pairs. By Markov's inequality its error is at most
    ``M (M - 1) / (a (a - 1))``, nearly four, times the mean over all pairs of the probability that
    both err. That mean is bounded as in :class:`CrossFitBound`: the number of rows that neither
    member was trained on and on which both err is binomial, and the tails of all pairs are merged,
    whatever their dependence.

    The second-order inequality with factor 4 and pairs of a member with itself is in Masegosa,
    Lorenzen, Igel and Seldin, "Second order PAC-Bayesian bounds for the weighted majority vote",
    NeurIPS 2020, Theorem 1. It beats the first-order bound where members rarely err together: where
    the mean over pairs is less than half the mean error.

    Examples
    --------
    >>> from skbound.evidence import Evidence, FoldSample, Sample
    >>> rows = list(range(300)) * 3
    >>> sample = Sample(rows, [i % 10 == j for j in range(3) for i in range(300)])
    >>> members = [j for j in range(3) for _ in range(300)]
    >>> folds = FoldSample(sample, members, "vote")
    >>> evidence = Evidence(protocol="cross_fit", n_fit=300, majority_share=0.5, certified=folds)
    >>> round(TandemBound()(evidence, 0.05).value, 4)
    0.039
    """

    key: ClassVar[str] = "tandem"
    method: ClassVar[str] = "tandem bound on the vote"
    losses: ClassVar[tuple[Loss, ...]] = ("zero_one",)

    def terms(self, evidence: Evidence, delta: float) -> dict[str, float]:
        """Split the bound into the mean error of members, shared errors and confidence.

        Parameters
        ----------
        evidence : Evidence
            Of a cross-fit protocol whose members have unseen rows in common.
        delta : float
            In (0, 1).

        Returns
        -------
        dict of str to float
            ``"empirical_loss"``, the mean error of single members; ``"pairs"``, how far the
            factor times the mean over pairs exceeds it, which may be negative; ``"confidence"``.

        Raises
        ------
        MissingEvidenceError
            If ``predict`` is no vote of at least three, or a pair has no unseen row in common.
        """
        folds = record_of(evidence, self.method, FoldSample)
        sizes, both = folds.pairs()
        if folds.predictor != "vote" or folds.n_predictors < 3 or not sizes.all():
            raise MissingEvidenceError(
                f"The {self.method} needs a majority vote of at least three predictors, every "
                f"two of which were evaluated on a common row. Fit with "
                f"CrossFit(predictor='vote', scheme='bags'), or use bound='auto'."
            )
        n_members = folds.n_predictors
        least = (n_members + 1) // 2
        factor = n_members * (n_members - 1) / (least * (least - 1))
        counts = both.astype(np.float64)
        mean = math.fsum(counts / sizes) / len(sizes)
        upper = max(mean, merged_mean(sizes, counts, math.log(delta), zero_one=True))
        per_member, errors = folds.sums("zero_one")
        error = math.fsum(errors / per_member) / n_members
        return {
            "empirical_loss": error,
            "pairs": factor * mean - error,
            "confidence": factor * (upper - mean),
        }
