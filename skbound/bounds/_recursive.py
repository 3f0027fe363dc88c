"""The bound of a chain of predictors: a share of the bound before plus a bound on the excess."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skbound.bounds._bound import Bound, increments
from skbound.bounds._inversion import (
    binomial_tail_inverse,
    kl_inverse_upper,
    log_xi,
    rounded_up,
)
from skbound.bounds._records import record_of
from skbound.evidence import Evidence, Loss, RecursiveSample, RecursiveStep

__all__ = ["RecursiveBound"]


@dataclass(frozen=True)
class RecursiveBound(Bound):
    r"""Recursive bound on the error of the last of several predictors.

    Parameters
    ----------
    loss : "zero_one", default="zero_one"
        The only loss whose excess has four values.

    Raises
    ------
    ValueError
        For another loss.

    Notes
    -----
    Let ``h_1, ..., h_T`` be the predictors and ``g`` the share ``gamma``. The errors satisfy
    ``R(h_t) = g R(h_(t-1)) + E [loss(h_t) - g loss(h_(t-1))]``, so a bound on the first error and
    one on each excess give a bound ``B_T`` on the last: ``B_t = g B_(t-1) + E_t`` [1]_. Each of
    the `T` steps has ``delta / T``. An excess takes the values ``-g``, 0, ``1 - g`` and 1. It is
    ``-g`` plus, for each further value, the step up to it times the indicator of reaching it, and
    each indicator has an equal part of the ``delta / T``.

    Where the predictor of a step was drawn from a law ``Q`` that depends on the rows of the step,
    and ``P`` is a law that does not, the frequency ``f`` and the probability ``p`` of an event
    satisfy, with probability at least ``1 - d`` over rows and draw,
    ``n kl(f, p) <= ln(dQ/dP) + ln(xi(n) / d)`` at the predictor that was drawn [2]_: the mean over
    ``P`` of ``exp(n kl(f, p))`` has an expectation of at most ``xi(n)``; the same holds for the
    mean over ``Q`` of ``exp(n kl(f, p)) dP/dQ``; Markov's inequality does the rest. The predictor
    before is drawn already and does not depend on these rows. Nothing is averaged over draws, so
    no Monte Carlo error is to be paid for.

    Where no predictor depends on the rows of its step, frequencies are binomial and each
    probability has its exact tail.

    References
    ----------
    .. [1] Y.-S. Wu, Y. Zhang, B.-E. Chérief-Abdellatif and Y. Seldin, "Recursive PAC-Bayes: a
       frequentist approach to sequential prior updates with no information loss", NeurIPS 2024;
       there for predictors drawn anew for each row.
    .. [2] O. Rivasplata, I. Kuzborskij, C. Szepesvári and J. Shawe-Taylor, "PAC-Bayes analysis
       beyond the usual bounds", NeurIPS 2020.

    Examples
    --------
    >>> from skbound.evidence import Evidence, RecursiveSample, RecursiveStep, Sample
    >>> first = Sample(range(400), [1] * 60 + [0] * 340)
    >>> before = Sample(range(200), [1] * 30 + [0] * 170)
    >>> last = Sample(range(200), [1] * 22 + [0] * 178)
    >>> steps = RecursiveStep(first, None), RecursiveStep(last, before)
    >>> chain = RecursiveSample(steps, gamma=0.5)
    >>> evidence = Evidence(
    ...     protocol="recursive_pac_bayes", n_fit=300, majority_share=0.5, certified=chain
    ... )
    >>> round(RecursiveBound()(evidence, 0.05).value, 4)
    0.186
    """

    key: ClassVar[str] = "recursive"
    method: ClassVar[str] = "recursive PAC-Bayes bound"
    losses: ClassVar[tuple[Loss, ...]] = ("zero_one",)

    def terms(self, evidence: Evidence, delta: float) -> dict[str, float]:
        """Split the bound into the last error seen and what confidence and recursion add.

        Parameters
        ----------
        evidence : Evidence
            Of a recursive protocol.
        delta : float
            In (0, 1).

        Returns
        -------
        dict of str to float
            ``"empirical_loss"`` of the last predictor on the rows of its step, and
            ``"recursion"``.

        Raises
        ------
        MissingEvidenceError
            If the predictors were not trained and compared in turn.
        """
        chain = record_of(evidence, self.method, RecursiveSample)
        # Without a share of the errors before, only the last step counts and has all of delta.
        steps = chain.steps if chain.gamma > 0.0 else chain.steps[-1:]
        share, value = delta / len(steps), 0.0
        for step in steps:
            value = min(1.0, chain.gamma * value + _excess(step, chain.gamma, share))
        return increments(empirical_loss=chain.steps[-1].sample.error, recursion=rounded_up(value))


def _excess(step: RecursiveStep, gamma: float, delta: float) -> float:
    """Bound the mean of the loss minus `gamma` times the loss of the predictor before."""
    wrong = step.sample.zero_one == 1.0
    before = np.zeros_like(wrong) if step.previous is None else step.previous.zero_one == 1.0
    if step.previous is None:
        gamma = 0.0
    # Steps from value to value, each with the event that the excess reaches the upper one.
    steps = [
        (gamma, wrong | ~before),
        (1.0 - gamma, wrong),
        (gamma, wrong & ~before),
    ]
    steps = [(size, event) for size, event in steps if size > 0.0]
    limits = [
        size * _probability(int(event.sum()), len(wrong), step.log_ratio, delta / len(steps))
        for size, event in steps
    ]
    # Rounding of a sum of at most four numbers of size 1.
    return math.fsum([-gamma, *limits]) + 1e-15


def _probability(count: int, n_samples: int, log_ratio: float | None, delta: float) -> float:
    """Return the upper limit of the probability of an event that was seen `count` times."""
    if log_ratio is None:
        return binomial_tail_inverse(count, n_samples, log_delta=math.log(delta))
    nats = max(0.0, log_ratio) + log_xi(n_samples) - math.log(delta)
    return kl_inverse_upper(count / n_samples, nats / n_samples)
