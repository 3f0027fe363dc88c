"""Progressive validation: nothing sees the rows that score it, and the certificate holds."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skbound import BoundedClassifier, BoundSearch, TransformerClassifier, certify
from skbound.bounds import ProgressiveExactBound
from skbound.exceptions import MissingEvidenceError, SkboundWarning
from skbound.protocols import Progressive
from tests.honesty import many_classes

TINY = TransformerClassifier(
    depth=1,
    width=8,
    n_heads=2,
    max_epochs=2,
    protocol=Progressive(3, first_fraction=0.5, guess=True),
    random_state=0,
)
MODELS = {
    "transformer": TINY,
    "early stopping": clone(TINY).set_params(early_stopping=True, max_epochs=6),
    "warm start": clone(TINY).set_params(protocol__warm_start=True),
    "class weights": clone(TINY).set_params(class_weight="balanced"),
    "pipeline": BoundedClassifier(
        make_pipeline(StandardScaler(), LogisticRegression()),
        protocol=Progressive(4, first_fraction=0.4, guess=True),
        random_state=0,
    ),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def parts_of(model):
    return (model._several if isinstance(model, TransformerClassifier) else model.estimator_).parts


def scores_of(part, X):
    return part.logits(X) if hasattr(part, "logits") else part.predict_proba(X)


def half_brier(part, X, y, model):
    scores = scores_of(part, X)
    proba = softmax(scores, axis=1) if hasattr(part, "logits") else scores
    return 0.5 * ((proba - (y[:, None] == model.classes_)) ** 2).sum(axis=1)


def rows_of(model, block):
    blocks = model.evidence_.certified
    return blocks.sample.rows[blocks.blocks == block]


def check_later_rows_change_nothing(model, X, y):
    """Other rows in a block and after it leave alone what was trained and scored before."""
    first = clone(model).fit(X, y)
    blocks = first.evidence_.certified
    later = np.concatenate([rows_of(first, b) for b in range(1, blocks.n_blocks)])
    rng = np.random.default_rng(1)
    X_other, y_other = X.copy(), y.copy()
    X_other[later], y_other[later] = 50.0 * rng.normal(size=X[later].shape), y[0]
    assert np.array_equal(np.unique(np.delete(y, later)), np.unique(y))
    second = clone(model).fit(X_other, y_other)
    for part, other in zip(parts_of(first)[:2], parts_of(second)[:2], strict=True):
        assert np.array_equal(scores_of(part, X), scores_of(other, X))
    others = second.evidence_.certified
    assert np.array_equal(others.guess.zero_one, blocks.guess.zero_one)
    n_first = (blocks.blocks == 0).sum()
    assert np.array_equal(others.sample.rows, blocks.sample.rows)
    assert np.array_equal(others.sample.brier[:n_first], blocks.sample.brier[:n_first])


def check_losses_are_those_of_the_block(model, X, y):
    """Each row was scored by the part of its block, and predict uses the parts and no other."""
    model = clone(model).fit(X, y)
    parts, proba = parts_of(model), model.predict_proba(X)
    sample = model.evidence_.certified.sample
    matches = []
    for number, part in enumerate(parts):
        rows = rows_of(model, number)
        predicted = scores_of(part, X[rows]).argmax(axis=1)
        own = model.evidence_.certified.blocks == number
        assert np.array_equal(sample.zero_one[own], model.classes_[predicted] != y[rows])
        np.testing.assert_allclose(sample.brier[own], half_brier(part, X[rows], y[rows], model))
        own = scores_of(part, X)
        matches.append(proba.argmax(axis=1) == own.argmax(axis=1))
    assert np.any(matches, axis=0).all()
    sizes = np.bincount(model.evidence_.certified.blocks)
    chosen = (model._several if hasattr(model, "net_") else model.estimator_).choice
    assert chosen.weights == tuple(sizes)
    shares = np.bincount(chosen(X), minlength=len(parts)) / len(X)
    assert np.abs(shares - sizes / sizes.sum()).max() < 4.0 * np.sqrt(0.25 / len(X))
    for number, part in enumerate(parts):
        mine = chosen(X) == number
        assert np.array_equal(proba.argmax(axis=1)[mine], scores_of(part, X[mine]).argmax(axis=1))


@every_model
@pytest.mark.parametrize(
    "check", [check_later_rows_change_nothing, check_losses_are_those_of_the_block]
)
def test_protocol_is_honest(check, model):
    check(model, *many_classes(n_samples=480, n_classes=5))


class TrainedOnItsBlock(Progressive):
    """Mutant: every predictor is trained on the block that scores it."""

    def run(self, learner, seed):
        ends = self.cuts(learner.n_samples)
        fit = learner.fit

        def peek(rows, **options):
            if len(rows) not in ends[1:-1]:
                return fit(rows, **options)
            order = np.random.default_rng([seed, 0]).permutation(learner.n_samples)
            return fit(np.sort(order[: ends[ends.index(len(rows)) + 1]]), **options)

        learner.fit = peek
        return super().run(learner, seed)


class LastAlone(Progressive):
    """Mutant: the evidence of all predictors, but the last one predicts."""

    def run(self, learner, seed):
        mixture = learner.mixture
        learner.mixture = lambda fits, choice: mixture([fits[-1]] * len(fits), choice)
        return super().run(learner, seed)


def test_mutants_are_noticed():
    X, y = many_classes(n_samples=480, n_classes=5)
    for model in (TINY, MODELS["pipeline"]):
        mutant = clone(model).set_params(protocol=TrainedOnItsBlock(guess=True))
        with pytest.raises(AssertionError):
            check_later_rows_change_nothing(mutant, X, y)
        mutant = clone(model).set_params(protocol=LastAlone(guess=True))
        with pytest.raises(AssertionError):
            check_losses_are_those_of_the_block(mutant, X, y)


def test_bounds_of_a_holdout_are_refused_and_leave_the_estimator_alone():
    X, y = many_classes(n_classes=3)
    fitted = clone(MODELS["pipeline"]).fit(X, y)
    before = fitted.certificate_
    assert before.name == "progressive_exact"
    assert list(fitted.bounds_) == [
        "progressive_exact",
        "progressive_mixture",
        "progressive",
        "brier_progressive_mixture",
        "brier_progressive",
    ]
    with pytest.raises(MissingEvidenceError, match="progressive"):
        certify(fitted, "binomial")
    with pytest.raises(MissingEvidenceError, match="progressive"):
        fitted.set_params(bound="kl").fit(X, y)
    assert fitted.certificate_ is before
    with pytest.raises(MissingEvidenceError, match=r"is used\. Use bound="):
        fitted.set_params(bound="progressive", protocol="holdout").fit(X, y)
    with pytest.raises(MissingEvidenceError, match=r"Progressive\(guess=True\)"):
        fitted.set_params(bound="progressive", protocol="progressive").fit(X, y)
    with pytest.raises(MissingEvidenceError, match="holdout"):
        fitted.set_params(protocol="holdout").fit(X, y)
    assert fitted.certificate_ is before


def test_bounds_of_a_holdout_are_refused_before_training(monkeypatch):
    X, y = many_classes(n_classes=3)
    monkeypatch.setattr(Progressive, "run", None)
    for model in (TINY, MODELS["pipeline"]):
        with pytest.raises(MissingEvidenceError, match="progressive"):
            clone(model).set_params(bound="best").fit(X, y)


@every_model
def test_predictions_depend_on_the_row_alone(model):
    X, y = many_classes(n_samples=300, n_classes=3)
    fitted = clone(model).fit(X, y)
    proba = fitted.predict_proba(X)
    np.testing.assert_allclose(fitted.predict_proba(X[::-1])[::-1], proba, atol=1e-12)
    np.testing.assert_allclose(fitted.predict_proba(X[:7]), proba[:7], atol=1e-12)
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict_proba(X), proba)
    assert np.array_equal(clone(model).fit(X, y).predict_proba(X), proba)
    assert np.array_equal(fitted.predict(X), fitted.classes_[proba.argmax(axis=1)])


def test_sequences():
    X, y = many_classes(n_samples=240, n_classes=3)
    fitted = clone(TINY).fit(X.reshape(-1, 2, 2), y)
    assert fitted.predict(X[:5].reshape(-1, 2, 2)).shape == (5,)
    refitted = fitted.set_params(protocol="holdout").fit(X.reshape(-1, 2, 2), y)
    assert refitted.evidence_.certified.n_samples == 48
    assert refitted.certificate_.name == "binomial"


def test_a_part_that_lacks_a_class_has_probability_zero_for_it():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(2, size=200).astype(str)
    model = BoundedClassifier(LogisticRegression(), protocol="progressive", random_state=0)
    last = rows_of(clone(model).fit(X, y), 1)[0]
    assert hasattr(model.fit(X, y), "decision_function")
    y = np.where(np.arange(200) == last, "rare", y)
    fitted = model.fit(X, y)
    assert fitted.predict_proba(X).shape == (200, 3)
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1.0)
    assert set(fitted.predict(X)) <= set(fitted.classes_)
    assert not hasattr(fitted, "decision_function")


def test_search_pays_for_its_candidates():
    X, y = many_classes(n_samples=300, n_classes=3)
    grid = {"estimator__max_depth": [1, 3]}
    model = BoundedClassifier(DecisionTreeClassifier(), protocol="progressive")
    search = BoundSearch(
        model, grid, choose_by="bound", random_state=0, return_estimators=True
    ).fit(X, y)
    for estimator in search.estimators_:
        alone = ProgressiveExactBound()(replace(estimator.evidence_, n_candidates=1), 0.05 / 2)
        assert estimator.generalization_bound_ == pytest.approx(alone.value, rel=1e-12)
    assert search.best_bound_ == search.certificate_.value == min(search.cv_results_["bound"])
    assert search.certificate_.n_candidates == 2
    rows = [e.evidence_.certified.sample.rows for e in search.estimators_]
    assert np.array_equal(*rows)
    assert np.isfinite(search.cv_results_["certified_error"]).all()


def test_estimate_is_the_mean_over_the_blocks():
    X, y = many_classes(n_samples=300, n_classes=3)
    fitted = clone(MODELS["pipeline"]).fit(X, y)
    assert float(fitted.predicted_error_) == fitted.evidence_.certified.sample.error
    assert "before they were trained on" in fitted.predicted_error_.method


def test_few_rows_are_all_trained_on():
    X, y = many_classes(n_samples=99, n_classes=3)
    with pytest.warns(SkboundWarning, match="99 rows are too few to evaluate some in blocks"):
        fitted = clone(TINY).set_params(protocol="progressive").fit(X, y)
    assert (fitted.n_samples_fit_, fitted.generalization_bound_) == (99, 1.0)
    assert fitted.bounds_ == {}
    assert clone(TINY).set_params(protocol__first_fraction=0.5).fit(X, y).n_samples_certified_ == 49


@pytest.mark.parametrize(
    ("settings", "n_samples", "cuts"),
    [
        ({}, 99, []),
        ({}, 100, [60, 80, 100]),
        ({"n_blocks": 3}, 1000, [600, 733, 866, 1000]),
        ({"guess": True, "first_fraction": 0.5}, 1000, [400, 500, 750, 1000]),
        ({"n_blocks": 2, "first_fraction": 0.75}, 40, [30, 35, 40]),
    ],
)
def test_where_the_parts_end(settings, n_samples, cuts):
    assert Progressive(**settings).cuts(n_samples) == cuts


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_blocks": 1}, "at least 2, got 1. .*protocol='holdout'"),
        ({"n_blocks": 2.0}, "n_blocks must be an integer"),
        ({"first_fraction": 1.0}, r"first_fraction must be 'auto' or in \(0, 1\), got 1.0"),
        ({"first_fraction": "half"}, "first_fraction must be 'auto'"),
        ({"n_blocks": 60}, "must leave a row for each part"),
        ({"first_fraction": 0.001}, "must leave at least one row in either part"),
        ({"predictor": "best"}, "predictor must be one of .*'last'"),
        ({"warm_start": "yes"}, "warm_start must be True or False"),
    ],
)
def test_parameters_out_of_range(settings, message):
    with pytest.raises(ValueError, match=message):
        Progressive(**settings).cuts(100)
