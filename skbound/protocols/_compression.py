"""Let the classifier pick the rows that it needs, and certify on those it does not need."""

from __future__ import annotations

from itertools import islice
from numbers import Integral
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator

from skbound._random_state import draw_seed
from skbound.evidence import CompressedSample, Evidence, Sample
from skbound.protocols._all_rows import on_all_rows, too_few_rows
from skbound.protocols._assumptions import IID, OUTSIDE
from skbound.protocols._first_part import FirstPartMixin
from skbound.protocols._fractions import check_fraction, n_of_fraction
from skbound.protocols._learner import FittedModel, Learner, require_warm
from skbound.protocols._picking import PickingPath, best_step, last_step

__all__ = ["PickToLearn"]

_PRIOR = 0.5
# Smallest group, as a share of the rows that can be picked, and its growth with those picked.
_SMALLEST_GROUP = 0.01
_GROWTH = 0.5
# Rows moved first, where nothing is known yet.
_FEWEST = 20


class PickToLearn(FirstPartMixin, BaseEstimator):
    """Train on a first part; then move the rows that are explained worst to the training rows.

    The rows are put into random order. A first predictor is trained on the first part. Among the
    other rows, those that it predicts wrongly with the largest loss are moved to the training
    rows, ties broken by the random order; a new predictor is trained on the first part and the
    moved rows, and so on. The rows that are never moved certify the predictor, at a price that
    grows with the number of those that are.

    Parameters
    ----------
    prior_fraction : float, None or "auto", default="auto"
        Share of the rows in the first part. "auto" takes half of them, and certifies nothing below
        100 rows. None does without a first part: the first rows in the random order are the first
        to be moved, one of a hundred but at least 20, and count like all that are.
    group_size : int or "auto", default="auto"
        Rows moved at a time, all of which count. "auto" takes half as many as are moved already,
        at least one of a hundred of those that can be.
    max_size : int or None, default=None
        Rows moved in all, at most; None sets no limit.
    errors_left : bool, default=True
        Whether to go back, at the end, to the number of groups at which rows moved and errors left
        are fewest in sum, which may be none. The choice is paid for. False stops as soon as no
        error is left, or at `max_size`, and costs nothing.
    warm_start : bool, default=False
        Whether to train on from the first predictor for a quarter of the epochs instead of
        afresh; for Transformers only.
    random_state : int, RandomState instance or None, default=None
        Chooses the order of the rows; None derives it from the classifier's ``random_state``.

    Notes
    -----
    After Paccagnan, Campi and Garatti, "The pick-to-learn algorithm: empowering compression for
    tight generalization bounds and improved post-training performance", NeurIPS 2023. The bound
    is :class:`~skbound.bounds.PickToLearnBound`, for errors left too. It needs training to be
    deterministic: the rows in ``evidence_.certified.picked`` and the first part must lead to the
    same predictor again.

    Where labels are noisy most rows moved are noise, and no group is moved: what remains is a
    hold-out of half the rows. Rows moved pay off where one of them corrects several others.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> from skbound import BoundedClassifier
    >>> from skbound.protocols import PickToLearn
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = BoundedClassifier(SVC(), protocol=PickToLearn(errors_left=False), random_state=0)
    >>> record = clf.fit(X, y).evidence_.certified
    >>> record.n_rows, record.sample.n_errors
    (899, 0)
    >>> 0.0 < record.n_picked / record.n_rows < clf.generalization_bound_ < 0.1
    True
    """

    def __init__(
        self,
        prior_fraction: float | Literal["auto"] | None = "auto",
        group_size: int | Literal["auto"] = "auto",
        max_size: int | None = None,
        errors_left: bool = True,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.prior_fraction = prior_fraction
        self.group_size = group_size
        self.max_size = max_size
        self.errors_left = errors_left
        self.warm_start = warm_start
        self.random_state = random_state

    @property
    def example(self) -> Evidence:
        """Evidence like that of `run`, to refuse unfit bounds and parameters before a fit."""
        self._check()
        numbers, losses = np.arange(100), np.zeros(100)
        record = CompressedSample(Sample(numbers, losses, losses), numbers[:10] + 100)
        return Evidence(protocol="compression", n_fit=250, majority_share=0.5, certified=record)

    def n_first(self, n_samples: int) -> int:
        """Return how many of `n_samples` rows are in the first part.

        Parameters
        ----------
        n_samples : int
            Rows with a positive weight.

        Returns
        -------
        int
            `n_samples` if there are too few to leave any out.

        Raises
        ------
        ValueError
            If a parameter is out of range or leaves a part without rows.
        """
        self._check()
        if self.prior_fraction is None:
            return 0 if n_samples > _FEWEST else n_samples
        n_prior = n_of_fraction("prior_fraction", self.prior_fraction, n_samples, auto=_PRIOR)
        return n_prior or n_samples

    def group(self, n_picked: int, n_rows: int) -> int:
        """Return how many rows are moved next, if so many are predicted wrongly.

        Parameters
        ----------
        n_picked : int
            Rows moved so far.
        n_rows : int
            Rows that could be moved at the start.

        Returns
        -------
        int
            Zero where `max_size` is reached.
        """
        size = self.group_size
        if isinstance(size, str):
            size = max(1, round(n_rows * _SMALLEST_GROUP), round(n_picked * _GROWTH))
        limit = n_rows if self.max_size is None else min(self.max_size, n_rows)
        return min(int(size), limit - n_picked)

    def n_stops(self, n_rows: int) -> int:
        """Return among how many numbers of groups the choice is, and has to be paid for.

        Parameters
        ----------
        n_rows : int
            Rows that can be moved.

        Returns
        -------
        int
            At least 2; what it takes to reach `max_size` with full groups, and no group at all.
        """
        n_picked, n_stops = 0, 1
        while group := self.group(n_picked, n_rows):
            n_picked, n_stops = n_picked + group, n_stops + 1
        return n_stops

    def run(self, learner: Learner, seed: int) -> tuple[FittedModel, Evidence]:
        """Train, pick, train again.

        Parameters
        ----------
        learner : Learner
            Data and classifier.
        seed : int
            Seed of the order.

        Returns
        -------
        fit : FittedModel
            The predictor that was made from the first part and the picked rows.
        evidence : Evidence
            With the picked rows and the losses on those that were not picked.

        Raises
        ------
        ValueError
            If a parameter is out of range, before anything is trained.
        TypeError
            If `warm_start` is set and the classifier cannot go on from an earlier fit.
        """
        n_prior = self.n_first(learner.n_samples)
        if self.warm_start:
            require_warm(learner, "PickToLearn(warm_start=True)")
        if n_prior == learner.n_samples:
            return too_few_rows(learner, "compression", "leave some out", "prior_fraction=0.5")
        n_stops = self.n_stops(learner.n_samples - n_prior) if self.errors_left else 1
        if self.random_state is not None:
            seed = draw_seed(self.random_state)
        order = np.random.default_rng([seed, 0]).permutation(learner.n_samples)
        prior, rest = order[:n_prior], order[n_prior:]
        n_start = 0 if n_prior else max(_FEWEST, self.group(0, len(rest)))
        path = PickingPath(learner, prior, rest, warm=self.warm_start, n_start=n_start)
        steps = path.steps(self.group)
        found = best_step(islice(steps, n_stops)) if self.errors_left else last_step(steps)
        if found is None:
            reason = "every row was moved to the training rows, so none is left to certify on."
            return on_all_rows(learner, "compression", reason)
        evidence = Evidence(
            protocol="compression",
            n_fit=found.fit.n_fit,
            n_validation=found.fit.n_validation,
            majority_share=learner.majority_share(prior if n_prior else rest[:n_start]),
            certified=found.record(n_stops),
            assumptions=(
                IID,
                _PICKED if n_prior else _PICKED_ALL,
                _DETERMINISTIC,
                *learner.assumptions,
                OUTSIDE,
            ),
        )
        return found.fit, evidence

    def _check(self) -> None:
        if self.prior_fraction is not None:
            check_fraction("prior_fraction", self.prior_fraction)
        size = self.group_size
        if not (isinstance(size, str) and size == "auto") and not _is_count(size):
            raise ValueError(
                f"group_size must be 'auto' or an integer of at least 1, got {size!r}."
            )
        if self.max_size is not None and not _is_count(self.max_size):
            raise ValueError(
                f"max_size must be None or an integer of at least 1, got {self.max_size!r}."
            )
        for name in ("errors_left", "warm_start"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"{name} must be True or False, got {getattr(self, name)!r}.")


def _is_count(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1


_PICKED_ALL = (
    "The rows were put into random order by seed and number of rows alone; those that were not "
    "picked were used for nothing but to decide which rows are picked: training, scaling, class "
    "weights and early stopping saw the picked rows only."
)
_PICKED = (
    "The rows were put into random order by seed and number of rows alone; the first part is not "
    "certified on, and the certified rows were used for nothing but to decide which rows are "
    "picked: training, scaling, class weights and early stopping saw the first part and the "
    "picked rows only."
)
_DETERMINISTIC = (
    "Training is deterministic: the same rows in the same order give the same predictor, which "
    "cannot be seen from outside where callbacks or the classifier draw random numbers of their "
    "own."
)
