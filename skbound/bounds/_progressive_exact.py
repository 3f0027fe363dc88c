"""A bound for few blocks: their exact binomial tails, combined."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from skbound.bounds._bound import Bound, increments
from skbound.bounds._inversion import bisect, rounded_up
from skbound.bounds._progressive import progressive_record
from skbound.evidence import Evidence, Loss, ProgressiveSample

__all__ = ["ProgressiveExactBound", "exact_upper"]

# How far the centre of the ball lies from the origin for two blocks. The larger, the closer to the
# pooled binomial tail where the blocks have equal spread, and the further where they do not.
_SHIFT = 3.0
# Cells of the radius' square. Their rounding adds about one part in a thousand to the width.
_CELLS = 1500
# With more blocks the bound would be trivial, and take long.
_MOST_BLOCKS = 200
# Counted as if numerical errors of the special functions had made every tail too small.
_SLACK = 1.0 + 1e-9


@dataclass(frozen=True)
class ProgressiveExactBound(Bound):
    r"""Bound on the mean true error of predictors that were trained in turn, for few blocks.

    For 0-1 losses and a number and sizes of blocks that were fixed beforehand. It needs no guess
    and no constant, and is the tightest bound here for two to about five blocks.

    Parameters
    ----------
    loss : "zero_one", default="zero_one"
        The only loss whose sum over a block is binomial.

    Raises
    ------
    ValueError
        For another loss.

    Notes
    -----
    Given the rows before block ``b``, the predictor of the block and its true error ``mu_b`` are
    fixed and the number ``S_b`` of its errors on the `m_b` rows is binomial. So
    ``p_b = P(Bin(m_b, mu_b) <= S_b)``, with `S_b` as observed, is at most ``x`` with a conditional
    probability of at most ``x``, whatever the earlier rows made of ``mu_b``. Hence the vector of
    ``z_b = -Phi^{-1}(p_b)`` lies in an increasing set with at most the probability that
    independent standard normal numbers do: replace the last ``p_b`` by a uniform number, then the
    one before, and so on. The set used is the outside of a ball,
    ``sum_b max(0, z_b + t_b)^2 >= c^2`` with ``t_b = T sqrt(m_b / n)``. For normal numbers its
    probability is at most that of a non-central chi-squared number with `B` degrees of freedom
    and non-centrality ``T^2`` to reach ``c^2``; `c` is the smallest number for which that is
    at most `delta`. So with probability ``1 - delta`` or more, the risks of all blocks satisfy

    ``sum_b max(0, z_b + t_b)^2 < c^2``,

    and the bound is the largest ``sum_b m_b mu_b / n`` under this condition, where ``mu_b`` as a
    function of ``z_b`` is Clopper and Pearson's upper limit at level ``Phi(-z_b)``. It is found by
    going through all ways to share ``c^2`` among the blocks, in cells whose rounding is upward.

    The binomial tail at level `delta` of all blocks together would be no bound: a later risk that
    reacts to earlier luck misses it with probability .09 at delta .05 with two blocks of 100 rows.
    To combine stagewise tails that are valid whatever earlier stages decided is the idea of
    Bauer and Köhne, "Evaluation of experiments with adaptive interim analyses", Biometrics 50,
    1994; the ball makes the combination nearly that of independent normal numbers of equal
    spread, whose level it would otherwise take the spreads to know.

    Examples
    --------
    >>> from skbound.evidence import Evidence, ProgressiveSample, Sample
    >>> sample = Sample(range(200), ([1] * 10 + [0] * 90) * 2)
    >>> blocks = ProgressiveSample(sample, [0] * 100 + [1] * 100)
    >>> evidence = Evidence(
    ...     protocol="progressive", n_fit=400, majority_share=0.5, certified=blocks
    ... )
    >>> round(ProgressiveExactBound()(evidence, 0.05).value, 4)
    0.149
    """

    key: ClassVar[str] = "progressive_exact"
    method: ClassVar[str] = "stagewise exact binomial tail bound"
    losses: ClassVar[tuple[Loss, ...]] = ("zero_one",)

    def terms(self, evidence: Evidence, delta: float) -> dict[str, float]:
        """Split the bound into the mean loss and what is added for confidence.

        Parameters
        ----------
        evidence : Evidence
            Of a progressive protocol.
        delta : float
            In (0, 1).

        Returns
        -------
        dict of str to float
            ``"empirical_loss"`` and ``"confidence"``.

        Raises
        ------
        MissingEvidenceError
            If the rows were not evaluated progressively in blocks that were fixed beforehand.
        """
        record = progressive_record(evidence, self.method, planned=True)
        return increments(empirical_loss=record.sample.error, confidence=exact_upper(record, delta))


def exact_upper(record: ProgressiveSample, delta: float) -> float:
    """Bound the mean true error of the predictors of all blocks.

    Parameters
    ----------
    record : ProgressiveSample
        With blocks that were fixed beforehand.
    delta : float
        In (0, 1).

    Returns
    -------
    float
        At most 1.
    """
    sizes = np.bincount(record.blocks)
    errors = np.bincount(record.blocks, weights=record.sample.zero_one).astype(int)
    return _largest_mean(tuple(errors.tolist()), tuple(sizes.tolist()), delta)


@lru_cache(maxsize=1024)
def _largest_mean(errors: tuple[int, ...], sizes: tuple[int, ...], delta: float) -> float:
    """Return the largest mean risk that the combined tails do not refute."""
    n, n_blocks = sum(sizes), len(sizes)
    if n_blocks > _MOST_BLOCKS:
        return 1.0
    shift = _SHIFT * math.sqrt(max(1, n_blocks - 1))
    radius = _radius_squared(n_blocks, shift, delta)
    # A share in the cell (i - 1, i] counts as i; so the cells of all blocks sum to less than this.
    reach = _CELLS + n_blocks
    shares = np.sqrt(np.arange(reach) * (radius / _CELLS))
    limits = [
        m * _upper_limits(k, m, shares - shift * math.sqrt(m / n))
        for k, m in zip(errors, sizes, strict=True)
    ]
    *others, last = limits
    largest = float((reduce(_shared, others)[::-1] + last).max() if others else last[-1])
    return min(1.0, rounded_up(largest / n))


def _shared(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each total the largest sum of two functions whose arguments have this sum."""
    return np.array([(first[: i + 1] + second[i::-1]).max() for i in range(len(first))])


