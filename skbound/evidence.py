"""The frozen record of numbers that a fit leaves behind.

Bounds and estimates are computed from it and from nothing else. A loss and the rows it was
computed on live in the same object, so no bound can pair a risk with the wrong sample size.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Evidence", "Loss", "ProgressiveSample", "Sample"]

Loss = Literal["zero_one", "brier"]


def _frozen(values: ArrayLike, dtype: type) -> NDArray[Any]:
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

    rows: NDArray[np.intp]
    zero_one: NDArray[np.float64]
    brier: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", _frozen(self.rows, np.intp))
        object.__setattr__(self, "zero_one", _frozen(self.zero_one, np.float64))
        if not np.isin(self.zero_one, (0.0, 1.0)).all():
            raise ValueError("zero_one losses must be 0 or 1, got other values or NaN.")
        if self.brier is not None:
            object.__setattr__(self, "brier", _frozen(self.brier, np.float64))
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


@dataclass(frozen=True, eq=False)
class ProgressiveSample:
    """Losses of several predictors, each on rows that came after those it was trained on.

    The predictor of a block depends on the rows of earlier blocks. So its true error differs from
    block to block, and no bound on the common mean of independent losses applies.

    Parameters
    ----------
    sample : Sample
        Each row's losses under the predictor of its block.
    blocks : array-like of int of shape (n_samples,)
        The block of each row: 0, 1, ... in the order of training.
    guess : Sample
        Losses on other rows, recorded before any row of `sample` was evaluated. Whatever a bound
        must fix beforehand is computed from them.

    Raises
    ------
    ValueError
        If a row has no block, or a block no row.
    """

    sample: Sample
    blocks: NDArray[np.intp]
    guess: Sample

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocks", _frozen(self.blocks, np.intp))
        if self.blocks.shape != (self.sample.n_samples,) or not self.blocks.size:
            raise ValueError(
                f"blocks must name one block for each of the {self.sample.n_samples} rows, at "
                f"least one, got shape {self.blocks.shape}."
            )
        if not np.array_equal(np.unique(self.blocks), np.arange(self.blocks.max() + 1)):
            raise ValueError(
                f"blocks must be numbered 0, 1, ... without a gap, got "
                f"{np.unique(self.blocks).tolist()}."
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.sample, self.blocks, self.guess)

    @property
    def n_blocks(self) -> int:
        """Number of blocks, and of predictors."""
        return int(self.blocks.max()) + 1


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """What a fit leaves behind for bounds and estimates.

    Parameters
    ----------
    protocol : str
        Name of the protocol that spent the rows.
    n_fit : int
        Number of rows that the predictor was trained on (early-stopping rows not included).
    n_validation : int, default=0
        Number of rows that decided when training stops. Never certified rows.
    majority_share : float
        Share of the most frequent class among the rows that are not certified. A certificate of
        ``1 - majority_share`` or more is vacuous.
    certified : Sample or None, default=None
        Losses of one fixed predictor on the certified rows; None if no row was set aside.
    progressive : ProgressiveSample or None, default=None
        What progressive validation leaves behind in place of `certified`.
    n_candidates : int, default=1
        Among how many predictors, fixed before the certified rows were read, this one was chosen
        with their help. Bounds spend ``delta / n_candidates`` on each.
    assumptions : tuple of str, default=()
        What the certificates rest on, in words.
    caveats : tuple of str, default=()
        What was done with certified rows that no bound covers, in words.
    reason : str, default=""
        Why there are no certified rows, if there are none.

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    protocol: str
    n_fit: int
    n_validation: int = 0
    majority_share: float
    certified: Sample | None = None
    progressive: ProgressiveSample | None = None
    n_candidates: int = 1
    assumptions: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    reason: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.n_candidates, Integral) or self.n_candidates < 1:
            raise ValueError(
                f"n_candidates must be an integer of at least 1, got {self.n_candidates!r}."
            )
        if not 0.0 <= self.majority_share <= 1.0:
            raise ValueError(f"majority_share must lie in [0, 1], got {self.majority_share}.")
        if self.certified is not None and self.certified.n_samples == 0:
            raise ValueError("certified must hold at least one row; use None for no rows.")
        if self.certified is not None and self.progressive is not None:
            raise ValueError(
                "certified and progressive are about different predictors: give one of them."
            )

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{f.name}={getattr(self, f.name)!r}"
            for f in fields(self)
            if f.name not in ("certified", "progressive")
        )
        return f"Evidence({parts}, n_certified={self.n_certified})"

    @property
    def evaluated(self) -> Sample | None:
        """Losses that a certificate is computed from, be it of one predictor or of several."""
        return self.certified if self.progressive is None else self.progressive.sample

    @property
    def n_certified(self) -> int:
        """Number of certified rows."""
        return 0 if self.evaluated is None else self.evaluated.n_samples

    @property
    def n_predictors(self) -> int:
        """Number of predictors among which ``predict`` draws for each row."""
        return 1 if self.progressive is None else self.progressive.n_blocks
