"""Train several predictors, each without some rows, and evaluate each on the rows it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from skbound._random_state import draw_seed
from skbound.evidence import Evidence, FoldPredictor, FoldSample, Sample
from skbound.protocols._all_rows import too_few_rows
from skbound.protocols._assumptions import DISTINCT, GIBBS, IID, OUTSIDE
from skbound.protocols._fractions import MIN_ROWS
from skbound.protocols._in_turn import joined
from skbound.protocols._learner import FittedModel, Learner, require, require_probabilities
from skbound.protocols._mixture import HashChoice, check_distinct

__all__ = ["CrossFit"]

_N_FOLDS = 5
# The share of different rows in a bootstrap sample, 1 - 1/e.
_BAG = 0.632
_SCHEMES = "folds", "bags"
_NEEDS = {"vote": ["ensemble"], "average": ["ensemble"], "gibbs": ["mixture", "inputs"]}


class CrossFit(BaseEstimator):
    """Train on all rows but one fold, for each fold, and let all predictors answer together.

    Every row is evaluated by a predictor that has not seen it, and trains the others. What is
    certified is what ``predict`` does with these predictors; nothing is trained on all rows.

    Parameters
    ----------
    n_folds : int or "auto", default="auto"
        Folds, and predictors. "auto" takes five, and certifies nothing below 100 rows.
    predictor : {"vote", "gibbs", "average"}, default="vote"
        "vote" counts the labels that the predictors give; its error is at most 3/2 times their
        mean error for three of them, 5/3 for five, and twice for an even number. "gibbs" lets a
        keyed hash of the row choose one predictor: nothing is lost in the bound, nothing won by
        the ensemble. "average" averages probabilities; its Brier score is at most the mean of
        theirs, its error four times half of that.
    scheme : {"folds", "bags"}, default="folds"
        "bags" trains each predictor on a bag of its own, 63.2 % of the rows, as many different ones
        as a bootstrap sample holds, and evaluates it on the others. Then two predictors have unseen
        rows in common, as :class:`~skbound.bounds.TandemBound` needs.
    random_state : int, RandomState instance or None, default=None
        Chooses the folds, the seeds of the predictors and the key; None derives them from the
        classifier's ``random_state``.

    Notes
    -----
    The predictors share training rows, and no bound knows how the losses in one fold depend on
    those in another. So the width of :class:`~skbound.bounds.CrossFitBound` is that of one fold,
    ``n / K`` rows, at a level between ``delta / 2`` and ``delta / e``. A hold-out of the same
    ``n / K`` rows has the full `delta`, for a predictor trained on as many rows. So the certificate
    is larger than that of a hold-out: on tables of 200 to 1,000 rows 1.0 to 1.5 times with "gibbs",
    and 1.5 to 2.5 times with "vote". What cross-fitting adds is an ensemble that errs less than one
    predictor, in which every row was trained on, and a certificate that depends less on the luck of
    the split.

    "gibbs" needs rows of numbers that hardly repeat: more than 3 pairs of equal rows, and more than
    3 such pairs per 100 rows, are refused.
    """

    def __init__(
        self,
        n_folds: int | Literal["auto"] = "auto",
        predictor: FoldPredictor = "vote",
        scheme: Literal["folds", "bags"] = "folds",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_folds = n_folds
        self.predictor = predictor
        self.scheme = scheme
        self.random_state = random_state

    @property
    def example(self) -> Evidence:
        """Evidence like that of `run`, to refuse unfit bounds and parameters before a fit."""
        self._check()
        n_folds = _N_FOLDS if isinstance(self.n_folds, str) else min(int(self.n_folds), _N_FOLDS)
        members = np.repeat(np.arange(n_folds), 40)
        rows = np.arange(members.size) % (40 if self.scheme == "bags" else members.size)
        losses = np.zeros(members.size)
        folds = FoldSample(Sample(rows, losses, losses), members, self.predictor)
        return Evidence(protocol="cross_fit", n_fit=200, majority_share=0.5, certified=folds)

    def parts(self, n_samples: int, seed: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Return which rows each predictor is trained and evaluated on.

        Parameters
        ----------
        n_samples : int
            Rows with a positive weight.
        seed : int
            Of the folds; `run` takes it from `random_state` where the protocol has one.

        Returns
        -------
        list of (fit_rows, evaluated_rows)
            Sorted positions, disjoint. Empty if there are too few rows.

        Raises
        ------
        ValueError
            If a parameter is out of range or there are too few rows for it.
        """
        self._check()
        n_folds = self.n_folds
        if isinstance(n_folds, str):
            if n_samples < MIN_ROWS:
                return []
            n_folds = _N_FOLDS
        if n_folds > n_samples:
            raise ValueError(
                f"n_folds={n_folds} must not exceed the number of rows, got {n_samples} rows. "
                f"Take fewer folds."
            )
        rng = np.random.default_rng([seed, 0])
        rows = np.arange(n_samples)
        if self.scheme == "folds":
            folds = np.array_split(rng.permutation(n_samples), n_folds)
            return [(np.setdiff1d(rows, fold), np.sort(fold)) for fold in folds]
        n_trained = round(_BAG * n_samples)
        orders = [rng.permutation(n_samples) for _ in range(n_folds)]
        return [(np.sort(order[:n_trained]), np.sort(order[n_trained:])) for order in orders]

    def run(self, learner: Any, seed: int) -> tuple[FittedModel, Evidence]:
        """Split, train each predictor and evaluate it on the rows that it lacks.

        Parameters
        ----------
        learner : EnsembleLearner or MixtureLearner
            Data and classifier.
        seed : int
            Seed of the folds, the predictors and the key.

        Returns
        -------
        fit : FittedModel
            The ensemble; its row counts are those of the last predictor.
        evidence : Evidence
            With the losses of each predictor on its own rows.

        Raises
        ------
        ValueError
            If a parameter is out of range; with "gibbs", if rows repeat too often or are not
            numbers, before anything is trained; with "average", if there are no probabilities.
        TypeError
            If the classifier cannot answer together with others.
        """
        if self.random_state is not None:
            seed = draw_seed(self.random_state)
        parts = self.parts(learner.n_samples, seed)
        require(
            learner,
            _NEEDS[self.predictor],
            f"CrossFit(predictor={self.predictor!r})",
            "that can answer together with others",
            "Use protocol='holdout', which asks for a single predictor.",
        )
        if not parts:
            return too_few_rows(learner, "cross_fit", "divide into folds", "n_folds=5")
        if self.predictor == "gibbs":
            rows = learner.inputs(np.arange(learner.n_samples))
            check_distinct(rows, "CrossFit(predictor='gibbs')")
        seeds = np.random.default_rng([seed, 1]).integers(2**31, size=len(parts))
        fits, samples = [], []
        for (fit_rows, unseen), own_seed in zip(parts, seeds.tolist(), strict=True):
            fits.append(learner.fit(fit_rows, seed=own_seed))
            samples.append(self._losses(learner, fits[-1], unseen))
        last = fits[-1]
        evidence = Evidence(
            protocol="cross_fit",
            n_fit=last.n_fit,
            n_validation=last.n_validation,
            majority_share=learner.majority_share(np.arange(learner.n_samples)),
            certified=self._record(samples),
            assumptions=(
                IID,
                _ASSUMED[self.scheme],
                *_PREDICTS[self.predictor],
                *learner.assumptions,
                OUTSIDE,
            ),
        )
        key = np.random.default_rng([seed, 2]).bytes(32)
        together = self._together(learner, fits, key)
        return FittedModel(together, last.n_fit, last.n_validation), evidence

    def _losses(self, learner: Learner, fit: FittedModel, rows: NDArray[np.intp]) -> Sample:
        sample = learner.losses(fit, rows)
        if self.predictor == "vote":
            # Half the Brier score of a vote that gives one label all probability.
            return Sample(sample.rows, sample.zero_one, sample.zero_one)
        if self.predictor == "average":
            require_probabilities(sample, "CrossFit(predictor='average')")
        return sample

    def _record(self, samples: list[Sample]) -> FoldSample:
        """Put the losses of all predictors into one record."""
        members = np.repeat(np.arange(len(samples)), [sample.n_samples for sample in samples])
        return FoldSample(joined(samples), members, self.predictor)

    def _together(self, learner: Any, fits: Sequence[FittedModel], key: bytes) -> Any:
        """Return the predictor that the certificate is about."""
        if self.predictor == "gibbs":
            return learner.mixture(fits, HashChoice((1,) * len(fits), key))
        how = "majority" if self.predictor == "vote" else "average"
        return learner.ensemble(fits, [1.0 / len(fits)] * len(fits), how)

    def _check(self) -> None:
        if self.predictor not in get_args(FoldPredictor):
            raise ValueError(
                f"predictor must be one of {get_args(FoldPredictor)}, got {self.predictor!r}."
            )
        if self.scheme not in _SCHEMES:
            raise ValueError(f"scheme must be one of {_SCHEMES}, got {self.scheme!r}.")
        auto = isinstance(self.n_folds, str) and self.n_folds == "auto"
        if not auto and not (isinstance(self.n_folds, Integral) and self.n_folds >= 2):
            raise ValueError(
                f"n_folds must be 'auto' or an integer of at least 2, got {self.n_folds!r}. For a "
                f"single predictor use protocol='holdout', whose bound is exact."
            )


_ASSUMED = {
    "folds": (
        "The rows were divided into folds by seed and number of rows alone; each predictor was "
        "evaluated on the fold that it had not seen in training, scaling, class weights and early "
        "stopping. How folds depend on each other is left open."
    ),
    "bags": (
        "The rows of each predictor were drawn by seed and number of rows alone; it was evaluated "
        "on the rows that it had not seen in training, scaling, class weights and early stopping. "
        "How predictors depend on each other is left open."
    ),
}
_PREDICTS = {
    "vote": ("predict counts the votes of all predictors, each of the same weight.",),
    "average": ("predict averages the probabilities of all predictors, each of the same weight.",),
    "gibbs": (GIBBS, DISTINCT),
}
