"""What the regularisers of one training do, in the order of their list."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from numpy.typing import NDArray
from torch import nn

from skbound.regularizers import Regularizer

__all__ = ["Regularization", "TrainingRows"]

Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class TrainingRows:
    """The training rows, for a regulariser that makes other labels for them.

    Parameters
    ----------
    inputs : callable
        Returns the rows as they were given to ``fit``.
    classes : ndarray of shape (n_classes,)
        Sorted labels.
    train_another : callable
        Takes a seed, trains another net of the same shape on the same rows, and returns its logits
        there, of shape (n, n_classes).
    dtype : torch.dtype
        Of shares of classes.
    """

    inputs: Callable[[], NDArray] | None
    classes: NDArray | None
    train_another: Callable[[int], torch.Tensor]
    dtype: torch.dtype


class Regularization:
    """Call the regularisers of one training.

    Parameters
    ----------
    regularizers : tuple of Regularizer
        Clones that belong to this training.
    n_steps : int
        Of a training that is not stopped early.
    seed : int
        Of their generators.
    n_classes : int
        Number of classes.
    """

    def __init__(
        self, regularizers: tuple[Regularizer, ...], *, n_steps: int, seed: int, n_classes: int
    ) -> None:
        self.regularizers, self.n_classes = regularizers, n_classes
        self.step, self.last_step = 0, max(1, n_steps - 1)
        # Far from the seeds of the dropout masks, of which there is one per block.
        self.generators = [
            torch.Generator().manual_seed(seed + 1_000_000 + number)
            for number in range(len(regularizers))
        ]

    def __bool__(self) -> bool:
        return bool(self.regularizers)

    def labels(self, labels: torch.Tensor, rows: TrainingRows) -> torch.Tensor:
        """Return the labels to train on.

        Parameters
        ----------
        labels : torch.Tensor of shape (n,)
            Class numbers.
        rows : TrainingRows
            Where they come from.

        Returns
        -------
        torch.Tensor of shape (n,) or (n, n_classes)
            Class numbers or shares of the classes.
        """
        for regularizer, generator in self._pairs():
            labels = regularizer.on_rows(
                labels, rows, n_classes=self.n_classes, generator=generator
            )
        return labels

    @contextmanager
    def prepared(self, module: nn.Module) -> Iterator[None]:
        """Have the net prepared while the body runs.

        Parameters
        ----------
        module : nn.Module
            Changed in place; a plain net again afterwards.

        Yields
        ------
        None
            In between.
        """
        self._refuse_rivals(module)
        done = []
        try:
            for regularizer, generator in self._pairs():
                done.append(regularizer)
                regularizer.prepare(module, generator)
            yield
        finally:
            for regularizer in reversed(done):
                regularizer.finish(module)

    def on_batch(self, *batch: torch.Tensor) -> Batch:
        """Return what the net trains on instead of a batch; a new step begins here.

        Parameters
        ----------
        *batch : torch.Tensor
            Inputs, labels and weights.

        Returns
        -------
        X, labels, weights : torch.Tensor
            Of the same kind.
        """
        for regularizer, generator in self._pairs():
            regularizer.progress = min(1.0, self.step / self.last_step)
            batch = regularizer.on_batch(*batch, n_classes=self.n_classes, generator=generator)
        self.step += 1
        X, labels, weights = batch
        return X, labels, weights

    def around_gradient(self, module: nn.Module, compute: Callable[[], Any]) -> Any:
        """Compute the gradient of a step.

        Parameters
        ----------
        module : nn.Module
            The net.
        compute : callable
            Clears the gradients and computes those of the batch.

        Returns
        -------
        object
            What `compute` returned the first time.
        """

        def innermost() -> Any:
            for regularizer in self.regularizers:
                regularizer.before_gradient(module)
            return compute()

        for regularizer in reversed(self.regularizers):
            innermost = partial(regularizer.around_gradient, module, innermost)
        return innermost()

    def row_penalty(self, module: nn.Module, *rows: torch.Tensor) -> torch.Tensor | float:
        """Return what the rows add to the loss; arguments as in `Regularizer.row_penalty`."""
        return sum(regularizer.row_penalty(module, *rows) for regularizer in self.regularizers)

    def penalty(self, module: nn.Module) -> torch.Tensor | float:
        """Return what the weights add to the loss; see `Regularizer.penalty`."""
        return sum(regularizer.penalty(module) for regularizer in self.regularizers)

    @torch.no_grad()
    def after_step(self, module: nn.Module) -> None:
        """Change the weights after a step; see `Regularizer.after_step`."""
        for regularizer in self.regularizers:
            regularizer.after_step(module)

    def without_labels_of_their_own(self) -> tuple[Regularizer, ...]:
        """Return fresh copies of the regularisers that leave `on_rows` alone."""
        return tuple(
            copy.deepcopy(regularizer)
            for regularizer in self.regularizers
            if type(regularizer).on_rows is Regularizer.on_rows
        )

    def check(self, shape: tuple[int, ...], *, shared: bool, weight_decay: float) -> None:
        """Refuse what does not fit together, before anything is trained.

        Parameters
        ----------
        shape : tuple of int
            Of the prepared training rows.
        shared : bool
            Whether several threads share each batch.
        weight_decay : float
            Of the optimizer.

        Raises
        ------
        ValueError
            Saying what must hold.
        """
        for regularizer in self.regularizers:
            regularizer.check(shape)
            name = type(regularizer).__name__
            if shared and not regularizer.row_by_row:
                raise ValueError(
                    f"{name} needs all rows of a batch at once, which n_threads of more than 1 "
                    f"divide among them. Use n_threads=1, or None."
                )
            if weight_decay and getattr(regularizer, "is_weight_decay", False):
                raise ValueError(
                    f"{regularizer!r} does what weight_decay={weight_decay:g} does, so that it "
                    f"would count twice. Use weight_decay=0, or leave {name} out."
                )

    def _refuse_rivals(self, module: nn.Module) -> None:
        """Refuse two constraints on the same weight."""
        owners: dict[str, Regularizer] = {}
        for regularizer in self.regularizers:
            for name in regularizer.constrained(module):
                other = owners.setdefault(name, regularizer)
                if other is not regularizer:
                    raise ValueError(
                        f"{type(other).__name__} and {type(regularizer).__name__} both rule "
                        f"{name}, so that one would undo the other. Give them different roles by "
                        f"`where`, or use one of them."
                    )

    def _pairs(self) -> Iterator[tuple[Regularizer, torch.Generator]]:
        return zip(self.regularizers, self.generators, strict=True)
