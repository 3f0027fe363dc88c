"""The smallest of several bounds, paid for."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import fsum
from typing import ClassVar

from skbound.bounds._bound import Bound
from skbound.evidence import Evidence, Loss

__all__ = ["BestOf"]

# By how much shares of sum 1 may miss it in floating point; paid for all the same.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class BestOf(Bound):
    """The smallest of several bounds on the same loss, which share delta.

    By the union bound all of them hold at once with probability at least ``1 - delta``, so the
    smallest does. List and weights must be decided before the losses are seen. The smallest of the
    bounds alone at delta would be tighter, but is no certificate.

    Parameters
    ----------
    bounds : tuple of Bound
        At least one, all on the same loss.
    weights : tuple of float or None, default=None
        Share of delta that each bound gets, in [0, 1], of sum at most 1. A bound of weight 0 is
        not evaluated and cannot win. None shares equally.

    Raises
    ------
    ValueError
        If there are no bounds, they bound different losses, or the weights are no shares.

    Examples
    --------
    >>> from skbound.bounds import BestOf, EmpiricalBernsteinBound, KLBound
    >>> BestOf((KLBound("brier"), EmpiricalBernsteinBound("brier"))).loss
    'brier'
    >>> BestOf((KLBound("brier"), EmpiricalBernsteinBound("brier")), weights=(0.9, 0.1)).weights
    (0.9, 0.1)
    """

    key: ClassVar[str] = "best"
    method: ClassVar[str] = "smallest of several bounds that share delta"

    bounds: tuple[Bound, ...]
    weights: tuple[float, ...] | None = None
    loss: Loss = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", tuple(self.bounds))
        losses = sorted({bound.loss for bound in self.bounds})
        if not losses:
            raise ValueError("BestOf needs at least one bound, got none.")
        if len(losses) > 1:
            raise ValueError(f"All bounds must be on the same loss, got {losses}.")
        object.__setattr__(self, "loss", losses[0])
        if self.weights is not None:
            object.__setattr__(self, "weights", tuple(float(w) for w in self.weights))
            self._check(self.weights)

    def _check(self, weights: tuple[float, ...]) -> None:
        if len(weights) != len(self.bounds):
            raise ValueError(
                f"weights must hold one share for each of the {len(self.bounds)} bounds, got "
                f"{len(weights)}."
            )
        # Written so that NaN fails too.
        if not all(w >= 0.0 for w in weights) or not 0.0 < fsum(weights) <= 1.0 + _ROUNDING:
            raise ValueError(
                f"weights must be non-negative, not all zero, and sum to at most 1, got {weights}."
            )

    def terms(self, evidence: Evidence, delta: float) -> dict[str, float]:
        """Return the terms of the smallest bound and what sharing delta added to it.

        Parameters
        ----------
        evidence : Evidence
            With all that the bounds need.
        delta : float
            In (0, 1), shared by all bounds.

        Returns
        -------
        dict of str to float
            Terms of the winner alone at `delta`, and ``"sharing"``.
        """
        paid, winner = min(
            (
                (fsum(bound.terms(evidence, level).values()), bound)
                for bound, level in zip(self.bounds, self._levels(delta), strict=True)
                if level > 0.0
            ),
            key=lambda pair: pair[0],
        )
        terms = winner.terms(evidence, delta)
        terms.pop("sharing", None)
        terms["sharing"] = paid - fsum(terms.values())
        return terms

    def _levels(self, delta: float) -> list[float]:
        if self.weights is None:
            return [delta / len(self.bounds)] * len(self.bounds)
        excess = max(1.0, fsum(self.weights))
        return [delta * weight / excess for weight in self.weights]
