"""Losses of one fixed predictor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Loss", "Sample", "frozen_array"]

Loss = Literal["zero_one", "brier"]


def frozen_array(values: ArrayLike, dtype: type) -> NDArray[Any]:
    """Return a read-only copy of `values`.

    Parameters
    ----------
    values : array-like
        Numbers.
    dtype : type
        Of the copy.

    Returns
    -------
    ndarray
        That cannot be written to.
    """
    array: NDArray[Any] = np.array(values, dtype=dtype)
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class Sample:
    """Losses of one fixed predictor on some rows.

    Parameters
    ----------
    rows : array-like of int of shape (n_samples,)
        Positions of the rows in the data given to ``fit``.
    zero_one : array-like of shape (n_samples,)
        1 where the prediction is wrong, 0 where it is right.
    brier : array-like of shape (n_samples,) or None, default=None
        Half the squared distance between the predicted probabilities and the one-hot label,
        in [0, 1]; None for a predictor without probabilities.

    Raises
    ------
    ValueError
        If a loss is not finite or outside its range, or the lengths differ.
    """

    kind: ClassVar[str] = "holdout"
    n_predictors: ClassVar[int] = 1
    over: ClassVar[str] = ""

    rows: NDArray[np.intp]
    zero_one: NDArray[np.float64]
    brier: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", frozen_array(self.rows, np.intp))
        object.__setattr__(self, "zero_one", frozen_array(self.zero_one, np.float64))
        if not np.isin(self.zero_one, (0.0, 1.0)).all():
            raise ValueError("zero_one losses must be 0 or 1, got other values or NaN.")
        if self.brier is not None:
            object.__setattr__(self, "brier", frozen_array(self.brier, np.float64))
            # Written so that NaN fails too.
            if not ((self.brier >= 0.0) & (self.brier <= 1.0)).all():
                raise ValueError("brier losses must lie in [0, 1], got values outside or NaN.")
        for values in (self.zero_one, self.brier):
            if values is not None and values.shape != (self.n_samples,):
                raise ValueError(
                    f"rows and losses must be one-dimensional and of equal length, got "
                    f"{self.rows.shape} and {values.shape}."
                )

    def __reduce__(self) -> tuple[Any, ...]:
        # Arrays lose their write protection in a pickle; the constructor restores it.
        return type(self), (self.rows, self.zero_one, self.brier)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def n_errors(self) -> int:
        """Number of wrong predictions."""
        return int(self.zero_one.sum())

    @property
    def error(self) -> float:
        """Share of wrong predictions."""
        return float(self.zero_one.mean())

    @property
    def sample(self) -> Sample:
        """Itself: a hold-out leaves nothing else behind."""
        return self

    def spent(self, n_fit: int) -> str:
        """Say how the rows were spent.

        Parameters
        ----------
        n_fit : int
            Rows that the predictor was trained on.

        Returns
        -------
        str
            A sentence without its full stop, which ends with the rows that the losses are of.
        """
        return f"Trained on {n_fit} rows, certified on {self.n_samples} other rows"
