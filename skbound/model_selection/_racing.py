"""Rank candidates on the training side, on more and more rows, and drop those that fall behind."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from skbound.model_selection._ranking import paired_lag, ranking_candidate, ranking_order

__all__ = ["RUNGS", "race"]

# Shares of the ranking's training rows; with twice the rows for half the candidates, each rung
# costs the same.
RUNGS = (0.125, 0.25, 0.5, 1.0)
# A rung on a share of fewer rows than this tells nothing of a net.
_FEWEST_ROWS = 60
# A candidate falls behind where its loss exceeds the leader's by so many standard errors.
_BEHIND = 1.0


def race(
    candidates: Sequence[Any], run: Callable[..., list[Any]], n_rows: int, *, keep_half: bool
) -> list[Any]:
    """Return the last ranking outcome of each candidate.

    Parameters
    ----------
    candidates : sequence of estimator
        From `prepare_candidate`.
    run : callable
        Takes unfitted ranking candidates and returns their outcomes.
    n_rows : int
        Rows of the search; about two thirds of them are trained on in the last rung.
    keep_half : bool
        Whether the better half always goes on (successive halving); otherwise those of it that are
        not clearly behind the leader.

    Returns
    -------
    list of Outcome
        In the order of the candidates; ``share`` says how far each came.
    """
    outcomes: list[Any] = [None] * len(candidates)
    alive = list(range(len(candidates)))
    for share in rungs(n_rows):
        found = list(run([ranking_candidate(candidates[i], share) for i in alive]))
        for i, outcome in zip(alive, found, strict=True):
            outcomes[i] = outcome
        order = [alive[place] for place in ranking_order(found)]
        alive = order[: math.ceil(len(order) / 2)]
        if not keep_half:
            leader = outcomes[order[0]]
            alive = [i for i in alive if paired_lag(outcomes[i], leader) <= _BEHIND]
        if len(alive) <= 1:
            break
    return outcomes


def rungs(n_rows: int) -> list[float]:
    """Return the shares of the rows, the last of which is 1."""
    return [share for share in RUNGS if share * n_rows >= _FEWEST_ROWS or share == 1.0]
