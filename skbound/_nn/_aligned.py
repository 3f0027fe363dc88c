"""Linear maps and attention whose result for a row does not depend on the row's place in the batch.

Matrix kernels load several numbers at once, and where a row starts off such a group, they sum in
another order. With rows padded by zeros to a multiple of eight numbers, every row starts alike.
The padding costs nothing at widths that are multiples of eight (times `n_heads`, for attention).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

__all__ = ["AlignedLinear", "aligned_attention"]

_GROUP = 8


def _missing(size: int) -> int:
    return -size % _GROUP


class AlignedLinear(nn.Linear):
    """``nn.Linear`` with the inner dimension padded to whole groups."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (..., in_features) to (..., out_features)."""
        missing = _missing(self.in_features)
        if not missing:
            return super().forward(x)
        return F.linear(F.pad(x, (0, missing)), F.pad(self.weight, (0, missing)), self.bias)


def aligned_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, fused: bool = True
) -> torch.Tensor:
    """Scaled dot-product attention with the head dimension padded to whole groups.

    Parameters
    ----------
    q : torch.Tensor of shape (n, n_heads, n_queries, head_width)
        Queries.
    k, v : torch.Tensor of shape (n, n_heads, n_tokens, head_width)
        Keys and values.
    fused : bool, default=True
        Use torch's kernel, which is faster but cannot be differentiated twice.

    Returns
    -------
    torch.Tensor of shape (n, n_heads, n_queries, head_width)
        Mixed values.
    """
    head_width = q.shape[-1]
    if not fused:
        return torch.softmax(q @ k.mT * head_width**-0.5, dim=-1) @ v
    missing = _missing(head_width)
    if not missing:
        return F.scaled_dot_product_attention(q, k, v)
    q, k, v = (F.pad(x, (0, missing)) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, scale=head_width**-0.5)[..., :head_width]
