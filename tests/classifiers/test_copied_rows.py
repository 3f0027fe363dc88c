"""Rows that were copied before fit are on both sides of the split; the certificate says so."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from skbound import BoundedClassifier, TransformerClassifier

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(120, 3)), RNG.integers(0, 2, 120)
AGAIN = RNG.integers(0, 120, 240)
NET = TransformerClassifier(depth=1, width=8, max_epochs=1, random_state=0)
MODELS = {"net": NET, "any": BoundedClassifier(DummyClassifier(), random_state=0)}
FORMS = {
    "array": np.asarray,
    "float32": lambda X: X.astype(np.float32),
    "objects": lambda X: X.astype(object),
    "frame": pd.DataFrame,
    "polars": pl.DataFrame,
}


def said(model, rows, labels, weights=None):
    certificate = model.fit(rows, labels, weights).certificate_
    return [sentence for sentence in certificate.assumptions if "equal an earlier row" in sentence]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("form", FORMS)
def test_copies_are_counted_in_every_form(model, form):
    n_copies = 240 - len(set(AGAIN))
    (sentence,) = said(MODELS[model], FORMS[form](X[AGAIN]), Y[AGAIN])
    assert sentence.startswith(f"{n_copies} of 240 rows")
    assert said(MODELS[model], FORMS[form](X), Y) == []


def test_a_bound_on_copied_rows_is_what_the_sentence_warns_of():
    # Labels by coin flips: the true error of any tree is a half.
    model = BoundedClassifier(DecisionTreeClassifier(), random_state=0)
    assert said(model, X[np.tile(np.arange(120), 5)], np.tile(Y, 5))
    assert model.generalization_bound_ < 0.1


def test_equal_rows_with_other_labels_or_without_weight_are_no_copies():
    twice = np.r_[X, X]
    assert said(NET, twice, np.r_[Y, 1 - Y]) == []
    if_absent = np.r_[np.ones(120), np.zeros(120)]
    assert said(NET, twice, np.r_[Y, Y], if_absent) == []
    assert said(NET, np.r_[X, X[:3]], np.r_[Y, Y[:3]]) == []
    assert len(said(NET, np.r_[X, X[:4]], np.r_[Y, Y[:4]])) == 1


def test_rows_of_objects_that_have_no_hash_are_left_to_the_classifier():
    rows = np.empty((120, 1), dtype=object)
    rows[:, 0] = [{"length": i % 7} for i in range(120)]
    model = make_pipeline(
        FunctionTransformer(dict_column), DictVectorizer(sparse=False), DecisionTreeClassifier()
    )
    labels = np.arange(120) % 7 > 3
    fitted = BoundedClassifier(model, random_state=0).fit(rows, labels)
    assert fitted.generalization_bound_ < 0.2


def dict_column(rows):
    return list(rows[:, 0])
