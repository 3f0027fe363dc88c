"""Lengths of gradients over a training."""

from __future__ import annotations

from numbers import Integral

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn.utils import get_total_norm

from skbound.monitors._monitor import Monitor

__all__ = ["GradientMonitor"]


class GradientMonitor(Monitor):
    """Record the lengths of gradients after each epoch.

    ``history_`` gets ``gradient_norm.mean`` and ``gradient_norm.max``, over the steps of an epoch,
    of the gradient of a batch with all penalties and before ``gradient_clip``. With `n_rows` it
    also gets ``gradient_norm.row_mean_square``, the mean over rows of the squared length of the
    gradient of a row's cross-entropy, which does not depend on the batch size.

    Parameters
    ----------
    n_rows : int or "all", default=0
        Training rows, drawn once, for the number per row. Each takes a backward pass of its own:
        a twentieth of the rows takes about as long as all steps of a small net.
    random_state : int, default=0
        Draws these rows.

    Notes
    -----
    None of these numbers bounds the error: they hold no number of rows.
    """

    def __init__(self, n_rows=0, random_state=0):
        self.n_rows = n_rows
        self.random_state = random_state

    def on_train_begin(self, net, **kwargs):
        """Draw the rows.

        Raises
        ------
        ValueError
            If `n_rows` is no count.
        """
        if self.n_rows != "all" and (not isinstance(self.n_rows, Integral) or self.n_rows < 0):
            raise ValueError(
                f"n_rows must be an integer of at least 0, or 'all', got {self.n_rows!r}."
            )
        self.norms_ = []
        self.parameters_ = [p for p in net.module_.parameters() if p.requires_grad]

    @torch.no_grad()
    def on_grad_computed(self, net, named_parameters, **kwargs):
        """Keep the length of a step's gradient."""
        gradients = [p.grad for p in self.parameters_ if p.grad is not None]
        self.norms_.append(get_total_norm(gradients))

    def on_epoch_end(self, net, dataset_train=None, **kwargs):
        """Record mean and maximum, and begin anew."""
        norms = torch.stack(self.norms_)
        self.norms_ = []
        self.record(net, "gradient_norm.mean", norms.mean())
        self.record(net, "gradient_norm.max", norms.max())
        if self.n_rows:
            value = self._mean_square(net.module_, dataset_train.tensors)
            self.record(net, "gradient_norm.row_mean_square", value)

    def _mean_square(self, module, tensors):
        X, labels, _ = tensors
        order = np.random.default_rng([self.random_state, 0]).permutation(len(X))
        rows = order if self.n_rows == "all" else order[: self.n_rows]
        training = module.training
        module.eval()
        total = 0.0
        for row in np.sort(rows):
            loss = F.cross_entropy(module(X[row : row + 1]), labels[row : row + 1])
            gradients = torch.autograd.grad(loss, self.parameters_, allow_unused=True)
            total += sum(float(g.double().square().sum()) for g in gradients if g is not None)
        module.train(training)
        return total / len(rows)
