"""How steep and how sharp the loss is at the trained parameters."""

from __future__ import annotations

import math

from skbound.evidence import NetRecord
from skbound.measures._measure import ComplexityMeasure

__all__ = ["BallSharpness", "BoxSharpness", "FisherRao"]

_RESCALED = "Rescaling layers against each other changes it and not the net."


class BallSharpness(ComplexityMeasure):
    """Largest rise of the training loss that was found in a Euclidean ball of radius 0.05."""

    key = "ball_sharpness"
    depends_on = ("sharpness",)
    source = "Foret, Kleiner, Mobahi, Neyshabur 2021, eq. 1, radius of their section 3"
    why_no_bound = _RESCALED

    def value(self, net: NetRecord) -> float:
        """Return the rise."""
        net.need("sharpness")
        assert net.sharpness is not None
        return net.sharpness.in_ball


class BoxSharpness(ComplexityMeasure):
    """Rise of the training loss where each parameter moves by up to ``1e-3 (|w| + 1)``, in percent.

    ``100 rise / (1 + loss)``. The authors climb by L-BFGS-B; here, by signs of gradients.
    """

    key = "box_sharpness"
    depends_on = ("sharpness",)
    source = "Keskar, Mudigere, Nocedal, Smelyanskiy, Tang 2017, Metric 2.1"
    why_no_bound = _RESCALED

    def value(self, net: NetRecord) -> float:
        """Return the relative rise."""
        net.need("sharpness")
        assert net.sharpness is not None
        return 100.0 * net.sharpness.in_box / (1.0 + net.sharpness.loss)


class FisherRao(ComplexityMeasure):
    """Root mean square over rows of the product of a row's gradient with the parameters.

    All trained parameters count. Rescaling layers of a ReLU chain against each other does not
    change it, nor does rescaling queries against keys. For a chain of L maps without biases the
    product is L times ``<gradient by the logits, logits>``.
    """

    key = "fisher_rao"
    depends_on = ("fisher_rao",)
    source = "Liang, Poggio, Rakhlin, Stokes 2019, section 3"
    why_no_bound = "Its bound is proved for linear nets only; it falls to 0 as the loss does."

    def value(self, net: NetRecord) -> float:
        """Return the norm."""
        net.need("fisher_rao")
        assert net.fisher_rao is not None
        return math.sqrt(net.fisher_rao)
