"""The parts of a Transformer as a user sees them."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

from skbound import BoundSearch, FitOnce, TransformerClassifier, bound_scorer
from skbound.architectures import TransformerArchitecture, resolve_architecture

DIGITS = load_digits()
X, Y = DIGITS.data.reshape(-1, 8, 8)[:600], DIGITS.target[:600]
SMALL = TransformerClassifier(
    protocol="holdout", depth=2, width=16, n_heads=2, max_epochs=1, random_state=0
)
POSITIONS = ["learned", "sinusoidal", "rotary", "alibi", "none"]


def with_parts(**parts):
    return clone(SMALL).set_params(architecture=TransformerArchitecture(**parts))


def test_the_name_and_the_object_are_the_same_net():
    named = clone(SMALL).fit(X, Y)
    built = with_parts().fit(X, Y)
    assert np.array_equal(named.predict_proba(X), built.predict_proba(X))
    assert named.generalization_bound_ == built.generalization_bound_


LEARNING = {
    "rotary": {"positions": "rotary"},
    "decoder": {"positions": "alibi", "causal": True},
    "local": {"positions": "sinusoidal", "span": 2},
    "lipschitz": {"attention": "l2", "activation": "maxmin", "init": "lsuv"},
    "norm after": {"norm_first": False, "head": "mlp", "init": "he"},
    "projection": {"norm": "projection", "init": "lsuv"},
    "no norm": {"norm": "none", "activation": "relu", "init": "spectral"},
}


@pytest.mark.parametrize("parts", LEARNING.values(), ids=LEARNING)
def test_digits_are_learnt_whatever_the_parts(parts):
    model = with_parts(**parts).set_params(max_epochs=20, lr=1e-2).fit(X, Y)
    # A guess errs on nine of ten.
    assert model.generalization_bound_ < 0.7
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    unfitted = clone(model)
    assert unfitted.architecture.get_params() == model.architecture.get_params()
    assert unfitted.architecture is not model.architecture


@pytest.mark.parametrize("search", [GridSearchCV, BoundSearch])
def test_a_grid_over_positions(search):
    grid = {"architecture__positions": POSITIONS}
    if search is GridSearchCV:
        found = GridSearchCV(clone(SMALL), grid, scoring=bound_scorer, cv=FitOnce()).fit(X, Y)
        assert len(set(found.cv_results_["mean_test_score"])) > 1
    else:
        found = BoundSearch(clone(SMALL), grid, choose_by="bound", random_state=0).fit(X, Y)
    chosen = found.best_params_["architecture__positions"]
    assert found.best_estimator_.architecture.positions == chosen


def test_nested_parameters_of_a_named_architecture():
    model = clone(SMALL).set_params(architecture__span=3, architecture__causal=True)
    assert (model.architecture.span, model.architecture.causal) == (3, True)
    with pytest.raises(ValueError, match="Invalid parameter 'place'"):
        clone(SMALL).set_params(architecture__place="rotary")


def test_columns_of_a_table_have_no_order():
    table = X.reshape(-1, 64)[:, 20:30]
    for parts in ({"positions": "rotary"}, {"positions": "sinusoidal"}, {"span": 2}):
        model = with_parts(**parts)
        with pytest.raises(ValueError, match="no order"):
            model.fit(table, Y)
        assert not [name for name in vars(model) if name.endswith("_")]
        model.fit(table[:, :, None], Y)
    same = [with_parts(positions=p).fit(table, Y).predict_proba(table) for p in POSITIONS[::4]]
    assert np.array_equal(*same)


BAD = {
    "name": ("modern", ValueError, "'standard' or a TransformerArchitecture"),
    "class": (TransformerArchitecture, TypeError, "an instance of"),
    "number": (3, TypeError, "an instance of"),
    "positions": (TransformerArchitecture(positions="rope"), ValueError, "'positions' parameter"),
    "span": (TransformerArchitecture(span=-1), ValueError, "'span' parameter"),
    "causal": (TransformerArchitecture(causal="yes"), ValueError, "'causal' parameter"),
    "init": (TransformerArchitecture(init="zeros"), ValueError, "'init' parameter"),
}


@pytest.mark.parametrize(("architecture", "error", "message"), BAD.values(), ids=BAD)
def test_bad_architectures(architecture, error, message):
    model = clone(SMALL).set_params(architecture=architecture)
    with pytest.raises(error, match=message):
        model.fit(X, Y)
    with pytest.raises(error, match=message):
        resolve_architecture(architecture)


def test_rotary_needs_pairs():
    model = with_parts(positions="rotary").set_params(width=4, n_heads=4)
    with pytest.raises(ValueError, match="pairs of numbers"):
        model.fit(X, Y)


def test_patches_take_positions_too():
    table = X.reshape(-1, 64)
    answers = [
        with_parts(positions=p).set_params(tokenizer="patches").fit(table, Y).predict_proba(table)
        for p in POSITIONS
    ]
    assert len({a.tobytes() for a in answers}) == len(POSITIONS)


@pytest.mark.parametrize(
    "protocol",
    [
        *("pac_bayes", "description_length", "frozen_features", "recursive_pac_bayes"),
        *("compression", "cross_fit", "progressive"),
    ],
)
def test_every_protocol_takes_every_part(protocol):
    for parts in (
        {"positions": "rotary", "causal": True, "norm_first": False, "init": "lsuv"},
        {"attention": "l2", "norm": "projection", "activation": "maxmin", "head": "mlp"},
    ):
        model = with_parts(**parts).set_params(protocol=protocol).fit(X[:200], Y[:200])
        assert np.isfinite(model.generalization_bound_)
        alone = model.predict_proba(X[7:8])
        assert np.array_equal(alone[0], model.predict_proba(X[:200])[7])


def test_lsuv_looks_at_rows_that_are_trained_on_only():
    """Other certified rows, the same net."""
    model = with_parts(init="lsuv").fit(X, Y)
    changed = X.copy()
    changed[model.evidence_.certified.rows] *= 1000.0
    other = clone(model).fit(changed, Y)
    assert np.array_equal(model.predict_proba(X), other.predict_proba(X))
