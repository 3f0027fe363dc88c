"""Expressions of the form ``sqrt(VC / n)``."""

from __future__ import annotations

import math

from skbound.evidence import NetRecord
from skbound.measures._measure import LogMeasure

__all__ = ["VCPfaffian", "VCPiecewiseLinear"]


class VCPiecewiseLinear(LogMeasure):
    """``sqrt(P L ln(P) / n)`` for ``P`` parameters in ``L`` weight matrices.

    ``P L ln P`` is, up to a constant, the VC dimension of nets with piecewise linear activations.
    """

    key = "vc_piecewise_linear"
    depends_on = ("layers",)
    source = "Bartlett, Harvey, Liaw and Mehrabian 2019, Theorem 7"
    why_no_bound = (
        "The order of growth of a VC dimension without its constant, for piecewise linear nets "
        "with two classes; softmax and GELU are not piecewise linear."
    )

    def log_value(self, net: NetRecord) -> float:
        """Return the logarithm of the root."""
        n_parameters = max(2, net.architecture.n_parameters)
        dimension = n_parameters * len(net.layers) * math.log(n_parameters)
        return 0.5 * (math.log(dimension) - math.log(net.n_samples))


class VCPfaffian(LogMeasure):
    """``P U / sqrt(n)`` for ``P`` parameters and ``U`` units.

    ``P^2 U^2`` is, up to a constant, the best known bound on the VC dimension of nets that compute
    exponentials, as softmax does. A unit is an output of a weight matrix at one token, or one
    weight of attention.
    """

    key = "vc_pfaffian"
    depends_on = ("layers",)
    source = "Karpinski and Macintyre 1997, Theorem 2"
    why_no_bound = "The order of growth of a bound on a VC dimension, without its constant."

    def log_value(self, net: NetRecord) -> float:
        """Return the logarithm of the product."""
        sizes = net.architecture
        n_tokens = sizes.n_tokens or 1
        units = n_tokens * sum(layer.weight.shape[0] for layer in net.layers)
        units += (sizes.depth or 0) * (sizes.n_heads or 0) * n_tokens**2
        return math.log(sizes.n_parameters) + math.log(units) - 0.5 * math.log(net.n_samples)
