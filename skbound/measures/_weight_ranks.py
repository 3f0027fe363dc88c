"""Effective ranks of weight matrices. Multiplying a matrix by a number changes none of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skbound.evidence import NetRecord
from skbound.measures._measure import ComplexityMeasure
from skbound.measures._ranks import EffectiveRanks, effective_ranks

__all__ = ["WeightRank", "threshold_rank", "weight_ranks"]

_SOURCES = {
    "entropy": "Roy, Vetterli 2007, Definition 1",
    "participation": "Participation ratio of squared singular values",
    "nuclear": "Squared nuclear over squared Frobenius norm",
    "threshold": "Singular values of at least a hundredth of the largest",
}


def threshold_rank(singular_values: NDArray[np.float64], share: float = 0.01) -> int:
    """Return how many singular values are not small.

    Parameters
    ----------
    singular_values : ndarray of shape (n,)
        In any order, not negative.
    share : float, default=0.01
        Of the largest one, in (0, 1].

    Returns
    -------
    int
        How many are positive and at least that share of the largest; 0 for the zero matrix.

    Examples
    --------
    >>> threshold_rank(np.array([2.0, 1.0, 0.001]))
    2
    """
    largest = singular_values.max()
    return int(((singular_values >= share * largest) & (singular_values > 0.0)).sum())


def weight_ranks(net: NetRecord) -> dict[str, EffectiveRanks]:
    """Return the effective ranks of every weight matrix.

    Parameters
    ----------
    net : NetRecord
        With layers.

    Returns
    -------
    dict of str to EffectiveRanks
        By the name of the layer; NaN for a matrix that is zero.
    """
    return {layer.name: effective_ranks(layer.singular_values**2) for layer in net.layers}


class WeightRank(ComplexityMeasure):
    """Mean over weight matrices of an effective rank.

    The sum of stable ranks is `StableRankSum`.

    Parameters
    ----------
    kind : {"entropy", "participation", "nuclear", "threshold"}, default="entropy"
        As in `EffectiveRanks`; "threshold" counts the singular values of at least a hundredth of
        the matrix's largest.
    """

    depends_on = ("layers",)
    why_no_bound = "It ignores the data and the size of the weights."

    def __init__(self, kind: str = "entropy") -> None:
        self.kind = kind
        self.key = f"weight_{kind}_rank"
        self.source = _SOURCES[kind]

    def value(self, net: NetRecord) -> float:
        """Return the mean."""
        if self.kind == "threshold":
            return float(np.mean([threshold_rank(layer.singular_values) for layer in net.layers]))
        return float(np.mean([getattr(ranks, self.kind) for ranks in weight_ranks(net).values()]))
