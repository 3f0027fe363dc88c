"""Norms of weight matrices over a training."""

from __future__ import annotations

import math

import torch

from skbound._nn._roles import effective_vector, weights_of
from skbound.monitors._monitor import Monitor

__all__ = ["NormMonitor"]


class NormMonitor(Monitor):
    """Record the spectral and Frobenius norms of matrices after each epoch.

    ``history_`` gets, for each matrix, ``spectral_norm.<name>`` and ``frobenius_norm.<name>``, such
    as ``spectral_norm.blocks.0.attention.query.weight``, and for the whole net

    - ``log_spectral_product``: sum of the logarithms of the squared spectral norms;
    - ``l2_norm``: root of the sum of squares of these matrices;
    - ``distance_from_start``: Euclidean distance of all weights from the initial ones.

    Parameters
    ----------
    where : str or tuple of str, default="matrices"
        "query_key", "value", "feed_forward", "head", "embedding", "bias", or "matrices" for the
        first four.

    Notes
    -----
    The norms are exact, in double precision, and take a few milliseconds per epoch for a small net.
    With `SpectralNorm` or `WeightNorm` these are the matrices that the layers compute with. None
    of the numbers is a bound on anything.
    """

    def __init__(self, where="matrices"):
        self.where = where

    @torch.no_grad()
    def on_train_begin(self, net, **kwargs):
        """Remember where the weights start."""
        self.start_ = effective_vector(net.module_)

    @torch.no_grad()
    def on_epoch_end(self, net, **kwargs):
        """Record the norms."""
        logs, squares = [], []
        for weight in weights_of(net.module_, self.where, type(self).__name__):
            matrix = torch.atleast_2d(weight.value.detach()).double()
            spectral, frobenius = float(_spectral_norm(matrix)), float(matrix.norm())
            self.record(net, f"spectral_norm.{weight.name}", spectral)
            self.record(net, f"frobenius_norm.{weight.name}", frobenius)
            logs.append(2.0 * math.log(spectral) if spectral > 0.0 else -math.inf)
            squares.append(frobenius**2)
        self.record(net, "log_spectral_product", sum(logs))
        self.record(net, "l2_norm", math.sqrt(math.fsum(squares)))
        self.record(
            net, "distance_from_start", (effective_vector(net.module_) - self.start_).norm()
        )


def _spectral_norm(matrix):
    """Return the largest singular value, from the smaller of ``W W'`` and ``W' W``."""
    gram = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    return torch.linalg.eigvalsh(gram)[-1].clamp(min=0.0).sqrt()
