"""Rank candidates by rows that are not certified."""

from __future__ import annotations

import time
from dataclasses import replace
from math import fsum, inf

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from skbound._random_state import draw_seed
from skbound.model_selection._candidates import Outcome, fit_candidate
from skbound.protocols import resolve_protocol
from skbound.protocols._inner_split import InnerSplit

__all__ = [
    "certified_end",
    "common_certified_rows",
    "paired_lag",
    "rank_candidate",
    "ranking_candidate",
    "ranking_order",
    "shares_by_prior",
    "shares_by_rank",
    "simplest_of_the_best",
]

# Candidates whose loss exceeds the smallest by at most this many standard errors are as good.
_NEARLY = 0.25


def certified_end(candidate):
    """Return the certified classifier at the end of a candidate.

    Parameters
    ----------
    candidate : estimator
        From `prepare_candidate`.

    Returns
    -------
    CertifiedMixin
        The candidate itself, or the last step of a pipeline.
    """
    while isinstance(candidate, Pipeline):
        candidate = candidate.steps[-1][1]
    return candidate


def common_certified_rows(candidates, n_samples):
    """Return the rows that all candidates certify on.

    Parameters
    ----------
    candidates : list of estimator
        From `prepare_candidate`.
    n_samples : int
        Rows with a positive weight.

    Returns
    -------
    ndarray of int
        Positions among those rows.

    Raises
    ------
    ValueError
        If a protocol does not say beforehand which rows it certifies on, or they differ: the
        ranking would read certified rows.
    """
    parts = []
    for candidate in candidates:
        certified = clone(certified_end(candidate))
        protocol = resolve_protocol(certified.protocol)
        if not hasattr(protocol, "split"):
            raise ValueError(
                f"To rank candidates without certified rows, the protocol must split the rows "
                f"once, into some to train on and some to certify on, got {protocol!r}. Use "
                f"protocol='holdout', or BoundSearch(choose_by='bound')."
            )
        first, rest = protocol.split(n_samples, draw_seed(certified.random_state))
        if not len(first):
            raise ValueError(
                f"To rank candidates without certified rows, some rows must never be certified, "
                f"but {protocol!r} leaves none. Use BoundSearch(choose_by='bound')."
            )
        parts.append(rest)
    if not all(np.array_equal(part, parts[0]) for part in parts):
        raise ValueError(
            "To rank candidates without certified rows, all must certify on the same rows, but the "
            "grid holds different splits. Use BoundSearch(choose_by='bound')."
        )
    return parts[0]


def ranking_candidate(candidate, share=1.0):
    """Return a copy that is evaluated on the training side only.

    Parameters
    ----------
    candidate : estimator
        From `prepare_candidate`.
    share : float, default=1.0
        Of the training rows of the ranking that it is trained on.

    Returns
    -------
    estimator
        Unfitted.
    """
    copy = clone(candidate)
    certified = certified_end(copy)
    protocol = InnerSplit(resolve_protocol(certified.protocol), share)
    certified.set_params(protocol=protocol, bound="auto")
    return copy


def rank_candidate(candidate, X, y, weights) -> Outcome:
    """Fit a ranking candidate, and keep its losses only.

    Parameters
    ----------
    candidate : estimator
        From `ranking_candidate`.
    X, y : array-like
        Data.
    weights : ndarray or None
        Sample weights.

    Returns
    -------
    Outcome
        With the exception in it if the fit failed.
    """
    start = time.perf_counter()
    share = certified_end(candidate).protocol.share
    outcome = fit_candidate(candidate, X, y, weights)
    n_parameters, sample = 0, None
    if outcome.failure is None:
        certified = certified_end(candidate)
        sample = certified.evidence_.evaluated
        module = getattr(getattr(certified, "net_", None), "module_", None)
        n_parameters = sum(p.numel() for p in module.parameters()) if module is not None else 0
    return replace(
        outcome,
        estimator=None,
        seconds=time.perf_counter() - start,
        sample=sample,
        share=share,
        n_parameters=n_parameters,
    )


