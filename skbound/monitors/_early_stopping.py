"""To which weight decay stopping here would be alike, where there is an answer."""

from __future__ import annotations

import torch

from skbound.monitors._monitor import Monitor

__all__ = ["EffectiveL2Monitor"]


class EffectiveL2Monitor(Monitor):
    """Record the strength of an L2 penalty that acts about as stopping after this epoch does.

    ``history_`` gets ``effective_l2``: the inverse of the sum of the learning rates of all steps so
    far, times ``1 - momentum``. It is the ``c`` of ``loss + c / 2 * |w - w_0|^2``, where w_0 stands
    for the initial weights.

    Raises
    ------
    ValueError
        When a training begins, if the optimizer is not ``torch.optim.SGD``: Adam's steps have
        another length in each direction.

    Notes
    -----
    What is proved is this: for least squares and gradient flow from 0, the risk is at most 1.69
    times that of ridge regression with this strength (Ali, Kolter, Tibshirani 2019). Small steps
    of plain gradient descent at a constant rate follow that flow. For Transformers, batches,
    momentum and the rising and falling rate of ``TransformerClassifier`` the number is an analogy,
    no theorem and no bound.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skbound import TransformerClassifier
    >>> from skbound.monitors import EffectiveL2Monitor
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = TransformerClassifier(
    ...     depth=1, width=8, max_epochs=3, optimizer="sgd", lr=0.05, random_state=0,
    ...     callbacks=[EffectiveL2Monitor()],
    ... ).fit(X, y)
    >>> strengths = [row["effective_l2"] for row in clf.history_]
    >>> strengths[0] > strengths[1] > strengths[2] > 0
    True
    """

    def on_train_begin(self, net, **kwargs):
        """Refuse other optimizers."""
        if not isinstance(net.optimizer_, torch.optim.SGD):
            raise ValueError(
                f"EffectiveL2Monitor needs optimizer='sgd', got "
                f"{type(net.optimizer_).__name__}, whose steps are not in proportion to the "
                f"gradient. Leave the monitor out, or use optimizer='sgd'."
            )
        self.sum_ = 0.0

    def on_grad_computed(self, net, named_parameters, **kwargs):
        """Add the rate of a step."""
        group = net.optimizer_.param_groups[-1]
        self.sum_ += group["lr"] / (1.0 - group["momentum"])

    def on_epoch_end(self, net, **kwargs):
        """Record the strength."""
        self.record(net, "effective_l2", 1.0 / self.sum_)
