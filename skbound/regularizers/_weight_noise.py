"""Take each step's gradient at weights with noise on them."""

from __future__ import annotations

import torch

from skbound.regularizers._base import Regularizer
from skbound.regularizers._schedules import check_strength

__all__ = ["WeightNoise"]


class WeightNoise(Regularizer):
    """Gaussian noise on all trained numbers, drawn anew for each batch.

    The net is trained to be right, on average, for weights around its own. The reported loss is
    that of the noisy weights.

    Parameters
    ----------
    std : float or Schedule, default=0.01
        Standard deviation of the noise on each number.

    Notes
    -----
    With a pull towards fixed weights this minimises a PAC-Bayes bound that is linear in loss and
    divergence, with one draw per batch; :class:`~skbound.protocols.PACBayes` does so with
    ``objective="bound"``.

    References
    ----------
    An 1996, "The effects of adding noise during backpropagation training on a generalization
    performance"; Blundell, Cornebise, Kavukcuoglu, Wierstra 2015.
    """

    def __init__(self, std=0.01):
        self.std = std

    def check(self, shape):
        """Refuse a negative standard deviation; see :meth:`Regularizer.check`."""
        check_strength("std", self.std, 0.0)

    def prepare(self, module, generator):
        """Keep the generator; see :meth:`Regularizer.prepare`."""
        self._generator = generator

    def around_gradient(self, module, compute):
        """Compute the gradient at noisy weights; see :meth:`Regularizer.around_gradient`."""
        std = self.now("std")
        if std == 0.0:
            return compute()
        trained = [p for p in module.parameters() if p.requires_grad]
        before = [p.detach().clone() for p in trained]
        with torch.no_grad():
            for parameter in trained:
                noise = torch.randn(parameter.shape, generator=self._generator)
                parameter.add_(std * noise.to(parameter))
        try:
            return compute()
        finally:
            with torch.no_grad():
                for parameter, value in zip(trained, before, strict=True):
                    parameter.copy_(value)

    def finish(self, module):
        """Let go of the generator; see :meth:`Regularizer.finish`."""
        self.__dict__.pop("_generator", None)
