"""The small interface through which a protocol sees a classifier: no torch, no scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from skbound.evidence import Sample
from skbound.protocols._mixture import HashChoice

__all__ = ["FittedModel", "Learner", "MixtureLearner"]

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class FittedModel:
    """A trained predictor and how many rows made it.

    Parameters
    ----------
    model : object
        Whatever the learner needs to predict.
    n_fit : int
        Rows trained on.
    n_validation : int, default=0
        Rows that decided when to stop.
    """

    model: Any
    n_fit: int
    n_validation: int = 0


class Learner(Protocol):
    """Data plus a way to train on some of its rows.

    Rows are positions 0 .. n_samples - 1. Everything that is learnt from data (scaling, category
    maps, class weights, when to stop) is learnt in `fit`, from the rows given to it.
    """

    n_samples: int
    assumptions: tuple[str, ...]

    def fit(self, rows: Rows) -> FittedModel:
        """Train a fresh predictor on `rows` and on nothing else."""
        ...

    def losses(self, fit: FittedModel, rows: Rows) -> Sample:
        """Return the losses of the predictor on `rows`."""
        ...

    def majority_share(self, rows: Rows) -> float:
        """Return the share of the most frequent class among `rows`."""
        ...


class MixtureLearner(Learner, Protocol):
    """A learner whose fits can share the rows that ``predict`` meets."""

    def inputs(self, rows: Rows) -> Any:
        """Return the rows themselves, in the form in which ``predict`` gets rows."""
        ...

    def mixture(self, fits: Sequence[FittedModel], choice: HashChoice) -> Any:
        """Return the predictor in which the fit ``choice(X)[i]`` answers for row ``i`` of X."""
        ...
