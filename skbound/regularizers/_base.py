"""What a regulariser may do, and when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from sklearn.base import BaseEstimator
from torch import nn

from skbound.regularizers._schedules import strength_at

__all__ = ["Regularizer"]


class Regularizer(BaseEstimator):
    """Base of all regularisers: its methods do nothing; a subclass overrides those that it needs.

    A regulariser acts inside the training, so after a protocol has split the rows: rows that are
    validated or certified are never changed. The object that was given stays as it is; each fit
    works with a clone, so that what a method keeps on ``self`` belongs to one training.

    A training calls `check`, `on_rows` and `prepare` once; then for each step `on_batch`,
    `before_gradient`, the net, `row_penalty`, `penalty`, all of these but the first inside
    `around_gradient`, the optimizer, and `after_step`; and `finish` once.

    Attributes
    ----------
    progress : float
        0 at the first step of a training of ``max_epochs``, 1 at the last; set before each step.
    row_by_row : bool
        Whether `row_penalty` is a mean over rows, so that several threads may compute it on a part
        of a batch each. Where it is not, ``n_threads=1`` is needed.
    assumptions : tuple of str
        What a certificate rests on besides, because of this regulariser.

    Examples
    --------
    >>> import torch
    >>> from skbound.regularizers import Regularizer
    >>> class Noise(Regularizer):
    ...     def __init__(self, std=0.1):
    ...         self.std = std
    ...
    ...     def on_batch(self, X, labels, weights, *, n_classes, generator):
    ...         noise = torch.randn(X.shape, generator=generator).to(X)
    ...         return X + self.std * noise, labels, weights
    """

    progress: float = 0.0
    row_by_row: bool = True
    assumptions: tuple[str, ...] = ()

    def now(self, name: str) -> Any:
        """Return a parameter at the present step, whether it is a number or a schedule.

        Parameters
        ----------
        name : str
            Of the parameter.

        Returns
        -------
        float
            Its value.
        """
        return strength_at(getattr(self, name), self.progress)

    def check(self, shape: tuple[int, ...]) -> None:
        """Refuse parameters or rows that do not fit together; called before a training starts.

        Parameters
        ----------
        shape : tuple of int
            Of the prepared training rows: (n, n_features) of a table, (n, n_tokens, n_features) of
            sequences, (n, n_rows, n_columns, n_channels) of images.

        Raises
        ------
        ValueError
            Saying what must hold.
        """

    def on_batch(
        self,
        X: torch.Tensor,
        labels: torch.Tensor,
        weights: torch.Tensor,
        *,
        n_classes: int,
        generator: torch.Generator,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return what the net trains on instead of a batch.

        Parameters
        ----------
        X : torch.Tensor of shape (n, ...)
            Prepared rows; not to be changed in place.
        labels : torch.Tensor of shape (n,) or (n, n_classes)
            Class numbers or, after a regulariser that blends rows, shares of the classes.
        weights : torch.Tensor of shape (n,)
            Weights of the rows.
        n_classes : int
            Number of classes.
        generator : torch.Generator
            On the CPU; the only source of chance, so that the same seed gives the same fit.

        Returns
        -------
        X, labels, weights : torch.Tensor
            As taken.
        """
        return X, labels, weights

    def on_rows(
        self, labels: torch.Tensor, rows: Any, *, n_classes: int, generator: torch.Generator
    ) -> torch.Tensor:
        """Return other labels for the training rows; called once, before the first epoch.

        Parameters
        ----------
        labels : torch.Tensor of shape (n,) or (n, n_classes)
            Class numbers, or shares of the classes.
        rows : TrainingRows
            ``rows.inputs()`` are the rows as they were given to ``fit``, ``rows.classes`` the
            sorted labels, and ``rows.train_another(seed)`` trains another net on the same rows
            and returns its logits there.
        n_classes : int
            Number of classes.
        generator : torch.Generator
            On the CPU; the only source of chance.

        Returns
        -------
        torch.Tensor of shape (n,) or (n, n_classes)
            Labels to train on.
        """
        return labels

    def constrained(self, module: nn.Module) -> list[str]:
        """Return the names of the weights that it alone may rule, such as those it projects.

        Parameters
        ----------
        module : nn.Module
            The net, before it is prepared.

        Returns
        -------
        list of str
            A name that two regularisers return is refused: one would undo the other.
        """
        return []

    def prepare(self, module: nn.Module, generator: torch.Generator) -> None:
        """Change the net before it is trained, in place.

        Parameters
        ----------
        module : nn.Module
            In training mode, on its device.
        generator : torch.Generator
            On the CPU; the only source of chance.
        """

    def before_gradient(self, module: nn.Module) -> None:
        """Bring up to date what the net keeps besides weights; called once for all threads.

        Parameters
        ----------
        module : nn.Module
            May be changed in place.
        """

    def row_penalty(
        self,
        module: nn.Module,
        X: torch.Tensor,
        logits: torch.Tensor,
        labels: torch.Tensor,
        weights: torch.Tensor,
    ) -> torch.Tensor | float:
        """Return what rows add to the loss: a mean over them, unless `row_by_row` is False.

        Parameters
        ----------
        module : nn.Module
            The net; in a helping thread a copy that shares its weights.
        X : torch.Tensor of shape (n, ...)
            Prepared rows.
        logits : torch.Tensor of shape (n, n_classes)
            The net's answer to them.
        labels : torch.Tensor of shape (n,) or (n, n_classes)
            Class numbers, or shares of the classes.
        weights : torch.Tensor of shape (n,)
            Weights of the rows.

        Returns
        -------
        torch.Tensor without dimensions, or 0.0
            To be differentiated.
        """
        return 0.0

    def penalty(self, module: nn.Module) -> torch.Tensor | float:
        """Return what weights add to the loss, once per step.

        Parameters
        ----------
        module : nn.Module
            The net.

        Returns
        -------
        torch.Tensor without dimensions, or 0.0
            To be differentiated.
        """
        return 0.0

    def around_gradient(self, module: nn.Module, compute: Callable[[], Any]) -> Any:
        """Compute the gradient of a step; an override may do so more than once.

        Parameters
        ----------
        module : nn.Module
            The net; its weights must be back where they were at the end.
        compute : callable
            Clears the gradients, computes those of the batch, leaves them in ``.grad`` of the
            parameters, and returns what this method must return.

        Returns
        -------
        object
            From the call whose loss is to be reported.
        """
        return compute()

    def after_step(self, module: nn.Module) -> None:
        """Change the weights after the optimizer did; called without recording gradients.

        Parameters
        ----------
        module : nn.Module
            Changed in place.
        """

    def finish(self, module: nn.Module) -> None:
        """Take off what `prepare` has put on, so that a plain net is left; also after an error.

        Parameters
        ----------
        module : nn.Module
            Changed in place.
        """
