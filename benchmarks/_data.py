"""Tables kept outside the repository, and their conversion to numbers."""

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder


class Table(NamedTuple):
    """A classification problem as stored: nothing imputed, encoded or shuffled."""

    X: NDArray[np.float32]  # a categorical column holds the codes of its levels; NaN is missing
    y: NDArray[np.int16]
    categorical: NDArray[np.bool_]  # one flag a column
    name: str


def folder() -> Path:
    """Where the tables are: below SKBOUND_SHARED, or below ../shared beside the checkout."""
    beside = Path(__file__).resolve().parents[2] / "shared"
    path = Path(os.environ.get("SKBOUND_SHARED", beside)) / "data" / "tabular"
    if not path.is_dir():
        raise FileNotFoundError(
            f"The tables must lie in {path}, which is not a folder. "
            "Set SKBOUND_SHARED to the folder that holds data/tabular."
        )
    return path


def names() -> list[str]:
    """All tables, in alphabetical order."""
    return sorted(path.stem for path in folder().glob("*.npz"))


def tables(names: Iterable[str]) -> Iterator[Table]:
    """Load the named tables, one at a time."""
    root = folder()
    for name in names:
        with np.load(root / f"{name}.npz") as stored:
            features = json.loads(str(stored["meta"]))["features"]
            categorical = np.array([feature["categorical"] for feature in features], dtype=bool)
            yield Table(stored["X"], stored["y"], categorical, name)


def encoder(categorical: NDArray[np.bool_]) -> ColumnTransformer:
    """Numbers from a table: to be fitted on training rows only.

    Missing numbers become the median of the column. Categories are one-hot encoded: a missing one
    is a level of its own, one that the training rows lack is all zeros.
    """
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False, dtype=np.float32)
    median = SimpleImputer(strategy="median", keep_empty_features=True)
    return ColumnTransformer(
        [("number", median, np.flatnonzero(~categorical)), ("category", one_hot, categorical)],
        sparse_threshold=0.0,
    )
