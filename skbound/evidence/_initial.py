"""What a net was before training."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["InitialState"]


@dataclass(frozen=True, kw_only=True)
class InitialState:
    """Two norms before training.

    Parameters
    ----------
    weight_norm : float
        Euclidean norm of all trained parameters.
    gradient_norm : float
        Of the gradient of the mean cross-entropy of the training rows.
    """

    weight_norm: float
    gradient_norm: float
