"""The picture of bounds against errors, by its objects."""

import sys

import numpy as np
import pytest
from matplotlib import pyplot as plt
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from skbound import BoundedClassifier, BoundSearch
from skbound.inspection import BoundVsErrorDisplay

X, Y = make_classification(400, 5, random_state=0)
GRID = {"estimator__max_depth": [1, 2, 3, 4]}
SEARCH = BoundSearch(
    BoundedClassifier(DecisionTreeClassifier()),
    GRID,
    choose_by="bound",
    random_state=0,
    return_estimators=True,
)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_from_search():
    search = SEARCH.fit(X[:300], Y[:300])
    display = BoundVsErrorDisplay.from_search(search, X[300:], Y[300:])
    errors = [1 - model.score(X[300:], Y[300:]) for model in search.estimators_]
    np.testing.assert_allclose(display.errors, errors)
    drawn = display.points_.get_offsets()
    np.testing.assert_allclose(drawn[:, 0], errors)
    np.testing.assert_allclose(drawn[:, 1], search.cv_results_["bound"])
    chosen = display.chosen_.get_offsets()[0]
    np.testing.assert_allclose(chosen, (errors[search.best_index_], search.best_bound_))
    assert display.ax_.figure is display.figure_
    assert "certificate" in display.ax_.get_ylabel()


def test_on_given_axes_with_a_failed_candidate():
    _, ax = plt.subplots()
    display = BoundVsErrorDisplay(
        np.array([0.3, np.nan, 0.2]), np.array([0.1, np.nan, 0.15]), best_index=2
    )
    assert display.plot(ax=ax) is display
    assert display.ax_ is ax
    assert len(display.points_.get_offsets()) == 2


def test_a_single_candidate():
    display = BoundVsErrorDisplay(np.array([0.3]), np.array([0.1]), best_index=0).plot()
    assert len(display.points_.get_offsets()) == 1


def test_a_search_that_kept_only_the_best():
    search = BoundSearch(SEARCH.estimator, GRID, choose_by="bound", random_state=0)
    with pytest.raises(NotFittedError):
        BoundVsErrorDisplay.from_search(search, X, Y)
    with pytest.raises(ValueError, match="return_estimators=True"):
        BoundVsErrorDisplay.from_search(search.fit(X, Y), X, Y)


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'skbound\[plot\]'"):
        BoundVsErrorDisplay(np.array([0.3]), np.array([0.1]), 0).plot()
