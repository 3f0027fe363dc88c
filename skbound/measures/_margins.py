"""Margins: by how much a net prefers the labels that it was trained on."""

from __future__ import annotations

import math

import numpy as np

from skbound.evidence import NetRecord
from skbound.exceptions import MissingEvidenceError
from skbound.measures._layer_norms import JIANG, log, norms
from skbound.measures._measure import ComplexityMeasure, LogMeasure

__all__ = [
    "InverseMargin",
    "MarginOverEpochs",
    "log_inverse_margin",
    "margin_note",
    "margin_quantile",
]


def margin_quantile(net: NetRecord, share: float = 0.1) -> float:
    """Return a low quantile of the margins, with its sign.

    Parameters
    ----------
    net : NetRecord
        With margins.
    share : float, default=0.1
        At least this share of the rows has no larger margin.

    Returns
    -------
    float
        One of the margins; negative where more than that share of the rows is misclassified.

    Raises
    ------
    MissingEvidenceError
        If margins were not collected.
    """
    net.need("margins")
    assert net.margins is not None
    return float(np.quantile(net.margins, share, method="inverted_cdf"))


def log_inverse_margin(net: NetRecord) -> float:
    """Return minus the logarithm of the 10th percentile of margins; infinite unless positive."""
    margin = margin_quantile(net)
    return -math.log(margin) if margin > 0.0 else math.inf


def margin_note(net: NetRecord, share: float = 0.1) -> str:
    """Return why what is divided by the margin is infinite; nothing where it is not."""
    margin = margin_quantile(net, share)
    if margin > 0.0:
        return ""
    return (
        f"The {share:g} quantile of the margins is {margin:.4g}: the net errs on at least that "
        f"share of its training rows, so nothing can be divided by its margin."
    )


class InverseMargin(LogMeasure):
    """One over the squared margin, the 10th percentile over training rows.

    Infinite where it is not positive: a net that errs has no small complexity. Multiplying the last
    layer by a number changes the margin, so alone it says little.
    """

    key = "inverse_margin"
    depends_on = ("margins",)
    source = JIANG.format("eq. 22")
    why_no_bound = "It ignores the size of the weights, by which any margin can be made large."

    def log_value(self, net: NetRecord) -> float:
        """Return minus twice the logarithm of the margin."""
        return 2.0 * log_inverse_margin(net)

    def note(self, net: NetRecord) -> str:
        """Return what is wrong with the margin."""
        return margin_note(net)


class MarginOverEpochs(ComplexityMeasure):
    """Minus the mean over epochs of the margin: high for nets that were slow to fit.

    Parameters
    ----------
    normalized : bool, default=False
        Whether to divide each epoch's margin by the product of that epoch's spectral norms. The
        mean then does not change if all layers are multiplied by numbers.

    Notes
    -----
    An own definition. Margins count with their signs, so that epochs with errors raise the value
    and do not make it infinite.
    """

    depends_on = ("epochs",)
    source = "Own; normalised margins: Bartlett, Foster, Telgarsky 2017, section 2"
    why_no_bound = "It is about the course of training and compares rows with the net they formed."

    def __init__(self, *, normalized: bool = False) -> None:
        self.normalized = normalized
        self.key = "normalized_" * normalized + "margin_over_epochs"

    def value(self, net: NetRecord) -> float:
        """Return minus the mean."""
        if not net.epochs:
            raise MissingEvidenceError(
                "No epoch of this net was kept. Give a Probe copies of the module as snapshots."
            )
        return -float(np.mean([self._margin(epoch) for epoch in net.epochs]))

    def _margin(self, epoch: NetRecord) -> float:
        margin = margin_quantile(epoch)
        if not self.normalized:
            return margin
        return margin * math.exp(-math.fsum(map(log, norms(epoch, "spectral"))))
