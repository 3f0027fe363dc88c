"""A trained net with the tokenizer in front of it: what predicts."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from skbound._training._inference import block_rows, logits_in_blocks
from skbound._training._threads import torch_threads

__all__ = ["FittedTransformer"]


@dataclass(frozen=True)
class FittedTransformer:
    """A trained net with the tokenizer in front of it.

    Parameters
    ----------
    net : skorch.NeuralNetClassifier or None
        None for a single class.
    tokenizer : tokenizer
        Fitted on training rows.
    history : list of dict
        Losses and seconds per epoch.
    device : str
        Where the net is.
    n_classes : int
        Number of classes.
    initial : nn.Module or None, default=None
        The module before training.
    rows : ndarray of int or None, default=None
        Which rows trained it; positions among those of the learner.
    """

    net: Any
    tokenizer: Any
    history: list[dict[str, float]]
    device: str
    n_classes: int
    initial: Any = None
    rows: Any = None

    def logits(self, X):
        """Return the logits of validated rows.

        Parameters
        ----------
        X : ndarray of shape (n_samples, ...)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), float64
            Logits; zero for a single class.

        Raises
        ------
        ValueError
            If a logit is not finite.
        """
        if self.net is None:
            return np.zeros((len(X), 1))
        logits = self._evaluate(self.net.module_, X, self.n_classes)
        if not np.isfinite(logits).all():
            raise ValueError(
                "The net's output is not finite for some rows of X, so there is nothing to "
                "predict from it. Fit again with a lower lr or with dtype='float64'."
            )
        return logits

    def features(self, X):
        """Return what the last linear map of the net reads.

        Parameters
        ----------
        X : ndarray of shape (n_samples, ...)
            Validated rows.

        Returns
        -------
        ndarray of shape (n_samples, width), float64
            To the last bit what it reads in `logits`.
        """
        module = copy.deepcopy(self.net.module_)
        width = module.norm_head.normalized_shape[0]
        module.head = torch.nn.Identity()
        return self._evaluate(module, X, width)

    def _evaluate(self, module, X, n_outputs):
        with torch_threads(1):
            return logits_in_blocks(
                module,
                X,
                self.tokenizer.prepare,
                n_rows=block_rows(module.embedding.n_tokens),
                n_classes=n_outputs,
            )

    def with_module(self, module):
        """Return the same predictor with another module in its net.

        Parameters
        ----------
        module : nn.Module
            Takes the same rows.

        Returns
        -------
        FittedTransformer
            This one is not changed.
        """
        # Not copy.copy, which would write the whole net into bytes and back.
        other = object.__new__(type(self.net))
        vars(other).update(vars(self.net), module_=module)
        return replace(self, net=other)

    def without_training(self):
        """Return the same predictor without what is known of its training."""
        return replace(self, initial=None, rows=None)
