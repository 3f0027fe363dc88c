"""Evaluate each block of rows, then train on it too: one row serves twice."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Literal, get_args

import numpy as np
from sklearn.base import BaseEstimator

from skbound._random_state import draw_seed
from skbound.evidence import CertifiedRecord, Evidence, ProgressiveSample, Sample, Together
from skbound.protocols._all_rows import too_few_rows
from skbound.protocols._assumptions import DISTINCT, GIBBS, IID, OUTSIDE, WARM
from skbound.protocols._first_part import FirstPartMixin
from skbound.protocols._fractions import check_fraction, n_of_fraction
from skbound.protocols._in_turn import Step, curve_of, joined, trained_in_turn
from skbound.protocols._learner import (
    FittedModel,
    require,
    require_probabilities,
    require_warm,
)
from skbound.protocols._mixture import HashChoice, check_distinct

__all__ = ["Progressive"]

_FIRST = 0.6
# Share of the first part on which the error is guessed.
_GUESS = 0.2
_PREDICTORS = (*get_args(Together), "last")
# What the learner must have for each predictor, besides what the learning curve takes.
_NEEDS = {
    "gibbs": ("mixture", "inputs"),
    "vote": ("ensemble",),
    "average": ("ensemble",),
    "last": (),
}


class Progressive(FirstPartMixin, BaseEstimator):
    """Train on a first part; then, block by block, evaluate the rows and train on them too.

    The rows are put into random order. Each block is evaluated by a predictor that was trained on
    all rows before it; the last block is evaluated only. ``predict`` gives each row to one of
    these predictors, chosen by a keyed hash of the row, in proportion to the sizes of their
    blocks, and the certificate bounds the mean error of that choice. The key is drawn once, from
    the seed.

    Parameters
    ----------
    n_blocks : int, default=2
        Blocks after the first part, of equal size to within one row; at least 2.
    first_fraction : float or "auto", default="auto"
        Share of the rows in the first part. "auto" takes six tenths, and certifies nothing below
        100 rows.
    predictor : {"gibbs", "last", "vote", "average"}, default="gibbs"
        What ``predict`` does. "gibbs" is the choice by hash. "last" uses the last predictor alone,
        certified by the last block alone, as a hold-out. "vote" lets all of them vote, with the
        sizes of their blocks as weights: its error is at most twice their mean error. "average"
        averages their probabilities: half its Brier score is at most their mean, its error at most
        four times that.
    warm_start : bool, default=False
        Whether each net goes on from the one before, with its scaling of the features and half of
        the epochs. For Transformers.
    guess : bool, default=False
        Whether one more predictor, trained on four fifths of the first part, guesses the error on
        its last fifth, as :class:`~skbound.bounds.ProgressiveBound` needs.
    random_state : int, RandomState instance or None, default=None
        Chooses the order of the rows and the key; None derives them from the classifier's
        ``random_state``.

    Notes
    -----
    Where single rows have a large probability the error of the mixture would depend on the key.
    So with "gibbs" the rows must be numbers, and fit refuses a first part of fewer than 30 rows,
    or with more than 3 pairs of equal rows and more than 3 such pairs per 100 rows.

    The last predictor alone, trained on most rows, is not what the mixture uses: its own error is
    known from the last block only.
    """

    def __init__(
        self,
        n_blocks: int = 2,
        first_fraction: float | Literal["auto"] = "auto",
        predictor: Literal["gibbs", "last", "vote", "average"] = "gibbs",
        warm_start: bool = False,
        guess: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_blocks = n_blocks
        self.first_fraction = first_fraction
        self.predictor = predictor
        self.warm_start = warm_start
        self.guess = guess
        self.random_state = random_state

    @property
    def example(self) -> Evidence:
        """Evidence like that of `run`, to refuse unfit bounds and parameters before a fit."""
        self._check()
        numbers, losses = np.arange(100), np.zeros(100)
        samples = [Sample(numbers[part], losses[part], losses[part]) for part in _HALVES]
        record = self._record(samples, samples[0] if self.guess else None)
        return Evidence(protocol="progressive", n_fit=250, majority_share=0.5, certified=record)

    def cuts(self, n_samples: int) -> list[int]:
        """Return where the parts end.

        Parameters
        ----------
        n_samples : int
            Rows with a positive weight.

        Returns
        -------
        list of int
            How many rows, in their random order, are trained on before the guess, if one is made,
            before the first block, and so on; the last entry is `n_samples`. Empty if there are
            too few rows.

        Raises
        ------
        ValueError
            If a parameter is out of range or leaves a part without a row.
        """
        self._check()
        start = n_of_fraction("first_fraction", self.first_fraction, n_samples, auto=_FIRST)
        if not start:
            return []
        cuts = [start + (n_samples - start) * b // self.n_blocks for b in range(self.n_blocks + 1)]
        if self.guess:
            cuts.insert(0, start - round(start * _GUESS))
        if cuts[0] < 1 or min(np.diff(cuts)) < 1:
            raise ValueError(
                f"first_fraction={self.first_fraction!r} and n_blocks={self.n_blocks} must leave a "
                f"row for each part, got {n_samples} rows and a part without one. Take fewer "
                f"blocks or more rows."
            )
        return cuts

    def n_first(self, n_samples: int) -> int:
        """Return how many of `n_samples` rows come before the first certified one.

        Parameters
        ----------
        n_samples : int
            Rows with a positive weight.

        Returns
        -------
        int
            `n_samples` if there are too few rows to certify some.
        """
        cuts = self.cuts(n_samples)
        return cuts[1 if self.guess else 0] if cuts else n_samples

    def _check(self) -> None:
        check_fraction("first_fraction", self.first_fraction)
        if not isinstance(self.n_blocks, Integral) or self.n_blocks < 2:
            raise ValueError(
                f"n_blocks must be an integer of at least 2, got {self.n_blocks!r}. For a single "
                f"block use protocol='holdout', whose bound is exact."
            )
        if self.predictor not in _PREDICTORS:
            raise ValueError(f"predictor must be one of {_PREDICTORS}, got {self.predictor!r}.")
        for name in ("warm_start", "guess"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"{name} must be True or False, got {getattr(self, name)!r}.")

    def run(self, learner: Any, seed: int) -> tuple[FittedModel, Evidence]:
        """Train, evaluate, train on.

        Parameters
        ----------
        learner : CurveLearner
            Data and classifier; with "gibbs" also a MixtureLearner, with "vote" or "average" an
            EnsembleLearner, with `warm_start` a WarmLearner.
        seed : int
            Seed of the order and the key.

        Returns
        -------
        fit : FittedModel
            What ``predict`` uses; its row counts are those of the last predictor.
        evidence : Evidence
            With the losses of each block under its own predictor, or of the last block only.

        Raises
        ------
        ValueError
            If a parameter is out of range, or with "gibbs" rows repeat too often or are not
            numbers, before anything is trained. With "average", if there are no probabilities.
        TypeError
            If the classifier cannot do what is asked of it, before anything is trained.
        """
        cuts = self.cuts(learner.n_samples)
        require(
            learner,
            ["log_losses", "n_classes", *_NEEDS[self.predictor]],
            f"Progressive(predictor={self.predictor!r})",
            "whose predictors can be scored and answer together",
            "Use protocol='holdout', which asks for a single predictor.",
        )
        if self.warm_start:
            require_warm(learner, "Progressive(warm_start=True)")
        if not cuts:
            purpose = "evaluate some in blocks"
            return too_few_rows(learner, "progressive", purpose, "first_fraction=0.5")
        if self.random_state is not None:
            seed = draw_seed(self.random_state)
        order = np.random.default_rng([seed, 0]).permutation(learner.n_samples)
        first_part = np.sort(order[: cuts[1 if self.guess else 0]])
        if self.predictor == "gibbs":
            check_distinct(learner.inputs(first_part), "Progressive(predictor='gibbs')")
        steps = trained_in_turn(learner, order, cuts, warm_start=self.warm_start)
        if self.predictor == "average":
            require_probabilities(steps[-1].sample, "Progressive(predictor='average')")
        guess = steps.pop(0).sample if self.guess else None
        last = steps[-1].fit
        seen = first_part if self.predictor != "last" else np.sort(order[: cuts[-2]])
        evidence = Evidence(
            protocol="progressive",
            n_fit=last.n_fit,
            n_validation=last.n_validation,
            majority_share=learner.majority_share(seen),
            certified=self._record([step.sample for step in steps], guess),
            assumptions=(*self._assumptions(), *learner.assumptions, OUTSIDE),
            learning_curve=curve_of(steps, learner.n_classes),
        )
        key = np.random.default_rng([seed, 2]).bytes(32)
        model = self._model(learner, steps, key)
        return FittedModel(model, last.n_fit, last.n_validation), evidence

    def _model(self, learner: Any, steps: Sequence[Step], key: bytes) -> Any:
        """Return what predict uses."""
        fits, sizes = [step.fit for step in steps], [step.sample.n_samples for step in steps]
        if self.predictor == "last":
            return fits[-1].model
        if self.predictor == "gibbs":
            return learner.mixture(fits, HashChoice(tuple(sizes), key))
        how = "majority" if self.predictor == "vote" else "average"
        return learner.ensemble(fits, [size / sum(sizes) for size in sizes], how)

    def _record(self, samples: Sequence[Sample], guess: Sample | None) -> CertifiedRecord:
        """Return what is certified."""
        if self.predictor == "last":
            return samples[-1]
        blocks = np.repeat(np.arange(len(samples)), [sample.n_samples for sample in samples])
        return ProgressiveSample(joined(samples), blocks, guess, together=self.predictor)

    def _assumptions(self) -> tuple[str, ...]:
        """Say what the certificate rests on."""
        warm = (WARM,) if self.warm_start else ()
        return IID, _ORDER, *warm, *_PREDICTS[self.predictor]


_HALVES = slice(0, 50), slice(50, 100)
_ORDER = (
    "The rows were put into random order by seed and number of rows alone; each certified row was "
    "evaluated by a predictor that had seen earlier rows only, in training, scaling, class "
    "weights and early stopping."
)
_PREDICTS = {
    "gibbs": (GIBBS, DISTINCT),
    "last": (
        "predict uses the last predictor alone; the certificate is about that one, from the last "
        "block alone, which nothing was trained on. Earlier blocks are not certified.",
    ),
    "vote": (
        "predict lets the predictors vote; where the vote is wrong, at least half of the weight is "
        "wrong, so its error is at most twice the mean error that is bounded.",
    ),
    "average": (
        "predict averages the probabilities; half the squared distance to the label is convex, so "
        "that of the average is at most the mean that is bounded, and where the average errs it is "
        "at least a quarter.",
    ),
}
