"""Informed shares of delta: fixed on the training side, paid for, and valid."""

import math
from dataclasses import replace

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skbound import (
    BoundedClassifier,
    BoundSearch,
    FitOnce,
    TransformerClassifier,
    bound_scorer,
    certify,
)
from skbound.bounds import BinomialBound, binomial_tail_inverse
from skbound.evidence import Evidence, Sample
from skbound.exceptions import SkboundWarning
from skbound.model_selection._candidates import Outcome
from skbound.model_selection._ranking import shares_by_rank
from skbound.protocols import FrozenFeatures, Holdout
from skbound.protocols._inner_split import InnerSplit

X, Y = make_classification(400, 6, n_informative=3, flip_y=0.2, random_state=0)
TREE = BoundedClassifier(DecisionTreeClassifier())
GRID = {"estimator__max_depth": [1, 2, 4, 8, 12]}


def search_of(**settings):
    settings = {
        "choose_by": "bound", "candidate_weights": "informed", "random_state": 0
    } | settings  # fmt: skip
    return BoundSearch(TREE, GRID, **settings)


@pytest.fixture(scope="module")
def search():
    return search_of(return_estimators=True).fit(X, Y)


def test_shares_are_recomputed_by_hand(search):
    model = search.estimators_[0]
    rows, certified = model.protocol.split(400, model.random_state)
    assert np.array_equal(certified, model.evidence_.certified.rows)
    fit_rows, score_rows = InnerSplit(model.protocol).split(400, model.random_state)
    assert np.array_equal(np.sort(np.r_[fit_rows, score_rows]), rows)
    assert len(score_rows) == round(0.2 * len(rows))
    scores = []
    for fitted in search.estimators_:
        tree = clone(fitted.estimator_).fit(X[fit_rows], Y[fit_rows])
        proba = tree.predict_proba(X[score_rows])
        brier = 0.5 * ((proba - np.eye(2)[Y[score_rows]]) ** 2).sum(axis=1).mean()
        scores.append((np.mean(tree.predict(X[score_rows]) != Y[score_rows]), brier))
    np.testing.assert_allclose(search.cv_results_["ranking_error"], [e for e, _ in scores])
    order = sorted(range(5), key=lambda k: (scores[k][1], k))
    shares = np.empty(5)
    shares[order] = 1.0 / np.arange(1, 6) ** 2 / sum(1.0 / r**2 for r in range(1, 6))
    np.testing.assert_allclose(search.cv_results_["share"], shares, rtol=1e-10)
    assert math.fsum(search.cv_results_["share"]) <= 1.0


def test_every_candidate_is_bounded_at_its_share_and_the_smallest_wins(search):
    table = search.cv_results_
    for model, bound, share in zip(search.estimators_, table["bound"], table["share"], strict=True):
        evidence = model.evidence_
        assert (evidence.n_candidates, evidence.share) == (5, share)
        errors, n = evidence.certified.n_errors, evidence.n_certified
        exact = binomial_tail_inverse(errors, n, log_delta=math.log(0.05 * share))
        assert bound == pytest.approx(exact, rel=1e-12)
    assert search.best_bound_ == table["bound"].min() == search.certificate_.value
    assert search.certificate_.terms["choice"] > 0.0
    text = search.certificate_.statement()
    assert f"bounded at level 0.05 * {search.evidence_.share:.4g}, a share that was fixed" in text
    assert certify(search) == search.certificate_


def test_the_default_is_what_it_was():
    uniform = search_of(candidate_weights="uniform", return_estimators=True).fit(X, Y)
    plain = BoundSearch(TREE, GRID, choose_by="bound", random_state=0).fit(X, Y)
    assert uniform.certificate_ == plain.certificate_
    assert "share" not in plain.cv_results_
    for model, bound in zip(uniform.estimators_, plain.cv_results_["bound"], strict=True):
        evidence = replace(model.evidence_, n_candidates=1)
        alone = BinomialBound()(evidence, 0.05)
        paid = BinomialBound()(evidence, 0.05 / 5)
        assert bound == math.fsum([*alone.terms.values(), paid.value - alone.value])
        assert model.evidence_.share is None


def test_equal_shares_are_those_of_no_weights():
    sample = Sample(np.arange(200), np.arange(200) < 12)
    plain = Evidence(
        protocol="holdout", n_fit=99, majority_share=0.5, certified=sample, n_candidates=4
    )
    quarter = replace(plain, share=0.25)
    for delta in (0.05, 0.2, 1e-6):
        assert BinomialBound()(quarter, delta).value == BinomialBound()(plain, delta).value
    assert BinomialBound()(replace(plain, share=0.9)).value < BinomialBound()(plain).value
    for bad in (0.0, 1.1, -0.2, math.nan):
        with pytest.raises(ValueError, match=r"share must lie in \(0, 1\]"):
            replace(plain, share=bad)


