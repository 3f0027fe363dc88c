"""What a trained net is made of, and what was measured on it, as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from skbound.evidence._attention import AttentionStatistics
from skbound.evidence._convolutions import ConvolutionNorms
from skbound.evidence._features import LayerFeatures
from skbound.evidence._gradients import GradientNorms
from skbound.evidence._initial import InitialState
from skbound.evidence._parameters import ParameterVectors
from skbound.evidence._sharpness import LossAscent
from skbound.evidence._tangent_kernel import TangentKernel
from skbound.exceptions import MissingEvidenceError

__all__ = ["Architecture", "Layer", "NetRecord"]

Matrix = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """Sizes of a net.

    Parameters
    ----------
    n_parameters : int
        Trained numbers.
    n_classes : int
        Logits.
    depth, width, n_heads, n_tokens : int or None, default=None
        Blocks, length of a token vector, heads per block and tokens per row of a Transformer;
        None for other nets.
    """

    n_parameters: int
    n_classes: int
    depth: int | None = None
    width: int | None = None
    n_heads: int | None = None
    n_tokens: int | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Layer:
    """One weight matrix.

    Parameters
    ----------
    name : str
        As in the module, for example ``"blocks.0.attention.query"``.
    role : str
        Last part of the name: "query", "key", "value", "output", "expand", "contract", "head", ...
    weight : ndarray of shape (n_outputs, n_inputs), float64
        As the layer applies it.
    initial : ndarray of the same shape or None, default=None
        Before training; None where that was not recorded.
    bias : ndarray of shape (n_outputs,) or None, default=None
        What is added.
    """

    name: str
    role: str
    weight: Matrix
    initial: Matrix | None = None
    bias: Matrix | None = None

    @cached_property
    def singular_values(self) -> Matrix:
        """Exact singular values, largest first."""
        return np.asarray(np.linalg.svd(self.weight, compute_uv=False), np.float64)

    @property
    def spectral_norm(self) -> float:
        """Largest singular value."""
        return float(self.singular_values[0])

    @property
    def frobenius_norm(self) -> float:
        """Root of the sum of squares."""
        return float(np.linalg.norm(self.weight))

    @cached_property
    def change(self) -> Matrix:
        """Weight minus initial weight.

        Raises
        ------
        MissingEvidenceError
            If the initial weight was not recorded.
        """
        if self.initial is None:
            raise MissingEvidenceError(
                f"The initial weight of {self.name} was not recorded, so its distance from "
                f"initialisation is not known. TransformerClassifier records it."
            )
        return self.weight - self.initial


@dataclass(frozen=True, eq=False, kw_only=True)
class NetRecord:
    """All that complexity measures are computed from.

    What is None was not collected; :func:`skbound.measures.measure_all` collects it.

    Parameters
    ----------
    architecture : Architecture
        Sizes.
    layers : tuple of Layer
        Every weight matrix, in the order in which the net applies them.
    uncovered : dict of str to int
        Parameters that are no weight matrix of any layer (gains, biases, position codes), and how
        many numbers they hold.
    n_samples : int
        Rows that the net was trained on.
    margins : ndarray of shape (n_samples,) or None, default=None
        Logit of the label minus the largest other logit, on training rows.
    gradients : GradientNorms or None, default=None
        Norms of the gradients of the training rows' losses.
    tangent_kernel, attention_kernel : TangentKernel or None, default=None
        Products of the gradients of logits, over all parameters and over those of attention.
    features : tuple of LayerFeatures or None, default=None
        Second moments of what each layer reads.
    chain_features : tuple of LayerFeatures or None, default=None
        The same for a net that is a chain of linear maps and elementwise 1-Lipschitz functions.
    downstream_norms : ndarray of shape (n_layers,) or None, default=None
        How fast the logits change with each layer's output, measured at some rows.
    log_lipschitz_upper, log_lipschitz_local_upper : float or None, default=None
        Logarithms of what the change of logits per change of input never exceeds: anywhere, and
        infinitely near to the rows.
    jacobian_norm : float or None, default=None
        Largest spectral norm of the input's Jacobian that was seen at rows.
    attention : AttentionStatistics or None, default=None
        Where the heads of attention look.
    initial_state : InitialState or None, default=None
        Norms of weights and gradient before training.
    perturbed_logits : ndarray of shape (n_draws, n_rows, n_classes) or None, default=None
        Logits at some rows of nets whose weights are near the trained ones.
    parameters : ParameterVectors or None, default=None
        All trained numbers in one vector, now and before training.
    noise_scale, relative_noise_scale : float or None, default=None
        Largest standard deviation of normal noise on all parameters that raises the mean error on
        training rows by at most 0.1: the same for all, or per unit of a parameter's size.
    sharpness : LossAscent or None, default=None
        How far the training loss rises near the trained parameters.
    fisher_rao : float or None, default=None
        Mean over rows of the squared product of a row's gradient with the parameters.
    path_norm : float or None, default=None
        Sum over paths of the product of the squared weights along a path.
    convolutions : tuple of ConvolutionNorms or None, default=None
        Spectral norms of convolutions as maps of whole images.
    epochs : tuple of NetRecord or None, default=None
        The net after each epoch, with layers and margins.
    reasons : mapping of str to str, default={}
        Why a field could not be gathered for this net.

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    architecture: Architecture
    layers: tuple[Layer, ...]
    uncovered: dict[str, int]
    n_samples: int
    margins: Matrix | None = None
    gradients: GradientNorms | None = None
    tangent_kernel: TangentKernel | None = None
    attention_kernel: TangentKernel | None = None
    features: tuple[LayerFeatures, ...] | None = None
    chain_features: tuple[LayerFeatures, ...] | None = None
    downstream_norms: Matrix | None = None
    log_lipschitz_upper: float | None = None
    log_lipschitz_local_upper: float | None = None
    jacobian_norm: float | None = None
    attention: AttentionStatistics | None = None
    initial_state: InitialState | None = None
    perturbed_logits: Matrix | None = None
    parameters: ParameterVectors | None = None
    noise_scale: float | None = None
    relative_noise_scale: float | None = None
    sharpness: LossAscent | None = None
    fisher_rao: float | None = None
    path_norm: float | None = None
    convolutions: tuple[ConvolutionNorms, ...] | None = None
    epochs: tuple[NetRecord, ...] | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.n_samples < 1:
            raise ValueError(f"n_samples must be at least 1, got {self.n_samples}.")

    def need(self, *names: str) -> None:
        """Refuse if something was not collected.

        Parameters
        ----------
        *names : str
            Fields of the record.

        Raises
        ------
        MissingEvidenceError
            If one of them is None, or if there are no layers.
        """
        if "layers" in names and not self.layers:
            raise MissingEvidenceError(
                "The net has no weight matrix that is known. Register a rule for its layers with "
                "skbound.collect.matrix.register."
            )
        missing = [name for name in names if getattr(self, name) is None]
        if told := [self.reasons[name] for name in missing if name in self.reasons]:
            raise MissingEvidenceError(" ".join(told))
        if missing:
            raise MissingEvidenceError(
                f"{' and '.join(missing)} of this net were not collected. Use "
                f"skbound.measures.measure_all(clf, X, y) with the rows that it was trained on."
            )

    @classmethod
    def optional(cls) -> tuple[str, ...]:
        """Return the names of what may be None."""
        return tuple(f.name for f in fields(cls) if f.default is None)
