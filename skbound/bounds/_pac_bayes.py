"""What all PAC-Bayes bounds share: which losses, who pays for what, and in which order."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

import numpy as np

from skbound.bounds._bound import Bound, losses_of
from skbound.bounds._pac_bayes_forms import monte_carlo_upper
from skbound.evidence import DrawnSample, Evidence, GibbsSample, Loss
from skbound.exceptions import MissingEvidenceError

__all__ = ["PACBayesBound", "increments"]

# Which losses of the drawn nets bound a loss of ``predict``, and how many times.
# A vote that errs has at least half of the nets against it. The shares of votes are a mean of
# one-hot vectors, the averaged probabilities one of probabilities, and the Brier loss is convex.
# Where the averaged probabilities err, half their Brier score is at least 1/4.
_STANDS_FOR: dict[tuple[str, Loss], tuple[Loss, float]] = {
    ("single_draw", "zero_one"): ("zero_one", 1.0),
    ("single_draw", "brier"): ("brier", 1.0),
    ("gibbs", "zero_one"): ("zero_one", 1.0),
    ("gibbs", "brier"): ("brier", 1.0),
    ("vote", "zero_one"): ("zero_one", 2.0),
    ("vote", "brier"): ("zero_one", 1.0),
    ("average", "zero_one"): ("brier", 4.0),
    ("average", "brier"): ("brier", 1.0),
}
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
    .. [1] O. Rivasplata, I. Kuzborskij, C. Szepesvari and J. Shawe-Taylor, "PAC-Bayes analysis
       beyond the usual bounds", NeurIPS 2020.
    """

    loss: Loss = "zero_one"

    def __post_init__(self) -> None:
        if self.loss not in get_args(Loss):
            raise ValueError(f"loss must be one of {get_args(Loss)}, got {self.loss!r}.")

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
            ``"empirical_loss"``, where they apply ``"monte_carlo"``, then ``"confidence"``,
            ``"prior_choice"``, ``"divergence"`` and ``"vote"`` or ``"average"``.

        Raises
        ------
        MissingEvidenceError
            If there is no posterior, or the Brier loss is needed and there are no probabilities.
        """
        record = self._record(evidence)
        loss, factor = _STANDS_FOR[record.predictor, self.loss]
        guess = losses_of(record.guess, loss, self.method)
        curve = self.curve(record.n_samples, (math.fsum(guess) + 1.0) / (guess.size + 2.0))
        mean = self._mean(record, loss)
        steps = {"empirical_loss": mean}
        if isinstance(record, GibbsSample):
            share = -math.log(_MONTE_CARLO * delta)
            mean = monte_carlo_upper(mean, record.n_draws, share, record.inflation)
            steps["monte_carlo"] = mean
            delta *= 1.0 - _MONTE_CARLO
            divergence = record.divergence
        else:
            divergence = max(0.0, math.fsum(record.log_ratios) / record.n_draws)
        mean = min(mean, 1.0)
        nats = -math.log(delta)
        steps["confidence"] = curve(mean, nats)
        nats += math.log(record.n_options)
        steps["prior_choice"] = curve(mean, nats)
        steps["divergence"] = curve(mean, nats + divergence)
        if factor > 1.0:
            steps[record.predictor] = factor * steps["divergence"]
        return increments(steps)

    def _record(self, evidence: Evidence) -> DrawnSample | GibbsSample:
        record = evidence.certified
        if not isinstance(record, (DrawnSample, GibbsSample)):
            raise MissingEvidenceError(
                f"The {self.method} needs losses of nets that were drawn from a posterior, but "
                f"the protocol {evidence.protocol!r} has recorded none. Fit with "
                f"protocol='pac_bayes', or use bound='auto'."
            )
        return record

    def _mean(self, record: DrawnSample | GibbsSample, loss: Loss) -> float:
        losses = record.zero_one if loss == "zero_one" else record.brier
        if losses is None:
            raise MissingEvidenceError(
                f"The {self.method} for loss='brier' needs predicted probabilities on the "
                f"certified rows. Use a classifier with predict_proba, or loss='zero_one'."
            )
        return math.fsum(np.ravel(losses)) / np.size(losses)


def increments(steps: dict[str, float]) -> dict[str, float]:
    """Return what each step of a bound adds to the one before.

    Parameters
    ----------
    steps : dict of str to float
        The value of the bound after each step, non-decreasing.

    Returns
    -------
    dict of str to float
        The first value and the increments, without those after the second that are 0.
    """
    terms, before = {}, 0.0
    for name, value in steps.items():
        terms[name] = max(0.0, value - before)
        before = max(before, value)
    return {n: t for n, t in terms.items() if t > 0.0 or n in ("empirical_loss", "confidence")}
