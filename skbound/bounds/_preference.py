"""What picking rows by preference costs: the weight of all samples that pick the same rows."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from skbound.bounds._inversion import bisect, rounded_up

__all__ = ["log_psi_function", "peak", "pick_to_learn_risk"]

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
# Rounding of a sum of logarithms, per term, counted on the safe side.
_SLACK = 1e-15


def pick_to_learn_risk(n_picked: int, n_rows: int, *, log_delta: float) -> float:
    """Return the risk that consistent picking of so many rows rules out.

    Parameters
    ----------
    n_picked : int
        Rows that were picked, from 0 to `n_rows`.
    n_rows : int
        Rows that could have been picked, at least 1; all others are predicted rightly.
    log_delta : float
        Natural logarithm of the failure probability, negative.

    Returns
    -------
    float
        Root of the equation of Campi and Garatti (see `PickToLearnBound`), rounded up; 1.0 if all
        rows were picked.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> import math
    >>> round(pick_to_learn_risk(326, 24_000, log_delta=math.log(0.01)), 6)
    0.016521
    """
    if n_rows < 1 or not 0 <= n_picked <= n_rows:
        raise ValueError(
            f"n_picked must lie between 0 and n_rows >= 1, got {n_picked} and {n_rows}."
        )
    if not -math.inf < log_delta < 0.0:
        raise ValueError(f"log_delta must be negative and finite, got {log_delta!r}.")
    if n_picked == n_rows:
        return 1.0
    log_psi = log_psi_function(n_picked, n_rows, log_delta)
    _, outside = bisect(lambda p: log_psi(p) < 0.0, 0.0, 1.0)
    return min(1.0, rounded_up(outside))


def log_psi_function(m: int, n: int, log_delta: float) -> Callable[[float], float]:
    """Return the logarithm of Psi of `PickToLearnBound`, rounded down.

    Parameters
    ----------
    m, n : int
        Rows picked, and rows that could have been picked; fewer of the former.
    log_delta : float
        Natural logarithm of the failure probability.

    Returns
    -------
    callable
        A rising function of ``p`` in [0, 1).
    """
    sizes = np.arange(n, m, -1, dtype=np.float64)
    # The logarithm of C(M, m) / C(n, m) for M = n - 1, ..., m.
    log_ratios = np.cumsum(np.log1p(-m / sizes)) if m else np.zeros(n)
    distances = np.arange(1.0, n - m + 1.0)
    constant = log_delta - math.log(n) - _SLACK * n

    def log_psi(p: float) -> float:
        exponents = log_ratios - distances * math.log1p(-p)
        top = float(exponents.max())
        return constant + top + math.log(float(np.exp(exponents - top).sum()))

    return log_psi


def peak(f: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Narrow a bracket around the largest value of a concave function by golden section.

    Parameters
    ----------
    f : callable
        Concave between the end points.
    low, high : float
        End points, in this order.

    Returns
    -------
    low, high : float
        Closer by a factor of ten thousand million.
    """
    end = 1e-10 * (high - low)
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = f(left), f(right)
    while high - low > end:
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = f(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = f(right)
    return low, high
