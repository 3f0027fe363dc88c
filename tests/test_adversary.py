"""Ways in which ordinary use could have made a false certificate; each is refused or paid for."""

import warnings

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.discovery import all_estimators
from skorch.callbacks import Callback

from skbound import (
    BoundedClassifier,
    BoundScorer,
    BoundSearch,
    FitOnce,
    TransformerClassifier,
    bound_scorer,
    certify,
)
from skbound._random_state import draw_seed
from skbound.bounds import BinomialBound
from skbound.protocols import DescriptionLength, FrozenFeatures, Holdout

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 5))
NOISE = RNG.integers(0, 2, 500)
Y = (X[:, 0] > 0).astype(int)
TREE = BoundedClassifier(DecisionTreeClassifier(), random_state=0)
GRID = {"estimator__max_depth": [1, 2, 3]}
TINY = TransformerClassifier(
    protocol="holdout", depth=1, width=8, n_heads=2, max_epochs=2, random_state=0
)


class Other(GridSearchCV):
    """A search that scikit-learn does not know."""


@pytest.mark.parametrize(
    "inner",
    [
        BoundSearch(TREE, GRID, choose_by="bound"),
        GridSearchCV(TREE, GRID, scoring=bound_scorer, cv=FitOnce()),
        make_pipeline("passthrough", GridSearchCV(TREE, GRID, scoring=bound_scorer, cv=FitOnce())),
        CalibratedClassifierCV(TREE),
    ],
    ids=lambda inner: type(inner).__name__,
)
def test_candidates_that_choose_for_themselves_are_refused(inner):
    with pytest.raises(ValueError, match="carries no certificate of its own"):
        BoundSearch(inner, {}, choose_by="bound", random_state=0).fit(X, Y)


