"""Scalar products of the gradients of a net's logits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["TangentKernel"]

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class TangentKernel:
    """Empirical neural tangent kernel of some rows.

    Parameters
    ----------
    gram : ndarray of shape (n_rows * n_classes, n_rows * n_classes), float64
        Entry ``(i * n_classes + k, j * n_classes + l)`` is the product of the gradient of logit
        `k` at row `i` and that of logit `l` at row `j`.
    codes : ndarray of int of shape (n_rows,)
        Numbers of the rows' classes.
    n_classes : int
        Logits.
    n_parameters : int
        Parameters that the gradients are taken by; the rank of `gram` is at most that.

    Raises
    ------
    ValueError
        If the sizes do not fit.
    """

    gram: Matrix
    codes: NDArray[np.intp]
    n_classes: int
    n_parameters: int

    def __post_init__(self) -> None:
        size = len(self.codes) * self.n_classes
        if self.gram.shape != (size, size):
            raise ValueError(
                f"gram must have one row per row and class, {size} in all, got the shape "
                f"{self.gram.shape}."
            )

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return len(self.codes)

    @cached_property
    def _spectrum(self) -> tuple[Matrix, Matrix]:
        values, vectors = np.linalg.eigh(self.gram)
        return np.maximum(values, 0.0), vectors

    @property
    def eigenvalues(self) -> Matrix:
        """Of `gram`, smallest first, not negative."""
        return self._spectrum[0]

    @cached_property
    def summed(self) -> Matrix:
        """Sum over the classes, of shape (n_rows, n_rows): ``sum_k K[(i, k), (j, k)]``."""
        m, k = self.n_rows, self.n_classes
        return np.einsum("ikjk->ij", self.gram.reshape(m, k, m, k))

    @property
    def mean_trace(self) -> float:
        """Mean over rows of the squared norm of all logits' gradients."""
        return float(np.trace(self.gram)) / self.n_rows

    @cached_property
    def targets(self) -> Matrix:
        """Labels as vectors that sum to 0: one-hot minus ``1 / n_classes``, (n_rows, n_classes)."""
        return np.eye(self.n_classes)[self.codes] - 1.0 / self.n_classes

    @cached_property
    def fit_norm(self) -> float:
        """Squared distance that linearised parameters must move to produce `targets` exactly.

        ``y^T K^-1 y``; infinite where no movement does, because the kernel is singular there.
        """
        values, vectors = self._spectrum
        along = (vectors.T @ self.targets.ravel()) ** 2
        # Rounding leaves eigenvalues of about this size where they are really zero.
        reached = values > values[-1] * len(values) * np.finfo(float).eps
        if along[~reached].sum() > 1e-12 * along.sum():
            return float("inf")
        return float((along[reached] / values[reached]).sum())
