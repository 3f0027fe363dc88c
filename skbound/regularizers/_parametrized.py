"""Weights that are computed from others while the net is trained, and plain ones afterwards."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.utils import parametrize

from skbound._nn._roles import bake, weights_of
from skbound.regularizers._base import Regularizer
from skbound.regularizers._schedules import check_strength
from skbound.regularizers._singular import first_singular_vectors

__all__ = ["SpectralNorm", "WeightNorm"]

_TINY = 1e-12


class _Normalized(nn.Module):
    """Compute ``radius * W / sigma`` from W, where sigma = u' W v.

    torch's own parametrisation draws u and v from the global generator and moves them on in each
    forward pass, so that threads that share a batch would compute with different weights. Here
    they are the first singular vectors, found anew once before each gradient.
    """

    u: torch.Tensor
    v: torch.Tensor
    radius: torch.Tensor

    def __init__(self, weight: torch.Tensor, radius: float) -> None:
        super().__init__()
        u, v = first_singular_vectors(weight)
        self.register_buffer("u", u)
        self.register_buffer("v", v)
        self.register_buffer("radius", torch.tensor(radius).to(weight))

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        """Return the matrix that the layer computes with."""
        u, v = self.u.clone(), self.v.clone()
        return weight * (self.radius / torch.dot(u, weight @ v).clamp(min=_TINY))

    @torch.no_grad()
    def update(self, weight: torch.Tensor, radius: float) -> None:
        """Bring u and v up to date with W."""
        u, v = first_singular_vectors(weight)
        self.u.copy_(u)
        self.v.copy_(v)
        self.radius.fill_(radius)


class _LengthAndDirection(nn.Module):
    """Compute rows from their lengths and directions.

    torch's own leaves a hook behind that cannot be pickled.
    """

    def forward(self, lengths: torch.Tensor, directions: torch.Tensor) -> torch.Tensor:
        """Return the matrix that the layer computes with."""
        return directions * (lengths / directions.norm(dim=1, keepdim=True))

    def right_inverse(self, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return lengths and directions of the rows of a matrix."""
        return weight.norm(dim=1, keepdim=True), weight


class SpectralNorm(Regularizer):
    """Train with matrices that are divided by their largest singular value.

    The layers compute with ``radius * W / sigma(W)``. After the training that matrix, with sigma
    computed in double precision, takes the place of W: the net is then a plain one again, for
    ``predict``, for copies and for protocols that draw weights.

    Parameters
    ----------
    radius : float or Schedule, default=1.0
        Largest singular value. It is reached: smaller matrices are scaled up, unlike with
        `SpectralBall`.
    where : str or tuple of str, default="matrices"
        "query_key", "value", "feed_forward", "head", "embedding", or "matrices" for the first four.

    Notes
    -----
    sigma is exact at each step; the gradient takes it into account. The cost grows with the cube of
    ``width``.

    ``weight_decay`` acts on W, whose length has no meaning here. Callbacks that pickle the net in
    the middle of a training cannot do so; those that copy it or its ``state_dict`` can.

    References
    ----------
    Miyato, Kataoka, Koyama, Yoshida 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skbound import TransformerClassifier
    >>> from skbound.regularizers import SpectralNorm
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = TransformerClassifier(
    ...     depth=1, width=16, max_epochs=10, regularizers=(SpectralNorm(2.0),), random_state=0
    ... ).fit(X, y)
    >>> clf.generalization_bound_ < 0.2
    True
    """

    def __init__(self, radius=1.0, where="matrices"):
        self.radius = radius
        self.where = where

    def check(self, shape):
        """Refuse a radius that is not positive; see :meth:`Regularizer.check`."""
        check_strength("radius", self.radius, 0.0, open_low=True)

    def constrained(self, module):
        """Name the weights; see :meth:`Regularizer.constrained`."""
        return [weight.name for weight in weights_of(module, self.where, type(self).__name__)]

    def prepare(self, module, generator):
        """Put the parametrisations on; see :meth:`Regularizer.prepare`."""
        self._weights = weights_of(module, self.where, type(self).__name__)
        for weight in self._weights:
            if weight.value.ndim != 2:
                raise ValueError(
                    f"SpectralNorm acts on matrices, {weight.name} is none. Use SpectralBall for "
                    f"biases."
                )
        for weight in self._weights:
            normalized = _Normalized(weight.value, self.now("radius")).train()
            parametrize.register_parametrization(weight.layer, weight.attribute, normalized)

    def before_gradient(self, module):
        """Find the singular vectors; see :meth:`Regularizer.before_gradient`."""
        for weight in self._weights:
            parts = weight.layer.parametrizations[weight.attribute]
            parts[0].update(parts.original, self.now("radius"))

    @torch.no_grad()
    def finish(self, module):
        """Leave plain matrices of exact norm; see :meth:`Regularizer.finish`."""
        weights = self.__dict__.pop("_weights", [])
        for weight in weights:
            if weight.is_parametrized:
                parts = weight.layer.parametrizations[weight.attribute]
                exact, radius = parts.original.double(), parts[0].radius.double()
                norm = torch.linalg.matrix_norm(exact, 2).clamp(min=_TINY)
                bake(weight, exact * (radius / norm))


class WeightNorm(Regularizer):
    """Train length and direction of each row of a matrix as numbers of their own.

    A row is ``g * v / |v|`` while the net is trained, and the number that this gives afterwards.
    Nothing is constrained: it changes the path that the optimizer takes.

    Parameters
    ----------
    where : str or tuple of str, default="matrices"
        Roles as for `SpectralNorm`.

    References
    ----------
    Salimans, Kingma 2016.
    """

    def __init__(self, where="matrices"):
        self.where = where

    def constrained(self, module):
        """Name the weights; see :meth:`Regularizer.constrained`."""
        return [weight.name for weight in weights_of(module, self.where, type(self).__name__)]

    def prepare(self, module, generator):
        """Put the parametrisations on; see :meth:`Regularizer.prepare`."""
        self._weights = weights_of(module, self.where, type(self).__name__)
        for weight in self._weights:
            if weight.value.ndim != 2 or not weight.value.norm(dim=1).all():
                raise ValueError(
                    f"WeightNorm needs matrices without a row of zeros, {weight.name} is none. "
                    f"Leave its role out of `where`."
                )
        for weight in self._weights:
            lengths = _LengthAndDirection()
            parametrize.register_parametrization(weight.layer, weight.attribute, lengths)

    def finish(self, module):
        """Leave plain matrices; see :meth:`Regularizer.finish`."""
        weights = self.__dict__.pop("_weights", [])
        for weight in weights:
            if weight.is_parametrized:
                bake(weight)
