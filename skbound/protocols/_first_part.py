"""The split of protocols that never certify the first rows of a random order."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from skbound._random_state import draw_seed

__all__ = ["FirstPartMixin"]


class FirstPartMixin:
    """Tell beforehand which rows are not certified, so that candidates can be ranked on them."""

    random_state: int | np.random.RandomState | None

    @abstractmethod
    def n_first(self, n_samples: int) -> int:
        """Return how many of `n_samples` rows are not certified; all, if there are too few."""

    def split(self, n_samples: int, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Split the rows at random.

        Parameters
        ----------
        n_samples : int
            Rows with a positive weight.
        seed : int
            Used where the protocol has no `random_state` of its own.

        Returns
        -------
        first_rows, certified_rows : ndarray of int
            Sorted positions; together all rows. No certified rows if there are too few.

        Raises
        ------
        ValueError
            If a parameter is out of range or leaves a part without a row.
        """
        n_first = self.n_first(n_samples)
        if self.random_state is not None:
            seed = draw_seed(self.random_state)
        order = np.random.default_rng([seed, 0]).permutation(n_samples)
        return np.sort(order[:n_first]), np.sort(order[n_first:])
