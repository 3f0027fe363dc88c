"""Missing and extreme values, and torch data sets."""

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from torch.utils.data import (
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    random_split,
)

from skbound import BoundedClassifier, BoundSearch, TransformerClassifier

X, Y = make_classification(400, 8, n_informative=5, random_state=0)
NAMES = [f"feature_{i}" for i in range(8)]


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


MODELS = {
    "transformer": small(),
    "bounded": BoundedClassifier(LogisticRegression(), random_state=0),
    "search": BoundSearch(small(), {"lr": [1e-3]}, choose_by="bound", random_state=0),
}
HOLES = {
    "nan": (np.nan, "NaN"),
    "inf": (np.inf, "infinity"),
    "minus_inf": (-np.inf, "infinity"),
}
CONTAINERS = {
    "array": np.asarray,
    "float32": lambda X: X.astype("float32"),
    "float16": lambda X: X.astype("float16"),
    "object": lambda X: X.astype(object),
    "list": lambda X: X.tolist(),
    "tensor": torch.tensor,
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
}
METHODS = ["predict", "predict_proba", "decision_function"]


@cache
def fitted(kind):
    return clone(MODELS[kind]).fit(X, Y)


@cache
def fitted_to_names():
    return small().fit(pd.DataFrame(X, columns=NAMES), Y)


@cache
def fitted_to_scale(scale):
    return small(max_epochs=1).fit(X * scale, Y)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("hole", HOLES)
def test_D8_the_same_policy_in_fit_and_predict(model, hole):
    """A missing number is refused by every method alike, in words about X."""
    value, word = HOLES[hole]
    broken = X.copy()
    broken[5, 0] = value
    with pytest.raises(ValueError, match=rf"X contains {word}") as in_fit:
        MODELS[model].fit(broken, Y)
    for method in METHODS:
        with pytest.raises(ValueError, match=rf"X contains {word}") as in_predict:
            getattr(fitted(model), method)(broken)
        assert "tensor" not in str(in_predict.value)
    assert "tensor" not in str(in_fit.value)
    with pytest.raises(ValueError, match=rf"X contains {word}"):
        fitted(model).score(broken, Y)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("hole", HOLES)
def test_D8_in_every_container(container, hole):
    value, word = HOLES[hole]
    convert = CONTAINERS[container]
    broken = X.copy()
    broken[5, 0] = value
    fitted = small().fit(convert(X), Y)
    for refused in (
        lambda: small().fit(convert(broken), Y),
        lambda: fitted.predict(convert(broken)),
    ):
        with pytest.raises(ValueError, match=rf"X contains ({word}|NaN)"):
            refused()


@pytest.mark.parametrize("backend", ["Float64", "double[pyarrow]", "object"])
def test_D8_missing_values_of_pandas(backend):
    broken = pd.DataFrame(X, columns=NAMES).astype(backend)
    broken.loc[5, "feature_0"] = None if backend == "object" else pd.NA
    with pytest.raises(ValueError, match="X contains NaN"):
        small().fit(broken, Y)
    with pytest.raises(ValueError, match="X contains NaN"):
        fitted_to_names().predict(broken)


def test_D8_missing_values_in_sequences():
    sequences = X.reshape(400, 4, 2)
    broken = sequences.copy()
    broken[5, 0, 1] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        small().fit(broken, Y)
    with pytest.raises(ValueError, match="X contains NaN"):
        small().fit(sequences, Y).predict(broken)


SCALES = {
    "large_and_small": [1e12, 1e-12, 1, 1, 1, 1, 1, 1],
    "all_large": 1e30,
    "all_small": 1e-30,
    "near_overflow": 1e300,
    "near_underflow": 1e-300,
    "squares_overflow": [1e160, 1, -1e160, 1, 1e200, 1, 1, 1],
    "negative": [-1, 1, -1e9, 1, 1, 1, 1, 1],
}


