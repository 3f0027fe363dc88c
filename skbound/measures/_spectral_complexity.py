"""Terms of margin bounds: a product of spectral norms times a sum over layers."""

from __future__ import annotations

import math

from skbound.evidence import NetRecord
from skbound.measures._layer_norms import JIANG, NO_SAMPLE, change_norms, fields_of, log, norms
from skbound.measures._margins import log_inverse_margin, margin_note
from skbound.measures._measure import ComplexityMeasure, LogMeasure
from skbound.measures._norms import NormProduct

__all__ = ["SpectralComplexity", "SpectralMain", "StableRankSum"]

_NOT_THIS_NET = "The theorem is about chains of linear maps, and its constants are left out."


class StableRankSum(ComplexityMeasure):
    """Sum of the stable ranks of all weight matrices, ``sum ||W_i||_F^2 / ||W_i||_2^2``.

    Not changed by multiplying layers by numbers.

    Parameters
    ----------
    norm : {"spectral", "exact_spectral"}, default="spectral"
        "exact_spectral" takes convolutions as maps of whole images, by which the Frobenius norm of
        the kernel is divided; that is no longer a rank.
    """

    why_no_bound = NO_SAMPLE

    def __init__(self, norm: str = "spectral") -> None:
        self.norm = norm
        self.key = "exact_" * (norm == "exact_spectral") + "stable_rank_sum"
        self.depends_on = fields_of(norm)
        self.source = JIANG.format("eq. 33")

    def value(self, net: NetRecord) -> float:
        """Return the sum; NaN if a matrix is zero."""
        return _ratios(norms(net, "frobenius"), norms(net, self.norm))


class SpectralMain(LogMeasure):
    """``prod ||W_i||_2^2 / g^2`` times a sum of squared Frobenius over squared spectral norms.

    Parameters
    ----------
    reference : {"initial", "origin"}, default="initial"
        Frobenius norms of ``W_i - W_i0`` or of ``W_i``.
    norm : {"spectral", "exact_spectral"}, default="spectral"
        As in `StableRankSum`.
    """

    why_no_bound = _NOT_THIS_NET

    def __init__(self, reference: str = "initial", norm: str = "spectral") -> None:
        self.reference, self.norm = reference, norm
        self.key = norm + {"initial": "_init_main", "origin": "_orig_main"}[reference]
        self.depends_on = (*fields_of(norm), "margins")
        equation = {"initial": "eq. 29", "origin": "eq. 30"}[reference]
        self.source = f"Neyshabur, Bhojanapalli, Srebro 2018, Theorem 1; {JIANG.format(equation)}"

    def log_value(self, net: NetRecord) -> float:
        """Return the sum of both logarithms."""
        sizes = change_norms if self.reference == "initial" else norms
        ratios = _ratios(sizes(net, "frobenius"), norms(net, self.norm))
        product = NormProduct(self.norm, over_margin=True).log_value(net)
        return math.inf if product == math.inf else product + log(ratios)

    def note(self, net: NetRecord) -> str:
        """Return what is wrong with the margin."""
        return margin_note(net)


class SpectralComplexity(LogMeasure):
    """Product of spectral norms times a sum of (2,1)-norms of changes, over the margin.

    ``prod ||W_i||_2 (sum (||(W_i - W_i0)^T||_{2,1} / ||W_i||_2)^(2/3))^(3/2) / g``. Not changed by
    rescaling layers of a ReLU chain against each other, if the initial weights are rescaled too.
    """

    key = "spectral_complexity"
    depends_on = ("layers", "margins")
    source = "Bartlett, Foster, Telgarsky 2017, eq. 1.2"
    why_no_bound = f"{_NOT_THIS_NET} For a chain use skbound.bounds.chain_upper."

    def log_value(self, net: NetRecord) -> float:
        """Return the logarithm."""
        spectral, inverse = norms(net, "spectral"), log_inverse_margin(net)
        if inverse == math.inf:
            return math.inf
        if 0.0 in spectral:
            return math.nan
        changes = change_norms(net, "two_one")
        terms = [(b / s) ** (2.0 / 3.0) for b, s in zip(changes, spectral, strict=True)]
        return math.fsum(map(log, spectral)) + 1.5 * log(math.fsum(terms)) + inverse

    def note(self, net: NetRecord) -> str:
        """Return what is wrong with the margin."""
        return margin_note(net)


def _ratios(over: list[float], under: list[float]) -> float:
    if 0.0 in under:
        return math.nan
    return math.fsum((a / b) ** 2 for a, b in zip(over, under, strict=True))
