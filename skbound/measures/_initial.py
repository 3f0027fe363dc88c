"""Expressions about the initial weights and the way from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from skbound.evidence import Layer, NetRecord
from skbound.exceptions import MissingEvidenceError
from skbound.measures._measure import ComplexityMeasure

__all__ = [
    "FeedForwardPathNorm",
    "InitialGradient",
    "InitialScale",
    "TwoLayerGap",
    "TwoLayerPathNorm",
    "path_norm_of_change",
    "two_layer_gap",
]

_SHALLOW = "arXiv 2604.00505, 2026"


def path_norm_of_change(change: NDArray[np.float64], outer: NDArray[np.float64]) -> float:
    """Return the path norm of the distance from initialisation of a net ``V s(W x)``.

    ``sum_j ||w_j - w_j^0||_2 ||v_j||_1`` over hidden units, with rows ``w_j`` of ``W`` and columns
    ``v_j`` of ``V``. It stays when a unit's weights are scaled by ``a`` and its outgoing ones by
    ``1 / a``, if the initial ones are too.

    Parameters
    ----------
    change : ndarray of shape (n_hidden, n_inputs)
        ``W`` minus its initial value.
    outer : ndarray of shape (n_outputs, n_hidden)
        ``V`` after training.

    Returns
    -------
    float
        Not negative.

    Examples
    --------
    >>> path_norm_of_change(np.array([[3.0, 4.0], [0.0, 1.0]]), np.array([[1.0, -2.0]]))
    7.0
    """
    return float((np.linalg.norm(change, axis=1) * np.abs(outer).sum(axis=0)).sum())


@dataclass(frozen=True, kw_only=True)
class TwoLayerGap:
    """Terms of :func:`two_layer_gap`.

    Parameters
    ----------
    complexity, confidence : float
        Not negative.
    """

    complexity: float
    confidence: float

    @property
    def value(self) -> float:
        """Sum."""
        return self.complexity + self.confidence


def two_layer_gap(
    inner: NDArray[np.float64],
    initial: NDArray[np.float64],
    outer: NDArray[np.float64],
    inputs: NDArray[np.float64],
    *,
    margin: float,
    delta: float,
    slope: float = 1.0,
    loss_range: float = 1.0,
) -> TwoLayerGap:
    r"""Evaluate the initialisation-dependent excess of a two-layer net.

    For ``f(x) = V s(W x)`` with hidden width ``H`` and ``C`` outputs, ``kappa`` the path norm of
    the distance from initialisation, ``D = ||W - W_0||_F`` and ``F = ||V||_F``, it is ``2 G g (1 +
    kappa) ((3 + sqrt(5)) sqrt(mean ||x||^2) + c sqrt(lambda_max(sum x x^T) / n)) / sqrt(n)`` plus
    ``3 b sqrt(ln(2 (D + 1) (F + 1) (D + 2) (F + 2) (kappa + 1) (kappa + 2) / delta) / (2 n))``,
    where ``G = sqrt(2) / margin`` is the Lipschitz constant of the ramp loss (``1 / margin`` for
    one output), ``g`` that of ``s``, ``b`` the range of the loss, and ``c = 2 sqrt(2) (1 + 1 / (2
    ln(2 H C))) sqrt(ln(2 H C ceil(log2(max(2 sqrt(H), 2 sqrt(H C) (D + 1) (F + 1))))))``.

    It is the paper's excess over the empirical ramp loss for nets that are exactly ``V s(W x)``,
    initial weights that the rows did not choose, and a margin fixed beforehand. It says nothing
    about a Transformer.

    Parameters
    ----------
    inner, initial : ndarray of shape (n_hidden, n_inputs)
        ``W`` and ``W_0``.
    outer : ndarray of shape (n_outputs, n_hidden)
        ``V``.
    inputs : ndarray of shape (n_samples, n_inputs)
        Training rows.
    margin, delta : float
        Positive; `delta` below 1.
    slope, loss_range : float, default=1.0
        ``g`` and ``b``.

    Returns
    -------
    TwoLayerGap
        Not clipped.

    Raises
    ------
    ValueError
        If a shape does not fit or a number is out of range.

    References
    ----------
    .. [1] "Towards initialization-dependent and non-vacuous generalization bounds for
       overparameterized shallow neural networks", arXiv 2604.00505, 2026; its experiments' code.
    """
    if inner.shape != initial.shape or outer.shape[1:] != inner.shape[:1]:
        raise ValueError(
            f"inner and initial must be of one shape (n_hidden, n_inputs) and outer of shape "
            f"(n_outputs, n_hidden), got {inner.shape}, {initial.shape} and {outer.shape}."
        )
    if inputs.ndim != 2 or inputs.shape[1] != inner.shape[1] or not len(inputs):
        raise ValueError(
            f"inputs must be of shape (n_samples, {inner.shape[1]}), got {inputs.shape}."
        )
    if not (margin > 0.0 and 0.0 < delta < 1.0):
        raise ValueError(f"margin must be positive and delta in (0, 1), got {margin} and {delta}.")
    n, units, outputs = len(inputs), len(inner), len(outer)
    moved, size = float(np.linalg.norm(inner - initial)), float(np.linalg.norm(outer))
    kappa = path_norm_of_change(inner - initial, outer)
    steep = (math.sqrt(2.0) if outputs > 1 else 1.0) / margin
    radii = max(
        2.0 * math.sqrt(units), 2.0 * math.sqrt(units * outputs) * (moved + 1.0) * (size + 1.0)
    )
    paths = 2.0 * units * outputs
    factor = 2.0 * math.sqrt(2.0) * (1.0 + 0.5 / math.log(paths))
    factor *= math.sqrt(math.log(paths * math.ceil(math.log2(radii))))
    length = (3.0 + math.sqrt(5.0)) * math.sqrt(float((inputs**2).sum()) / n)
    along = factor * math.sqrt(float(np.linalg.norm(inputs, 2)) ** 2 / n)
    grid = math.fsum(math.log(x + 1.0) + math.log(x + 2.0) for x in (moved, size, kappa))
    log_term = math.log(2.0 / delta) + grid
    return TwoLayerGap(
        complexity=2.0 * steep * slope * (1.0 + kappa) * (length + along) / math.sqrt(n),
        confidence=3.0 * loss_range * math.sqrt(log_term / (2.0 * n)),
    )


class TwoLayerPathNorm(ComplexityMeasure):
    """Path norm of the distance from initialisation, of a net with two weight matrices."""

    key = "two_layer_path_norm"
    depends_on = ("layers",)
    source = f"{_SHALLOW}, path norm of the distance from initialisation"
    why_no_bound = "Only the norm; two_layer_gap has the whole expression, for nets without biases."

    def value(self, net: NetRecord) -> float:
        """Return the norm."""
        if len(net.layers) != 2:
            raise MissingEvidenceError(
                f"This norm is about nets with two weight matrices, and this one has "
                f"{len(net.layers)}. Use 'feed_forward_path_norm' for a Transformer."
            )
        return _path_norm(*net.layers)


class FeedForwardPathNorm(ComplexityMeasure):
    """The same norm of each block's feed-forward map, summed over blocks."""

    key = "feed_forward_path_norm"
    depends_on = ("layers",)
    source = f"{_SHALLOW}, applied to parts of a Transformer"
    why_no_bound = "The theorem is about nets that consist of such a map alone."

    def value(self, net: NetRecord) -> float:
        """Return the sum."""
        layers = {layer.name: layer for layer in net.layers}
        pairs = [
            (layer, layers.get(f"{layer.name.removesuffix('expand')}contract"))
            for layer in net.layers
            if layer.role == "expand"
        ]
        if not pairs:
            raise MissingEvidenceError(
                "This norm is about blocks with maps 'expand' and 'contract', and this net has "
                "none. Use 'two_layer_path_norm' for a net of two weight matrices."
            )
        total = 0.0
        for inner, outer in pairs:
            if outer is None or outer.weight.shape[1] != inner.weight.shape[0]:
                raise MissingEvidenceError(
                    f"No map 'contract' reads exactly what {inner.name} writes, so there is no "
                    f"path through both."
                )
            total += _path_norm(inner, outer)
        return total


