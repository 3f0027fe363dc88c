"""Bounds for predictors that are rebuilt from a few of the rows that certify them."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from scipy import special

from skbound.bounds._bound import Bound, increments
from skbound.bounds._inversion import binomial_tail_inverse, kl_inverse_upper, rounded_up
from skbound.bounds._preference import log_psi_function, peak, pick_to_learn_risk
from skbound.bounds._records import record_of, sum_of
from skbound.evidence import CompressedSample, Evidence

__all__ = ["PickToLearnBound", "SampleCompressionBound"]

# Relative rounding of the log-gamma function, counted on the safe side.
_SLACK = 1e-15


@dataclass(frozen=True)
class CompressionBound(Bound):
    """Upper bound from the rows that a predictor left out when it picked its training rows.

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
    def upper(self, record: CompressedSample, total: float, delta: float) -> float:
        """Return a number that the true risk exceeds with probability at most `delta`.

        Parameters
        ----------
        record : CompressedSample
            How the rows were used.
        total : float
            Sum of the losses on the rows that were left out.
        delta : float
            In (0, 1).

        Returns
        -------
        float
            At most 1.
        """

    def terms(self, evidence: Evidence, delta: float) -> dict[str, float]:
        """Split the bound into the mean loss, the picked rows and what is added for confidence.

        Parameters
        ----------
        evidence : Evidence
            Of a protocol that compresses.
        delta : float
            In (0, 1).

        Returns
        -------
        dict of str to float
            ``"empirical_loss"`` on the rows that were left out; ``"picked_rows"``, what it adds to
            the mean to count each picked row as a loss of 1; and ``"confidence"``.

        Raises
        ------
        MissingEvidenceError
            If the predictor did not pick rows, or the Brier loss is asked for and there are no
            probabilities.
        """
        record = record_of(evidence, self.method, CompressedSample)
        total = sum_of(record.sample, self.loss, self.method)
        mean, share = total / record.n_samples, record.n_picked / record.n_rows
        return increments(
            empirical_loss=mean,
            picked_rows=mean + share * (1.0 - mean),
            confidence=self.upper(record, total, delta),
        )

    def rate(self, total: float, n_samples: int, log_delta: float) -> float:
        """Bound the mean of independent losses. See `BinomialBound` and `KLBound`."""
        if self.loss == "zero_one":
            return binomial_tail_inverse(int(total), n_samples, log_delta=log_delta)
        return kl_inverse_upper(min(1.0, total / n_samples), -log_delta / n_samples)


