"""The bound for losses of predictors that depend on the rows before."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from skbound.bounds._bound import Bound, increments
from skbound.bounds._inversion import kl_inverse_upper, rounded_up
from skbound.bounds._records import record_of, sum_of
from skbound.evidence import Evidence, ProgressiveSample, Together
from skbound.exceptions import MissingEvidenceError

__all__ = ["ProgressiveBound", "best_rate", "progressive_record"]

# Any constant is valid. These limits only keep the arithmetic away from 0 and infinity.
_RATES = 1e-6, 50.0


@dataclass(frozen=True)
class ProgressiveBound(Bound):
    r"""Bound on the mean true error of predictors that were trained on earlier rows only.

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
    Let ``L_t`` in [0, 1] be the loss on row ``t`` of a predictor that is a function of earlier
    rows, ``mu_t`` its true risk, ``mu`` the mean of ``mu_t`` and ``S`` the sum of ``L_t`` over
    the `n` evaluated rows. For a constant ``a > 0`` let ``c = 1 - exp(-a)``. By convexity
    ``exp(-a x) <= 1 - c x`` on [0, 1], so each factor ``exp(-a L_t) / (1 - c mu_t)`` has a
    conditional mean of at most 1 given the rows before, and their product is a non-negative
    supermartingale that starts at 1: it reaches ``1/delta`` with probability at most `delta`.
    Where it does not, ``-a S - sum_t ln(1 - c mu_t) < ln(1/delta)``. The logarithm is concave, so
    ``sum_t ln(1 - c mu_t) <= n ln(1 - c mu)``, and

    ``mu <= (1 - exp(-(a S + ln(1/delta)) / n)) / (1 - exp(-a))``.

    The constant must not depend on the evaluated rows. It is the best one for a mean of
    ``q = (k + 1) / (m + 2)``, where ``k`` is the sum of the `m` losses in ``guess``, recorded on
    the training side beforehand: ``a = ln(u (1 - q) / (q (1 - u)))`` with ``u`` the largest mean
    for which ``kl(q, u) <= ln(1/delta) / n``. A wrong guess makes the bound looser, never invalid.

    The mean error of predictors trained in turn was bounded from their errors by A. Blum, A. Kalai
    and J. Langford, "Beating the hold-out: bounds for k-fold and progressive cross-validation",
    COLT 1999; the supermartingale inequality is J. Ville's, "Étude critique de la notion de
    collectif", 1939. This combination is derived here.

    Examples
    --------
    >>> from skbound.evidence import Evidence, ProgressiveSample, Sample
    >>> sample = Sample(range(500), [1] * 50 + [0] * 450)
    >>> guess = Sample(range(500, 600), [1] * 10 + [0] * 90)
    >>> blocks = ProgressiveSample(sample, [0] * 250 + [1] * 250, guess)
    >>> evidence = Evidence(
    ...     protocol="progressive", n_fit=750, majority_share=0.5, certified=blocks
    ... )
    >>> round(ProgressiveBound()(evidence, 0.05).value, 4)
    0.136
    """

    key: ClassVar[str] = "progressive"
    method: ClassVar[str] = "fixed-rate supermartingale bound"

    def terms(self, evidence: Evidence, delta: float) -> dict[str, float]:
        """Split the bound into the mean loss and what is added for confidence.

        Parameters
        ----------
        evidence : Evidence
            Of a progressive protocol.
        delta : float
            In (0, 1).

        Returns
        -------
        dict of str to float
            ``"empirical_loss"`` and ``"confidence"``.

        Raises
        ------
        MissingEvidenceError
            If the rows were not evaluated progressively, no guess was made, or the Brier loss is
            asked for and there are no probabilities.
        """
        blocks = progressive_record(evidence, self.method)
        if blocks.guess is None:
            raise MissingEvidenceError(
                f"The {self.method} needs a guess of the error from before the rows were "
                f"evaluated. Fit with protocol=Progressive(guess=True), or use "
                f"bound='progressive_mixture', which needs none."
            )
        n, total = blocks.sample.n_samples, sum_of(blocks.sample, self.loss, self.method)
        nats = -math.log(delta)
        guessed = sum_of(blocks.guess, self.loss, self.method)
        rate = best_rate((guessed + 1.0) / (blocks.guess.n_samples + 2.0), nats / n)
        value = rounded_up(math.expm1(-(rate * total + nats) / n) / math.expm1(-rate))
        # With a large constant it can exceed 1 by a little; a mean loss never does.
        return increments(empirical_loss=total / n, confidence=min(1.0, value))


def progressive_record(
    evidence: Evidence, method: str, *, planned: bool = False, together: Together = "gibbs"
) -> ProgressiveSample:
    """Return the record of rows that were evaluated before they were trained on.

    Parameters
    ----------
    evidence : Evidence
        Of a fit.
    method : str
        The bound in words, for the message.
    planned : bool, default=False
        Whether number and sizes of the blocks must have been fixed beforehand.
    together : {"gibbs", "vote", "average"}, default="gibbs"
        What ``predict`` must do with the predictors.

    Returns
    -------
    ProgressiveSample
        What was certified.

    Raises
    ------
    MissingEvidenceError
        If there is no such record.
    """
    record = record_of(evidence, method, ProgressiveSample)
    if record.together != together:
        raise MissingEvidenceError(
            f"The {method} is about Progressive(predictor={together!r}), but predict uses "
            f"predictor={record.together!r}, which has another error. Use bound='auto'."
        )
    if planned and not record.planned:
        raise MissingEvidenceError(
            f"The {method} needs blocks whose number and sizes were fixed beforehand, but "
            f"partial_fit takes as many rows as come. Use bound='auto' or 'progressive_mixture', "
            f"whose certificates hold after all calls at once, or call fit with all rows."
        )
    return record


def best_rate(q: float, nats_per_row: float) -> float:
    """Return the constant that would be best if the mean loss were `q`.

    Parameters
    ----------
    q : float
        In (0, 1).
    nats_per_row : float
        What confidence and all else that is paid in nats cost, over the number of rows.

    Returns
    -------
    float
        Positive.
    """
    smallest, largest = _RATES
    u = kl_inverse_upper(q, nats_per_row)
    if u >= 1.0:
        return largest
    return min(max(math.log(u * (1.0 - q) / (q * (1.0 - u))), smallest), largest)