def _upper_limits(k: int, m: int, z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Clopper and Pearson's upper limits at the levels ``Phi(-z)``, rounded up."""
    if k == m:
        return np.ones_like(z)
    levels = special.ndtr(-z)
    limits = np.minimum(1.0, special.betainccinv(k + 1.0, float(m - k), levels) * _SLACK)
    # The inverse is iterative; the forward function is the judge.
    limits[~(special.betaincc(k + 1.0, float(m - k), limits) <= levels)] = 1.0
    return np.maximum.accumulate(limits)


@lru_cache(maxsize=256)
def _radius_squared(n_blocks: int, shift: float, delta: float) -> float:
    """Return where the tail of the non-central chi-squared law falls to `delta`, rounded up."""
    mean = shift * shift / 2.0
    # What the terms left out sum to is below the smallest delta, 1e-300.
    orders = np.arange(math.ceil(mean + 40.0 * math.sqrt(mean) + 400.0))
    weights = np.exp(special.xlogy(orders, mean) - mean - special.gammaln(orders + 1.0))

    def exceeds(x: float) -> bool:
        # A Poisson mixture of central laws: all terms are positive, none cancels another.
        tails = special.gammaincc(n_blocks / 2.0 + orders, x / 2.0)
        return bool(weights @ tails * _SLACK > delta)

    top = 1.0
    while exceeds(top):
        top *= 2.0
    _, outside = bisect(exceeds, 0.0, top)
    return rounded_up(outside)
