"""Any scikit-learn classifier with a certificate."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from skbound._inputs import check_labels, check_weights, from_torch
from skbound._random_state import draw_seed
from skbound._sklearn_compat import HasMethods, Interval, fit_context
from skbound.classifiers._black_box import BlackBox
from skbound.classifiers._certified import CertifiedMixin, as_before_on_error
from skbound.classifiers._mixtures import aligned
from skbound.classifiers._row_wise import why_not_row_wise

__all__ = ["BoundedClassifier"]


class BoundedClassifier(CertifiedMixin, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Give any scikit-learn classifier an upper bound on its true error.

    Rows are set aside first and `estimator`, which may be a whole pipeline, is fitted on the
    others, so that preprocessing never sees a certified row. Other protocols spend the rows
    otherwise, and may let several clones of `estimator` answer together.

    Parameters
    ----------
    estimator : classifier
        Cloned and fitted; a whole pipeline is fine. A certified classifier inside it
        trains on all rows that it gets, with ``protocol=None``. A FrozenEstimator inside it and a
        precomputed kernel are refused; where ``predict`` depends on the rest of the batch nothing
        is certified.
    protocol : str, None or protocol object, default="holdout"
        How the rows are spent, by name or as an object of :mod:`skbound.protocols` with parameters
        of its own. None trains on all of them and certifies nothing.
    bound : str or Bound, default="auto"
        "auto" is the protocol's own, for a hold-out the exact "binomial"; each protocol's page
        lists the others. Or an object of :mod:`skbound.bounds`.
    delta : float, default=0.05
        Probability with which the certificate may fail, in [1e-300, 1).
    random_state : int, RandomState instance or None, default=None
        Chooses the certified rows and seeds what `estimator` leaves unseeded. Where a protocol
        trains several clones that differ in their seed, as ``"cross_fit"`` and
        ``Holdout(n_members=5)`` do, every ``random_state`` in `estimator`, at any depth and set or
        not, is replaced by the seed of the clone.

    Attributes
    ----------
    generalization_bound_ : float
        Upper bound on the true error of ``predict``; may exceed 1, and is 1 where nothing is
        certified.
    certificate_ : Certificate
        The same with level, terms, assumptions and ``statement()``.
    bounds_ : dict of str to Certificate
        Every certificate, each alone at `delta`; the smallest of them is not paid for. Empty
        where nothing is certified.
    predicted_error_ : Estimate
        Point prediction of the true error, no bound; NaN where nothing is certified.
    evidence_ : Evidence
        The numbers that all of these were computed from.
    estimator_ : classifier
        The fitted classifier; where several answer, an object whose ``parts`` are those. Its
        methods decide which of ``predict_proba``, ``predict_log_proba`` and
        ``decision_function`` there are; before fit, those of `estimator` do. A vote has
        probabilities, the shares of votes, whatever `estimator` has; votes and averages have no
        ``decision_function``.
    classes_ : ndarray of shape (n_classes,)
        Labels seen in fit, certified rows included.
    n_features_in_ : int
        Columns seen in fit, where the data have columns.
    feature_names_in_ : ndarray of str
        Their names, for a DataFrame.
    n_samples_fit_, n_samples_certified_, n_samples_validation_ : int
        Rows trained on and certified on, the first of the last classifier where several answer.
        The third is 0: what `estimator` sets aside itself counts as trained on.

    See Also
    --------
    TransformerClassifier : A Transformer with the same attributes.
    BoundSearch : Chooses among candidates by their bounds.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skbound import BoundedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> clf = BoundedClassifier(model, random_state=0).fit(X, y)
    >>> clf.n_samples_fit_, clf.n_samples_certified_
    (455, 114)
    >>> clf.generalization_bound_ < 0.1
    True
    """

    _parameter_constraints: dict = {  # noqa: RUF012 (scikit-learn's convention)
        "estimator": [HasMethods(["fit"])],
        "delta": [Interval(Real, 1e-300, 1, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self, estimator, *, protocol="holdout", bound="auto", delta=0.05, random_state=None
    ):
        self.estimator = estimator
        self.protocol = protocol
        self.bound = bound
        self.delta = delta
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Fit the classifier on a part of the rows and certify it on the rest.

        Parameters
        ----------
        X : array-like, DataFrame or list
            Whatever `estimator` takes, one entry per row.
        y : array-like of shape (n_samples,)
            Labels of any type.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Acts on training only; rows of weight zero are absent. The certificate is about the
            unweighted error.

        Returns
        -------
        BoundedClassifier
            Itself.

        Raises
        ------
        ValueError, TypeError
            If data or parameters are unusable, or the fitted classifier answers rows otherwise
            alone than together, in a look at 16 of them; nothing has changed then.
        """
        protocol = self._resolve()
        self._check_estimator()
        with as_before_on_error(self):
            X = self._check_rows(from_torch(X, "X"), reset=True)
            y = check_labels(y)
            check_consistent_length(X, y)
            weights = check_weights(sample_weight, X, type(self).__name__)
            seed = draw_seed(self.random_state)
            learner = BlackBox(self.estimator, X, y, weights, seed)
            fit, evidence = protocol.run(learner, seed)
            if evidence.evaluated is not None:
                why = why_not_row_wise(fit.model, X, np.unique(evidence.evaluated.rows))
                if why:
                    evidence = replace(evidence, certified=None, reason=why)
            self.estimator_ = fit.model
            self.classes_ = learner.classes
            self._record(fit, evidence)
        return self

    def predict(self, X):
        """Predict labels.

        Parameters
        ----------
        X : array-like, DataFrame or list
            Rows as in fit.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        check_is_fitted(self)
        return self.estimator_.predict(self._check_rows(from_torch(X, "X"), reset=False))

    @available_if(lambda self: hasattr(self._current(), "predict_proba"))
    def predict_proba(self, X):
        """Predict class probabilities.

        Parameters
        ----------
        X : array-like, DataFrame or list
            Rows as in fit.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns as in ``classes_``; a class that the trained rows lack has probability 0.
        """
        check_is_fitted(self)
        X = self._check_rows(from_torch(X, "X"), reset=False)
        return aligned(self.estimator_, X, self.classes_)

    @available_if(lambda self: hasattr(self._current(), "predict_proba"))
    def predict_log_proba(self, X):
        """Predict the logarithms of class probabilities.

        Parameters
        ----------
        X : array-like, DataFrame or list
            Rows as in fit.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns as in ``classes_``; minus infinity where a probability is 0.
        """
        return super().predict_log_proba(X)

    @available_if(lambda self: hasattr(self._current(), "decision_function"))
    def decision_function(self, X):
        """Return the scores of the fitted classifier.

        Parameters
        ----------
        X : array-like, DataFrame or list
            Rows as in fit.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores as `estimator` gives them, for the classes that its rows held.
        """
        check_is_fitted(self)
        return self.estimator_.decision_function(self._check_rows(from_torch(X, "X"), reset=False))

    def _check_estimator(self):
        """Refuse what cannot be certified from a part of the rows."""
        if not is_classifier(self.estimator):
            raise ValueError(f"estimator must be a classifier, got {self.estimator!r}.")
        if _holds_frozen([self.estimator, *self.estimator.get_params(deep=True).values()]):
            raise ValueError(
                "estimator must be fitted here, from rows that are not certified, but it holds a "
                "FrozenEstimator, and nothing tells which rows that one has seen. Pass the "
                "estimator unfrozen, or apply a frozen transformer to the rows before fit."
            )
        if get_tags(self.estimator).input_tags.pairwise:
            raise ValueError(
                "estimator must take rows, but it takes a precomputed matrix of pairs, which "
                "cannot be split by rows alone. Use the kernel or metric itself."
            )

    def _current(self):
        return getattr(self, "estimator_", self.estimator)

    def _check_rows(self, X, *, reset):
        """Check numbers at the door; leave text, frames and sparse matrices to the classifier."""
        if issparse(X):
            # Other layouts cannot be split by rows.
            X = X.tocsr()
        elif not hasattr(X, "columns"):
            array = X if isinstance(X, np.ndarray) else np.asarray(X)
            if array.ndim <= 2 and array.dtype.kind in "fiub":
                # Missing values are for the estimator to judge: it may impute them.
                X = check_array(
                    array,
                    ensure_all_finite="allow-nan",
                    ensure_min_samples=2 if reset else 1,
                    estimator=self,
                    input_name="X",
                )
            elif not isinstance(X, list):
                X = array
        if reset:
            vars(self).pop("n_features_in_", None)
        validate_data(self, X, skip_check_array=True, reset=reset)
        return X

    def __sklearn_tags__(self):
        """Take over what the wrapped classifier says about its input."""
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags = inner.classifier_tags
        return tags


def _holds_frozen(value):
    """Say whether a parameter is a FrozenEstimator or holds one, for example in a grid."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return any(_holds_frozen(part) for part in value)
    return isinstance(value, FrozenEstimator)
