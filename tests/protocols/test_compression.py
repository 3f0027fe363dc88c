"""Pick-to-Learn: what was picked makes the predictor again, and the certificate holds."""

import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skbound import BoundedClassifier, BoundSearch, TransformerClassifier, certify
from skbound._random_state import draw_seed
from skbound.bounds import PickToLearnBound
from skbound.classifiers._black_box import BlackBox
from skbound.evidence import Sample
from skbound.exceptions import MissingEvidenceError, SkboundWarning
from skbound.protocols import FittedModel, PickToLearn
from tests.honesty import many_classes

ALL = PickToLearn(0.3, errors_left=False, group_size=8)
TINY = TransformerClassifier(
    depth=1, width=8, n_heads=2, max_epochs=3, lr=0.01, protocol=PickToLearn(0.3), random_state=0
)
PIPELINE = BoundedClassifier(
    make_pipeline(StandardScaler(), LogisticRegression()), protocol=ALL, random_state=0
)
MODELS = {
    "transformer": clone(TINY).set_params(protocol__max_size=20, protocol__errors_left=False),
    "warm": clone(TINY).set_params(
        protocol__max_size=20, protocol__errors_left=False, protocol__warm_start=True
    ),
    "early stopping": clone(TINY).set_params(
        protocol=PickToLearn(0.3, max_size=10, errors_left=False), early_stopping=True, max_epochs=6
    ),
    "pipeline": PIPELINE,
    "errors left": clone(PIPELINE).set_params(protocol__errors_left=True),
    "seedless forest": clone(PIPELINE).set_params(estimator=RandomForestClassifier(5)),
    "no probabilities": clone(PIPELINE).set_params(estimator=LinearSVC()),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def rows_and_labels(n_samples=240):
    """Two classes with a clear border and a few wrong labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, 3))
    y = (X[:, 0] + 0.5 * X[:, 1] ** 2 > 0.4) ^ (rng.random(n_samples) < 0.03)
    return X, np.where(y, "yes", "no")


def watched(model):
    """Return a copy whose protocol keeps the learner and the rows of every training."""

    class Watched(type(model.protocol)):
        def run(self, learner, seed):
            fit = learner.fit
            seen.update(learner=learner, rows=[])

            def watching(rows, **options):
                seen["rows"].append(rows)
                return fit(rows, **options)

            learner.fit = watching
            try:
                return super().run(learner, seed)
            finally:
                vars(learner).pop("fit", None)

    seen = {}
    return clone(model).set_params(protocol=Watched(**model.protocol.get_params())), seen


def answers(model, X):
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    return model.decision_function(X)


def check_record_makes_the_predictor_again(model, X, y):
    model, seen = watched(model)
    record = model.fit(X, y).evidence_.certified
    n_prior, learner = model.protocol.n_first(len(X)), seen["learner"]
    prior = np.random.default_rng([learner.seed, 0]).permutation(len(X))[:n_prior]
    assert not np.intersect1d(prior, np.r_[record.picked, record.sample.rows]).size
    rows, options = np.r_[prior, record.picked], {}
    if model.protocol.warm_start and record.n_picked:
        options = {"start": learner.fit(prior), "effort": 0.25}
    again = learner.fit(rows, **options)
    assert model.n_samples_fit_ + model.n_samples_validation_ == len(rows)
    if hasattr(model, "net_"):
        for old, new in zip(
            model.net_.module_.parameters(), again.model.net.module_.parameters(), strict=True
        ):
            assert (old == new).all()
    else:
        assert np.array_equal(answers(model.estimator_, X), answers(again.model, X))


def check_training_sees_the_first_part_and_picked_rows_only(model, X, y):
    model, seen = watched(model)
    record = model.fit(X, y).evidence_.certified
    n_prior = model.protocol.n_first(len(X))
    for rows in seen["rows"]:
        assert np.array_equal(rows[:n_prior], seen["rows"][0])
    path = [rows[n_prior:] for rows in seen["rows"]]
    for shorter, longer in pairwise(path):
        assert np.array_equal(longer[: len(shorter)], shorter)
    assert any(np.array_equal(rows, record.picked) for rows in path)


def check_rows_left_out_change_nothing(model, X, y):
    """Other rows of the same kind in their place leave the picks and the predictor bit-equal."""
    first = clone(model).fit(X, y)
    left = first.evidence_.certified.sample.rows
    X_other, y_other = X.copy(), y.copy()
    # Each is a copy of a row that is predicted rightly and was not picked, though it came no later
    # in the random order, which breaks ties: so neither is the copy.
    right = left[first.evidence_.certified.sample.zero_one == 0.0]
    wrong = left[first.evidence_.certified.sample.zero_one == 1.0]
    places = np.random.default_rng(1).random(len(right)) * (np.arange(len(right)) + 1)
    shuffled = right[places.astype(int)]
    X_other[right], y_other[right] = X[shuffled], y[shuffled]
    assert np.array_equal(np.unique(y_other), np.unique(y))
    second = clone(model).fit(X_other, y_other)
    assert np.array_equal(first.evidence_.certified.picked, second.evidence_.certified.picked)
    assert np.array_equal(answers(first, X), answers(second, X))
    errors = second.evidence_.certified.sample
    assert np.array_equal(errors.rows[errors.zero_one == 1.0], wrong)


def check_certificate_is_about_predict(model, X, y):
    model = clone(model).fit(X, y)
    sample = model.evidence_.certified.sample
    assert np.array_equal(sample.zero_one, model.predict(X[sample.rows]) != y[sample.rows])
    if sample.brier is None:
        return
    one_hot = y[sample.rows][:, None] == model.classes_
    brier = 0.5 * ((model.predict_proba(X[sample.rows]) - one_hot) ** 2).sum(axis=1)
    np.testing.assert_allclose(sample.brier, brier, atol=1e-12)


CHECKS = [
    check_record_makes_the_predictor_again,
    check_training_sees_the_first_part_and_picked_rows_only,
    check_rows_left_out_change_nothing,
    check_certificate_is_about_predict,
]


@every_model
@pytest.mark.parametrize("check", CHECKS)
def test_protocol_is_honest(check, model):
    if model is MODELS["errors left"] and check is check_rows_left_out_change_nothing:
        pytest.skip("the stop depends on the rows left out, and is paid for")
    check(model, *rows_and_labels())


class Peeking(PickToLearn):
    """Mutant: every predictor is trained on all rows."""

    def run(self, learner, seed):
        fit = learner.fit
        learner.fit = lambda rows: fit(np.arange(learner.n_samples))
        return super().run(learner, seed)


class TrainedOnceMore(PickToLearn):
    """Mutant: after certifying, train on everything."""

    def run(self, learner, seed):
        return learner.fit(np.arange(learner.n_samples)), super().run(learner, seed)[1]


class OtherSeeds(PickToLearn):
    """Mutant: each training draws its own random numbers."""

    def run(self, learner, seed):
        fit, rng = learner.fit, np.random.default_rng(seed)
        learner.fit = lambda rows: fit(rows, seed=int(rng.integers(2**31)))
        try:
            return super().run(learner, seed)
        finally:
            vars(learner).pop("fit", None)


@pytest.mark.parametrize(
    ("mutant", "check"),
    [
        (Peeking, check_rows_left_out_change_nothing),
        (TrainedOnceMore, check_rows_left_out_change_nothing),
        (TrainedOnceMore, check_certificate_is_about_predict),
    ],
)
def test_mutants_are_noticed(mutant, check):
    model = clone(PIPELINE).set_params(protocol=mutant(0.3, errors_left=False))
    with pytest.raises(AssertionError):
        check(model, *rows_and_labels())


def test_training_that_is_not_deterministic():
    model = clone(MODELS["seedless forest"]).set_params(protocol=OtherSeeds(0.3, errors_left=False))
    with pytest.raises(AssertionError):
        check_record_makes_the_predictor_again(model, *rows_and_labels())


def test_same_seed_same_answer():
    X, y = rows_and_labels()
    first, second = (clone(PIPELINE).fit(X, y) for _ in range(2))
    assert np.array_equal(first.evidence_.certified.picked, second.evidence_.certified.picked)
    assert first.generalization_bound_ == second.generalization_bound_
    again = pickle.loads(pickle.dumps(first))
    assert np.array_equal(again.predict_proba(X), first.predict_proba(X))
    other = clone(PIPELINE).set_params(protocol__random_state=1).fit(X, y)
    assert not np.array_equal(other.evidence_.certified.picked, first.evidence_.certified.picked)


def test_only_the_random_order_counts():
    """The same rows in another order of the table, met in the same random order."""
    X, y = rows_and_labels()
    first = clone(PIPELINE).fit(X, y)
    seeds = 0, 1
    met = [np.random.default_rng([draw_seed(seed), 0]).permutation(len(X)) for seed in seeds]
    order = np.empty(len(X), dtype=int)
    order[met[1]] = met[0]
    second = clone(PIPELINE).set_params(protocol__random_state=1).fit(X[order], y[order])
    picked = order[second.evidence_.certified.picked]
    assert np.array_equal(picked, first.evidence_.certified.picked)
    assert np.array_equal(second.predict_proba(X), first.predict_proba(X))


def test_consistent_picking_leaves_no_error():
    X, y = rows_and_labels()
    model = clone(PIPELINE).set_params(estimator=DecisionTreeClassifier()).fit(X, y)
    record = model.evidence_.certified
    assert record.sample.n_errors == 0
    assert record.n_picked > 0
    assert model.predicted_error_.value == 0.0
    assert model.score(X, y) == 1.0
    assert (record.stop, record.n_stops) == (None, 1)


def test_the_stop_has_fewest_picked_and_wrong_rows():
    X, y = rows_and_labels()
    model = clone(PIPELINE).set_params(protocol=PickToLearn(0.1))
    best = clone(model).fit(X, y).evidence_.certified
    price = best.n_picked + best.n_picked**0.5 + best.sample.n_errors
    assert best.n_stops == PickToLearn(0.1).n_stops(best.n_rows)
    for limit in (1, 2, 5, 20):
        fixed = clone(model).set_params(protocol__errors_left=False, protocol__max_size=limit)
        record = fixed.fit(X, y).evidence_.certified
        assert record.n_picked <= limit
        if limit < 5:
            assert price <= record.n_picked + record.n_picked**0.5 + record.sample.n_errors


def test_noise_is_not_picked():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(2, size=300)
    model = clone(PIPELINE).set_params(protocol="compression").fit(X, y)
    assert model.evidence_.certified.n_picked <= 15
    assert model.certificate_.vacuous


class AlwaysWrong:
    n_samples, assumptions = 200, ()

    def __init__(self):
        self.trained = []

    def fit(self, rows):
        self.trained.append(len(rows))
        return FittedModel(None, len(rows))

    def losses(self, fit, rows):
        return Sample(rows, np.ones(len(rows)))

    def majority_share(self, rows):
        return 0.5


def test_every_row_is_moved():
    learner = AlwaysWrong()
    fit, evidence = PickToLearn(group_size=40, errors_left=False).run(learner, 0)
    assert (fit.n_fit, evidence.n_certified) == (200, 0)
    assert evidence.reason.startswith("every row was moved to the training rows")
    assert learner.trained == [100, 140, 180, 200]
    fit, evidence = PickToLearn(group_size=40).run(AlwaysWrong(), 0)
    assert (fit.n_fit, evidence.certified.stop, evidence.certified.n_stops) == (100, 0, 4)


def test_real_data():
    X, y = load_breast_cancer(return_X_y=True)
    model = TransformerClassifier(
        depth=1, width=16, max_epochs=15, protocol="compression", random_state=0
    ).fit(X[:400], y[:400])
    assert np.mean(model.predict(X[400:]) != y[400:]) < model.generalization_bound_ < 0.25
    assert "200 rows" in model.certificate_.statement()
    assert set(model.bounds_) == {
        *("pick_to_learn", "sample_compression"),
        *("brier_pick_to_learn", "brier_sample_compression"),
    }


def test_search_pays_for_its_candidates():
    X, y = rows_and_labels()
    grid = {"estimator__max_depth": [1, 3]}
    model = BoundedClassifier(DecisionTreeClassifier(), protocol="compression")
    search = BoundSearch(
        model, grid, choose_by="bound", random_state=0, return_estimators=True
    ).fit(X, y)
    for estimator in search.estimators_:
        alone = PickToLearnBound()(replace(estimator.evidence_, n_candidates=1), 0.05 / 2)
        assert estimator.generalization_bound_ == pytest.approx(alone.value, rel=1e-12)


def test_bounds_of_a_holdout_are_refused_before_training(monkeypatch):
    X, y = many_classes(n_classes=3)
    fitted = clone(PIPELINE).fit(X, y)
    with pytest.raises(MissingEvidenceError, match="compression"):
        certify(fitted, "binomial")
    monkeypatch.setattr(PickToLearn, "run", None)
    for model in (TINY, PIPELINE):
        with pytest.raises(MissingEvidenceError, match="compression"):
            clone(model).set_params(bound="best").fit(X, y)


def test_sequences():
    X, y = many_classes(n_samples=240, n_classes=3)
    fitted = clone(TINY).fit(X.reshape(-1, 2, 2), y)
    assert fitted.certificate_.name == "pick_to_learn"
    assert fitted.evidence_.certified.n_rows == 168


def test_few_rows_are_all_trained_on():
    X, y = many_classes(n_samples=99, n_classes=3)
    model = clone(TINY).set_params(protocol="compression")
    with pytest.warns(SkboundWarning, match="99 rows are too few to leave some out"):
        fitted = model.fit(X, y)
    assert (fitted.n_samples_fit_, fitted.generalization_bound_, fitted.bounds_) == (99, 1.0, {})
    assert model.set_params(protocol__prior_fraction=0.5).fit(X, y).n_samples_certified_ > 0


def test_a_single_class():
    X = many_classes(n_samples=200, n_classes=3)[0]
    fitted = clone(TINY).set_params(protocol__warm_start=True).fit(X, np.zeros(200))
    assert fitted.evidence_.certified.n_picked == 0
    assert fitted.net_ is None


def test_how_many_rows_are_moved():
    auto = PickToLearn()
    sizes = [0]
    while group := auto.group(sizes[-1], 500):
        sizes.append(sizes[-1] + group)
    assert sizes[:8] == [0, 5, 10, 15, 23, 35, 53, 79]
    assert sizes[-1] == 500
    assert len(sizes) == auto.n_stops(500)
    assert PickToLearn(max_size=12).n_stops(500) == 4
    assert PickToLearn(group_size=3, max_size=12).group(11, 500) == 1
    assert [PickToLearn(f).n_first(200) for f in ("auto", 0.1)] == [100, 20]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prior_fraction": 0.0}, r"in \(0, 1\), got 0.0. Either part needs some rows"),
        ({"prior_fraction": "half"}, "prior_fraction must be 'auto'"),
        ({"prior_fraction": 0.001}, "must leave at least one row in either part"),
        ({"group_size": 0}, "group_size must be 'auto' or an integer of at least 1, got 0"),
        ({"group_size": True}, "group_size must be 'auto'"),
        ({"max_size": 2.5}, "max_size must be None or an integer of at least 1, got 2.5"),
        ({"max_size": 0, "errors_left": False}, "max_size must be None"),
        ({"warm_start": 1}, "warm_start must be True or False, got 1"),
        ({"errors_left": "yes"}, "errors_left must be True or False, got 'yes'"),
    ],
)
def test_parameters_out_of_range(settings, message, monkeypatch):
    monkeypatch.setattr(BlackBox, "fit", None)
    model = BoundedClassifier(LogisticRegression(), protocol=PickToLearn(**settings))
    with pytest.raises(ValueError, match=message):
        model.fit(*rows_and_labels(200))


def test_without_a_first_part_all_picked_rows_count():
    X, y = load_digits(return_X_y=True)
    X, y = X[:600], y[:600]
    protocol = PickToLearn(prior_fraction=None, errors_left=False, group_size=20)
    clf = BoundedClassifier(SVC(), protocol=protocol, random_state=0).fit(X, y)
    record = clf.evidence_.certified
    assert record.n_rows == 600
    assert record.n_picked == clf.n_samples_fit_ >= 20
    assert record.sample.n_errors == 0
    first, _ = clf.protocol.split(600, draw_seed(0))
    assert len(first) == 0
    order = np.random.default_rng([draw_seed(0), 0]).permutation(600)
    assert np.array_equal(record.picked[:20], order[:20])
    # The picked rows, in their order, lead to the same predictor again.
    again = SVC().fit(X[record.picked], y[record.picked])
    assert np.array_equal(again.predict(X), clf.predict(X))
    others = np.setdiff1d(np.arange(600), record.picked)
    assert np.array_equal(np.sort(record.sample.rows), others)
    assert clf.generalization_bound_ < 0.5


def test_without_a_first_part_candidates_cannot_be_ranked_and_few_rows_are_too_few():
    X, y = load_digits(return_X_y=True)
    model = BoundedClassifier(SVC(), protocol=PickToLearn(prior_fraction=None), random_state=0)
    with pytest.raises(ValueError, match="leaves none"):
        BoundSearch(model, {"estimator__C": [1, 2]}, choose_by="training_side").fit(X, y)
    with pytest.warns(SkboundWarning, match="too few"):
        assert model.fit(X[:20], y[:20]).generalization_bound_ == 1.0
