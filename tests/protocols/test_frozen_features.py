"""Frozen features: only the head sees the certified rows, and the record is about predict."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from skbound import BoundedClassifier, BoundSearch, TransformerClassifier, certify
from skbound.bounds import CoveringBound, MarginBound, MeanHeadBound
from skbound.exceptions import MissingEvidenceError, SkboundWarning
from skbound.protocols import FeatureMap, FrozenFeatures
from skbound.protocols._feature_map import principal_map
from skbound.protocols._logistic import fit_logistic, objective
from tests.honesty import many_classes

TINY = TransformerClassifier(
    depth=1, width=8, n_heads=2, max_epochs=2, protocol="frozen_features", random_state=0
)
MODELS = {
    "plain": TINY,
    "early stopping": clone(TINY).set_params(early_stopping=True, max_epochs=4),
    "class weights": clone(TINY).set_params(class_weight="balanced", pooling="mean"),
    "few directions": clone(TINY).set_params(protocol=FrozenFeatures(0.3, 2, 0.1)),
    "all directions": clone(TINY).set_params(protocol__n_directions=100, dtype="float64"),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def record_of(model):
    return model.evidence_.certified


def body_of(model):
    """All numbers of the net except the map of the new head."""
    state = model.net_.module_.state_dict()
    own = {name for name in state if name.startswith("head.")}
    assert own == {"head.center", "head.directions", "head.weight", "head.bias"}
    return {k: v for k, v in state.items() if k not in ("head.weight", "head.bias")}


def check_body_ignores_certified_rows(model, X, y):
    """Other rows for the head leave the net and the map of its features bit-equal."""
    first = clone(model).fit(X, y)
    rows = record_of(first).sample.rows
    rng = np.random.default_rng(1)
    X_other, y_other = X.copy(), y.copy()
    X_other[rows], y_other[rows] = 50.0 * rng.normal(size=X[rows].shape), y[0]
    assert np.array_equal(np.unique(np.delete(y, rows)), np.unique(y))
    second = clone(model).fit(X_other, y_other)
    assert np.array_equal(record_of(second).sample.rows, rows)
    for name, values in body_of(first).items():
        assert torch.equal(values, body_of(second)[name]), name
    assert second.evidence_.majority_share == first.evidence_.majority_share


def check_record_is_about_predict(model, X, y):
    """Losses, margins, norms and gradient are those of the net that predicts."""
    model = clone(model).fit(X, y)
    record, head = record_of(model), model.net_.module_.head
    rows = record.sample.rows
    codes = np.searchsorted(model.classes_, y[rows])
    assert np.array_equal(record.sample.zero_one, model.predict(X[rows]) != y[rows])
    brier = 0.5 * ((model.predict_proba(X[rows]) - np.eye(len(model.classes_))[codes]) ** 2)
    np.testing.assert_allclose(record.sample.brier, brier.sum(axis=1), atol=1e-12)
    features = features_of(model, X[rows])
    weights = np.hstack([head.weight[:, : features.shape[1] - 1], head.bias[:, None]])
    logits = features @ weights.T
    own = logits[np.arange(len(rows)), codes]
    logits[np.arange(len(rows)), codes] = -np.inf
    np.testing.assert_allclose(record.margins, own - logits.max(axis=1), atol=1e-9)
    norms = np.linalg.norm(features, axis=1)
    np.testing.assert_allclose(record.feature_norms, norms, rtol=1e-12)
    assert norms.max() <= record.domain_bound * (1.0 + 1e-12)
    assert record.head_norm == pytest.approx(np.linalg.norm(weights), rel=1e-12)
    assert (record.n_classes, record.n_features) == weights.shape
    lam = model.get_params().get("protocol__regularization", 0.01)
    equal = np.full(len(rows), 1.0 / len(rows))
    _, gradient = objective(weights, features, codes, lam, equal)
    assert record.regularization == lam
    assert record.gradient_norm == pytest.approx(np.linalg.norm(gradient), abs=1e-9)


def features_of(model, X):
    """Feature vectors of the net's head, the constant one included."""
    module, seen = model.net_.module_, []
    handle = module.head.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    model.predict(X)
    handle.remove()
    x = torch.cat(seen)[: len(X)].double().numpy()
    width = x.shape[1]
    directions = module.head.directions.numpy()[:, :width]
    return FeatureMap(module.head.center.numpy(), directions)(x)


