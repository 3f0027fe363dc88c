"""What later calls of partial_fit have from the first: parameters, seeds, and rows seen before."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from skbound.protocols import Progressive
from skbound.tokenizers import TableTokenizer
from tests.honesty import many_classes
from tests.streams import CALLS, TINY, in_calls


@pytest.mark.parametrize(("n_rows", "allowed"), [(60, 3), (200, 6)])
def test_a_few_repeats_are_taken_for_chance(n_rows, allowed):
    X, y = many_classes(400, 3)
    model = in_calls(X, y, calls=[slice(0, 120)])
    for n_repeats in (allowed + 1, allowed):
        rows = np.r_[120 : 120 + n_rows - n_repeats, :n_repeats]
        if n_repeats > allowed:
            with pytest.raises(ValueError, match=f"at most {allowed} of {n_rows} rows"):
                model.partial_fit(X[rows], y[rows])
    model.partial_fit(X[rows], y[rows])
    assert model.n_samples_certified_ == n_rows


def test_discrete_rows_repeat_by_chance():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 10, size=(360, 5)).astype(float)
    y = (X[:, 0] > 4).astype(int)
    X[200], y[200] = X[0], y[0]
    model = in_calls(X, y)
    assert model.n_samples_certified_ == 240


def test_rows_that_were_passed_one_by_one_again_are_noticed_in_the_end():
    """Each call may hold a repeat; all rows together may not hold many."""
    X, y = many_classes(60, 3)
    model = in_calls(X, y, clone(TINY).set_params(max_epochs=1), calls=[slice(0, 60)])
    for row in range(4):
        model.partial_fit(X[row : row + 1], y[row : row + 1])
    with pytest.raises(ValueError, match="rows that hardly repeat"):
        model.partial_fit(X[4:5], y[4:5])


CHANGES = {
    "depth": 2,
    "width": 16,
    "n_heads": 4,
    "dropout": 0.1,
    "pooling": "mean",
    "tokenizer": TableTokenizer(limit=4.0),
    "dtype": "float64",
    "bound": "progressive_mixture",
    "delta": 0.1,
}


@pytest.fixture(scope="module")
def after_two_calls():
    X, y = many_classes(360, 3)
    return in_calls(X, y, calls=CALLS[:2])


@pytest.mark.parametrize("name", CHANGES)
def test_what_later_calls_go_on_with_must_stay(name, after_two_calls):
    X, y = many_classes(360, 3)
    model = pickle.loads(pickle.dumps(after_two_calls))
    first = getattr(model, name)
    model.set_params(**{name: CHANGES[name]})
    before = vars(model).copy()
    with pytest.raises(ValueError, match=f"{name} must stay"):
        model.partial_fit(X[CALLS[2]], y[CALLS[2]])
    assert vars(model) == before
    model.set_params(**{name: first}).partial_fit(X[CALLS[2]], y[CALLS[2]])
    assert model.n_samples_certified_ == 180


def test_an_object_that_is_changed_in_place_must_stay_too():
    X, y = many_classes(360, 3)
    model = clone(TINY).set_params(tokenizer=TableTokenizer())
    model = pickle.loads(pickle.dumps(in_calls(X, y, model, CALLS[:2])))
    model.partial_fit(X[CALLS[2]], y[CALLS[2]])
    model.tokenizer.set_params(limit=4.0)
    with pytest.raises(ValueError, match=r"tokenizer must stay .* got TableTokenizer\(limit=4\.0"):
        model.partial_fit(X[CALLS[3]], y[CALLS[3]])


@pytest.mark.parametrize(
    ("name", "value"), [("lr", 1e-3), ("max_epochs", 2), ("batch_size", 32), ("n_threads", 2)]
)
def test_how_to_train_may_change(name, value, after_two_calls):
    X, y = many_classes(360, 3)
    model = pickle.loads(pickle.dumps(after_two_calls)).set_params(**{name: value})
    model.partial_fit(X[CALLS[2]], y[CALLS[2]])
    assert model.n_samples_certified_ == 180


BAD = {
    "lr": (-1.0, ValueError, "'lr' parameter"),
    "max_epochs": (0, ValueError, "'max_epochs' parameter"),
    "regularizers": ([print], TypeError, "instances of skbound.regularizers"),
    "callbacks": ([print], TypeError, "instances of skorch"),
    "optimizer": (print, TypeError, "optimizer must be"),
    "class_weight": ({7: 1.0}, ValueError, "7|classes"),
    "width": (10, ValueError, "multiple of n_heads"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("when", ["first", "later"])
def test_parameters_are_checked_as_in_fit(name, when, after_two_calls):
    X, y = many_classes(360, 3)
    value, error, message = BAD[name]
    model = clone(TINY) if when == "first" else pickle.loads(pickle.dumps(after_two_calls))
    model.set_params(**{name: value, "n_heads": 4 if name == "width" else 2})
    before = vars(model).copy()
    with pytest.raises(error, match=message):
        model.partial_fit(X[CALLS[2]], y[CALLS[2]], classes=[0, 1, 2])
    assert vars(model) == before


def test_the_protocol_may_have_a_seed_of_its_own():
    X, y = many_classes(360, 3)
    plain = in_calls(X, y, calls=CALLS[:2])
    own, same, other = (
        in_calls(X, y, clone(TINY).set_params(protocol=Progressive(random_state=k)), CALLS[:2])
        for k in (5, 5, 6)
    )
    keys = [model._several.choice.key for model in (plain, own, same, other)]
    assert keys[1] == keys[2]
    assert len(set(keys)) == 3
    # The nets are those of the classifier's seed.
    for model in (own, other):
        assert np.array_equal(*(clf._several.parts[0].logits(X) for clf in (model, plain)))