def _row_losses(outcome):
    return outcome.sample.zero_one if outcome.sample.brier is None else outcome.sample.brier


def ranking_order(outcomes) -> list[int]:
    """Return the places of the outcomes, best first.

    Parameters
    ----------
    outcomes : list of Outcome
        From `rank_candidate`. Those that came further are better; among those the ones of smaller
        Brier score, then of smaller error, then the first. Where one has no probabilities the
        error counts first.

    Returns
    -------
    list of int
        Failed ones last.
    """
    failed = [outcome.failure is not None for outcome in outcomes]
    shares = [-outcome.share for outcome in outcomes]
    errors = np.array([outcome.error for outcome in outcomes])
    briers = np.array([outcome.brier for outcome in outcomes])
    losses = [errors, np.nan_to_num(briers, nan=inf)]
    if np.isnan(briers[~np.array(failed)]).any():
        losses.reverse()
    return np.lexsort((*losses, shares, failed)).tolist()


def paired_lag(outcome, leader) -> float:
    """Return by how many standard errors a candidate's loss exceeds the leader's, on equal rows."""
    if outcome.failure is not None:
        return inf
    differences = _row_losses(outcome) - _row_losses(leader)
    mean, spread = differences.mean(), differences.std() / max(1, len(differences)) ** 0.5
    if spread == 0.0:
        return 0.0 if mean <= 0.0 else inf
    return float(mean / spread)


def simplest_of_the_best(outcomes) -> tuple[int, str]:
    """Choose a candidate: the simplest of those that are nearly as good as the best.

    Parameters
    ----------
    outcomes : list of Outcome
        From `rank_candidate`.

    Returns
    -------
    place : int
        Of the chosen one.
    reason : str
        Why not the one of the smallest loss, if so.
    """
    order = ranking_order(outcomes)
    best = order[0]
    leader = outcomes[best]
    if leader.failure is not None or not leader.n_parameters:
        return best, ""
    near = [
        place
        for place in order
        if outcomes[place].share == leader.share
        and outcomes[place].n_parameters
        and paired_lag(outcomes[place], leader) <= _NEARLY
    ]
    chosen = min(near, key=lambda place: outcomes[place].n_parameters)
    if outcomes[chosen].n_parameters == leader.n_parameters:
        return best, ""
    return chosen, (
        f"Candidate {chosen} has {outcomes[chosen].n_parameters} parameters and half a Brier score "
        f"of {outcomes[chosen].brier:.4f}; candidate {best} has {leader.n_parameters} and "
        f"{leader.brier:.4f}, which is no clear difference, so the simpler one was taken."
    )


def shares_by_rank(outcomes) -> list[float]:
    """Return shares of delta proportional to one over the squared rank.

    Parameters
    ----------
    outcomes : list of Outcome
        Of the ranking fits; a failed one comes last.

    Returns
    -------
    list of float
        Positive, of sum at most 1.
    """
    prior = np.empty(len(outcomes))
    prior[ranking_order(outcomes)] = 1.0 / np.arange(1, len(outcomes) + 1) ** 2
    return shares_by_prior(prior, len(outcomes))


def shares_by_prior(prior, n_candidates) -> list[float]:
    """Return shares of delta proportional to numbers that were fixed beforehand.

    Parameters
    ----------
    prior : array-like of shape (n_candidates,)
        Positive and finite.
    n_candidates : int
        How many there must be.

    Returns
    -------
    list of float
        Positive, of sum at most 1.

    Raises
    ------
    ValueError
        If the numbers are not such.
    """
    prior = np.asarray(prior, dtype=float)
    if prior.shape != (n_candidates,) or not (np.isfinite(prior) & (prior > 0.0)).all():
        raise ValueError(
            f"candidate_weights must be 'uniform', 'informed' or {n_candidates} positive, finite "
            f"numbers, one per candidate, got an array of shape {prior.shape}. A candidate that "
            f"is not to be chosen is left out of param_grid."
        )
    # Divided first, so that no sum is infinite; rounded down, so that it does not exceed 1.
    prior = prior / prior.max()
    return ((1.0 - 1e-12) * prior / fsum(prior)).tolist()
