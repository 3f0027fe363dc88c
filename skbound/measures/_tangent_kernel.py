"""Measures from the empirical neural tangent kernel of the trained net.

The kernel costs one backward pass per class at up to 200 rows, and the eigenvalues of a matrix with
one row per row and class. Rescaling two consecutive layers against each other changes all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skbound.evidence import NetRecord, TangentKernel
from skbound.exceptions import MissingEvidenceError
from skbound.measures._measure import ComplexityMeasure

__all__ = [
    "AttentionKernelMisalignment",
    "AttentionKernelRademacher",
    "DepthToWidth",
    "KernelFit",
    "KernelMisalignment",
    "KernelRademacher",
    "WidthCorrection",
    "misalignment",
]

_NOT_LINEAR = (
    "The net is not its linearisation, and the kernel is that after training, which depends on the "
    "labels."
)
_WIDTH = "It bounds how far a net is from its limit of infinite width, not how often it errs."


def misalignment(kernel: TangentKernel) -> float:
    """Return one minus the centred alignment of a kernel, summed over classes, with the labels.

    Parameters
    ----------
    kernel : TangentKernel
        Of some rows.

    Returns
    -------
    float
        In [0, 1]: 0 where rows of one class are alike and those of others are not; NaN where the
        kernel or the labels do not vary.

    Notes
    -----
    ``1 - <H K H, Y Y^T> / (||H K H|| ||H Y Y^T H||)`` with ``H = I - 1 1^T / m`` and one-hot ``Y``
    [1]_. The kernel may be multiplied by a number without changing it.

    References
    ----------
    .. [1] C. Cortes, M. Mohri and A. Rostamizadeh, "Algorithms for learning kernels based on
       centered alignment", JMLR 13, 2012, Definition 4.
    """
    inner, same = (_centred(m) for m in (kernel.summed, kernel.targets @ kernel.targets.T))
    size = float(np.linalg.norm(inner) * np.linalg.norm(same))
    # Without centring error these would be exactly zero.
    if size <= 1e-14 * float(np.linalg.norm(kernel.summed)) * len(inner):
        return math.nan
    return min(1.0, max(0.0, 1.0 - float((inner * same).sum()) / size))


def _centred(matrix: np.ndarray) -> np.ndarray:
    by_row = matrix - matrix.mean(axis=0)
    return np.asarray(by_row - by_row.mean(axis=1, keepdims=True))


def _kernel(net: NetRecord) -> TangentKernel:
    assert net.tangent_kernel is not None
    return net.tangent_kernel


def _attention(net: NetRecord) -> TangentKernel:
    assert net.attention_kernel is not None
    return net.attention_kernel


@dataclass(frozen=True)
class KernelRademacher(ComplexityMeasure):
    """Rademacher complexity of linearised nets within a distance: ``B sqrt(mean ||phi||^2 / n)``.

    It is ``(B / n) sqrt(tr K)``, the trace over rows and logits estimated from the rows of the
    kernel. `skbound.measures.rademacher_ball` computes the complexity itself.

    Parameters
    ----------
    radius : float, default=1.0
        Distance ``B`` of the parameters from where the net is linearised.
    """

    radius: float = 1.0

    key = "kernel_rademacher"
    depends_on = ("tangent_kernel",)
    source = "Bartlett, Mendelson 2002, Lemma 22, with the kernel of Jacot, Gabriel, Hongler 2018"
    why_no_bound = _NOT_LINEAR

    def value(self, net: NetRecord) -> float:
        """Return the complexity."""
        return self.radius * math.sqrt(_kernel(net).mean_trace / net.n_samples)


@dataclass(frozen=True)
class AttentionKernelRademacher(ComplexityMeasure):
    """`KernelRademacher` where only the parameters of attention move.

    Parameters
    ----------
    radius : float, default=1.0
        Distance of those parameters from where the net is linearised.
    """

    radius: float = 1.0

    key = "attention_kernel_rademacher"
    depends_on = ("attention_kernel",)
    source = KernelRademacher.source
    why_no_bound = _NOT_LINEAR

    def value(self, net: NetRecord) -> float:
        """Return the complexity."""
        return self.radius * math.sqrt(_attention(net).mean_trace / net.n_samples)


class KernelMisalignment(ComplexityMeasure):
    """One minus the centred alignment of the kernel with the labels."""

    key = "kernel_misalignment"
    depends_on = ("tangent_kernel",)
    source = "Cortes, Mohri, Rostamizadeh 2012, Definition 4"
    why_no_bound = _NOT_LINEAR

    def value(self, net: NetRecord) -> float:
        """Return a number in [0, 1]."""
        return misalignment(_kernel(net))


class AttentionKernelMisalignment(ComplexityMeasure):
    """One minus the centred alignment of the attention kernel with the labels."""

    key = "attention_kernel_misalignment"
    depends_on = ("attention_kernel",)
    source = KernelMisalignment.source
    why_no_bound = _NOT_LINEAR

    def value(self, net: NetRecord) -> float:
        """Return a number in [0, 1]."""
        return misalignment(_attention(net))


class KernelFit(ComplexityMeasure):
    """How far linearised parameters move to fit the labels: ``sqrt(2 y^T K^-1 y / m)``.

    Of the `m` rows of the kernel, with one-hot labels minus ``1 / n_classes``. Infinite where no
    movement fits them.
    """

    key = "kernel_fit"
    depends_on = ("tangent_kernel",)
    source = "Arora, Du, Hu, Li, Wang 2019, the leading term of Theorem 5.1"
    why_no_bound = (
        "The theorem is about two wide layers and the kernel at initialisation in the limit of "
        "infinite width; this is the kernel of the trained net."
    )

    def value(self, net: NetRecord) -> float:
        """Return the leading term."""
        kernel = _kernel(net)
        return math.sqrt(2.0 * kernel.fit_norm / kernel.n_rows)


class WidthCorrection(ComplexityMeasure):
    """One over the root of the width: the order of a wide net's distance from its linearisation."""

    key = "width_correction"
    depends_on = ("architecture",)
    source = "Lee, Xiao, Schoenholz, Bahri, Novak, Sohl-Dickstein, Pennington 2019, Theorem 2.1"
    why_no_bound = _WIDTH

    def value(self, net: NetRecord) -> float:
        """Return the order, without its unknown constant."""
        return 1.0 / math.sqrt(_width(net))


class DepthToWidth(ComplexityMeasure):
    """Depth over width: the order in which the tangent kernel varies with the initial weights."""

    key = "depth_to_width"
    depends_on = ("architecture",)
    source = "Hanin, Nica 2020, Theorem 1"
    why_no_bound = _WIDTH

    def value(self, net: NetRecord) -> float:
        """Return the quotient."""
        width = _width(net)
        assert net.architecture.depth is not None
        return net.architecture.depth / width


def _width(net: NetRecord) -> int:
    width, depth = net.architecture.width, net.architecture.depth
    if width is None or depth is None:
        raise MissingEvidenceError(
            "Width and depth are known for a Transformer, and for other nets were not told. Pass "
            "them in Architecture(width=..., depth=...)."
        )
    return width
