"""Norms of weight matrices over a training."""

from __future__ import annotations

import math

import torch

from skbound._nn._roles import effective_weights, weights_of
from skbound.monitors._monitor import Monitor

__all__ = ["NormMonitor"]

_N_ITERATIONS = 10


class NormMonitor(Monitor):
    """Record the spectral and Frobenius norms of matrices after each epoch.

    ``history_`` gets, for each matrix, ``spectral_norm.<name>`` and ``frobenius_norm.<name>``, such
    as ``spectral_norm.blocks.0.attention.query.weight``, and for the whole net

    - ``log_spectral_product``: sum of the logarithms of the squared spectral norms;
    - ``l2_norm``: root of the sum of squares of these matrices;
    - ``distance_from_start``: Euclidean distance of all weights from the initial ones.

    Parameters
    ----------
    exact : bool, default=False
        Spectral norms by singular value decomposition in double precision. Otherwise ten power
        iterations, which go on from those of the epoch before, give an estimate from below.
    where : str or tuple of str, default="matrices"
        "query_key", "value", "feed_forward", "head", "embedding", "bias", or "matrices" for the
        first four.

    Notes
    -----
    With `SpectralNorm` or `WeightNorm` these are the matrices that the layers compute with. None
    of the numbers is a bound on anything.
    """

    def __init__(self, exact=False, where="matrices"):
        self.exact = exact
        self.where = where

    @torch.no_grad()
    def on_train_begin(self, net, **kwargs):
        """Remember where the weights start."""
        self.start_ = [weight.detach().clone() for weight in effective_weights(net.module_)]
        self.vectors_ = {}

    @torch.no_grad()
    def on_epoch_end(self, net, **kwargs):
        """Record the norms."""
        logs, squares = [], []
        for weight in weights_of(net.module_, self.where, type(self).__name__):
            matrix = torch.atleast_2d(weight.value.detach())
            spectral = float(self._spectral_norm(weight.name, matrix))
            frobenius = float(matrix.double().norm())
            self.record(net, f"spectral_norm.{weight.name}", spectral)
            self.record(net, f"frobenius_norm.{weight.name}", frobenius)
            logs.append(2.0 * math.log(spectral) if spectral > 0.0 else -math.inf)
            squares.append(frobenius**2)
        now = effective_weights(net.module_)
        moved = sum(float((p - q).square().sum()) for p, q in zip(now, self.start_, strict=True))
        self.record(net, "log_spectral_product", sum(logs))
        self.record(net, "l2_norm", math.sqrt(math.fsum(squares)))
        self.record(net, "distance_from_start", math.sqrt(moved))

    def _spectral_norm(self, name, matrix):
        if self.exact:
            return torch.linalg.matrix_norm(matrix.double(), 2)
        start = matrix[matrix.norm(dim=1).argmax()]
        vector = self.vectors_.get(name, start)
        for _ in range(_N_ITERATIONS):
            vector = torch.nn.functional.normalize(matrix.T @ (matrix @ vector), dim=0)
        self.vectors_[name] = vector
        return (matrix @ vector).norm()