class Liar(ClassifierMixin, BaseEstimator):
    """Predicts a label that it never saw."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.ones((len(X), 1), dtype=int)


def test_labels_that_do_not_exist_are_errors():
    model = BoundedClassifier(Liar(), random_state=0).fit(X, 2 * Y)
    assert model.evidence_.certified.error == 1.0
    assert model.generalization_bound_ == 1.0


@pytest.mark.parametrize(
    "frozen",
    [
        lambda tree: FrozenEstimator(tree),
        lambda tree: CalibratedClassifierCV(FrozenEstimator(tree)),
        lambda tree: make_pipeline("passthrough", FrozenEstimator(tree)),
    ],
)
def test_what_was_fitted_before_is_refused(frozen):
    tree = DecisionTreeClassifier().fit(X, NOISE)
    with pytest.raises(ValueError, match="FrozenEstimator"):
        BoundedClassifier(frozen(tree), random_state=0).fit(X, NOISE)


def test_precomputed_kernels_are_refused():
    with pytest.raises(ValueError, match="precomputed"):
        BoundedClassifier(SVC(kernel="precomputed")).fit(X @ X.T, Y)


def test_steps_that_work_in_place():
    rows = 0.05 * X
    expected, model = (
        BoundedClassifier(
            make_pipeline(StandardScaler(copy=copy), LogisticRegression(C=0.003)), random_state=0
        ).fit(rows.copy(), Y)
        for copy in (True, False)
    )
    for key, certificate in expected.bounds_.items():
        assert model.bounds_[key].value == pytest.approx(certificate.value), key


def test_steps_that_learnt_from_labels_of_certified_rows():
    noise = RNG.normal(size=(150, 2000))
    labels = RNG.integers(0, 2, 150)
    model = make_pipeline(SelectKBest(k=10), clone(TREE)).fit(noise, labels)
    for use in (certify, bound_scorer, BoundScorer(reduce="mean")):
        with pytest.raises(ValueError, match="learnt from the labels of certified rows"):
            use(model)
    inside = BoundedClassifier(make_pipeline(SelectKBest(k=10), DecisionTreeClassifier()))
    assert inside.fit(noise, labels).certificate_.vacuous


def test_a_frozen_end_behind_other_steps():
    model = clone(TREE).fit(X, Y)
    with pytest.raises(ValueError, match="frozen last step"):
        certify(make_pipeline(StandardScaler(), FrozenEstimator(model)).fit(X, Y))
    assert certify(FrozenEstimator(model)) == model.certificate_
    search = GridSearchCV(TREE, GRID, scoring=bound_scorer, cv=FitOnce()).fit(X, Y)
    assert certify(FrozenEstimator(search)).n_candidates == 3


def test_adaptive_searches_are_refused_wherever_they_are():
    other = Other(TREE, GRID, scoring=bound_scorer, cv=FitOnce())
    for model in (other, make_pipeline("passthrough", other)):
        model = clone(model).fit(X, Y)
        for use in (certify, bound_scorer):
            with pytest.raises(ValueError, match="after looking at scores"):
                use(model)


def test_a_level_chosen_by_a_grid_is_refused():
    search = GridSearchCV(TREE, {"delta": [0.01, 0.5]}, scoring=bound_scorer, cv=FitOnce())
    with pytest.raises(ValueError, match="grid holds delta"):
        certify(search.fit(X, Y))
    pipeline = make_pipeline(TREE)
    grid = {
        "boundedclassifier": [
            BoundedClassifier(DecisionTreeClassifier(), delta=delta) for delta in (0.9, 0.01)
        ]
    }
    with pytest.raises(ValueError, match=r"one delta, got \[0.01, 0.9\]"):
        BoundSearch(pipeline, grid, choose_by="bound").fit(X, Y)
    assert (
        BoundSearch(pipeline, grid, choose_by="bound", delta=0.1).fit(X, Y).certificate_.delta
        == 0.1
    )


def test_fitting_the_winner_again_does_not_make_the_choice_free():
    search = BoundSearch(TREE, GRID, choose_by="bound", random_state=0).fit(X, Y)
    search.best_estimator_.fit(X, Y)
    assert certify(search).n_candidates == 3
    assert bound_scorer(search) == -certify(search).value


@pytest.mark.parametrize("n_candidates", [float("nan"), 1.5, "3", 0, -1])
def test_numbers_of_candidates_are_positive_integers(n_candidates):
    model = clone(TREE).fit(X, Y)
    with pytest.raises((ValueError, TypeError)):
        certify(model, n_candidates=n_candidates)
    with pytest.raises((ValueError, TypeError)):
        BoundScorer(n_candidates=n_candidates)(model)


@pytest.mark.parametrize(
    ("delta", "words"),
    [
        (0.05, "95 %"),
        (0.01, "99 %"),
        (0.1, "90 %"),
        (1e-7, "99.99999 %"),
        (1e-9, "99.9999999 %"),
        (1 / 3, "66.66 %"),
        (0.0025, "99.75 %"),
    ],
)
def test_the_level_in_words_is_never_rounded_up(delta, words):
    model = clone(TREE).set_params(delta=delta).fit(X, Y)
    assert f"at least {words} over" in model.certificate_.statement()


@pytest.mark.parametrize("delta", [1e-300, 1e-12, 0.6, 0.999])
def test_extreme_levels(delta):
    model = clone(TREE).set_params(delta=delta).fit(X, Y)
    assert all(np.isfinite(c.value) for c in model.bounds_.values())
    with pytest.raises(ValueError, match="'delta' parameter"):
        clone(TREE).set_params(delta=5e-324).fit(X, Y)


class Interrupt(Callback):
    """Stands for Ctrl-C in the middle of an epoch."""

    def on_train_begin(self, net, **kwargs):
        step = net.train_step

        def interrupted(*args, **kwargs):
            if len(net.history) == 3:
                raise KeyboardInterrupt
            return step(*args, **kwargs)

        net.train_step = interrupted


class Stop(Callback):
    """Stops the training as skorch's callbacks do."""

    def on_epoch_end(self, net, **kwargs):
        if len(net.history) == 3:
            raise KeyboardInterrupt


def test_an_interrupt_gets_through_and_a_stop_does_not():
    model = clone(TINY).set_params(max_epochs=9)
    with pytest.raises(KeyboardInterrupt):
        clone(model).set_params(callbacks=[Interrupt()]).fit(X, Y)
    search = BoundSearch(
        model.set_params(callbacks=[Interrupt()]), {"width": [8, 16]}, choose_by="bound"
    )
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)
    stopped = clone(model).set_params(callbacks=[Stop()]).fit(X, Y)
    assert stopped.n_iter_ == 3


@pytest.mark.parametrize("n_jobs", [2, 4])
def test_warning_filters_survive_threads(n_jobs):
    before = list(warnings.filters), warnings._showwarnmsg_impl
    with parallel_config(backend="threading"):
        BoundSearch(TREE, GRID, choose_by="bound", n_jobs=n_jobs, random_state=0).fit(X, Y)
    assert (list(warnings.filters), warnings._showwarnmsg_impl) == before


