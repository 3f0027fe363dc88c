"""Set a random part of the rows aside, train on the rest, evaluate once."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from skbound._random_state import draw_seed
from skbound.evidence import Evidence, Sample
from skbound.protocols._all_rows import too_few_rows
from skbound.protocols._assumptions import IID, OUTSIDE
from skbound.protocols._fractions import check_fraction, n_of_fraction
from skbound.protocols._learner import FittedModel, Learner, require

__all__ = ["Holdout"]

_MAX_CERTIFIED = 10_000
_SHARE, _SHARE_OF_ENSEMBLE = 0.2, 0.4
# What "auto" takes: more rows leave less to be won, and take longer.
_MEMBERS, _MANY_ROWS = 5, 10_000


class Holdout(BaseEstimator):
    """Certify on a uniform random part of the rows that nothing else ever sees.

    Parameters
    ----------
    fraction : float or "auto", default="auto"
        Share of the rows to certify on. "auto" takes a fifth (two fifths with several members), at
        most 10,000 rows, and none below 100 rows.
    n_members : int or "auto", default=1
        Train so many predictors, which differ in their seed only, and let ``predict`` average
        their probabilities, or count their votes where they have none. "auto" takes five below
        10,000 rows, and one from there on.
    n_jobs : int or None, default=None
        Members to train at once, by joblib. The answer does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Chooses the certified rows; None derives it from the classifier's ``random_state``.

    Notes
    -----
    An ensemble errs less often than its members. Spent on certified rows, that gain makes the
    certificate tighter at an equal true error: ``benchmarks/tightness.py`` measures by how much.
    ``protocol="auto"`` stands for ``Holdout(n_members="auto")``.

    The certified rows depend on the number of rows and the seed only. They are not stratified:
    fixing the class counts would tie their losses together, and the binomial tail would no longer
    apply.
    """

    def __init__(
        self,
        fraction: float | Literal["auto"] = "auto",
        n_members: int | Literal["auto"] = 1,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.fraction = fraction
        self.n_members = n_members
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def example(self) -> Evidence:
        """Evidence like that of `run`, to refuse unfit bounds and parameters before a fit."""
        self._check()
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
            If a parameter is out of range or leaves a part without a row.
        """
        auto = _SHARE if self.members(n_samples) == 1 else _SHARE_OF_ENSEMBLE
        n_certified = n_of_fraction("fraction", self.fraction, n_samples, auto=auto)
        return min(n_certified, _MAX_CERTIFIED) if self.fraction == "auto" else n_certified

    def members(self, n_samples: int) -> int:
        """Return how many predictors are trained.

        Parameters
        ----------
        n_samples : int
            Rows with a positive weight.

        Returns
        -------
        int
            `n_members`, unless that is "auto".

        Raises
        ------
        ValueError
            If a parameter is out of range.
        """
        self._check()
        if isinstance(self.n_members, str):
            return _MEMBERS if n_samples < _MANY_ROWS else 1
        return int(self.n_members)

    def _check(self) -> None:
        check_fraction("fraction", self.fraction)
        n = self.n_members
        if not (isinstance(n, str) and n == "auto") and not (isinstance(n, Integral) and n >= 1):
            raise ValueError(f"n_members must be 'auto' or an integer of at least 1, got {n!r}.")

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
            Sorted positions; together all rows. No certified rows if there are too few.
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

        Raises
        ------
        ValueError
            If a parameter is out of range, before anything is trained.
        TypeError
            If there are several members and the classifier cannot answer together with others.
        """
        fit_rows, certified_rows = self.split(learner.n_samples, seed)
        n_members = self.members(learner.n_samples)
        if n_members > 1:
            require(
                learner,
                ["ensemble", "ensemble_rule"],
                f"Holdout(n_members={self.n_members!r})",
                "that can answer together with others",
                "Use n_members=1.",
            )
        train = partial(self._train, learner, n_members, seed)
        if not len(certified_rows):
            return too_few_rows(learner, "holdout", "set some aside", "fraction=0.5", train)
        fit = train(fit_rows)
        together = (_TOGETHER.format(n_members),) if n_members > 1 else ()
        evidence = Evidence(
            protocol="holdout",
            n_fit=fit.n_fit,
            n_validation=fit.n_validation,
            majority_share=learner.majority_share(fit_rows),
            certified=learner.losses(fit, certified_rows),
            n_members=n_members,
            assumptions=(IID, _SPLIT, *together, *learner.assumptions, OUTSIDE),
        )
        return fit, evidence

    def _train(
        self, learner: Any, n_members: int, seed: int, rows: NDArray[np.intp]
    ) -> FittedModel:
        """Train one predictor, or several that answer together."""
        if n_members == 1:
            only: FittedModel = learner.fit(rows)
            return only
        seeds = np.random.default_rng([seed, 3]).integers(2**31 - 1, size=n_members)
        fits = Parallel(n_jobs=self.n_jobs)(delayed(learner.fit)(rows, seed=int(s)) for s in seeds)
        model = learner.ensemble(fits, [1.0 / len(fits)] * len(fits), learner.ensemble_rule(fits))
        last: FittedModel = fits[-1]
        return replace(last, model=model)


_TOGETHER = (
    "What is certified is the joint answer of {} predictors, all trained before the certified rows "
    "were read."
)
_SPLIT = (
    "The certified rows are a uniform random part, chosen by seed and number of rows alone; they "
    "were not used for training, scaling, class weights or early stopping."
)