@every_model
@pytest.mark.parametrize(
    "check", [check_body_ignores_certified_rows, check_record_is_about_predict]
)
def test_protocol_is_honest(check, model):
    check(model, *many_classes(n_samples=240, n_classes=4))


class BodySeesAll(FrozenFeatures):
    """Mutant: the net is trained on all rows."""

    def run(self, learner, seed):
        fit, rows = learner.fit, np.arange(learner.n_samples)
        learner.fit = lambda _: fit(rows)
        return super().run(learner, seed)


class MapSeesAll(FrozenFeatures):
    """Mutant: centre, directions and radius come from all rows."""

    def run(self, learner, seed):
        features, rows = learner.features, np.arange(learner.n_samples)
        prior, _ = self.split(learner.n_samples, seed)
        learner.features = lambda fit, r: features(fit, rows if np.array_equal(r, prior) else r)
        return super().run(learner, seed)


class OldHead(FrozenFeatures):
    """Mutant: the net predicts with the head that it was trained with."""

    def run(self, learner, seed):
        old = {}
        fit = learner.fit

        def remember(rows):
            old["fit"] = fit(rows)
            return old["fit"]

        learner.fit = remember
        _, evidence = super().run(learner, seed)
        return old["fit"], evidence


class Unclipped(FeatureMap):
    """Mutant: vectors outside the ball stay there."""

    def __call__(self, x):
        inside = (x - self.center) @ self.directions.T
        return np.hstack([inside, np.ones((len(x), 1))])


def test_mutants_are_noticed(monkeypatch):
    X, y = many_classes(n_samples=240, n_classes=4)
    for mutant in (BodySeesAll(), MapSeesAll()):
        with pytest.raises(AssertionError):
            check_body_ignores_certified_rows(clone(TINY).set_params(protocol=mutant), X, y)
    with pytest.raises((AssertionError, AttributeError)):
        check_record_is_about_predict(clone(TINY).set_params(protocol=OldHead()), X, y)

    def unclipped(x, n_directions):
        found = principal_map(x, n_directions)
        return Unclipped(found.center, found.directions)

    monkeypatch.setattr("skbound.protocols._frozen_features.principal_map", unclipped)
    with pytest.raises(ValueError, match="Clip the features to a ball"):
        clone(TINY).fit(X, y)


def test_split_ignores_labels():
    X, y = many_classes(n_samples=240, n_classes=4)
    rows = [
        record_of(clone(TINY).fit(X, labels)).sample.rows for labels in (y, np.roll(y, 7), y[::-1])
    ]
    assert np.array_equal(rows[0], rows[1])
    assert np.array_equal(rows[0], rows[2])
    other = clone(TINY).set_params(protocol=FrozenFeatures(random_state=5)).fit(X, y)
    assert not np.array_equal(rows[0], record_of(other).sample.rows)


def test_rows_far_away_are_clipped_by_the_net_itself():
    X, y = many_classes(n_samples=240, n_classes=4)
    fitted = clone(TINY).fit(X, y)
    far = 1e4 * np.random.default_rng(0).normal(size=(200, 4))
    features = features_of(fitted, far)
    assert np.linalg.norm(features, axis=1).max() <= record_of(fitted).domain_bound * (1 + 1e-12)
    logits = fitted.decision_function(far)
    widest = record_of(fitted).domain_bound * record_of(fitted).head_norm
    assert np.linalg.norm(logits, axis=1).max() <= widest * (1.0 + 1e-12)


