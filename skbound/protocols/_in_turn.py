"""Predictors trained one after the other, each evaluated on the rows that come next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skbound.evidence import LearningCurve, Sample
from skbound.protocols._learner import FittedModel

__all__ = ["Step", "curve_of", "evaluated", "joined", "trained_further", "trained_in_turn"]

# Share of the epochs for a net that goes on from the one before.
_LATER_EFFORT = 0.5


@dataclass(frozen=True)
class Step:
    """A predictor and its losses on the rows that came next.

    Parameters
    ----------
    fit : FittedModel
        Trained on all rows before.
    n_fit : int
        How many these were, rows for early stopping included.
    sample : Sample
        Its losses.
    log_loss : float or None
        Its logarithmic losses in nats, summed; None for a predictor without probabilities.
    """

    fit: FittedModel
    n_fit: int
    sample: Sample
    log_loss: float | None


def trained_in_turn(
    learner: Any, order: NDArray[np.intp], cuts: Sequence[int], *, warm_start: bool
) -> list[Step]:
    """Train on all rows up to each cut and evaluate on those up to the next.

    Parameters
    ----------
    learner : CurveLearner
        Data and classifier; with `warm_start` one that can go on from an earlier fit.
    order : ndarray of int of shape (n_samples,)
        The rows in the order in which they come.
    cuts : sequence of int
        Increasing.
    warm_start : bool
        Whether each predictor goes on from the one before.

    Returns
    -------
    list of Step
        One fewer than `cuts`.
    """
    steps: list[Step] = []
    for start, stop in pairwise(cuts):
        rows, following = np.sort(order[:start]), np.sort(order[start:stop])
        if warm_start and steps:
            fit = trained_further(learner, steps[-1].fit, rows)
        else:
            fit = learner.fit(rows)
        steps.append(evaluated(learner, fit, following, n_fit=start))
    return steps


def trained_further(learner: Any, fit: FittedModel, rows: NDArray[np.intp]) -> FittedModel:
    """Go on from a predictor, with its scaling and a part of the epochs, on more rows."""
    further: FittedModel = learner.fit(rows, start=fit, effort=_LATER_EFFORT)
    return further


def evaluated(learner: Any, fit: FittedModel, rows: NDArray[np.intp], *, n_fit: int) -> Step:
    """Evaluate a predictor on rows that it has not seen."""
    log_losses = learner.log_losses(fit, rows)
    total = None if log_losses is None else float(np.sum(log_losses))
    return Step(fit, n_fit, learner.losses(fit, rows), total)


def joined(samples: Sequence[Sample]) -> Sample:
    """Put the losses of several steps into one record, in their order."""
    briers = [sample.brier for sample in samples if sample.brier is not None]
    return Sample(
        np.concatenate([sample.rows for sample in samples]),
        np.concatenate([sample.zero_one for sample in samples]),
        np.concatenate(briers) if len(briers) == len(samples) else None,
    )


def curve_of(steps: Sequence[Step], n_classes: int) -> LearningCurve:
    """Return the errors of all steps against the rows trained on."""
    log_losses = [step.log_loss for step in steps if step.log_loss is not None]
    return LearningCurve(
        n_fit=np.array([step.n_fit for step in steps]),
        n_rows=np.array([step.sample.n_samples for step in steps]),
        n_errors=np.array([step.sample.n_errors for step in steps]),
        log_loss=np.array(log_losses) if len(log_losses) == len(steps) else None,
        n_first=steps[0].n_fit,
        n_classes=n_classes,
    )
