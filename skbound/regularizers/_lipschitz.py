"""Penalise slopes of the net between rows that are steeper than allowed."""

from __future__ import annotations

from skbound.regularizers._base import Regularizer
from skbound.regularizers._schedules import check_strength

__all__ = ["LipschitzPenalty"]


class LipschitzPenalty(Regularizer):
    """Add ``strength * mean max(0, slope - beyond)^2`` to the loss, over pairs of rows.

    The slope between two rows is ``|f(x) - f(x')| / |x - x'|``, with f the logits and x the
    prepared inputs, in Euclidean norm. Pairs are neighbours in a batch, whose order is random.

    Parameters
    ----------
    strength : float or Schedule, default=0.01
        Of the penalty.
    beyond : float or Schedule, default=0.0
        Slopes up to this cost nothing.

    Notes
    -----
    No forward pass is added. A slope between two rows is a lower estimate of the Lipschitz
    constant: the penalty guarantees nothing about other rows. Equal rows make no pair. Pairs need
    the whole batch, so ``n_threads`` must be 1 or None.
    """

    row_by_row = False

    def __init__(self, strength=0.01, beyond=0.0):
        self.strength = strength
        self.beyond = beyond

    def check(self, shape):
        """Refuse numbers out of range; see :meth:`Regularizer.check`."""
        check_strength("strength", self.strength, 0.0)
        check_strength("beyond", self.beyond, 0.0)

    def row_penalty(self, module, X, logits, labels, weights):
        """Return the penalty; see :meth:`Regularizer.row_penalty`."""
        if len(X) < 2:
            return 0.0
        apart = (X[1:] - X[:-1]).flatten(1).norm(dim=1)
        differ = apart > 0.0
        rise = (logits[1:] - logits[:-1])[differ].square().sum(1)
        # The root of a square has no derivative at 0, where it costs nothing.
        slopes = rise.clamp(min=1e-24).sqrt() / apart[differ]
        excess = (slopes - self.now("beyond")).clamp(min=0.0)
        return self.now("strength") * excess.square().sum() / max(1, len(excess))
