"""The bound for progressive losses that needs no guess and holds at every time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import special

from skbound.bounds._bound import Bound, increments
from skbound.bounds._inversion import bisect, rounded_up
from skbound.bounds._progressive import progressive_record
from skbound.bounds._records import sum_of
from skbound.evidence import Evidence, Loss, ProgressiveSample

__all__ = ["ProgressiveMixtureBound", "mixture_upper"]

# Each twice the one before: between two of them the width grows by 6 %. The best constant is about
# 2.4 over the root of the number of errors, so these serve from a few errors to some thousand.
_RATES = np.geomspace(0.05, 1.6, 6)
_SHARES = -np.expm1(-_RATES)
_LOG_WEIGHT = -math.log(len(_RATES))


@dataclass(frozen=True)
class ProgressiveMixtureBound(Bound):
    r"""Bound on the mean true error of predictors trained in turn, without a guess of the error.

    Parameters
    ----------
    loss : {"zero_one", "brier"}, default="zero_one"
        Loss whose mean is bounded.

    Raises
    ------
    ValueError
        If the name of the loss is unknown.

    Notes
    -----
    In the notation of :class:`ProgressiveBound`, the product of ``exp(-a L_t) / (1 - c mu_t)``
    is a non-negative supermartingale that starts at 1 for each constant ``a``, and so is the mean
    of these products over several constants ``a_j``. By concavity of the logarithm the mean is at
    least

    ``(1/J) sum_j exp(-a_j S) (1 - c_j mu)^(-n)``.

    With probability ``1 - delta`` this stays below ``1/delta`` after every row, and the bound is
    the largest ``mu`` for which it does. The constants are fixed for good, from .05 to 1.6 in equal
    ratios. So the bound holds for all numbers of rows at once, also where more rows come because
    of what the earlier ones showed. Mixing supermartingales goes back to H. Robbins, "Statistical
    methods related to the law of the iterated logarithm", Annals of Mathematical Statistics 41,
    1970.

    Examples
    --------
    >>> from skbound.evidence import Evidence, ProgressiveSample, Sample
    >>> sample = Sample(range(500), [1] * 50 + [0] * 450)
    >>> blocks = ProgressiveSample(sample, [0] * 250 + [1] * 250)
    >>> evidence = Evidence(
    ...     protocol="progressive", n_fit=750, majority_share=0.5, certified=blocks
    ... )
    >>> round(ProgressiveMixtureBound()(evidence, 0.05).value, 4)
    0.1444
    """

    key: ClassVar[str] = "progressive_mixture"
    method: ClassVar[str] = "mixture supermartingale bound"

    def terms(self, evidence: Evidence, delta: float) -> dict[str, float]:
        """Split the bound into the mean loss and what is added for confidence.

        Parameters
        ----------
        evidence : Evidence
            Of a progressive protocol, or of calls of ``partial_fit``.
        delta : float
            In (0, 1).

        Returns
        -------
        dict of str to float
            ``"empirical_loss"`` and ``"confidence"``.

        Raises
        ------
        MissingEvidenceError
            If the rows were not evaluated progressively, or the Brier loss is asked for and there
            are no probabilities.
        """
        record = progressive_record(evidence, self.method)
        return increments(
            empirical_loss=sum_of(record.sample, self.loss, self.method) / record.n_samples,
            confidence=mixture_upper(record, self.loss, self.method, delta),
        )


def mixture_upper(record: ProgressiveSample, loss: Loss, method: str, delta: float) -> float:
    """Bound the mean true loss of the predictors of all blocks.

    Parameters
    ----------
    record : ProgressiveSample
        Of one block or more.
    loss : {"zero_one", "brier"}
        Loss that is bounded.
    method : str
        The bound in words, for the message.
    delta : float
        In (0, 1).

    Returns
    -------
    float
        At most 1.

    Raises
    ------
    MissingEvidenceError
        If there are no losses of this kind.
    """
    n, total = record.n_samples, sum_of(record.sample, loss, method)
    nats = -math.log(delta)

    def not_refuted(mu: float) -> bool:
        exponents = _LOG_WEIGHT - _RATES * total - n * np.log1p(-_SHARES * mu)
        return bool(special.logsumexp(exponents) < nats)

    _, outside = bisect(not_refuted, 0.0, 1.0)
    return min(1.0, rounded_up(outside))
