"""What users hand to fit and predict, brought to arrays, with errors that name the way out."""

from __future__ import annotations

import numbers

import narwhals as nw
import numpy as np
from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, has_fit_parameter

from skbound._sklearn_compat import num_samples

__all__ = [
    "check_columns",
    "check_labels",
    "check_numbers",
    "check_weights",
    "from_torch",
    "weight_keyword",
]


def from_torch(values, name):
    """Bring a torch tensor to numpy; refuse a torch data set, and an array with hidden entries.

    Parameters
    ----------
    values : object
        X or y as the user gave it.
    name : str
        "X" or "y", for the message.

    Returns
    -------
    object
        An array for a tensor, else `values`.

    Raises
    ------
    TypeError
        For a torch Dataset or DataLoader.
    ValueError
        For a masked array: what its mask hides would be used.
    """
    if isinstance(values, np.ma.MaskedArray):
        n_hidden = int(np.ma.getmaskarray(values).sum())
        if n_hidden:
            raise ValueError(
                f"{name} must not hide entries, got a masked array that hides {n_hidden}. Leave "
                f"out their rows, or impute them: {name}.filled(np.nan) marks them as missing."
            )
    origins = [kind.__module__ for kind in type(values).__mro__]
    if any(origin.startswith("torch.utils.data") for origin in origins):
        raise TypeError(
            f"{name} must be an array, a DataFrame or a tensor, got a torch "
            f"{type(values).__name__}. Pass its arrays, for example X, y = dataset.tensors."
        )
    if not (origins[0].startswith("torch") and hasattr(values, "detach")):
        return values
    values = values.detach().cpu()
    # numpy has no such type.
    return (values.float() if "bfloat16" in str(values.dtype) else values).numpy()


