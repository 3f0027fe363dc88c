"""A linear head in double precision on clipped features, to put in the place of a trained one."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

__all__ = ["ClippedLinear"]

_GROUP = 8


class ClippedLinear(nn.Module):
    """Centre, project, clip to the unit ball, then map linearly.

    The numbers are buffers, not parameters: they are no part of what the net trains.

    Parameters
    ----------
    center : torch.Tensor of shape (width,)
        Subtracted first.
    directions : torch.Tensor of shape (n_directions, width)
        Projected on; already divided by the radius that becomes 1.
    weight : torch.Tensor of shape (n_classes, n_directions)
        Of the linear map.
    bias : torch.Tensor of shape (n_classes,)
        Its offset.
    """

    center: torch.Tensor
    directions: torch.Tensor
    weight: torch.Tensor
    bias: torch.Tensor

    def __init__(
        self,
        center: torch.Tensor,
        directions: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor,
    ) -> None:
        super().__init__()
        self.register_buffer("center", center)
        self.register_buffer("directions", _whole_groups(directions))
        self.register_buffer("weight", _whole_groups(weight))
        self.register_buffer("bias", bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (n, width) of any precision to (n, n_classes) of double precision."""
        inside = F.linear(_whole_groups(x.to(self.center.dtype) - self.center), self.directions)
        norms = inside.norm(dim=-1, keepdim=True)
        return F.linear(_whole_groups(inside / norms.clamp(min=1.0)), self.weight, self.bias)


def _whole_groups(x: torch.Tensor) -> torch.Tensor:
    """Pad the last dimension by zeros, so that a row's sums do not depend on its place."""
    # Stored column by column, a matrix would be read in steps that are no whole groups.
    return F.pad(x, (0, -x.shape[-1] % _GROUP)).contiguous()
