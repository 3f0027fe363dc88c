"""What stands between two linear maps."""

from __future__ import annotations

import torch
import torch.nn.functional as F

__all__ = ["ACTIVATIONS", "maxmin"]


def maxmin(x: torch.Tensor) -> torch.Tensor:
    """Sort pairs: number j of the first half against number j of the second.

    For each input it permutes the numbers, so it is 1-Lipschitz and keeps norms.

    Parameters
    ----------
    x : torch.Tensor of shape (..., n)
        Hidden numbers; if `n` is odd, the last has no partner and stays.

    Returns
    -------
    torch.Tensor of shape (..., n)
        The larger ones, the smaller ones, and the one without a partner.
    """
    half = x.shape[-1] // 2
    a, b, rest = x.split([half, half, x.shape[-1] - 2 * half], dim=-1)
    return torch.cat([torch.maximum(a, b), torch.minimum(a, b), rest], dim=-1)


ACTIVATIONS = {"gelu": F.gelu, "relu": F.relu, "maxmin": maxmin}
