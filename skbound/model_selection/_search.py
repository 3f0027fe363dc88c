"""Choose among candidates by their certificates: one fit each, no cross-validation."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import ParameterGrid
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted
from tqdm import tqdm

from skbound._inputs import check_labels, check_weights, from_torch
from skbound._random_state import draw_seed
from skbound._sklearn_compat import HasMethods, Interval, StrOptions, fit_context
from skbound.classifiers._certified import FitHintMixin, as_before_on_error
from skbound.model_selection._candidates import fit_candidate, prepare_candidate
from skbound.model_selection._find import find_certified, warn_of_steps
from skbound.model_selection._ranking import (
    certified_end,
    common_certified_rows,
    ranking_candidate,
    shares_by_rank,
)
from skbound.model_selection._results import results_table

__all__ = ["BoundSearch"]


class BoundSearch(FitHintMixin, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Fit every candidate once, keep the one with the smallest bound, and pay for the choice.

    All candidates share one split of the rows, unless the grid holds protocols of other seeds.
    Each is certified at ``delta / K``, K being the number of candidates, or at another share of
    `delta` that was fixed beforehand; so the certificate of the one chosen holds at level `delta`
    although the certified rows chose it. The fit that is returned is the fit that was certified;
    nothing is refitted.

    Parameters
    ----------
    estimator : classifier
        TransformerClassifier, BoundedClassifier, or a pipeline that ends with one.
    param_grid : dict or list of dict
        Names and lists of values, as for ``GridSearchCV``. Fixed before the search looks at any
        certified row; a grid refined after looking is not paid for.
    delta : float or None, default=None
        Level for the whole choice; None takes the estimator's own.
    candidate_weights : {"uniform", "informed"}, default="uniform"
        "informed" ranks the candidates first, by one more fit each: on four fifths of the rows
        that are not certified, evaluated on the fifth. The share of delta is then proportional to
        one over the squared rank. Certified rows stay unread until the ranking is complete; so
        all candidates must certify on the same rows.
    n_jobs : int or None, default=None
        Candidates fitted side by side, through joblib. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Chooses the certified rows and seeds whatever the candidates leave unseeded.
    error_score : "raise" or nan, default=nan
        Whether a failing candidate raises, or costs only itself. It counts among the K either way.
    return_estimators : bool, default=False
        Keep every fitted candidate in ``estimators_``, not only the best.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    best_estimator_ : classifier
        The chosen fit; its ``generalization_bound_`` (in a pipeline, that of its last step) is
        paid for.
    best_params_ : dict
        Its parameters.
    best_index_ : int
        Its position in ``cv_results_``.
    best_bound_ : float
        Its bound, at level `delta` for the whole choice.
    best_score_ : float
        Minus ``best_bound_``.
    certificate_ : Certificate
        Its certificate.
    generalization_bound_ : float
        The same as ``best_bound_``.
    evidence_ : Evidence
        The numbers that the certificate was computed from.
    predicted_error_ : Estimate
        Point prediction of the chosen fit's error, no bound; optimistic, since it was chosen by.
    cv_results_ : dict of str to ndarray
        As from ``GridSearchCV`` (the score is minus the bound), plus "bound", "certified_error"
        and "certified_brier" per candidate; with informed weights also "ranking_error" and
        "share".
    estimators_ : list
        Fitted candidates (None for a failed one), if `return_estimators`.
    n_candidates_ : int
        K.
    classes_ : ndarray of shape (n_classes,)
        Labels seen in fit.
    n_features_in_ : int
        Columns seen in fit, where the data have columns.
    feature_names_in_ : ndarray of str
        Their names, for a DataFrame.

    See Also
    --------
    bound_scorer : For scikit-learn's own searches.
    certify : The certificate of their winners.

    Notes
    -----
    Ties in the bound are broken by the Brier score on the certified rows, then by the order of
    the grid. ``score`` is the accuracy.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skbound import BoundedClassifier, BoundSearch
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> grid = {"estimator__max_depth": [1, 3, 5]}
    >>> search = BoundSearch(BoundedClassifier(DecisionTreeClassifier()), grid, random_state=0)
    >>> search = search.fit(X, y)
    >>> search.certificate_.n_candidates
    3
    >>> search.best_estimator_.generalization_bound_ == search.best_bound_
    True
    """

    # What `find_certified` asks: the winner's evidence already counts the candidates.
    records_its_choice = True

    _parameter_constraints: dict = {  # noqa: RUF012 (scikit-learn's convention)
        "estimator": [HasMethods(["fit", "predict"])],
        "param_grid": [dict, list],
        "delta": [None, Interval(Real, 1e-300, 1, closed="left")],
        "candidate_weights": [StrOptions({"uniform", "informed"})],
        "random_state": ["random_state"],
        "error_score": [StrOptions({"raise"}), Real],
        "return_estimators": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator,
        param_grid,
        *,
        delta=None,
        candidate_weights="uniform",
        n_jobs=None,
        random_state=None,
        error_score=np.nan,
        return_estimators=False,
        verbose=0,
    ):
        self.estimator = estimator
        self.param_grid = param_grid
        self.delta = delta
        self.candidate_weights = candidate_weights
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.error_score = error_score
        self.return_estimators = return_estimators
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Fit every candidate and choose.

        Parameters
        ----------
        X : array-like
            Data, as for the estimator.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Passed to every fit.

        Returns
        -------
        BoundSearch
            Itself.

        Raises
        ------
        ValueError, TypeError
            If a parameter of the grid is unknown, all candidates fail, or informed weights are
            asked for and the candidates do not certify on the same rows.
        """
        if self.error_score != "raise" and not np.isnan(self.error_score):
            raise ValueError(f"error_score must be 'raise' or nan, got {self.error_score!r}.")
        X, y = from_torch(X, "X"), check_labels(y)
        weights = check_weights(sample_weight, X, type(self).__name__)
        seed = draw_seed(self.random_state)
        grid = list(ParameterGrid(self.param_grid))
        if not grid:
            raise ValueError("param_grid must hold at least one candidate, got an empty grid.")
        candidates = [
            prepare_candidate(self.estimator, params, delta=self.delta, seed=seed)
            for params in grid
        ]
        levels = sorted({certified_end(candidate).delta for candidate in candidates})
        if len(levels) > 1:
            raise ValueError(
                f"All candidates must have one delta, got {levels}: bounds at different levels "
                f"cannot be compared. Set it with BoundSearch(delta=...)."
            )
        with as_before_on_error(self):
            # Workers that are threads share the filters of warnings, and scikit-learn sets them.
            with warnings.catch_warnings():
                ranking, shares = self._rank(candidates, X, y, weights)
                outcomes, best = self._keep_best(self._run(candidates, shares, X, y, weights))
            self._report(outcomes, best)
            self._record(grid, outcomes, best)
            if ranking:
                self.cv_results_["ranking_error"] = np.array([o.error for o in ranking])
                self.cv_results_["share"] = np.array(shares)
        return self

    def _rank(self, candidates, X, y, weights):
        """Return the outcomes of the ranking fits and the shares; none for equal shares."""
        equal = [], [None] * len(candidates)
        if self.candidate_weights == "uniform":
            return equal
        n_samples = len(y) if weights is None else np.count_nonzero(weights)
        if not len(common_certified_rows(candidates, n_samples)):
            return equal
        ranking = [ranking_candidate(candidate) for candidate in candidates]
        # All of them, before the first certified row is read.
        outcomes = [
            replace(outcome, estimator=None)
            for outcome in self._run(ranking, equal[1], X, y, weights, "ranking")
        ]
        return outcomes, shares_by_rank(outcomes)

    def _run(self, candidates, shares, X, y, weights, what="candidates"):
        """Yield the outcomes in the order of the candidates, as they come in."""
        try:
            parallel = Parallel(n_jobs=self.n_jobs, return_as="generator")
        except ValueError:
            # This backend cannot hand results over one by one; it keeps all fits until the end.
            parallel = Parallel(n_jobs=self.n_jobs)
        outcomes = parallel(
            delayed(fit_candidate)(candidate, X, y, weights, len(candidates), share)
            for candidate, share in zip(candidates, shares, strict=True)
        )
        smallest = np.inf
        with tqdm(total=len(candidates), desc=what, disable=not self.verbose) as bar:
            for outcome in outcomes:
                smallest = np.fmin(smallest, outcome.bound)
                bar.set_postfix(smallest_bound=f"{smallest:.4f}")
                bar.update()
                yield outcome

    def _keep_best(self, outcomes):
        """Return all outcomes, the best one's position, and let go of the other fits."""
        kept, best = [], None
        for outcome in outcomes:
            if outcome.failure is not None and self.error_score == "raise":
                raise outcome.failure
            let_go = None
            if outcome.better_than(None if best is None else kept[best]):
                let_go, best = best, len(kept)
            elif outcome.failure is None:
                let_go = len(kept)
            kept.append(outcome)
            if let_go is not None and not self.return_estimators:
                kept[let_go] = replace(kept[let_go], estimator=None)
        return kept, best

    def _report(self, outcomes, best):
        """Raise if all candidates failed; warn of the failed ones, once."""
        failures = [outcome.failure for outcome in outcomes if outcome.failure is not None]
        if best is None:
            first = failures[0]
            kind = type(first) if type(first) in (ValueError, TypeError) else ValueError
            raise kind(f"All {len(outcomes)} candidates failed. The first: {first}") from first
        if failures:
            warnings.warn(
                f"{len(failures)} of {len(outcomes)} candidates failed; their scores are nan and "
                f"they count in the choice that is paid for. The first: {failures[0]!r}",
                FitFailedWarning,
                stacklevel=4,
            )
        warn_of_steps(outcomes[best].steps, stacklevel=5)

    def _record(self, grid, outcomes, best):
        """Set the attributes that a search leaves behind."""
        self.n_candidates_ = len(grid)
        self.cv_results_ = results_table(grid, outcomes)
        self.best_index_, self.best_params_ = best, grid[best]
        self.best_estimator_ = outcomes[best].estimator
        vars(self).pop("estimators_", None)
        if self.return_estimators:
            self.estimators_ = [outcome.estimator for outcome in outcomes]
        certified = find_certified(self.best_estimator_)[0].estimator
        self.certificate_, self.evidence_ = certified.certificate_, certified.evidence_
        self.predicted_error_ = certified.predicted_error_
        self.generalization_bound_ = self.best_bound_ = float(self.certificate_)
        self.best_score_ = -self.best_bound_
        self.classes_ = self.best_estimator_.classes_
        for name in ("n_features_in_", "feature_names_in_"):
            vars(self).pop(name, None)
            if hasattr(self.best_estimator_, name):
                setattr(self, name, getattr(self.best_estimator_, name))

    def predict(self, X):
        """Predict labels with the chosen fit.

        Parameters
        ----------
        X : array-like
            Rows as in fit.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @available_if(lambda self: hasattr(self._current(), "predict_proba"))
    def predict_proba(self, X):
        """Predict class probabilities with the chosen fit.

        Parameters
        ----------
        X : array-like
            Rows as in fit.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns as in ``classes_``.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    @available_if(lambda self: hasattr(self._current(), "predict_log_proba"))
    def predict_log_proba(self, X):
        """Predict the logarithms of class probabilities with the chosen fit.

        Parameters
        ----------
        X : array-like
            Rows as in fit.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns as in ``classes_``.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict_log_proba(X)

    @available_if(lambda self: hasattr(self._current(), "decision_function"))
    def decision_function(self, X):
        """Return the scores of the chosen fit.

        Parameters
        ----------
        X : array-like
            Rows as in fit.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores.
        """
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def _current(self):
        return getattr(self, "best_estimator_", self.estimator)

    def __sklearn_tags__(self):
        """Take over what the estimator says about its input."""
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags = inner.classifier_tags
        return tags
