"""What a regulariser may do, and when."""

from __future__ import annotations

import torch
from sklearn.base import BaseEstimator

__all__ = ["Regularizer"]


class Regularizer(BaseEstimator):
    """Base of all regularisers: its methods do nothing; a subclass overrides those that it needs.

    A regulariser acts inside the training, so after a protocol has split the rows: rows that are
    validated or certified are never changed. The object that was given stays as it is; each fit
    works with a clone.

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
