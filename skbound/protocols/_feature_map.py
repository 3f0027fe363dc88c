"""Features of fixed length that a linear head reads: centred, projected, clipped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skbound.evidence._sample import frozen_array

__all__ = ["FeatureMap", "principal_map"]

# Share of the rows that it is made from which it leaves unclipped.
_INSIDE = 0.9


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """Map vectors into the unit ball.

    Parameters
    ----------
    center : array-like of shape (width,)
        Subtracted first.
    directions : array-like of shape (n_directions, width)
        Projected on; what then lies outside the unit ball is scaled back onto it.
    """

    center: NDArray[np.float64]
    directions: NDArray[np.float64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", frozen_array(self.center, np.float64))
        object.__setattr__(self, "directions", frozen_array(self.directions, np.float64))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.center, self.directions)

    def __call__(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the features of some vectors.

        Parameters
        ----------
        x : ndarray of shape (n_samples, width)
            Vectors.

        Returns
        -------
        ndarray of shape (n_samples, n_directions + 1)
            In the unit ball, and a last column of ones.
        """
        # Without a matrix kernel, whose last digits depend on the number of threads.
        inside = np.einsum("iw,dw->id", x - self.center, self.directions)
        norms = np.linalg.norm(inside, axis=1, keepdims=True)
        inside /= np.maximum(norms, 1.0)
        return np.hstack([inside, np.ones((len(x), 1))])


def principal_map(x: NDArray[np.float64], n_directions: int) -> FeatureMap:
    """Return the map to the directions in which vectors spread most.

    Parameters
    ----------
    x : ndarray of shape (n_samples, width)
        Vectors that it is made from.
    n_directions : int
        At most so many directions.

    Returns
    -------
    FeatureMap
        That clips one tenth of `x`. Rounded to single precision, so that the same vectors give
        the same map whatever the number of threads.
    """
    center = x.mean(axis=0).astype(np.float32).astype(np.float64)
    centered = x - center
    directions = np.eye(x.shape[1])
    if n_directions < x.shape[1]:
        _, vectors = np.linalg.eigh(np.einsum("iw,iv->wv", centered, centered))
        directions = vectors[:, ::-1][:, :n_directions].T
        largest = np.abs(directions).argmax(axis=1)
        directions *= np.sign(directions[np.arange(len(directions)), largest])[:, None]
    norms = np.linalg.norm(np.einsum("iw,dw->id", centered, directions), axis=1)
    radius = float(np.quantile(norms, _INSIDE)) or 1.0
    return FeatureMap(center, (directions / radius).astype(np.float32))
