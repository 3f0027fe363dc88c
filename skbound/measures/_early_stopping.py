"""How strong a penalty early stopping stands for."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["early_stopping_filter", "effective_l2", "ridge_filter"]


def effective_l2(learning_rates: Iterable[float]) -> float:
    r"""Return the penalty ``l`` for which ``l / 2 ||w - w_0||^2`` acts about like stopping early.

    One over the sum of the learning rates of all steps: ``1 / (eta T)`` for ``T`` steps of length
    ``eta``, or half of that for a penalty written ``l ||w - w_0||^2``. For a quadratic loss, plain
    gradient descent has gone the part of the way to the minimum that :func:`early_stopping_filter`
    tells for each direction; the minimum with the penalty lies where :func:`ridge_filter` tells.
    The first is at least the second, and at most 1.2985 times it in the limit of short steps; twice
    for steps of up to one over the largest curvature.

    It means nothing for Adam, momentum, mini-batches with much noise, weight decay or a loss that
    is far from quadratic, as that of a net: a rough number, and no bound.

    Parameters
    ----------
    learning_rates : iterable of float
        Of each step; not negative.

    Returns
    -------
    float
        Infinite if no step was made: the weights stay where they are.

    Raises
    ------
    ValueError
        If a rate is negative or not finite.

    References
    ----------
    .. [1] A. Ali, J. Z. Kolter and R. J. Tibshirani, "A continuous-time view of early stopping for
       least squares regression", AISTATS 2019, Theorem 1.

    Examples
    --------
    >>> effective_l2([0.125] * 40)
    0.2
    """
    rates = _rates(learning_rates)
    total = float(rates.sum())
    return 1.0 / total if total > 0.0 else float("inf")


def early_stopping_filter(
    curvatures: ArrayLike, learning_rates: Iterable[float]
) -> NDArray[np.float64]:
    """Return which part of the way to the minimum of a quadratic gradient descent has gone.

    ``1 - prod_t (1 - eta_t s)`` along a direction of curvature ``s``.

    Parameters
    ----------
    curvatures : array-like
        ``s``, eigenvalues of the Hessian.
    learning_rates : iterable of float
        ``eta_t``; for more than one direction at a time they should be at most ``1 / max s``.

    Returns
    -------
    ndarray
        Of the shape of `curvatures`.

    Raises
    ------
    ValueError
        If a rate is negative or not finite.

    Examples
    --------
    >>> early_stopping_filter([1.0, 0.1], [0.5, 0.5]).round(4)
    array([0.75  , 0.0975])
    """
    s, rates = np.asarray(curvatures, np.float64), _rates(learning_rates)
    return np.asarray(1.0 - np.prod(1.0 - s[..., None] * rates, axis=-1))


def ridge_filter(curvatures: ArrayLike, penalty: float) -> NDArray[np.float64]:
    """Return which part of that way a minimum with penalty lies: ``s / (s + l)``.

    Parameters
    ----------
    curvatures : array-like
        ``s``, eigenvalues of the Hessian, not negative.
    penalty : float
        ``l`` of ``l / 2 ||w - w_0||^2``; positive.

    Returns
    -------
    ndarray
        Of the shape of `curvatures`, in [0, 1).

    Raises
    ------
    ValueError
        If `penalty` is not positive.

    Examples
    --------
    >>> ridge_filter([1.0, 0.1], 1.0).round(4)
    array([0.5   , 0.0909])
    """
    if not penalty > 0.0:
        raise ValueError(f"penalty must be positive, got {penalty}.")
    s = np.asarray(curvatures, np.float64)
    return np.asarray(s / (s + penalty))


def _rates(learning_rates: Iterable[float]) -> NDArray[np.float64]:
    rates = np.asarray(list(learning_rates), np.float64)
    if not (np.isfinite(rates).all() and (rates >= 0.0).all()):
        raise ValueError(f"learning_rates must be finite and not negative, got {rates}.")
    return rates
