"""The scorer and FitOnce inside everything of scikit-learn that takes a scorer."""

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    validation_curve,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skbound import (
    BoundedClassifier,
    BoundScorer,
    BoundSearch,
    FitOnce,
    TransformerClassifier,
    bound_scorer,
)
from skbound.exceptions import SkboundWarning

X, Y = make_classification(300, 5, random_state=0)
TREE = BoundedClassifier(DecisionTreeClassifier(), random_state=0)
GRID = {"estimator__max_depth": [1, 2, 3]}
TINY = TransformerClassifier(
    protocol="holdout", depth=1, width=8, n_heads=2, max_epochs=2, random_state=0
)


def test_fit_once():
    ((train, test),) = FitOnce().split(X)
    assert np.array_equal(train, np.arange(300))
    assert np.array_equal(test, train)
    assert FitOnce().get_n_splits() == 1


def test_the_score_is_minus_the_bound_whatever_the_rows():
    model = clone(TREE).fit(X, Y)
    score = bound_scorer(model, X, Y)
    assert type(score) is float
    assert score == -model.generalization_bound_ == bound_scorer(model)
    assert score == bound_scorer(model, X[:3], 1 - Y[:3])


@pytest.mark.parametrize(
    "search",
    [
        GridSearchCV(TREE, GRID, scoring=bound_scorer, cv=FitOnce()),
        RandomizedSearchCV(TREE, GRID, n_iter=2, scoring=bound_scorer, cv=FitOnce()),
        HalvingGridSearchCV(
            TREE, GRID, scoring=bound_scorer, cv=FitOnce(), min_resources=120, random_state=0
        ),
        GridSearchCV(
            TREE, GRID, scoring={"bound": bound_scorer, "acc": "accuracy"}, refit="bound",
            cv=FitOnce(),
        ),
        GridSearchCV(TREE, GRID, scoring=bound_scorer, cv=3),
        GridSearchCV(TREE, GRID, scoring=bound_scorer, cv=FitOnce(), n_jobs=2),
    ],
    ids=lambda s: f"{type(s).__name__}-{s.cv}-{s.n_jobs}-{type(s.scoring).__name__}",
)  # fmt: skip
def test_searches(search):
    search.fit(X, Y)
    assert -1.0 < search.best_score_ < 0.0
    if isinstance(search.cv, FitOnce) and not isinstance(search, HalvingGridSearchCV):
        assert search.best_score_ == -search.best_estimator_.generalization_bound_


def test_grid_over_the_transformer_inside_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), TINY)
    grid = {"transformerclassifier__width": [8, 16]}
    search = GridSearchCV(pipeline, grid, scoring=bound_scorer, cv=FitOnce())
    with pytest.warns(SkboundWarning, match="fitted on all rows"):
        search.fit(X, Y)
    quiet = BoundScorer(on_pipeline="ignore")
    search.set_params(scoring=quiet).fit(X, Y)


def test_steps_that_learn_nothing_are_no_reason_to_warn():
    model = make_pipeline(FunctionTransformer(), "passthrough", clone(TREE)).fit(X, Y)
    assert bound_scorer(model) == -model[-1].generalization_bound_


def test_other_users_of_scorers():
    model = clone(TREE)
    assert cross_val_score(model, X, Y, scoring=bound_scorer, cv=3).shape == (3,)
    result = cross_validate(
        model, X, Y, scoring={"bound": bound_scorer, "acc": "accuracy"}, cv=FitOnce(),
        return_estimator=True,
    )  # fmt: skip
    assert result["test_bound"][0] == -result["estimator"][0].generalization_bound_
    sizes, _, scores = learning_curve(
        model, X, Y, scoring=bound_scorer, cv=FitOnce(), train_sizes=[150, 300]
    )
    assert scores.shape == (len(sizes), 1)
    validation_curve(
        model, X, Y, param_name="estimator__max_depth", param_range=[1, 2], scoring=bound_scorer,
        cv=FitOnce(),
    )  # fmt: skip
    permutation_test_score(model, X, Y, scoring=bound_scorer, cv=FitOnce(), n_permutations=3)


