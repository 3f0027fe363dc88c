"""Each way to break a certificate is noticed by a check of ``tests/honesty.py``."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from skbound import TransformerClassifier
from skbound.classifiers._transformer_learner import TransformerLearner
from skbound.protocols import Holdout
from skbound.tokenizers import TableTokenizer
from tests.honesty import (
    check_certificate_is_about_predict,
    check_split_ignores_labels,
    check_training_ignores_certified_rows,
    many_classes,
)

MODEL = TransformerClassifier(
    protocol="holdout", depth=1, width=8, n_heads=2, max_epochs=6, early_stopping=True
)


class Stratified(Holdout):
    """Mutant: certified rows with the class counts of all rows."""

    def run(self, learner, seed):
        self._codes = learner.codes
        return super().run(learner, seed)

    def split(self, n_samples, seed):
        fit_rows, rows = train_test_split(
            np.arange(n_samples), test_size=0.25, stratify=self._codes, random_state=seed
        )
        return np.sort(fit_rows), np.sort(rows)


class Refitted(Holdout):
    """Mutant: once certified, train again on everything."""

    def run(self, learner, seed):
        _, evidence = super().run(learner, seed)
        return learner.fit(np.arange(learner.n_samples)), evidence


class Ordered(Holdout):
    """Mutant: certified rows chosen by their labels."""

    def run(self, learner, seed):
        self._codes = learner.codes
        return super().run(learner, seed)

    def split(self, n_samples, seed):
        order = np.argsort(self._codes, kind="stable")
        return np.sort(order[60:]), np.sort(order[:60])


@pytest.mark.parametrize("mutant", [Stratified(), Ordered()], ids=lambda m: type(m).__name__)
def test_certified_rows_that_depend_on_labels(mutant):
    model = clone(MODEL).set_params(protocol=mutant)
    X, y = many_classes()
    with pytest.raises(AssertionError):
        check_split_ignores_labels(model, X, y)


def test_training_again_after_certifying():
    model = clone(MODEL).set_params(protocol=Refitted())
    with pytest.raises(AssertionError):
        check_training_ignores_certified_rows(model, *many_classes())
    with pytest.raises(AssertionError):
        check_certificate_is_about_predict(model, *many_classes())


def test_early_stopping_that_peeks(monkeypatch):
    def peek(self, rows):
        return rows, np.setdiff1d(np.arange(self.n_samples), rows)

    model = clone(MODEL).set_params(n_iter_no_change=1, max_epochs=30, lr=0.02)
    check_training_ignores_certified_rows(model, *many_classes())
    monkeypatch.setattr(TransformerLearner, "_set_aside", peek)
    with pytest.raises(AssertionError):
        check_training_ignores_certified_rows(model, *many_classes())


def test_scaling_fitted_on_all_rows(monkeypatch):
    X, y = many_classes()
    seen = []
    fit = TableTokenizer.fit

    def fit_on_all(self, X_part, y=None, sample_weight=None):
        return fit(self, seen[-1])

    init = TransformerLearner.__init__

    def remember(self, params, tokenizer, X, *rest):
        seen.append(X)
        init(self, params, tokenizer, X, *rest)

    monkeypatch.setattr(TransformerLearner, "__init__", remember)
    monkeypatch.setattr(TableTokenizer, "fit", fit_on_all)
    with pytest.raises(AssertionError):
        check_training_ignores_certified_rows(MODEL, X, y)


def test_class_weights_counted_on_all_rows(monkeypatch):
    model = clone(MODEL).set_params(class_weight="balanced")

    def weights(self, rows):
        weights = 1.0 / np.bincount(self.codes)[self.codes[rows]]
        return weights / weights.mean()

    check_training_ignores_certified_rows(model, *many_classes())
    monkeypatch.setattr(TransformerLearner, "_weights", weights)
    with pytest.raises(AssertionError):
        check_training_ignores_certified_rows(model, *many_classes())
