"""Choose among candidates without cross-validation, and certify the one that is returned."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from functools import partial
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.model_selection import ParameterGrid, ParameterSampler

from skbound._inputs import check_labels, check_weights, from_torch
from skbound._random_state import draw_seed
from skbound._sklearn_compat import HasMethods, Interval, StrOptions, fit_context
from skbound.classifiers._certified import FitHintMixin, as_before_on_error
from skbound.model_selection._candidates import fit_candidate, paid, prepare_candidate
from skbound.model_selection._checkpoint import Checkpoint
from skbound.model_selection._choice import BY_BOUND, ON_TRAINING_SIDE, Choice
from skbound.model_selection._delegation import PredictsWithBest
from skbound.model_selection._find import find_certified
from skbound.model_selection._fits import Fits
from skbound.model_selection._racing import race
from skbound.model_selection._ranking import (
    certified_end,
    common_certified_rows,
    rank_candidate,
    ranking_candidate,
    shares_by_prior,
    shares_by_rank,
    simplest_of_the_best,
)

__all__ = ["BoundSearch"]


class BoundSearch(
    FitHintMixin, PredictsWithBest, MetaEstimatorMixin, ClassifierMixin, BaseEstimator
):
    """Choose among candidates without cross-validation; certify the fit that is returned.

    There are two ways to choose, and the certificate holds with both. With
    ``choose_by="training_side"`` candidates are ranked by a fifth of the rows that are not
    certified; the winner is trained once more on all of these, and only then are the certified
    rows read, once, so the choice costs nothing. With ``choose_by="bound"`` every candidate is
    certified at ``delta / K``, K being their number, and the smallest bound wins.

    Parameters
    ----------
    estimator : classifier
        TransformerClassifier, BoundedClassifier, or a pipeline that ends with one.
    param_grid : dict or list of dict
        Names and lists of values, as for ``GridSearchCV``; with `n_iter` also distributions, as for
        ``RandomizedSearchCV``. Fixed before the search looks at any certified row; a grid refined
        after looking is not paid for.
    delta : float or None, default=None
        Level for the whole choice; None takes the estimator's own.
    choose_by : {"training_side", "bound"}, default="training_side"
        What decides. "training_side" needs a protocol that splits the rows once, such as a
        hold-out, and candidates that share the split.
    strategy : {"grid", "halving", "racing", "random"}, default="grid"
        "halving" ranks all candidates on an eighth of the training rows, the better half of them on
        a quarter, and so on. "racing" also drops those of the better half that are clearly behind
        the leader. Both choose on the training side. "random" is "grid" with `n_iter` candidates.
    n_iter : int or None, default=None
        Draw so many candidates from `param_grid`, before anything is fitted; None takes all. With
        ``strategy="random"`` None stands for 10.
    candidate_weights : {"uniform", "informed"} or array-like, default="uniform"
        For ``choose_by="bound"``. "informed" ranks the candidates first, on the training side; the
        share of delta is then proportional to one over the squared rank. An array of positive
        numbers, one per candidate in the order of ``cv_results_["params"]``, is a prior: shares
        are proportional to it.
    checkpoint : path-like or None, default=None
        Folder in which finished fits are kept. A search that was cut short goes on where it
        stopped; one that is extended counts all candidates ever certified on these rows, which are
        known by their labels. A fit is found again with the same data, parameters, code of the
        classes and functions among them, and versions; a failed one is tried again.
    n_jobs : int or None, default=None
        Candidates fitted side by side, through joblib. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Chooses the certified rows and seeds whatever the candidates leave unseeded. With a
        `checkpoint` it must be an int, or nothing would be found again.
    error_score : "raise" or nan, default=nan
        Whether a failing candidate raises, or costs only itself. It counts among the K either way.
    return_estimators : bool, default=False
        Keep every fitted candidate in ``estimators_``, not only the best; for
        ``choose_by="bound"``.
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
        Its ``mean_test_score``: minus the bound or, chosen on the training side, minus its error
        there.
    certificate_ : Certificate
        Its certificate.
    generalization_bound_ : float
        The same as ``best_bound_``.
    evidence_ : Evidence
        The numbers that the certificate was computed from.
    predicted_error_ : Estimate
        Point prediction of the chosen fit's error, no bound; optimistic if it was chosen by it.
    cv_results_ : dict of str to ndarray
        As from ``GridSearchCV``, plus "bound", "certified_error" and "certified_brier" per
        candidate (NaN where it was not certified). Where candidates were ranked on the training
        side also "ranking_error", "ranking_loss" (half the Brier score) and "ranking_share", of
        the rows that the last ranking of the candidate trained on; with informed weights "share",
        of delta.
    choice_ : str
        How the winner was chosen, in one sentence.
    estimators_ : list
        Fitted candidates (None for a failed one), if `return_estimators`.
    n_candidates_ : int
        Candidates of this search.
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
    the grid. On the training side the smallest Brier score wins; of nets that are within a
    quarter of a standard error of it, the one with the fewest parameters. ``score`` is the
    accuracy.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skbound import BoundedClassifier, BoundSearch
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> grid = {"estimator__max_depth": [1, 3, 5]}
    >>> tree = BoundedClassifier(DecisionTreeClassifier())
    >>> search = BoundSearch(tree, grid, choose_by="bound", random_state=0).fit(X, y)
    >>> search.certificate_.n_candidates
    3
    >>> search.best_estimator_.generalization_bound_ == search.best_bound_
    True
    >>> search.set_params(choose_by="training_side").fit(X, y).certificate_.n_candidates
    1
    """

    # What `find_certified` asks: the winner's evidence already counts the candidates.
    records_its_choice = True

    _parameter_constraints: dict = {  # noqa: RUF012 (scikit-learn's convention)
        "estimator": [HasMethods(["fit", "predict"])],
        "param_grid": [dict, list],
        "delta": [None, Interval(Real, 1e-300, 1, closed="left")],
        "choose_by": [StrOptions({"training_side", "bound"})],
        "strategy": [StrOptions({"grid", "halving", "racing", "random"})],
        "n_iter": [None, Interval(Integral, 1, None, closed="left")],
        "candidate_weights": [StrOptions({"uniform", "informed"}), "array-like"],
        "checkpoint": [None, str, os.PathLike],
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
        choose_by="training_side",
        strategy="grid",
        n_iter=None,
        candidate_weights="uniform",
        checkpoint=None,
        n_jobs=None,
        random_state=None,
        error_score=np.nan,
        return_estimators=False,
        verbose=0,
    ):
        self.estimator = estimator
        self.param_grid = param_grid
        self.delta = delta
        self.choose_by = choose_by
        self.strategy = strategy
        self.n_iter = n_iter
        self.candidate_weights = candidate_weights
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.error_score = error_score
        self.return_estimators = return_estimators
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Fit the candidates and choose.

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
            If parameters do not fit together or one of the grid is unknown, all candidates fail,
            or they are to be ranked on the training side and do not certify on the same rows.
        """
        self._check_parameters()
        X, y = from_torch(X, "X"), check_labels(y)
        weights = check_weights(sample_weight, X, type(self).__name__)
        seed = draw_seed(self.random_state)
        grid = self._grid(seed)
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
            checkpoint = self.checkpoint
            if checkpoint is not None:
                checkpoint = Checkpoint.of(checkpoint, X, y, weights)
            fits = Fits(X, y, weights, self.n_jobs, self.verbose, checkpoint)
            # Workers that are threads share the filters of warnings, and scikit-learn sets them.
            with warnings.catch_warnings():
                if self.choose_by == "bound" and self.strategy in ("grid", "random"):
                    found = self._choose_by_bound(fits, candidates)
                    while fits.n_certified(fit_candidate, candidates) != found.n_paid:
                        # Another search has certified on these rows meanwhile. This one has no
                        # more to fit, and reads what it has finished.
                        found = self._choose_by_bound(fits, candidates)
                else:
                    found = self._choose_on_training_side(fits, candidates)
            self._record(grid, found)
        return self

    def _check_parameters(self):
        if self.error_score != "raise" and not np.isnan(self.error_score):
            raise ValueError(f"error_score must be 'raise' or nan, got {self.error_score!r}.")
        if self.checkpoint is not None and not isinstance(self.random_state, Integral):
            raise ValueError(
                f"With a checkpoint, random_state must be an int, got {self.random_state!r}: with "
                f"other seeds and other certified rows nothing would be found again, and each run "
                f"would pay for those before it."
            )
        on_training_side = self.choose_by == "training_side"
        if self.strategy in ("halving", "racing") and not on_training_side:
            raise ValueError(
                f"strategy={self.strategy!r} drops candidates by what it has seen, which must be "
                f"rows of the training side. Set choose_by='training_side'."
            )
        for name, usual in (("candidate_weights", "uniform"), ("return_estimators", False)):
            if on_training_side and not np.array_equal(getattr(self, name), usual):
                raise ValueError(
                    f"{name}={getattr(self, name)!r} needs choose_by='bound': on the training side "
                    f"only the winner is certified and kept."
                )

    def _grid(self, seed):
        """Return the candidates' parameters, fixed before anything is fitted."""
        n_iter = 10 if self.n_iter is None and self.strategy == "random" else self.n_iter
        if n_iter is None:
            grid = list(ParameterGrid(self.param_grid))
        else:
            grid = list(ParameterSampler(self.param_grid, n_iter, random_state=seed))
        if not grid:
            raise ValueError("param_grid must hold at least one candidate, got an empty grid.")
        return grid

    def _choose_by_bound(self, fits, candidates):
        """Certify every candidate at its share of delta; the smallest bound wins."""
        ranking, shares = self._shares(fits, candidates)
        n_paid = fits.n_certified(fit_candidate, candidates)
        outcomes, best = [], None
        for outcome in fits.run(fit_candidate, candidates, "candidates"):
            self._raise_if_asked(outcome)
            share = None if shares is None else shares[len(outcomes)] * len(candidates) / n_paid
            outcomes.append(paid(outcome, n_paid, share))
            let_go = len(outcomes) - 1
            if outcomes[-1].better_than(None if best is None else outcomes[best]):
                let_go, best = best, let_go
            # Only the best of a long search stays in memory.
            if let_go is not None and not self.return_estimators:
                outcomes[let_go] = replace(outcomes[let_go], estimator=None)
        reason = BY_BOUND.format(len(outcomes))
        return Choice(outcomes, best, reason, ranking, shares, n_paid)

    def _shares(self, fits, candidates):
        """Return the outcomes of ranking fits, and shares; neither for equal shares."""
        if not isinstance(self.candidate_weights, str):
            return [], shares_by_prior(self.candidate_weights, len(candidates))
        if self.candidate_weights == "uniform" or not self._certified_rows(fits, candidates):
            return [], None
        # All of them, before the first certified row is read.
        ranked = [ranking_candidate(candidate) for candidate in candidates]
        ranking = list(fits.run(rank_candidate, ranked, "ranking"))
        return ranking, shares_by_rank(ranking)

    def _choose_on_training_side(self, fits, candidates):
        """Rank without certified rows; certify the winner alone."""
        self._certified_rows(fits, candidates)
        run = partial(fits.run, rank_candidate, what="ranking")
        if self.strategy in ("halving", "racing"):
            ranking = race(candidates, run, fits.n_samples, keep_half=self.strategy == "halving")
        else:
            ranking = list(run([ranking_candidate(candidate) for candidate in candidates]))
        for outcome in ranking:
            self._raise_if_asked(outcome)
        best, why = simplest_of_the_best(ranking)
        outcomes = [replace(outcome, bound=np.nan, error=np.nan) for outcome in ranking]
        choice = ON_TRAINING_SIDE.format(len(candidates))
        if ranking[best].failure is None:
            winner = [candidates[best]]
            (outcome,) = fits.run(fit_candidate, winner, "winner")
            self._raise_if_asked(outcome)
            n_paid = fits.n_certified(fit_candidate, winner)
            outcomes[best] = paid(outcome, n_paid, assumption=choice)
            best = best if outcome.failure is None else None
        else:
            best = None
        return Choice(outcomes, best, f"{choice} {why}".strip(), ranking)

    def _certified_rows(self, fits, candidates):
        """Refuse candidates that do not certify on the same rows; say how many these are."""
        return len(common_certified_rows(candidates, fits.n_samples))

    def _raise_if_asked(self, outcome):
        if outcome.failure is not None and self.error_score == "raise":
            raise outcome.failure

    def _record(self, grid, found):
        """Set the attributes that a search leaves behind."""
        found.report()
        self.n_candidates_ = len(grid)
        self.cv_results_ = found.table(grid)
        self.choice_ = found.reason
        self.best_index_, self.best_params_ = found.best, grid[found.best]
        self.best_estimator_ = found.outcomes[found.best].estimator
        self.best_score_ = float(self.cv_results_["mean_test_score"][found.best])
        vars(self).pop("estimators_", None)
        if self.return_estimators:
            self.estimators_ = [outcome.estimator for outcome in found.outcomes]
        certified = find_certified(self.best_estimator_)[0].estimator
        self.certificate_, self.evidence_ = certified.certificate_, certified.evidence_
        self.predicted_error_ = certified.predicted_error_
        self.generalization_bound_ = self.best_bound_ = float(self.certificate_)
        self.classes_ = self.best_estimator_.classes_
        for name in ("n_features_in_", "feature_names_in_"):
            vars(self).pop(name, None)
            if hasattr(self.best_estimator_, name):
                setattr(self, name, getattr(self.best_estimator_, name))
