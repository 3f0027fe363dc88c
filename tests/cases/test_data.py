"""What users pass as X and y: dtypes, containers, column names, columns without numbers."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skbound import BoundedClassifier, TransformerClassifier

X, Y = make_classification(400, 8, n_informative=5, random_state=0)
# Whole numbers from -31 to 31: the same in every dtype.
WHOLE = np.clip(np.round(4 * X), -31, 31)
NAMES = [f"feature_{i}" for i in range(8)]
FRAME = pd.DataFrame(X, columns=NAMES)


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
    """A fit on a float64 array in C order."""
    return small().fit(WHOLE, Y)


@pytest.fixture(scope="module")
def on_frame():
    return small().fit(FRAME, Y)


def test_D1_float64_arrays():
    """A data set as scikit-learn loads it, in float64, goes straight into cross-validation."""
    scores = cross_val_score(small(max_epochs=5), *load_iris(return_X_y=True), cv=3)
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize(
    "dtype",
    ["f2", "f4", "f8", "g", "i1", "i2", "i4", "i8", ">f4", ">f8", ">i4", "O"],
)
def test_D1_dtypes_of_arrays(dtype, plain):
    """The dtype of X neither raises nor changes a digit."""
    given = WHOLE.astype(dtype)
    model = small().fit(given, Y)
    assert np.array_equal(model.predict_proba(given), plain.predict_proba(WHOLE))
    assert model.generalization_bound_ == plain.generalization_bound_


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8", "bool"])
def test_D1_unsigned_and_boolean_arrays(dtype):
    given = (WHOLE > 0).astype(dtype)
    reference = small().fit(given.astype(float), Y).predict_proba(given.astype(float))
    assert np.array_equal(small().fit(given, Y).predict_proba(given), reference)


def _read_only(X, folder):
    X = X.copy()
    X.flags.writeable = False
    return X


def _memmap(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


def _strided(X, folder):
    wide = np.zeros((2 * len(X), 3 * X.shape[1]))
    wide[::2, 1::3] = X
    return wide[::2, 1::3]


def _named(X):
    return pd.DataFrame(X, columns=NAMES)


CONTAINERS = {
    "list": lambda X, _: X.tolist(),
    "tuple": lambda X, _: tuple(map(tuple, X.tolist())),
    "list_of_arrays": lambda X, _: list(X),
    "list_of_tensors": lambda X, _: list(torch.tensor(X)),
    "fortran": lambda X, _: np.asfortranarray(X),
    "strided": _strided,
    "reversed_memory": lambda X, _: X[::-1, ::-1].copy()[::-1, ::-1],
    "read_only": _read_only,
    "memmap": _memmap,
    "tensor": lambda X, _: torch.tensor(X),
    "tensor_float32": lambda X, _: torch.tensor(X).float(),
    "tensor_float16": lambda X, _: torch.tensor(X).half(),
    "tensor_bfloat16": lambda X, _: torch.tensor(X).bfloat16(),
    "tensor_int64": lambda X, _: torch.tensor(X).long(),
    "tensor_with_grad": lambda X, _: torch.tensor(X, requires_grad=True),
    "tensor_transposed": lambda X, _: torch.tensor(X.T.copy()).T,
    "parameter": lambda X, _: torch.nn.Parameter(torch.tensor(X)),
    "pandas": lambda X, _: pd.DataFrame(X),
    "pandas_named": lambda X, _: _named(X),
    "pandas_int": lambda X, _: _named(X).astype("int32"),
    "pandas_float16": lambda X, _: _named(X).astype("float16"),
    "pandas_mixed": lambda X, _: _named(X).astype({"feature_0": "int8", "feature_1": "float32"}),
    "pandas_nullable": lambda X, _: _named(X).astype("Int64"),
    "pandas_pyarrow": lambda X, _: _named(X).convert_dtypes(dtype_backend="pyarrow"),
    "pandas_object": lambda X, _: _named(X).astype(object),
    "pandas_index": lambda X, _: _named(X).set_axis(["same"] * len(X)),
    "pyarrow": lambda X, _: pa.Table.from_pandas(_named(X)),
    "polars": lambda X, _: pl.DataFrame(X, schema=NAMES),
    "polars_int": lambda X, _: pl.DataFrame(X.astype("int16"), schema=NAMES),
    "polars_float32": lambda X, _: pl.DataFrame(X.astype("float32"), schema=NAMES),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_D1_containers(container, plain, tmp_path):
    """A container of the same numbers gives the same model, and is left as it was."""
    given = CONTAINERS[container](WHOLE, tmp_path)
    model = small().fit(given, Y)
    assert np.array_equal(model.predict_proba(given), plain.predict_proba(WHOLE))
    assert model.generalization_bound_ == plain.generalization_bound_


SEQUENCES = {
    "float32": lambda X: X.astype("float32"),
    "uint8": lambda X: X.astype("uint8"),
    "fortran": np.asfortranarray,
    "swapped": lambda X: X.swapaxes(1, 2).copy().swapaxes(1, 2),
    "list": lambda X: X.tolist(),
    "list_of_arrays": list,
    "tensor": torch.tensor,
    "tensor_bfloat16": lambda X: torch.tensor(X).bfloat16(),
}


@pytest.mark.parametrize("container", SEQUENCES)
def test_D1_sequences(container):
    digits, labels = load_digits(return_X_y=True)
    images, labels = digits[:150].reshape(-1, 8, 8), labels[:150]
    given = SEQUENCES[container](images)
    reference = small().fit(images, labels).predict_proba(images)
    assert np.array_equal(small().fit(given, labels).predict_proba(given), reference)


@pytest.mark.parametrize("x_type", ["int32", "float16", "float32"])
@pytest.mark.parametrize("y_type", ["float64", "float32", "float16", "int8", "uint64", "bool"])
def test_D2_mixed_dtypes_of_x_and_y(x_type, y_type, plain):
    """Whole numbers as labels are labels, whatever dtype holds them next to whatever X."""
    labels = Y.astype(y_type)
    model = small().fit(WHOLE.astype(x_type), labels)
    predicted = model.predict(WHOLE.astype(x_type))
    assert predicted.dtype == labels.dtype
    assert np.array_equal(predicted.astype(int), plain.predict(WHOLE))


@pytest.mark.parametrize(
    "labels",
    [
        np.linspace(0.0, 1.0, 400),
        np.where(Y > 0, np.nan, 1.0),
        np.where(Y > 0, np.inf, 1.0),
        np.column_stack([Y, Y]),
        np.array([1, "a"] * 200, dtype=object),
        np.array(["a", 1] * 200, dtype=object),
        np.array(["a", None] * 200, dtype=object),
    ],
    ids=["continuous", "nan", "inf", "two_columns", "number_string", "string_number", "none"],
)
def test_D2_unusable_labels_are_named(labels):
    with pytest.raises((ValueError, TypeError), match=r"\by\b|[Ll]abel|target"):
        small().fit(X, labels)


def test_D3_data_frames_keep_their_names(on_frame):
    """Column names are names, not keyword arguments of the net."""
    assert list(on_frame.feature_names_in_) == NAMES
    assert np.array_equal(on_frame.predict(FRAME), small().fit(X, Y).predict(X))
    with pytest.raises(ValueError, match="same order"):
        on_frame.predict(FRAME[NAMES[::-1]])
    with pytest.raises(ValueError, match=r"(?s)unseen.*other"):
        on_frame.predict(FRAME.rename(columns={"feature_3": "other"}))


@pytest.mark.parametrize("names", [["X"], ["y"], ["self"], ["input"], ["forward"], ["a b"], [""]])
def test_D3_any_column_name_is_fine(names):
    frame = FRAME.rename(columns={"feature_0": names[0]})
    assert small().fit(frame, Y).feature_names_in_[0] == names[0]


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["a"] * 8, "'a'"),
        ([0] * 8, "'0'"),
        ([*"abcdefa", "h"], "'a'"),
        ([1, "1", *"abcdef"], "'1'"),
        (pd.MultiIndex.from_tuples([("a", "b")] * 8), "'a', 'b'"),
    ],
    ids=["all", "numbers", "two", "number_and_string", "levels"],
)
@pytest.mark.parametrize("wrap", [lambda m: m, BoundedClassifier], ids=["bare", "bounded"])
def test_D3_repeated_names_are_refused(names, shown, wrap, on_frame):
    frame = FRAME.set_axis(names, axis=1)
    message = f"(?s)distinct.*{shown}|unique.*{shown}|convert them all to strings"
    with pytest.raises((ValueError, TypeError), match=message):
        wrap(small()).fit(frame, Y)
    with pytest.raises(ValueError, match=f"distinct.*{shown}"):
        on_frame.predict(frame)


LETTERS = np.resize(["a", "b", "c"], 400)
COLUMNS = {
    "category": pd.Categorical(LETTERS),
    "category_of_numbers": pd.Categorical(np.resize([3, 1, 2], 400)),
    "string": LETTERS,
    "object": LETTERS.astype(object),
    "object_mixed": np.array([1, "a"] * 200, dtype=object),
    "object_late": np.array([1.0] * 399 + ["?"], dtype=object),
    "object_lists": [[1, 2]] * 400,
    "arrow_string": pd.Series(LETTERS).astype("string[pyarrow]"),
    "date": pd.date_range("2020-01-01", periods=400),
    "duration": pd.to_timedelta(np.arange(400), unit="s"),
    "period": pd.period_range("2020-01-01", periods=400),
    "interval": pd.interval_range(0, 400),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_D4_category_columns(kind, on_frame):
    """A column without numbers is named, and the message says how to encode it."""
    frame = FRAME.assign(colour=COLUMNS[kind])
    with pytest.raises(ValueError, match=r"(?s)colour.*(Encode|OneHotEncoder)") as caught:
        small().fit(frame, Y)
    assert "feature_1" not in str(caught.value)


@pytest.mark.parametrize(
    "column",
    [
        pl.Series(LETTERS.tolist()),
        pl.Series(LETTERS.tolist()).cast(pl.Categorical),
        pl.Series(LETTERS.tolist()).cast(pl.Enum(["a", "b", "c"])),
        pl.Series(pd.date_range("2020-01-01", periods=400)),
        pl.Series([[1, 2]] * 400),
    ],
    ids=["string", "category", "enum", "date", "list"],
)
def test_D4_category_columns_of_polars(column):
    frame = pl.DataFrame(X, schema=NAMES).with_columns(column.alias("colour"))
    with pytest.raises(ValueError, match=r"(?s)colour.*(Encode|OneHotEncoder)"):
        small().fit(frame, Y)


@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
@pytest.mark.parametrize("make", [FRAME.assign, pl.DataFrame(X, schema=NAMES).with_columns])
def test_D4_the_remedy_works(output, make):
    frame = make(colour=LETTERS if make == FRAME.assign else pl.Series(LETTERS.tolist()))
    encode = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["colour"]),
        (StandardScaler(), NAMES),
        verbose_feature_names_out=False,
    ).set_output(transform=output)
    model = make_pipeline(encode, small()).fit(frame, Y)
    assert model.predict(frame).shape == (400,)
    if output != "default":
        assert list(model[-1].feature_names_in_[:3]) == ["colour_a", "colour_b", "colour_c"]


@pytest.mark.parametrize("all_columns", [True, False])
def test_D4_sparse_columns(all_columns):
    """Sparse columns hold numbers: they are used, or the message says to make them dense."""
    kinds = dict.fromkeys(NAMES if all_columns else NAMES[:2], pd.SparseDtype(float))
    frame = FRAME.astype(kinds)
    try:
        model = small().fit(frame, Y)
    except (ValueError, TypeError) as error:
        assert "dense" in str(error) or "toarray" in str(error)  # noqa: PT017
    else:
        assert np.array_equal(model.predict(frame), small().fit(X, Y).predict(X))


@pytest.mark.filterwarnings("ignore::polars.exceptions.PerformanceWarning")
def test_D4_lazy_frames():
    """A query that was not run yet has no rows; the message says how to run it."""
    with pytest.raises((ValueError, TypeError), match="collect"):
        small().fit(pl.DataFrame(X, schema=NAMES).lazy(), Y)
