"""Covering numbers of balls, and how to share an error among layers."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "allocate_errors",
    "ball_log_covering",
    "maurey_log_covering",
    "packing_number",
]


def ball_log_covering(n_dimensions: int, radius: float, distance: ArrayLike) -> NDArray[np.float64]:
    """Bound how many balls cover a ball, by volumes: ``D ln(1 + 2 R / e)``.

    It grows as ``D ln(1 / e)`` when the distance ``e`` shrinks.

    Parameters
    ----------
    n_dimensions : int
        ``D``, at least 1.
    radius : float
        ``R``, of the ball in any norm; not negative.
    distance : array-like
        ``e``, in the same norm; positive.

    Returns
    -------
    ndarray
        Natural logarithms. Their roots are convex, as Dudley's integral needs them.

    Raises
    ------
    ValueError
        If a number is out of range.

    References
    ----------
    .. [1] R. Vershynin, "High-dimensional probability", 2018, Corollary 4.2.13.

    Examples
    --------
    >>> ball_log_covering(10, 1.0, [0.1, 0.01, 2.0]).round(2)
    array([30.45, 53.03,  6.93])

    It can be put into Dudley's integral:

    >>> from skbound.bounds import dudley_integral
    >>> round(dudley_integral(lambda e: ball_log_covering(10, 1.0, e), 50_000), 2)
    0.23
    """
    e = _positive("distance", distance)
    if n_dimensions < 1:
        raise ValueError(f"n_dimensions must be at least 1, got {n_dimensions}.")
    if not radius >= 0.0:
        raise ValueError(f"radius must not be negative, got {radius}.")
    return np.asarray(n_dimensions * np.log1p(2.0 * radius / e))


def maurey_log_covering(
    n_entries: int, sum_of_absolutes: float, distance: ArrayLike
) -> NDArray[np.float64]:
    """Bound the covering number of matrices whose entries have a small sum of absolute values.

    ``ceil(B^2 / e^2) ln(2 k + 1)`` for ``k`` entries, at distance ``e`` in the Frobenius norm, by
    the empirical method of Maurey: a matrix is the mean of a random draw among ``0`` and the
    ``2 k`` matrices with one entry ``+B`` or ``-B``.

    Parameters
    ----------
    n_entries : int
        ``k``, at least 1.
    sum_of_absolutes : float
        ``B``, not negative.
    distance : array-like
        ``e``, positive.

    Returns
    -------
    ndarray
        Natural logarithms.

    Raises
    ------
    ValueError
        If a number is out of range.

    References
    ----------
    .. [1] J. Trauger and A. Tewari, "Sequence length independent norm-based generalization bounds
       for Transformers", AISTATS 2024, who cover linear maps in this way.

    Examples
    --------
    >>> maurey_log_covering(100, 1.0, [0.5, 0.25]).round(2)
    array([21.21, 84.85])
    """
    e = _positive("distance", distance)
    if n_entries < 1:
        raise ValueError(f"n_entries must be at least 1, got {n_entries}.")
    if not sum_of_absolutes >= 0.0:
        raise ValueError(f"sum_of_absolutes must not be negative, got {sum_of_absolutes}.")
    n_drawn = np.ceil((sum_of_absolutes / e) ** 2)
    return np.asarray(n_drawn * math.log(2 * n_entries + 1))


def allocate_errors(
    sizes: ArrayLike, rates: ArrayLike, error: float
) -> tuple[NDArray[np.float64], float]:
    r"""Share an error among layers so that their covers together are smallest.

    Minimises ``sum_i a_i / e_i^2`` subject to ``sum_i b_i e_i = e``. With ``gamma = sum_i
    a_i^(1/3) b_i^(2/3)`` the minimum is ``gamma^3 / e^2``, at ``e_i = (e / gamma) (a_i /
    b_i)^(1/3)``, by Lagrange.

    Parameters
    ----------
    sizes : array-like of shape (n_layers,)
        ``a_i``, positive: layer `i` has a logarithmic covering number of ``a_i / e_i^2``.
    rates : array-like of shape (n_layers,)
        ``b_i``, positive: an error ``e_i`` in layer `i` is one of ``b_i e_i`` in the output.
    error : float
        ``e``, positive.

    Returns
    -------
    errors : ndarray of shape (n_layers,)
        ``e_i``.
    log_covering : float
        The minimum.

    Raises
    ------
    ValueError
        If a number is not positive.

    References
    ----------
    .. [1] B. L. Edelman, S. Goel, S. Kakade and C. Zhang, "Inductive biases and variable creation
       in self-attention mechanisms", ICML 2022, Appendix A.

    Examples
    --------
    >>> errors, least = allocate_errors([1.0, 8.0], [1.0, 1.0], 1.0)
    >>> errors.round(4), round(least, 4)
    (array([0.3333, 0.6667]), 27.0)
    """
    a, b = _positive("sizes", sizes), _positive("rates", rates)
    total = float(_positive("error", error))
    gamma = float((a ** (1.0 / 3.0) * b ** (2.0 / 3.0)).sum())
    return total / gamma * (a / b) ** (1.0 / 3.0), gamma**3 / total**2


def packing_number(outputs: ArrayLike, distance: float) -> int:
    """Count functions that are far from each other: a lower estimate of a covering number.

    Functions are gone through in their order, and each that is farther than ``2 * distance`` from
    all counted ones is counted. No two of these are within `distance` of one point, so every cover
    at that distance has at least so many members. Nothing is said about how many more it needs: an
    upper bound on a covering number cannot be found by drawing functions.

    Parameters
    ----------
    outputs : array-like of shape (n_functions, n_rows, n_outputs)
        Values of functions of the class on the same rows.
    distance : float
        Not negative; between two functions it is the largest Euclidean distance on a row.

    Returns
    -------
    int
        At most `n_functions`.

    Raises
    ------
    ValueError
        If there is no function or `distance` is negative.

    Examples
    --------
    >>> import numpy as np
    >>> packing_number(np.arange(10.0).reshape(10, 1, 1), 1.0)
    4
    """
    values = np.asarray(outputs, np.float64)
    if values.ndim != 3 or not len(values):
        raise ValueError(
            f"outputs must be of shape (n_functions, n_rows, n_outputs) with at least one "
            f"function, got the shape {values.shape}."
        )
    if not distance >= 0.0:
        raise ValueError(f"distance must not be negative, got {distance}.")
    counted = [0]
    for k in range(1, len(values)):
        gaps = np.linalg.norm(values[counted] - values[k], axis=2).max(axis=1)
        if gaps.min() > 2.0 * distance:
            counted.append(k)
    return len(counted)


def _positive(name: str, values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values, np.float64)
    if not (array > 0.0).all():
        raise ValueError(f"{name} must be positive, got {values!r}.")
    return array