@every_model
def test_predictions_depend_on_the_row_alone(model):
    X, y = many_classes(n_samples=240, n_classes=3)
    fitted = clone(model).fit(X, y)
    proba = fitted.predict_proba(X)
    assert np.array_equal(fitted.predict_proba(X[::-1])[::-1], proba)
    assert np.array_equal(fitted.predict_proba(X[:7]), proba[:7])
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict_proba(X), proba)
    assert again.bounds_ == fitted.bounds_
    assert np.array_equal(clone(model).fit(X, y).predict_proba(X), proba)
    assert record_of(clone(model).fit(X, y)).gradient_norm == record_of(fitted).gradient_norm


def test_the_head_is_the_minimiser():
    rng = np.random.default_rng(0)
    x = np.hstack([rng.normal(size=(100, 3)), np.ones((100, 1))])
    codes = rng.integers(3, size=100)
    head = fit_logistic(x, codes, 4, lam=0.05, weights=np.ones(100))
    assert head.gradient_norm < 1e-6
    np.testing.assert_allclose(head.weights.sum(axis=0), 0.0, atol=1e-12)
    other = LogisticRegression(C=1.0 / (0.05 * 100), fit_intercept=False, tol=1e-10, max_iter=5000)
    other.fit(x, codes)
    objective_of = [
        objective(w, x, codes, 0.05, np.full(100, 0.01))[0]
        for w in (head.weights, np.vstack([other.coef_, np.zeros(4)]))
    ]
    # A class without a row only takes probability away.
    assert objective_of[0] < objective_of[1]
    same = fit_logistic(x, codes, 3, lam=0.05, weights=np.ones(100)).weights
    np.testing.assert_allclose(same, other.coef_, atol=1e-5)
    _, gradient = objective(same, x, codes, 0.05, np.full(100, 0.01))
    step = np.zeros_like(same)
    step[1, 2] = 1e-6
    up, down = (objective(same + s, x, codes, 0.05, np.full(100, 0.01))[0] for s in (step, -step))
    assert (up - down) / 2e-6 == pytest.approx(gradient[1, 2], abs=1e-8)


def test_principal_map_keeps_nine_tenths_and_the_widest_directions():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 4)) * [0.1, 3.0, 0.5, 1.0] + 2.0
    found = principal_map(x, 2)
    features = found(x)
    assert features.shape == (500, 3)
    norms = np.linalg.norm(features[:, :2], axis=1)
    assert np.mean(norms < 1.0 - 1e-6) == pytest.approx(0.9, abs=0.01)
    assert norms.max() <= 1.0 + 1e-12
    assert (np.abs(found.directions).argmax(axis=1) == [1, 3]).all()
    constant = principal_map(np.ones((20, 4)), 2)
    assert np.array_equal(constant(np.ones((3, 4))), [[0.0, 0.0, 1.0]] * 3)


def test_weights_act_on_the_head_and_leave_a_valid_record():
    X, y = many_classes(n_samples=240, n_classes=3)
    plain = clone(TINY).set_params(protocol__regularization=10.0)
    weighted = clone(plain).set_params(class_weight={0: 1.0, 1: 5.0, 2: 1.0}).fit(X, y)
    plain.fit(X, y)
    assert record_of(plain).gradient_norm < 1e-6 < record_of(weighted).gradient_norm
    assert (weighted.predict(X) == 1).sum() > (plain.predict(X) == 1).sum()
    assert weighted.bounds_["mean_head"].value == 1.0
    weights = np.r_[np.ones(150), np.zeros(90)]
    assert clone(TINY).fit(X, y, sample_weight=weights).n_samples_certified_ == 75


def test_other_shapes_and_missing_classes():
    X, y = many_classes(n_samples=240, n_classes=3)
    fitted = clone(TINY).fit(X.reshape(-1, 2, 2), y)
    assert fitted.predict(X[:5].reshape(-1, 2, 2)).shape == (5,)
    rows = record_of(fitted).sample.rows
    prior = np.setdiff1d(np.arange(240), rows)
    for part in (prior, rows):
        labels = np.where(np.arange(240) == part[0], "rare", y.astype(str))
        found = clone(TINY).fit(X, labels)
        assert found.predict_proba(X).shape == (240, 4)
        assert record_of(found).n_classes == 4


