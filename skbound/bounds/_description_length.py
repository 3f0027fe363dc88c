"""Occam's razor: the bound for a predictor that a few bits describe."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from skbound.bounds._bound import Bound, increments
from skbound.bounds._inversion import binomial_tail_inverse, kl_inverse_upper
from skbound.bounds._records import record_of, sum_of
from skbound.evidence import CodedSample, Evidence, Loss

__all__ = ["CodeLengthBound", "OccamBound", "OccamKLBound"]


@dataclass(frozen=True)
class CodeLengthBound(Bound):
    """Upper bound on the mean loss of a predictor that a code names.

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
    def upper(self, total: float, n_samples: int, log_delta: float) -> float:
        """Return a number that the true mean of one fixed predictor exceeds seldom.

        Parameters
        ----------
        total : float
            Sum of its losses, each in [0, 1].
        n_samples : int
            Number of rows.
        log_delta : float
            Natural logarithm of the probability with which it may; it may be far below the
            logarithm of the smallest double.

        Returns
        -------
        float
            In [0, 1].
        """

    def terms(self, evidence: Evidence, delta: float) -> dict[str, float]:
        """Split the bound into the mean loss and what each thing to pay for adds.

        Parameters
        ----------
        evidence : Evidence
            With the losses of a coded predictor.
        delta : float
            In (0, 1).

        Returns
        -------
        dict of str to float
            ``"empirical_loss"``, ``"confidence"``, ``"options"`` and ``"code_length"``.

        Raises
        ------
        MissingEvidenceError
            If no predictor was coded, or the Brier loss is asked for and there are no
            probabilities.
        """
        coded = record_of(evidence, self.method, CodedSample)
        n, total = coded.n_samples, sum_of(coded.sample, self.loss, self.method)
        nats = {
            "confidence": -math.log(delta),
            "options": math.log(coded.n_options),
            "code_length": coded.n_bits * math.log(2.0),
        }
        values, spent = {"empirical_loss": total / n}, 0.0
        for name, amount in nats.items():
            spent += amount
            # Free where nothing is to be paid.
            values[name] = self.upper(total, n, -spent) if amount else 0.0
        return increments(**values)


@dataclass(frozen=True)
class OccamBound(CodeLengthBound):
    r"""Exact binomial tail at a level that falls by half with each bit, for 0-1 losses only.

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
    Let each of `M` options be a prefix code that names predictors, fixed before the `n` rows were
    drawn. With probability at least ``1 - delta`` it holds for all predictors ``h`` and options at
    once that

    ``R(h) <= sup{p : P(Bin(n, p) <= k(h)) >= delta 2^(-b(h)) / M}``,

    where ``k(h)`` counts the errors of ``h`` and ``b(h)`` its bits. By Kraft's inequality the
    levels ``2^(-b) / M`` sum to at most 1, so this is a union of exact test-set bounds [1]_. With
    ``b = 0`` it is the one for a finite class of `M` predictors, and with ``M = 1`` as well that of
    a hold-out.

    References
    ----------
    .. [1] J. Langford, "Tutorial on practical prediction theory for classification", JMLR 6, 2005,
       Section 4 (Occam's razor bound).

    Examples
    --------
    >>> from skbound.evidence import CodedSample, Evidence, Sample
    >>> sample = Sample(range(1437), [1] * 190 + [0] * 1247)
    >>> coded = CodedSample(sample, code="01" * 443 + "1")
    >>> evidence = Evidence(
    ...     protocol="description_length", n_fit=1437, majority_share=0.1, certified=coded
    ... )
    >>> round(OccamBound()(evidence, 0.05).value, 4)
    0.5764
    """

    key: ClassVar[str] = "occam"
    method: ClassVar[str] = "Occam's razor bound, exact binomial tail form"
    losses: ClassVar[tuple[Loss, ...]] = ("zero_one",)

    def upper(self, total: float, n_samples: int, log_delta: float) -> float:
        """Invert the binomial tail. See `CodeLengthBound.upper`."""
        return binomial_tail_inverse(int(total), n_samples, log_delta=log_delta)


@dataclass(frozen=True)
class OccamKLBound(CodeLengthBound):
    r"""Chernoff's bound at a level that falls by half with each bit, for any loss in [0, 1].

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
    As `OccamBound`, with Chernoff's bound ``P(kl(q, R) >= c, q <= R) <= exp(-n c)`` for the mean
    ``q`` of `n` losses in place of the binomial tail:

    ``R(h) <= sup{p : kl(q(h), p) <= (b(h) ln 2 + ln(M / delta)) / n}``.

    It holds for losses in [0, 1] because ``exp(-a x)`` lies below its chord there (Hoeffding,
    "Probability inequalities for sums of bounded random variables", JASA 58, 1963, Theorem 1).

    Examples
    --------
    >>> from skbound.evidence import CodedSample, Evidence, Sample
    >>> sample = Sample(range(1437), [1] * 190 + [0] * 1247)
    >>> coded = CodedSample(sample, code="01" * 443 + "1")
    >>> evidence = Evidence(
    ...     protocol="description_length", n_fit=1437, majority_share=0.1, certified=coded
    ... )
    >>> round(OccamKLBound()(evidence, 0.05).value, 4)
    0.5777
    """

    key: ClassVar[str] = "occam_kl"
    method: ClassVar[str] = "Occam's razor bound, relative-entropy form"

    def upper(self, total: float, n_samples: int, log_delta: float) -> float:
        """Invert the relative entropy. See `CodeLengthBound.upper`."""
        return kl_inverse_upper(total / n_samples, -log_delta / n_samples)