class Recorder(ClassifierMixin, BaseEstimator):
    """Notes which rows it is trained on and asked about; the first column numbers the rows."""

    log: list = []  # noqa: RUF012

    def __init__(self, constant=0):
        self.constant = constant

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.log.append(("fit", X[:, 0].astype(int)))
        return self

    def predict(self, X):
        self.log.append(("predict", X[:, 0].astype(int)))
        return np.full(len(X), self.classes_[self.constant])


def test_certified_rows_are_read_after_the_ranking_only():
    Recorder.log.clear()
    numbered = np.c_[np.arange(400), X]
    model = BoundedClassifier(Recorder())
    search = BoundSearch(
        model,
        {"estimator__constant": [0, 1]},
        choose_by="bound",
        candidate_weights="informed",
        random_state=0,
    ).fit(numbered, Y)
    certified = search.evidence_.certified.rows
    # Each fit ends with a look at 16 of the rows that it was evaluated on, at once and one by one.
    reads = [bool(np.isin(rows, certified).any()) for _, rows in Recorder.log if len(rows) > 16]
    assert reads == [False] * 4 + [False, True] * 2
    (_, fitted), (_, asked) = Recorder.log[:2]
    assert not np.isin(asked, fitted).any()
    assert np.array_equal(np.sort(np.r_[fitted, asked, certified]), np.arange(400))


def test_other_certified_rows_leave_the_shares_alone(search):
    rows = search.evidence_.certified.rows
    labels = Y.copy()
    labels[rows] = 1 - labels[rows]
    other = search_of().fit(X, labels)
    for name in ("share", "ranking_error"):
        assert np.array_equal(other.cv_results_[name], search.cv_results_[name])
    assert other.best_bound_ != search.best_bound_


def test_failures_come_last_and_get_a_share():
    outcomes = [
        Outcome(error=0.2, brier=0.1),
        Outcome(failure=RuntimeError()),
        Outcome(error=0.1, brier=math.nan),
        Outcome(error=0.1, brier=0.3),
        Outcome(error=0.1, brier=0.3),
    ]
    shares = np.array(shares_by_rank(outcomes))
    assert np.array_equal(np.argsort(-shares), [3, 4, 2, 0, 1])
    assert shares.min() > 0.0
    assert shares_by_rank([Outcome(error=0.5)]) == [pytest.approx(1.0, abs=1e-11)]


def test_splits_that_differ_or_are_not_told_are_refused():
    for grid in (
        {"protocol__fraction": [0.2, 0.5]},
        {"protocol": [Holdout(random_state=1), Holdout()]},
    ):
        with pytest.raises(ValueError, match="certify on the same rows"):
            BoundSearch(
                TREE, grid, choose_by="bound", candidate_weights="informed", random_state=0
            ).fit(X, Y)
    model = clone(TREE).set_params(protocol="cross_fit")
    with pytest.raises(ValueError, match="must split the rows once"):
        BoundSearch(model, GRID, choose_by="bound", candidate_weights="informed").fit(X, Y)
    with pytest.raises(ValueError, match="candidate_weights"):
        search_of(candidate_weights="ranked").fit(X, Y)


def test_further_choices_leave_a_share_of_the_share(search):
    outer = GridSearchCV(
        search_of(),
        {"param_grid": [GRID, {"estimator__max_depth": [3, 5]}]},
        scoring=bound_scorer,
        cv=FitOnce(),
    ).fit(X, Y)
    best = outer.best_estimator_.best_estimator_.evidence_
    expected = BinomialBound()(replace(best, n_candidates=1, share=None), 0.05 * best.share / 2)
    certificate = certify(outer)
    assert certificate.value == pytest.approx(expected.value, rel=1e-12)
    assert certificate.n_candidates == 2 * best.n_candidates
    more = certify(search, n_candidates=20)
    assert more.share == pytest.approx(search.evidence_.share / 4)
    assert more.value > search.best_bound_


