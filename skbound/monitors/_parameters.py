"""How the weights of each role are distributed, over a training."""

from __future__ import annotations

import numpy as np
import torch

from skbound._nn._roles import MATRICES, weights_of
from skbound.monitors._monitor import Monitor

__all__ = ["ParameterMonitor"]

_N_NUMBERS = 4096


class ParameterMonitor(Monitor):
    """Record moments and quantiles of the weights of each role after each epoch.

    A net of large width is described by the law of its weights rather than by each of them: the
    mean-field view. For each role, ``history_`` gets ``<role>.mean``, ``<role>.std``,
    ``<role>.skewness``, ``<role>.kurtosis`` (0 for a normal law), ``<role>.moved``, the root mean
    square of the distance from the initial weights, and a quantile for each level, such as
    ``query_key.q05``.

    Parameters
    ----------
    levels : tuple of float, default=(0.05, 0.25, 0.5, 0.75, 0.95)
        In [0, 1].
    exact : bool, default=False
        Take quantiles of all weights of a role, rather than of 4,096 of them, evenly spaced.
        Moments are always those of all.
    where : tuple of str, default=("query_key", "value", "feed_forward", "head")
        Roles; "embedding" and "bias" are others.

    Notes
    -----
    Mean-field theorems are about the limit of infinite width; at a finite width these numbers
    describe, and bound nothing.
    """

    def __init__(self, levels=(0.05, 0.25, 0.5, 0.75, 0.95), exact=False, where=MATRICES):
        self.levels = levels
        self.exact = exact
        self.where = where

    def on_train_begin(self, net, **kwargs):
        """Remember where the weights start.

        Raises
        ------
        ValueError
            If a level is out of range.
        """
        if not all(0.0 <= level <= 1.0 for level in self.levels):
            raise ValueError(f"levels must be numbers in [0, 1], got {self.levels!r}.")
        self.start_ = {role: self._numbers(net, role) for role in self.where}

    def on_epoch_end(self, net, **kwargs):
        """Record the law of each role."""
        for role in self.where:
            numbers = self._numbers(net, role)
            mean, std = numbers.mean(), numbers.std()
            standard = (numbers - mean) / std if std > 0.0 else np.zeros(1)
            moved = np.sqrt(np.mean((numbers - self.start_[role]) ** 2))
            self.record(net, f"{role}.mean", mean)
            self.record(net, f"{role}.std", std)
            self.record(net, f"{role}.skewness", np.mean(standard * standard * standard))
            self.record(net, f"{role}.kurtosis", np.mean(np.square(standard * standard)) - 3.0)
            self.record(net, f"{role}.moved", moved)
            if not self.exact:
                numbers = numbers[:: -(-len(numbers) // _N_NUMBERS)]
            quantiles = np.quantile(numbers, self.levels)
            for level, value in zip(self.levels, quantiles, strict=True):
                self.record(net, f"{role}.q{100 * level:02g}", value)

    @torch.no_grad()
    def _numbers(self, net, role):
        weights = weights_of(net.module_, role, type(self).__name__)
        parts = [w.value.detach().to("cpu", torch.float64).numpy().ravel() for w in weights]
        return np.concatenate(parts)
