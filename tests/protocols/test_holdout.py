"""A hold-out with several members: one averaged predictor, certified as what it is."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import Perceptron
from sklearn.tree import DecisionTreeClassifier

from skbound import BoundedClassifier, TransformerClassifier
from skbound.protocols import Holdout, resolve_protocol
from tests.honesty import (
    check_certificate_is_about_predict,
    check_split_ignores_labels,
    check_training_ignores_certified_rows,
    many_classes,
)

TINY = TransformerClassifier(
    depth=1, width=8, n_heads=2, max_epochs=3, protocol=Holdout(n_members=3), random_state=0
)
FOREST = BoundedClassifier(
    DecisionTreeClassifier(max_depth=4, max_features=1, random_state=0),
    protocol=Holdout(n_members=3),
    random_state=0,
)
every_model = pytest.mark.parametrize("model", [TINY, FOREST], ids=["transformer", "tree"])


@every_model
@pytest.mark.parametrize(
    "check",
    [
        check_certificate_is_about_predict,
        check_split_ignores_labels,
        check_training_ignores_certified_rows,
    ],
)
def test_ensemble_is_honest(model, check):
    check(model, *many_classes(n_classes=5))


@every_model
def test_answer_is_the_mean_over_members_that_differ(model):
    X, y = many_classes(n_classes=3)
    fitted = clone(model).fit(X, y)
    if model is TINY:
        logits = [part.logits(X.astype(np.float32)) for part in fitted._several.parts]
        shares = [np.exp(a) / np.exp(a).sum(axis=1, keepdims=True) for a in logits]
    else:
        shares = [part.predict_proba(X) for part in fitted.estimator_.parts]
    assert not np.array_equal(shares[0], shares[1])
    np.testing.assert_allclose(fitted.predict_proba(X), np.mean(shares, axis=0), atol=1e-7)
    assert np.array_equal(fitted.predict(X), fitted.predict_proba(X).argmax(axis=1))
    assert any("3 predictors" in text for text in fitted.evidence_.assumptions)


@every_model
def test_answer_does_not_depend_on_jobs(model):
    X, y = many_classes(n_classes=3)
    fits = [clone(model).set_params(protocol__n_jobs=jobs).fit(X, y) for jobs in (None, 2)]
    assert fits[0].generalization_bound_ == fits[1].generalization_bound_
    assert np.array_equal(fits[0].predict_proba(X), fits[1].predict_proba(X))


def test_members_without_probabilities_vote():
    X, y = many_classes(n_classes=3)
    model = BoundedClassifier(Perceptron(), protocol=Holdout(n_members=5), random_state=0)
    fitted = model.fit(X, y)
    votes = np.array([part.predict(X) for part in fitted.estimator_.parts])
    counts = np.array([(votes == label).sum(axis=0) for label in fitted.classes_])
    assert np.array_equal(fitted.predict(X), fitted.classes_[counts.argmax(axis=0)])
    np.testing.assert_allclose(fitted.predict_proba(X), counts.T / 5)
    assert fitted.evidence_.certified.brier is not None


def test_several_members_leave_more_rows_to_certify():
    assert Holdout(n_members=2).n_certified(1000) == 400
    assert Holdout(n_members=2).n_certified(99) == 0
    assert Holdout(fraction=0.3, n_members=2).n_certified(1000) == 300


@pytest.mark.parametrize("n_members", [0, -1, 2.0, None])
def test_bad_numbers_of_members_are_refused(n_members):
    X, y = many_classes(n_classes=3)
    with pytest.raises(ValueError, match="n_members must be 'auto' or an integer of at least 1"):
        clone(TINY).set_params(protocol__n_members=n_members).fit(X, y)


def test_real_data():
    X, y = load_breast_cancer(return_X_y=True)
    model = clone(TINY).set_params(max_epochs=10, protocol__n_jobs=1).fit(X, y)
    assert model.n_samples_certified_ == 228
    assert model.generalization_bound_ < 0.15


@pytest.mark.parametrize(
    ("n", "members", "certified"), [(100, 5, 40), (9_999, 5, 4_000), (10_000, 1, 2_000)]
)
def test_auto_takes_several_members_where_rows_are_few(n, members, certified):
    protocol = resolve_protocol("auto")
    assert (protocol.members(n), protocol.n_certified(n)) == (members, certified)
    first, rest = protocol.split(n, seed=0)
    assert (len(first), len(rest)) == (n - certified, certified)


def test_auto_leaves_parameters_to_be_set():
    clf = TransformerClassifier(depth=1, width=8, n_heads=2, max_epochs=2, protocol="auto")
    clf.set_params(protocol__fraction=0.25, random_state=0)
    rng = np.random.default_rng(0)
    clf.fit(rng.normal(size=(120, 3)), rng.integers(2, size=120))
    assert clf.n_samples_certified_ == 30
    assert clf.evidence_.n_members == 5
    assert "joint answer of 5 predictors" in clf.certificate_.statement()
    with pytest.raises(ValueError, match="n_members must be 'auto' or an integer"):
        Holdout(n_members="many").n_certified(200)
