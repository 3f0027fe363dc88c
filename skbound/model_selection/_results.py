"""The numbers of a search, laid out as scikit-learn's searches lay them out."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata

__all__ = ["results_table"]


def results_table(grid, outcomes, scores) -> dict[str, Any]:
    """Return the numbers of all candidates in the layout of scikit-learn's searches.

    Parameters
    ----------
    grid : list of dict
        Parameters of the candidates.
    outcomes : list of Outcome
        In the same order.
    scores : ndarray of shape (n_candidates,)
        The greater, the better; NaN for a failed one.

    Returns
    -------
    dict of str to ndarray or list
        One entry per candidate; NaN for a failed one.
    """
    table: dict[str, Any] = {
        "mean_fit_time": np.array([outcome.seconds for outcome in outcomes]),
        "std_fit_time": np.zeros(len(grid)),
        "mean_score_time": np.zeros(len(grid)),
        "std_score_time": np.zeros(len(grid)),
    }
    for name in sorted({name for params in grid for name in params}):
        values = np.empty(len(grid), dtype=object)
        values[:] = [params.get(name) for params in grid]
        table[f"param_{name}"] = np.ma.MaskedArray(
            values, mask=[name not in params for params in grid]
        )
    table["params"] = grid
    table["split0_test_score"] = table["mean_test_score"] = scores
    table["std_test_score"] = np.where(np.isnan(scores), np.nan, 0.0)
    ranked = np.where(np.isnan(scores), np.inf, -scores)
    table["rank_test_score"] = rankdata(ranked, method="min").astype(np.int32)
    table["bound"] = np.array([outcome.bound for outcome in outcomes])
    table["certified_error"] = np.array([outcome.error for outcome in outcomes])
    table["certified_brier"] = np.array([outcome.brier for outcome in outcomes])
    return table
