"""One candidate of a search: built from its parameters, fitted once, paid for."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone

from skbound._inputs import weight_keyword
from skbound._random_state import seed_unset
from skbound.classifiers._certified import CertifiedMixin
from skbound.exceptions import SkboundWarning
from skbound.model_selection._find import find_certified, refuse_wrapper, steps_assumption
from skbound.protocols import AllRows, resolve_protocol

__all__ = ["Outcome", "fit_candidate", "prepare_candidate", "results_table"]


@dataclass(frozen=True)
class Outcome:
    """What came of one candidate.

    Parameters
    ----------
    estimator : estimator or None
        Fitted and paid for; None where it failed or was let go.
    bound, error, brier : float
        Certificate at ``delta / K``, and mean losses on the certified rows; NaN where it failed.
    seconds : float
        Time of the fit.
    steps : tuple of str
        Pipeline steps in front that were fitted on all rows.
    messages : tuple of str
        Warnings of skbound during the fit.
    failure : Exception or None
        Why it failed.
    """

    estimator: Any = None
    bound: float = np.nan
    error: float = np.nan
    brier: float = np.nan
    seconds: float = np.nan
    steps: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    failure: Exception | None = None

    def better_than(self, other) -> bool:
        """Whether the bound is smaller or, at equal bounds, the Brier loss.

        Parameters
        ----------
        other : Outcome or None
            None is worse than anything.

        Returns
        -------
        bool
            False for a failed candidate.
        """
        if self.failure is not None or other is None:
            return self.failure is None
        mine, others = ((o.bound, np.nan_to_num(o.brier, nan=np.inf)) for o in (self, other))
        return mine < others


def prepare_candidate(estimator, params, *, delta, seed):
    """Build an unfitted candidate with the search's level, split and seed.

    Parameters
    ----------
    estimator : estimator
        Cloned.
    params : dict
        The candidate's parameters.
    delta : float or None
        Level for the whole choice; None leaves the estimator's own.
    seed : int
        Given to every protocol and every ``random_state`` that is None.

    Returns
    -------
    estimator
        Ready to fit.

    Raises
    ------
    ValueError
        If a parameter is unknown, or nothing inside could be certified.
    """
    candidate = clone(estimator).set_params(**clone(params, safe=False))
    values = [("", candidate), *candidate.get_params(deep=True).items()]
    prefixes = [
        f"{name}__" if name else "" for name, value in values if isinstance(value, CertifiedMixin)
    ]
    if not prefixes:
        raise ValueError(
            f"{type(candidate).__name__} carries no certificate. Use TransformerClassifier, or "
            f"wrap the classifier in BoundedClassifier."
        )
    for prefix in prefixes:
        if f"{prefix}delta" in params:
            raise ValueError(
                f"param_grid must not hold {prefix}delta: bounds at different levels cannot be "
                f"compared. Set the level with BoundSearch(delta=...)."
            )
        if delta is not None:
            candidate.set_params(**{f"{prefix}delta": delta})
        protocol = resolve_protocol(candidate.get_params()[f"{prefix}protocol"])
        if isinstance(protocol, AllRows):
            raise ValueError(
                "protocol=None certifies nothing, so there is no bound to choose by. Use "
                "protocol='holdout'."
            )
        if hasattr(protocol, "get_params"):
            protocol = seed_unset(clone(protocol), seed)
        candidate.set_params(**{f"{prefix}protocol": protocol})
    return seed_unset(candidate, seed)


def fit_candidate(candidate, X, y, weights, n_candidates) -> Outcome:
    """Fit one candidate and certify it at ``delta / n_candidates``.

    Parameters
    ----------
    candidate : estimator
        From `prepare_candidate`.
    X, y : array-like
        Data.
    weights : ndarray or None
        Sample weights.
    n_candidates : int
        K.

    Returns
    -------
    Outcome
        With the exception in it if the fit failed.
    """
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SkboundWarning)
        try:
            keywords = {} if weights is None else weight_keyword(candidate, weights)
            candidate.fit(X, y, **keywords)
            found = refuse_wrapper(find_certified(candidate))
            inside = found.estimator
            inside._pay_for_choice(
                n_candidates, (steps_assumption(found.steps),) if found.steps else ()
            )
        except Exception as failure:
            return Outcome(seconds=time.perf_counter() - start, failure=failure)
    messages = []
    for warning in caught:
        if issubclass(warning.category, SkboundWarning):
            messages.append(str(warning.message))
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
    certified = inside.evidence_.certified
    brier = None if certified is None else certified.brier
    return Outcome(
        estimator=candidate,
        bound=inside.generalization_bound_,
        error=np.nan if certified is None else certified.error,
        brier=np.nan if brier is None else float(brier.mean()),
        seconds=time.perf_counter() - start,
        steps=found.steps,
        messages=tuple(messages),
    )


def results_table(grid, outcomes) -> dict[str, Any]:
    """Return the numbers of all candidates in the layout of scikit-learn's searches.

    Parameters
    ----------
    grid : list of dict
        Parameters of the candidates.
    outcomes : list of Outcome
        In the same order.

    Returns
    -------
    dict of str to ndarray or list
        One entry per candidate; NaN for a failed one.
    """
    bounds = np.array([outcome.bound for outcome in outcomes])
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
    table["split0_test_score"] = table["mean_test_score"] = -bounds
    table["std_test_score"] = np.where(np.isnan(bounds), np.nan, 0.0)
    ranked = np.where(np.isnan(bounds), np.inf, bounds)
    table["rank_test_score"] = rankdata(ranked, method="min").astype(np.int32)
    table["bound"] = bounds
    table["certified_error"] = np.array([outcome.error for outcome in outcomes])
    table["certified_brier"] = np.array([outcome.brier for outcome in outcomes])
    return table
