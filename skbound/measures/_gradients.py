"""Measures from the gradients of single rows.

Under ReLU-type rescaling of two consecutive layers (one times a, the next divided by a) the net
stays the same and all of these change: the gradient by the first is divided by a.
"""

from __future__ import annotations

from skbound.evidence import GradientNorms, NetRecord
from skbound.measures._measure import ComplexityMeasure

__all__ = ["GradientPerRow", "GradientVariance", "MeanGradient", "MeanSquaredGradient"]

_SCALE = (
    "Gradients at the end of training bound nothing without their size along the whole path, and "
    "they change when layers are rescaled and the net stays the same."
)


class _OfGradients(ComplexityMeasure):
    depends_on = ("gradients",)
    why_no_bound = _SCALE

    @staticmethod
    def of(net: NetRecord) -> GradientNorms:
        assert net.gradients is not None
        return net.gradients


class MeanSquaredGradient(_OfGradients):
    """Mean over rows of the squared norm of the gradient of a row's cross-entropy."""

    key = "mean_squared_gradient"
    source = "Kuzborskij, Lampert 2018, the gradient term of Theorem 4, at the last step"

    def value(self, net: NetRecord) -> float:
        """Return the mean square."""
        return self.of(net).mean_square


class GradientPerRow(_OfGradients):
    """The mean squared gradient norm divided by the number of rows."""

    key = "gradient_per_row"
    source = "Lei, Ying 2020, the gradient term of their on-average stability, at the last step"

    def value(self, net: NetRecord) -> float:
        """Return the quotient."""
        return self.of(net).mean_square / net.n_samples


class MeanGradient(_OfGradients):
    """Norm of the gradient of the mean cross-entropy: how far training is from standing still."""

    key = "mean_gradient"
    source = "Norm of the gradient of the training objective, without its penalty"

    def value(self, net: NetRecord) -> float:
        """Return the norm."""
        return self.of(net).of_mean


class GradientVariance(_OfGradients):
    """Mean squared distance of the rows' gradients from their mean."""

    key = "gradient_variance"
    source = "Jiang, Neyshabur, Mobahi, Krishnan, Bengio 2020, gradient noise at the last step"

    def value(self, net: NetRecord) -> float:
        """Return the trace of the covariance."""
        found = self.of(net)
        return max(0.0, found.mean_square - found.of_mean**2)
