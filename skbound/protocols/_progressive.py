"""Evaluate each block of rows, then train on it too: one row serves twice."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from skbound._random_state import draw_seed
from skbound.evidence import Evidence, ProgressiveSample, Sample
from skbound.protocols._learner import FittedModel, MixtureLearner
from skbound.protocols._mixture import HashChoice, check_distinct

__all__ = ["Progressive"]

_MIN_ROWS = 100
_FIRST = 0.5
# Share of the first part on which the bound's constant is guessed.
_GUESS = 0.2


class Progressive(BaseEstimator):
    """Train on a first part; then, block by block, evaluate the rows and train on them too.

    The rows are put into random order. Each block is evaluated by a predictor that was trained,
    from scratch, on all rows before it; the last block is evaluated only. ``predict`` gives each
    row to one of these predictors, chosen by a keyed hash of the row, in proportion to the sizes
    of their blocks, and the certificate bounds the mean error of that choice. The key is drawn
    once, from the seed.

    Parameters
    ----------
    n_blocks : int, default=3
        Blocks after the first part, of equal size to within one row; at least 2.
    first : float or "auto", default="auto"
        Share of the rows in the first part. "auto" takes half of them, and certifies nothing
        below 100 rows.
    random_state : int, RandomState instance or None, default=None
        Chooses the order of the rows and the key; None derives them from the classifier's
        ``random_state``.

    Notes
    -----
    ``n_blocks + 1`` predictors are trained: the first, on four fifths of the first part, only
    guesses the error, from which the constant of
    :class:`~skbound.bounds.ProgressiveBound` is computed before any block is evaluated.

    Where single rows have a large probability the error would depend on the key. So the rows must
    be numbers, and fit refuses a first part with fewer than 95 % distinct rows, or with a row that
    occurs more than twice and in more than 1 % of it.

    The last predictor alone, trained on most rows, is not what ``predict`` uses: its own error is
    known from the last block only.
    """

    def __init__(
        self,
        n_blocks: int = 3,
        first: float | Literal["auto"] = "auto",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_blocks = n_blocks
        self.first = first
        self.random_state = random_state

    @property
    def example(self) -> Evidence:
        """Evidence of the kind that `run` returns; a bound that refuses it refuses before a fit."""
        numbers, losses = np.arange(100), np.zeros(100)
        sample, guess = Sample(numbers, losses, losses), Sample(numbers + 100, losses, losses)
        blocks = ProgressiveSample(sample, numbers // 50, guess)
        return Evidence(protocol="progressive", n_fit=250, majority_share=0.5, certified=blocks)

    def cuts(self, n_samples: int) -> list[int]:
        """Return where the parts end.

        Parameters
        ----------
        n_samples : int
            Rows with a positive weight.

        Returns
        -------
        list of int
            How many rows, in their random order, are trained on before the guess, before the
            first block, and so on; the last entry is `n_samples`. Empty if there are too few rows.

        Raises
        ------
        ValueError
            If a parameter is out of range or leaves a part without a row.
        """
        if not isinstance(self.n_blocks, Integral) or self.n_blocks < 2:
            raise ValueError(
                f"n_blocks must be an integer of at least 2, got {self.n_blocks!r}. For a single "
                f"block use protocol='holdout', whose bound is exact."
            )
        first = self.first
        if isinstance(first, str) and first == "auto":
            if n_samples < _MIN_ROWS:
                return []
            first = _FIRST
        if not isinstance(first, Real) or not 0.0 < first < 1.0:
            raise ValueError(f"first must be 'auto' or in (0, 1), got {self.first!r}.")
        start = round(n_samples * first)
        ends = [start + (n_samples - start) * b // self.n_blocks for b in range(self.n_blocks + 1)]
        cuts = [start - round(start * _GUESS), *ends]
        if cuts[0] < 1 or min(np.diff(cuts)) < 1:
            raise ValueError(
                f"first={self.first} and n_blocks={self.n_blocks} must leave a row for each part, "
                f"got parts of {[cuts[0], *np.diff(cuts).tolist()]} rows of {n_samples}."
            )
        return cuts

    def run(self, learner: MixtureLearner, seed: int) -> tuple[FittedModel, Evidence]:
        """Train, evaluate, train on.

        Parameters
        ----------
        learner : MixtureLearner
            Data and classifier.
        seed : int
            Seed of the order and the key.

        Returns
        -------
        fit : FittedModel
            The mixture; its row counts are those of the last predictor.
        evidence : Evidence
            With the losses of each block under its own predictor.

        Raises
        ------
        ValueError
            If rows repeat too often or are not numbers, before anything is trained.
        """
        cuts = self.cuts(learner.n_samples)
        if not cuts:
            return self._all_rows(learner)
        if self.random_state is not None:
            seed = draw_seed(self.random_state)
        order = np.random.default_rng([seed, 0]).permutation(learner.n_samples)
        first_part = np.sort(order[: cuts[1]])
        check_distinct(learner.inputs(first_part))
        guess, *steps = _steps(learner, order, cuts)
        blocks = _joined([step.sample for step in steps], guess.sample)
        fits = [step.fit for step in steps]
        key = np.random.default_rng([seed, 2]).bytes(32)
        choice = HashChoice(tuple(step.sample.n_samples for step in steps), key)
        evidence = Evidence(
            protocol="progressive",
            n_fit=fits[-1].n_fit,
            n_validation=fits[-1].n_validation,
            majority_share=learner.majority_share(first_part),
            certified=blocks,
            assumptions=(_IID, _ORDER, _MIXTURE, _DISTINCT, *learner.assumptions, _OUTSIDE),
        )
        mixture = learner.mixture(fits, choice)
        return FittedModel(mixture, fits[-1].n_fit, fits[-1].n_validation), evidence

    def _all_rows(self, learner: MixtureLearner) -> tuple[FittedModel, Evidence]:
        rows = np.arange(learner.n_samples)
        fit = learner.fit(rows)
        evidence = Evidence(
            protocol="progressive",
            n_fit=fit.n_fit,
            n_validation=fit.n_validation,
            majority_share=learner.majority_share(rows),
            reason=(
                f"{learner.n_samples} rows are too few to evaluate some in blocks, so all were "
                f"trained on (at least {_MIN_ROWS}, or an explicit Progressive(first=...))."
            ),
        )
        return fit, evidence


@dataclass(frozen=True)
class _Step:
    """A predictor and its losses on the rows that came next."""

    fit: FittedModel
    sample: Sample


def _steps(learner: MixtureLearner, order: NDArray[np.intp], cuts: list[int]) -> list[_Step]:
    """Train on all rows up to each cut and evaluate on those up to the next."""
    steps = []
    for start, stop in pairwise(cuts):
        fit = learner.fit(np.sort(order[:start]))
        steps.append(_Step(fit, learner.losses(fit, np.sort(order[start:stop]))))
    return steps


def _joined(samples: list[Sample], guess: Sample) -> ProgressiveSample:
    """Put the losses of all blocks into one record."""
    briers = [sample.brier for sample in samples if sample.brier is not None]
    joined = Sample(
        np.concatenate([sample.rows for sample in samples]),
        np.concatenate([sample.zero_one for sample in samples]),
        np.concatenate(briers) if len(briers) == len(samples) else None,
    )
    sizes = [sample.n_samples for sample in samples]
    return ProgressiveSample(joined, np.repeat(np.arange(len(samples)), sizes), guess)


_IID = "The rows are an i.i.d. sample of the distribution that predict will meet."
_ORDER = (
    "The rows were put into random order by seed and number of rows alone; each certified row was "
    "evaluated by a predictor that had seen earlier rows only, in training, scaling, class "
    "weights and early stopping."
)
_MIXTURE = (
    "predict gives each row to one of the predictors by a keyed hash of the row; the bound is on "
    "the mean error over the key, which was drawn at random, independently of the rows."
)
_DISTINCT = (
    "No single value of a row is so frequent that the error depends on the key: checked on the "
    "training side, at least 95 % of whose rows are distinct."
)
_OUTSIDE = "Whatever was done to the rows before fit is taken as given and not certified."
