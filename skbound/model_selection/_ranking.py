"""Shares of delta for the candidates of a search, fixed before any certified row is read."""

from __future__ import annotations

from math import fsum

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from skbound._random_state import draw_seed
from skbound.protocols import resolve_protocol
from skbound.protocols._inner_split import InnerSplit

__all__ = ["certified_end", "common_certified_rows", "ranking_candidate", "shares_by_rank"]


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
                f"candidate_weights='informed' needs a protocol that splits the rows once, into "
                f"some to train on and some to certify on, got {protocol!r}. Use "
                f"protocol='holdout', or candidate_weights='uniform'."
            )
        parts.append(protocol.split(n_samples, draw_seed(certified.random_state))[1])
    if not all(np.array_equal(part, parts[0]) for part in parts):
        raise ValueError(
            "candidate_weights='informed' needs candidates that certify on the same rows, or the "
            "ranking would read some of them; the grid holds different splits. Search them with "
            "candidate_weights='uniform'."
        )
    return parts[0]


def ranking_candidate(candidate):
    """Return a copy that is evaluated on the training side only.

    Parameters
    ----------
    candidate : estimator
        From `prepare_candidate`.

    Returns
    -------
    estimator
        Unfitted.
    """
    copy = clone(candidate)
    certified = certified_end(copy)
    protocol = InnerSplit(resolve_protocol(certified.protocol))
    certified.set_params(protocol=protocol, bound="auto")
    return copy


def shares_by_rank(outcomes) -> list[float]:
    """Return shares proportional to one over the squared rank.

    Parameters
    ----------
    outcomes : list of Outcome
        Of the ranking fits: the smaller error is better, then the smaller Brier loss, then the
        first; a failed one comes last.

    Returns
    -------
    list of float
        Positive, of sum at most 1.
    """
    errors = [np.inf if outcome.failure is not None else outcome.error for outcome in outcomes]
    briers = np.nan_to_num([outcome.brier for outcome in outcomes], nan=np.inf)
    order = np.lexsort((briers, errors))
    total = fsum(1.0 / rank**2 for rank in range(1, len(outcomes) + 1))
    shares = np.empty(len(outcomes))
    # Rounded down, so that the sum does not exceed 1.
    shares[order] = (1.0 - 1e-12) / total / np.arange(1, len(outcomes) + 1) ** 2
    return shares.tolist()
