"""Dropout that draws from its own generator, so that no fit touches torch's global state."""

from __future__ import annotations

import torch
from torch import nn

__all__ = ["SeededDropout"]


class SeededDropout(nn.Module):
    """Inverted dropout whose mask comes from `generator`.

    ``nn.Dropout`` draws from torch's global generator, which all threads share: fits that run
    side by side would change each other's masks.

    Parameters
    ----------
    p : float
        Probability of dropping an entry, in [0, 1).

    Attributes
    ----------
    generator : torch.Generator or None
        Set before training starts; not needed for evaluation.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p
        self.generator: torch.Generator | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Drop entries while training; the identity otherwise."""
        if not self.training or self.p == 0.0:
            return x
        keep = torch.empty_like(x).bernoulli_(1.0 - self.p, generator=self.generator)
        return x * keep.div_(1.0 - self.p)

    def extra_repr(self) -> str:
        """Show the probability in the module's repr."""
        return f"p={self.p}"
