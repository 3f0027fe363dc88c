"""Rows that stay on disk: each batch is read and prepared when it is its turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import Dataset

__all__ = ["LabelledTensors", "RowsOnDisk", "is_on_disk"]


# Smaller ones are read at once: joblib maps the arrays that it hands to workers.
LARGE = 2**28


def is_on_disk(X: Any) -> bool:
    """Whether an array of 256 MiB or more is, or looks into, a memory-mapped file.

    Parameters
    ----------
    X : object
        Rows.

    Returns
    -------
    bool
        A check of scikit-learn turns a ``numpy.memmap`` into a plain array that looks into it.
    """
    if getattr(X, "nbytes", 0) < LARGE:
        return False
    while X is not None:
        if isinstance(X, np.memmap):
            return True
        X = getattr(X, "base", None)
    return False


class RowsOnDisk:
    """Stands in for the tensor of all prepared rows, with the same numbers.

    Parameters
    ----------
    X : ndarray of shape (n_samples, ...)
        Looks into a file.
    positions : ndarray of int
        Which rows, in their order.
    prepare : callable
        Turns some rows into the net's input, each row by itself.
    device : str
        Where batches go.
    dtype : torch.dtype
        Of the batches.
    """

    def __init__(
        self,
        X: NDArray,
        positions: NDArray[np.intp],
        prepare: Callable[[NDArray], NDArray],
        device: str,
        dtype: torch.dtype,
    ) -> None:
        self.X, self.positions, self.prepare = X, positions, prepare
        self.device, self.dtype = torch.device(device), dtype
        self.shape = torch.Size((len(positions), *self[:1].shape[1:]))

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, rows: slice | torch.Tensor) -> torch.Tensor:
        places = rows.cpu().numpy() if isinstance(rows, torch.Tensor) else rows
        prepared = self.prepare(self.X[self.positions[places]])
        return torch.as_tensor(np.ascontiguousarray(prepared)).to(self.device, self.dtype)

    def split(self, n_rows: int) -> Iterator[torch.Tensor]:
        """Yield all rows, so many at a time."""
        for start in range(0, len(self), n_rows):
            yield self[start : start + n_rows]


class LabelledTensors(Dataset):
    """Inputs, labels and weights, as ``torch.utils.data.TensorDataset`` holds them.

    Parameters
    ----------
    X : Tensor or RowsOnDisk
        Inputs, which a TensorDataset would insist on having in memory.
    labels, weights : Tensor
        One per row.
    """

    def __init__(
        self, X: torch.Tensor | RowsOnDisk, labels: torch.Tensor, weights: torch.Tensor
    ) -> None:
        self.tensors: tuple[Any, torch.Tensor, torch.Tensor] = X, labels, weights

    def __len__(self) -> int:
        return len(self.tensors[1])

    def __getitem__(self, rows):
        return tuple(tensor[rows] for tensor in self.tensors)
