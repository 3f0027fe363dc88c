"""Batches by slicing tensors: no worker, no collating, order from an explicit generator."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from skbound._training._mapped import LabelledTensors

__all__ = ["TensorBatches"]

Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


class TensorBatches:
    """Iterate over (X, (labels, weights)) batches of LabelledTensors.

    It stands in for ``torch.utils.data.DataLoader``, which assembles a batch row by row and draws
    its order from the global generator.

    Parameters
    ----------
    dataset : LabelledTensors
        Inputs, labels and weights.
    batch_size : int
        Rows per batch; the last batch may be smaller.
    generator : torch.Generator or None, default=None
        Source of a new order per pass; None keeps the given order.
    change : callable or None, default=None
        Takes inputs, labels and weights of a batch and returns what to train on instead.
    """

    def __init__(
        self,
        dataset: LabelledTensors,
        batch_size: int,
        generator: torch.Generator | None = None,
        change: Callable[..., Batch] | None = None,
    ) -> None:
        self.tensors = dataset.tensors
        self.batch_size = batch_size
        self.generator = generator
        self.change = change

    def __len__(self) -> int:
        return -(-len(self.tensors[0]) // self.batch_size)

    def __iter__(self) -> Iterator[tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]]:
        for batch in self._batches():
            X, labels, weights = batch if self.change is None else self.change(*batch)
            yield X, (labels, weights)

    def _batches(self) -> Iterator[Batch]:
        X, labels, weights = self.tensors
        n_samples = len(X)
        if n_samples <= self.batch_size:
            # One batch holds everything: its order does not matter but its sums' last bits do.
            yield X[:], labels, weights
            return
        order = None
        if self.generator is not None:
            order = torch.randperm(n_samples, generator=self.generator).to(X.device)
        for start in range(0, n_samples, self.batch_size):
            stop = start + self.batch_size
            rows = slice(start, stop) if order is None else order[start:stop]
            yield X[rows], labels[rows], weights[rows]
