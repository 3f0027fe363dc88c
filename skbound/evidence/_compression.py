"""Losses of a predictor that picked some of its training rows itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from skbound.evidence._sample import Sample, frozen_array

__all__ = ["CompressedSample"]


@dataclass(frozen=True, eq=False)
class CompressedSample:
    """Rows split by a predictor into those it picked to learn from and those it left out.

    The predictor is rebuilt from the picked rows, in their order, and from rows that are not
    counted here. The rows left out had a say in what was picked, so their losses are not those of
    an independent sample.

    Parameters
    ----------
    sample : Sample
        Losses on the rows that were left out.
    picked : array-like of int of shape (n_picked,)
        Positions of the picked rows in the data given to ``fit``, in the order of picking.
    stop : int or None, default=None
        After how many groups picking ended, where that was chosen with a view to the losses. None
        if picking ended by a rule that was fixed beforehand.
    n_stops : int, default=1
        Among how many numbers of groups, from 0 on, `stop` was chosen.

    Raises
    ------
    ValueError
        If a row is both picked and left out or picked twice, or `stop` is no possible one.
    """

    kind: ClassVar[str] = "compression"
    n_predictors: ClassVar[int] = 1
    over: ClassVar[str] = ""

    sample: Sample
    picked: NDArray[np.intp]
    stop: int | None = None
    n_stops: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "picked", frozen_array(self.picked, np.intp))
        everything = np.concatenate([self.picked, self.sample.rows])
        if self.picked.ndim != 1 or len(np.unique(everything)) != len(everything):
            raise ValueError(
                "Every row must be either picked or left out, and only once, but some occur twice."
            )
        allowed = (None,) if self.n_stops == 1 else range(self.n_stops)
        if self.n_stops < 1 or self.stop not in allowed:
            raise ValueError(
                f"stop must be None with n_stops=1, else one of 0 to n_stops - 1, got "
                f"stop={self.stop} and n_stops={self.n_stops}."
            )
        if self.stop == 0 and self.n_picked:
            raise ValueError(f"stop=0 means that nothing was picked, got {self.n_picked} rows.")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.sample, self.picked, self.stop, self.n_stops)

    @property
    def n_picked(self) -> int:
        """Number of picked rows."""
        return len(self.picked)

    @property
    def n_rows(self) -> int:
        """Number of rows that could have been picked."""
        return self.n_picked + self.n_samples

    @property
    def n_samples(self) -> int:
        """Number of rows left out."""
        return self.sample.n_samples

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
        return (
            f"Trained on {n_fit} rows, {self.n_picked} of them picked among {self.n_rows} rows, "
            f"and certified on the {self.n_samples} that were left out"
        )
