"""One candidate of a search: built from its parameters, fitted once, paid for."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from skbound._inputs import weight_keyword
from skbound._random_state import seed_unset
from skbound.classifiers._certified import CertifiedMixin
from skbound.evidence import Sample
from skbound.model_selection._find import find_certified, steps_caveat, the_only_one
from skbound.protocols import AllRows, resolve_protocol

__all__ = ["Outcome", "fit_candidate", "paid", "prepare_candidate"]


@dataclass(frozen=True)
class Outcome:
    """What came of one candidate.

    Parameters
    ----------
    estimator : estimator or None
        Fitted and paid for; None where it failed or was let go.
    bound, error, brier : float
        Certificate at its share of delta, and mean losses on the certified rows; NaN where it
        failed.
    seconds : float
        Time of the fit.
    steps : tuple of str
        Pipeline steps in front that were fitted on all rows.
    failure : Exception or None
        Why it failed.
    sample : Sample or None
        Losses row by row, where it was only ranked.
    share : float
        Of the training side on which it was ranked.
    n_parameters : int
        Trained numbers of a net; 0 where it reveals none.
    """

    estimator: Any = None
    bound: float = np.nan
    error: float = np.nan
    brier: float = np.nan
    seconds: float = np.nan
    steps: tuple[str, ...] = ()
    failure: Exception | None = None
    sample: Sample | None = None
    share: float = 1.0
    n_parameters: int = 0

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
    prefix, certified = "", candidate
    while isinstance(certified, Pipeline):
        name, certified = certified.steps[-1]
        prefix += f"{name}__"
    if not isinstance(certified, CertifiedMixin):
        raise ValueError(
            f"Candidates must be TransformerClassifier, BoundedClassifier or a pipeline that ends "
            f"with one, but {type(certified).__name__} carries no certificate of its own. Wrap it: "
            f"BoundedClassifier(...)."
        )
    if f"{prefix}delta" in params:
        raise ValueError(
            f"param_grid must not hold {prefix}delta: bounds at different levels cannot be "
            f"compared. Set the level with BoundSearch(delta=...)."
        )
    if delta is not None:
        certified.set_params(delta=delta)
    protocol = resolve_protocol(certified.protocol)
    if isinstance(protocol, AllRows):
        raise ValueError(
            "protocol=None certifies nothing, so there is no bound to choose by. Use "
            "protocol='holdout'."
        )
    if hasattr(protocol, "get_params"):
        protocol = seed_unset(clone(protocol), seed)
    certified.set_params(protocol=protocol)
    return seed_unset(candidate, seed)


def fit_candidate(candidate, X, y, weights) -> Outcome:
    """Fit one candidate, and certify it as if there were no other.

    Parameters
    ----------
    candidate : estimator
        From `prepare_candidate`.
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
    try:
        keywords = {} if weights is None else weight_keyword(candidate, weights)
        candidate.fit(X, y, **keywords)
        found = the_only_one(find_certified(candidate))
        found.estimator._pay_for_choice(1, steps_caveat(found.steps))
    except Exception as failure:
        return Outcome(seconds=time.perf_counter() - start, failure=failure)
    evaluated = found.estimator.evidence_.evaluated
    brier = None if evaluated is None else evaluated.brier
    return Outcome(
        estimator=candidate,
        bound=found.estimator.generalization_bound_,
        error=np.nan if evaluated is None else evaluated.error,
        brier=np.nan if brier is None else float(brier.mean()),
        seconds=time.perf_counter() - start,
        steps=found.steps,
    )


def paid(outcome, n_candidates, share=None, assumption="") -> Outcome:
    """Return a fitted candidate that is paid for.

    Parameters
    ----------
    outcome : Outcome
        From `fit_candidate`; its estimator is changed.
    n_candidates : int
        K.
    share : float or None, default=None
        Of delta; None stands for ``1 / K``.
    assumption : str, default=""
        How it was chosen, to be said by the certificate.

    Returns
    -------
    Outcome
        With the bound at its share of delta; a failed one as it is.
    """
    if outcome.failure is not None:
        return outcome
    found = the_only_one(find_certified(outcome.estimator))
    found.estimator._pay_for_choice(n_candidates, steps_caveat(found.steps), share, assumption)
    return replace(outcome, bound=found.estimator.generalization_bound_)
