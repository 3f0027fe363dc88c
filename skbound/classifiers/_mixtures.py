"""Several fitted predictors that share the rows to predict, each row by its hash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from skbound._sklearn_compat import safe_indexing
from skbound.protocols import HashChoice

__all__ = ["ClassifierMixture", "TransformerMixture", "aligned", "all_have"]


@dataclass(frozen=True)
class TransformerMixture:
    """Fitted Transformers, one of which answers for each row.

    Parameters
    ----------
    parts : tuple of FittedTransformer
        In the order of training.
    choice : HashChoice
        Which one answers.
    """

    parts: tuple[Any, ...]
    choice: HashChoice

    def logits(self, X):
        """Return the logits of validated rows.

        Parameters
        ----------
        X : ndarray of shape (n_samples, ...)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), float64
            Logits of each row's own part.
        """
        chosen = self.choice(X)
        logits = np.empty((len(X), self.parts[0].n_classes))
        for number, part in enumerate(self.parts):
            logits[chosen == number] = part.logits(X[chosen == number])
        return logits


def all_have(method):
    """Return a check that all parts have a method.

    Parameters
    ----------
    method : str
        Its name.

    Returns
    -------
    callable
        Takes an object with ``parts``.
    """

    def check(mixture):
        return all(hasattr(part, method) for part in mixture.parts)

    return check


def _all_score_all_classes(mixture):
    return all_have("decision_function")(mixture) and all(
        len(part.classes_) == len(mixture.classes_) for part in mixture.parts
    )


@dataclass(frozen=True)
class ClassifierMixture:
    """Fitted classifiers, one of which answers for each row.

    Parameters
    ----------
    parts : tuple of classifier
        In the order of training.
    choice : HashChoice
        Which one answers.
    classes_ : ndarray of shape (n_classes,)
        All labels; a part may have seen fewer.
    """

    parts: tuple[Any, ...]
    choice: HashChoice
    classes_: Any

    def predict(self, X):
        """Return the label that each row's own part predicts.

        Parameters
        ----------
        X : array-like of numbers
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        return self._by_part(X, lambda part, rows: np.ravel(part.predict(rows)))

    @available_if(all_have("predict_proba"))
    def predict_proba(self, X):
        """Return the probabilities that each row's own part predicts.

        Parameters
        ----------
        X : array-like of numbers
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns as in ``classes_``.
        """
        return self._by_part(X, lambda part, rows: aligned(part, rows, self.classes_))

    @available_if(_all_score_all_classes)
    def decision_function(self, X):
        """Return the scores of each row's own part.

        Parameters
        ----------
        X : array-like of numbers
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores.
        """
        return self._by_part(X, lambda part, rows: part.decision_function(rows))

    def _by_part(self, X, answer):
        chosen = self.choice(X)
        places = [np.flatnonzero(chosen == number) for number in np.unique(chosen)]
        answers = [
            answer(self.parts[number], safe_indexing(X, rows))
            for number, rows in zip(np.unique(chosen), places, strict=True)
        ]
        return np.concatenate(answers)[np.argsort(np.concatenate(places))]


def aligned(model, X, classes):
    """Return probabilities with one column per class, 0 for a class that the model never saw.

    Parameters
    ----------
    model : classifier
        Fitted.
    X : array-like
        Rows.
    classes : ndarray of shape (n_classes,)
        All labels, sorted.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        Probabilities.
    """
    known = model.predict_proba(X)
    if len(model.classes_) == len(classes):
        return known
    probabilities = np.zeros((len(known), len(classes)))
    probabilities[:, np.searchsorted(classes, model.classes_)] = known
    return probabilities
