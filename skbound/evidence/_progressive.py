"""Losses of predictors that were trained on earlier rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from skbound.evidence._sample import Sample, frozen_array
from skbound.evidence._sentences import joint_answer, over_the_key

__all__ = ["ProgressiveSample", "Together"]

# How several predictors become one: each row goes to one of them, or all of them answer.
Together = Literal["gibbs", "vote", "average"]


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
    guess : Sample or None, default=None
        Losses on other rows, recorded before any row of `sample` was evaluated. Whatever a bound
        must fix beforehand is computed from them.
    together : {"gibbs", "vote", "average"}, default="gibbs"
        What ``predict`` does with the predictors: each row goes to one of them, drawn in
        proportion to the sizes of their blocks, or with these weights they vote, or their
        probabilities are averaged.
    planned : bool, default=True
        Whether number and sizes of the blocks were fixed before any row was evaluated.

    Raises
    ------
    ValueError
        If a row has no block, or a block no row, or `together` is unknown.
    """

    sample: Sample
    blocks: NDArray[np.intp]
    guess: Sample | None = None
    together: Together = "gibbs"
    planned: bool = True

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

        if self.together not in get_args(Together):
            raise ValueError(
                f"together must be one of {get_args(Together)}, got {self.together!r}."
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.sample, self.blocks, self.guess, self.together, self.planned)

    @property
    def kind(self) -> str:
        """Which bounds apply."""
        if self.together != "gibbs":
            return f"progressive_{self.together}"
        return "progressive" if self.planned else "progressive_stream"

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
        """Number of predictors among which ``predict`` draws for each row, or which it asks."""
        return self.n_blocks

    @property
    def over(self) -> str:
        """What the bounded error is a mean over, in words."""
        return over_the_key(self.n_blocks, "predictors") if self.together == "gibbs" else ""

    def spent(self, n_fit: int) -> str:
        """Say how the rows were spent.

        Parameters
        ----------
        n_fit : int
            Rows that the last predictor was trained on.

        Returns
        -------
        str
            A sentence without its full stop, which ends with the rows that the losses are of.
        """
        if self.n_blocks == 1:
            return f"Trained on {n_fit} rows, certified on {self.n_samples} rows that came later"
        return (
            f"{joint_answer(self.together, self.n_blocks, 'predictors')}"
            f"The predictors were trained one after the other, the last on {n_fit} rows, and "
            f"certified on {self.n_samples} rows, each evaluated by one that had seen earlier "
            f"rows only"
        )
