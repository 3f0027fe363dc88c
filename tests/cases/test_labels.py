"""What users pass as y: types of labels, rare classes, a single class, calibration."""

import datetime
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from skbound import BoundedClassifier, BoundSearch, TransformerClassifier
from skbound.exceptions import SkboundWarning

X, Y = make_classification(400, 8, n_informative=5, random_state=0)
WORDS = np.where(Y > 0, "yes", "no")


def small(**params):
    return TransformerClassifier(
        **{
            "protocol": "holdout",
            "depth": 1,
            "width": 16,
            "max_epochs": 2,
            "random_state": 0,
            **params,
        },
    )


@pytest.fixture(scope="module")
def plain():
    return small().fit(X, Y)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
@pytest.mark.parametrize("protocol", ["holdout", None])
@pytest.mark.parametrize("labels", [Y, WORDS], ids=["numbers", "words"])
def test_L1_calibration(method, protocol, labels):
    """Calibration of two classes gets two columns and the classes."""
    model = CalibratedClassifierCV(small(protocol=protocol), method=method, cv=3).fit(X, labels)
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (400, 2)
    assert np.allclose(probabilities.sum(axis=1), 1.0)
    assert np.array_equal(model.classes_, np.unique(labels))


@pytest.mark.parametrize("kind", ["frozen", "ensemble_off", "three_classes", "around_bounded"])
def test_L1_other_ways_to_calibrate(kind):
    data = load_iris(return_X_y=True) if kind == "three_classes" else (X, Y)
    model = {
        "frozen": lambda: CalibratedClassifierCV(FrozenEstimator(small().fit(X, Y))),
        "ensemble_off": lambda: CalibratedClassifierCV(small(), ensemble=False, cv=3),
        "three_classes": lambda: CalibratedClassifierCV(small(), cv=3),
        "around_bounded": lambda: BoundedClassifier(
            CalibratedClassifierCV(small(protocol=None), cv=3), random_state=0
        ),
    }[kind]()
    n_classes = len(np.unique(data[1]))
    assert model.fit(*data).predict_proba(data[0]).shape == (len(data[0]), n_classes)


def test_L1_two_columns_one_score(plain):
    assert plain.predict_proba(X).shape == (400, 2)
    assert plain.decision_function(X).shape == (400,)
    assert np.array_equal(plain.decision_function(X) > 0, plain.predict(X) == 1)


# For each kind of label: what is passed, and the two labels that must come back.
LABELS = {
    "int8": (Y.astype("int8"), [0, 1]),
    "uint64": (Y.astype("uint64"), [0, 1]),
    "float32": (Y.astype("float32"), [0.0, 1.0]),
    "gaps": (Y * 2 + 3, [3, 5]),
    "negative": (Y * 2 - 1, [-1, 1]),
    "huge": (Y * 2**60 + 1, [1, 2**60 + 1]),
    "bool": (Y > 0, [False, True]),
    "words": (WORDS, ["no", "yes"]),
    "accents": (np.where(Y > 0, "ölig", "böse"), ["böse", "ölig"]),
    "list_of_words": (WORDS.tolist(), ["no", "yes"]),
    "list_of_bool": ((Y > 0).tolist(), [False, True]),
    "tuple": (tuple(Y.tolist()), [0, 1]),
    "object_words": (WORDS.astype(object), ["no", "yes"]),
    "dates": (
        np.where(Y > 0, np.datetime64("2021-01-01"), np.datetime64("2020-01-01")),
        [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)],
    ),
    "tensor": (torch.tensor(Y), [0, 1]),
    "tensor_bool": (torch.tensor(Y > 0), [False, True]),
    "series": (pd.Series(Y * 2 + 3, index=np.arange(400)[::-1]), [3, 5]),
    "series_words": (pd.Series(WORDS), ["no", "yes"]),
    "series_arrow": (pd.Series(WORDS).astype("string[pyarrow]"), ["no", "yes"]),
    "series_nullable_int": (pd.Series(Y * 2 + 3).astype("Int64"), [3, 5]),
    "series_nullable_bool": (pd.Series(Y > 0).astype("boolean"), [False, True]),
    "series_arrow_int": (pd.Series(Y * 2 + 3).astype("int64[pyarrow]"), [3, 5]),
    "category": (pd.Series(pd.Categorical(WORDS)), ["no", "yes"]),
    "category_ordered": (
        pd.Series(pd.Categorical(WORDS, ["yes", "no"], ordered=True)),
        ["no", "yes"],
    ),
    "category_unused": (pd.Series(pd.Categorical(WORDS, ["x", "yes", "no"])), ["no", "yes"]),
    "category_numbers": (pd.Series(pd.Categorical(Y * 2 + 3)), [3, 5]),
    "category_bool": (pd.Series(pd.Categorical(Y > 0)), [False, True]),
    "bare_category": (pd.Categorical(WORDS), ["no", "yes"]),
    "polars": (pl.Series(Y * 2 + 3), [3, 5]),
    "polars_words": (pl.Series(WORDS.tolist()), ["no", "yes"]),
    "polars_bool": (pl.Series((Y > 0).tolist()), [False, True]),
    "polars_category": (pl.Series(WORDS.tolist()).cast(pl.Categorical), ["no", "yes"]),
}
WRAPPERS = {
    "transformer": small(),
    "bounded": BoundedClassifier(DecisionTreeClassifier(max_depth=3), random_state=0),
}


@cache
def by_number(wrapper):
    return clone(WRAPPERS[wrapper]).fit(X, Y)


