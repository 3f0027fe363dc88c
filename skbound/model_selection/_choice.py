"""What a search ended with."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import FitFailedWarning

from skbound.model_selection._find import warn_of_steps
from skbound.model_selection._results import results_table

__all__ = ["BY_BOUND", "ON_TRAINING_SIDE", "Choice"]

BY_BOUND = "The candidate with the smallest bound among {}, each at its share of delta, was taken."
ON_TRAINING_SIDE = (
    "The candidate was chosen among {} by its losses on rows that are not certified, before the "
    "certified rows were read."
)


@dataclass(frozen=True)
class Choice:
    """All outcomes and the chosen one.

    Parameters
    ----------
    outcomes : list of Outcome
        In the order of the candidates; the best one with its estimator, and paid for.
    best : int or None
        Its place; None if all failed.
    reason : str
        How it was chosen.
    ranking : list of Outcome
        Of the training side; empty if there was none.
    shares : list of float or None
        Of delta, per candidate.
    n_paid : int or None
        Candidates that the certificates were paid for when each of these was certified.
    """

    outcomes: list[Any]
    best: int | None
    reason: str
    ranking: list[Any] = field(default_factory=list)
    shares: list[float] | None = None
    n_paid: int | None = None

    def report(self) -> None:
        """Raise if nothing can be returned; warn of failed candidates and of pipelines, once."""
        failures = [o.failure for o in self.outcomes if o.failure is not None]
        if self.best is None:
            first = failures[0]
            kind = type(first) if type(first) in (ValueError, TypeError) else ValueError
            raise kind(f"All {len(self.outcomes)} candidates failed. The first: {first}") from first
        if failures:
            warnings.warn(
                f"{len(failures)} of {len(self.outcomes)} candidates failed; their scores are nan "
                f"and they count in the choice that is paid for. The first: {failures[0]!r}",
                FitFailedWarning,
                stacklevel=5,
            )
        warn_of_steps(self.outcomes[self.best].steps, stacklevel=6)

    def table(self, grid: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the numbers of all candidates, as scikit-learn's searches lay them out.

        Parameters
        ----------
        grid : list of dict
            Parameters of the candidates.

        Returns
        -------
        dict of str to ndarray or list
            One entry per candidate.
        """
        by_bound = not self.ranking or self.shares is not None
        scores = [-(o.bound if by_bound else r.error) for o, r in zip(
            self.outcomes, self.ranking or self.outcomes, strict=True
        )]  # fmt: skip
        table = results_table(grid, self.outcomes, np.array(scores))
        if self.ranking:
            table["ranking_error"] = np.array([o.error for o in self.ranking])
            table["ranking_loss"] = np.array([o.brier for o in self.ranking])
            table["ranking_share"] = np.array([o.share for o in self.ranking])
        if self.shares is not None:
            table["share"] = np.array(self.shares)
        return table
