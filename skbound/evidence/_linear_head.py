"""What a linear head leaves behind that was trained on fixed features of the certified rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from skbound.evidence._sample import Sample, frozen_array

__all__ = ["LinearHeadSample"]

# Logits of one row, computed twice in float64, differ by far less than this share of their scale.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearHeadSample:
    """A linear head on features that no certified row had a part in, and its margins.

    The logits of a row are ``W phi``, where ``phi`` is its feature vector, with the constant 1 of
    the offset as its last entry, and ``W`` has one row of weights per class. The head itself was
    trained on the certified rows, so their losses are training losses. The mean of the rows of
    ``W`` is subtracted from each: that changes no prediction and makes the norm smallest.

    Parameters
    ----------
    sample : Sample
        Losses of ``predict`` on the rows that the head was trained on.
    margins : array-like of shape (n_samples,)
        Logit of the right class minus the largest logit of another class.
    feature_norms : array-like of shape (n_samples,)
        Euclidean norms of the ``phi``.
    domain_bound : float
        No row that ``predict`` may ever meet has a larger feature norm.
    head_norm : float
        Frobenius norm of ``W``.
    n_classes : int
        Rows of ``W``, at least 2.
    n_features : int
        Columns of ``W``, the one of the offset included.
    regularization : float
        ``lam > 0`` in the objective ``mean cross-entropy + lam / 2 * ||W||^2``, fixed before the
        certified rows were read.
    gradient_norm : float
        Frobenius norm of the gradient of that objective, with equal weights of the rows, at ``W``.

    Raises
    ------
    ValueError
        If a number is out of range, or numbers contradict each other.
    """

    kind: ClassVar[str] = "linear_head"
    n_predictors: ClassVar[int] = 1
    over: ClassVar[str] = ""

    sample: Sample
    margins: NDArray[np.float64]
    feature_norms: NDArray[np.float64]
    domain_bound: float
    head_norm: float
    n_classes: int
    n_features: int
    regularization: float
    gradient_norm: float

    def __post_init__(self) -> None:
        for name in ("margins", "feature_norms"):
            values = frozen_array(getattr(self, name), np.float64)
            object.__setattr__(self, name, values)
            if values.shape != (self.n_samples,) or not np.isfinite(values).all():
                raise ValueError(
                    f"{name} must hold one finite number for each of the {self.n_samples} rows, "
                    f"got shape {values.shape}."
                )
        self._check_numbers()
        self._check_agreement()

    def _check_numbers(self) -> None:
        for name, least in (("n_classes", 2), ("n_features", 1)):
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < least:
                raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")
        for name in ("domain_bound", "regularization"):
            if not 0.0 < getattr(self, name) < math.inf:
                raise ValueError(
                    f"{name} must be positive and finite, got {getattr(self, name)!r}."
                )
        for name in ("head_norm", "gradient_norm"):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise ValueError(
                    f"{name} must be non-negative and finite, got {getattr(self, name)!r}."
                )

    def _check_agreement(self) -> None:
        norms = self.feature_norms
        if (norms < 0.0).any() or (norms > self.domain_bound * (1.0 + _ROUNDING)).any():
            raise ValueError(
                f"feature_norms must lie in [0, domain_bound = {self.domain_bound}], got "
                f"{norms.min()} to {norms.max()}. Clip the features to a ball."
            )
        widest = math.sqrt(2.0) * self.head_norm * norms + self.rounding
        if (np.abs(self.margins) > widest).any():
            raise ValueError("A margin exceeds sqrt(2) times head norm times feature norm.")
        wrong = self.sample.zero_one == 1.0
        if (self.margins[wrong] > self.rounding).any():
            raise ValueError("A row of positive margin is counted as wrong: not the same head.")
        if (self.margins[~wrong] < -self.rounding).any():
            raise ValueError("A row of negative margin is counted as right: not the same head.")

    def __reduce__(self) -> tuple[Any, ...]:
        # Arrays lose their write protection in a pickle; the constructor restores it.
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return partial(type(self), **values), ()

    @property
    def rounding(self) -> float:
        """How far a margin may be from that of ``predict`` by rounding alone."""
        return _ROUNDING * self.head_norm * self.domain_bound

    @property
    def mean_square(self) -> float:
        """Mean squared feature norm."""
        return min(float((self.feature_norms**2).mean()), self.domain_bound**2)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.sample.n_samples

    def spent(self, n_fit: int) -> str:
        """Say how the rows were spent.

        Parameters
        ----------
        n_fit : int
            Rows that the features were trained on.

        Returns
        -------
        str
            A sentence without its full stop, which ends with the rows that the losses are of.
        """
        return (
            f"The features were trained on {n_fit} rows; the linear head was trained and certified "
            f"on {self.n_samples} other rows"
        )
