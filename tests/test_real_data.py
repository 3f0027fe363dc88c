"""End to end on real data from outside the repository; skipped where there are none."""

import json

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from skbound import BoundSearch, TransformerClassifier
from skbound.bounds import binomial_tail_inverse


def table(folder, name, n_fit, seed=0):
    """Rows to learn from and rows to look at afterwards, pooled and split at random."""
    with np.load(folder / "tabular" / f"{name}.npz") as archive:
        X, y = archive["X"].astype(float), archive["y"]
        assert not any(f["categorical"] for f in json.loads(str(archive["meta"]))["features"])
    return train_test_split(X, y, train_size=n_fit, random_state=seed)


@pytest.mark.parametrize(
    ("name", "n_fit", "worst"),
    [("banknote", 600, 0.06), ("segment", 800, 0.16), ("twonorm", 800, 0.15)],
)
def test_a_table(shared_data, name, n_fit, worst):
    X, X_test, y, y_test = table(shared_data, name, n_fit)
    model = TransformerClassifier(
        protocol="holdout", depth=1, width=32, max_epochs=30, random_state=0
    ).fit(X, y)
    error = 1 - model.score(X_test, y_test)
    assert model.generalization_bound_ <= worst
    # The test error has a sampling error of its own: its lower confidence limit must not exceed
    # the certificate.
    n_wrong = round(error * len(y_test))
    lower = 1 - binomial_tail_inverse(len(y_test) - n_wrong, len(y_test), log_delta=np.log(1e-3))
    assert lower <= model.generalization_bound_


def test_series(shared_data):
    """Italian power demand: 24 hours, told by season."""
    with np.load(shared_data / "timeseries" / "ItalyPowerDemand.npz") as archive:
        parts = [archive[name] for name in ("X_train", "X_test", "y_train", "y_test")]
    X = np.concatenate(parts[:2]).transpose(0, 2, 1)
    y = np.concatenate(parts[2:])
    X, X_test, y, y_test = train_test_split(X, y, train_size=500, random_state=0)
    grid = {"depth": [1, 2], "pooling": ["cls", "mean"]}
    model = TransformerClassifier(protocol="holdout", width=16, max_epochs=20)
    search = BoundSearch(model, grid, choose_by="bound", random_state=0).fit(X, y)
    assert search.certificate_.n_candidates == 4
    assert search.best_bound_ < 0.2
    assert search.score(X_test, y_test) > 0.9
