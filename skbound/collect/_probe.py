"""A trained net together with labelled rows to look at it with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

__all__ = ["Probe"]


@dataclass(frozen=True, eq=False)
class Probe:
    """A module and rows; what is measured goes over the rows in chunks, so memory stays flat.

    Parameters
    ----------
    module : nn.Module
        Maps a batch to logits; in evaluation mode.
    X : ndarray of shape (n_samples, ...)
        Rows as the user gave them.
    codes : ndarray of int of shape (n_samples,)
        Numbers of their classes.
    prepare : callable
        Turns some rows into the module's input.
    seed : int, default=0
        Of whatever is drawn.
    initial : nn.Module or None, default=None
        The module before training, where that was kept.
    snapshots : tuple of nn.Module, default=()
        The module after each epoch, where that was kept.
    """

    module: nn.Module
    X: NDArray[Any]
    codes: NDArray[np.intp]
    prepare: Callable[[NDArray[Any]], NDArray[Any]]
    seed: int = 0
    initial: nn.Module | None = None
    snapshots: tuple[nn.Module, ...] = ()

    def __post_init__(self) -> None:
        self.module.eval()

    @property
    def n_samples(self) -> int:
        """How many rows there are."""
        return len(self.codes)

    def chunks(self, n_rows: int = 512) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Go over the rows in their order.

        Parameters
        ----------
        n_rows : int, default=512
            Rows per chunk.

        Yields
        ------
        inputs, labels : torch.Tensor
            On the module's device.
        """
        first = next(self.module.parameters())
        for start in range(0, self.n_samples, n_rows):
            # Copies: torch takes no array whose strides are negative.
            rows = np.array(self.prepare(self.X[start : start + n_rows]), order="C")
            labels = torch.as_tensor(np.array(self.codes[start : start + n_rows]))
            yield torch.as_tensor(rows).to(first.device, first.dtype), labels.to(first.device)

    def few(self, n_rows: int) -> Probe:
        """Return a probe with a random part of the rows.

        Parameters
        ----------
        n_rows : int
            At most so many.

        Returns
        -------
        Probe
            Itself, if it has no more.
        """
        if n_rows >= self.n_samples:
            return self
        rng = np.random.default_rng([self.seed, 0])
        rows = np.sort(rng.choice(self.n_samples, n_rows, replace=False))
        return replace(self, X=self.X[rows], codes=self.codes[rows])
