"""The picture of a comparison, by its objects."""

import sys

import numpy as np
import pytest
from matplotlib import pyplot as plt
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from skbound import BoundedClassifier, compare_regularizers
from skbound.inspection import ComparisonDisplay

X, Y = make_classification(200, 5, random_state=0)
TREE = BoundedClassifier(DecisionTreeClassifier())


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_from_comparison():
    found = compare_regularizers(
        TREE, X, Y, {"stump": {"estimator__max_depth": 1}}, cv=3, random_state=0
    )
    display = ComparisonDisplay.from_comparison(found)
    left, right = display.axes_
    assert left.figure is display.figure_
    assert [text.get_text() for text in left.get_yticklabels()] == ["none", "stump"]
    drawn = [dots.get_offsets()[:, 0] for dots in right.collections]
    np.testing.assert_allclose(drawn[0], [row.error for row in found.rows.values()])
    np.testing.assert_allclose(drawn[1], [row.certificate.value for row in found.rows.values()])


def test_it_draws_where_it_is_told():
    _, axes = plt.subplots(1, 2)
    intervals = np.array([[0.0, 0.0], [-0.1, 0.2]])
    display = ComparisonDisplay(["none", "a"], np.zeros(2), intervals, np.ones(2), np.ones(2))
    assert display.plot(axes=axes).axes_[0] is axes[0]


def test_without_matplotlib_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"skbound\[plot\]"):
        ComparisonDisplay([], np.zeros(0), np.zeros((0, 2)), np.zeros(0), np.zeros(0)).plot()
