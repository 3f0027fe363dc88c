import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier

from skbound.inspection import replace_one_sensitivity


class Constant(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.zeros(len(X), int)


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), rng.integers(2, size=n)


def test_what_ignores_the_rows_does_not_change():
    found = replace_one_sensitivity(Constant(), *data(20), *data(10, 1))
    assert not found.largest_change.any()
    assert found.to_frame().shape == (10, 4)


def test_a_memory_loses_the_row_that_is_taken_out():
    # With one neighbour the training loss is 0; with random labels a lost row errs half the time.
    model = KNeighborsClassifier(1)
    found = replace_one_sensitivity(model, *data(60), *data(60, 1), n_replaced=60)
    assert set(found.own_change) == {0.0, 1.0}
    assert 0.25 < found.own_change.mean() < 0.75
    assert (found.largest_change >= found.own_change).all()


def test_changes_are_those_of_fitting_again():
    def squares(model, X, y):
        return (model.predict(X) - y) ** 2

    (X, y), (X_other, y_other) = data(15), data(5, 1)
    found = replace_one_sensitivity(Ridge(), X, y, X_other, y_other, n_replaced=2, loss=squares)
    row = found.row[0]
    X_changed, y_changed = X.copy(), y.copy()
    X_changed[row], y_changed[row] = X_other[0], y_other[0]
    before = squares(Ridge().fit(X, y), X, y)[row]
    after = squares(Ridge().fit(X_changed, y_changed), X, y)[row]
    assert found.own_change[0] == pytest.approx(after - before)
    assert found.own_change[0] > 0.0


def test_there_must_be_rows_to_replace_by():
    with pytest.raises(ValueError, match="n_replaced must be"):
        replace_one_sensitivity(Constant(), *data(20), *data(5, 1))