@dataclass(frozen=True)
class PickToLearnBound(CompressionBound):
    r"""Bound for a predictor that picked the rows it explained worst.

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
    Picking goes by steps. Each ranks the rows that are left by a score of the predictor of the
    moment and by a random order, moves the first ones to the training rows, and retrains. Let the
    number of steps be limited beforehand, and let picking also end where no row that is left is
    predicted wrongly. Of `n` rows ``m`` are then picked. Whether another row would have been
    picked at some step, or is predicted wrongly where picking ended early, depends on that row
    and the picked ones alone. With ``p`` the probability of this, and ``F_m`` the law of ``p``
    over sets of ``m`` rows that pick themselves, the chance that `M` rows lead to ``m`` picked
    ones is ``C(M, m) E_{F_m} (1 - p)^(M - m)``, and over all ``m`` these chances sum to at most 1,
    for every `M` at once. So any bound that is broken, given the ``m`` rows, with probability at
    most ``Psi_m(p) = (delta / n) sum_{M=m}^{n-1} [C(M, m) / C(n, m)] (1 - p)^(M - n)`` is broken
    with probability at most `delta` altogether.

    The rows that are left are, given that they were not picked, independent with some mean loss
    ``r``, and the risk is at most ``1 - (1 - p)(1 - r)``. Hence with probability ``1 - delta``

    ``risk <= max { 1 - (1 - p)(1 - r) : P(no more loss is seen) > Psi_m(p) }``,

    where the probability is the binomial tail for 0-1 losses and ``exp(-(n - m) kl(mean, r))``,
    Chernoff's bound, for losses in [0, 1]. Without a wrong prediction the maximum is at ``r = 0``
    and the root of ``Psi_m(p) = 1`` remains, which is the theorem of Campi and Garatti,
    "Compression, generalization and learning", JMLR 24, 2023, for preferent compression, on
    which Paccagnan, Campi and Garatti, "The pick-to-learn algorithm", NeurIPS 2023, rests. So no
    case is distinguished, and none has to be paid for. With ``s = -ln(1 - p)`` and
    ``t = -ln(1 - r)`` the logarithm of the probability is concave in ``t`` and ``ln Psi`` convex
    in ``s``, so ``s + t`` has one maximum, which is found by golden section and rounded up.

    Where the number of steps was chosen with a view to the losses among ``0, ..., J - 1``, the
    step ``j`` gets the share ``(J + 1) / (J (j + 1) (j + 2))`` of `delta`; these sum to 1. Without
    any step nothing was picked, and the bound is that of a hold-out.

    Examples
    --------
    >>> from skbound.evidence import CompressedSample, Evidence, Sample
    >>> record = CompressedSample(Sample(range(990), [0] * 990), range(990, 1000))
    >>> evidence = Evidence(
    ...     protocol="compression", n_fit=510, majority_share=0.5, certified=record
    ... )
    >>> round(PickToLearnBound()(evidence, 0.05).value, 5)
    0.02166
    """

    key: ClassVar[str] = "pick_to_learn"
    method: ClassVar[str] = "Pick-to-Learn bound"

    def upper(self, record: CompressedSample, total: float, delta: float) -> float:
        """Maximise over the share of rows that would be picked. See `CompressionBound.upper`."""
        log_delta = math.log(delta)
        if record.stop is not None:
            j, n_stops = record.stop, record.n_stops
            log_delta += math.log((n_stops + 1.0) / (n_stops * (j + 1.0) * (j + 2.0)))
        n, n_left = record.n_rows, record.n_samples
        if record.stop == 0:
            return self.rate(total, n_left, log_delta)
        largest = pick_to_learn_risk(record.n_picked, n, log_delta=log_delta)
        if total == 0.0 or largest >= 1.0:
            return largest
        log_psi = log_psi_function(record.n_picked, n, log_delta)

        def rate(s: float) -> float:
            # At the end of the range the tail must exceed 1; just below it is on the safe side.
            return self.rate(total, n_left, min(log_psi(-math.expm1(-s)), -1e-12))

        def risk(s: float) -> float:
            return s - math.log1p(-min(rate(s), 1.0 - 1e-15))

        low, high = peak(risk, 0.0, -math.log1p(-largest))
        # The rate falls with s, so between the ends nothing exceeds this.
        return min(1.0, rounded_up(1.0 - math.exp(-high) * (1.0 - rate(low))))


@dataclass(frozen=True)
class SampleCompressionBound(CompressionBound):
    r"""Bound for a predictor that is rebuilt from ``m`` of `n` rows, however these were chosen.

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
    For each set of ``m`` rows, which also settles their order, the predictor made from it is
    fixed, and its losses on the other rows are independent. The union over all sets and sizes
    gives the bound of a hold-out of ``n - m`` rows at level ``delta zeta(m) / C(n, m)`` with
    ``zeta(m) = 6 / (pi^2 (m + 1)^2)``: the binomial tail for 0-1 losses, Chernoff's
    ``kl(mean, risk) <= ln(1/level) / (n - m)`` for losses in [0, 1], which needs no further
    logarithm since each predictor of the union is fixed. Littlestone and Warmuth, "Relating data
    compression and learnability", 1986; Laviolette, Marchand and Shah, "Margin-sparsity trade-off
    for the set covering machine", ECML 2005. It makes no use of how the rows were picked, which
    costs much: see `PickToLearnBound`.

    Examples
    --------
    >>> from skbound.evidence import CompressedSample, Evidence, Sample
    >>> record = CompressedSample(Sample(range(990), [0] * 990), range(990, 1000))
    >>> evidence = Evidence(
    ...     protocol="compression", n_fit=510, majority_share=0.5, certified=record
    ... )
    >>> round(SampleCompressionBound()(evidence, 0.05).value, 5)
    0.06091
    """

    key: ClassVar[str] = "sample_compression"
    method: ClassVar[str] = "sample compression bound"

    def upper(self, record: CompressedSample, total: float, delta: float) -> float:
        """Bound a hold-out at the level of one set. See `CompressionBound.upper`."""
        m, n = record.n_picked, record.n_rows
        log_zeta = math.log(6.0 / math.pi**2) - 2.0 * math.log(m + 1.0)
        log_choose = -math.log1p(n) - float(special.betaln(m + 1.0, n - m + 1.0))
        slack = _SLACK * float(special.gammaln(n + 1.0))
        log_level = math.log(delta) + log_zeta - max(0.0, log_choose) - slack
        return self.rate(total, record.n_samples, log_level)
