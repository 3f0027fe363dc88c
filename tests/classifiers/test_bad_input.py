"""One clear error, before any training and before any change of state."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVR
from skorch.callbacks import EarlyStopping

from skbound import BoundedClassifier, BoundSearch, TransformerClassifier
from skbound._training import _weighted_net
from skbound.bounds import KLBound
from skbound.protocols import Holdout
from skbound.tokenizers import (
    PatchTokenizer,
    SequenceTokenizer,
    TableTokenizer,
    TokenTokenizer,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
Y = (X[:, 0] > 0).astype(int)
SEQUENCES = X.reshape(60, 2, 4)
TINY = TransformerClassifier(
    protocol="holdout", depth=1, width=8, n_heads=2, max_epochs=1, random_state=0
)


@pytest.fixture
def no_training(monkeypatch):
    """Fail if training starts."""

    def refuse(*args, **kwargs):
        raise AssertionError("training was started")

    monkeypatch.setattr(_weighted_net.WeightedNet, "fit", refuse)


def _with(array, where, value):
    array = np.array(array, dtype=float)
    array[where] = value
    return array


BAD_DATA = {
    "NaN": (_with(X, (5, 0), np.nan), Y, "Input X contains NaN"),
    "infinity": (_with(X, (5, 0), np.inf), Y, "Input X contains infinity"),
    "NaN in a sequence": (_with(SEQUENCES, (3, 1, 0), np.nan), Y[:60], "Input X contains NaN"),
    "no rows": (X[:0], Y[:0], r"0 sample\(s\)"),
    "no columns": (X[:, :0], Y, r"0 feature\(s\)"),
    "no tokens": (np.zeros((120, 0, 3)), Y, "at least one token"),
    "no token features": (np.zeros((120, 3, 0)), Y, "at least one token"),
    "one row": (X[:1], Y[:1], "1 sample"),
    "one dimension": (X[:, 0], Y, "Reshape your data"),
    "four dimensions": (X.reshape(30, 2, 2, 4), Y[:30], "three dimensions"),
    "other length of y": (X, Y[:-1], "inconsistent numbers of samples"),
    "no y": (X, None, "requires y to be passed"),
    "continuous y": (X, X[:, 0], "Unknown label type"),
    "NaN in y": (X, _with(Y, 3, np.nan), "y contains NaN"),
    "None in y": (X, np.array([None, *Y[1:].tolist()], dtype=object), "y contains NaN or None"),
    "several outputs": (X, np.column_stack([Y, Y]), "y should be a 1d array"),
    "times": (np.full((120, 2), np.datetime64("2020-01-01")), Y, "days since another"),
    "rows of unequal length": ([[1.0] * (1 + i % 3) for i in range(120)], Y, "padding_id=0"),
    "images with channels": (X.reshape(30, 2, 2, 4), Y[:30], "image_shape="),
    "text": (np.full((120, 2), "a"), Y, "could not convert string to float|dtype='numeric'"),
}


@pytest.mark.parametrize(("X_bad", "y_bad", "message"), BAD_DATA.values(), ids=BAD_DATA)
@pytest.mark.usefixtures("no_training")
def test_bad_data(X_bad, y_bad, message):
    model = clone(TINY)
    with pytest.raises(ValueError, match=message):
        model.fit(X_bad, y_bad)
    assert not [name for name in vars(model) if name.endswith("_")]


BAD_PARAMETERS = {
    "width % n_heads": ({"width": 10, "n_heads": 4}, "width must be a multiple of n_heads"),
    "depth": ({"depth": 0}, "'depth' parameter"),
    "dropout": ({"dropout": 1.0}, "'dropout' parameter"),
    "pooling": ({"pooling": "max"}, "'pooling' parameter.*cls"),
    "optimizer": ({"optimizer": "lion"}, "'optimizer' parameter.*adamw"),
    "tokenizer": ({"tokenizer": "words"}, "tokenizer must be"),
    "tokenizer of other data": ({"tokenizer": "sequence"}, "takes 3-dimensional data"),
    "protocol": ({"protocol": "hold-out"}, "protocol must be one of .*'holdout'"),
    "bound": ({"bound": "chernoff"}, "bound must be one of.*binomial"),
    "bound of another protocol": (
        {"bound": "progressive"},
        "needs protocol=Progressive.*but protocol='holdout' is used",
    ),
    "bound on another loss": ({"bound": KLBound("brier")}, "about the error of predict"),
    "delta 0": ({"delta": 0.0}, "'delta' parameter"),
    "delta 1": ({"delta": 1.0}, "'delta' parameter"),
    "fraction": ({"protocol": Holdout(1.5)}, r"fraction must be 'auto' or in \(0, 1\)"),
    "fraction of nothing": ({"protocol": Holdout(0.001)}, "at least one row"),
    "device": ({"device": "abacus"}, "device='abacus' cannot be used"),
    "dtype": ({"dtype": "float16"}, "'dtype' parameter"),
    "class_weight": ({"class_weight": {7: 1.0}}, "7|classes"),
    "max_epochs": ({"max_epochs": 0}, "'max_epochs' parameter"),
    "batch_size": ({"batch_size": "big"}, "'batch_size' parameter"),
}


@pytest.mark.parametrize(("params", "message"), BAD_PARAMETERS.values(), ids=BAD_PARAMETERS)
@pytest.mark.usefixtures("no_training")
def test_bad_parameters(params, message):
    model = clone(TINY).set_params(**params)
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_wrong_kinds_are_type_errors():
    with pytest.raises(TypeError, match="protocol must be"):
        clone(TINY).set_params(protocol=Holdout).fit(X, Y)
    for wrong in (print, EarlyStopping, "early_stopping"):
        with pytest.raises(TypeError, match="instances of skorch"):
            clone(TINY).set_params(callbacks=[wrong]).fit(X, Y)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-np.ones(120), "Negative values"),
        (np.zeros(120), "(?i)zero"),
        (np.full(120, np.nan), "sample_weight contains NaN"),
        (np.ones(119), "sample_weight.shape"),
        (np.ones((120, 2)), "1D array"),
    ],
)
@pytest.mark.parametrize("model", [TINY, BoundedClassifier(LogisticRegression())], ids=str)
def test_bad_weights(model, weights, message):
    with pytest.raises(ValueError, match=message):
        clone(model).fit(X, Y, sample_weight=weights)


def test_a_failing_fit_leaves_a_fitted_model_as_it_was():
    model = clone(TINY).fit(X, Y)
    before, proba = dict(vars(model)), model.predict_proba(X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(_with(X[:, :3], (0, 0), np.nan), Y)
    with pytest.raises(ValueError, match="loss became"):
        model.set_params(lr=1e30, gradient_clip=None, max_epochs=3).fit(X[:, :3], Y)
    model.set_params(**TINY.get_params())
    assert vars(model) == before
    assert np.array_equal(model.predict_proba(X), proba)


def test_no_certificate_from_a_loss_that_is_not_a_number():
    model = clone(TINY).set_params(lr=1e30, gradient_clip=None, max_epochs=1)
    with pytest.raises(ValueError, match=r"loss became|not finite"):
        model.fit(X, Y)
    assert not hasattr(model, "certificate_")


def test_predict_refuses_other_shapes():
    model = clone(TINY).fit(X, Y)
    with pytest.raises(ValueError, match="3 features, but TransformerClassifier is expecting 4"):
        model.predict(X[:, :3])
    with pytest.raises(ValueError, match="expecting"):
        model.predict(SEQUENCES)
    model = clone(TINY).set_params(protocol=None).fit(SEQUENCES, Y[:60])
    with pytest.raises(ValueError, match="as in fit"):
        model.predict(SEQUENCES[:, :1])
    with pytest.raises(ValueError, match="three dimensions"):
        model.predict(X)
    with pytest.raises(ValueError, match="NaN"):
        model.predict(_with(SEQUENCES, (0, 0, 0), np.nan))


def test_a_wrapped_estimator_must_be_a_classifier():
    with pytest.raises(ValueError, match="must be a classifier"):
        BoundedClassifier(SVR()).fit(X, Y)


def test_nan_is_refused_before_a_black_box_is_trained():
    with pytest.raises(ValueError, match="NaN"):
        BoundedClassifier(LogisticRegression()).fit(_with(X, (0, 0), np.nan), Y)


class Failing(LogisticRegression):
    """Fails in fit."""

    def fit(self, X, y):
        raise RuntimeError("no luck")


def test_a_search_whose_candidates_all_fail():
    search = BoundSearch(BoundedClassifier(Failing()), {"estimator__C": [1, 2]}, choose_by="bound")
    with pytest.raises(ValueError, match=r"All 2 candidates failed\. The first: no luck"):
        search.fit(X, Y)
    assert not hasattr(search, "best_estimator_")


@pytest.mark.parametrize(
    ("search", "message"),
    [
        (
            BoundSearch(TINY, {"dept": [1]}, choose_by="bound"),
            "(?s)Invalid parameter 'dept'.*Valid parameters",
        ),
        (BoundSearch(TINY, {"delta": [0.1, 0.2]}, choose_by="bound"), "must not hold delta"),
        (BoundSearch(TINY, {"depth": []}, choose_by="bound"), "(?i)non-empty|empty"),
        (BoundSearch(TINY, [], choose_by="bound"), "empty grid"),
        (BoundSearch(TINY, {"depth": [1]}, choose_by="bound", delta=2.0), "'delta' parameter"),
        (BoundSearch(TINY, {"protocol": [None]}, choose_by="bound"), "certifies nothing"),
        (
            BoundSearch(LogisticRegression(), {"C": [1]}, choose_by="bound"),
            "carries no certificate",
        ),
    ],
)
@pytest.mark.usefixtures("no_training")
def test_a_search_that_makes_no_sense(search, message):
    with pytest.raises(ValueError, match=message):
        search.fit(X, Y)


@pytest.mark.parametrize(
    "tokenizer",
    [
        TokenTokenizer(padding_id="x"),
        TokenTokenizer(padding_id=1.5),
        PatchTokenizer(patch_size=0),
        PatchTokenizer(image_shape=4),
        SequenceTokenizer(padding_value="x"),
        TableTokenizer(limit=0.0),
    ],
    ids=repr,
)
def test_parameters_of_a_tokenizer_are_checked(tokenizer, no_training):
    clf = clone(TINY).set_params(tokenizer=tokenizer)
    X_own = SEQUENCES if isinstance(tokenizer, SequenceTokenizer) else np.round(X)
    with pytest.raises(ValueError, match=f"parameter of {type(tokenizer).__name__} must be"):
        clf.fit(X_own, Y[: len(X_own)])