def test_one_class_and_few_rows_certify_nothing():
    X, y = many_classes(n_samples=240, n_classes=3)
    with pytest.warns(SkboundWarning, match="there is a single class"):
        fitted = clone(TINY).fit(X, np.zeros(240))
    assert (fitted.generalization_bound_, fitted.net_) == (1.0, None)
    with pytest.warns(SkboundWarning, match="99 rows are too few to train a head"):
        fitted = clone(TINY).fit(X[:99], y[:99])
    assert (fitted.n_samples_fit_, fitted.generalization_bound_) == (99, 1.0)
    few = clone(TINY).set_params(protocol__prior_fraction=0.5).fit(X[:60], y[:60])
    assert (few.n_samples_fit_, few.n_samples_certified_) == (30, 30)


def test_what_is_refused():
    X, y = many_classes(n_classes=3)
    with pytest.raises(TypeError, match="whose last linear map can be replaced"):
        BoundedClassifier(LogisticRegression(), protocol="frozen_features").fit(X, y)
    for bound in ("binomial", "progressive"):
        with pytest.raises(MissingEvidenceError, match="bound='auto'"):
            clone(TINY).set_params(bound=bound).fit(X, y)
    with pytest.raises(
        MissingEvidenceError, match="needs protocol='frozen_features', but protocol="
    ):
        clone(TINY).set_params(protocol="holdout", bound="covering").fit(X, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prior_fraction": 1.0}, r"prior_fraction must be 'auto' or in \(0, 1\), got 1.0"),
        ({"prior_fraction": "half"}, "prior_fraction must be 'auto'"),
        ({"prior_fraction": 0.001}, "must leave at least one row"),
        ({"n_directions": 0}, "n_directions must be 'auto' or an integer of at least 1, got 0"),
        ({"n_directions": None}, "n_directions must be 'auto'"),
        ({"regularization": 0.0}, r"regularization must lie in \[1e-8, 1e8\], got 0.0"),
        ({"regularization": "auto"}, "regularization must lie"),
    ],
)
def test_parameters_out_of_range(settings, message):
    with pytest.raises(ValueError, match=message):
        FrozenFeatures(**settings).n_first(200)


def test_search_pays_for_its_candidates():
    X, y = many_classes(n_samples=240, n_classes=3)
    model = clone(TINY).set_params(protocol=FrozenFeatures(), random_state=None)
    search = BoundSearch(
        model,
        {"protocol__n_directions": [1, 2]},
        choose_by="bound",
        random_state=0,
        return_estimators=True,
    ).fit(X, y)
    for estimator in search.estimators_:
        alone = CoveringBound()(replace(estimator.evidence_, n_candidates=1), 0.05 / 2)
        assert estimator.generalization_bound_ == pytest.approx(alone.value, rel=1e-12)
    assert certify(search, "margin").value == pytest.approx(
        MarginBound()(replace(search.evidence_, n_candidates=1), 0.025).value
    )


def test_real_data():
    X, X_test, y, y_test = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
    model = TransformerClassifier(
        protocol="holdout", depth=1, width=16, max_epochs=20, random_state=0
    )
    fitted = model.set_params(protocol="frozen_features").fit(X, y)
    assert (fitted.n_samples_fit_, fitted.n_samples_certified_) == (213, 213)
    assert 1.0 - fitted.score(X_test, y_test) < fitted.generalization_bound_ < 0.25
    assert not fitted.certificate_.vacuous
    assert list(fitted.bounds_) == [
        *("covering", "margin", "mean_head", "stability", "entropy", "best")
    ]
    assert fitted.bounds_["stability"].vacuous
    assert "This is vacuous" in fitted.bounds_["stability"].statement()
    assert fitted.bounds_["best"].value >= fitted.generalization_bound_
    assert MeanHeadBound()(fitted.evidence_).value <= 1.0
