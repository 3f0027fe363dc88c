"""Constraints on weights that hold exactly after every step."""

from __future__ import annotations

import torch
from torch import nn

from skbound._nn._roles import weights_of
from skbound.regularizers._base import Regularizer
from skbound.regularizers._schedules import check_strength

__all__ = ["Projection"]


class Projection(Regularizer):
    """Base of constraints: after each step, the nearest weights that obey take the place of others.

    A subclass has parameters ``radius`` and ``where`` and defines `project`. Projections start on
    the initial weights. With a schedule the radius is that of the last step; where
    ``early_stopping`` goes back to an earlier epoch, it is that epoch's.

    Notes
    -----
    Only the final weights count for what a bound may say about norms. Protocols that draw nets
    around trained weights, such as ``"pac_bayes"``, draw from outside of the constraint too.

    Examples
    --------
    >>> from skbound.regularizers import Projection
    >>> class NonNegative(Projection):
    ...     def __init__(self, radius=1.0, where="head"):
    ...         self.radius = radius
    ...         self.where = where
    ...
    ...     def project(self, weight, radius):
    ...         return weight.clamp(0.0, radius)
    """

    radius: object
    where: str | tuple[str, ...]

    def project(self, weight: torch.Tensor, radius: float) -> torch.Tensor:
        """Return the nearest weight that obeys.

        Parameters
        ----------
        weight : torch.Tensor of shape (n_out, n_in) or (1, n)
            A matrix, or a bias as a matrix of one row. Not to be changed in place.
        radius : float
            How far it may reach.

        Returns
        -------
        torch.Tensor
            Of the same shape.
        """
        raise NotImplementedError(f"{type(self).__name__} must define project(weight, radius).")

    def check(self, shape):
        """Refuse a radius that is not positive; see :meth:`Regularizer.check`."""
        check_strength("radius", self.radius, 0.0, open_low=True)

    def constrained(self, module: nn.Module) -> list[str]:
        """Name the weights; see :meth:`Regularizer.constrained`."""
        return [weight.name for weight in weights_of(module, self.where, type(self).__name__)]

    def prepare(self, module: nn.Module, generator: torch.Generator) -> None:
        """Find the weights and project them; see :meth:`Regularizer.prepare`."""
        self._weights = weights_of(module, self.where, type(self).__name__)
        with torch.no_grad():
            self.after_step(module)

    def after_step(self, module: nn.Module) -> None:
        """Project; see :meth:`Regularizer.after_step`."""
        radius = self.now("radius")
        for weight in self._weights:
            value = weight.value
            matrix = value if value.ndim == 2 else value.unsqueeze(0)
            value.copy_(self.project(matrix, radius).view_as(value))

    def finish(self, module: nn.Module) -> None:
        """Let go of the weights; see :meth:`Regularizer.finish`."""
        self.__dict__.pop("_weights", None)
