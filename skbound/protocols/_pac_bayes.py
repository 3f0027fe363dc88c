"""Learn a prior on a part of the rows, a posterior on all, and certify nets drawn from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Literal, get_args

import numpy as np
from sklearn.base import BaseEstimator

from skbound._random_state import draw_seed
from skbound.evidence import DrawnPredictor, DrawnSample, Evidence, Sample
from skbound.protocols._all_rows import too_few_rows
from skbound.protocols._assumptions import IID, OUTSIDE
from skbound.protocols._drawn import Parts, drawn_assumptions, n_guess
from skbound.protocols._first_part import FirstPartMixin
from skbound.protocols._fractions import check_fraction, n_of_fraction
from skbound.protocols._gaussians import Gaussian, best_posterior, draws
from skbound.protocols._learner import FittedModel, require
from skbound.protocols._mixture import HashChoice, check_distinct

__all__ = ["PACBayes"]

_PRIOR = 0.5
# What the learner must have for each predictor, besides its weights.
_NEEDS = {
    "single_draw": (),
    "gibbs": ("mixture", "inputs"),
    "vote": ("ensemble",),
    "average": ("ensemble",),
}


class PACBayes(FirstPartMixin, BaseEstimator):
    """Certify nets that are drawn around weights learnt from all rows.

    A random part of the rows trains a net: the centre of the prior. All rows go on training it,
    pulled back to that centre: the centre of the posterior. Both are Gaussians of one standard
    deviation. ``predict`` uses nets drawn once from the posterior, and the certificate bounds the
    error of these nets by their losses on the rows that the prior has not seen and by the distance
    of the two centres.

    Parameters
    ----------
    prior_fraction : float or "auto", default="auto"
        Share of the rows that train the prior. "auto" takes half of them, and certifies nothing
        below 100 rows.
    predictor : {"single_draw", "gibbs", "vote", "average"}, default="single_draw"
        What ``predict`` does: one drawn net answers; each row goes to one of `n_draws` nets by a
        hash of the row; their labels are counted; their probabilities are averaged. The bound on
        a vote is twice, that on the error of averaged probabilities four times a mean loss.
    sigmas : sequence of float, default=(0.005, 0.02)
        Standard deviations to try, fixed beforehand: trying ``J`` of them costs ``ln J`` nats.
    n_draws : int, default=10
        Nets to draw, in pairs that lie opposite each other around the posterior's centre; at
        least 2. A single draw ignores it.
    effort : float, default=0.5
        Share of the full number of epochs for each posterior.
    objective : {"weights", "bound"}, default="weights"
        What the posterior is trained for: "weights" takes the loss at its centre; "bound" the loss
        at weights drawn around the centre, one draw per batch. With the pull towards the prior
        that is a PAC-Bayes bound, linear in loss and divergence.
    random_state : int, RandomState instance or None, default=None
        Chooses the rows of the prior and draws the nets; None derives it from the classifier's
        ``random_state``.

    Notes
    -----
    Two nets and one more per standard deviation are trained. The first, on four fifths of the
    prior's rows, only guesses the error, from which the rates of
    :class:`~skbound.bounds.PACBayesFixedRatesBound` are computed before a certified row is
    evaluated.

    The posterior's centre may be any point between the prior's centre and the trained weights:
    the PAC-Bayes theorem holds for all posteriors at once. The one with the smallest estimated
    bound is taken, and the nets are drawn after that.

    The drawn weights are rounded to the precision of the net; that is a part of the predictor, and
    the densities are those of the weights before rounding. The net at the posterior's centre is
    certified by none of these bounds, so ``predict`` does not use it.
    """

    def __init__(
        self,
        prior_fraction: float | Literal["auto"] = "auto",
        predictor: DrawnPredictor = "single_draw",
        sigmas: Sequence[float] = (0.005, 0.02),
        n_draws: int = 10,
        effort: float = 0.5,
        objective: Literal["weights", "bound"] = "weights",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.prior_fraction = prior_fraction
        self.predictor = predictor
        self.sigmas = sigmas
        self.n_draws = n_draws
        self.effort = effort
        self.objective = objective
        self.random_state = random_state

    @property
    def example(self) -> Evidence:
        """Evidence like that of `run`, to refuse unfit bounds and parameters before a fit."""
        self._check()
        numbers, losses = np.arange(100), np.zeros(100)
        sample, guess = Sample(numbers, losses, losses), Sample(numbers + 100, losses, losses)
        n_draws = self._draws()
        drawn = DrawnSample(
            predictor=self.predictor,
            sample=sample,
            zero_one=np.zeros((n_draws, 100)),
            brier=np.zeros((n_draws, 100)),
            log_ratios=np.ones(n_draws),
            divergence=1.0,
            n_options=len(self.sigmas),
            guess=guess,
        )
        return Evidence(protocol="pac_bayes", n_fit=200, majority_share=0.5, certified=drawn)

    def n_first(self, n_samples: int) -> int:
        """Return how many of `n_samples` rows train the prior.

        Parameters
        ----------
        n_samples : int
            Rows with a positive weight.

        Returns
        -------
        int
            `n_samples` if there are too few rows to certify some.

        Raises
        ------
        ValueError
            If a parameter is out of range or leaves a part without a row.
        """
        self._check()
        n_prior = n_of_fraction("prior_fraction", self.prior_fraction, n_samples, auto=_PRIOR)
        if n_prior and not n_guess(n_prior):
            raise ValueError(
                f"prior_fraction={self.prior_fraction} of {n_samples} rows must leave at least one "
                f"row to train on and one to guess the error on, got {n_prior}. Take a larger one."
            )
        return n_prior or n_samples

    def run(self, learner: Any, seed: int) -> tuple[FittedModel, Evidence]:
        """Train prior and posterior, draw, evaluate.

        Parameters
        ----------
        learner : WeightLearner
            Data and classifier; with "gibbs" also a MixtureLearner, with "vote" or "average" an
            EnsembleLearner.
        seed : int
            Seed of the split and the draws.

        Returns
        -------
        fit : FittedModel
            The drawn nets; its row counts are those of the posterior.
        evidence : Evidence
            With the losses of the drawn nets on the rows that the prior has not seen.

        Raises
        ------
        TypeError
            If the classifier's weights cannot be read and replaced, before anything is trained.
        ValueError
            If a parameter is out of range, or rows repeat too often for ``predictor="gibbs"``.
        """
        n_prior = self.n_first(learner.n_samples)
        require(
            learner,
            ["parameters", "with_parameters", *_NEEDS[self.predictor]],
            "protocol='pac_bayes'",
            "whose trained weights can be read and replaced",
            "Use protocol='holdout', which takes any classifier.",
        )
        if n_prior == learner.n_samples:
            purpose = "learn a prior on a part of them"
            return too_few_rows(learner, "pac_bayes", purpose, "prior_fraction=0.5")
        if self.random_state is not None:
            seed = draw_seed(self.random_state)
        order = np.random.default_rng([seed, 0]).permutation(learner.n_samples)
        parts = Parts.of(order, n_prior)
        if self.predictor == "gibbs":
            check_distinct(learner.inputs(parts.prior), "PACBayes(predictor='gibbs')")
        guess = learner.losses(learner.fit(parts.early), parts.guess)
        posterior = self._posterior(learner, parts, seed)
        return self._drawn(learner, parts, posterior, guess, seed)

    def _posterior(self, learner: Any, parts: Parts, seed: int) -> Gaussian:
        """Choose among the standard deviations and the points between the two centres."""
        prior = learner.fit(parts.prior)
        center = learner.parameters(prior)
        found = []
        for sigma in self.sigmas:
            pull = 1.0 / (sigma**2 * learner.n_samples)
            noise = {"noise": sigma} if self.objective == "bound" else {}
            fit = learner.fit(parts.all, start=prior, effort=self.effort, pull=pull, **noise)
            found.append(Gaussian(fit, center, learner.parameters(fit), sigma))
        rng = np.random.default_rng([seed, 1])
        return best_posterior(learner, found, parts.certified, rng)

    def _drawn(
        self, learner: Any, parts: Parts, posterior: Gaussian, guess: Sample, seed: int
    ) -> tuple[FittedModel, Evidence]:
        """Draw the nets and evaluate them, once."""
        noise = draws(posterior.center.size, self._draws(), np.random.default_rng([seed, 2]))
        fits = [posterior.net(learner, e) for e in noise]
        samples = [learner.losses(fit, parts.certified) for fit in fits]
        model = self._predictor(learner, fits, seed)
        briers = [s.brier for s in samples if s.brier is not None]
        drawn = DrawnSample(
            predictor=self.predictor,
            sample=learner.losses(FittedModel(model, 0), parts.certified),
            zero_one=np.array([s.zero_one for s in samples]),
            brier=np.array(briers) if len(briers) == len(samples) else None,
            log_ratios=np.array([posterior.log_ratio(e) for e in noise]),
            divergence=posterior.divergence,
            n_options=len(self.sigmas),
            guess=guess,
        )
        evidence = Evidence(
            protocol="pac_bayes",
            n_fit=posterior.fit.n_fit,
            n_validation=posterior.fit.n_validation,
            majority_share=learner.majority_share(parts.prior),
            certified=drawn,
            assumptions=(
                IID,
                *drawn_assumptions(self.predictor, len(fits), posterior.sigma, self.sigmas),
                *learner.assumptions,
                OUTSIDE,
            ),
        )
        return FittedModel(model, posterior.fit.n_fit, posterior.fit.n_validation), evidence

    def _predictor(self, learner: Any, fits: list[FittedModel], seed: int) -> Any:
        """Return what ``predict`` uses."""
        if self.predictor == "single_draw":
            return fits[0].model
        if self.predictor == "gibbs":
            key = np.random.default_rng([seed, 3]).bytes(32)
            return learner.mixture(fits, HashChoice((1,) * len(fits), key))
        how = "average" if self.predictor == "average" else "majority"
        return learner.ensemble(fits, [1.0 / len(fits)] * len(fits), how)

    def _draws(self) -> int:
        return 1 if self.predictor == "single_draw" else int(self.n_draws)

    def _check(self) -> None:
        check_fraction("prior_fraction", self.prior_fraction)
        if self.predictor not in get_args(DrawnPredictor):
            raise ValueError(
                f"predictor must be one of {list(get_args(DrawnPredictor))}, got "
                f"{self.predictor!r}."
            )
        if not isinstance(self.n_draws, Integral) or self.n_draws < 2:
            raise ValueError(
                f"n_draws must be an integer of at least 2, got {self.n_draws!r}. For a single "
                f"net use predictor='single_draw'."
            )
        sigmas = np.asarray(self.sigmas)
        if sigmas.ndim != 1 or not sigmas.size or sigmas.dtype.kind not in "fiu":
            raise ValueError(f"sigmas must be a sequence of numbers, got {self.sigmas!r}.")
        if not ((sigmas > 0.0) & (sigmas < math.inf)).all():
            raise ValueError(f"sigmas must be positive and finite, got {self.sigmas!r}.")
        if self.objective not in ("weights", "bound"):
            raise ValueError(f"objective must be 'weights' or 'bound', got {self.objective!r}.")
        if not isinstance(self.effort, Real) or not self.effort > 0.0:
            raise ValueError(f"effort must be a positive number, got {self.effort!r}.")
