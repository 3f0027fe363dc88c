"""Losses of a chain of predictors, each compared with the one before it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from skbound.evidence._sample import Sample

__all__ = ["RecursiveSample", "RecursiveStep"]


@dataclass(frozen=True, eq=False)
class RecursiveStep:
    """One predictor of a chain, evaluated beside the one before it.

    Parameters
    ----------
    sample : Sample
        Losses of the predictor.
    previous : Sample or None
        Losses on the same rows of the predictor before it, which does not depend on these rows;
        None for the first predictor.
    log_ratio : float or None, default=None
        None for a predictor that does not depend on these rows. For one that was drawn from a law
        that does, the logarithm of the density of that law over the density of another one, fixed
        without these rows, at what was drawn.

    Raises
    ------
    ValueError
        If the two predictors were evaluated on different rows, or `log_ratio` is not finite.
    """

    sample: Sample
    previous: Sample | None
    log_ratio: float | None = None

    def __post_init__(self) -> None:
        if self.previous is not None and (self.previous.rows != self.sample.rows).any():
            raise ValueError("both predictors of a step must be evaluated on the same rows.")
        if self.log_ratio is not None and not math.isfinite(self.log_ratio):
            raise ValueError(f"log_ratio must be finite or None, got {self.log_ratio!r}.")


@dataclass(frozen=True, eq=False)
class RecursiveSample:
    """A chain of predictors, of which the last one is used.

    Parameters
    ----------
    steps : tuple of RecursiveStep
        In the order of training; the first has no predictor before it. The rows of a step have no
        part in any predictor of an earlier step.
    gamma : float
        Share of the error of the predictor before that is taken off in each step, in [0, 1].

    Raises
    ------
    ValueError
        If there are no steps, a step but the first has no previous losses, the rows of a step are
        not among those of the step before it, or `gamma` is out of range.
    """

    n_predictors: ClassVar[int] = 1
    over: ClassVar[str] = ""

    steps: tuple[RecursiveStep, ...]
    gamma: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", tuple(self.steps))
        if not self.steps:
            raise ValueError("steps must hold at least one step.")
        if [step.previous is None for step in self.steps] != [True] + [False] * (self.n_steps - 1):
            raise ValueError(
                "previous must be None for the first step and the losses of the predictor before "
                "for all others."
            )
        for earlier, later in pairwise(self.steps):
            if not set(later.sample.rows.tolist()) <= set(earlier.sample.rows.tolist()):
                raise ValueError(
                    "the rows of a step must be among those of the step before it, all of which "
                    "come after the rows that its prior was made from."
                )
        if not 0.0 <= self.gamma <= 1.0:
            raise ValueError(f"gamma must lie in [0, 1], got {self.gamma!r}.")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.steps, self.gamma)

    @property
    def kind(self) -> str:
        """Whether the last predictor saw the rows that its losses are of; the bound is one."""
        return "recursive_single_draw" if self.drawn else "recursive_held_out"

    @property
    def n_steps(self) -> int:
        """Number of steps, and of predictors in the chain."""
        return len(self.steps)

    @property
    def n_samples(self) -> int:
        """Number of rows that bound the first predictor; those of later steps are among them."""
        return self.steps[0].sample.n_samples

    @property
    def rows(self) -> Any:
        """Positions of these rows."""
        return self.steps[0].sample.rows

    @property
    def drawn(self) -> bool:
        """Whether the last predictor depends on the rows of its step."""
        return self.steps[-1].log_ratio is not None

    @property
    def sample(self) -> Sample:
        """Losses of the last predictor on the rows of its step, which it may have been drawn by."""
        return self.steps[-1].sample

    def spent(self, n_fit: int) -> str:
        """Say how the rows were spent.

        Parameters
        ----------
        n_fit : int
            Rows that the last predictor was trained on.

        Returns
        -------
        str
            A sentence without its full stop, which ends with the rows that the losses are of.
        """
        who, chain = "The predictor", ""
        if self.n_steps > 1:
            how = "drawn around weights trained" if self.drawn else "trained"
            who = "The last"
            chain = (
                f"predict uses the last of {self.n_steps} predictors, each {how} on more rows than "
                f"the one before and compared with it, on {self.n_samples} rows in all. "
            )
        return (
            f"{chain}{who} was trained on {n_fit} rows and evaluated on "
            f"{self.steps[-1].sample.n_samples} that {'its prior' if self.drawn else 'it'} had not "
            f"seen"
        )
