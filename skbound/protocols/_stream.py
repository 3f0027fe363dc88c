"""Progressive validation across calls: fresh rows are evaluated, then trained on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skbound.evidence import Evidence, ProgressiveSample
from skbound.protocols._assumptions import DISTINCT, GIBBS, IID, OUTSIDE, WARM
from skbound.protocols._in_turn import Step, curve_of, evaluated, joined, trained_further
from skbound.protocols._learner import FittedModel
from skbound.protocols._mixture import HashChoice, check_distinct

__all__ = ["Stream"]


@dataclass(frozen=True)
class Stream:
    """What is kept between calls.

    Parameters
    ----------
    key : bytes
        Of the hash that gives each row to one of the predictors; drawn in the first call.
    current : FittedModel
        The newest predictor, trained on all rows so far, which nothing has evaluated yet.
    n_trained : int
        How many rows these are.
    majority_share : float
        Share of the most frequent class in the first call.
    steps : tuple of Step, default=()
        The predictors that were evaluated, and their losses.
    """

    key: bytes
    current: FittedModel
    n_trained: int
    majority_share: float
    steps: tuple[Step, ...] = ()

    @classmethod
    def begin(cls, learner: Any, seed: int) -> Stream:
        """Train on the rows of the first call.

        Parameters
        ----------
        learner : MixtureLearner
            With these rows.
        seed : int
            Of the key.

        Returns
        -------
        Stream
            Nothing has been evaluated.

        Raises
        ------
        ValueError
            If rows repeat too often for a choice by hash.
        """
        rows = np.arange(learner.n_samples)
        _check_distinct(learner, rows)
        key = np.random.default_rng([seed, 2]).bytes(32)
        return cls(key, learner.fit(rows), len(rows), learner.majority_share(rows))

    def go_on(self, learner: Any) -> Stream:
        """Evaluate the fresh rows, then train on all.

        Parameters
        ----------
        learner : MixtureLearner and WarmLearner
            With all rows so far, the fresh ones last.

        Returns
        -------
        Stream
            With one more step.
        """
        # Again at each call: the more rows were trained on, the more they tell about repeats.
        _check_distinct(learner, np.arange(self.n_trained))
        fresh = np.arange(self.n_trained, learner.n_samples)
        step = evaluated(learner, self.current, fresh, n_fit=self.n_trained)
        rows: NDArray[np.intp] = np.arange(learner.n_samples)
        current = trained_further(learner, self.current, rows)
        return replace(self, current=current, n_trained=len(rows), steps=(*self.steps, step))

    def outcome(self, learner: Any) -> tuple[FittedModel, Evidence]:
        """Return what predict uses, and what is known about it.

        Parameters
        ----------
        learner : MixtureLearner
            Of the latest call.

        Returns
        -------
        fit : FittedModel
            The mixture of all predictors that were evaluated; after the first call the only one.
        evidence : Evidence
            With the losses of all rows after those of the first call.
        """
        if not self.steps:
            return self.current, Evidence(
                protocol="progressive",
                n_fit=self.current.n_fit,
                n_validation=self.current.n_validation,
                majority_share=self.majority_share,
                reason=(
                    "the rows of the first call of partial_fit were all trained on; those of "
                    "later calls are evaluated first."
                ),
            )
        sizes = [step.sample.n_samples for step in self.steps]
        fits = [step.fit for step in self.steps]
        last = fits[-1]
        blocks = np.repeat(np.arange(len(sizes)), sizes)
        sample = joined([step.sample for step in self.steps])
        evidence = Evidence(
            protocol="progressive",
            n_fit=last.n_fit,
            n_validation=last.n_validation,
            majority_share=self.majority_share,
            certified=ProgressiveSample(sample, blocks, planned=False),
            assumptions=(IID, _CALLS, WARM, GIBBS, DISTINCT, *learner.assumptions, OUTSIDE),
            learning_curve=curve_of(self.steps, learner.n_classes),
        )
        mixture = learner.mixture(fits, HashChoice(tuple(sizes), self.key))
        return FittedModel(mixture, last.n_fit, last.n_validation), evidence


def _check_distinct(learner: Any, rows: NDArray[np.intp]) -> None:
    inputs = learner.inputs(rows)
    check_distinct(inputs, "partial_fit", "Use fit with protocol='holdout'", at_least=1)


_CALLS = (
    "Each call of partial_fit brought fresh rows, which were evaluated by the predictor trained on "
    "all earlier ones before anything was trained on them. The certificate holds after all calls "
    "at once, however many there are."
)
