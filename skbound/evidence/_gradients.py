"""Norms of the gradients of single rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["GradientNorms"]


@dataclass(frozen=True, eq=False, kw_only=True)
class GradientNorms:
    """How the loss of each row pulls at the trained parameters.

    Parameters
    ----------
    per_row : ndarray of shape (n_rows,), float64
        Euclidean norm of the gradient of each row's cross-entropy.
    of_mean : float
        Norm of the gradient of the mean loss; at most the mean of `per_row`.
    """

    per_row: NDArray[np.float64]
    of_mean: float

    @property
    def mean_square(self) -> float:
        """Mean of the squared norms of single rows."""
        return float(np.mean(self.per_row**2))
