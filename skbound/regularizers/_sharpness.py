"""Descend along the gradient of the worst point nearby."""

from __future__ import annotations

import torch

from skbound.regularizers._base import Regularizer
from skbound.regularizers._schedules import check_strength

__all__ = ["SharpnessAware"]


class SharpnessAware(Regularizer):
    """Sharpness-aware minimisation: each step takes the gradient from a little uphill.

    The weights go from w to ``w + radius * g / |g|``, where g is the gradient of the batch at w.
    The gradient there is the one that the optimizer uses, at w. The reported loss is that at w.

    Parameters
    ----------
    radius : float or Schedule, default=0.05
        How far uphill, in Euclidean norm over all weights together.

    Notes
    -----
    Each step costs two. Dropout draws new masks the second time. Batches may be shared by several
    threads.

    References
    ----------
    Foret, Kleiner, Mobahi, Neyshabur 2021, algorithm 1, for p = 2.
    """

    def __init__(self, radius=0.05):
        self.radius = radius

    def check(self, shape):
        """Refuse a radius that is not positive; see :meth:`Regularizer.check`."""
        check_strength("radius", self.radius, 0.0, open_low=True)

    def around_gradient(self, module, compute):
        """Compute the gradient uphill; see :meth:`Regularizer.around_gradient`."""
        outcome = compute()
        moved = [p for p in module.parameters() if p.grad is not None]
        before = [p.detach().clone() for p in moved]
        with torch.no_grad():
            length = torch.stack([p.grad.norm() for p in moved]).norm()
            if length == 0.0:
                return outcome
            step = self.now("radius") / length
            for parameter in moved:
                parameter.add_(parameter.grad * step)
        try:
            compute()
        finally:
            with torch.no_grad():
                for parameter, value in zip(moved, before, strict=True):
                    parameter.copy_(value)
        return outcome
