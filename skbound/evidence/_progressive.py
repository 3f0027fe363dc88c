"""Losses of predictors that were trained on earlier rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from skbound.evidence._sample import Sample, frozen_array

__all__ = ["ProgressiveSample"]


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

    kind: ClassVar[str] = "progressive"

    sample: Sample
    blocks: NDArray[np.intp]
    guess: Sample

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocks", frozen_array(self.blocks, np.intp))
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

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.sample.n_samples

    @property
    def n_predictors(self) -> int:
        """Number of predictors among which ``predict`` draws for each row."""
        return self.n_blocks

    @property
    def over(self) -> str:
        """What the bounded error is a mean over, in words."""
        return (
            f" in the mean over the key of the hash that gives each row to one of "
            f"{self.n_blocks} predictors,"
        )

    def spent(self, n_fit: int) -> str:
        """Say how the rows were spent.

        Parameters
        ----------
        n_fit : int
            Rows that the last predictor was trained on.

        Returns
        -------
        str
            Start of a sentence that goes on with the name of the bound.
        """
        return (
            f"The predictors were trained one after the other, the last on {n_fit} rows, and "
            f"certified on {self.n_samples} rows, each evaluated by one that had seen earlier "
            f"rows only"
        )
