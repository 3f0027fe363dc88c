"""Weighted standardisation that survives columns of any scale, and a smooth clip."""

from __future__ import annotations

import numpy as np

__all__ = ["clip_smoothly", "column_scale"]


def column_scale(X, weights=None):
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


def clip_smoothly(z, limit):
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
