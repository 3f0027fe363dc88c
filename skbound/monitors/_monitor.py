"""What monitors share: how a number gets into the history."""

from __future__ import annotations

from typing import Any

import torch
from skorch.callbacks import Callback

__all__ = ["Monitor"]


class Monitor(Callback):
    """Base of monitors: a skorch callback that records numbers.

    What a subclass keeps during a training has a name that ends in an underscore; other attributes
    are its parameters. The object that was given stays as it is; each fit works with a copy.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skbound import TransformerClassifier
    >>> from skbound.monitors import Monitor
    >>> class HeadNorm(Monitor):
    ...     def on_epoch_end(self, net, **kwargs):
    ...         self.record(net, "head_norm", net.module_.head.weight.norm())
    ...
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = TransformerClassifier(
    ...     depth=1, width=8, max_epochs=2, callbacks=[HeadNorm()], random_state=0
    ... ).fit(X, y)
    >>> [row["head_norm"] > 0 for row in clf.history_]
    [True, True]
    """

    def record(self, net: Any, name: str, value: Any) -> None:
        """Note a number of the present epoch.

        Parameters
        ----------
        net : skorch.NeuralNetClassifier
            That is being trained.
        name : str
            Key in ``history_``.
        value : float or tensor of one number
            Its value.
        """
        value = value.detach() if isinstance(value, torch.Tensor) else value
        net.history.record(name, float(value))
        if len(net.history) > 1:
            return
        for _, callback in net.callbacks_:
            # The table of verbose=1 has no room for them.
            if hasattr(callback, "keys_ignored_"):
                callback.keys_ignored_.add(name)
