"""Parameters in searches, scoring by bound, early stopping inside folds, sizes of the parts."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.tree import DecisionTreeClassifier

from skbound import (
    BoundedClassifier,
    BoundSearch,
    FitOnce,
    TransformerClassifier,
    bound_scorer,
    certify,
)
from skbound.protocols import Holdout

X, Y = make_classification(400, 8, n_informative=5, random_state=0)


def small(**params):
    return TransformerClassifier(
        **{
            "protocol": "holdout",
            "depth": 1,
            "width": 16,
            "max_epochs": 2,
            "random_state": 0,
            **params,
        },
    )


@pytest.fixture(scope="module")
def plain():
    return small().fit(X, Y)


GRID = {"depth": [1, 2], "width": [8, 16], "dropout": [0.0, 0.2], "weight_decay": [0.0, 1e-2]}


@pytest.mark.parametrize("search", [GridSearchCV, RandomizedSearchCV, BoundSearch])
def test_G1_all_names_can_be_searched(search):
    """Everything about the net is a parameter of the classifier itself, bare or in a pipeline."""
    own = {} if search is BoundSearch else {"scoring": bound_scorer, "cv": FitOnce()}
    own |= {"n_iter": 4, "random_state": 0} if search is RandomizedSearchCV else {}
    piped = Pipeline([("pass", "passthrough"), ("tc", small(max_epochs=1))])
    grid = {f"tc__{name}": values for name, values in GRID.items()}
    found = search(piped, grid, **own).fit(X, Y)
    assert set(found.best_params_) == set(grid)
    assert set(GRID) <= set(small().get_params())
    params = found.best_estimator_.get_params()
    assert found.best_params_.items() <= params.items()


@pytest.mark.parametrize(
    "typo", ["hidden", "widht", "module__hidden", "optimizer__betas", "callbacks__lr", "lr__max"]
)
@pytest.mark.parametrize("search", [GridSearchCV, BoundSearch])
@pytest.mark.parametrize("prefix", ["", "tc__"])
def test_G1_a_typo_gets_the_list_of_names(typo, search, prefix):
    model = Pipeline([("tc", small())]) if prefix else small()
    with pytest.raises(ValueError, match=r"(?s)Invalid parameter.*'weight_decay'"):
        search(model, {f"{prefix}{typo}": [1, 2]}).fit(X, Y)


@pytest.mark.parametrize("prefix", ["", "tc__"])
def test_G1_names_of_parts(prefix):
    model = Pipeline([("tc", small())]) if prefix else small()
    grid = {f"{prefix}protocol__fraction": [0.1, 0.4]}
    search = GridSearchCV(model, grid, scoring=bound_scorer, cv=FitOnce()).fit(X, Y)
    assert len(set(search.cv_results_["mean_test_score"])) == 2


PARAMETERS = {
    "depth": (1, 2),
    "width": (8, 16),
    "n_heads": (1, 4),
    "dropout": (0.0, 0.4),
    "pooling": ("cls", "mean"),
    "max_epochs": (1, 2),
    "batch_size": (32, 400),
    "lr": (1e-5, 1e-2),
    "optimizer": ("adamw", "adam"),
    "weight_decay": (0.0, 0.9),
    "label_smoothing": (0.0, 0.4),
    "gradient_clip": (None, 0.01),
    "early_stopping": (False, True),
    "class_weight": (None, {0: 1, 1: 9}),
    "dtype": ("float32", "float64"),
    "protocol": ("holdout", Holdout(0.4)),
    "random_state": (0, 1),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_G2_a_parameter_has_an_effect(name):
    """Every value of a grid reaches the training: other values, other probabilities."""
    one, other = (clone(small()).set_params(**{name: value}) for value in PARAMETERS[name])
    one, other = one.fit(X, Y), other.fit(X, Y)
    assert not np.array_equal(one.predict_proba(X), other.predict_proba(X))


def test_G2_every_other_parameter_of_early_stopping_has_an_effect():
    base = small(early_stopping=True, max_epochs=12, lr=0.3, n_iter_no_change=1)
    patient = clone(base).set_params(n_iter_no_change=11).fit(X, Y)
    base = base.fit(X, Y)
    assert base.n_iter_ < patient.n_iter_
    larger = clone(base).set_params(validation_fraction=0.5).fit(X, Y)
    assert larger.n_samples_validation_ == 160 > base.n_samples_validation_


@pytest.mark.parametrize("scoring", [None, "neg_log_loss", bound_scorer])
def test_G2_scores_of_a_grid_differ(scoring):
    search = GridSearchCV(small(), {"lr": [1e-5, 1e-2]}, scoring=scoring, cv=3).fit(X, Y)
    assert len(set(search.cv_results_["mean_test_score"])) == 2


FITS = []


class Counted(TransformerClassifier):
    def fit(self, X, y, sample_weight=None):
        FITS.append(len(X))
        return super().fit(X, y, sample_weight)


ALL = np.arange(len(X))


@pytest.mark.parametrize("cv", [FitOnce(), [(ALL, ALL)]], ids=["FitOnce", "indices"])
@pytest.mark.parametrize("refit", [True, False])
def test_G3_one_fit_per_candidate(cv, refit):
    """A criterion of the fit itself needs no folds: one fit per candidate, on all rows."""
    FITS.clear()
    model = Counted(protocol="holdout", depth=1, width=16, max_epochs=1, random_state=0)
    grid = {"lr": [1e-3, 1e-2, 3e-2]}
    search = GridSearchCV(model, grid, scoring=bound_scorer, cv=cv, refit=refit).fit(X, Y)
    assert [400] * (3 + refit) == FITS
    if not refit:
        return
    own = search.best_estimator_.certificate_
    paid = certify(search)
    assert search.best_score_ == -own.value
    assert (paid.n_candidates, paid.delta) == (3, own.delta)
    assert paid.value > own.value
    assert search.best_estimator_.n_samples_certified_ == 80


@pytest.mark.parametrize("return_estimators", [True, False])
def test_G3_the_own_search_fits_once_and_pays(return_estimators):
    FITS.clear()
    model = Counted(depth=1, width=16, max_epochs=1)
    search = BoundSearch(
        model,
        {"lr": [1e-3, 1e-2]},
        choose_by="bound",
        random_state=0,
        return_estimators=return_estimators,
    ).fit(X, Y)
    assert FITS == [400] * 2
    assert search.certificate_.n_candidates == search.n_candidates_ == 2
    unpaid = clone(search.best_estimator_).fit(X, Y)
    assert np.array_equal(unpaid.predict_proba(X), search.predict_proba(X))
    assert unpaid.generalization_bound_ < search.generalization_bound_


@pytest.mark.parametrize(
    "rows",
    [(X, Y), (None, None), (X[:3], Y[:3]), (X * np.nan, Y), (X[:, :2], 1 - Y), ("nothing", 3)],
    ids=["same", "none", "few", "nan", "other", "nonsense"],
)
def test_G4_the_scorer_does_not_look_at_new_rows(rows, plain):
    """The bound belongs to the fit; rows passed to the scorer change nothing."""
    assert bound_scorer(plain, *rows) == -plain.generalization_bound_
    assert bound_scorer(make_pipeline("passthrough", plain), *rows) == -plain.generalization_bound_


def test_G4_is_documented():
    assert "not looked at" in type(bound_scorer).__doc__


def test_G4_test_folds_do_not_matter(plain):
    found = cross_validate(
        small(), X, Y, cv=[(ALL, ALL[:5]), (ALL, ALL[200:])], scoring=bound_scorer
    )
    assert found["test_score"].tolist() == [-plain.generalization_bound_] * 2


def _smallest(cv_results):
    return int(np.argmax(cv_results.get("mean_test_b", cv_results.get("mean_test_score"))))


TWO_SCORES = {"acc": "accuracy", "b": bound_scorer}


@pytest.mark.parametrize("refit", ["b", "acc"])
def test_G5_several_scores(refit):
    """With several scores, the best one, its bound and the search's score are all there."""
    search = GridSearchCV(small(), {"lr": [1e-3, 1e-2]}, scoring=TWO_SCORES, refit=refit, cv=2)
    search.fit(X, Y)
    assert search.best_score_ == search.cv_results_[f"mean_test_{refit}"].max()
    assert 0.0 < search.best_estimator_.generalization_bound_ < 1.0
    expected = (
        -search.best_estimator_.generalization_bound_
        if refit == "b"
        else search.best_estimator_.score(X, Y)
    )
    assert search.score(X, Y) == expected
    assert certify(search).n_candidates == 2


