"""Evaluate a module in blocks of one fixed shape.

Matrix kernels sum in an order that depends on the number of rows and of threads, so the same row
may get other last bits in another batch. With every forward pass on the same shape and one thread,
a row's logits depend on that row alone: on no batch size, row order or number of rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

__all__ = ["block_rows", "logits_in_blocks"]

# What keeps a block's activations in a processor's cache; larger blocks were slower.
_TOKENS_PER_BLOCK = 2048
_BLOCKS_PER_CHUNK = 32


def block_rows(n_tokens: int) -> int:
    """Return the rows per block: a power of two with about 2,048 tokens, from 8 to 128 rows.

    Parameters
    ----------
    n_tokens : int
        Tokens per row.

    Returns
    -------
    int
        A function of `n_tokens` alone.
    """
    exponent = int(np.log2(_TOKENS_PER_BLOCK / max(n_tokens, 1)))
    return int(2 ** min(max(exponent, 3), 7))


@torch.inference_mode()
def logits_in_blocks(
    module: nn.Module,
    X: NDArray,
    prepare: Callable[[NDArray], NDArray],
    *,
    n_rows: int,
    n_classes: int,
) -> NDArray[np.float64]:
    """Return the logits of all rows as float64.

    Parameters
    ----------
    module : nn.Module
        Maps a batch to logits; put into evaluation mode.
    X : ndarray of shape (n_samples, ...)
        Rows as the user gave them.
    prepare : callable
        Turns some rows into the module's input; applied to a few blocks at a time so that memory
        stays flat.
    n_rows : int
        Rows per block.
    n_classes : int
        Logits per row.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        Logits.
    """
    module.eval()
    parameter = next(module.parameters())
    logits = np.empty((len(X), n_classes))
    chunk_rows = n_rows * _BLOCKS_PER_CHUNK
    for start in range(0, len(X), chunk_rows):
        rows = np.ascontiguousarray(prepare(X[start : start + chunk_rows]))
        chunk = torch.as_tensor(rows).to(parameter.device, parameter.dtype)
        for first in range(0, len(chunk), n_rows):
            block = chunk[first : first + n_rows]
            n_real = len(block)
            if n_real < n_rows:
                padding = block.new_zeros((n_rows - n_real, *block.shape[1:]))
                block = torch.cat([block, padding])
            out = module(block)[:n_real]
            logits[start + first : start + first + n_real] = out.to("cpu", torch.float64).numpy()
    return logits
