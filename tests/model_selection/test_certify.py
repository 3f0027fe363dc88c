"""certify: the certificate of what predict uses, paid for the choice."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skbound import BoundedClassifier, BoundSearch, FitOnce, bound_scorer, certify
from skbound.bounds import BinomialBound, KLBound
from skbound.exceptions import MissingEvidenceError, SkboundWarning

X, Y = make_classification(300, 5, random_state=0)
TREE = BoundedClassifier(DecisionTreeClassifier(), random_state=0)
GRID = {"estimator__max_depth": [1, 2, 3, 4]}


@pytest.fixture(scope="module")
def model():
    return clone(TREE).fit(X, Y)


def test_a_lone_estimator(model):
    assert certify(model) == model.certificate_
    assert certify(model, "kl").value == model.bounds_["kl"].value
    assert certify(model, KLBound(), delta=0.01).delta == 0.01
    four = certify(model, n_candidates=4)
    assert four.n_candidates == 4
    assert four.value == pytest.approx(BinomialBound()(model.evidence_, 0.05 / 4).value)
    assert "choice among 4 candidates" in four.statement()
    assert sum(four.terms.values()) == pytest.approx(four.value, abs=1e-12)


@pytest.mark.parametrize(
    ("search", "n_candidates"),
    [
        (GridSearchCV(TREE, GRID, scoring=bound_scorer, cv=FitOnce()), 4),
        (GridSearchCV(TREE, GRID, cv=3), 4),
        (RandomizedSearchCV(TREE, GRID, n_iter=3, scoring=bound_scorer, cv=FitOnce()), 3),
        (
            HalvingGridSearchCV(
                TREE, GRID, scoring=bound_scorer, cv=FitOnce(), min_resources=120, random_state=0
            ),
            4,
        ),
        (
            GridSearchCV(
                TREE, GRID, scoring={"b": bound_scorer, "a": "accuracy"}, refit="a", cv=FitOnce()
            ),
            4,
        ),
        (BoundSearch(TREE, GRID, choose_by="bound", random_state=0), 4),
    ],
    ids=["grid", "grid cv=3", "random", "halving", "two scores", "bound search"],
)
def test_searches_pay_for_their_candidates(search, n_candidates):
    search = clone(search).fit(X, Y)
    certificate = certify(search)
    best = search.best_estimator_
    assert certificate.n_candidates == n_candidates
    assert certificate.value == pytest.approx(
        BinomialBound()(best.evidence_, 0.05).value
        if isinstance(search, BoundSearch)
        else BinomialBound()(best.evidence_, 0.05 / n_candidates).value
    )
    rows = best.evidence_.certified.rows
    assert np.array_equal(best.evidence_.certified.zero_one, search.predict(X[rows]) != Y[rows])


def test_nested_choices_multiply():
    inner = BoundSearch(TREE, GRID, choose_by="bound", random_state=0)
    outer = GridSearchCV(
        inner, {"param_grid": [GRID, {"estimator__max_depth": [5, 6]}]},
        scoring=bound_scorer, cv=FitOnce(),
    ).fit(X, Y)  # fmt: skip
    assert certify(outer).n_candidates == 2 * outer.best_estimator_.n_candidates_


def test_candidates_cannot_be_talked_away():
    search = BoundSearch(TREE, GRID, choose_by="bound", random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="at least the 4 that the search recorded, got 1"):
        certify(search, n_candidates=1)
    assert certify(search, n_candidates=9).n_candidates == 9
    with pytest.raises(ValueError, match="at least the 4"):
        certify(search.best_estimator_, n_candidates=2)


def test_no_refitted_winner():
    search = GridSearchCV(TREE, GRID, scoring=bound_scorer, cv=FitOnce(), refit=False).fit(X, Y)
    with pytest.raises(ValueError, match=r"no best_estimator_.*refit=True"):
        certify(search)


class AdaptiveSearch(GridSearchCV):
    """Stands for any search that may look before it proposes."""


def test_adaptive_candidates():
    search = AdaptiveSearch(TREE, GRID, scoring=bound_scorer, cv=FitOnce()).fit(X, Y)
    with pytest.raises(ValueError, match="after looking at scores"):
        certify(search)


def test_wrappers_that_change_predict():
    with pytest.raises(ValueError, match="does not predict what the certified estimator"):
        certify(CalibratedClassifierCV(TREE, cv=2).fit(X, Y))
    with pytest.raises(ValueError, match="BoundedClassifier"):
        certify(LogisticRegression().fit(X, Y))


def test_pipelines_are_walked_with_a_warning():
    pipeline = make_pipeline(StandardScaler(), clone(TREE)).fit(X, Y)
    with pytest.warns(SkboundWarning, match="standardscaler"):
        certificate = certify(pipeline)
    assert "standardscaler" in certificate.caveats[0]
    assert "standardscaler" in certificate.statement()
    assert certificate.value == pipeline[-1].generalization_bound_


@pytest.mark.parametrize("delta", [0.0, 1.0, -1, 7])
def test_bad_levels(model, delta):
    with pytest.raises(ValueError, match=r"delta must lie in \(0, 1\)"):
        certify(model, delta=delta)


def test_bounds_that_need_what_the_fit_did_not_leave():
    no_probabilities = BoundedClassifier(_Votes(), random_state=0).fit(X, Y)
    assert not any(key.startswith("brier") for key in no_probabilities.bounds_)
    with pytest.raises(MissingEvidenceError, match="probabilities"):
        KLBound("brier")(no_probabilities.evidence_)


class _Votes(DecisionTreeClassifier):
    """A classifier without probabilities."""

    predict_proba = None

    def __getattribute__(self, name):
        if name == "predict_proba":
            raise AttributeError(name)
        return super().__getattribute__(name)


def test_without_certified_rows_nothing_is_certified():
    model = clone(TREE).set_params(protocol=None).fit(X, Y)
    assert certify(model, "kl").value == 1.0
    assert certify(model, n_candidates=7).name == "none"
