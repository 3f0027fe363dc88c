"""Norms of weight matrices: how many, how large together, products, sums and distances.

With ``d`` matrices ``W_i``, their values ``W_i0`` before training and the margin ``g``. In the
literature these are divided by the number of rows, and a root is taken: neither changes an order
among nets that were trained on equally many rows, and neither is done here.

Multiplying one layer of a ReLU chain by ``a`` and dividing the next by ``a`` leaves the net as it
is. Products and what is built of them by ratios then stay the same; sums and distances change. The
same holds for the query and key maps of attention.
"""

from __future__ import annotations

import math

from skbound.evidence import NetRecord
from skbound.measures._layer_norms import JIANG, NO_SAMPLE, change_norms, fields_of, log, norms
from skbound.measures._margins import log_inverse_margin, margin_note
from skbound.measures._measure import ComplexityMeasure, LogMeasure

__all__ = [
    "Distance",
    "L2Distance",
    "L2Norm",
    "NormProduct",
    "NormSquares",
    "NormSum",
    "ParameterCount",
]

_EQUATIONS = {
    ("product", "spectral"): "eq. 32",
    ("product", "spectral", "over_margin"): "eq. 31",
    ("product", "frobenius"): "eq. 37",
    ("product", "frobenius", "over_margin"): "eq. 36",
    ("sum", "spectral"): "eq. 35",
    ("sum", "spectral", "over_margin"): "eq. 34",
    ("sum", "frobenius"): "eq. 39",
    ("sum", "frobenius", "over_margin"): "eq. 38",
    ("distance", "frobenius"): "eq. 40",
    ("distance", "spectral"): "eq. 41",
    ("squares", "frobenius"): "eq. 42",
}


def _source(kind: str, norm: str, over_margin: bool = False) -> str:
    published = "spectral" if norm == "exact_spectral" else norm
    key = (kind, published, "over_margin") if over_margin else (kind, published)
    if key not in _EQUATIONS:
        return f"Analogue of {JIANG.format('Appendix C')}"
    exact = "; norms of convolutions: Sedghi, Gupta, Long 2019" if published != norm else ""
    return JIANG.format(_EQUATIONS[key]) + exact


class ParameterCount(ComplexityMeasure):
    """Number of trained numbers."""

    key = "parameter_count"
    source = JIANG.format("eq. 20")
    why_no_bound = "Nets with more parameters than rows may generalise; the number ignores the fit."

    def value(self, net: NetRecord) -> float:
        """Return how many."""
        return float(net.architecture.n_parameters)


class L2Norm(ComplexityMeasure):
    """Euclidean norm of all weight matrices together."""

    key = "l2_norm"
    depends_on = ("layers",)
    source = JIANG.format("'L2'")
    why_no_bound = NO_SAMPLE

    def value(self, net: NetRecord) -> float:
        """Return the norm."""
        return math.sqrt(math.fsum(x**2 for x in norms(net, "frobenius")))


class L2Distance(ComplexityMeasure):
    """Euclidean distance of all weight matrices together from where training began."""

    key = "l2_distance"
    depends_on = ("layers",)
    source = "Nagarajan, Kolter 2019; " + JIANG.format("'L2_DIST'")
    why_no_bound = NO_SAMPLE

    def value(self, net: NetRecord) -> float:
        """Return the distance."""
        return math.sqrt(math.fsum(x**2 for x in change_norms(net, "frobenius")))


class NormProduct(LogMeasure):
    """Product of the squared norms of all weight matrices, ``prod ||W_i||^2 / g^2``.

    Parameters
    ----------
    norm : {"spectral", "frobenius", "two_one", "exact_spectral"}, default="spectral"
        "two_one" is the sum of the Euclidean norms of the matrix's rows; "exact_spectral" takes
        convolutions as maps of whole images.
    over_margin : bool, default=False
        Whether to divide by the squared margin; then infinite where the margin is not positive.
    """

    why_no_bound = NO_SAMPLE

    def __init__(self, norm: str = "spectral", *, over_margin: bool = False) -> None:
        self.norm, self.over_margin = norm, over_margin
        self.key = f"{norm}_product" + "_over_margin" * over_margin
        self.depends_on = fields_of(norm) + ("margins",) * over_margin
        self.source = _source("product", norm, over_margin)

    def log_value(self, net: NetRecord) -> float:
        """Return the sum of logarithms."""
        inverse = log_inverse_margin(net) if self.over_margin else 0.0
        if inverse == math.inf:
            return math.inf
        return 2.0 * (math.fsum(map(log, norms(net, self.norm))) + inverse)

    def note(self, net: NetRecord) -> str:
        """Return what is wrong with the margin, if it counts."""
        return margin_note(net) if self.over_margin else ""


class NormSum(LogMeasure):
    """Number of matrices times the geometric mean of squared norms: ``d (prod ||W_i||^2)^(1/d)``.

    If the layers of a net of positively homogeneous functions are rescaled until all have the same
    norm, it is the sum of the squared norms.

    Parameters
    ----------
    norm : {"spectral", "frobenius", "two_one", "exact_spectral"}, default="spectral"
        As in `NormProduct`.
    over_margin : bool, default=False
        Whether to divide the product by the squared margin.
    """

    why_no_bound = NO_SAMPLE

    def __init__(self, norm: str = "spectral", *, over_margin: bool = False) -> None:
        self.product = NormProduct(norm, over_margin=over_margin)
        self.key = f"{norm}_sum" + "_over_margin" * over_margin
        self.depends_on = self.product.depends_on
        self.source = _source("sum", norm, over_margin)

    def log_value(self, net: NetRecord) -> float:
        """Return the logarithm."""
        return math.log(len(net.layers)) + self.product.log_value(net) / len(net.layers)

    def note(self, net: NetRecord) -> str:
        """Return what is wrong with the margin, if it counts."""
        return self.product.note(net)


class NormSquares(ComplexityMeasure):
    """Sum of the squared norms of all weight matrices.

    Parameters
    ----------
    norm : {"spectral", "frobenius", "two_one", "exact_spectral"}, default="frobenius"
        As in `NormProduct`.
    """

    why_no_bound = NO_SAMPLE

    def __init__(self, norm: str = "frobenius") -> None:
        self.norm = norm
        self.key = f"{norm}_squares"
        self.depends_on = fields_of(norm)
        self.source = _source("squares", norm)

    def value(self, net: NetRecord) -> float:
        """Return the sum."""
        return math.fsum(x**2 for x in norms(net, self.norm))


class Distance(ComplexityMeasure):
    """Sum of the squared norms of what training added, ``sum ||W_i - W_i0||^2``.

    Parameters
    ----------
    norm : {"spectral", "frobenius", "two_one", "exact_spectral"}, default="frobenius"
        As in `NormProduct`.
    """

    why_no_bound = NO_SAMPLE

    def __init__(self, norm: str = "frobenius") -> None:
        self.norm = norm
        self.key = f"{norm}_distance"
        self.depends_on = fields_of(norm)
        self.source = _source("distance", norm)

    def value(self, net: NetRecord) -> float:
        """Return the sum."""
        return math.fsum(x**2 for x in change_norms(net, self.norm))
