"""How far the loss rises near the trained parameters."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LossAscent"]


@dataclass(frozen=True, kw_only=True)
class LossAscent:
    """Largest losses that gradient ascent found; true maxima may be larger.

    Parameters
    ----------
    loss : float
        Mean cross-entropy of the rows at the trained parameters.
    in_ball : float
        By how much it rose at most within the Euclidean ball.
    in_box : float
        By how much it rose at most where no parameter moves by more than ``1e-3 (|w_i| + 1)``.
    """

    loss: float
    in_ball: float
    in_box: float
