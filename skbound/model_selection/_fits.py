"""Run the fits of a search: side by side, with progress, each remembered when it is finished."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed
from tqdm import tqdm

from skbound.model_selection._checkpoint import Checkpoint

__all__ = ["Fits"]


@dataclass(frozen=True)
class Fits:
    """The data of a search and how to run its fits.

    Parameters
    ----------
    X, y : array-like
        Data.
    weights : ndarray or None
        Sample weights.
    n_jobs : int or None
        Fits at once.
    verbose : int
        Whether to show a progress bar.
    checkpoint : Checkpoint or None
        Where finished fits are kept.
    """

    X: Any
    y: Any
    weights: Any
    n_jobs: int | None
    verbose: int
    checkpoint: Checkpoint | None

    @property
    def n_samples(self) -> int:
        """Rows with a positive weight."""
        return len(self.y) if self.weights is None else int(np.count_nonzero(self.weights))

    def run(self, fit: Callable[..., Any], candidates: Sequence[Any], what: str) -> Iterator[Any]:
        """Yield the outcomes in the order of the candidates, as they come in.

        Parameters
        ----------
        fit : callable
            Takes a candidate, X, y and weights, and returns an outcome.
        candidates : sequence of estimator
            Unfitted, and left so.
        what : str
            Shown beside the progress bar.

        Yields
        ------
        Outcome
            One per candidate.
        """
        try:
            parallel = Parallel(n_jobs=self.n_jobs, return_as="generator")
        except ValueError:
            # This backend cannot hand results over one by one; it keeps all fits until the end.
            parallel = Parallel(n_jobs=self.n_jobs)
        data = self.X, self.y, self.weights
        if self.checkpoint is None:
            tasks = (delayed(fit)(clone(candidate), *data) for candidate in candidates)
        else:
            # Paths are made here: a worker may see a class or a function in another way.
            keep = self.checkpoint
            tasks = (
                delayed(keep.run)(keep.path(fit, candidate), fit, clone(candidate), *data)
                for candidate in candidates
            )
        smallest = np.inf
        with tqdm(total=len(candidates), desc=what, disable=not self.verbose) as bar:
            for outcome in parallel(tasks):
                # No bound: none holds before the choice is paid for.
                smallest = np.fmin(smallest, outcome.error)
                bar.set_postfix(smallest_error=f"{smallest:.4f}")
                bar.update()
                yield outcome

    def n_certified(self, fit: Callable[..., Any], candidates: Sequence[Any]) -> int:
        """Return how many predictors were, or will be, evaluated on the certified rows.

        Parameters
        ----------
        fit : callable
            That reads certified rows.
        candidates : sequence of estimator
            To be fitted now.

        Returns
        -------
        int
            With those that other searches with the same checkpoint have fitted on these rows.
        """
        if self.checkpoint is None:
            return len(candidates)
        now = {self.checkpoint.path(fit, candidate) for candidate in candidates}
        # Equal candidates count as often as the grid holds them.
        return len(candidates) + len(self.checkpoint.finished(fit) - now)