def _kinds(values):
    return [type(value) for value in np.asarray(values).tolist()]


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_L3_labels_come_back_as_they_were(kind, wrapper):
    """Labels of any type are accepted and predicted; codes stay inside."""
    given, expected = LABELS[kind]
    reference = by_number(wrapper)
    model = clone(WRAPPERS[wrapper]).fit(X, given)
    assert model.classes_.tolist() == expected
    assert _kinds(model.classes_) == [type(value) for value in expected]
    predicted = model.predict(X)
    assert predicted.dtype == model.classes_.dtype
    assert np.array_equal(predicted, model.classes_[reference.predict(X)])
    assert model.generalization_bound_ == reference.generalization_bound_
    assert model.score(X, np.asarray(given)) == reference.score(X, Y)


@pytest.mark.parametrize("kind", ["words", "bool", "object_words", "category", "gaps"])
def test_L3_in_a_search(kind):
    given, expected = LABELS[kind]
    search = BoundSearch(small(), {"lr": [1e-3]}, choose_by="bound", random_state=0).fit(X, given)
    assert search.classes_.tolist() == expected
    assert set(search.predict(X).tolist()) <= set(expected)


@pytest.mark.parametrize(
    "labels",
    [
        (Y * 2 + 3).astype(object),
        (Y > 0).astype(object),
        pd.Series(Y * 2 + 3, dtype=object),
        Y.astype(float).astype(object),
    ],
)
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_L3_numbers_in_an_object_array(wrapper, labels):
    """Scores of scikit-learn cannot compare such labels, so the fit says what to convert."""
    with pytest.raises(ValueError, match=r"Unknown label type: y is an object.*astype"):
        clone(WRAPPERS[wrapper]).fit(X, labels)


def test_L3_many_classes_sorted_by_label():
    flowers, codes = load_iris(return_X_y=True)
    names = np.array(["z", "a", "m"])[codes]
    model = small().fit(flowers, names)
    assert model.classes_.tolist() == ["a", "m", "z"]
    by_code = small().fit(flowers, np.array([2, 0, 1])[codes])
    assert np.array_equal(model.predict_proba(flowers), by_code.predict_proba(flowers))


ONE_LABEL = {"zero": 0, "seven": 7, "word": "only", "false": False}


@pytest.mark.parametrize("label", ONE_LABEL.values(), ids=ONE_LABEL)
@pytest.mark.parametrize(
    "params", [{}, {"early_stopping": True}, {"class_weight": "balanced"}, {"protocol": None}]
)
def test_L5_a_single_class(label, params):
    """One class only: predict it, with a bound that says how sure that is."""
    model = small(**params).fit(X, np.full(400, label))
    assert set(model.predict(X).tolist()) == {label}
    assert np.array_equal(model.predict_proba(X), np.ones((400, 1)))
    assert model.classes_.tolist() == [label]
    bound = model.generalization_bound_
    assert bound == 1.0 if params == {"protocol": None} else 0.0 < bound < 0.05


@pytest.mark.parametrize("n_samples", [2, 10, 50])
def test_L5_a_single_class_in_few_rows(n_samples):
    with pytest.warns(SkboundWarning, match="too few"):
        model = small().fit(X[:n_samples], np.zeros(n_samples, dtype=int))
    assert set(model.predict(X)) == {0}
    assert model.generalization_bound_ == 1.0
    assert "too few" in model.certificate_.reason


def test_L5_a_single_class_in_a_search():
    search = BoundSearch(small(), {"depth": [1, 2]}, choose_by="bound", random_state=0).fit(
        X, np.zeros(400)
    )
    assert set(search.predict(X)) == {0.0}
    assert 0.0 < search.generalization_bound_ < 0.1


@pytest.mark.parametrize("seed", range(5))
def test_L5_a_class_that_only_the_certified_rows_hold(seed):
    """Whether a class is trained on is chance; the bound counts its rows either way."""
    labels = np.zeros(120, dtype=int)
    labels[:2] = 1
    model = small(random_state=seed).fit(X[:120], labels)
    assert model.classes_.tolist() == [0, 1]
    assert model.predict_proba(X).shape == (400, 2)
    rows = model.evidence_.certified.rows
    errors = (model.predict(X[:120]) != labels)[rows]
    assert np.array_equal(model.evidence_.certified.zero_one, errors)


@pytest.mark.parametrize("place", range(0, 400, 80))
@pytest.mark.parametrize("params", [{}, {"class_weight": "balanced"}])
def test_L6_a_class_with_one_member(place, params):
    """A class of one row does not stop a fit that sets rows aside to decide when to stop."""
    labels = np.where(Y > 0, "yes", "no").astype(object)
    labels[place] = "once"
    model = small(early_stopping=True, **params).fit(X, labels)
    assert model.classes_.tolist() == ["no", "once", "yes"]
    assert model.predict_proba(X).shape == (400, 3)
    assert np.isfinite(model.predict_proba(X)).all()
    assert model.n_samples_validation_ > 0


@pytest.mark.parametrize("fraction", [0.01, 0.5, 0.9])
def test_L6_many_classes_with_one_member(fraction):
    model = small(early_stopping=True, validation_fraction=fraction, max_epochs=1)
    model.fit(X[:120], np.minimum(np.arange(120), 50))
    assert len(model.classes_) == 51
    assert np.isfinite(model.predict_proba(X)).all()


def test_L6_a_class_with_one_member_in_any_classifier():
    labels = Y.copy()
    labels[0] = 7
    for seed in range(4):
        model = BoundedClassifier(LogisticRegression(), random_state=seed).fit(X, labels)
        assert model.predict_proba(X).shape == (400, 3)
