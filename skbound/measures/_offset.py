"""Offset Rademacher complexity of linear functions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skbound.evidence import NetRecord
from skbound.measures._measure import ComplexityMeasure

__all__ = ["OffsetRademacher", "linear_offset_complexity", "offset_complexity_of_ball"]


def linear_offset_complexity(gram: ArrayLike, offset: float, *, penalty: float = 0.0) -> float:
    r"""Return the offset Rademacher complexity of linear functions, exactly.

    ``E sup_u (1/n) sum_i (s_i f_u(x_i) - c f_u(x_i)^2) - (r / n) ||u||^2`` over random signs ``s``
    and linear functions ``f_u(x) = <u, phi(x)>``. The supremum is a quadratic form in the signs, so
    its mean is ``(1 / (4 n)) tr(K (c K + r I)^-1)`` with the Gram matrix ``K_ij = <phi(x_i),
    phi(x_j)>``. Without penalty that is ``rank(K) / (4 c n)``: ``p / (4 c n)`` for ``p`` linearly
    independent features.

    Parameters
    ----------
    gram : array-like of shape (n_rows, n_rows)
        ``K``, symmetric and positive semidefinite.
    offset : float
        ``c``, positive.
    penalty : float, default=0.0
        ``r``, not negative.

    Returns
    -------
    float
        At most ``1 / (4 c)``. It bounds the excess risk of a regression by least squares over that
        of the best function of the class, up to constants; not the difference of true and
        empirical risk.

    Raises
    ------
    ValueError
        If a number is out of range.

    References
    ----------
    .. [1] T. Liang, A. Rakhlin and K. Sridharan, "Learning with square loss: localization through
       offset Rademacher complexity", COLT 2015, Definition 1 and Section 5.

    Examples
    --------
    >>> import numpy as np
    >>> features = np.random.default_rng(0).normal(size=(50, 3))
    >>> round(linear_offset_complexity(features @ features.T, 0.5), 6)
    0.03
    >>> 3 / (4 * 0.5 * 50)
    0.03
    """
    _check(offset, "offset")
    if not penalty >= 0.0:
        raise ValueError(f"penalty must not be negative, got {penalty}.")
    values = _spectrum(gram)[0]
    positive = values[values > 0.0]
    return float((positive / (offset * positive + penalty)).sum()) / (4.0 * len(values))


def offset_complexity_of_ball(
    gram: ArrayLike, offset: float, radius: float, *, n_draws: int = 200, seed: int = 0
) -> float:
    """Estimate the offset Rademacher complexity of linear functions with small weights.

    As :func:`linear_offset_complexity`, over ``||u|| <= radius``. The supremum is computed exactly
    for each of `n_draws` vectors of signs, and the mean is taken.

    Parameters
    ----------
    gram : array-like of shape (n_rows, n_rows)
        Symmetric and positive semidefinite.
    offset : float
        Positive.
    radius : float
        Not negative.
    n_draws : int, default=200
        Vectors of signs.
    seed : int, default=0
        Of the signs.

    Returns
    -------
    float
        Between 0 and the value without a radius, up to the error of the draws.

    Raises
    ------
    ValueError
        If a number is out of range.
    """
    _check(offset, "offset")
    if not radius >= 0.0:
        raise ValueError(f"radius must not be negative, got {radius}.")
    if n_draws < 1:
        raise ValueError(f"n_draws must be at least 1, got {n_draws}.")
    values, vectors = _spectrum(gram)
    kept = values > 0.0
    if radius == 0.0 or not kept.any():
        return 0.0
    signs = np.random.default_rng([seed, 0]).choice([-1.0, 1.0], (n_draws, len(values)))
    pulls = (signs @ vectors[:, kept]) * np.sqrt(values[kept])
    best = _on_ball(pulls, offset * values[kept], radius)
    return float(best.mean()) / len(values)


def _on_ball(
    pulls: NDArray[np.float64], curvatures: NDArray[np.float64], radius: float
) -> NDArray[np.float64]:
    """Maximise ``sum_k a_k u_k - q_k u_k^2`` over ``||u|| <= radius``, for each row ``a``."""

    def at(multiplier: NDArray[np.float64]) -> NDArray[np.float64]:
        return 0.5 * pulls / (curvatures + multiplier[:, None])

    low = np.zeros(len(pulls))
    # Here even without curvature the maximiser is inside.
    high = 0.5 * np.linalg.norm(pulls, axis=1) / radius
    inside = np.linalg.norm(at(low), axis=1) <= radius
    for _ in range(100):
        middle = 0.5 * (low + high)
        outside = np.linalg.norm(at(middle), axis=1) > radius
        low, high = np.where(outside, middle, low), np.where(outside, high, middle)
    u = at(np.where(inside, 0.0, high))
    return np.asarray((pulls * u - curvatures * u**2).sum(axis=1))


@dataclass(frozen=True)
class OffsetRademacher(ComplexityMeasure):
    """Offset Rademacher complexity of the net's linearisation, within its distance from the start.

    Logits are ``<u, gradient>``, and each row and class has a sign of its own. The ball's radius is
    how far the weight matrices moved in training. Estimated from 200 draws of signs, on the rows of
    the tangent kernel.

    Parameters
    ----------
    offset : float, default=0.25
        ``c``; about the curvature of the loss.
    """

    offset: float = 0.25

    key = "offset_rademacher"
    depends_on = ("layers", "tangent_kernel")
    source = "Liang, Rakhlin and Sridharan 2015, Definition 1, of the linearised net"
    why_no_bound = (
        "It is about excess risk and the linearisation of the net, whose radius is read off after "
        "training."
    )

    def value(self, net: NetRecord) -> float:
        """Return the mean over the draws, per row."""
        kernel = net.tangent_kernel
        assert kernel is not None
        moved = math.sqrt(math.fsum(float((layer.change**2).sum()) for layer in net.layers))
        per_output = offset_complexity_of_ball(kernel.gram, self.offset, moved)
        return per_output * len(kernel.gram) / len(kernel.codes)


def _spectrum(gram: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return eigenvalues, those that rounding leaves at zeros removed, and eigenvectors."""
    matrix = np.asarray(gram, np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise ValueError(f"gram must be a square matrix, got the shape {matrix.shape}.")
    values, vectors = np.linalg.eigh(matrix)
    rounding = len(values) * np.finfo(float).eps * max(values[-1], 0.0)
    if values[0] < -1e3 * rounding - np.finfo(float).tiny:
        raise ValueError(
            f"gram must be positive semidefinite, got the eigenvalue {values[0]:.3g}. Pass the "
            f"products of the features of rows."
        )
    return np.where(values > rounding, values, 0.0), vectors


def _check(value: float, name: str) -> None:
    if not value > 0.0:
        raise ValueError(f"{name} must be positive, got {value}.")
