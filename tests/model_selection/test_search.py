"""BoundSearch: one fit per candidate, the fit returned is the fit certified."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skbound import BoundedClassifier, BoundSearch, TransformerClassifier, certify
from skbound.bounds import BinomialBound
from skbound.exceptions import SkboundWarning
from skbound.protocols import Holdout

X, Y = make_classification(300, 5, random_state=0)
TREE = BoundedClassifier(DecisionTreeClassifier())
TINY = TransformerClassifier(protocol="holdout", depth=1, width=8, n_heads=2, max_epochs=3)
GRID = {"width": [8, 16], "lr": [1e-3, 1e-2]}


@pytest.fixture(scope="module")
def search():
    return BoundSearch(TINY, GRID, choose_by="bound", random_state=0, return_estimators=True).fit(
        X, Y
    )


def test_the_returned_fit_is_the_certified_fit(search):
    best = search.best_estimator_
    assert best.generalization_bound_ == search.best_bound_ == search.certificate_.value
    assert search.generalization_bound_ == search.best_bound_ == -search.best_score_
    assert best.certificate_ == search.certificate_ == certify(search)
    assert best is search.estimators_[search.best_index_]
    assert search.certificate_.n_candidates == search.n_candidates_ == 4
    rows = best.evidence_.certified.rows
    errors = (best.predict(X[rows]) != Y[rows]).sum()
    assert best.evidence_.certified.n_errors == errors


def test_every_candidate_is_bounded_at_its_share(search):
    for model, bound in zip(search.estimators_, search.cv_results_["bound"], strict=True):
        evidence = model.evidence_
        assert evidence.n_candidates == 4
        assert bound == pytest.approx(BinomialBound()(evidence, 0.05).value)
    assert search.best_bound_ == search.cv_results_["bound"].min()


def test_the_best_parameters_are_those_of_the_best_fit(search):
    params = search.best_estimator_.get_params()
    assert all(params[name] == value for name, value in search.best_params_.items())
    again = BoundSearch(TINY, GRID, choose_by="bound", random_state=0).fit(X, Y)
    assert again.best_params_ == search.best_params_
    assert not hasattr(again, "estimators_")


def test_results_are_laid_out_as_in_scikit_learn(search):
    frame = pd.DataFrame(search.cv_results_)
    assert len(frame) == 4
    for column in ("params", "param_width", "param_lr", "mean_test_score", "rank_test_score"):
        assert column in frame
    assert list(search.cv_results_["params"]) == list(ParameterGrid(GRID))
    assert search.cv_results_["rank_test_score"][search.best_index_] == 1
    ragged = BoundSearch(
        TINY, [{"width": [8]}, {"lr": [0.01]}], choose_by="bound", random_state=0
    ).fit(X, Y)
    assert ragged.cv_results_["param_width"].mask.tolist() == [False, True]


def test_score_is_accuracy(search):
    assert search.score(X, Y) == np.mean(search.predict(X) == Y)
    assert np.array_equal(search.predict_proba(X), search.best_estimator_.predict_proba(X))
    assert np.array_equal(search.decision_function(X), search.best_estimator_.decision_function(X))
    assert list(search.classes_) == [0, 1]
    assert search.n_features_in_ == 5


def test_the_level_of_the_search():
    strict = BoundSearch(
        TREE, {"estimator__max_depth": [1, 2]}, choose_by="bound", delta=0.01, random_state=0
    )
    strict.fit(X, Y)
    assert strict.certificate_.delta == strict.best_estimator_.delta == 0.01
    loose = clone(strict).set_params(delta=None).fit(X, Y)
    assert loose.certificate_.delta == 0.05
    assert loose.best_bound_ < strict.best_bound_


def test_ties_go_to_the_smaller_brier_loss_and_then_to_the_first():
    table = load_breast_cancer(return_X_y=True)
    model = BoundedClassifier(make_pipeline(StandardScaler(), LogisticRegression()))
    grid = {"estimator__logisticregression__C": [0.001, 0.1, 1.0, 0.1, 10.0]}
    search = BoundSearch(model, grid, choose_by="bound", random_state=0).fit(*table)
    results = search.cv_results_
    tied = np.flatnonzero(results["bound"] == results["bound"].min())
    assert len(tied) > 1
    best = tied[np.argmin(results["certified_brier"][tied])]
    assert search.best_index_ == best


class Moody(LogisticRegression):
    """Fails for some values of C."""

    def fit(self, X, y):
        if self.C > 1:
            raise RuntimeError("C is too large")
        return super().fit(X, y)


def test_a_failed_candidate_costs_only_itself_and_is_counted():
    search = BoundSearch(
        BoundedClassifier(Moody()),
        {"estimator__C": [0.1, 1.0, 10.0]},
        choose_by="bound",
        random_state=0,
    )
    with pytest.warns(FitFailedWarning, match=r"1 of 3 candidates failed.*C is too large"):
        search.fit(X, Y)
    assert search.certificate_.n_candidates == 3
    assert np.isnan(search.cv_results_["bound"][2])
    assert search.cv_results_["rank_test_score"][2] == 3
    with pytest.raises(RuntimeError, match="too large"):
        search.set_params(error_score="raise").fit(X, Y)


def test_width_that_does_not_divide_fails_alone():
    search = BoundSearch(TINY, {"width": [8, 9]}, choose_by="bound", random_state=0)
    with pytest.warns(FitFailedWarning, match="multiple of n_heads"):
        search.fit(X, Y)


def test_choosing_between_kinds_of_classifiers():
    kinds = [LogisticRegression(), DecisionTreeClassifier(), HistGradientBoostingClassifier()]
    search = BoundSearch(
        BoundedClassifier(kinds[0]), {"estimator": kinds}, choose_by="bound", random_state=0
    )
    search.fit(X, Y)
    assert type(search.best_estimator_.estimator_) is type(search.best_params_["estimator"])
    pipeline = Pipeline([("clf", TINY)])
    grid = {"clf": [TINY, BoundedClassifier(LogisticRegression())]}
    assert (
        BoundSearch(pipeline, grid, choose_by="bound", random_state=0).fit(X, Y).n_candidates_ == 2
    )


def test_a_pipeline_warns_once_and_says_so_in_the_certificate():
    pipeline = make_pipeline(StandardScaler(), TINY)
    grid = {"transformerclassifier__width": [8, 16]}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search = BoundSearch(pipeline, grid, choose_by="bound", random_state=0).fit(X, Y)
    assert [w.category for w in caught] == [SkboundWarning]
    assert "standardscaler" in search.certificate_.caveats[0]
    assert "standardscaler" in search.certificate_.statement()


def test_weights_reach_every_fit():
    weights = np.r_[np.ones(200), np.zeros(100)]
    search = BoundSearch(TINY, {"width": [8]}, choose_by="bound", random_state=0).fit(
        X, Y, sample_weight=weights
    )
    best = search.best_estimator_
    assert best.n_samples_fit_ + best.n_samples_certified_ == 200
    pipeline = make_pipeline("passthrough", TINY)
    piped = BoundSearch(
        pipeline, {"transformerclassifier__width": [8]}, choose_by="bound", random_state=0
    )
    piped.fit(X, Y, sample_weight=weights)
    assert piped.best_bound_ == search.best_bound_


def test_a_protocol_of_ones_own_keeps_its_fraction_and_gets_the_common_seed():
    model = clone(TREE).set_params(protocol=Holdout(0.5))
    search = BoundSearch(
        model, {"estimator__max_depth": [1, 2]}, choose_by="bound", random_state=0
    ).fit(X, Y)
    assert search.best_estimator_.n_samples_certified_ == 150
    grid = {"protocol__fraction": [0.2, 0.5]}
    search = BoundSearch(TREE, grid, choose_by="bound", random_state=0, return_estimators=True).fit(
        X, Y
    )
    assert [m.n_samples_certified_ for m in search.estimators_] == [60, 150]


def test_few_rows_end_vacuous_with_a_warning():
    with pytest.warns(SkboundWarning, match="Nothing is certified"):
        search = BoundSearch(TREE, {"estimator__max_depth": [1, 2]}, choose_by="bound").fit(
            X[:80], Y[:80]
        )
    assert search.best_bound_ == 1.0


def test_random_labels_end_vacuous():
    rng = np.random.default_rng(0)
    held = 0
    for seed in range(20):
        labels = rng.integers(2, size=300)
        grid = {"estimator__max_depth": [1, 2, 3, 4, 5, 6]}
        search = BoundSearch(TREE, grid, choose_by="bound", random_state=seed).fit(X, labels)
        held += search.certificate_.vacuous
    assert held >= 19


def test_progress_is_shown_on_request(capsys):
    BoundSearch(TREE, {"estimator__max_depth": [1, 2]}, choose_by="bound", random_state=0).fit(X, Y)
    assert capsys.readouterr().err == ""
    BoundSearch(
        TREE, {"estimator__max_depth": [1, 2]}, choose_by="bound", random_state=0, verbose=1
    ).fit(X, Y)
    assert "smallest_error" in capsys.readouterr().err
