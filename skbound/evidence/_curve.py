"""Errors of predictors that were trained on more and more rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skbound.evidence._sample import frozen_array

__all__ = ["LearningCurve"]


@dataclass(frozen=True, eq=False, kw_only=True)
class LearningCurve:
    """Errors on rows that came next, against the number of rows trained on before them.

    Parameters
    ----------
    n_fit : array-like of int of shape (n_steps,)
        Rows that the predictor of each step was trained on.
    n_rows : array-like of int of shape (n_steps,)
        Rows that it was evaluated on.
    n_errors : array-like of int of shape (n_steps,)
        Its errors on them.
    log_loss : array-like of shape (n_steps,) or None, default=None
        Minus the logarithms of the probabilities of their labels, summed, in nats; None for a
        predictor without probabilities.
    n_first : int
        Rows that were trained on before any was evaluated.
    n_classes : int
        Number of labels.

    Raises
    ------
    ValueError
        If lengths differ or a number is out of range.
    """

    n_fit: NDArray[np.intp]
    n_rows: NDArray[np.intp]
    n_errors: NDArray[np.intp]
    log_loss: NDArray[np.float64] | None = None
    n_first: int
    n_classes: int

    def __post_init__(self) -> None:
        for name in ("n_fit", "n_rows", "n_errors"):
            object.__setattr__(self, name, frozen_array(getattr(self, name), np.intp))
        arrays: list[NDArray[Any]] = [self.n_fit, self.n_rows, self.n_errors]
        if self.log_loss is not None:
            object.__setattr__(self, "log_loss", frozen_array(self.log_loss, np.float64))
            arrays.append(self.log_loss)
        shapes = {array.shape for array in arrays}
        if len(shapes) != 1 or len(self.n_fit.shape) != 1:
            raise ValueError(f"All arrays must have one length, got shapes {sorted(shapes)}.")
        fits = (self.n_errors >= 0) & (self.n_errors <= self.n_rows) & (self.n_rows > 0)
        if not fits.all() or not all(np.isfinite(array).all() for array in arrays):
            raise ValueError(
                "Each step must have rows, at most as many errors, and a finite log loss."
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, tuple(vars(self).items())

    @property
    def error(self) -> NDArray[np.float64]:
        """Share of errors of each step."""
        return self.n_errors / self.n_rows

    @property
    def code_length(self) -> float:
        """Prequential code length of the labels in nats; NaN without probabilities.

        What it takes to send them in the order of the steps to someone who has the rows and
        trains the same predictors: ``ln(n_classes)`` for each label of the first part, then minus
        the logarithm of the probability that the step's predictor gave to the label. A. P. Dawid,
        "Present position and potential developments: the prequential approach", JRSS A 147, 1984.
        """
        if self.log_loss is None:
            return math.nan
        return self.n_first * math.log(self.n_classes) + math.fsum(self.log_loss)


def _rebuilt(*fields: tuple[str, Any]) -> LearningCurve:
    return LearningCurve(**dict(fields))
