"""Leave out whole blocks at random while training."""

from __future__ import annotations

import torch

from skbound._nn._dropout import SeededDropout
from skbound.regularizers._base import Regularizer
from skbound.regularizers._schedules import check_strength

__all__ = ["StochasticDepth"]


class _DropRows(SeededDropout):
    """Keep or drop all that a row gets from a block."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Drop rows of (n, t, width) while training; the identity otherwise."""
        if not self.training or self.p == 0.0:
            return x
        keep = x.new_empty(len(x), 1, 1).bernoulli_(1.0 - self.p, generator=self.generator)
        return x * (keep / (1.0 - self.p))


def _skip(block, inputs, output):
    """Pass on what a block adds to its input for some rows only."""
    # The last block may return the first token alone.
    before = inputs[0][:, : output.shape[1]]
    return before + block.drop_rows(output - before)


class StochasticDepth(Regularizer):
    """Leave out blocks at random, for each row of a batch anew.

    What a block adds to its input is dropped with a probability that rises from block to block,
    ``rate * i / depth`` for the i-th of ``depth``, and is divided by the probability of staying
    otherwise, so that prediction uses all blocks as they are.

    Parameters
    ----------
    rate : float or Schedule, default=0.1
        Probability for the last block, in [0, 1); schedules up to 0.99.

    References
    ----------
    Huang, Sun, Liu, Sedra, Weinberger 2016; per row as in Touvron et al. 2021.
    """

    def __init__(self, rate=0.1):
        self.rate = rate

    def check(self, shape):
        """Refuse a rate out of range; see :meth:`Regularizer.check`."""
        check_strength("rate", self.rate, 0.0, 0.99)

    def prepare(self, module, generator):
        """Put hooks on the blocks; see :meth:`Regularizer.prepare`."""
        if not hasattr(module, "blocks"):
            raise ValueError(
                f"StochasticDepth drops blocks, of which a {type(module).__name__} has none of its "
                f"own. A protocol that trains coordinates in place of weights, such as "
                f"'description_length', cannot use it; leave it out there."
            )
        self._hooks = []
        for block in module.blocks:
            block.drop_rows = _DropRows(0.0)
            self._hooks.append(block.register_forward_hook(_skip))
        self.before_gradient(module)

    def before_gradient(self, module):
        """Set the rates; see :meth:`Regularizer.before_gradient`."""
        for number, block in enumerate(module.blocks, start=1):
            block.drop_rows.p = self.now("rate") * number / len(module.blocks)

    def finish(self, module):
        """Take the hooks off; see :meth:`Regularizer.finish`."""
        for hook in self.__dict__.pop("_hooks", []):
            hook.remove()
        for block in getattr(module, "blocks", []):
            if hasattr(block, "drop_rows"):
                del block.drop_rows
