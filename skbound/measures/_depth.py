"""Expressions that depend on depth, and on how far attention looks."""

from __future__ import annotations

import math

import numpy as np

from skbound.evidence import NetRecord
from skbound.exceptions import MissingEvidenceError
from skbound.measures._measure import ComplexityMeasure, LogMeasure

__all__ = ["AttentionSpan", "DepthAverage", "SpectralProductRate"]

_NO_PROOF = "No proof of it is known; {}."


class DepthAverage(ComplexityMeasure):
    """``||W||_F / sqrt(n) * sqrt((1 / L) sum_l ||W_l||_2^2)`` over ``L`` weight matrices.

    It falls with the depth if the norms stay, since it averages where proofs multiply.
    """

    key = "depth_average"
    depends_on = ("layers",)
    source = "third founding document, depth-dependent expression"
    why_no_bound = _NO_PROOF.format("error grows along a chain as a product, and not as a mean")

    def value(self, net: NetRecord) -> float:
        """Return the product of both roots."""
        total = math.fsum(layer.frobenius_norm**2 for layer in net.layers)
        mean = math.fsum(layer.spectral_norm**2 for layer in net.layers) / len(net.layers)
        return math.sqrt(total * mean / net.n_samples)


class AttentionSpan(ComplexityMeasure):
    """``(1 / sqrt(n)) sum_l ||W_l||_2 sqrt(span_l / T)`` over blocks, with ``T`` tokens.

    The document defines neither quantity. Here the span of a block is the mean
    distance between a token and those it attends to, over heads, and ``||W_l||_2`` the largest
    spectral norm of its weight matrices.
    """

    key = "attention_span"
    depends_on = ("layers", "attention")
    source = "third founding document, data-dependent expression"
    why_no_bound = _NO_PROOF.format("not even its quantities are defined there")

    def value(self, net: NetRecord) -> float:
        """Return the sum over blocks."""
        attention = net.attention
        assert attention is not None
        total = 0.0
        for name, span in zip(attention.names, attention.span.mean(axis=1), strict=True):
            # Attention and the feed-forward map of a block share all but the last part of the name.
            block = name.rpartition(".")[0]
            prefix = f"{block}." if block else ""
            norms = [x.spectral_norm for x in net.layers if x.name.startswith(prefix)]
            if not norms:
                raise MissingEvidenceError(
                    f"No weight matrix lies beside the attention {name!r}. Register a rule for its "
                    f"maps with skbound.collect.matrix.register."
                )
            total += max(norms) * math.sqrt(float(span) / attention.n_tokens)
        return total / math.sqrt(net.n_samples)


class SpectralProductRate(LogMeasure):
    """``prod_l ||W_l||_2 / sqrt(n)``, said to hold for spectrally normalised nets.

    For them it is ``1 / sqrt(n)`` whatever they learned.
    """

    key = "spectral_product_rate"
    depends_on = ("layers",)
    source = "third founding document, spectral normalisation"
    why_no_bound = (
        "Spectral norms alone do not control a Rademacher complexity: lower bounds have a factor "
        "of the root of the width (Golowich, Rakhlin and Shamir 2018)."
    )

    def log_value(self, net: NetRecord) -> float:
        """Return the sum of logarithms."""
        with np.errstate(divide="ignore"):
            logs = np.log([layer.spectral_norm for layer in net.layers])
        return float(logs.sum()) - 0.5 * math.log(net.n_samples)
