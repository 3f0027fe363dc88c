"""Which predictor answers for a row: a hash of its numbers, and refused where rows repeat."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from skbound import BoundedClassifier, TransformerClassifier
from skbound.datasets import finite_domain, random_label_domain
from skbound.protocols import HashChoice, Progressive
from skbound.protocols._mixture import check_distinct
from tests.honesty import many_classes

TINY = TransformerClassifier(depth=1, width=8, n_heads=2, max_epochs=2, protocol="progressive")
LINEAR = BoundedClassifier(LogisticRegression(), protocol="progressive", random_state=0)


def test_the_error_of_predict_has_the_certified_mean_over_the_key():
    world = finite_domain(n_features=4, n_levels=12, n_classes=2, label_noise=0.3, random_state=0)
    model = BoundedClassifier(DecisionTreeClassifier(), protocol="progressive", random_state=0)
    fitted = model.fit(*world.sample(200, random_state=0)).estimator_
    mean = np.average([world.risk(p.predict) for p in fitted.parts], weights=fitted.choice.weights)
    for key in (b"1", b"2", b"3"):
        other = type(fitted)(fitted.parts, HashChoice(fitted.choice.weights, key), fitted.classes_)
        # 20,736 points: a standard deviation of at most about 0.005.
        assert abs(world.risk(other.predict) - mean) < 0.015


def test_repeated_rows_are_refused_before_training():
    X, y = random_label_domain(n_features=4, n_classes=2).sample(400, random_state=0)
    for model in (TINY, LINEAR):
        with pytest.raises(ValueError, match=r"hardly repeat.* distinct .*protocol='holdout'"):
            clone(model).fit(X, y)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    X[:30] = 0.0
    X[15:30] *= -1.0  # a negative zero is a zero
    with pytest.raises(ValueError, match=r"one row .* times among 600"):
        clone(LINEAR).fit(X, X[:, 1] > 0)
    X[4:30] = rng.normal(size=(26, 3))
    fitted = clone(LINEAR).fit(X, X[:, 1] > 0)
    assert fitted.n_samples_certified_ == 400


def test_rows_that_are_no_numbers_are_refused():
    X, y = many_classes(n_classes=3)
    model = LINEAR
    text = np.array([["a", "b"]] * len(y), dtype=object)
    for rows in (csr_matrix(X), pd.DataFrame(text), [["a", "b"]] * len(y)):
        with pytest.raises(ValueError, match=r"needs rows of numbers.*Use protocol='holdout'"):
            clone(model).fit(rows, y)


def test_frames_and_arrays_give_the_same_predictor():
    X, y = many_classes(n_classes=3)
    frame = pd.DataFrame(X, columns=list("abcd"))
    by_frame = clone(LINEAR).fit(frame, y)
    by_array = clone(LINEAR).fit(X, y)
    assert by_frame.generalization_bound_ == by_array.generalization_bound_
    assert np.array_equal(by_frame.predict(frame), by_array.predict(X))


def test_hash_is_about_the_numbers_and_the_key():
    X = np.random.default_rng(0).normal(size=(6000, 3)).astype(np.float32)
    choice = HashChoice((1, 2, 3), b"key")
    chosen = choice(X)
    assert np.abs(np.bincount(chosen) / 6000 - np.array([1, 2, 3]) / 6).max() < 0.03
    for same in (X.astype(float), np.asfortranarray(X), X.astype(float).tolist()):
        assert np.array_equal(choice(same), chosen)
    assert (HashChoice((1, 2, 3), b"other")(X) == chosen).mean() < 0.5
    nans = np.array([[np.nan, 0.0], [-np.nan, -0.0]])
    assert len(set(choice(nans))) == 1
    assert choice(np.zeros((0, 3))).shape == (0,)


@pytest.mark.parametrize(("n_samples", "n_frequent"), [(500, 5), (2000, 5), (20_000, 1)])
def test_frequent_rows_are_refused_at_any_number_of_rows(n_samples, n_frequent):
    """A share of a hundredth each is too much beside a bound that narrows with more rows."""
    refused = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n_samples, 2))
        X[rng.random(n_samples) < 0.0095 * n_frequent] = 0.0
        places = np.flatnonzero(X[:, 0] == 0.0)
        X[places] = rng.integers(n_frequent, size=len(places))[:, None]
        try:
            check_distinct(X[: round(0.6 * n_samples)], "A test")
        except ValueError:
            refused += 1
    assert refused >= 16


def test_a_first_part_that_is_too_small_to_judge_is_refused():
    X = np.random.default_rng(0).normal(size=(500, 2))
    model = clone(LINEAR).set_params(protocol=Progressive(first_fraction=0.02))
    with pytest.raises(ValueError, match="needs at least 30 rows for that, got 10"):
        model.fit(X, X[:, 0] > 0)
