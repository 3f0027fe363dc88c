"""Several threads compute the gradient of one batch, each that of a share of its rows.

torch's own threads meet after every operation, which for small nets takes longer than the
operation, and far longer where other work wants the same processors. These meet once a step.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import nn

from skbound._nn._dropout import SeededDropout

__all__ = ["Helpers", "split_batch"]

# Below that, starting a helper takes longer than its work.
_ROWS_PER_SHARE = 8


def split_batch(n_shares: int, *tensors: torch.Tensor) -> list[tuple[torch.Tensor, ...]]:
    """Cut the tensors of a batch into shares.

    Parameters
    ----------
    n_shares : int
        At most; there are fewer where a share would have less than 8 rows.
    *tensors : torch.Tensor of shape (n, ...)
        Of a batch.

    Returns
    -------
    list of tuple of torch.Tensor
        One tuple per share, of the sizes that a function of `n` and `n_shares` says.
    """
    n_shares = min(n_shares, max(1, len(tensors[0]) // _ROWS_PER_SHARE))
    return list(zip(*(torch.tensor_split(tensor, n_shares) for tensor in tensors), strict=True))


class Helpers:
    """Threads that compute gradients beside the main one, in copies that share its weights.

    A copy differs in its dropout masks alone, which come from a generator of its own, so that the
    threads' order decides nothing.

    Parameters
    ----------
    module : nn.Module
        In training mode.
    n_helpers : int
        Threads besides the main one.
    seed : int
        Of the dropout masks.
    """

    def __init__(self, module: nn.Module, n_helpers: int, seed: int) -> None:
        self.module, self.n_helpers, self.seed = module, n_helpers, seed

    def __enter__(self) -> Helpers:
        self.parameters = [p for p in self.module.parameters() if p.requires_grad]
        self.copies = [self._copy(number) for number in range(1, self.n_helpers + 1)]
        # Threads start with the first work, so none do where there are no helpers.
        self.pool = ThreadPoolExecutor(
            max(1, self.n_helpers), initializer=torch.set_num_threads, initargs=(1,)
        )
        return self

    def __exit__(self, *error: Any) -> None:
        self.pool.shutdown()

    def __reduce__(self) -> tuple[Any, ...]:
        # A callback may copy the net in the middle of training; threads cannot be copied.
        return Helpers, (self.module, 0, self.seed)

    def _copy(self, number: int) -> nn.Module:
        # Buffers too: the main thread keeps them up to date for all.
        shared = [*self.module.parameters(), *self.module.buffers()]
        twin = copy.deepcopy(self.module, {id(tensor): tensor for tensor in shared})
        dropouts = [m for m in twin.modules() if isinstance(m, SeededDropout)]
        for place, dropout in enumerate(dropouts):
            seed = self.seed + 2_000_000 + number * len(dropouts) + place
            dropout.generator = torch.Generator().manual_seed(seed)
        return twin.train()

    def start(
        self, loss: Callable[..., torch.Tensor], shares: list[tuple[torch.Tensor, ...]]
    ) -> Callable[[], list[tuple[torch.Tensor, torch.Tensor]]]:
        """Start work on the shares of the helpers.

        Parameters
        ----------
        loss : callable
            Takes a net, and inputs, logits, labels and weights of a share, and returns what it adds
            to the loss.
        shares : list of tuple of torch.Tensor
            Inputs, labels and weights, one tuple per helper at most.

        Returns
        -------
        callable
            Waits for them, adds their gradients to those of the weights, in a fixed order, and
            returns loss and logits of each share.
        """

        def work(twin, X, labels, weights):
            logits = twin(X)
            value = loss(twin, X, logits, labels, weights)
            gradients = torch.autograd.grad(value, self.parameters, allow_unused=True)
            return value.detach(), logits.detach(), gradients

        running = [
            self.pool.submit(work, twin, *share)
            for twin, share in zip(self.copies, shares, strict=False)
        ]

        def finish():
            results = [future.result() for future in running]
            for *_, gradients in results:
                for parameter, gradient in zip(self.parameters, gradients, strict=True):
                    if gradient is None:
                        continue
                    if parameter.grad is None:
                        parameter.grad = gradient
                    else:
                        parameter.grad += gradient
            return [(value, logits) for value, logits, _ in results]

        return finish
