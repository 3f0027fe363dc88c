"""Stop when a training suddenly goes another way."""

from __future__ import annotations

import statistics
from numbers import Integral, Real

import torch
from skorch.callbacks import EarlyStopping

from skbound._nn._roles import effective_vector
from skbound.monitors._monitor import Monitor

__all__ = ["StabilityMonitor"]


class StabilityMonitor(Monitor):
    """Stop at a sudden jump of a number, and go back to the weights before it.

    ``history_`` gets ``weight_change``, the length of an epoch's move relative to that of the
    weights, and ``jump``, the watched number relative to its median over the `window` epochs
    before (1 while there are fewer). Training stops where ``jump`` exceeds `factor`.

    Parameters
    ----------
    watch : str, default="train_loss"
        "train_loss", "valid_loss", "weight_change", or what a callback before this one records,
        such as "gradient_norm.max" of `GradientMonitor`. It must be positive.
    factor : float, default=3.0
        Above 1; infinity never stops.
    window : int, default=3
        Epochs to compare with.

    Notes
    -----
    It reads training rows and validation rows only, so that a certificate is not touched. A jump
    is a hint, and a training without one need not be stable in the sense of a theorem. With
    ``early_stopping=True`` the best epoch is gone back to instead.
    """

    def __init__(self, watch="train_loss", factor=3.0, window=3):
        self.watch = watch
        self.factor = factor
        self.window = window

    def on_train_begin(self, net, **kwargs):
        """Begin without a past.

        Raises
        ------
        ValueError
            If a parameter is out of range.
        """
        if not isinstance(self.factor, Real) or not self.factor > 1.0:
            raise ValueError(f"factor must be a number above 1, got {self.factor!r}.")
        if not isinstance(self.window, Integral) or self.window < 1:
            raise ValueError(f"window must be an integer of at least 1, got {self.window!r}.")
        self.values_ = []
        self.jumped_ = False
        self._keep(net)

    def on_epoch_end(self, net, **kwargs):
        """Record, and stop at a jump."""
        self.record(net, "weight_change", self._change(net))
        row = net.history[-1]
        if self.watch not in row:
            known = sorted(key for key, value in row.items() if isinstance(value, float))
            raise ValueError(
                f"watch must name a number of the history, got {self.watch!r}. There are {known}; "
                f"what a callback records is there if that callback comes first."
            )
        value, past = row[self.watch], self.values_[-self.window :]
        usual = statistics.median(past) if len(past) == self.window else value
        jump = value / usual if usual else 1.0
        self.record(net, "jump", jump)
        self.values_.append(value)
        if jump > self.factor:
            self.jumped_ = True
            # What skorch takes for the wish to stop.
            raise KeyboardInterrupt
        self._keep(net)

    def on_train_end(self, net, **kwargs):
        """Go back to the weights before the jump."""
        if self.jumped_ and not any(isinstance(c, EarlyStopping) for _, c in net.callbacks_):
            net.module_.load_state_dict(self.state_)
        del self.state_, self.weights_

    @torch.no_grad()
    def _keep(self, net):
        self.state_ = {name: value.clone() for name, value in net.module_.state_dict().items()}
        self.weights_ = effective_vector(net.module_)

    @torch.no_grad()
    def _change(self, net):
        return (effective_vector(net.module_) - self.weights_).norm() / self.weights_.norm()
