"""The smallest of several bounds, paid for."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import fsum
from typing import ClassVar

from skbound.bounds._bound import Bound
from skbound.evidence import Evidence, Loss

__all__ = ["BestOf"]


@dataclass(frozen=True)
class BestOf(Bound):
    """The smallest of several bounds on the same loss, which share delta equally.

    By the union bound all of them hold at once with probability at least ``1 - delta``, so the
    smallest does. The list must be decided before the losses are seen. The smallest of the bounds
    alone at delta would be tighter, but is no certificate.

    Parameters
    ----------
    bounds : tuple of Bound
        At least one, all on the same loss.

    Raises
    ------
    ValueError
        If there are no bounds, or they bound different losses.

    Examples
    --------
    >>> from skbound.bounds import BestOf, EmpiricalBernsteinBound, KLBound
    >>> BestOf((KLBound("brier"), EmpiricalBernsteinBound("brier"))).loss
    'brier'
    """

    key: ClassVar[str] = "best"
    method: ClassVar[str] = "smallest of several bounds that share delta"

    bounds: tuple[Bound, ...]
    loss: Loss = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", tuple(self.bounds))
        losses = sorted({bound.loss for bound in self.bounds})
        if not losses:
            raise ValueError("BestOf needs at least one bound, got none.")
        if len(losses) > 1:
            raise ValueError(f"All bounds must be on the same loss, got {losses}.")
        object.__setattr__(self, "loss", losses[0])

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
        share = delta / len(self.bounds)
        paid, winner = min(
            ((fsum(bound.terms(evidence, share).values()), bound) for bound in self.bounds),
            key=lambda pair: pair[0],
        )
        terms = winner.terms(evidence, delta)
        terms.pop("sharing", None)
        terms["sharing"] = paid - fsum(terms.values())
        return terms
