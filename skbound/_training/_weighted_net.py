"""The skorch net behind a training: weighted rows, shared batches, interrupts that get through."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from skorch import NeuralNetClassifier

from skbound._nn._roles import effective_weights
from skbound._training._shares import split_batch

__all__ = ["Interrupted", "WeightedNet"]


class Interrupted(BaseException):
    """Carries a user's interrupt past skorch, which takes every KeyboardInterrupt for a stop."""


class WeightedNet(NeuralNetClassifier):
    """A skorch classifier whose target is (labels, weights); weights have mean one.

    Before ``fit``, `helpers_` and `regularization_` are set on it.

    Parameters
    ----------
    *args, **kwargs
        Of ``NeuralNetClassifier``.
    label_smoothing : float, default=0.0
        In [0, 1).
    pull : float, default=0.0
        Weighs half the squared distance from the initial weights.
    """

    def __init__(
        self, *args: Any, label_smoothing: float = 0.0, pull: float = 0.0, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.label_smoothing, self.pull = label_smoothing, pull

    def get_loss(self, y_pred, y_true, X=None, training=False):
        if not training:
            return self._mean_loss(y_pred, *y_true, smoothing=0.0)
        return self._row_loss(self.module_, X, y_pred, *y_true) + self._penalty()

    def _mean_loss(self, logits, labels, weights, *, smoothing):
        losses = F.cross_entropy(logits, labels, reduction="none", label_smoothing=smoothing)
        return (losses * weights).mean()

    def _row_loss(self, module, X, logits, labels, weights):
        """Return what some rows of a batch add to the loss, as a mean over them."""
        loss = self._mean_loss(logits, labels, weights, smoothing=self.label_smoothing)
        return loss + self.regularization_.row_penalty(module, X, logits, labels, weights)

    def _penalty(self):
        """Return what weights add to the loss."""
        penalty = self.regularization_.penalty(self.module_)
        return penalty + 0.5 * self.pull * self._squared_distance() if self.pull else penalty

    def train_step(self, batch, **fit_params):
        step = super().train_step(batch, **fit_params)
        self.regularization_.after_step(self.module_)
        return step

    def train_step_single(self, batch, **fit_params):
        def compute():
            self._zero_grad_optimizer()
            return self._gradient(batch, **fit_params)

        return self.regularization_.around_gradient(self.module_, compute)

    def _gradient(self, batch, **fit_params):
        X, (labels, weights) = batch
        shares = split_batch(1 + self.helpers_.n_helpers, X, labels, weights)
        if len(shares) == 1:
            return super().train_step_single(batch, **fit_params)

        def part_of_loss(module, part, *of_loss):
            return len(part) / len(X) * self._row_loss(module, part, *of_loss)

        self._set_training(True)
        finish = self.helpers_.start(part_of_loss, shares[1:])
        own, *of_loss = shares[0]
        logits = self.infer(own)
        loss = part_of_loss(self.module_, own, logits, *of_loss) + self._penalty()
        loss.backward()
        others = finish()
        return {
            "loss": loss.detach() + sum(value for value, _ in others),
            "y_pred": torch.cat([logits.detach(), *(other for _, other in others)]),
        }

    def _squared_distance(self):
        """Return the squared distance of the weights from those that training started with."""
        now = effective_weights(self.module_)
        if not hasattr(self, "anchor_"):
            self.anchor_ = [p.detach().clone() for p in now]
        return sum((p - a).square().sum() for p, a in zip(now, self.anchor_, strict=True))

    def notify(self, method_name, **cb_kwargs):
        try:
            super().notify(method_name, **cb_kwargs)
        except KeyboardInterrupt:
            self.stopped_by_callback_ = True
            raise

    def fit_loop(self, *args, **kwargs):
        # Callbacks stop the training by a KeyboardInterrupt, which skorch swallows. One that comes
        # from the user must get through: half a fit is no fit.
        self.stopped_by_callback_ = False
        try:
            return super().fit_loop(*args, **kwargs)
        except KeyboardInterrupt as interrupt:
            if self.stopped_by_callback_:
                raise
            raise Interrupted from interrupt
