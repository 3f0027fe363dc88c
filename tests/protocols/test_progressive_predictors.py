"""What predict does after progressive validation, and what else the blocks tell."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from skbound import BoundedClassifier, TransformerClassifier
from skbound.bounds import (
    BinomialBound,
    ProgressiveAverageBound,
    ProgressiveExactBound,
    ProgressiveMixtureBound,
    ProgressiveVoteBound,
)
from skbound.estimates import learning_curve_estimate
from skbound.evidence import Evidence, LearningCurve, ProgressiveSample, Sample
from skbound.exceptions import MissingEvidenceError
from skbound.protocols import Progressive
from tests.honesty import (
    check_certificate_is_about_predict,
    check_split_ignores_labels,
    check_training_ignores_certified_rows,
    many_classes,
)

TINY = TransformerClassifier(
    depth=1, width=8, n_heads=2, max_epochs=4, protocol=Progressive(), random_state=0
)
TREE = BoundedClassifier(
    DecisionTreeClassifier(max_depth=5, random_state=0), protocol=Progressive(), random_state=0
)
BOTH = pytest.mark.parametrize("model", [TINY, TREE], ids=["transformer", "tree"])


def fitted(model, predictor, n_samples=300, **settings):
    X, y = many_classes(n_samples=n_samples, n_classes=3)
    model = clone(model).set_params(protocol=Progressive(predictor=predictor, **settings))
    return model.fit(X, y), X, y


def parts_of(model):
    return (model._several if hasattr(model, "net_") else model.estimator_).parts


def proba_of(part, X):
    return softmax(part.logits(X), axis=1) if hasattr(part, "logits") else part.predict_proba(X)


@BOTH
@pytest.mark.parametrize(
    "check",
    [
        check_training_ignores_certified_rows,
        check_split_ignores_labels,
        check_certificate_is_about_predict,
    ],
)
def test_the_last_predictor_is_certified_like_a_holdout(check, model):
    check(clone(model).set_params(protocol__predictor="last"), *many_classes())


@BOTH
def test_the_last_predictor_alone(model):
    alone, _, _ = fitted(model, "last")
    mixture, X, y = fitted(model, "gibbs")
    blocks = mixture.evidence_.certified
    sample = alone.evidence_.certified
    assert isinstance(sample, Sample)
    assert np.array_equal(sample.rows, blocks.sample.rows[blocks.blocks == 1])
    assert (alone.n_samples_fit_, alone.n_samples_certified_) == (240, 60)
    assert alone.certificate_ == BinomialBound()(alone.evidence_, 0.05)
    last = parts_of(mixture)[-1]
    assert np.array_equal(alone.predict_proba(X), proba_of(last, X))
    assert "from the last block alone" in " ".join(alone.certificate_.assumptions)
    share = np.bincount(np.delete(y, sample.rows)).max() / 240
    assert alone.evidence_.majority_share == pytest.approx(share)
    estimate = alone.predicted_error_
    assert estimate.method.startswith("learning curve")
    assert float(estimate) == pytest.approx(
        float(learning_curve_estimate(mixture.evidence_, 240)), rel=1e-12
    )


@BOTH
def test_a_vote_and_its_factor(model):
    vote, X, _ = fitted(model, "vote", n_blocks=3)
    parts = parts_of(vote)
    sizes = np.bincount(vote.evidence_.certified.blocks)
    shares = np.zeros((len(X), 3))
    for part, size in zip(parts, sizes, strict=True):
        shares[np.arange(len(X)), proba_of(part, X).argmax(axis=1)] += size / sizes.sum()
    np.testing.assert_allclose(vote.predict_proba(X), shares, atol=1e-9)
    alone = replace(vote.evidence_.certified, together="gibbs")
    mean = ProgressiveExactBound()(replace(vote.evidence_, certified=alone), 0.05)
    assert vote.generalization_bound_ == pytest.approx(2.0 * mean.value, rel=1e-12)
    assert vote.certificate_.name == "progressive_vote"
    assert vote.bounds_["brier_progressive_vote"].value == pytest.approx(mean.value, rel=1e-12)
    assert "predict lets 3 predictors vote" in vote.certificate_.statement()
    assert "hash" not in vote.certificate_.statement()


@BOTH
def test_an_average_and_its_factor(model):
    average, X, y = fitted(model, "average")
    sizes = np.bincount(average.evidence_.certified.blocks)
    expected = sum(
        size / sizes.sum() * proba_of(part, X)
        for part, size in zip(parts_of(average), sizes, strict=True)
    )
    np.testing.assert_allclose(average.predict_proba(X), expected, atol=1e-9)
    # Of a mixture, the mean of the same losses.
    alone = replace(average.evidence_.certified, together="gibbs")
    alone = replace(average.evidence_, certified=alone)
    brier = ProgressiveMixtureBound("brier").terms(alone, 0.05)
    total = math.fsum(brier.values())
    assert average.generalization_bound_ == pytest.approx(4.0 * total, rel=1e-12)
    assert average.bounds_["brier_progressive_average"].value == pytest.approx(total, rel=1e-12)
    assert math.fsum(average.certificate_.terms.values()) == average.generalization_bound_
    # Where the average errs, half its squared distance from the label is at least a quarter.
    halves = 0.5 * ((expected - np.eye(3)[y]) ** 2).sum(axis=1)
    assert (halves[average.predict(X) != y] >= 0.25 - 1e-9).all()


def test_wrong_averages_are_at_least_a_quarter_away():
    rng = np.random.default_rng(0)
    for n_classes in (2, 3, 8):
        p = rng.dirichlet(np.full(n_classes, 0.3), size=20_000)
        halves = 0.5 * ((p - np.eye(n_classes)[0]) ** 2).sum(axis=1)
        assert halves[p.argmax(axis=1) != 0].min() >= 0.25 - 1e-12


def test_bounds_of_a_vote_and_of_a_mixture_refuse_each_other():
    vote, _, _ = fitted(TREE, "vote")
    mixture, _, _ = fitted(TREE, "gibbs")
    for bound in (ProgressiveVoteBound(), ProgressiveAverageBound()):
        with pytest.raises(MissingEvidenceError, match="but predict uses predictor='gibbs'"):
            bound(mixture.evidence_, 0.05)
        with pytest.raises(ValueError, match="loss must be one of"):
            type(bound)("log")
    # Else the error of the vote would pass for the mean error, which may be smaller.
    for bound in (ProgressiveExactBound(), ProgressiveMixtureBound()):
        with pytest.raises(MissingEvidenceError, match="predict uses predictor='vote'"):
            bound(vote.evidence_, 0.05)
    with pytest.raises(ValueError, match="together must be one of"):
        replace(mixture.evidence_.certified, together="best")


def test_repeated_rows_are_refused_only_where_a_hash_chooses():
    X = np.repeat(np.random.default_rng(0).normal(size=(60, 2)), 5, axis=0)
    y = np.tile([0, 1], 150)
    with pytest.raises(ValueError, match="rows that hardly repeat"):
        clone(TREE).fit(X, y)
    for predictor in ("vote", "average", "last"):
        clone(TREE).set_params(protocol__predictor=predictor).fit(X, y)


# Warm starts.


def test_later_nets_go_on_from_the_first():
    cold, X, _ = fitted(TINY, "gibbs")
    warm, _, _ = fitted(TINY, "gibbs", warm_start=True)
    first, later = parts_of(warm)
    assert later.tokenizer is first.tokenizer
    assert parts_of(cold)[1].tokenizer is not parts_of(cold)[0].tokenizer
    assert (len(first.history), len(later.history)) == (4, 2)
    assert np.array_equal(first.logits(X), parts_of(cold)[0].logits(X))
    assert not np.array_equal(later.logits(X), first.logits(X))
    assert "went on from the one before" in " ".join(warm.certificate_.assumptions)
    assert "went on" not in " ".join(cold.certificate_.assumptions)


def test_only_nets_can_go_on():
    X, y = many_classes(n_samples=300, n_classes=3)
    with pytest.raises(TypeError, match="warm_start=True"):
        clone(TREE).set_params(protocol__warm_start=True).fit(X, y)


def test_a_single_class_can_go_on():
    X = np.random.default_rng(0).normal(size=(120, 3))
    clf = clone(TINY).set_params(protocol__warm_start=True).fit(X, np.zeros(120))
    assert clf.evidence_.certified.sample.n_errors == 0
    assert clf.evidence_.learning_curve.code_length == 0.0


# The learning curve.


@BOTH
def test_learning_curve_and_code_length(model):
    clf, X, y = fitted(model, "gibbs", n_blocks=3)
    curve, blocks = clf.evidence_.learning_curve, clf.evidence_.certified
    assert curve.n_fit.tolist() == [180, 220, 260]
    assert curve.n_rows.tolist() == [40, 40, 40]
    nats = []
    for number, part in enumerate(parts_of(clf)):
        rows = blocks.sample.rows[blocks.blocks == number]
        assert curve.n_errors[number] == blocks.sample.zero_one[blocks.blocks == number].sum()
        own = proba_of(part, X[rows])[np.arange(len(rows)), y[rows]]
        nats.append(-np.log(np.maximum(own, np.finfo(float).tiny)).sum())
    np.testing.assert_allclose(curve.log_loss, nats, rtol=1e-6)
    assert curve.code_length == pytest.approx(180 * math.log(3) + sum(nats), rel=1e-6)
    np.testing.assert_allclose(curve.error, curve.n_errors / 40)


def test_without_probabilities_there_is_no_code_length():
    model = BoundedClassifier(Perceptron(), protocol="progressive", random_state=0)
    curve = model.fit(*many_classes(n_samples=200, n_classes=3)).evidence_.learning_curve
    assert curve.log_loss is None
    assert math.isnan(curve.code_length)


def curve_evidence(n_fit, n_errors, n_rows=100):
    curve = LearningCurve(
        n_fit=n_fit, n_rows=[n_rows] * len(n_fit), n_errors=n_errors, n_first=n_fit[0], n_classes=2
    )
    return Evidence(
        protocol="progressive", n_fit=n_fit[-1], majority_share=0.5, learning_curve=curve
    )


def test_extrapolation_finds_a_curve_of_its_own_form():
    n_fit = np.array([500, 1000, 2000])
    errors = np.round((0.1 + 50.0 / n_fit) * 10**6).astype(int)
    evidence = curve_evidence(n_fit, errors, 10**6)
    for n in (None, 4000, 500):
        found = learning_curve_estimate(evidence, n)
        assert float(found) == pytest.approx(0.1 + 50.0 / (n or 2000), abs=1e-6)
    near, far = (learning_curve_estimate(evidence, n).standard_error for n in (1500, 200))
    assert near < far


def test_extrapolation_never_rises_and_knows_its_spread():
    rising = curve_evidence([100, 200], [10, 20])
    assert float(learning_curve_estimate(rising, 400)) == pytest.approx(0.15)
    assert float(learning_curve_estimate(curve_evidence([100, 200], [0, 0]))) == 0.0
    assert learning_curve_estimate(curve_evidence([100, 200], [0, 0])).standard_error > 0.0
    one = learning_curve_estimate(curve_evidence([100], [10]), 300)
    assert (float(one), round(one.standard_error, 3)) == (0.1, 0.031)
    rng = np.random.default_rng(0)
    found = [
        learning_curve_estimate(
            curve_evidence([100, 200, 300], rng.binomial(100, [0.3, 0.2, 0.17]))
        )
        for _ in range(300)
    ]
    spread = np.std([float(estimate) for estimate in found])
    assert 0.7 < spread / np.mean([estimate.standard_error for estimate in found]) < 1.1


def test_extrapolation_refuses_what_has_no_curve():
    with pytest.raises(MissingEvidenceError, match="Fit with protocol='progressive'"):
        learning_curve_estimate(Evidence(protocol="holdout", n_fit=9, majority_share=0.5))
    with pytest.raises(ValueError, match="n_fit must be at least 1"):
        learning_curve_estimate(curve_evidence([100, 200], [1, 1]), 0)


def test_an_average_needs_probabilities():
    model = BoundedClassifier(Perceptron(), protocol=Progressive(predictor="average"))
    with pytest.raises(ValueError, match=r"'average'\) needs a classifier with predict_proba"):
        model.fit(*many_classes(n_samples=200, n_classes=3))


def test_curves_check_themselves():
    good = {"n_fit": [1, 2], "n_rows": [5, 5], "n_errors": [1, 0], "n_first": 1, "n_classes": 2}
    LearningCurve(**good)
    with pytest.raises(ValueError, match="one length"):
        LearningCurve(**good | {"n_rows": [5]})
    for bad in ({"n_errors": [6, 0]}, {"n_rows": [0, 5]}, {"log_loss": [np.nan, 1.0]}):
        with pytest.raises(ValueError, match="as many errors"):
            LearningCurve(**good | bad)


def test_real_data():
    X, y = load_breast_cancer(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    clf = TransformerClassifier(
        depth=1, width=16, max_epochs=10, protocol=Progressive(warm_start=True), random_state=0
    ).fit(X, y)
    assert np.mean(clf.predict(X_test) != y_test) < clf.generalization_bound_ < 0.2
    assert clf.certificate_.name == "progressive_exact"


def test_parts_of_black_boxes_that_lack_a_class():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(2, size=200)
    model = BoundedClassifier(LogisticRegression(), protocol=Progressive(), random_state=0)
    rare = clone(model).fit(X, y).evidence_.certified.sample.rows[-1]
    fitted = model.fit(X, np.where(np.arange(200) == rare, 2, y))
    assert fitted.evidence_.learning_curve.code_length < math.inf


def test_record_of_a_stream_names_its_bounds():
    blocks = ProgressiveSample(Sample([0, 1], [0, 1]), [0, 1], planned=False)
    assert blocks.kind == "progressive_stream"
    assert replace(blocks, planned=True).kind == "progressive"
