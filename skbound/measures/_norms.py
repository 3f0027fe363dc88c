"""Norms of weight matrices: sizes, products, sums."""

from __future__ import annotations

import math

from skbound.evidence import NetRecord
from skbound.measures._measure import ComplexityMeasure, LogMeasure

__all__ = ["L2Norm", "ParameterCount", "SpectralProduct"]

_JIANG = "Jiang, Neyshabur, Mobahi, Krishnan, Bengio 2020, {}"
_NO_SAMPLE = "It holds no number of rows, so it does not fall as the data grow."


class ParameterCount(ComplexityMeasure):
    """Number of trained numbers."""

    key = "parameter_count"
    source = _JIANG.format("eq. 20")
    why_no_bound = "Nets with more parameters than rows may generalise; the number ignores the fit."

    def value(self, net: NetRecord) -> float:
        """Return how many."""
        return float(net.architecture.n_parameters)


class L2Norm(ComplexityMeasure):
    """Euclidean norm of all weight matrices together."""

    key = "l2_norm"
    depends_on = ("layers",)
    source = _JIANG.format("'L2'")
    why_no_bound = _NO_SAMPLE

    def value(self, net: NetRecord) -> float:
        """Return the norm."""
        return math.sqrt(math.fsum(layer.frobenius_norm**2 for layer in net.layers))


class SpectralProduct(LogMeasure):
    """Product of the squared spectral norms of all weight matrices."""

    key = "spectral_product"
    depends_on = ("layers",)
    source = _JIANG.format("eq. 32")
    why_no_bound = _NO_SAMPLE

    def log_value(self, net: NetRecord) -> float:
        """Return the sum of logarithms."""
        return 2.0 * math.fsum(math.log(layer.spectral_norm) for layer in net.layers)
