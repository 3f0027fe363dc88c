"""Pointwise Riemannian dimension: how many directions of the weights the features can see."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skbound.evidence import LayerFeatures, NetRecord
from skbound.measures._measure import ComplexityMeasure

__all__ = ["PRDProxy", "PointwiseRiemannianDimension", "riemannian_dimension"]

_SOURCE = "Li, Xu 2026, arXiv 2605.18598, as in their experiments"


def riemannian_dimension(
    eigenvalues: Sequence[NDArray[np.float64]],
    log_suffixes: Sequence[float],
    n_outputs: Sequence[int],
    *,
    weight_square: float,
    scale: float,
) -> float:
    r"""Return the pointwise Riemannian dimension of a trained net at one scale.

    Parameters
    ----------
    eigenvalues : sequence of ndarray
        Of the second moments of what each of the `L` layers reads.
    log_suffixes : sequence of float
        Logarithm of the squared factor by which the layers after each one can stretch.
    n_outputs : sequence of int
        Length ``d_l`` of each layer's output.
    weight_square : float
        ``C``, the sum of the squared Frobenius norms of all layers.
    scale : float
        ``eps``, positive.

    Returns
    -------
    float
        ``sum_l d_l sum_{k: mu > t} ln(mu_{l,k} / t)`` with ``mu_{l,k} = L * suffix_l *
        eigenvalue_k`` and ``t = eps^2 / C``. It does not increase with `scale`.

    Examples
    --------
    One layer with two outputs: ``2 (ln(8 / 1) + ln(2 / 1))``.

    >>> round(
    ...     riemannian_dimension(
    ...         [np.array([4.0, 1.0])], [0.0], [2], weight_square=2.0, scale=1.0
    ...     ), 6
    ... )
    5.545177
    """
    shift = math.log(len(eigenvalues)) + math.log(weight_square) - 2.0 * math.log(scale)
    with np.errstate(divide="ignore"):
        return math.fsum(
            width * float(np.maximum(np.log(values) + suffix + shift, 0.0).sum())
            for values, suffix, width in zip(eigenvalues, log_suffixes, n_outputs, strict=True)
        )


def _least(
    net: NetRecord, found: Sequence[LayerFeatures], suffixes: Sequence[float], n: int
) -> float:
    """Minimise ``eps + sqrt(dimension / n_samples)`` over a grid of scales."""
    layers = {layer.name: layer for layer in net.layers}
    spectra = [features.eigenvalues for features in found]
    widths = [layers[features.name].weight.shape[0] for features in found]
    square = math.fsum(layers[features.name].frobenius_norm ** 2 for features in found)
    tops = [_log(float(v.max())) + s for v, s in zip(spectra, suffixes, strict=True)]
    top = 0.5 * (max(tops) + math.log(len(found)) + _log(square))
    low = -0.5 * math.log(net.n_samples)
    if top <= low:
        # No direction is seen at any scale of the grid.
        return math.exp(low)
    # The sum need not have a single minimum, so no search by bisection.
    return min(
        float(eps)
        + math.sqrt(
            riemannian_dimension(spectra, suffixes, widths, weight_square=square, scale=float(eps))
            / net.n_samples
        )
        for eps in np.exp(np.linspace(low, top, n))
    )


def _log(value: float) -> float:
    return math.log(value) if value > 0.0 else -math.inf


@dataclass(frozen=True)
class PointwiseRiemannianDimension(ComplexityMeasure):
    """Least ``eps + sqrt(d_R(eps) / n)`` of a fully connected net.

    The layers after one can stretch by at most the product of their spectral norms. Offsets are
    not counted. Rescaling layers against each other changes the sum of squares and each layer's
    share, not the product of a suffix and its features.

    Parameters
    ----------
    n_scales : int, default=200
        Points of the grid of ``eps``, from ``1 / sqrt(n)`` to where nothing is counted.
    """

    n_scales: int = 200

    key = "riemannian_dimension"
    depends_on = ("layers", "chain_features")
    source = _SOURCE
    why_no_bound = "The constants and logarithms of the theorem are left out."

    def value(self, net: NetRecord) -> float:
        """Return the least sum."""
        found = net.chain_features
        assert found is not None
        logs = [2.0 * _log(layer.spectral_norm) for layer in net.layers]
        suffixes = [math.fsum(logs[place + 1 :]) for place in range(len(logs))]
        return float(_least(net, found, suffixes, self.n_scales))


@dataclass(frozen=True)
class PRDProxy(ComplexityMeasure):
    """`PointwiseRiemannianDimension` of any net of linear layers, with measured stretching.

    A heuristic for Transformers: each linear map counts as a layer, tokens of a row are summed in
    its second moment, and the product of the spectral norms after a layer is replaced by the
    largest norm of the Jacobian of the logits by the layer's output that was seen at up to 200
    rows. Gains, offsets, position codes and the codes of a table's columns are not counted.

    Parameters
    ----------
    n_scales : int, default=200
        Points of the grid of ``eps``.
    """

    n_scales: int = 200

    key = "prd_proxy"
    depends_on = ("layers", "features", "downstream_norms")
    source = _SOURCE + "; the adaptation is this package's own"
    why_no_bound = "No theorem allows measured slopes in place of products of spectral norms."

    def value(self, net: NetRecord) -> float:
        """Return the least sum."""
        found, norms = net.features, net.downstream_norms
        assert found is not None
        assert norms is not None
        suffixes = [2.0 * _log(float(norm)) for norm in norms]
        return float(_least(net, found, suffixes, self.n_scales))