@pytest.mark.parametrize("scale", SCALES)
def test_D10_columns_of_any_scale(scale):
    """Units of the columns make no probability NaN, and hardly change a prediction."""
    scaled = X * np.asarray(SCALES[scale])
    model = small().fit(scaled, Y)
    probabilities = model.predict_proba(scaled)
    assert np.isfinite(probabilities).all()
    assert np.isfinite(model.generalization_bound_)
    if np.all(np.asarray(SCALES[scale]) > 0):
        assert np.allclose(probabilities, small().fit(X, Y).predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("scale", [1e-38, 1e30, 1e37])
def test_D10_float32_columns_of_any_scale(scale):
    scaled = (X * scale).astype("float32")
    assert np.isfinite(small().fit(scaled, Y).predict_proba(scaled)).all()


COLUMNS = {
    "constant": np.full(400, 3.0),
    "zero": np.zeros(400),
    "large_constant": np.full(400, 1e300),
    "offset": 1e9 + np.arange(400) % 7,
    "one_outlier": np.where(np.arange(400) == 3, 1e308, X[:, 0]),
    "almost_constant": np.where(np.arange(400) == 3, 1e-300, 0.0),
    "wide_range": 1e305 * np.linspace(-1.0, 1.0, 400),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_D10_odd_columns(kind):
    given = np.column_stack([X, COLUMNS[kind]])
    model = small().fit(given, Y)
    assert np.isfinite(model.predict_proba(given)).all()
    assert np.isfinite(model.generalization_bound_)


@pytest.mark.parametrize("trained", [1.0, 1e-12, 1e-300])
@pytest.mark.parametrize("asked", [1e6, 1e30, 1e300, -1.7e308])
def test_D10_rows_far_from_the_trained_ones(trained, asked):
    probabilities = fitted_to_scale(trained).predict_proba(np.full((3, 8), asked))
    assert np.isfinite(probabilities).all()
    assert np.allclose(probabilities.sum(axis=1), 1.0)


@pytest.mark.parametrize(("dtype", "lr"), [("float32", 1e30), ("float64", 1e200)])
@pytest.mark.parametrize("early_stopping", [False, True])
def test_D10_a_diverging_fit_certifies_nothing(dtype, lr, early_stopping):
    model = small(
        lr=lr, gradient_clip=None, dtype=dtype, early_stopping=early_stopping, max_epochs=4
    )
    with pytest.raises(ValueError, match=r"loss became (nan|inf)"):
        model.fit(X, Y)
    assert not hasattr(model, "generalization_bound_")
    assert not hasattr(model, "certificate_")


class Pairs(Dataset):
    """A data set as users write it."""

    def __len__(self):
        return len(X)

    def __getitem__(self, i):
        return torch.tensor(X[i]), int(Y[i])


class Stream(IterableDataset):
    def __iter__(self):
        return iter(Pairs())


TENSORS = TensorDataset(torch.tensor(X).float(), torch.tensor(Y))
DATASETS = {
    "tensors": TENSORS,
    "own": Pairs(),
    "stream": Stream(),
    "subset": Subset(TENSORS, range(200)),
    "random_split": random_split(TENSORS, [0.5, 0.5])[0],
    "concatenated": ConcatDataset([TENSORS, TENSORS]),
    "loader": DataLoader(TENSORS, batch_size=10),
}


@pytest.mark.parametrize("kind", DATASETS)
@pytest.mark.parametrize("model", MODELS)
def test_D12_torch_data_sets(kind, model):
    """A torch data set in the place of X gets an answer that names the way out."""
    for labels in (None, Y):
        with pytest.raises(TypeError, match=r"X must be an array.*Pass its arrays"):
            MODELS[model].fit(DATASETS[kind], labels)
    with pytest.raises(TypeError, match=r"X must be an array.*Pass its arrays"):
        fitted(model).predict(DATASETS[kind])


@pytest.mark.parametrize("kind", ["tensors", "own"])
def test_D12_as_labels(kind):
    with pytest.raises(TypeError, match=r"y must be an array.*Pass its arrays"):
        small().fit(X, DATASETS[kind])


@pytest.mark.parametrize("kind", ["tensors", "own", "subset"])
def test_D12_inside_cross_validation(kind):
    """A splitter cuts the data set before fit sees it; that y is missing is said all the same."""
    search = GridSearchCV(small(), {"lr": [1e-3]}, cv=2, error_score="raise")
    with pytest.raises((TypeError, ValueError), match=r"Pass its arrays|\by\b"):
        search.fit(DATASETS[kind], None)


def test_D12_the_remedy_works():
    model = small().fit(*TENSORS.tensors)
    assert np.array_equal(model.predict(TENSORS.tensors[0]), model.predict(X.astype("float32")))
