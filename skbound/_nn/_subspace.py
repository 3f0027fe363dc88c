"""A module that moves in a few directions only."""

from __future__ import annotations

import torch
from torch import nn
from torch.func import functional_call

__all__ = ["SubspaceModule"]


class SubspaceModule(nn.Module):
    """Train a few coordinates in place of all weights: ``weight_i = center_i + s_i z[g_i]``.

    Parameters
    ----------
    module : nn.Module
        Its weights are the centre; they are frozen.
    groups : torch.Tensor of int of shape (n_weights,)
        Which coordinate moves each weight, in the order of ``module.parameters()``.
    scales : torch.Tensor of shape (n_weights,)
        How far, and in which direction.
    start : torch.Tensor of shape (n_coordinates,)
        First coordinates.
    levels : torch.Tensor of shape (n_levels,) or None, default=None
        The forward pass uses the level nearest to each coordinate; the gradient is taken as if
        it had used the coordinate itself. None uses the coordinates.
    """

    def __init__(
        self,
        module: nn.Module,
        groups: torch.Tensor,
        scales: torch.Tensor,
        start: torch.Tensor,
        levels: torch.Tensor | None = None,
    ) -> None:
        super().__init__()
        self.module = module.requires_grad_(False)
        self.groups, self.scales, self.levels = groups, scales, levels
        self.coordinates = nn.Parameter(start)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply the module with the weights that the coordinates stand for."""
        z: torch.Tensor = self.coordinates
        if self.levels is not None:
            nearest = self.levels[(z.detach()[:, None] - self.levels).abs().argmin(1)]
            z = z + (nearest - z.detach())
        moved = self.scales * z[self.groups]
        weights, first = {}, 0
        for name, center in self.module.named_parameters():
            last = first + center.numel()
            weights[name] = center + moved[first:last].view_as(center)
            first = last
        return functional_call(self.module, weights, (x,))
