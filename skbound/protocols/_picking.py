"""The predictors that picking rows leads to, one after the other, and the choice among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from math import inf, sqrt
from typing import cast

import numpy as np
from numpy.typing import NDArray

from skbound.evidence import CompressedSample, Sample
from skbound.protocols._learner import FittedModel, Learner, WarmLearner

__all__ = ["PickingPath", "PickingStep", "best_step", "last_step"]

# Share of the epochs of a fit that goes on from the first one.
_WARM_EFFORT = 0.25


@dataclass(frozen=True)
class PickingStep:
    """A predictor, the rows it was made from besides the first part, and its losses elsewhere."""

    fit: FittedModel
    n_groups: int
    picked: NDArray[np.intp]
    sample: Sample

    def record(self, n_stops: int) -> CompressedSample:
        """Return what is certified, if the choice was among `n_stops` numbers of groups."""
        stop = self.n_groups if n_stops > 1 else None
        return CompressedSample(self.sample, self.picked, stop, n_stops)


class PickingPath:
    """The predictors that picking leads to, one after the other.

    Each is a function of the first part and of the rows moved so far, in their order, alone. Where
    there is no first part, nothing is known at first, so all rows are explained equally badly, and
    the first `n_start` of them are moved in their random order.
    """

    def __init__(
        self,
        learner: Learner,
        prior: NDArray[np.intp],
        rest: NDArray[np.intp],
        *,
        warm: bool,
        n_start: int = 0,
    ) -> None:
        self.learner, self.prior, self.rest, self.warm = learner, prior, rest, warm
        self.start = rest[:n_start]
        self.first = learner.fit(np.concatenate([prior, self.start]))

    def fit(self, picked: NDArray[np.intp]) -> FittedModel:
        """Train on the first part and `picked`, which come after it in the order of picking."""
        if len(picked) == len(self.start):
            return self.first
        rows = np.concatenate([self.prior, picked])
        if not self.warm:
            return self.learner.fit(rows)
        learner = cast(WarmLearner, self.learner)
        return learner.fit(rows, start=self.first, effort=_WARM_EFFORT)

    def steps(self, group: Callable[[int, int], int]) -> Iterator[PickingStep | None]:
        """Yield a predictor after each group, until nothing can or need be moved.

        None stands for the one made from all rows, which nothing is left to certify.
        """
        picked, left = self.start, self.rest[len(self.start) :]
        moved = self.learner.losses(self.first, picked).rows if len(picked) else picked
        for n_groups in count(1 if len(picked) else 0):
            fit = self.fit(picked)
            sample = self.learner.losses(fit, left)
            yield PickingStep(fit, n_groups, moved, sample)
            chosen = _worst(sample, group(len(picked), len(self.rest)))
            if not len(chosen):
                return
            if len(chosen) == len(left):
                yield None
                return
            picked = np.concatenate([picked, left[chosen]])
            moved = np.concatenate([moved, sample.rows[chosen]])
            left = np.delete(left, chosen)


def _worst(sample: Sample, n_rows: int) -> NDArray[np.intp]:
    """Return places of up to `n_rows` wrong predictions, the largest loss first."""
    wrong = np.flatnonzero(sample.zero_one)
    if sample.brier is not None:
        # Stable: equal losses stay in the random order of the rows.
        wrong = wrong[np.argsort(-sample.brier[wrong], kind="stable")]
    return wrong[:n_rows]


def last_step(steps: Iterable[PickingStep | None]) -> PickingStep | None:
    """Return where no error is left, or nothing more can be moved."""
    last = None
    for step in steps:
        last = step
    return last


def best_step(steps: Iterable[PickingStep | None]) -> PickingStep | None:
    """Return the step with the fewest rows moved and errors left.

    The square root is about what the bound adds for ``m`` rows moved beyond ``m`` errors. Any
    other choice would be as valid. Steps that cannot be better are not taken.
    """
    best, least = None, inf
    for step in steps:
        if step is None:
            break
        n_picked = len(step.picked)
        price = n_picked + sqrt(n_picked)
        if price + step.sample.n_errors < least:
            best, least = step, price + step.sample.n_errors
        if price >= least:
            break
    return best
