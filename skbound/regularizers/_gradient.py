"""Penalise how much the loss of a row changes with its inputs."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from skbound.regularizers._base import Regularizer
from skbound.regularizers._numbers import refuse_ids
from skbound.regularizers._schedules import check_strength

__all__ = ["GradientPenalty"]


class GradientPenalty(Regularizer):
    """Add ``strength * mean |d loss / d x|^2`` over the rows of a batch to the loss.

    ``loss`` is a row's cross-entropy and ``x`` its prepared inputs: standardised features of a
    table, numbers of a sequence, pixels.

    Parameters
    ----------
    strength : float or Schedule, default=0.1
        Of the penalty.

    Notes
    -----
    It differentiates twice, so that an epoch takes about four times as long. Dropout draws a mask
    of its own for it. Gradients at rows bound no Lipschitz constant from above.

    References
    ----------
    Drucker, LeCun 1992 ("double backpropagation").
    """

    def __init__(self, strength=0.1):
        self.strength = strength

    def check(self, shape):
        """Refuse a negative strength; see :meth:`Regularizer.check`."""
        check_strength("strength", self.strength, 0.0)

    def prepare(self, module, generator):
        """Refuse token ids, and use attention that can be differentiated twice.

        See :meth:`Regularizer.prepare`.
        """
        refuse_ids(self, module)
        self._layers = [layer for layer in module.modules() if getattr(layer, "fused", False)]
        for layer in self._layers:
            layer.fused = False

    def row_penalty(self, module, X, logits, labels, weights):
        """Return the penalty; see :meth:`Regularizer.row_penalty`."""
        strength = self.now("strength")
        if strength == 0.0:
            return 0.0
        inputs = X.detach().requires_grad_()
        losses = F.cross_entropy(module(inputs), labels, reduction="none")
        (gradient,) = torch.autograd.grad(losses.sum(), inputs, create_graph=True)
        return strength * (weights * gradient.square().flatten(1).sum(1)).mean()

    def finish(self, module):
        """Use the fast attention again; see :meth:`Regularizer.finish`."""
        for layer in self.__dict__.pop("_layers", []):
            layer.fused = True
