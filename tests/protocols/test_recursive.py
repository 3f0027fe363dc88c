"""Recursive PAC-Bayes: steps see no later rows, what is certified predicts, draws are honest."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skbound import BoundedClassifier, BoundSearch, TransformerClassifier
from skbound.bounds import RecursiveBound
from skbound.classifiers._transformer_learner import TransformerLearner
from skbound.exceptions import MissingEvidenceError, SkboundWarning
from skbound.protocols import RecursivePACBayes
from tests.honesty import many_classes

TINY = TransformerClassifier(
    depth=1, width=8, n_heads=2, max_epochs=3, protocol="recursive_pac_bayes", random_state=0
)
LINEAR = make_pipeline(StandardScaler(), LogisticRegression())
HELD_OUT = RecursivePACBayes(predictor="held_out")
MODELS = {
    "drawn": TINY,
    "drawn, early stopping": clone(TINY).set_params(early_stopping=True, max_epochs=6),
    "drawn, class weights": clone(TINY).set_params(class_weight="balanced"),
    "held out": clone(TINY).set_params(protocol=HELD_OUT),
    "pipeline": BoundedClassifier(LINEAR, protocol=HELD_OUT, random_state=0),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def rows_of(model):
    return [step.sample.rows for step in model.evidence_.certified.steps]


def unseen_rows(model):
    """The rows of the last part, which only the last drawn net has seen."""
    return rows_of(model)[-1]


def check_last_part_changes_nothing_before_it(model, X, y):
    """Other rows in the last part leave all but the last drawn net as it was, and the prior."""
    first = clone(model).fit(X, y)
    rows = unseen_rows(first)
    rng = np.random.default_rng(1)
    X_other, y_other = X.copy(), y.copy()
    X_other[rows], y_other[rows] = 50.0 * rng.normal(size=X[rows].shape), y[0]
    assert np.array_equal(np.unique(np.delete(y, rows)), np.unique(y))
    second = clone(model).fit(X_other, y_other)
    chains = first.evidence_.certified, second.evidence_.certified
    for one, other in zip(*(chain.steps[:-1] for chain in chains), strict=True):
        keep = ~np.isin(one.sample.rows, rows)
        assert np.array_equal(one.sample.rows, other.sample.rows)
        assert one.log_ratio == other.log_ratio
        assert np.array_equal(one.sample.brier[keep], other.sample.brier[keep])
    assert first.evidence_.majority_share == second.evidence_.majority_share
    if chains[0].steps[-1].log_ratio is None:
        assert np.array_equal(first.predict_proba(X), second.predict_proba(X))


def check_split_ignores_labels(model, X, y):
    fits = [clone(model).fit(X, labels) for labels in (y, np.roll(y, 7))]
    for one, other in zip(*map(rows_of, fits), strict=True):
        assert np.array_equal(one, other)


def check_certificate_is_about_predict(model, X, y):
    """The last losses are those of predict; each step's reference is the predictor before."""
    model = clone(model).fit(X, y)
    steps = model.evidence_.certified.steps
    last = steps[-1].sample
    assert np.array_equal(last.zero_one, model.predict(X[last.rows]) != y[last.rows])
    one_hot = y[last.rows][:, None] == model.classes_
    brier = 0.5 * ((model.predict_proba(X[last.rows]) - one_hot) ** 2).sum(axis=1)
    np.testing.assert_allclose(last.brier, brier, atol=1e-12)
    for before, step in pairwise(steps):
        same = np.isin(before.sample.rows, step.sample.rows)
        assert np.array_equal(step.previous.rows, before.sample.rows[same])
        np.testing.assert_allclose(step.previous.brier, before.sample.brier[same], atol=1e-12)


@every_model
@pytest.mark.parametrize(
    "check",
    [
        check_last_part_changes_nothing_before_it,
        check_split_ignores_labels,
        check_certificate_is_about_predict,
    ],
)
def test_protocol_is_honest(check, model):
    check(model, *many_classes(n_samples=360, n_classes=5))


def test_the_ratio_is_that_of_the_two_densities(monkeypatch):
    """Both laws are recomputed from the weights that training and drawing left behind."""
    trained, drawn = [], []
    fit, with_parameters = TransformerLearner.fit, TransformerLearner.with_parameters

    def spy_fit(self, rows, **options):
        result = fit(self, rows, **options)
        trained.append((len(rows), options.get("pull", 0.0), self.parameters(result)))
        return result

    def spy_with(self, result, weights):
        drawn.append(weights)
        return with_parameters(self, result, weights)

    monkeypatch.setattr(TransformerLearner, "fit", spy_fit)
    monkeypatch.setattr(TransformerLearner, "with_parameters", spy_with)
    X, y = many_classes(n_samples=240, n_classes=3)
    sigma = 0.02
    model = clone(TINY).set_params(protocol=RecursivePACBayes(2, sigma=sigma)).fit(X, y)
    assert [n for n, _, _ in trained] == [120, 180, 240]
    expected = [0.0, 1.0 / (sigma**2 * 120), 1.0 / (sigma**2 * 60)]
    np.testing.assert_allclose([pull for _, pull, _ in trained], expected)
    assert [len(rows) for rows in rows_of(model)] == [120, 60]
    for number, step in enumerate(model.evidence_.certified.steps):
        prior, centre = trained[number][2], trained[number + 1][2]
        w = drawn[number]
        squares = ((w - prior) ** 2).sum() - ((w - centre) ** 2).sum()
        assert step.log_ratio == pytest.approx(squares / (2.0 * sigma**2), rel=1e-6, abs=1e-6)
        np.testing.assert_allclose(np.std((w - centre) / sigma), 1.0, atol=0.1)
    # Another draw at each step: common noise would tie the net to the one before it.
    noise = [(d - t[2]) / sigma for d, t in zip(drawn, trained[1:], strict=True)]
    assert abs(np.corrcoef(*noise)[0, 1]) < 0.2


