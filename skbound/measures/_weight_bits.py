"""How many bits the weights take."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from skbound.evidence import NetRecord
from skbound.measures._measure import ComplexityMeasure

__all__ = ["WeightBits", "quantised_bits"]


def quantised_bits(weight: NDArray[np.float64], precision: float) -> float:
    """Return the length of a code for a matrix, rounded to multiples of a share of its size.

    Parameters
    ----------
    weight : ndarray
        Of any shape.
    precision : float
        Step between levels over the root mean square of the entries, positive.

    Returns
    -------
    float
        Bits: 32 for the step, 64 for the smallest and largest level, then how often each level
        between them occurs and which entries have it, both among all equally likely ways.

    Raises
    ------
    ValueError
        If the precision is not positive.
    """
    if not precision > 0.0:
        raise ValueError(f"precision must be positive, got {precision!r}.")
    step = precision * float(np.sqrt(np.mean(weight**2)))
    if step == 0.0:
        return 96.0
    levels = np.rint(weight / step)
    _, counts = np.unique(levels, return_counts=True)
    n, n_levels = weight.size, float(levels.max() - levels.min()) + 1.0
    log_counts = gammaln(n + n_levels) - gammaln(n + 1.0) - gammaln(n_levels)
    log_places = gammaln(n + 1.0) - gammaln(counts + 1.0).sum()
    return 96.0 + float(log_counts + log_places) / math.log(2.0)


class WeightBits(ComplexityMeasure):
    """Bits of all weight matrices after rounding, plus 32 per parameter that is in none.

    Multiplying a matrix by a number does not change it.

    Parameters
    ----------
    precision : float, default=0.1
        Step between levels over the root mean square of a matrix's entries.
    """

    key = "weight_bits"
    depends_on = ("layers", "uncovered")
    source = "Rissanen 1978; two-part code with enumerative counts, Cover 1973"
    why_no_bound = (
        "The rounded net need not predict as the net does. protocol='description_length' certifies "
        "the net that is decoded."
    )

    def __init__(self, precision: float = 0.1) -> None:
        self.precision = precision

    def value(self, net: NetRecord) -> float:
        """Return the bits."""
        bits = math.fsum(quantised_bits(layer.weight, self.precision) for layer in net.layers)
        return bits + 32.0 * sum(net.uncovered.values())