@pytest.mark.parametrize("scoring", [TWO_SCORES, bound_scorer], ids=["two", "one"])
def test_G5_choice_by_a_function(scoring):
    search = GridSearchCV(
        small(), {"lr": [1e-3, 1e-2]}, scoring=scoring, refit=_smallest, cv=FitOnce()
    ).fit(X, Y)
    best = search.best_estimator_
    assert search.best_index_ == _smallest(search.cv_results_)
    assert certify(search).value > best.generalization_bound_
    assert search.predict(X).shape == (400,)
    if scoring is bound_scorer:
        assert search.score(X, Y) == -best.generalization_bound_


def test_G5_the_own_search_has_all_of_it():
    search = BoundSearch(small(), {"lr": [1e-3, 1e-2]}, choose_by="bound", random_state=0).fit(X, Y)
    assert search.best_score_ == -search.best_estimator_.generalization_bound_
    assert search.score(X, Y) == np.mean(search.predict(X) == Y)


@pytest.mark.parametrize("scoring", [None, bound_scorer])
@pytest.mark.parametrize("name", ["lr", "early_stopping"])
def test_E1_early_stopping_inside_a_search(scoring, name):
    """A search over a classifier that stops early runs, with every validation loss there."""
    grid = {"lr": [1e-3, 1e-2], "early_stopping": [False, True]}
    search = GridSearchCV(
        small(early_stopping=True), {name: grid[name]}, scoring=scoring, cv=2, error_score="raise"
    ).fit(X, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    best = search.best_estimator_
    assert all(("valid_loss" in epoch) == best.early_stopping for epoch in best.history_)


def test_E1_the_split_stays_inside_the_training_fold():
    half = ALL[:200], ALL[200:]
    spoilt = X.copy()
    spoilt[half[1]] = 1e6
    labels = np.concatenate([Y[:200], 1 - Y[200:]])
    fits = [
        cross_validate(small(early_stopping=True), *data, cv=[half], return_estimator=True)
        for data in [(X, Y), (spoilt, labels)]
    ]
    one, other = (fit["estimator"][0] for fit in fits)
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X))
    parts = (one.n_samples_fit_, one.n_samples_certified_, one.n_samples_validation_)
    assert parts == (144, 40, 16)


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, (320, 80, 0)),
        ({"early_stopping": True}, (288, 80, 32)),
        ({"early_stopping": True, "validation_fraction": 0.5}, (160, 80, 160)),
        ({"protocol": None}, (400, 0, 0)),
        ({"protocol": None, "early_stopping": True}, (360, 0, 40)),
        ({"protocol": Holdout(0.5)}, (200, 200, 0)),
    ],
    ids=["default", "stopping", "half", "all_rows", "all_rows_stopping", "half_certified"],
)
def test_E2_every_row_is_accounted_for(params, expected):
    """How many rows were trained on, certified on and used for stopping is written down."""
    model = small(**params, max_epochs=1).fit(X, Y)
    parts = model.n_samples_fit_, model.n_samples_certified_, model.n_samples_validation_
    assert parts == expected
    certified = model.evidence_.certified
    assert (0 if certified is None else len(np.unique(certified.rows))) == expected[1]
    assert model.certificate_.n_certified == expected[1]


def test_E2_sizes_of_a_wrapped_classifier():
    model = BoundedClassifier(DecisionTreeClassifier(), random_state=0).fit(X, Y)
    parts = model.n_samples_fit_, model.n_samples_certified_, model.n_samples_validation_
    assert parts == (320, 80, 0)


@pytest.mark.parametrize("early_stopping", [False, True])
def test_E2_certified_rows_decide_nothing(early_stopping):
    model = small(early_stopping=early_stopping, class_weight="balanced", max_epochs=4)
    first = clone(model).fit(X, Y)
    rows = first.evidence_.certified.rows
    spoilt, labels = X.copy(), Y.copy()
    spoilt[rows], labels[rows] = 1e3, 1 - labels[rows]
    second = clone(model).fit(spoilt, labels)
    assert np.array_equal(first.predict_proba(X), second.predict_proba(X))
    assert first.n_iter_ == second.n_iter_
    assert first.generalization_bound_ != second.generalization_bound_