def test_a_certified_classifier_inside_trains_on_all_rows_it_gets():
    model = BoundedClassifier(make_pipeline(StandardScaler(), TINY), random_state=0).fit(X, Y)
    assert model.n_samples_fit_ == 400
    assert model.estimator_[-1].n_samples_fit_ == 400
    grid = {"estimator": [TINY, LogisticRegression()]}
    assert (
        BoundSearch(BoundedClassifier(TINY), grid, choose_by="bound", random_state=0)
        .fit(X, Y)
        .n_candidates_
        == 2
    )


def test_weights_of_certified_rows_do_not_reach_the_training():
    weights = RNG.uniform(0.5, 2.0, size=500)
    first = clone(TINY).fit(X, Y, sample_weight=weights)
    other = weights.copy()
    other[first.evidence_.certified.rows] *= 1e3
    second = clone(TINY).fit(X, Y, sample_weight=other)
    assert np.array_equal(first.predict_proba(X), second.predict_proba(X))


def test_results_of_an_earlier_fit_do_not_linger():
    search = BoundSearch(TREE, GRID, choose_by="bound", random_state=0, return_estimators=True).fit(
        X, Y
    )
    search.set_params(return_estimators=False).fit(X, Y)
    assert not hasattr(search, "estimators_")
    model = clone(TINY).fit(X, Y)
    model.fit(X[:, :4].reshape(500, 2, 2), Y)
    model.fit(X[:, :3], Y)
    assert not hasattr(model, "n_tokens_in_")


