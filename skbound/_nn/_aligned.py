"""Linear maps and attention whose result for a row does not depend on the row's place in the batch.

Matrix kernels load several numbers at once, and where a row starts off such a group, they sum in
another order. With rows padded by zeros to a multiple of eight numbers, every row starts alike.
The padding costs nothing at widths that are multiples of eight (times `n_heads`, for attention).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

__all__ = ["AlignedLinear", "aligned_attention", "aligned_matmul"]

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


def aligned_matmul(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return ``x @ y`` with the inner dimension padded to whole groups."""
    missing = _missing(x.shape[-1])
    if not missing:
        return x @ y
    return F.pad(x, (0, missing)) @ F.pad(y, (0, 0, 0, missing))


def aligned_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    bias: torch.Tensor | None = None,
    *,
    scale: float | None = None,
    fused: bool = True,
) -> torch.Tensor:
    """Scaled dot-product attention with the head dimension padded to whole groups.

    Parameters
    ----------
    q : torch.Tensor of shape (n, n_heads, n_queries, head_width)
        Queries.
    k, v : torch.Tensor of shape (n, n_heads, n_tokens, head_width)
        Keys and values.
    bias : torch.Tensor that broadcasts to (n, n_heads, n_queries, n_tokens), or None, default=None
        Added to the logits; or bool, then only where it is True is looked at.
    scale : float or None, default=None
        Factor of ``q @ k.T``; None stands for ``1 / sqrt(head_width)``.
    fused : bool, default=True
        Use torch's kernel, which is faster but cannot be differentiated twice.

    Returns
    -------
    torch.Tensor of shape (n, n_heads, n_queries, head_width)
        Mixed values.
    """
    head_width = q.shape[-1]
    if not fused:
        return _plain_attention(q, k, v, bias, head_width**-0.5 if scale is None else scale)
    missing = _missing(head_width)
    if not missing:
        return F.scaled_dot_product_attention(q, k, v, bias, scale=scale)
    if scale is None:
        scale = head_width**-0.5
    q, k, v = (F.pad(x, (0, missing)) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, bias, scale=scale)[..., :head_width]


def _plain_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    bias: torch.Tensor | None,
    scale: float,
) -> torch.Tensor:
    """Return the same in single steps."""
    logits = q @ k.mT * scale
    if bias is not None and bias.dtype == torch.bool:
        logits = logits.masked_fill(~bias, -torch.inf)
    elif bias is not None:
        logits = logits + bias
    return torch.softmax(logits, dim=-1) @ v
