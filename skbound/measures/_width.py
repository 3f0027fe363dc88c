"""Terms that shrink with the width of a net."""

from __future__ import annotations

from skbound.evidence import NetRecord
from skbound.exceptions import MissingEvidenceError
from skbound.measures._measure import ComplexityMeasure

__all__ = ["FiniteWidth", "InfiniteWidth"]

_WHY = (
    "Terms like this bound how far a wide net is from its linearisation; the error of the "
    "linearised net does not vanish with the width."
)


class InfiniteWidth(ComplexityMeasure):
    """``1 / sqrt(width)``.

    The order at which a net and its linearisation around the initial weights differ on a given
    input, after training both alike. It falls with the width for any data and any labels, also for
    random ones, and holds no number of rows.
    """

    key = "infinite_width"
    source = "Lee, Xiao et al. 2019, Theorem 2.1"
    why_no_bound = _WHY

    def value(self, net: NetRecord) -> float:
        """Return the term."""
        return _width(net) ** -0.5


class FiniteWidth(ComplexityMeasure):
    """``1 / sqrt(width) + L / width`` for `L` blocks.

    The second term is the order at which the tangent kernel itself moves during training.
    """

    key = "finite_width"
    source = "Hanin and Nica 2020, Theorem 1, for the second term"
    why_no_bound = _WHY

    def value(self, net: NetRecord) -> float:
        """Return the sum."""
        width, depth = _width(net), net.architecture.depth
        if depth is None:
            raise MissingEvidenceError(_MISSING.format("number of blocks", "depth"))
        return width**-0.5 + depth / width


_MISSING = "The {} of this net is not known. Pass it as Architecture({}=...)."


def _width(net: NetRecord) -> int:
    if net.architecture.width is None:
        raise MissingEvidenceError(_MISSING.format("width", "width"))
    return net.architecture.width
