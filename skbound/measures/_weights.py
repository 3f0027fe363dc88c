"""How the weights of a net are distributed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skbound.evidence import Layer, NetRecord

__all__ = ["WeightStatistics", "weight_statistics"]

_LEVELS = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightStatistics:
    """Distribution of the entries of some weight matrices.

    Parameters
    ----------
    n_weights : int
        How many entries.
    mean, std : float
        Mean and standard deviation, divided by the number of entries.
    skewness, excess_kurtosis : float
        Third and fourth standardised moments, the latter less 3: both are 0 for a Gaussian. NaN
        where all entries are alike.
    levels, quantiles : ndarray
        Shares in [0, 1], and the quantiles at them.
    """

    n_weights: int
    mean: float
    std: float
    skewness: float
    excess_kurtosis: float
    levels: NDArray[np.float64]
    quantiles: NDArray[np.float64]


def weight_statistics(
    net: NetRecord | Sequence[Layer], levels: Sequence[float] = _LEVELS
) -> dict[str, WeightStatistics]:
    """Describe the weights of a net per role of their matrices.

    The mean-field view takes the weights of a wide layer for draws from a distribution that moves
    during training. These are its moments and quantiles at one moment; compare them with those of
    the initial weights, or over epochs. They bound nothing.

    Parameters
    ----------
    net : NetRecord or sequence of Layer
        Trained net.
    levels : sequence of float, default=(0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1)
        At which quantiles are taken.

    Returns
    -------
    dict of str to WeightStatistics
        By role ("query", "expand", ...), in the order of the net; matrices of one role in several
        blocks are pooled.

    Raises
    ------
    ValueError
        If a level is not in [0, 1].
    """
    shares = np.asarray(levels, np.float64)
    if not ((shares >= 0.0) & (shares <= 1.0)).all():
        raise ValueError(f"levels must be in [0, 1], got {levels}.")
    pooled: dict[str, list[NDArray[np.float64]]] = {}
    for layer in net.layers if isinstance(net, NetRecord) else net:
        pooled.setdefault(layer.role, []).append(layer.weight.ravel())
    return {role: _describe(np.concatenate(parts), shares) for role, parts in pooled.items()}


def _describe(entries: NDArray[np.float64], levels: NDArray[np.float64]) -> WeightStatistics:
    mean, std = float(entries.mean()), float(entries.std())
    # Rounding alone spreads entries that are all alike.
    varied = std > 1e-14 * abs(mean)
    standard = (entries - mean) / std if varied else np.full_like(entries, np.nan)
    return WeightStatistics(
        n_weights=entries.size,
        mean=mean,
        std=std,
        skewness=float((standard**3).mean()),
        excess_kurtosis=float((standard**4).mean()) - 3.0,
        levels=levels,
        quantiles=np.quantile(entries, levels),
    )
