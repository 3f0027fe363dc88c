"""Lipschitz constants of the map from inputs to logits, of three kinds.

All three stay the same when a layer is rescaled against the next (through ReLU), or queries against
keys. They bound slopes, never an error.
"""

from __future__ import annotations

from skbound.evidence import NetRecord
from skbound.measures._measure import ComplexityMeasure, LogMeasure

__all__ = ["JacobianNorm", "LipschitzLocalUpper", "LipschitzUpper"]

_SLOPE = "It tells how fast logits change with the input, not how often the net errs."


class LipschitzUpper(LogMeasure):
    """A number that the change of logits per change of input never exceeds, wherever the input."""

    key = "lipschitz_upper"
    depends_on = ("log_lipschitz_upper",)
    source = "Kim, Papamakarios, Mnih 2021, for bounded tokens; constants: docs/theory/lipschitz"
    why_no_bound = _SLOPE

    def log_value(self, net: NetRecord) -> float:
        """Return the logarithm of the product over all parts."""
        assert net.log_lipschitz_upper is not None
        return net.log_lipschitz_upper


class LipschitzLocalUpper(LogMeasure):
    """The same infinitely near to the rows, with the variances and attention found there."""

    key = "lipschitz_local_upper"
    depends_on = ("log_lipschitz_local_upper",)
    source = LipschitzUpper.source
    why_no_bound = _SLOPE + " Between the rows it may be exceeded."

    def log_value(self, net: NetRecord) -> float:
        """Return the logarithm of the largest product over the rows."""
        assert net.log_lipschitz_local_upper is not None
        return net.log_lipschitz_local_upper


class JacobianNorm(ComplexityMeasure):
    """Largest norm of the input's Jacobian seen at up to 200 rows: a lower estimate."""

    key = "jacobian_norm"
    depends_on = ("jacobian_norm",)
    source = "Novak, Bahri, Abolafia, Pennington, Sohl-Dickstein 2018, with the spectral norm"
    why_no_bound = _SLOPE + " Elsewhere it may be larger."

    def value(self, net: NetRecord) -> float:
        """Return the norm."""
        assert net.jacobian_norm is not None
        return net.jacobian_norm
