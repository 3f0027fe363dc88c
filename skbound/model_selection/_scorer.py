"""Scoring by bound: minus the certificate, so that greater is better."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skbound.model_selection._find import (
    certificate_of,
    find_certified,
    the_only_one,
    warn_of_steps,
)

__all__ = ["BoundScorer", "bound_scorer"]

_REDUCERS = {"mean": np.mean, "max": np.max, "sum": np.sum}


class BoundScorer:
    """Score a fitted estimator by minus its bound on the true error.

    For ``GridSearchCV(..., scoring=bound_scorer, cv=FitOnce())`` and its relatives. The value
    comes from the evidence of the fit: the X and y that a search passes are not looked at, so
    ``search.score(X_new, y_new)`` returns the same number whatever X_new is.

    Parameters
    ----------
    bound : str, Bound or None, default=None
        None takes the estimator's own.
    delta : float or None, default=None
        None takes the estimator's own.
    n_candidates : int, default=1
        Pay for the choice among this many candidates. The ranking of a search hardly changes;
        ``certify(search)`` gives the winner's certificate in any case.
    reduce : {"raise", "mean", "max", "sum"}, default="raise"
        What to do with a wrapper whose ``predict`` is not that of one certified estimator
        (calibration, voting, one-versus-rest, thresholds). "raise" refuses; the others combine the
        bounds of its parts, each at its share of delta, into a score for ranking. Only "sum" for
        one-versus-rest is a bound on the wrapper's own error, where each part's ``predict`` agrees
        with the sign of its score.
    on_pipeline : {"warn", "ignore"}, default="warn"
        Whether to warn about preprocessing that was fitted on certified rows.

    See Also
    --------
    FitOnce : The splitter that goes with it.
    certify : The certificate of a search's winner.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skbound import BoundedClassifier, FitOnce, bound_scorer
    >>> clf = BoundedClassifier(DecisionTreeClassifier(), random_state=0)
    >>> grid = {"estimator__max_depth": [1, 3]}
    >>> search = GridSearchCV(clf, grid, scoring=bound_scorer, cv=FitOnce())
    >>> search = search.fit(*load_breast_cancer(return_X_y=True))
    >>> bool(search.best_score_ == -search.best_estimator_.generalization_bound_)
    True
    """

    __name__ = "neg_generalization_bound"

    def __init__(
        self, bound=None, *, delta=None, n_candidates=1, reduce="raise", on_pipeline="warn"
    ):
        self.bound = bound
        self.delta = delta
        self.n_candidates = n_candidates
        self.reduce = reduce
        self.on_pipeline = on_pipeline

    def __call__(self, estimator, X=None, y=None, sample_weight=None):
        """Return minus the bound.

        Parameters
        ----------
        estimator : estimator
            Fitted; may be a pipeline, a search or a wrapper around a certified one.
        X, y, sample_weight : object
            Not looked at.

        Returns
        -------
        float
            Finite, not clipped.

        Raises
        ------
        ValueError
            If there is no certified estimator inside, or a wrapper changes its predictions.
        """
        if self.reduce != "raise" and self.reduce not in _REDUCERS:
            raise ValueError(f"reduce must be one of {['raise', *_REDUCERS]}, got {self.reduce!r}.")
        if self.on_pipeline not in ("warn", "ignore"):
            raise ValueError(f"on_pipeline must be 'warn' or 'ignore', got {self.on_pipeline!r}.")
        check_is_fitted(estimator)
        found = find_certified(estimator)
        if self.reduce == "raise" or not found or found[0].obstacle:
            the_only_one(found)
        if self.on_pipeline == "warn":
            warn_of_steps(found[0].steps)
        values = [self._value(one, len(found)) for one in found]
        if len(values) == 1:
            return -values[0]
        return -float(_REDUCERS[self.reduce](values))

    def _value(self, found, n_parts):
        delta = found.estimator.certificate_.delta if self.delta is None else self.delta
        recorded = found.n_candidates * found.estimator.evidence_.n_candidates
        n_candidates = self.n_candidates * recorded
        return float(certificate_of(found, self.bound, delta / n_parts, n_candidates))

    def _accept_sample_weight(self):
        # scikit-learn asks every scorer of a dict of scorers.
        return True

    def _routing_repr(self):
        return repr(self)

    def __repr__(self):
        return (
            f"BoundScorer(bound={self.bound!r}, delta={self.delta!r}, "
            f"n_candidates={self.n_candidates!r}, reduce={self.reduce!r}, "
            f"on_pipeline={self.on_pipeline!r})"
        )

    def __eq__(self, other):
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self):
        return hash(repr(self))


bound_scorer = BoundScorer()
