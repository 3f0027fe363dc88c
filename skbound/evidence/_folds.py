"""Losses of several predictors, each on rows that it was not trained on."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from skbound.evidence._sample import Loss, Sample, frozen_array
from skbound.evidence._sentences import joint_answer, over_the_key

__all__ = ["FoldPredictor", "FoldSample"]

FoldPredictor = Literal["vote", "gibbs", "average"]


@dataclass(frozen=True, eq=False)
class FoldSample:
    """Losses of several predictors, each on the rows that had no part in making it.

    A row may be trained on by all predictors but one, so their true errors depend on each other's
    rows, and the losses of different predictors are not independent. Those of one predictor are.

    Parameters
    ----------
    sample : Sample
        One entry for each predictor and each row that it was evaluated on; a row that several
        predictors did not see occurs several times.
    members : array-like of int of shape (n_entries,)
        The predictor of each entry: 0, 1, ...
    predictor : {"vote", "gibbs", "average"}
        What ``predict`` does: count the votes of all predictors, let a hash of the row choose one
        of them with equal probabilities, or average their probabilities. A vote gives one label
        all probability, so half its Brier score is its 0-1 loss.

    Raises
    ------
    ValueError
        If an entry has no predictor, a predictor no entry, or a row is evaluated twice by one.
    """

    sample: Sample
    members: NDArray[np.intp]
    predictor: FoldPredictor

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", frozen_array(self.members, np.intp))
        if self.predictor not in get_args(FoldPredictor):
            raise ValueError(
                f"predictor must be one of {get_args(FoldPredictor)}, got {self.predictor!r}."
            )
        if self.members.shape != (self.sample.n_samples,) or not self.members.size:
            raise ValueError(
                f"members must name one predictor for each of the {self.sample.n_samples} "
                f"entries, at least one, got shape {self.members.shape}."
            )
        if not np.array_equal(np.unique(self.members), np.arange(self.members.max() + 1)):
            raise ValueError(
                f"members must be numbered 0, 1, ... without a gap, got "
                f"{np.unique(self.members).tolist()}."
            )
        entries = np.column_stack([self.members, self.sample.rows])
        if len(np.unique(entries, axis=0)) < len(entries):
            raise ValueError("a predictor must be evaluated at most once on each row.")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.sample, self.members, self.predictor)

    @property
    def kind(self) -> str:
        """What ``predict`` does, and whether pairs of predictors share unseen rows."""
        vote = self.predictor == "vote" and self.n_predictors > 2
        repeated = self.n_samples < self.sample.n_samples
        if vote and repeated and self.pairs()[0].all():
            return "out_of_bag_vote"
        return f"cross_fit_{self.predictor}"

    @property
    def n_samples(self) -> int:
        """Number of different rows."""
        return len(np.unique(self.sample.rows))

    @property
    def n_predictors(self) -> int:
        """Number of predictors."""
        return int(self.members.max()) + 1

    @property
    def over(self) -> str:
        """What the bounded error is a mean over, in words; empty for a deterministic predictor."""
        return over_the_key(self.n_predictors, "predictors") if self.predictor == "gibbs" else ""

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
        if self.n_predictors == 1:
            return f"Trained on {n_fit} rows, certified on {self.n_samples} other rows"
        return (
            f"{joint_answer(self.predictor, self.n_predictors, 'predictors')}"
            f"Each of {self.n_predictors} predictors was trained on a part of the rows, the last "
            f"on {n_fit}, and evaluated on rows that it had not seen, {self.n_samples} rows in all"
        )

    def sums(self, loss: Loss) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return how many rows each predictor was evaluated on, and its summed losses.

        Parameters
        ----------
        loss : {"zero_one", "brier"}
            Which losses; ``sample`` must hold them.

        Returns
        -------
        sizes, sums : ndarray of shape (n_predictors,)
            Rows and sums.
        """
        losses = self.sample.zero_one if loss == "zero_one" else self.sample.brier
        sizes = np.bincount(self.members)
        sums = np.bincount(self.members, weights=losses, minlength=len(sizes))
        return sizes, sums.astype(np.float64)

    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return how many rows each pair of predictors has both not seen, and how often both err.

        Returns
        -------
        sizes, both : ndarray of int of shape (n_pairs,)
            In the order (0, 1), (0, 2), ...; a pair without a common row has size 0.
        """
        numbers, places = np.unique(self.sample.rows, return_inverse=True)
        shape = self.n_predictors, len(numbers)
        unseen, wrong = np.zeros(shape, np.intp), np.zeros(shape, np.intp)
        unseen[self.members, places] = 1
        wrong[self.members, places] = self.sample.zero_one
        pairs = tuple(np.array(list(combinations(range(shape[0]), 2)), np.intp).reshape(-1, 2).T)
        return (unseen @ unseen.T)[pairs], (wrong @ wrong.T)[pairs]
