"""The PAC-Bayes bounds: different ways to bound the distance of empirical and true loss."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from skbound.bounds._bound import increments
from skbound.bounds._inversion import kl_inverse_upper, log_xi
from skbound.bounds._pac_bayes import PACBayesBound
from skbound.bounds._pac_bayes_forms import (
    catoni_upper,
    fixed_rates_upper,
    lambda_upper,
    mcallester_upper,
    quadratic_upper,
)
from skbound.bounds._progressive import best_rate
from skbound.bounds._records import record_of, sum_of
from skbound.evidence import DrawnSample, Evidence
from skbound.exceptions import MissingEvidenceError

__all__ = [
    "PACBayesCatoniBound",
    "PACBayesFixedRatesBound",
    "PACBayesKLBound",
    "PACBayesLambdaBound",
    "PACBayesMcAllesterBound",
    "PACBayesQuadraticBound",
    "RenyiBound",
]

# Each rate is the best one if divergence and confidence cost so many nats: at delta 0.05 a
# divergence of 0, 4 or 17.
_NATS = 3.0, 7.0, 20.0
_WEIGHTS = 0.4, 0.3, 0.3
_LARGEST_RATE = 30.0
_GRID = tuple(0.125 * 2.0**k for k in range(7))


@dataclass(frozen=True)
class PACBayesFixedRatesBound(PACBayesBound):
    r"""PAC-Bayes bound with rates that are guessed beforehand, without the constant ``xi(n)``.

    Notes
    -----
    For a loss ``L`` in [0, 1] of mean ``mu`` and ``c = 1 - exp(-a)`` it holds that
    ``E exp(-a L) <= 1 - c mu``, so a net that was fixed beforehand has
    ``E exp(-a S) / (1 - c mu)^n <= 1`` with ``S`` its sum of losses on `n` rows. A mean over rates
    ``a_j`` with weights ``w_j`` does so too. The logarithm of that mean is convex in ``(S, mu)``,
    as :class:`PACBayesBound` asks. Hence the bound is the largest ``mu`` with

    ``ln sum_j w_j exp(-a_j S) / (1 - c_j mu)^n <= divergence + ln(1/delta)``.

    Where one rate is right this is :func:`~skbound.bounds.kl_inverse_upper` without the three to
    four nats of ``ln xi(n)``; the mean over three costs about one. With a single rate it is the
    bound of O. Catoni (IMS Lecture Notes 56, 2007, Theorem 1.2.1). The rates must not depend on
    the certified rows. They are those that would be best for a mean loss of
    ``(k + 1) / (m + 2)``, where ``k`` is the sum of the `m` losses in ``guess``, and
    for 3, 7 and 20 nats of divergence and confidence. A wrong guess makes the bound looser, never
    invalid.

    Examples
    --------
    >>> import numpy as np
    >>> from skbound.evidence import DrawnSample, Evidence, Sample
    >>> sample = Sample(range(500), [1] * 25 + [0] * 475)
    >>> drawn = DrawnSample(
    ...     predictor="single_draw", sample=sample, zero_one=sample.zero_one[None], brier=None,
    ...     log_ratios=[3.0], divergence=3.0, n_options=1,
    ...     guess=Sample(range(500, 600), [1] * 5 + [0] * 95),
    ... )
    >>> evidence = Evidence(
    ...     protocol="pac_bayes", n_fit=1000, majority_share=0.5, certified=drawn
    ... )
    >>> round(PACBayesFixedRatesBound()(evidence, 0.05).value, 4)
    0.0933
    >>> round(PACBayesKLBound()(evidence, 0.05).value, 4)
    0.1035
    """

    key: ClassVar[str] = "kl_fixed"
    method: ClassVar[str] = "PAC-Bayes bound with fixed rates"

    def curve(self, n_samples: int, guess: float) -> Callable[[float, float], float]:
        """See :meth:`PACBayesBound.curve`."""
        rates = [min(best_rate(guess, nats / n_samples), _LARGEST_RATE) for nats in _NATS]
        return lambda mean, nats: fixed_rates_upper(mean, n_samples, nats, rates, _WEIGHTS)


@dataclass(frozen=True)
class PACBayesKLBound(PACBayesBound):
    r"""PAC-Bayes bound by relative entropy, with Maurer's constant computed exactly.

    Notes
    -----
    ``kl(mean empirical loss, mean true risk) <= (divergence + ln(xi(n) / delta)) / n``, from
    ``E exp(n kl) <= xi(n)`` for a net that was fixed beforehand: J. Langford and M. Seeger,
    "Bounds for averaging classifiers", 2001; A. Maurer, "A note on the PAC Bayesian theorem",
    arXiv:cs/0411099, 2004, Theorem 5. No guess is needed.
    """

    key: ClassVar[str] = "kl"
    method: ClassVar[str] = "PAC-Bayes-kl bound"

    def curve(self, n_samples: int, guess: float) -> Callable[[float, float], float]:
        """See :meth:`PACBayesBound.curve`."""
        return _with_xi(n_samples, kl_inverse_upper)


@dataclass(frozen=True)
class PACBayesMcAllesterBound(PACBayesBound):
    """PAC-Bayes bound by Pinsker's inequality: looser than :class:`PACBayesKLBound`.

    See :func:`~skbound.bounds.mcallester_upper`.
    """

    key: ClassVar[str] = "mcallester"
    method: ClassVar[str] = "McAllester PAC-Bayes bound"

    def curve(self, n_samples: int, guess: float) -> Callable[[float, float], float]:
        """See :meth:`PACBayesBound.curve`."""
        return _with_xi(n_samples, mcallester_upper)


@dataclass(frozen=True)
class PACBayesQuadraticBound(PACBayesBound):
    """PAC-Bayes bound by the refined Pinsker inequality: looser than :class:`PACBayesKLBound`.

    See :func:`~skbound.bounds.quadratic_upper`.
    """

    key: ClassVar[str] = "quadratic"
    method: ClassVar[str] = "PAC-Bayes-quadratic bound"

    def curve(self, n_samples: int, guess: float) -> Callable[[float, float], float]:
        """See :meth:`PACBayesBound.curve`."""
        return _with_xi(n_samples, quadratic_upper)


@dataclass(frozen=True)
class PACBayesLambdaBound(PACBayesBound):
    """PAC-Bayes bound that is linear in the empirical loss.

    It holds for all parameters at once, so the best one is free, and then the bound equals
    :class:`PACBayesQuadraticBound`. See :func:`~skbound.bounds.lambda_upper`.

    Parameters
    ----------
    loss : {"zero_one", "brier"}, default="zero_one"
        Loss that is bounded.
    parameter : float or None, default=None
        In (0, 2); None takes the best one.
    """

    key: ClassVar[str] = "lambda"
    method: ClassVar[str] = "PAC-Bayes-lambda bound"

    parameter: float | None = None

    def curve(self, n_samples: int, guess: float) -> Callable[[float, float], float]:
        """See :meth:`PACBayesBound.curve`."""
        return _with_xi(n_samples, lambda mean, radius: lambda_upper(mean, radius, self.parameter))


@dataclass(frozen=True)
class PACBayesCatoniBound(PACBayesBound):
    """Catoni's bound, for one rate or for the best of a fixed grid.

    See :func:`~skbound.bounds.catoni_upper`.

    Parameters
    ----------
    loss : {"zero_one", "brier"}, default="zero_one"
        Loss that is bounded.
    rate : float or None, default=None
        Fixed before the certified rows were read. None takes the best of 1/8, 1/4, ..., 8, each
        at a seventh of delta.
    """

    key: ClassVar[str] = "catoni"
    method: ClassVar[str] = "Catoni PAC-Bayes bound"

    rate: float | None = None

    def curve(self, n_samples: int, guess: float) -> Callable[[float, float], float]:
        """See :meth:`PACBayesBound.curve`."""
        rates = _GRID if self.rate is None else (self.rate,)
        price = math.log(len(rates))
        return lambda mean, nats: min(
            catoni_upper(mean, (nats + price) / n_samples, rate) for rate in rates
        )


@dataclass(frozen=True)
class RenyiBound(PACBayesBound):
    r"""Bound on the error of a single draw by the Rényi divergence of order 2.

    It does not depend on the luck of the draw, but pays three times for confidence: usually looser
    than :class:`PACBayesKLBound`. For comparison.

    Notes
    -----
    With probability at least ``1 - delta`` over rows and draw,
    ``kl(empirical loss, true risk) <= (D + ln xi(n) + 3 ln(2/delta)) / n`` where ``D`` is the Rényi
    divergence of order 2: for Gaussians that differ in their centres only, twice the relative
    entropy. P. Viallard, P. Germain, A. Habrard and E. Morvant, "A general framework for the
    practical disintegration of PAC-Bayesian bounds", Machine Learning 113, 2024, Theorem 2 with
    alpha = 2.
    """

    key: ClassVar[str] = "renyi"
    method: ClassVar[str] = "disintegrated Rényi bound"

    def curve(self, n_samples: int, guess: float) -> Callable[[float, float], float]:
        """See :meth:`PACBayesBound.curve`; the nats already hold what is paid three times."""
        return _with_xi(n_samples, kl_inverse_upper)

    def terms(self, evidence: Evidence, delta: float) -> dict[str, float]:
        """Split the bound into the empirical loss and what each step adds.

        Parameters
        ----------
        evidence : Evidence
            Of the protocol ``"pac_bayes"`` with ``predictor="single_draw"``.
        delta : float
            In (0, 1).

        Returns
        -------
        dict of str to float
            ``"empirical_loss"``, ``"confidence"``, ``"prior_choice"`` and ``"divergence"``.

        Raises
        ------
        MissingEvidenceError
            If the predictor is not a single draw.
        """
        record = record_of(evidence, self.method, DrawnSample)
        if record.n_draws > 1:
            raise MissingEvidenceError(
                f"The {self.method} is about one net, but {record.n_draws} were drawn. Use "
                f"PACBayes(predictor='single_draw'), or bound='auto'."
            )
        mean = sum_of(record, self.loss, self.method) / record.n_samples
        curve = self.curve(record.n_samples, 0.5)
        nats = 3.0 * math.log(2.0 / delta)
        chosen = nats + 3.0 * math.log(record.n_options)
        return increments(
            empirical_loss=mean,
            confidence=curve(mean, nats),
            prior_choice=curve(mean, chosen),
            divergence=curve(mean, chosen + 2.0 * record.divergence),
        )


def _with_xi(
    n_samples: int, upper: Callable[[float, float], float]
) -> Callable[[float, float], float]:
    log_constant = log_xi(n_samples)
    return lambda mean, nats: upper(mean, (nats + log_constant) / n_samples)