class InitialGradient(ComplexityMeasure):
    """``||theta_0|| ||grad L(theta_0)|| / sqrt(n)`` before training."""

    key = "initial_gradient"
    depends_on = ("initial_state",)
    source = "third founding document, initialisation-dependent expression"
    why_no_bound = "It knows nothing of the trained net, which may have learned its rows by heart."

    def value(self, net: NetRecord) -> float:
        """Return the product of both norms over the root."""
        start = net.initial_state
        assert start is not None
        return start.weight_norm * start.gradient_norm / math.sqrt(net.n_samples)


@dataclass(frozen=True)
class InitialScale(ComplexityMeasure):
    """``1 / sqrt(d L)``, or ``sqrt(2 / (d L))``, for ``d`` inputs and ``L`` weight matrices.

    Parameters
    ----------
    scheme : {"xavier", "he"}, default="xavier"
        The first, or the second.
    """

    scheme: Literal["xavier", "he"] = "xavier"

    key = "initial_scale"
    depends_on = ("layers",)
    source = "third founding document, table of initialisations"
    why_no_bound = "Neither data nor training enter."

    def value(self, net: NetRecord) -> float:
        """Return the root, with the inputs of the first weight matrix."""
        gain = {"xavier": 1.0, "he": 2.0}[self.scheme]
        return math.sqrt(gain / (net.layers[0].weight.shape[1] * len(net.layers)))


def _path_norm(inner: Layer, outer: Layer) -> float:
    return path_norm_of_change(inner.change, outer.weight)
