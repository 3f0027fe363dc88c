"""Path norms."""

from __future__ import annotations

import math

from skbound.evidence import NetRecord
from skbound.measures._layer_norms import JIANG, NO_SAMPLE, log
from skbound.measures._margins import log_inverse_margin, margin_note
from skbound.measures._measure import LogMeasure

__all__ = ["PathNorm"]


class PathNorm(LogMeasure):
    """Sum over paths from inputs to logits of the product of the squared weights along a path.

    Rescaling layers of a ReLU chain against each other does not change it; neither does rescaling
    queries against keys, which it does not see. For Transformers it is a heuristic that takes
    attention for a mean, GELU for the identity and a layer norm for its gain.

    Parameters
    ----------
    over_margin : bool, default=False
        Whether to divide by the squared margin; then infinite where the margin is not positive.
    """

    why_no_bound = f"{NO_SAMPLE} For Transformers no theorem is about it."

    def __init__(self, *, over_margin: bool = False) -> None:
        self.over_margin = over_margin
        self.key = "path_norm" + "_over_margin" * over_margin
        self.depends_on = ("path_norm",) + ("margins",) * over_margin
        self.source = f"Neyshabur, Tomioka, Srebro 2015; {JIANG.format(f'eq. {44 - over_margin}')}"

    def log_value(self, net: NetRecord) -> float:
        """Return the logarithm."""
        net.need("path_norm")
        assert net.path_norm is not None
        inverse = log_inverse_margin(net) if self.over_margin else 0.0
        return math.inf if inverse == math.inf else log(net.path_norm) + 2.0 * inverse

    def note(self, net: NetRecord) -> str:
        """Return what is wrong with the margin, if it counts."""
        return margin_note(net) if self.over_margin else ""
