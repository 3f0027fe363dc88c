"""Relative-entropy bounds on variables of several values, split into variables of two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from skbound.bounds._holdout import HoldoutBound
from skbound.bounds._inversion import kl_inverse_lower, kl_inverse_upper

__all__ = ["SplitKLBound", "split_kl_finite", "split_kl_upper"]


def split_kl_upper(
    above: float, below: float, *, low: float, middle: float, high: float, nats: float
) -> float:
    """Bound the mean of a variable that is split at one point.

    A variable ``X`` in [`low`, `high`] is `middle` plus what it exceeds `middle` by, minus what it
    falls short of it by. Each part, divided by its own range, is a variable in [0, 1].

    Parameters
    ----------
    above : float
        Mean of ``max(0, X - middle)``, in [0, high - middle].
    below : float
        Mean of ``max(0, middle - X)``, in [0, middle - low].
    low, middle, high : float
        ``low <= middle <= high``, not all equal; fixed before the variables are seen.
    nats : float
        Radius of the relative entropy that holds for both parts at once: for `n` independent
        variables ``ln(2 / delta) / n``, with a change of measure
        ``(KL + ln(2 xi(n) / delta)) / n``.

    Returns
    -------
    float
        Upper bound on the mean of ``X``, in units of ``X``, at most `high`.

    Raises
    ------
    ValueError
        If the points are not in order or a mean is out of range.

    References
    ----------
    .. [1] Y.-S. Wu and Y. Seldin, "Split-kl and PAC-Bayes-split-kl inequalities for ternary
       random variables", NeurIPS 2022.

    Examples
    --------
    A thousand ternary values, 50 of them -1 and 50 of them 1:

    >>> import math
    >>> nats = math.log(2 / 0.05) / 1000
    >>> round(split_kl_upper(0.05, 0.05, low=-1.0, middle=0.0, high=1.0, nats=nats), 4)
    0.0375
    """
    if not low <= middle <= high or not low < high:
        raise ValueError(
            f"low, middle and high must be in this order, not all equal, got {low!r}, {middle!r}, "
            f"{high!r}."
        )
    value = middle
    if high > middle:
        value += (high - middle) * kl_inverse_upper(_share(above, high - middle), nats)
    if middle > low:
        value -= (middle - low) * kl_inverse_lower(_share(below, middle - low), nats)
    # The two parts may cancel, so the margin for rounding is relative to their size.
    return min(high, value + 1e-15 * (abs(low) + abs(high)))


def _share(part: float, whole: float) -> float:
    # A mean of exact values may exceed their maximum in its last bits.
    if not 0.0 <= part <= whole * (1.0 + 1e-12):
        raise ValueError(f"a mean part must lie in [0, {whole}], got {part!r}.")
    return min(1.0, part / whole)


def split_kl_finite(values: Sequence[float], tails: Sequence[float], nats: float) -> float:
    """Bound the mean of a variable with finitely many values.

    The variable is its smallest value plus, for each further value, the step up to it times the
    indicator of reaching it.

    Parameters
    ----------
    values : sequence of float
        All possible values, ascending.
    tails : sequence of float
        For each value but the first, the mean of the indicator that the variable reaches it.
    nats : float
        Radius of the relative entropy that holds for all ``len(values) - 1`` indicators at once,
        for example ``(KL + ln((len(values) - 1) xi(n) / delta)) / n``.

    Returns
    -------
    float
        Upper bound on the mean, in units of the values, at most the largest of them.

    Raises
    ------
    ValueError
        If the values do not ascend, the lengths do not match or a tail is no probability.

    References
    ----------
    .. [1] Y.-S. Wu, Y. Zhang, B.-E. Chérief-Abdellatif and Y. Seldin, "Recursive PAC-Bayes: a
       frequentist approach to sequential prior updates with no information loss", NeurIPS 2024.

    Examples
    --------
    >>> round(split_kl_finite([-0.5, 0.0, 0.5, 1.0], [0.96, 0.10, 0.04], 0.001), 4)
    0.0657
    """
    steps = np.diff(values)
    if len(values) < 2 or not (steps > 0.0).all() or len(tails) != len(steps):
        raise ValueError(
            f"values must ascend and there must be one tail for each value but the first, got "
            f"values {list(values)} and {len(tails)} tails."
        )
    parts = [s * kl_inverse_upper(t, nats) for s, t in zip(steps, tails, strict=True)]
    size = abs(values[0]) + abs(values[-1])
    return min(float(values[-1]), math.fsum([values[0], *parts]) + 1e-15 * size)


@dataclass(frozen=True)
class SplitKLBound(HoldoutBound):
    """Relative-entropy bound on the parts of a loss above and below a point.

    Parameters
    ----------
    loss : {"zero_one", "brier"}, default="zero_one"
        Loss whose mean is bounded.
    middle : float, default=0.25
        Where the loss is split, in (0, 1); fixed before the losses are seen.

    Raises
    ------
    ValueError
        If the name of the loss is unknown or `middle` is out of range.

    Notes
    -----
    See :func:`split_kl_upper` with ``nats = ln(2/delta) / n``: each side takes half of delta. It
    gains on the plain relative entropy where losses are mostly near 0 and near 1 is rare.
    """

    key: ClassVar[str] = "split_kl"
    method: ClassVar[str] = "split-kl bound"

    middle: float = 0.25

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.middle < 1.0:
            raise ValueError(f"middle must lie in (0, 1), got {self.middle!r}.")

    def upper(self, losses: NDArray[np.float64], delta: float) -> float:
        """Invert the relative entropy on both sides. See `HoldoutBound.upper`."""
        return split_kl_upper(
            float(np.maximum(losses - self.middle, 0.0).mean()),
            float(np.maximum(self.middle - losses, 0.0).mean()),
            low=0.0,
            middle=self.middle,
            high=1.0,
            nats=math.log(2.0 / delta) / losses.size,
        )
