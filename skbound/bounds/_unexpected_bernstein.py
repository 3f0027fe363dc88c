"""A Bernstein bound in the observed second moment, without a variance estimate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from skbound.bounds._holdout import HoldoutBound
from skbound.bounds._inversion import rounded_up

__all__ = ["UnexpectedBernsteinBound", "unexpected_bernstein"]


def unexpected_bernstein(
    mean: float,
    second_moment: float,
    *,
    largest: float,
    n_samples: int,
    delta: float,
    divergence: float = 0.0,
) -> float:
    r"""Bound a mean by the means of the variable and of its square.

    Parameters
    ----------
    mean, second_moment : float
        Of `n_samples` independent variables, or of their averages under a posterior.
    largest : float
        What the variables never exceed; positive. They may be as small as they like.
    n_samples : int
        Number of variables.
    delta : float
        In (0, 1); it pays for the whole grid of constants.
    divergence : float, default=0.0
        Relative entropy of the posterior from the prior in nats; 0 for a fixed predictor.

    Returns
    -------
    float
        Upper bound on the expectation, not clipped.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    With ``b`` the largest value, ``0 < a < 1/b`` and ``c = (-ln(1 - a b) - a b) / (a b)^2``, every
    ``x <= b`` has ``ln(1 - a x) >= -a x - c (a x)^2``, because the ratio
    ``(ln(1 - y) + y) / y^2`` falls with ``y`` [2]_. Hence
    ``E exp(a (E X - X) - c a^2 X^2) <= exp(a E X) (1 - a E X) <= 1`` and, by Markov's inequality
    and a change of measure, with probability at least ``1 - delta``

    ``E X <= mean + c a mean(X^2) + (KL + ln(1/delta)) / (a n)`` [1]_.

    The constant must be fixed beforehand. A grid ``a = 2^-i / b`` for ``i = 1..G`` with
    ``G = ceil(log2(sqrt(n / ln(1/delta)) / 2))``, at least 1, is paid for by ``delta / G`` each.

    References
    ----------
    .. [1] Z. Mhammedi, P. Grünwald and B. Guedj, "PAC-Bayes un-expected Bernstein inequality",
       NeurIPS 2019.
    .. [2] X. Fan, I. Grama and Q. Liu, "Exponential inequalities for martingales with
       applications", Electronic Journal of Probability 20, 2015.

    Examples
    --------
    >>> round(unexpected_bernstein(0.02, 0.001, largest=1.0, n_samples=1000, delta=0.05), 4)
    0.0292
    """
    if not largest > 0.0 or n_samples < 1 or not 0.0 < delta < 1.0 or not divergence >= 0.0:
        raise ValueError(
            f"largest must be positive, n_samples at least 1, delta in (0, 1) and divergence at "
            f"least 0, got {largest!r}, {n_samples!r}, {delta!r}, {divergence!r}."
        )
    if not (mean <= largest and second_moment >= 0.0):
        raise ValueError(
            f"mean must be at most largest and second_moment at least 0, got {mean!r} and "
            f"{second_moment!r}."
        )
    size = max(1, math.ceil(math.log2(0.5 * math.sqrt(n_samples / -math.log(delta)))))
    nats = (divergence + math.log(size / delta)) / n_samples
    added = min(_added(0.5**i, second_moment / largest, largest * nats) for i in range(1, size + 1))
    return mean + rounded_up(added)


def _added(share: float, spread: float, nats: float) -> float:
    """Return what the constant ``share / largest`` adds to the mean."""
    return (-math.log1p(-share) - share) / share * spread + nats / share


@dataclass(frozen=True)
class UnexpectedBernsteinBound(HoldoutBound):
    """Bernstein bound in the observed mean square of the losses.

    Parameters
    ----------
    loss : {"zero_one", "brier"}, default="zero_one"
        Loss whose mean is bounded.

    Notes
    -----
    See :func:`unexpected_bernstein`. No variance is estimated, so nothing is lost for that; but
    the square is taken around 0, not around the mean.
    """

    key: ClassVar[str] = "unexpected_bernstein"
    method: ClassVar[str] = "unexpected Bernstein bound"

    def upper(self, losses: NDArray[np.float64], delta: float) -> float:
        """Add the width to the mean. See `HoldoutBound.upper`."""
        return unexpected_bernstein(
            float(losses.mean()),
            float(np.mean(losses**2)),
            largest=1.0,
            n_samples=losses.size,
            delta=delta,
        )
