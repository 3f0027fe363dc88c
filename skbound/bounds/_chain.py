"""A margin bound for chains of linear maps and 1-Lipschitz functions, from norms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skbound.bounds._inversion import rounded_up

__all__ = ["ChainBound", "chain_upper"]

_EXPONENTS = range(-60, 61)


@dataclass(frozen=True, kw_only=True)
class ChainBound:
    """An upper bound on the error of a chain, and what it consists of.

    ``float(bound)`` is their sum.

    Parameters
    ----------
    margin_error : float
        Mean ramp loss on the rows at the chosen margin, in [0, 1].
    complexity : float
        Twice the bound on the Rademacher complexity; infinite where it overflows.
    confidence : float
        What the level and the choice of norms and margin cost.
    margin : float
        Margin that was chosen.
    """

    margin_error: float
    complexity: float
    confidence: float
    margin: float

    def __float__(self) -> float:
        return self.margin_error + self.complexity + self.confidence

    @property
    def vacuous(self) -> bool:
        """Whether it says nothing, as it is at least 1."""
        return float(self) >= 1.0


def chain_upper(
    margins: NDArray[np.float64],
    *,
    spectral_norms: Sequence[float],
    distances: Sequence[float],
    input_norm: float,
    widths: Sequence[int],
    delta: float,
) -> ChainBound:
    r"""Bound the error of a chain of linear maps that was trained on the very rows.

    With probability at least ``1 - delta`` over n independent rows, ``x -> A_L s(.. s(A_1 x))``
    misclassifies a new row with a probability of at most the result, whatever training did. In
    practice it is far above 1.

    Parameters
    ----------
    margins : ndarray of shape (n,)
        Logit of the label minus the largest other logit, for all rows.
    spectral_norms : sequence of L float
        Largest singular values of ``A_1 .. A_L``, not rounded down.
    distances : sequence of L float
        ``||(A_i - M_i)^T||_{2,1}``: the sum of the Euclidean norms of the rows of ``A_i - M_i``.
        The reference ``M_i`` must not depend on the rows; the weights before training will do.
    input_norm : float
        ``||X||_F``: root of the sum of the squares of all inputs of all rows.
    widths : sequence of L + 1 int
        Numbers per row before, between and after the maps.
    delta : float
        In (0, 1).

    Returns
    -------
    ChainBound
        At the margin, among powers of 2, at which it is smallest.

    Raises
    ------
    ValueError
        If numbers are out of range or of unequal counts.

    Notes
    -----
    Between the maps stand 1-Lipschitz functions with ``s(0) = 0``, such as ReLU. The maps have no
    biases; a bias belongs to the matrix of a map that is extended by a row and a column for the
    constant 1, which changes both norms. Transformers are no such chains.

    The theorem is that of [1]_, theorem 1.1 and lemma A.8, made explicit. For fixed ``s_i``,
    ``b_i`` and ``g``, uniformly over chains with no larger norms,

    .. math::

        R \le \hat R_g + 2 \hat{\mathfrak R}
            + 3 \sqrt{\frac{\ln(1/\delta)}{2 n}}, \qquad
        2 \hat{\mathfrak R} \le \min_a \frac{8 a}{\sqrt n}
            + \frac{24 Q}{n} \ln\frac{\sqrt n}{a}, \qquad
        Q = \frac{\sqrt 2}{g} \lVert X \rVert_F \sqrt{\ln(2 W^2 + 1)}
            \prod_i s_i \Bigl(\sum_i (b_i / s_i)^{2/3}\Bigr)^{3/2}

    with ``W`` the largest width. Where the constants come from:

    - A point of a convex hull of D points of norm ``r``, and of 0, is within ``e`` of the mean of
      ``ceil(r^2 / e^2) - 1`` of them (Maurey): the variance of one draw is ``r^2`` less the
      squared norm of the point, and a point within ``e`` of 0 needs none. So ``ln N <= (r^2 / e^2)
      ln(D + 1)``, with ``D = 2 W^2`` and ``r = ||X||_F b`` for ``X A^T`` (lemma 3.2).
    - Covers of the layers are nested. Projecting a cover on the convex set of maps with
      ``||A|| <= s`` keeps its distance; the best shares of ``e`` give theorem 3.3.
    - The margin is ``sqrt(2)``-Lipschitz in the logits, the ramp loss ``1 / g``-Lipschitz in it.
      The paper has 2 in place of ``sqrt(2)``.
    - Dudley's integral (lemma A.5) has the minimiser ``a = 3 Q / sqrt(n)``. The paper takes
      ``a = 1 / n``, which gives its ``72 ln(2 W) ln(n) ||X||_F / (g n)``.
    - ``sup(R - R_g) - 2 Rad`` changes by at most ``3 / n`` with a row: 3 and ``ln(1/delta)``.

    Norms and margin are known only after training. As in lemma A.9, ``s_i`` and ``b_i`` are
    rounded up to multiples k of ``1 / L`` at the price of ``ln k (k + 1)`` each, and ``g = 2^j`` at
    that of ``ln 1.5 (|j| + 1)(|j| + 2)``. ``||X||_F`` needs none: the complexity is that of the
    rows themselves.

    References
    ----------
    .. [1] P. L. Bartlett, D. J. Foster and M. Telgarsky, "Spectrally-normalized margin bounds for
       neural networks", NeurIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> bound = chain_upper(
    ...     np.full(1000, 4.0), spectral_norms=[2.0, 1.5], distances=[3.0, 2.0], input_norm=30.0,
    ...     widths=[10, 16, 2], delta=0.05,
    ... )
    >>> bound.vacuous
    True
    """
    _check(margins, spectral_norms, distances, input_norm, widths, delta)
    n, depth = len(margins), len(spectral_norms)
    s_units = [max(1, math.ceil(rounded_up(s * depth))) for s in spectral_norms]
    b_units = [max(1, math.ceil(rounded_up(b * depth))) for b in distances]
    spent = math.fsum(math.log(k) + math.log(k + 1) for k in (*s_units, *b_units))
    ratios = math.fsum((b / s) ** (2.0 / 3.0) for b, s in zip(b_units, s_units, strict=True))
    # Logarithm of Q g.
    log_gain = (
        math.log(math.sqrt(2.0 * math.log(2.0 * max(widths) ** 2 + 1.0)))
        + (math.log(input_norm) if input_norm > 0.0 else -math.inf)
        + math.fsum(math.log(k) - math.log(depth) for k in s_units)
        + 1.5 * math.log(ratios)
    )
    found = []
    for j in _EXPONENTS:
        price = spent + math.log(1.5 * (abs(j) + 1) * (abs(j) + 2)) - math.log(delta)
        found.append(
            ChainBound(
                margin_error=float(np.mean(np.clip(1.0 - margins / 2.0**j, 0.0, 1.0))),
                complexity=_complexity(log_gain - j * math.log(2.0), n),
                confidence=3.0 * math.sqrt(price / (2.0 * n)),
                margin=2.0**j,
            )
        )
    return min(found, key=float)


def _complexity(log_q: float, n: int) -> float:
    # The infimum over a in (0, sqrt(n)] of 8 a / sqrt(n) + (24 Q / n) ln(sqrt(n) / a).
    if log_q + math.log(3.0) >= math.log(n):
        return 8.0
    q = math.exp(log_q)
    return 0.0 if q == 0.0 else 24.0 * q / n * (1.0 + math.log(n) - math.log(3.0) - log_q)


def _check(
    margins: NDArray[np.float64],
    spectral_norms: Sequence[float],
    distances: Sequence[float],
    input_norm: float,
    widths: Sequence[int],
    delta: float,
) -> None:
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must lie in (0, 1), got {delta!r}.")
    if not len(spectral_norms) == len(distances) == len(widths) - 1 >= 1:
        raise ValueError(
            f"L maps have L spectral norms, L distances and L + 1 widths, got "
            f"{len(spectral_norms)}, {len(distances)} and {len(widths)}."
        )
    numbers = np.array([*spectral_norms, *distances, input_norm], np.float64)
    if not (np.isfinite(numbers) & (numbers >= 0.0)).all():
        raise ValueError(f"Norms must be finite and not negative, got {numbers.tolist()}.")
    if len(margins) < 1 or not np.isfinite(margins).all():
        raise ValueError("margins must be finite numbers of at least one row.")
    if min(widths) < 1:
        raise ValueError(f"widths must be at least 1, got {list(widths)}.")