def test_rows_far_beyond_those_of_fit():
    model = clone(TINY).fit(X * 1e-10, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(model.predict_proba(np.full((2, 5), 1.7e308))).all()
    assert np.isfinite(
        clone(TINY).fit(X, Y, sample_weight=np.full(500, 1e308)).predict_proba(X)
    ).all()


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_class_weights_are_finite_and_not_negative(weight):
    with pytest.raises(ValueError, match="class_weight must hold finite weights"):
        clone(TINY).set_params(class_weight={0: 1.0, 1: weight}).fit(X, Y)


def test_protocols_that_make_no_sense():
    with pytest.raises(ValueError, match="fraction must be 'auto' or in"):
        clone(TREE).set_params(protocol=Holdout(None)).fit(X, Y)
    with pytest.raises(ValueError, match="Invalid parameter 'fraction'"):
        clone(TREE).set_params(protocol=None).set_params(protocol__fraction=0.2)
    with pytest.raises(TypeError, match="tokenizer must be"):
        clone(TINY).set_params(tokenizer=StandardScaler()).fit(X, Y)
    with pytest.raises(TypeError, match="optimizer must be"):
        clone(TINY).set_params(optimizer=print).fit(X, Y)


def test_bounds_are_computed_when_asked_for_at_the_level_of_the_fit():
    model = clone(TREE).fit(X, Y)
    expected = model.bounds_["binomial"].value
    assert expected == BinomialBound()(model.evidence_, 0.05).value
    assert model.set_params(delta=0.5).bounds_["binomial"].value == expected
    # Nor does another level or bound come into it by a look that was not paid for.
    assert certify(model.set_params(bound="kl")) == model.certificate_
    assert -bound_scorer(model) == model.generalization_bound_
    assert certify(model, delta=0.5).delta == 0.5
    assert "bounds_" not in vars(model)


def test_missing_values_are_for_the_estimator_to_judge():
    holes = np.where(RNG.uniform(size=X.shape) < 0.1, np.nan, X)
    for estimator in (
        make_pipeline(SimpleImputer(), LogisticRegression()),
        HistGradientBoostingClassifier(max_iter=5),
        CalibratedClassifierCV(HistGradientBoostingClassifier(max_iter=5), cv=2),
    ):
        model = BoundedClassifier(estimator, random_state=0).fit(holes, Y)
        assert model.predict(holes).shape == (500,)
        assert model.certificate_.value < 0.5
    with pytest.raises(ValueError, match="Input X contains NaN"):
        BoundedClassifier(LogisticRegression()).fit(holes, Y)
    with pytest.raises(ValueError, match="Input X contains infinity"):
        BoundedClassifier(SimpleImputer()).set_params(estimator=LogisticRegression()).fit(
            np.where(np.isnan(holes), np.inf, holes), Y
        )


CLASSIFIERS = dict(all_estimators(type_filter="classifier"))
# Several outputs, and features that are categories.
OTHER_TASKS = {"ClassifierChain", "MultiOutputClassifier", "CategoricalNB"}
INNER = LogisticRegression()
NEEDS = {
    "FixedThresholdClassifier": {"estimator": INNER},
    "OneVsOneClassifier": {"estimator": INNER},
    "OneVsRestClassifier": {"estimator": INNER},
    "OutputCodeClassifier": {"estimator": INNER},
    "SelfTrainingClassifier": {"estimator": INNER},
    "StackingClassifier": {"estimators": [("a", INNER)]},
    "TunedThresholdClassifierCV": {"estimator": INNER},
    "VotingClassifier": {"estimators": [("a", INNER)]},
    "RadiusNeighborsClassifier": {"outlier_label": 0},
}


@pytest.mark.parametrize("name", sorted(CLASSIFIERS.keys() - OTHER_TASKS))
@pytest.mark.filterwarnings("ignore")
def test_every_classifier_of_scikit_learn_can_be_bounded(name):
    rows, y = X[:200], Y[:200]
    if name.endswith("NB") and name != "GaussianNB":
        rows = np.abs(rows)
    model = BoundedClassifier(CLASSIFIERS[name](**NEEDS.get(name, {})), random_state=0)
    certified = model.fit(rows, y).evidence_.certified
    predicted = np.ravel(model.predict(rows[certified.rows]))
    assert np.array_equal(predicted != y[certified.rows], certified.zero_one)


class MeansOfClasses(TransformerMixin, BaseEstimator):
    """A user's step that needs the labels, and has no tag that says so."""

    def fit(self, X, y):
        self.means_ = np.array([X[y == label].mean(axis=0) for label in np.unique(y)])
        return self

    def transform(self, X):
        return X @ self.means_.T


@pytest.mark.parametrize(
    "step",
    [
        FeatureUnion([("select", SelectKBest(k=2))]),
        ColumnTransformer([("select", SelectKBest(k=2), slice(0, 5))]),
        make_pipeline(StandardScaler(), SelectKBest(k=2)),
        make_pipeline(FeatureUnion([("inside", make_pipeline(SelectKBest(k=2)))])),
        FrozenEstimator(SelectKBest(k=2).fit(X, NOISE)),
        FeatureUnion([("frozen", FrozenEstimator(SelectKBest(k=2).fit(X, NOISE)))]),
        FrozenEstimator(make_pipeline(StandardScaler(), SelectKBest(k=2)).fit(X, NOISE)),
        MeansOfClasses(),
    ],
    ids=["union", "columns", "pipeline", "nested", "frozen", "frozen in", "frozen around", "own"],
)
def test_steps_that_saw_the_labels_are_refused_at_any_depth(step):
    fitted = make_pipeline(step, TREE).fit(X, NOISE)
    with pytest.raises(ValueError, match="learnt from the labels"):
        certify(fitted)


def test_steps_that_saw_no_labels_are_not_refused_inside_a_container():
    union = make_pipeline(FeatureUnion([("scale", StandardScaler())]), TREE).fit(X, Y)
    with pytest.warns(match="not certified|before the split|step"):
        assert certify(union).n_certified == 100


def test_a_frozen_estimator_in_a_grid_is_refused():
    memory = FrozenEstimator(DecisionTreeClassifier().fit(X, NOISE))
    pipeline = Pipeline([("model", DecisionTreeClassifier())])
    for grid in ({"model": [memory]}, [{"model": [memory]}]):
        search = GridSearchCV(pipeline, grid, cv=3)
        with pytest.raises(ValueError, match="FrozenEstimator"):
            BoundedClassifier(search, random_state=0).fit(X, NOISE)


@pytest.mark.parametrize("kind", [float, bool, np.int8])
def test_rows_seen_before_are_known_whatever_the_type_of_their_labels(kind):
    model = clone(TINY).set_params(protocol="progressive")
    model.partial_fit(X[:200], Y[:200], classes=[0, 1]).partial_fit(X[200:300], Y[200:300])
    with pytest.raises(ValueError, match="before"):
        model.partial_fit(X[200:300], Y[200:300].astype(kind))


def test_rows_of_weight_zero_are_named():
    weights = np.ones(500)
    weights[:50] = 0.0
    fitted = clone(TREE).fit(X, Y, sample_weight=weights)
    assert any("50 rows of weight zero" in text for text in fitted.certificate_.assumptions)


@pytest.mark.parametrize(
    "protocol",
    [Holdout, DescriptionLength, FrozenFeatures],
    ids=lambda protocol: protocol.__name__,
)
@pytest.mark.parametrize("random_state", [None, 5])
def test_split_names_the_rows_that_are_certified(protocol, random_state):
    """A search ranks its candidates on other rows than these."""
    model = clone(TINY).set_params(protocol=protocol(random_state=random_state))
    fitted = model.fit(X, Y)
    rows = fitted.evidence_.evaluated.rows
    expected = model.protocol.split(500, draw_seed(0))[1]
    assert np.array_equal(np.sort(rows), expected)
