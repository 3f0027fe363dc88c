"""What all PAC-Bayes bounds share: which losses, who pays for what, and in which order."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skbound.bounds._bound import Bound
from skbound.bounds._pac_bayes_forms import monte_carlo_upper
from skbound.bounds._records import losses_of, record_of
from skbound.bounds._together import joint_terms, stands_for
from skbound.evidence import DrawnSample, Evidence, GibbsSample

__all__ = ["PACBayesBound"]

# Share of delta that pays for a Monte-Carlo mean.
_MONTE_CARLO = 0.2


@dataclass(frozen=True)
class PACBayesBound(Bound):
    r"""Base of the bounds on the mean error of predictors that were drawn from a posterior.

    A new one is a frozen dataclass with a `key`, a `method` in words and one method, `curve`.

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
    Let the prior ``P`` not depend on the `n` certified rows, and ``F(w)`` be a function of the
    rows and a net `w` with ``E exp F(w) <= 1`` for every net that was fixed beforehand, convex in
    the net's empirical loss and its true risk. Let ``w_1, ..., w_M`` each have the law ``Q``, which
    may depend on the rows; they may depend on each other. Then

    ``E (1/M) sum_i exp(F(w_i)) dP/dQ(w_i) <= E_P E exp F <= 1``,

    so by Markov's inequality the sum reaches ``1/delta`` with probability at most `delta`. Where it
    does not, Jensen's inequality, first for the exponential, then for ``F``, gives

    ``F(mean empirical loss, mean true risk) < mean_i ln dQ/dP(w_i) + ln(1/delta)``,

    a statement about the very nets that were drawn, without a Monte-Carlo error. For one net it
    is Theorem 1(i) of [1]_. In the mean over independent nets, or for pairs that lie opposite each
    other around the posterior's centre, the logarithm becomes the relative entropy of ``Q`` and
    ``P``, as in the PAC-Bayes theorem. A negative mean logarithm is taken as 0, which only
    loosens the bound.

    For a :class:`~skbound.evidence.GibbsSample` the same holds with the relative entropy and the
    posterior's exact mean losses (Donsker and Varadhan's inequality); a fifth of delta pays for
    the Monte-Carlo step that bounds the empirical one.

    A prior that was chosen among ``J`` is an equal mixture of them, whose density is at least
    ``1/J`` of that of the chosen one: the choice costs ``ln J``.

    The error of a vote is at most twice the mean error of the nets; of averaged probabilities at
    most four times the mean of half their Brier scores. Half the Brier score of averaged
    probabilities is at most the mean one of the nets, and that of shares of votes at most the mean
    error.

    References
    ----------
    .. [1] O. Rivasplata, I. Kuzborskij, C. Szepesvári and J. Shawe-Taylor, "PAC-Bayes analysis
       beyond the usual bounds", NeurIPS 2020.
    """

    @abstractmethod
    def curve(self, n_samples: int, guess: float) -> Callable[[float, float], float]:
        """Return how the bound grows with what is observed.

        Parameters
        ----------
        n_samples : int
            Number of certified rows.
        guess : float
            Mean loss on other rows, in (0, 1), known before the certified rows were read.

        Returns
        -------
        callable
            Maps the empirical loss and ``divergence + ln(J / delta)`` in nats to an upper bound
            on the true one that is non-decreasing in both.
        """

    def terms(self, evidence: Evidence, delta: float) -> dict[str, float]:
        """Split the bound into the empirical loss and what each step adds.

        Parameters
        ----------
        evidence : Evidence
            Of the protocol ``"pac_bayes"``.
        delta : float
            In (0, 1).

        Returns
        -------
        dict of str to float
            ``"empirical_loss"``; where they apply, ``"vote"`` or ``"average"`` and
            ``"monte_carlo"``; and ``"confidence"``, ``"prior_choice"`` and ``"divergence"``.

        Raises
        ------
        MissingEvidenceError
            If there is no posterior, or the Brier loss is needed and there are no probabilities.
        """
        record = evidence.certified
        if not isinstance(record, GibbsSample):
            record = record_of(evidence, self.method, DrawnSample)
        loss, factor = stands_for(record.predictor, self.loss)
        guess = losses_of(record.guess, loss, self.method)
        curve = self.curve(record.n_samples, (math.fsum(guess) + 1.0) / (guess.size + 2.0))
        values, mean = {}, _mean(losses_of(record, loss, self.method))
        seen = mean
        if isinstance(record, GibbsSample):
            nats = -math.log(_MONTE_CARLO * delta)
            mean = min(1.0, monte_carlo_upper(mean, record.n_draws, nats, record.inflation))
            values["monte_carlo"] = mean
            delta *= 1.0 - _MONTE_CARLO
            divergence = record.divergence
        else:
            divergence = max(0.0, math.fsum(record.log_ratios) / record.n_draws)
        nats = -math.log(delta)
        values["confidence"] = curve(mean, nats)
        nats += math.log(record.n_options)
        values["prior_choice"] = curve(mean, nats)
        values["divergence"] = curve(mean, nats + divergence)
        error = _mean(losses_of(record, "zero_one", self.method))
        return joint_terms(record.predictor, factor, error, seen, **values)


def _mean(losses: NDArray[np.float64]) -> float:
    return math.fsum(losses) / losses.size
