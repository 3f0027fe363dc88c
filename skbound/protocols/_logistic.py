"""Multinomial logistic regression of a fixed objective, solved to high precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp

__all__ = ["LogisticHead", "fit_logistic", "objective"]

Array = NDArray[np.float64]
_GRADIENT = 1e-10
_ITERATIONS = 2000


@dataclass(frozen=True, eq=False)
class LogisticHead:
    """Weights, and how far they are from the best ones.

    Parameters
    ----------
    weights : ndarray of shape (n_classes, n_features)
        Rows of mean zero.
    gradient_norm : float
        Frobenius norm of the gradient of the objective with equal weights of the rows.
    """

    weights: Array
    gradient_norm: float


def objective(
    weights: Array, features: Array, codes: NDArray[np.intp], lam: float, shares: Array
) -> tuple[float, Array]:
    """Return the regularised cross-entropy and its gradient.

    Parameters
    ----------
    weights : ndarray of shape (n_classes, n_features)
        Of the head.
    features : ndarray of shape (n_samples, n_features)
        Of the rows.
    codes : ndarray of int of shape (n_samples,)
        Classes of the rows.
    lam : float
        Half of it times the squared norm of `weights` is added.
    shares : ndarray of shape (n_samples,)
        Weights of the rows, of sum 1.

    Returns
    -------
    value : float
        Of the objective.
    gradient : ndarray of shape (n_classes, n_features)
        Of the objective.
    """
    logits = features @ weights.T
    totals = logsumexp(logits, axis=1)
    rows = np.arange(len(codes))
    value = shares @ (totals - logits[rows, codes]) + 0.5 * lam * (weights**2).sum()
    errors = np.exp(logits - totals[:, None])
    errors[rows, codes] -= 1.0
    return float(value), (errors * shares[:, None]).T @ features + lam * weights


def fit_logistic(
    features: Array, codes: NDArray[np.intp], n_classes: int, *, lam: float, weights: Array
) -> LogisticHead:
    """Minimise the regularised cross-entropy.

    Parameters
    ----------
    features : ndarray of shape (n_samples, n_features)
        Of the rows.
    codes : ndarray of int of shape (n_samples,)
        Classes of the rows.
    n_classes : int
        Number of classes, seen or not.
    lam : float
        Positive; the objective is strongly convex.
    weights : ndarray of shape (n_samples,)
        Non-negative weights of the rows, not all zero.

    Returns
    -------
    LogisticHead
        Rounded to single precision, so that the same rows give the same head whatever the number
        of threads; the gradient is that of the rounded head.
    """
    shape = n_classes, features.shape[1]
    shares = weights / weights.sum()

    def flat(vector: Array) -> tuple[float, Array]:
        value, gradient = objective(vector.reshape(shape), features, codes, lam, shares)
        return value, gradient.ravel()

    found = minimize(
        flat,
        np.zeros(shape).ravel(),
        jac=True,
        method="L-BFGS-B",
        options={
            "gtol": _GRADIENT,
            "ftol": 0.0,
            "maxiter": _ITERATIONS,
            "maxfun": 2 * _ITERATIONS,
            "maxcor": 30,
        },
    )
    head = found.x.reshape(shape).astype(np.float32).astype(np.float64)
    head -= head.mean(axis=0)
    equal = np.full(len(codes), 1.0 / len(codes))
    _, gradient = objective(head, features, codes, lam, equal)
    return LogisticHead(head, float(np.linalg.norm(gradient)))