def check_columns(X):
    """Refuse a DataFrame with repeated names or columns that are not numbers.

    Parameters
    ----------
    X : object
        Anything; only DataFrames are looked at.

    Raises
    ------
    ValueError
        Naming the columns and the remedy.
    """
    if type(X).__name__ == "LazyFrame":
        raise TypeError("X must hold its rows, got a LazyFrame. Pass X.collect().")
    columns = getattr(X, "columns", None)
    if columns is None:
        return
    names = [str(name) for name in columns]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(
            f"Column names of X must be distinct, got {repeated} more than once. Rename the "
            f"columns."
        )
    frame = nw.from_native(X, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return
    bad = [name for name, dtype in frame.schema.items() if not _holds_numbers(frame, name, dtype)]
    if bad:
        raise ValueError(
            f"X must hold numbers, but columns {bad} hold other types: could not convert them to "
            f"float. Encode them first, for example with OneHotEncoder or OrdinalEncoder in a "
            f"ColumnTransformer; make sparse columns dense."
        )


def check_numbers(X):
    """Refuse rows of different lengths, dates and text, which no array of numbers holds.

    Parameters
    ----------
    X : object
        Anything; of a DataFrame, only whether it has columns is looked at.

    Raises
    ------
    ValueError
        Saying what was seen, and the remedy.
    """
    if getattr(X, "columns", None) is not None:
        if not len(X.columns):
            raise ValueError("X must have columns, got a DataFrame with 0 feature(s).")
        return
    lengths = _lengths(X)
    if len(lengths) > 1:
        raise ValueError(
            f"All rows of X must have one length, got {min(lengths)} to {max(lengths)}. Pad them: "
            f"token ids with an id of its own, as in TokenTokenizer(padding_id=0), sequences with "
            f"tokens of NaN, as in SequenceTokenizer(padding_value=np.nan)."
        )
    kind = getattr(X, "dtype", np.dtype(float))
    if getattr(kind, "kind", "f") in "Mm":
        raise ValueError(
            f"X must hold numbers, got {kind}. Say what counts in a date, for example its year "
            f"or the days since another: (X - X.min()) / np.timedelta64(1, 'D')."
        )
    text = _first_text(X)
    if text is not None:
        raise ValueError(
            f"X must hold numbers, got text: could not convert string to float: {text!r}. Encode "
            f"categories, for example with OneHotEncoder, and words by numbers for "
            f"tokenizer='tokens'."
        )


def _lengths(values):
    """Return the lengths of rows that are lists or arrays of their own."""
    of_objects = isinstance(values, np.ndarray) and values.dtype == object and values.ndim == 1
    if not (of_objects or isinstance(values, list | tuple)):
        return set()
    arrays = (row for row in values if isinstance(row, list | tuple) or getattr(row, "ndim", 0))
    return {len(row) for row in arrays}


def _first_text(X):
    """Return a text in X that stands for no number, if there is one."""
    if not isinstance(X, list | tuple) and getattr(X, "dtype", np.dtype(float)).kind not in "OUS":
        return None
    for value in np.ravel(np.asarray(X)):
        if isinstance(value, str | bytes):
            try:
                float(value)
            except ValueError:
                return str(value)[:40]
    return None


def _holds_numbers(frame, name, dtype):
    if isinstance(dtype, nw.Object):
        try:
            np.asarray(frame[name].to_numpy(), dtype=float)
        except (TypeError, ValueError):
            return False
        return True
    return dtype.is_numeric() or isinstance(dtype, nw.Boolean)


def _is_missing(value):
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        # The missing value of pandas refuses to be compared.
        return True


def check_labels(y):
    """Check a classification target of any type.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.

    Returns
    -------
    y : ndarray of shape (n_samples,)
        Labels as given.

    Raises
    ------
    ValueError
        If labels are missing, continuous or not one-dimensional.
    """
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    y = from_torch(y, "y")
    if not isinstance(getattr(y, "dtype", np.dtype(int)), np.dtype):
        # Types of pandas and polars; numpy's equivalent keeps integers and booleans.
        y = np.asarray(y)
    lengths = _lengths(y)
    if len(lengths) > 1:
        raise ValueError(
            f"y must hold one label per row, got rows of {min(lengths)} to {max(lengths)} labels. "
            f"For several labels per row, fit one classifier for each of them."
        )
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "f":
        # scikit-learn's own words for NaN and infinity, naming y.
        check_array(y, ensure_2d=False, dtype=None, input_name="y")
    elif y.dtype.kind in "OMm" and any(_is_missing(value) for value in y):
        raise ValueError("Input y contains NaN or None. Drop the rows without a label.")
    if y.dtype.kind == "O":
        _refuse_numbers_in_objects(y)
    check_classification_targets(y)
    return y


def _refuse_numbers_in_objects(y):
    """Refuse mixed types, and objects that are numbers: no score of scikit-learn takes them."""
    kinds = sorted({type(value).__name__ for value in y})
    try:
        np.unique(y)
    except TypeError as error:
        raise ValueError(
            f"The labels in y must be of one type that can be sorted, got {kinds}. Convert them, "
            f"for example with y.astype(str)."
        ) from error
    if np.array(y.tolist()).dtype.kind in "biuf":
        raise ValueError(
            f"Unknown label type: y is an object array that holds {kinds}. Convert it, for example "
            f"with y.astype(int) or y.astype(bool)."
        )


def check_weights(sample_weight, X, estimator_name):
    """Check weights of rows.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,), number or None
        Weights; None and a number weigh all rows alike.
    X : array-like
        Data, for the number of rows.
    estimator_name : str
        For the message.

    Returns
    -------
    ndarray of shape (n_samples,) or None
        float64 weights, at least one positive; None if all rows weigh the same.

    Raises
    ------
    ValueError
        If a weight is negative or not finite, all are zero, or the length differs.
    """
    if sample_weight is None:
        return None
    n_samples = num_samples(X)
    if isinstance(sample_weight, numbers.Number):
        sample_weight = np.full(n_samples, sample_weight)
    weights = check_array(
        from_torch(sample_weight, "sample_weight"),
        ensure_2d=False, dtype=np.float64, input_name="sample_weight",
    )  # fmt: skip
    if weights.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got {weights.ndim}D array.")
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight.shape == {weights.shape}, expected {(n_samples,)}: one weight per row."
        )
    if (weights < 0).any():
        raise ValueError(
            f"Negative values in data passed to {estimator_name}: sample_weight must be at least 0."
        )
    if not weights.any():
        raise ValueError(
            f"All sample weights are zero; {estimator_name} needs at least one positive weight."
        )
    return weights


def weight_keyword(model, weights):
    """Return the keyword argument that carries weights into the fit of `model`.

    Parameters
    ----------
    model : classifier or Pipeline
        Not fitted.
    weights : ndarray of shape (n_samples,)
        Weights of the rows.

    Returns
    -------
    dict of str to ndarray
        One entry.

    Raises
    ------
    ValueError
        If the classifier takes no weights.
    """
    prefix, last = "", model
    while isinstance(last, Pipeline):
        name, last = last.steps[-1]
        prefix += f"{name}__"
    if prefix and get_config()["enable_metadata_routing"]:
        # Then the pipeline itself routes weights to the steps that ask for them.
        return {"sample_weight": weights}
    if not has_fit_parameter(last, "sample_weight"):
        raise ValueError(
            f"sample_weight was given, but {type(last).__name__} does not take it. Leave it out, "
            f"or use a classifier that does."
        )
    return {f"{prefix}sample_weight": weights}
