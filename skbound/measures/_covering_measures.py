"""Expressions ``sqrt(ln N / n)`` with covering numbers ``N`` of Transformers."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from skbound.evidence import NetRecord
from skbound.exceptions import MissingEvidenceError
from skbound.measures._covering import ball_log_covering, packing_number
from skbound.measures._margins import margin_note, margin_quantile
from skbound.measures._measure import ComplexityMeasure, LogMeasure
from skbound.measures._pieces import Piece, pieces_of

__all__ = [
    "BallCovering",
    "CompositionCovering",
    "EdelmanCovering",
    "PackingEstimate",
    "ParametricCovering",
    "TraugerTewariCovering",
]

_FITTED = (
    "Covering numbers are those of a class fixed before training, and this one's radii are read "
    "off the trained net; besides, {}."
)


@dataclass(frozen=True)
class BallCovering(ComplexityMeasure):
    """``sqrt(P ln(1 + 2 W / e) / n)``: a ball of ``P`` weights with the trained norm ``W``.

    Parameters
    ----------
    distance : float, default=0.1
        ``e``, between two vectors of weights.
    """

    distance: float = 0.1

    key = "ball_covering"
    depends_on = ("layers",)
    source = "second founding document, Lemma G.2, corrected; Vershynin 2018, Corollary 4.2.13"
    why_no_bound = _FITTED.format("weights near each other are no functions near each other")

    def value(self, net: NetRecord) -> float:
        """Return the root; only weight matrices count."""
        n_weights = sum(layer.weight.size for layer in net.layers)
        radius = math.sqrt(math.fsum(layer.frobenius_norm**2 for layer in net.layers))
        return math.sqrt(float(ball_log_covering(n_weights, radius, self.distance)) / net.n_samples)


@dataclass(frozen=True)
class ParametricCovering(ComplexityMeasure):
    """``sqrt((sum_i p_i ln(1 + 8 q M_i B_i / g) + ln(1 / delta)) / (2 n))``.

    For ``q`` maps with ``p_i`` entries, spectral norms ``B_i`` and effects ``M_i`` of an error on
    the logits, each covered so finely that no margin moves by more than ``g / 2``. With radii,
    margin and inputs fixed before training it would be the excess of a true bound; it says nothing
    unless the weights are far fewer than the rows.

    Parameters
    ----------
    share : float, default=0.1
        ``g`` is this quantile of the margins; where it is not positive, the value is infinite.
    delta : float, default=0.05
        In (0, 1).
    """

    share: float = 0.1
    delta: float = 0.05

    key = "parametric_covering"
    depends_on = ("layers", "margins")
    source = "second founding document, Lemma G.3, with constants"
    why_no_bound = _FITTED.format("normalisations are replaced by projections")

    def value(self, net: NetRecord) -> float:
        """Return the root."""
        margin = margin_quantile(net, self.share)
        if margin <= 0.0:
            return math.inf
        pieces = pieces_of(net)
        head = _log(pieces.head.norm)
        parts = [(piece, piece.log_rate + head) for piece in pieces.body]
        parts.append((pieces.head, pieces.head.log_rate))
        scale = math.log(8.0 * len(parts) / margin)
        log_cover = math.fsum(
            piece.weight.size
            * float(np.logaddexp(0.0, scale + rate + _log(piece.reach) + _log(piece.norm)))
            for piece, rate in parts
        )
        return math.sqrt((log_cover + math.log(1.0 / self.delta)) / (2.0 * net.n_samples))

    def note(self, net: NetRecord) -> str:
        """Return what is wrong with the margin."""
        return margin_note(net, self.share)


class _NormCovering(LogMeasure):
    """``sqrt(gamma^3 / (e^2 n))``, the error shared among the maps as is best."""

    depends_on = ("layers",)
    distance: float

    def log_value(self, net: NetRecord) -> float:
        """Return the logarithm of the root."""
        pieces = pieces_of(net)
        head = _log(pieces.head.norm)
        rates = [piece.log_rate + head for piece in pieces.body] + [pieces.head.log_rate]
        sizes = [self._log_size(net, piece) for piece in (*pieces.body, pieces.head)]
        log_gamma = _log_gamma(sizes, rates)
        return 1.5 * log_gamma - math.log(self.distance) - 0.5 * math.log(net.n_samples)

    @abstractmethod
    def _log_size(self, net: NetRecord, piece: Piece) -> float:
        """Return ``ln a_i``, where ``a_i / e^2`` is the logarithmic covering number at ``e``."""


@dataclass(frozen=True)
class EdelmanCovering(_NormCovering):
    """Covers of linear maps by the norm ``(2, 1)``, the sum of the Euclidean norms of the rows.

    A map with inputs of length ``R`` has the size ``(R ||W||_(2,1))^2 ln(n T d)``, with ``d``
    outputs at ``T`` tokens of ``n`` rows.

    Parameters
    ----------
    distance : float, default=1.0
        Between two nets: the largest Euclidean distance of their logits.
    """

    distance: float = 1.0

    key = "edelman_covering"
    source = "Edelman, Goel, Kakade and Zhang 2022, Theorem A.17, constants set to 1"
    why_no_bound = _FITTED.format("the paper leaves constants open")

    def _log_size(self, net: NetRecord, piece: Piece) -> float:
        if net.architecture.n_tokens is None:
            raise MissingEvidenceError(
                "This cover grows with the number of tokens, and that of this net is not known. "
                "Pass it as Architecture(n_tokens=...)."
            )
        norm = float(np.linalg.norm(piece.weight, axis=1).sum())
        count = net.n_samples * net.architecture.n_tokens * len(piece.weight)
        return 2.0 * (_log(piece.reach) + _log(norm)) + _log(math.log(count))


@dataclass(frozen=True)
class TraugerTewariCovering(_NormCovering):
    """Covers of linear maps by the sum of absolute entries, which know nothing of tokens.

    A map of ``k`` entries with inputs of length ``R`` has the size ``(R ||W||_(1,1))^2 ln(2 k +
    1)``.

    Parameters
    ----------
    distance : float, default=1.0
        Between two nets: the largest Euclidean distance of their logits.
    """

    distance: float = 1.0

    key = "trauger_tewari_covering"
    source = "Trauger and Tewari 2024, with the cover of maurey_log_covering"
    why_no_bound = _FITTED.format("normalisations are replaced by projections")

    def _log_size(self, net: NetRecord, piece: Piece) -> float:
        norm = float(np.abs(piece.weight).sum())
        return 2.0 * (_log(piece.reach) + _log(norm)) + math.log(
            math.log(2 * piece.weight.size + 1)
        )


@dataclass(frozen=True)
class CompositionCovering(EdelmanCovering):
    """``sqrt((d ln(1 + 4 C R / e) + 4 C^2 gamma^3 / e^2) / n)``: a head on top of a Transformer.

    If functions ``f`` are covered at distance ``e / 2`` on all that the ``g`` may put out, each
    ``f`` is ``C``-Lipschitz and the ``g`` are covered at distance ``e / (2 C)``, then the ``f(g)``
    are covered at distance ``e`` by the product of both numbers. Here ``f`` is the head, whose
    ``d`` weights are covered as a ball of the spectral norm ``C``, and ``g`` the Transformer below
    it, covered as in :class:`EdelmanCovering`.
    """

    key = "composition_covering"
    source = "second founding document, Theorem G.5, with constants"

    def log_value(self, net: NetRecord) -> float:
        """Return the logarithm of the root."""
        pieces, e = pieces_of(net), self.distance
        head = pieces.head
        outer = float(ball_log_covering(head.weight.size, head.norm, 0.5 * e / head.reach))
        sizes = [self._log_size(net, piece) for piece in pieces.body]
        log_gamma = _log_gamma(sizes, [piece.log_rate for piece in pieces.body])
        inner = 2.0 * _log(2.0 * head.norm / e) + 3.0 * log_gamma
        return 0.5 * (float(np.logaddexp(_log(outer), inner)) - math.log(net.n_samples))


@dataclass(frozen=True)
class PackingEstimate(ComplexityMeasure):
    """``ln`` of how many of 64 nets near the trained one differ: a lower estimate.

    The nets are those of ``perturbed_logits``; they differ if they are farther than twice the
    distance apart on some row. The logarithm of the covering number of nets that near is at least
    that, and may be larger by any amount.

    Parameters
    ----------
    distance : float, default=1.0
        The largest Euclidean distance of logits on a row.
    """

    distance: float = 1.0

    key = "packing_estimate"
    depends_on = ("perturbed_logits",)
    source = "Kolmogorov and Tikhomirov 1959: packing below covering; by random draws"
    why_no_bound = "Random draws find a part of a class, so they tell how large it is at least."

    def value(self, net: NetRecord) -> float:
        """Return the logarithm, at most that of the number of draws."""
        net.need("perturbed_logits")
        return math.log(packing_number(np.asarray(net.perturbed_logits), self.distance))


def _log_gamma(log_sizes: list[float], log_rates: list[float]) -> float:
    """Return the log of gamma of :func:`allocate_errors`, which may overflow itself."""
    a, b = np.asarray(log_sizes), np.asarray(log_rates)
    return float(logsumexp(a / 3.0 + 2.0 * b / 3.0))


def _log(value: float) -> float:
    return math.log(value) if value > 0.0 else -math.inf
