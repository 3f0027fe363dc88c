"""Cross-fitting: each predictor is scored by rows it has not seen, and predict uses no other."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skbound import BoundedClassifier, BoundSearch, TransformerClassifier
from skbound.bounds import CrossFitBound, FoldMixtureBound, TandemBound
from skbound.exceptions import MissingEvidenceError, SkboundWarning
from skbound.protocols import CrossFit, FittedModel
from tests.honesty import many_classes

TINY = TransformerClassifier(
    depth=1, width=8, n_heads=2, max_epochs=2, protocol="cross_fit", random_state=0
)
LINEAR = BoundedClassifier(
    make_pipeline(StandardScaler(), LogisticRegression()), protocol="cross_fit", random_state=0
)
MODELS = {
    "transformer": TINY,
    "early stopping": clone(TINY).set_params(early_stopping=True, max_epochs=6),
    "class weights": clone(TINY).set_params(class_weight="balanced", protocol=CrossFit(4, "gibbs")),
    "average": clone(TINY).set_params(protocol=CrossFit(predictor="average")),
    "bags": clone(TINY).set_params(protocol=CrossFit(3, scheme="bags")),
    "pipeline": LINEAR,
    "pipeline gibbs": clone(LINEAR).set_params(protocol=CrossFit(5, "gibbs")),
    "pipeline average": clone(LINEAR).set_params(protocol=CrossFit(5, "average")),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def together(model):
    return model._several if isinstance(model, TransformerClassifier) else model.estimator_


def probabilities(part, X):
    return softmax(part.logits(X), axis=1) if hasattr(part, "logits") else part.predict_proba(X)


def rows_of(model, member):
    folds = model.evidence_.certified
    return folds.sample.rows[folds.members == member]


def check_unseen_rows_change_nothing(model, X, y):
    """Other features and labels in the rows that score a predictor leave it bit-equal."""
    first = clone(model).fit(X, y)
    for member in range(first.evidence_.n_predictors):
        rows = rows_of(first, member)
        X_other, y_other = X.copy(), y.copy()
        X_other[rows] = 50.0 * np.random.default_rng(1).normal(size=X[rows].shape)
        y_other[rows] = y[0]
        assert np.array_equal(np.unique(np.delete(y, rows)), np.unique(y))
        second = clone(model).fit(X_other, y_other)
        assert np.array_equal(rows_of(second, member), rows)
        parts = together(first).parts[member], together(second).parts[member]
        assert np.array_equal(*(probabilities(part, X) for part in parts))


def check_certificate_is_about_predict(model, X, y):
    """Each predictor was scored on its rows, and predict asks these predictors and no other."""
    model = clone(model).fit(X, y)
    folds, parts = model.evidence_.certified, together(model).parts
    for member, part in enumerate(parts):
        rows = rows_of(model, member)
        proba = probabilities(part, X[rows])
        wrong = model.classes_[proba.argmax(axis=1)] != y[rows]
        losses = folds.sample.zero_one[folds.members == member]
        assert np.array_equal(losses, wrong)
        brier = 0.5 * ((proba - (y[rows][:, None] == model.classes_)) ** 2).sum(axis=1)
        seen = folds.sample.brier[folds.members == member]
        np.testing.assert_allclose(seen, wrong if folds.predictor == "vote" else brier, atol=1e-9)
    every = np.array([probabilities(part, X) for part in parts])
    votes = np.eye(len(model.classes_))[every.argmax(axis=2)]
    if folds.predictor == "gibbs":
        chosen = together(model).choice
        assert len(set(chosen.weights)) == 1
        expected = every[chosen(X), np.arange(len(X))]
        shares = np.bincount(chosen(X), minlength=len(parts)) / len(X)
        assert np.abs(shares - 1.0 / len(parts)).max() < 4.0 * np.sqrt(0.25 / len(X))
    else:
        expected = (votes if folds.predictor == "vote" else every).mean(axis=0)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-9)
    assert np.array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])


def check_split_ignores_labels(model, X, y):
    first, second = (clone(model).fit(X, labels) for labels in (y, y[::-1]))
    for member in range(first.evidence_.n_predictors):
        assert np.array_equal(rows_of(first, member), rows_of(second, member))


@every_model
@pytest.mark.parametrize(
    "check",
    [
        check_unseen_rows_change_nothing,
        check_certificate_is_about_predict,
        check_split_ignores_labels,
    ],
)
def test_protocol_is_honest(check, model):
    check(model, *many_classes(n_samples=300, n_classes=5))


class TrainedOnItsFold(CrossFit):
    """Mutant: every predictor is trained on all rows."""

    def parts(self, n_samples, seed):
        return [(np.arange(n_samples), unseen) for _, unseen in super().parts(n_samples, seed)]


class Refitted(CrossFit):
    """Mutant: the evidence of the folds, but a predictor that was trained on all rows."""

    def _together(self, learner, fits, key):
        fit = learner.fit(np.arange(learner.n_samples))
        return super()._together(learner, [fit] * len(fits), key)


class LastAlone(CrossFit):
    """Mutant: the evidence of all, but the last one predicts."""

    def _together(self, learner, fits, key):
        return super()._together(learner, [fits[-1]] * len(fits), key)


class ByLabel(CrossFit):
    """Mutant: folds of similar labels."""

    def run(self, learner, seed):
        self._codes = learner.codes
        return super().run(learner, seed)

    def parts(self, n_samples, seed):
        folds = np.array_split(np.argsort(self._codes, kind="stable"), 3)
        return [(np.setdiff1d(np.arange(n_samples), fold), np.sort(fold)) for fold in folds]


@pytest.mark.parametrize(
    ("mutant", "check"),
    [
        (TrainedOnItsFold, check_unseen_rows_change_nothing),
        (Refitted, check_certificate_is_about_predict),
        (LastAlone, check_certificate_is_about_predict),
        (ByLabel, check_split_ignores_labels),
    ],
)
@pytest.mark.parametrize("model", [TINY, LINEAR], ids=["transformer", "pipeline"])
def test_mutants_are_noticed(mutant, check, model):
    data = many_classes(n_samples=300, n_classes=5)
    check(clone(model).set_params(protocol=CrossFit()), *data)
    with pytest.raises(AssertionError):
        check(clone(model).set_params(protocol=mutant()), *data)


@pytest.mark.parametrize("n_samples", [100, 101, 302])
def test_folds_and_bags(n_samples):
    parts = CrossFit(3).parts(n_samples, 0)
    assert np.array_equal(np.sort(np.concatenate([u for _, u in parts])), np.arange(n_samples))
    for fit_rows, unseen in [*parts, *CrossFit(4, scheme="bags").parts(n_samples, 0)]:
        together = np.sort(np.concatenate([fit_rows, unseen]))
        assert np.array_equal(together, np.arange(n_samples))
    assert len(unseen) == n_samples - round(0.632 * n_samples)
    sizes = [len(unseen) for _, unseen in parts]
    assert max(sizes) - min(sizes) <= 1


def test_nothing_is_trained_after_the_last_evaluation_and_seeds_differ():
    calls = []

    class Spy:
        n_samples, assumptions = 120, ()

        def fit(self, rows, *, seed=None):
            calls.append(("fit", set(rows), seed))
            return FittedModel(None, len(rows))

        def losses(self, fit, rows):
            from skbound.evidence import Sample

            calls.append(("losses", set(rows), None))
            return Sample(rows, np.zeros(len(rows)))

        def majority_share(self, rows):
            return 0.5

        def ensemble(self, fits, weights, how):
            calls.append((how, tuple(weights), None))

    CrossFit(4).run(Spy(), seed=0)
    assert [name for name, *_ in calls] == ["fit", "losses"] * 4 + ["majority"]
    assert calls[-1][1] == (0.25,) * 4
    for (_, trained, _), (_, unseen, _) in zip(calls[:-1:2], calls[1::2], strict=True):
        assert trained.isdisjoint(unseen)
        assert trained | unseen == set(range(120))
    assert len({seed for name, _, seed in calls if name == "fit"}) == 4


def test_real_data_end_to_end():
    X, y = load_breast_cancer(return_X_y=True)
    model = TransformerClassifier(
        depth=1, width=16, max_epochs=20, protocol="cross_fit", random_state=0
    )
    fitted = model.fit(X[:400], y[:400])
    assert (fitted.n_samples_fit_, fitted.n_samples_certified_) == (320, 400)
    assert fitted.certificate_.name == "cross_fit"
    error = np.mean(fitted.predict(X[400:]) != y[400:])
    assert error <= fitted.generalization_bound_ < 0.25
    assert not fitted.certificate_.vacuous
    alone = fitted.certificate_.terms["empirical_loss"]
    assert float(fitted.predicted_error_) == pytest.approx(alone, abs=1e-3)
    assert "that had not seen them" in fitted.predicted_error_.method


@every_model
def test_same_seed_same_answer_and_pickles(model):
    X, y = many_classes(n_samples=300, n_classes=3)
    fitted = clone(model).fit(X, y)
    proba = fitted.predict_proba(X)
    assert np.array_equal(clone(model).fit(X, y).predict_proba(X), proba)
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict_proba(X), proba)
    np.testing.assert_allclose(fitted.predict_proba(X[:7]), proba[:7], atol=1e-9)


def test_sequences_one_class_and_rare_classes():
    X, y = many_classes(n_samples=240, n_classes=3)
    assert clone(TINY).fit(X.reshape(-1, 2, 2), y).predict(X.reshape(-1, 2, 2)).shape == (240,)
    for model in (TINY, clone(TINY).set_params(protocol=CrossFit(predictor="gibbs"))):
        alone = clone(model).fit(X, np.zeros(240))
        assert set(alone.predict(X)) == {0.0}
        assert alone.certificate_.terms["empirical_loss"] == 0.0
    y = np.where(np.arange(240) == 5, "rare", y.astype(str))
    for predictor in ("vote", "gibbs", "average"):
        fitted = clone(LINEAR).set_params(protocol=CrossFit(predictor=predictor)).fit(X, y)
        np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1.0)
        assert set(fitted.predict(X)) <= set(fitted.classes_)


def test_votes_need_neither_numbers_nor_distinct_rows_nor_probabilities():
    X, y = many_classes(n_samples=200, n_classes=3)
    X = np.round(X) > 1
    with pytest.raises(ValueError, match=r"CrossFit\(predictor='gibbs'\) needs rows that hardly"):
        clone(LINEAR).set_params(protocol=CrossFit(predictor="gibbs")).fit(X, y)
    assert clone(LINEAR).fit(X, y).n_samples_certified_ == 200
    texts = [["a" if bit else "b" for bit in row] for row in X]
    gibbs = clone(LINEAR).set_params(protocol=CrossFit(predictor="gibbs"))
    with pytest.raises(ValueError, match=r"CrossFit\(predictor='gibbs'\) needs rows of numbers"):
        gibbs.fit(np.array(texts, object), y)
    hard = BoundedClassifier(Perceptron(), protocol=CrossFit(), random_state=0)
    assert hard.fit(X, y).predict_proba(X).shape == (200, 3)
    average = hard.set_params(protocol=CrossFit(predictor="average"))
    with pytest.raises(ValueError, match=r"needs a classifier with predict_proba.*'vote'"):
        average.fit(X, y)


def test_gibbs_refuses_before_training(monkeypatch):
    X, y = many_classes(n_samples=200, n_classes=3)
    monkeypatch.setattr(LogisticRegression, "fit", None)
    with pytest.raises(ValueError, match="hardly repeat"):
        clone(LINEAR).set_params(protocol=CrossFit(predictor="gibbs")).fit(np.round(X), y)


def test_unsuitable_bounds_are_refused_before_training(monkeypatch):
    X, y = many_classes(n_samples=200, n_classes=3)
    bags = CrossFit(3, scheme="bags")
    fitted = clone(LINEAR).set_params(protocol=bags, bound="tandem").fit(X, y)
    assert fitted.certificate_.name == "tandem"
    monkeypatch.setattr(CrossFit, "run", None)
    for bound in ("binomial", "progressive", "tandem", TandemBound()):
        with pytest.raises(MissingEvidenceError):
            clone(LINEAR).set_params(bound=bound).fit(X, y)
    pair = CrossFit(2, scheme="bags")
    with pytest.raises(MissingEvidenceError, match="tandem"):
        clone(LINEAR).set_params(protocol=pair, bound="tandem").fit(X, y)


def test_bounds_by_object():
    X, y = many_classes(n_samples=200, n_classes=3)
    bound = FoldMixtureBound(rates=(0.5,))
    fitted = clone(LINEAR).set_params(bound=bound).fit(X, y)
    assert fitted.generalization_bound_ == bound(fitted.evidence_, 0.05).value


def test_search_pays_for_its_candidates():
    X, y = many_classes(n_samples=300, n_classes=3)
    model = BoundedClassifier(DecisionTreeClassifier(), protocol="cross_fit")
    grid = {"estimator__max_depth": [1, 3]}
    search = BoundSearch(
        model, grid, choose_by="bound", random_state=0, return_estimators=True
    ).fit(X, y)
    for estimator in search.estimators_:
        alone = CrossFitBound()(replace(estimator.evidence_, n_candidates=1), 0.05 / 2)
        assert estimator.generalization_bound_ == pytest.approx(alone.value, rel=1e-12)
    assert search.certificate_.n_candidates == 2
    parts = [e.evidence_.certified.sample.rows for e in search.estimators_]
    assert np.array_equal(*parts)


def test_few_rows_are_all_trained_on():
    X, y = many_classes(n_samples=99, n_classes=3)
    with pytest.warns(SkboundWarning, match="99 rows are too few to divide into folds"):
        fitted = clone(TINY).fit(X, y)
    assert (fitted.n_samples_fit_, fitted.generalization_bound_) == (99, 1.0)
    assert fitted.bounds_ == {}
    small = clone(TINY).set_params(protocol__n_folds=3).fit(X, y)
    assert (small.n_samples_fit_, small.n_samples_certified_) == (66, 99)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_folds": 1}, "at least 2, got 1. .*protocol='holdout'"),
        ({"n_folds": 2.0}, "an integer of at least 2"),
        ({"n_folds": "five"}, "n_folds must be 'auto'"),
        ({"n_folds": 300}, "must not exceed the number of rows"),
        ({"predictor": "mean"}, "predictor must be one of"),
        ({"scheme": "loo"}, "scheme must be one of"),
    ],
)
def test_parameters_out_of_range(settings, message):
    X, y = many_classes(n_samples=120, n_classes=3)
    with pytest.raises(ValueError, match=message):
        clone(LINEAR).set_params(protocol=CrossFit(**settings)).fit(X, y)