# Mutants.


class SeesItsPrior(RecursivePACBayes):
    """Mutant: the first net, from which the prior is made, is trained on all rows."""

    def run(self, learner, seed):
        fit = learner.fit

        def peek(rows, start=None, **options):
            rows = np.arange(learner.n_samples) if start is None else rows
            return fit(rows, start=start, **options)

        learner.fit = peek
        return super().run(learner, seed)


class TrainsOnAfterwards(RecursivePACBayes):
    """Mutant: the evidence of the chain, but a net of all rows predicts."""

    def run(self, learner, seed):
        _, evidence = super().run(learner, seed)
        return learner.fit(np.arange(learner.n_samples)), evidence


class MeanPredicts(RecursivePACBayes):
    """Mutant: the trained weights predict, the drawn ones are certified."""

    def run(self, learner, seed):
        fits, fit = [], learner.fit

        def remember(rows, **options):
            fits.append(fit(rows, **options))
            return fits[-1]

        learner.fit = remember
        _, evidence = super().run(learner, seed)
        return fits[-1], evidence


def test_mutants():
    X, y = many_classes(n_samples=360, n_classes=5)
    with pytest.raises(AssertionError):
        check_last_part_changes_nothing_before_it(
            clone(TINY).set_params(protocol=SeesItsPrior()), X, y
        )
    for mutant in (TrainsOnAfterwards(), MeanPredicts()):
        with pytest.raises(AssertionError):
            check_certificate_is_about_predict(clone(TINY).set_params(protocol=mutant), X, y)


def test_real_data():
    X, y = load_breast_cancer(return_X_y=True)
    model = clone(TINY).set_params(max_epochs=12, width=16, protocol=RecursivePACBayes(2))
    fitted = model.fit(X, y)
    assert fitted.n_samples_fit_ == 569
    assert not fitted.certificate_.vacuous
    assert np.mean(fitted.predict(X) != y) < 0.1 < fitted.generalization_bound_ < 0.3
    assert np.array_equal(clone(model).fit(X, y).predict_proba(X), fitted.predict_proba(X))
    copy = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(copy.predict_proba(X), fitted.predict_proba(X))
    assert RecursiveBound()(copy.evidence_, 0.05).value == fitted.generalization_bound_


def test_held_out_without_a_share_is_the_hold_out():
    X, y = many_classes(n_samples=300, n_classes=3)
    protocol = RecursivePACBayes(2, 0.0, "held_out", prior_fraction=0.6)
    fitted = BoundedClassifier(LINEAR, protocol=protocol, random_state=0).fit(X, y)
    assert fitted.n_samples_fit_ == 240
    assert fitted.evidence_.evaluated.n_samples == 60
    assert float(fitted.predicted_error_) == fitted.evidence_.evaluated.error


def test_search_pays_for_its_candidates():
    X, y = many_classes(n_samples=300, n_classes=3)
    model = BoundedClassifier(DecisionTreeClassifier(), protocol=HELD_OUT)
    search = BoundSearch(
        model,
        {"estimator__max_depth": [1, 3]},
        choose_by="bound",
        random_state=0,
        return_estimators=True,
    ).fit(X, y)
    assert search.certificate_.n_candidates == 2
    assert np.array_equal(*(rows_of(e)[0] for e in search.estimators_))


def test_few_rows_are_all_trained_on():
    X, y = many_classes(n_samples=99, n_classes=3)
    with pytest.warns(SkboundWarning, match="99 rows are too few to train in steps"):
        fitted = clone(TINY).fit(X, y)
    assert (fitted.n_samples_fit_, fitted.generalization_bound_) == (99, 1.0)
    assert clone(TINY).set_params(protocol__prior_fraction=0.5).fit(X, y).n_samples_certified_ == 49


def test_a_single_class():
    X, _ = many_classes(n_samples=120, n_classes=3)
    for protocol in (RecursivePACBayes(), HELD_OUT):
        fitted = clone(TINY).set_params(protocol=protocol).fit(X, np.zeros(120))
        assert not fitted.predict(X).any()
        assert 0.0 < fitted.generalization_bound_ < 1.0


def test_refusals():
    X, y = many_classes(n_samples=200, n_classes=3)
    with pytest.raises(
        TypeError, match=r"weights can be read.*RecursivePACBayes\(predictor='held_out'\)"
    ):
        BoundedClassifier(LINEAR, protocol="recursive_pac_bayes").fit(X, y)
    with pytest.raises(MissingEvidenceError, match="bound='auto'"):
        clone(TINY).set_params(bound="binomial").fit(X, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_steps": 1}, "at least 2, got 1. .*protocol='holdout'"),
        ({"gamma": 1.5}, r"gamma must lie in \[0, 1\], got 1.5"),
        ({"predictor": "gibbs"}, "predictor must be one of .* got 'gibbs'"),
        ({"sigma": 0.0}, "sigma must be positive and finite, got 0.0"),
        ({"prior_fraction": 1.0}, r"prior_fraction must be 'auto' or in \(0, 1\), got 1.0"),
        ({"prior_fraction": 0.01, "n_steps": 100}, "must leave a row for each part"),
    ],
)
def test_parameters_out_of_range(settings, message):
    with pytest.raises(ValueError, match=message):
        RecursivePACBayes(**settings).cuts(100)


def test_where_the_parts_end():
    assert RecursivePACBayes().cuts(99) == []
    assert RecursivePACBayes().cuts(100) == [50, 66, 83, 100]
    assert RecursivePACBayes(2, prior_fraction=0.6).cuts(1000) == [600, 800, 1000]
