"""Soft penalties on the norms of matrices."""

from __future__ import annotations

import torch

from skbound._nn._roles import weights_of
from skbound.regularizers._base import Regularizer
from skbound.regularizers._schedules import check_strength
from skbound.regularizers._singular import first_singular_vectors

__all__ = ["NormPenalty"]


def _spectral(matrix):
    """Return the largest singular value; its gradient is u v' by the first singular vectors."""
    u, v = first_singular_vectors(matrix)
    return torch.dot(u, matrix @ v)


_NORMS = {
    "spectral": _spectral,
    "frobenius": torch.linalg.matrix_norm,
    "nuclear": lambda matrix: torch.linalg.matrix_norm(matrix, "nuc"),
}


class NormPenalty(Regularizer):
    """Add ``strength * sum max(0, norm(W) - beyond)^2`` over matrices W to the loss.

    Parameters
    ----------
    strength : float or Schedule, default=1e-3
        Of the penalty.
    norm : {"spectral", "frobenius", "nuclear"}, default="spectral"
        Largest singular value, root of the sum of their squares, or their sum.
    beyond : float or Schedule, default=0.0
        Norms up to this cost nothing.
    where : str or tuple of str, default="matrices"
        "query_key", "value", "feed_forward", "head", "embedding", "bias", or "matrices" for the
        first four. A bias counts as a matrix of one row.

    Notes
    -----
    A penalty guarantees no norm; `SpectralBall` and `FrobeniusBall` do. With ``norm="frobenius"``
    and ``beyond=0`` on matrices it is what ``weight_decay`` is for, which must then be 0.

    References
    ----------
    Yoshida, Miyato 2017 (spectral, not scheduled, without `beyond`).
    """

    def __init__(self, strength=1e-3, norm="spectral", beyond=0.0, where="matrices"):
        self.strength = strength
        self.norm = norm
        self.beyond = beyond
        self.where = where

    @property
    def is_weight_decay(self):
        """Whether it does what ``weight_decay`` does."""
        roles = {self.where} if isinstance(self.where, str) else set(self.where)
        plain = self.norm == "frobenius" and isinstance(self.beyond, (int, float))
        return plain and self.beyond == 0 and bool(roles - {"bias", "embedding"})

    def check(self, shape):
        """Refuse parameters out of range; see :meth:`Regularizer.check`."""
        check_strength("strength", self.strength, 0.0)
        check_strength("beyond", self.beyond, 0.0)
        if self.norm not in _NORMS:
            raise ValueError(f"norm must be one of {list(_NORMS)}, got {self.norm!r}.")

    def prepare(self, module, generator):
        """Find the weights; see :meth:`Regularizer.prepare`."""
        self._weights = weights_of(module, self.where, type(self).__name__)

    def penalty(self, module):
        """Return the penalty; see :meth:`Regularizer.penalty`."""
        norms = torch.stack([_NORMS[self.norm](torch.atleast_2d(w.value)) for w in self._weights])
        return self.now("strength") * (norms - self.now("beyond")).clamp(min=0.0).square().sum()

    def finish(self, module):
        """Let go of the weights; see :meth:`Regularizer.finish`."""
        self.__dict__.pop("_weights", None)
