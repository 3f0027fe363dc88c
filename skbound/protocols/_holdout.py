"""Set a random part of the rows aside, train on the rest, evaluate once."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from skbound._random_state import draw_seed
from skbound.evidence import Evidence, Sample
from skbound.protocols._learner import FittedModel, Learner, require

__all__ = ["Holdout"]

_MIN_ROWS = 100
_MAX_CERTIFIED = 10_000
_SHARE, _SHARE_OF_ENSEMBLE = 0.2, 0.4


class Holdout(BaseEstimator):
    """Certify on a uniform random part of the rows that nothing else ever sees.

    Parameters
    ----------
    fraction : float or "auto", default="auto"
        Share of the rows to certify on. "auto" takes a fifth (two fifths with several members), at
        most 10,000 rows, and none below 100 rows.
    n_members : int, default=1
        Train so many predictors, which differ in their seed only, and let ``predict`` average
        their probabilities, or count their votes where they have none.
    n_jobs : int or None, default=None
        Members to train at once, by joblib. The answer does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Chooses the certified rows; None derives it from the classifier's ``random_state``.

    Notes
    -----
    An ensemble errs less often than its members. Spent on certified rows, that gain can make the
    certificate tighter at an equal true error; ``benchmarks/tightness.py`` measures by how much.

    The certified rows depend on the number of rows and the seed only. They are not stratified:
    fixing the class counts would tie their losses together, and the binomial tail would no longer
    apply.
    """

    def __init__(
        self,
        fraction: float | Literal["auto"] = "auto",
        n_members: int = 1,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.fraction = fraction
        self.n_members = n_members
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def example(self) -> Evidence:
        """Evidence of the kind that `run` returns; a bound that refuses it refuses before a fit."""
        numbers, losses = np.arange(100), np.zeros(100)
        sample = Sample(numbers, losses, losses)
        return Evidence(protocol="holdout", n_fit=400, majority_share=0.5, certified=sample)

    def n_certified(self, n_samples: int) -> int:
        """Return how many of `n_samples` rows are certified.

        Parameters
        ----------
        n_samples : int
            Rows with a positive weight.

        Returns
        -------
        int
            Zero if there are too few rows.

        Raises
        ------
        ValueError
            If `fraction` leaves no row to train on or none to certify.
        """
        if isinstance(self.fraction, str):
            if self.fraction != "auto":
                raise ValueError(f"fraction must be 'auto' or in (0, 1), got {self.fraction!r}.")
            if n_samples < _MIN_ROWS:
                return 0
            share = _SHARE if self.n_members == 1 else _SHARE_OF_ENSEMBLE
            return min(round(n_samples * share), _MAX_CERTIFIED)
        if not isinstance(self.fraction, Real) or not 0.0 < self.fraction < 1.0:
            raise ValueError(f"fraction must be 'auto' or in (0, 1), got {self.fraction!r}.")
        n_certified = round(n_samples * self.fraction)
        if not 0 < n_certified < n_samples:
            raise ValueError(
                f"fraction={self.fraction} of {n_samples} rows must leave at least one row to "
                f"train on and one to certify, got {n_certified} certified rows."
            )
        return n_certified

    def split(self, n_samples: int, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Split the rows at random.

        Parameters
        ----------
        n_samples : int
            Rows to split.
        seed : int
            Used where the protocol has no `random_state` of its own.

        Returns
        -------
        fit_rows, certified_rows : ndarray of int
            Sorted positions; together all rows.
        """
        if self.random_state is not None:
            seed = draw_seed(self.random_state)
        order = np.random.default_rng([seed, 0]).permutation(n_samples)
        n_certified = self.n_certified(n_samples)
        return np.sort(order[n_certified:]), np.sort(order[:n_certified])

    def run(self, learner: Learner, seed: int) -> tuple[FittedModel, Evidence]:
        """Split, train, then evaluate on the certified rows, once.

        Parameters
        ----------
        learner : Learner
            Data and classifier.
        seed : int
            Seed of the split.

        Returns
        -------
        fit : FittedModel
            The predictor; nothing is trained after its certified rows were read.
        evidence : Evidence
            With the losses on the certified rows.
        """
        if not isinstance(self.n_members, Integral) or self.n_members < 1:
            raise ValueError(f"n_members must be an integer of at least 1, got {self.n_members!r}.")
        fit_rows, certified_rows = self.split(learner.n_samples, seed)
        fit = self._train(learner, fit_rows, seed)
        assumptions: tuple[str, ...] = ()
        certified, reason = None, ""
        if len(certified_rows):
            certified = learner.losses(fit, certified_rows)
            together = (_TOGETHER.format(self.n_members),) if self.n_members > 1 else ()
            assumptions = (_IID, _SPLIT, *together, *learner.assumptions, _OUTSIDE)
        else:
            reason = (
                f"{learner.n_samples} rows are too few to set some aside, so all were trained on "
                f"(take at least {_MIN_ROWS}, or say set_params(protocol__fraction=0.5))."
            )
        evidence = Evidence(
            protocol="holdout",
            n_fit=fit.n_fit,
            n_validation=fit.n_validation,
            majority_share=learner.majority_share(fit_rows),
            certified=certified,
            assumptions=assumptions,
            reason=reason,
        )
        return fit, evidence

    def _train(self, learner: Any, rows: NDArray[np.intp], seed: int) -> FittedModel:
        """Train one predictor, or several that answer together."""
        if self.n_members == 1:
            only: FittedModel = learner.fit(rows)
            return only
        require(learner, ["ensemble"], "holdout with several members")
        seeds = np.random.default_rng([seed, 3]).integers(2**31 - 1, size=self.n_members)
        fits = Parallel(n_jobs=self.n_jobs)(delayed(learner.fit)(rows, seed=int(s)) for s in seeds)
        model = learner.ensemble(fits, [1.0 / len(fits)] * len(fits), learner.ensemble_rule(fits))
        last: FittedModel = fits[-1]
        return replace(last, model=model)


_IID = "The rows are an i.i.d. sample of the distribution that predict will meet."
_OUTSIDE = "Whatever was done to the rows before fit is taken as given and not certified."
_TOGETHER = (
    "What is certified is the joint answer of {} predictors, all trained before the certified rows "
    "were read."
)
_SPLIT = (
    "The certified rows are a uniform random part, chosen by seed and number of rows alone; they "
    "were not used for training, scaling, class weights or early stopping."
)
