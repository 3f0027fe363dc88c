"""Diagnostics: numbers that are what they say, and advice with its reasons."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skbound import BoundedClassifier, BoundSearch, TransformerClassifier
from skbound.bounds import binomial_tail_inverse
from skbound.exceptions import MissingEvidenceError
from skbound.inspection import Diagnostics, Suggestion, rows_needed
from skbound.measures import MEASURES, measure_all
from skbound.model_selection import search_advice
from skbound.protocols import Holdout

X, Y = load_breast_cancer(return_X_y=True)
SMALL = TransformerClassifier(
    protocol="holdout", depth=2, width=16, n_heads=2, max_epochs=5, random_state=0
)


@pytest.fixture(scope="module")
def fitted():
    return clone(SMALL).fit(X, Y)


@pytest.fixture(scope="module")
def diagnostics(fitted):
    return fitted.diagnostics_


def test_spectral_norms_are_exact(fitted, diagnostics):
    table = diagnostics.to_frame()
    modules = dict(fitted.net_.module_.named_modules())
    for name, norm in table["spectral_norm"].items():
        exact = torch.linalg.svdvals(modules[name].weight.detach().double())[0]
        assert norm == pytest.approx(float(exact), rel=1e-5)
    assert {"query", "key", "value", "output", "expand", "contract", "head"} <= set(table["role"])
    assert table["stable_rank"].between(1.0, 64.0).all()


def test_every_parameter_is_in_the_table_or_named(fitted, diagnostics):
    table = diagnostics.to_frame()
    covered = int((table["n_outputs"] * table["n_inputs"]).sum())
    total = sum(p.numel() for p in fitted.net_.module_.parameters())
    assert covered + sum(diagnostics.uncovered.values()) == total


def test_errors_and_gap(fitted, diagnostics):
    evaluated = fitted.evidence_.evaluated
    rows = np.setdiff1d(np.arange(len(X)), evaluated.rows)
    training = np.mean(fitted.predict(X[rows]) != Y[rows])
    assert diagnostics["training_error"] == pytest.approx(training)
    assert diagnostics["held_out_error"] == evaluated.error
    assert diagnostics["gap"] == pytest.approx(evaluated.error - training)
    assert diagnostics["certificate"] == fitted.generalization_bound_


def test_lipschitz_constants_are_in_order(diagnostics):
    assert math.log(diagnostics["jacobian_norm"]) <= diagnostics["log_lipschitz_local_upper"]
    assert diagnostics["log_lipschitz_local_upper"] <= diagnostics["log_lipschitz_upper"]


def test_heads_are_told_apart(diagnostics):
    heads = diagnostics.heads_to_frame()
    assert len(heads) == 2 * 2
    assert (heads["entropy"] <= math.log(31) + 1e-9).all()
    assert 0.0 < diagnostics["attention_entropy_share"] <= 1.0


def test_it_reads_as_a_mapping_and_survives_pickling(fitted, diagnostics):
    assert set(dict(diagnostics)) == set(diagnostics)
    assert "training_error" in repr(diagnostics)
    again = pickle.loads(pickle.dumps(fitted)).diagnostics_
    assert dict(again) == dict(diagnostics)
    pd.testing.assert_frame_equal(again.to_frame(), diagnostics.to_frame())


def test_an_overfitted_net_is_told_to_regularise():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(200, 5)), rng.integers(2, size=200)
    clf = clone(SMALL).set_params(max_epochs=60, lr=5e-3).fit(rows, labels)
    advice = clf.diagnostics_.suggest_interventions()
    assert {"dropout": 0.2} in [s.params for s in advice]
    assert all(isinstance(s, Suggestion) and s.reason for s in advice)
    for suggestion in advice:
        clone(clf).set_params(**suggestion.params)


def test_an_idle_net_is_told_to_train():
    clf = clone(SMALL).set_params(lr=1e-7).fit(X, Y)
    titles = [s.title for s in clf.diagnostics_.suggest_interventions()]
    assert "Train longer." in titles


@pytest.mark.parametrize(("error", "target"), [(0.0, 0.05), (0.03, 0.05), (0.1, 0.11), (0.2, 0.3)])
def test_the_number_of_rows_is_the_first_that_suffices(error, target):
    def bound(n):
        return binomial_tail_inverse(math.ceil(error * n), n, log_delta=math.log(0.05))

    n = rows_needed(error, target, 0.05)
    assert bound(n) <= target
    assert n == 1 or bound(n - 1) > target


def test_a_wanted_certificate_is_answered(diagnostics):
    last = diagnostics.suggest_interventions(target=diagnostics["held_out_error"] + 0.01)[-1]
    assert last.title.startswith("Certify on ")
    last = diagnostics.suggest_interventions(target=1e-6)[-1]
    assert "No number of rows" in last.title


def test_what_is_not_known_is_nan_with_a_reason():
    clf = clone(SMALL).set_params(protocol=None).fit(X, Y)
    found = clf.diagnostics_
    assert math.isnan(found["held_out_error"])
    assert isinstance(found, Diagnostics)
    assert isinstance(found.suggest_interventions(), list)
    one = clone(SMALL).fit(X, np.zeros(len(X)))
    with pytest.raises(MissingEvidenceError, match="single class"):
        _ = one.diagnostics_


def test_advice_is_searched_on_the_training_side():
    rows, labels = make_classification(260, 6, flip_y=0.3, random_state=0)
    clf = clone(SMALL).set_params(depth=1, max_epochs=30, lr=5e-3, random_state=None)
    search = search_advice(clf, rows, labels, random_state=0)
    assert isinstance(search, BoundSearch)
    assert search.certificate_.n_candidates == 1
    assert search.n_candidates_ == 1 + len(search.advice_) > 1
    certified = search.evidence_.certified.rows
    other = labels.copy()
    other[certified] = 1 - other[certified]
    again = search_advice(clf, rows, other, random_state=0)
    assert again.best_params_ == search.best_params_
    assert [s.title for s in again.advice_] == [s.title for s in search.advice_]


def test_advice_reaches_through_pipelines_and_needs_a_net():
    clf = clone(SMALL).set_params(depth=1, max_epochs=2, random_state=None)
    piped = make_pipeline(FunctionTransformer(), clf)
    assert search_advice(piped, X, Y, random_state=0).n_candidates_ >= 1
    with pytest.raises(MissingEvidenceError, match="TransformerClassifier"):
        search_advice(BoundedClassifier(LogisticRegression()), X, Y)


def _rows(tokenizer):
    rng = np.random.default_rng(0)
    shapes = {"table": (120, 4), "sequence": (120, 4, 3), "patches": (120, 8, 8)}
    if tokenizer == "tokens":
        return rng.integers(1, 9, (120, 4))
    return rng.normal(size=shapes[tokenizer])


@pytest.mark.parametrize("tokenizer", ["table", "sequence", "patches", "tokens"])
def test_rows_of_every_kind(tokenizer):
    X = _rows(tokenizer)
    y = X.reshape(len(X), -1)[:, 0] > np.median(X)
    clf = TransformerClassifier(
        depth=1, width=8, n_heads=2, max_epochs=1, tokenizer=tokenizer, random_state=0
    ).fit(X, y)
    assert len(clf.diagnostics_.to_frame())
    found = measure_all(clf, X, y, [MEASURES["jacobian_norm"]])
    # Ids are looked up: nothing can be differentiated by them, and that is said.
    assert ("token ids" in found.not_computed.get("jacobian_norm", "")) == (tokenizer == "tokens")


@pytest.mark.parametrize(
    "params",
    [
        {"depth": 1, "width": 16, "dropout": 0.3, "weight_decay": 0.5, "label_smoothing": 0.15},
        {"depth": 3, "width": 32, "dropout": 0.5, "weight_decay": 1.0, "label_smoothing": 0.2},
        {"depth": 1, "width": 2, "early_stopping": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("overfitted", [True, False])
def test_advice_goes_where_its_title_says(params, overfitted):
    fitted = clone(SMALL).set_params(n_heads=2, **params).fit(X[:150], Y[:150])
    found = fitted.diagnostics_
    errors = (0.0, 0.5) if overfitted else (0.5, 0.5)
    evaluated = found.evidence.certified
    wrong = np.arange(evaluated.n_samples) < errors[1] * evaluated.n_samples
    evidence = replace(found.evidence, certified=replace(evaluated, zero_one=wrong * 1.0))
    advice = replace(found, training_error=errors[0], evidence=evidence).suggest_interventions()
    assert advice
    own = fitted.get_params()
    for suggestion in advice:
        for name, value in suggestion.params.items():
            assert value != own[name]
            fewer = any(word in suggestion.title for word in ("smaller", "narrower", "attention"))
            assert (value < own[name]) == fewer, suggestion
        if suggestion.params:
            clone(fitted).set_params(**suggestion.params).fit(X[:150], Y[:150])


def test_errors_are_those_of_what_predict_uses():
    rows = np.random.default_rng(1).normal(size=(200, 5))
    labels = np.random.default_rng(2).integers(2, size=200)
    together = clone(SMALL).set_params(protocol=Holdout(n_members=3), max_epochs=20)
    together.fit(rows, labels)
    certified = together.evidence_.certified.rows
    trained = np.setdiff1d(np.arange(200), certified)
    wrong = together.predict(rows) != labels
    found = together.diagnostics_
    assert found["training_error"] == wrong[trained].mean()
    assert found["held_out_error"] == wrong[certified].mean()
    assert found["gap"] == found["held_out_error"] - found["training_error"]
    apart = clone(SMALL).set_params(protocol="progressive").fit(rows, labels).diagnostics_
    # Its nets have seen different rows: no row tells what all of them learnt by heart.
    assert np.isnan(apart["training_error"])
    assert np.isnan(apart["gap"])
