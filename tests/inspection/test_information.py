import math

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB

from skbound.inspection import EvaluatedCMI, evaluated_cmi
from tests.inspection.test_replace_one import Constant, data


class Memory(ClassifierMixin, BaseEstimator):
    """Right on the rows that it has seen, wrong on all others."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.known_ = {x.tobytes(): label for x, label in zip(X, y, strict=True)}
        return self

    def predict(self, X):
        return np.array([self.known_.get(x.tobytes(), -1) for x in X])


def test_what_ignores_the_rows_tells_nothing():
    found = evaluated_cmi(Constant(), *data(21))
    assert found.n_samples == 10
    assert found.n_fits == 40
    assert found.information == 0.0
    assert found.bias == 0.0
    assert found.gap_expression == 0.0


def test_a_memory_tells_everything():
    found = evaluated_cmi(Memory(), *data(20), n_draws=200, n_supersamples=1)
    assert found.gap == 1.0
    # Coins that fell 90 to 110 have a little less than ln 2 each.
    assert found.information == pytest.approx(10 * math.log(2.0), rel=0.02)
    assert 1.0 <= found.gap_expression <= math.sqrt(2.0 * found.information / 10) + 1e-12


def test_a_real_learner_lies_between_and_its_gap_below_the_expression():
    found = evaluated_cmi(GaussianNB(), *data(30), n_draws=60)
    assert 0.0 < found.gap < found.gap_expression < math.sqrt(2.0 * math.log(2.0))
    assert (found.by_pair >= 0.0).all()
    assert (found.by_pair <= math.log(2.0) + 1e-12).all()
    assert 0.0 < found.bias < found.information


def test_information_of_a_pair_by_hand():
    found = EvaluatedCMI(
        by_pair=np.array([[0.5, 0.0], [0.02, 0.08]]), bias=0.0, gap=0.0, n_samples=2, n_fits=1
    )
    assert found.information == pytest.approx(0.3)
    assert found.gap_expression == pytest.approx((1.0 + 0.2 + 0.4) / 4)


def test_same_seed_same_answer():
    first, second = (evaluated_cmi(GaussianNB(), *data(12), n_draws=4) for _ in range(2))
    np.testing.assert_array_equal(first.by_pair, second.by_pair)


def test_there_must_be_pairs_and_draws():
    for settings in ({"n_draws": 1}, {"n_supersamples": 0}):
        with pytest.raises(ValueError, match="at least 2 rows"):
            evaluated_cmi(Constant(), *data(6), **settings)