def test_pipelines_weights_transformers_and_jobs():
    pipeline = make_pipeline(StandardScaler(), TREE)
    grid = {f"boundedclassifier__{name}": values for name, values in GRID.items()}
    piped = BoundSearch(
        pipeline, grid, choose_by="bound", candidate_weights="informed", random_state=0
    )
    with pytest.warns(SkboundWarning, match="standardscaler"):
        piped.fit(X, Y)
    assert piped.cv_results_["share"].max() > 0.6
    weights = np.r_[np.ones(300), np.zeros(100)]
    with parallel_config(backend="threading"):
        weighted = search_of(n_jobs=2).fit(X, Y, sample_weight=weights)
    assert weighted.certificate_ == search_of().fit(X, Y, sample_weight=weights).certificate_
    tiny = TransformerClassifier(
        depth=1, width=8, n_heads=2, max_epochs=2, protocol=FrozenFeatures()
    )
    found = BoundSearch(
        tiny, {"lr": [1e-3, 1e-2]}, choose_by="bound", candidate_weights="informed", random_state=0
    ).fit(X, Y)
    assert found.certificate_.name == "covering"
    assert sorted(found.cv_results_["share"]) == pytest.approx([0.2, 0.8])


def test_few_rows_certify_nothing_and_rank_nothing():
    with pytest.warns(SkboundWarning, match="Nothing is certified"):
        few = search_of().fit(X[:80], Y[:80])
    assert few.best_bound_ == 1.0
    assert "share" not in few.cv_results_


def test_a_search_with_informed_weights_beats_equal_ones_when_the_ranking_is_right():
    X, Y = make_classification(400, 6, class_sep=2.0, random_state=1)
    noise = {"estimator": [LogisticRegression(), *[Recorder(k % 2) for k in range(15)]]}
    informed = BoundSearch(
        TREE, noise, choose_by="bound", candidate_weights="informed", random_state=0
    ).fit(X, Y)
    equal = BoundSearch(TREE, noise, choose_by="bound", random_state=0).fit(X, Y)
    assert informed.best_index_ == equal.best_index_ == 0
    assert informed.best_bound_ < equal.best_bound_


# Validity: equally bad candidates, the ranking from independent rows or, in the mutant, from the
# certified ones.


def miss_rate(*, ranked_by_certified, delta=0.2, rate=0.2, n=300, n_candidates=10, n_runs=2000):
    rng = np.random.default_rng(0)
    errors = rng.binomial(n, rate, size=(n_runs, n_candidates))
    training = errors if ranked_by_certified else rng.binomial(60, rate, size=errors.shape)
    values, misses = {}, 0
    for run in range(n_runs):
        outcomes = [Outcome(error=k, brier=0.0) for k in training[run]]
        smallest = 1.0
        for k, share in zip(errors[run], shares_by_rank(outcomes), strict=True):
            if (k, share) not in values:
                log_delta = math.log(delta * share)
                values[k, share] = binomial_tail_inverse(int(k), n, log_delta=log_delta)
            smallest = min(smallest, values[k, share])
        misses += smallest < rate
    return misses / n_runs


def test_the_smallest_certificate_holds_and_the_mutant_does_not():
    allowed = 0.2 + 3.0 * math.sqrt(0.2 * 0.8 / 2000)
    assert 0.1 < miss_rate(ranked_by_certified=False) <= allowed
    assert miss_rate(ranked_by_certified=True) > allowed + 0.1


def test_a_prior_of_ones_own_is_paid_as_it_says():
    prior = [1.0, 5.0, 2.0, 1.0, 1.0]
    found = search_of(candidate_weights=prior, return_estimators=True).fit(X, Y)
    np.testing.assert_allclose(found.cv_results_["share"], np.array(prior) / 10.0)
    assert math.fsum(found.cv_results_["share"]) <= 1.0
    assert "ranking_loss" not in found.cv_results_
    for model, bound, share in zip(
        found.estimators_, found.cv_results_["bound"], found.cv_results_["share"], strict=True
    ):
        sample = model.evidence_.certified
        exact = binomial_tail_inverse(
            sample.n_errors, len(sample.rows), log_delta=math.log(0.05 * share)
        )
        assert bound == pytest.approx(exact, rel=1e-12)
    same = search_of(candidate_weights=np.full(5, 1e308)).fit(X, Y)
    assert same.best_bound_ >= search_of(candidate_weights="uniform").fit(X, Y).best_bound_


@pytest.mark.parametrize(
    "prior", [[1.0, 1.0], [1, 1, 1, 1, 0], [1, 1, 1, 1, -1], [1, 1, 1, 1, math.nan], [[1.0] * 5]]
)
def test_a_prior_that_is_none_is_refused(prior):
    with pytest.raises(ValueError, match="5 positive, finite numbers"):
        search_of(candidate_weights=prior).fit(X, Y)


def test_a_prior_needs_the_choice_by_the_bound():
    with pytest.raises(ValueError, match="needs choose_by='bound'"):
        search_of(choose_by="training_side", candidate_weights=np.ones(5)).fit(X, Y)
