"""Weighted standardisation that survives columns of any scale, followed by a smooth clip."""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from skbound._sklearn_compat import Interval

__all__ = ["Standardizer"]

# A row far beyond those of fit must not overflow; anything this large is squeezed to the limit.
_LARGEST = 1e150


def _column_scale(X, weights=None):
    """Return the weighted mean and standard deviation of each column.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Finite numbers.
    weights : ndarray of shape (n_samples,) or None, default=None
        Non-negative; None weighs all rows alike.

    Returns
    -------
    unit, mean, std : ndarray of shape (n_features,), float64
        ``(X / unit - mean) / std`` is standardised. The largest magnitude is divided out first,
        so that squares neither overflow nor vanish; a constant column has std 1.
    """
    X = np.asarray(X, dtype=np.float64)
    unit = np.abs(X).max(axis=0)
    unit[unit == 0.0] = 1.0
    scaled = X / unit
    mean = np.average(scaled, axis=0, weights=weights)
    std = np.sqrt(np.average((scaled - mean) ** 2, axis=0, weights=weights))
    # Rounding leaves a constant column with a deviation of about 1e-16 instead of 0.
    std[std < 1e-12] = 1.0
    return unit, mean, std


def _clip_smoothly(z, limit):
    """Squeeze the real line into (-limit, limit), leaving numbers near 0 as they are.

    Parameters
    ----------
    z : ndarray
        Standardised numbers.
    limit : float
        Largest magnitude afterwards.

    Returns
    -------
    ndarray
        ``z / sqrt(1 + (z / limit)^2)``.
    """
    return z / np.hypot(1.0, z / limit)


class Standardizer(TransformerMixin, BaseEstimator):
    """What tokenizers of numbers share: scale columns as in the rows of fit, then squeeze.

    Parameters
    ----------
    limit : float, default=8.0
        Standardised values are squeezed smoothly into ``(-limit, limit)``.
    """

    # A mean and a deviation from more rows would differ by less than half a per cent.
    n_rows_enough = 2**17

    _parameter_constraints: dict = {  # noqa: RUF012 (scikit-learn's convention)
        "limit": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, limit=8.0):
        self.limit = limit

    def prepare(self, X):
        """Transform rows that were validated before.

        Parameters
        ----------
        X : ndarray of shape (n_samples, ..., n_features)
            Finite numbers.

        Returns
        -------
        ndarray of the same shape, float64
            As from ``transform``.
        """
        with np.errstate(over="ignore"):
            scaled = np.clip(np.asarray(X, dtype=np.float64) / self.unit_, -_LARGEST, _LARGEST)
        z = (scaled - self.mean_) / self.std_
        return _clip_smoothly(z, self.limit)

    def _learn_scale(self, columns, weights):
        self.unit_, self.mean_, self.std_ = _column_scale(columns, weights)