def test_sample_weights_and_metadata_routing():
    weights = np.ones(300)
    scoring = {"bound": bound_scorer, "acc": "accuracy"}
    search = GridSearchCV(TREE, GRID, scoring=scoring, refit="bound", cv=FitOnce())
    search.fit(X, Y, sample_weight=weights)
    with config_context(enable_metadata_routing=True):
        GridSearchCV(TREE, GRID, scoring=bound_scorer, cv=FitOnce()).fit(X, Y)


def test_transparent_wrappers():
    model = clone(TREE).fit(X, Y)
    score = -model.generalization_bound_
    assert bound_scorer(FrozenEstimator(model)) == score
    search = GridSearchCV(TREE, GRID, scoring=bound_scorer, cv=FitOnce()).fit(X, Y)
    # The inner search chose among three with the help of the certified rows.
    assert bound_scorer(search) == BoundScorer(n_candidates=3)(search.best_estimator_)
    search = BoundSearch(TREE, GRID, choose_by="bound", random_state=0).fit(X, Y)
    assert bound_scorer(search) == search.best_score_


WRAPPERS = {
    "calibrated": CalibratedClassifierCV(TREE, cv=2),
    "threshold": FixedThresholdClassifier(TREE, threshold=0.3),
    "tuned threshold": TunedThresholdClassifierCV(TREE, cv=2),
    "bagging": BaggingClassifier(TREE, 2),
    "voting": VotingClassifier([("a", TREE), ("b", clone(TREE))]),
    "one versus rest": OneVsRestClassifier(TREE),
}


@pytest.mark.parametrize("wrapper", WRAPPERS.values(), ids=WRAPPERS)
def test_wrappers_that_predict_something_else(wrapper):
    y = np.digitize(X[:, 0], [-0.5, 0.5]) if "Rest" in type(wrapper).__name__ else Y
    wrapper = clone(wrapper).fit(X, y)
    with pytest.raises(ValueError, match="does not predict what the certified estimator"):
        bound_scorer(wrapper)
    values = {how: BoundScorer(reduce=how)(wrapper) for how in ("mean", "max", "sum")}
    assert values["sum"] <= values["max"] <= values["mean"] < 0


def test_a_wrapper_inside_is_certified_as_a_whole():
    model = BoundedClassifier(CalibratedClassifierCV(DecisionTreeClassifier(), cv=2)).fit(X, Y)
    assert bound_scorer(model) == -model.generalization_bound_


def test_without_a_certificate():
    with pytest.raises(ValueError, match=r"no certificate.*BoundedClassifier"):
        bound_scorer(LogisticRegression().fit(X, Y))
    with pytest.raises(NotFittedError):
        bound_scorer(clone(TREE))
    with pytest.raises(ValueError, match="on_pipeline must be"):
        BoundScorer(on_pipeline="wran")(clone(TREE).fit(X, Y))
    with pytest.raises(ValueError, match="reduce must be one of"):
        BoundScorer(reduce="median")(clone(TREE).fit(X, Y))


def test_delta_bound_and_candidates():
    model = clone(TREE).fit(X, Y)
    alone = -bound_scorer(model)
    assert -BoundScorer(delta=0.01)(model) > alone
    assert BoundScorer(n_candidates=5)(model) == pytest.approx(BoundScorer(delta=0.01)(model))
    assert -BoundScorer("hoeffding")(model) > alone


def test_vacuous_bounds_are_ranked():
    y = np.random.default_rng(0).integers(2, size=300)
    search = GridSearchCV(
        BoundedClassifier(DecisionTreeClassifier(), bound="hoeffding", random_state=0),
        GRID, scoring=BoundScorer(delta=1e-9), cv=FitOnce(),
    ).fit(X, y)  # fmt: skip
    scores = search.cv_results_["mean_test_score"]
    assert (scores < -0.7).all()
    assert np.isfinite(scores).all()


def test_it_is_a_value():
    assert BoundScorer("kl", delta=0.1) == pickle.loads(pickle.dumps(BoundScorer("kl", delta=0.1)))
    assert BoundScorer("kl") != BoundScorer()
    assert hash(BoundScorer()) == hash(bound_scorer)
    assert "BoundScorer(bound=None" in repr(bound_scorer)
    assert bound_scorer.__name__ == "neg_generalization_bound"
