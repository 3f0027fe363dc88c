"""Uniform stability: how much one row can change the loss of a trained predictor.

Each expression is a theorem for given constants. For a Transformer its Lipschitz and smoothness
constants are not known, so there it is no more than an expression.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = [
    "regularized_stability",
    "sgd_stability_convex",
    "sgd_stability_nonconvex",
    "sgd_stability_strongly_convex",
]


def sgd_stability_convex(
    steps: Sequence[float], *, lipschitz: float, smoothness: float, n_samples: int
) -> float:
    """Return the stability of stochastic gradient descent on convex smooth losses.

    Parameters
    ----------
    steps : sequence of float
        Learning rate of each step, on one row each; none above ``2 / smoothness``.
    lipschitz, smoothness : float
        Bounds on the norm of the loss's gradient, and on how fast that changes.
    n_samples : int
        Rows.

    Returns
    -------
    float
        ``(2 L^2 / n) sum steps`` (Hardt, Recht and Singer 2016, Theorem 3.8): the expected
        difference of risk and training loss is at most that.

    Raises
    ------
    ValueError
        If a step is too long.
    """
    longest = max(steps, default=0.0)
    if longest > 2.0 / smoothness:
        raise ValueError(
            f"Steps must be at most 2 / smoothness = {2.0 / smoothness}, got {longest}. The "
            f"theorem does not hold for longer ones; use sgd_stability_nonconvex."
        )
    return 2.0 * lipschitz**2 * math.fsum(steps) / n_samples


def sgd_stability_strongly_convex(*, lipschitz: float, curvature: float, n_samples: int) -> float:
    """Return the stability of projected gradient descent on strongly convex smooth losses.

    Parameters
    ----------
    lipschitz : float
        Bound on the norm of the loss's gradient in the set that is projected on.
    curvature : float
        Strong convexity; the constant step must be at most one over the smoothness.
    n_samples : int
        Rows.

    Returns
    -------
    float
        ``2 L^2 / (curvature n)``, whatever the number of steps (Hardt, Recht and Singer 2016,
        Theorem 3.9).
    """
    return 2.0 * lipschitz**2 / (curvature * n_samples)


def sgd_stability_nonconvex(
    n_steps: int, *, lipschitz: float, smoothness: float, rate: float, n_samples: int
) -> float:
    """Return the stability of stochastic gradient descent on smooth losses in [0, 1].

    Parameters
    ----------
    n_steps : int
        Steps ``T``, on one row each; step ``t`` is at most ``rate / t`` long.
    lipschitz, smoothness : float
        Bounds on the norm of the loss's gradient, and on how fast that changes.
    rate : float
        ``c``.
    n_samples : int
        Rows, at least 2.

    Returns
    -------
    float
        ``(1 + 1 / (beta c)) / (n - 1) (2 c L^2)^(1 / (beta c + 1)) T^(beta c / (beta c + 1))``
        (Hardt, Recht and Singer 2016, Theorem 3.12).
    """
    power = smoothness * rate
    log_size = (
        math.log(2.0 * rate * lipschitz**2) / (power + 1.0)
        + math.log(n_steps) * power / (power + 1.0)
    )  # fmt: skip
    return (1.0 + 1.0 / power) / (n_samples - 1) * math.exp(log_size)


def regularized_stability(
    *, lipschitz: float, feature_norm: float, regularization: float, n_samples: int
) -> float:
    """Return how much replacing a row changes the loss of a regularised linear predictor.

    Parameters
    ----------
    lipschitz : float
        How fast the loss changes with the prediction, in the range of predictions.
    feature_norm : float
        No row's features are longer.
    regularization : float
        ``lam`` of the objective ``mean loss + lam ||w||^2``, which the predictor minimises exactly.
    n_samples : int
        Rows.

    Returns
    -------
    float
        ``(L kappa)^2 / (lam n)``: twice what leaving the row out changes, which is the ``beta`` of
        Bousquet and Elisseeff 2002, Theorem 22.
    """
    return (lipschitz * feature_norm) ** 2 / (regularization * n_samples)
