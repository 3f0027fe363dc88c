"""Schatten norms of weight matrices, and a count of parameters that adapts to their spectra."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from skbound.evidence import NetRecord
from skbound.measures._margins import log_inverse_margin, margin_note
from skbound.measures._measure import ComplexityMeasure

__all__ = ["SchattenSum", "SpectrumAdaptive", "score_spectra"]

_PARTNERS = {"query": "key", "key": "query"}
_INDICES = np.linspace(0.0, 2.0, 41)


def score_spectra(net: NetRecord) -> list[tuple[tuple[int, int], NDArray[np.float64]]]:
    """Return shapes and singular values of all maps, queries and keys of a head multiplied.

    The scores of a head of attention depend on its queries and keys through ``W_Q^T W_K`` only,
    which does not change when one is multiplied by a number and the other divided by it.

    Parameters
    ----------
    net : NetRecord
        With layers; of a Transformer, also its number of heads.

    Returns
    -------
    list of (tuple of 2 int, ndarray)
        One per head in the place of each pair of layers ``"<name>.query"`` and ``"<name>.key"``,
        one per other matrix. Without a number of heads, or for maps of unequal shapes, queries
        and keys stay apart.
    """
    layers, n_heads = {layer.name: layer for layer in net.layers}, net.architecture.n_heads
    found = []
    for name, layer in layers.items():
        path, _, role = name.rpartition(".")
        other = layers.get(f"{path}.{_PARTNERS[role]}") if role in _PARTNERS else None
        if n_heads is None or other is None or other.weight.shape != layer.weight.shape:
            found.append((layer.weight.shape, layer.singular_values))
        elif role == "query":
            for q, k in zip(
                np.split(layer.weight, n_heads), np.split(other.weight, n_heads), strict=True
            ):
                values = np.linalg.svd(q.T @ k / math.sqrt(len(q)), compute_uv=False)
                # The others are 0 but for rounding.
                found.append(((q.shape[1], k.shape[1]), np.asarray(values[: len(q)], np.float64)))
    return found


class SchattenSum(ComplexityMeasure):
    """Sum over maps of ``sum_k (s_k / s_1)^p``: the rank at p = 0, the stable rank at p = 2.

    Queries and keys of a head are multiplied first. Not changed by multiplying a map by a number.

    Parameters
    ----------
    index : float, default=1.0
        ``p``, at least 0.
    """

    depends_on = ("layers",)
    why_no_bound = "It ignores the data and the size of the weights."
    source = "Schatten quantities of layers, as in Sakai, Imaizumi 2026"

    def __init__(self, index: float = 1.0) -> None:
        self.index = index
        self.key = f"schatten_{index:g}_sum"

    def value(self, net: NetRecord) -> float:
        """Return the sum; NaN if a map is zero."""
        return math.fsum(
            math.nan if values[0] == 0.0 else float(_power_sum(values / values[0], self.index))
            for _, values in score_spectra(net)
        )


class SpectrumAdaptive(ComplexityMeasure):
    r"""Entropy of all weight matrices, each with the Schatten index that makes it smallest.

    A map with ``a`` outputs, ``b`` inputs and singular values ``s`` costs
    ``min over p in [0, 2] of (a + b)^(1 - p/2) sum_k (K s_k / s_1)^p``, where ``K`` is the product
    of the spectral norms of all maps, queries and keys left out, over the margin. At p = 0 that is
    its number of free parameters, at p = 2 a margin term of Frobenius norms.

    Notes
    -----
    An own proxy in the spirit of the source, whose exact expression is another one. Derivation of a
    map's cost, up to constants: of its singular values at most ``sum_k (s_k / t)^p`` exceed ``t``;
    those take ``a + b`` parameters each. The rest has a squared Frobenius norm of at most
    ``t^(2-p) sum_k s_k^p``, which costs its product with ``(K / s_1)^2``. The best ``t`` makes both
    equal. For Transformers ``K`` is no Lipschitz constant, and rows are taken to have norm 1.
    """

    key = "spectrum_adaptive"
    depends_on = ("layers", "margins")
    source = "After Sakai, Imaizumi 2026 (arXiv 2605.07297), abstract; own expression"
    why_no_bound = "A sketch: constants, residual sums, norms and softmax are left out."

    def value(self, net: NetRecord) -> float:
        """Return the sum; NaN if a map is zero."""
        inverse, spectra = log_inverse_margin(net), score_spectra(net)
        if any(values[0] == 0.0 for _, values in spectra):
            return math.nan
        spectral = [layer.spectral_norm for layer in net.layers if layer.role not in _PARTNERS]
        log_gain = math.fsum(map(math.log, spectral)) + inverse
        return math.fsum(_cost(shape, values / values[0], log_gain) for shape, values in spectra)

    def note(self, net: NetRecord) -> str:
        """Return what is wrong with the margin, in which case parameters are counted."""
        return margin_note(net)


def _power_sum(values: NDArray[np.float64], index: float) -> float:
    return float((values[values > 0.0] ** index).sum())


def _cost(shape: tuple[int, int], relative: NDArray[np.float64], log_gain: float) -> float:
    costs = [_power_sum(relative, 0.0) * sum(shape)]
    if log_gain < math.inf:
        for p in _INDICES[1:]:
            log_cost = (1.0 - p / 2.0) * math.log(sum(shape)) + p * log_gain
            log_cost += math.log(_power_sum(relative, p))
            costs.append(math.exp(min(log_cost, 700.0)))
    return min(costs)
