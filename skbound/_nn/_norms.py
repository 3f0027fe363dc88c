"""What keeps a token's size in hand, besides ``nn.LayerNorm``."""

from __future__ import annotations

import torch
from torch import nn

__all__ = ["NoNorm", "Projection", "build_norm"]


class Projection(nn.Module):
    """Move tokens onto the unit ball: ``x / max(1, |x|)``, which is 1-Lipschitz.

    Parameters
    ----------
    width : int
        Length of a token vector.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.normalized_shape = (width,)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (..., width) to the same shape."""
        # Not norm().clamp(), whose gradient at 0 is not a number.
        return x / x.square().sum(-1, keepdim=True).clamp(min=1.0).sqrt()


class NoNorm(nn.Module):
    """Leave tokens as they are.

    Parameters
    ----------
    width : int
        Length of a token vector.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.normalized_shape = (width,)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the input."""
        return x


def build_norm(norm: str, width: int) -> nn.Module:
    """Return a norm by its name.

    Parameters
    ----------
    norm : {"layer", "projection", "none"}
        Which one.
    width : int
        Length of a token vector.

    Returns
    -------
    nn.Module
        With ``normalized_shape`` of ``(width,)``.
    """
    kinds = {"layer": nn.LayerNorm, "projection": Projection, "none": NoNorm}
    return kinds[norm](width)
