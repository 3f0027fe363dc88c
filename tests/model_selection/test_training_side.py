"""Choosing on the training side: certified rows are read once, at full delta."""

import numpy as np
import pytest
from scipy.stats import uniform
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from skbound import BoundedClassifier, BoundSearch, TransformerClassifier, certify
from skbound.bounds import BinomialBound
from skbound.evidence import Sample
from skbound.exceptions import SkboundWarning
from skbound.model_selection._candidates import Outcome
from skbound.model_selection._racing import race
from skbound.model_selection._ranking import paired_lag, simplest_of_the_best
from skbound.protocols._inner_split import InnerSplit

X, Y = make_classification(400, 6, n_informative=3, flip_y=0.2, random_state=0)
TREE = BoundedClassifier(DecisionTreeClassifier())
GRID = {"estimator__max_depth": [1, 2, 4, 8, 12]}
STRATEGIES = "grid", "halving", "racing", "random"


def search_of(**settings):
    settings = {"random_state": 0} | settings
    return BoundSearch(TREE, GRID, **settings)


@pytest.fixture(scope="module")
def search():
    return search_of().fit(X, Y)


def test_the_winner_is_trained_once_more_and_certified_at_full_delta(search):
    best = search.best_estimator_
    assert best.n_samples_fit_ == 320
    assert (search.certificate_.n_candidates, search.certificate_.n_certified) == (1, 80)
    assert search.certificate_.value == BinomialBound()(search.evidence_, 0.05).value
    assert search.n_candidates_ == 5
    assert certify(search) == search.certificate_ == best.certificate_
    assert not search.predicted_error_.optimistic
    lone = clone(best).fit(X, Y)
    assert lone.generalization_bound_ == search.best_bound_


def test_the_ranking_is_that_of_an_inner_split(search):
    protocol, seed = search.best_estimator_.protocol, search.best_estimator_.random_state
    fit_rows, score_rows = InnerSplit(protocol).split(400, seed)
    for depth, loss in zip(
        GRID["estimator__max_depth"], search.cv_results_["ranking_loss"], strict=True
    ):
        tree = DecisionTreeClassifier(max_depth=depth, random_state=seed)
        proba = tree.fit(X[fit_rows], Y[fit_rows]).predict_proba(X[score_rows])
        brier = 0.5 * ((proba - np.eye(2)[Y[score_rows]]) ** 2).sum(axis=1).mean()
        assert loss == pytest.approx(brier)
    assert search.best_index_ == np.argmin(search.cv_results_["ranking_loss"])


def test_the_table_and_the_statement_say_how_it_was_chosen(search):
    table = search.cv_results_
    assert np.isnan(np.delete(table["bound"], search.best_index_)).all()
    assert table["bound"][search.best_index_] == search.best_bound_
    np.testing.assert_array_equal(table["mean_test_score"], -table["ranking_error"])
    assert search.best_score_ == table["mean_test_score"][search.best_index_]
    assert "chosen among 5 by its losses on rows that are not certified" in search.choice_
    assert any("chosen among 5" in sentence for sentence in search.certificate_.assumptions)


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


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_certified_rows_are_read_once_and_last(strategy):
    Recorder.log.clear()
    numbered = np.c_[np.arange(400), X]
    model = BoundedClassifier(Recorder())
    search = BoundSearch(
        model, {"estimator__constant": [0, 1] * 3}, choose_by="training_side", random_state=0,
        strategy=strategy, n_iter=2 if strategy == "random" else None,
    ).fit(numbered, Y)  # fmt: skip
    certified = search.evidence_.certified.rows
    # Each fit ends with a look at 16 of the rows that it was evaluated on, at once and one by one.
    log = [(what, rows) for what, rows in Recorder.log if len(rows) > 16]
    reads = [bool(np.isin(rows, certified).any()) for _, rows in log]
    assert not any(reads[:-1])
    assert reads[-1]
    first = next(k for k, (_, rows) in enumerate(Recorder.log) if np.isin(rows, certified).any())
    assert all(what == "predict" for what, _ in Recorder.log[first:])
    what, rows = log[-1]
    assert (what, sorted(rows)) == ("predict", sorted(certified))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_certified_labels_change_nothing_but_the_certificate(strategy):
    settings = {"strategy": strategy, "n_iter": 3 if strategy == "random" else None}
    one = search_of(**settings).fit(X, Y)
    labels = Y.copy()
    labels[one.evidence_.certified.rows] ^= 1
    other = search_of(**settings).fit(X, labels)
    assert one.best_index_ == other.best_index_
    np.testing.assert_array_equal(
        one.cv_results_["ranking_loss"], other.cv_results_["ranking_loss"]
    )
    assert np.array_equal(one.predict(X), other.predict(X))


@pytest.mark.parametrize("strategy", ["grid", "racing"])
def test_coverage_where_candidates_are_equally_bad(strategy):
    """No candidate has learnt anything: the certificate misses with probability delta."""
    delta, n_runs, missed = 0.5, 60, 0
    rng = np.random.default_rng(0)
    for run in range(n_runs):
        rows, labels = rng.normal(size=(120, 4)), rng.integers(2, size=120)
        found = search_of(strategy=strategy, delta=delta, random_state=run).fit(rows, labels)
        missed += found.best_bound_ < 0.5
    # The exact tail of at most delta: 42 of 60 is its upper end of 0.999.
    assert missed <= 42


def outcome(losses, share=1.0, n_parameters=0):
    losses = np.asarray(losses, dtype=float)
    sample = Sample(np.arange(len(losses)), losses > 0.5, losses)
    return Outcome(
        error=sample.error, brier=losses.mean(), sample=sample, share=share,
        n_parameters=n_parameters,
    )  # fmt: skip


def test_nearly_equal_candidates_go_to_the_simpler_one_with_the_reason():
    rng = np.random.default_rng(0)
    base = rng.uniform(0.0, 0.4, 200)
    noise = rng.normal(0.0, 0.05, 200)
    large = outcome(base, n_parameters=1000)
    small = outcome(np.clip(base + noise - noise.mean() + 1e-4, 0, 1), n_parameters=10)
    worse = outcome(base + 0.05, n_parameters=1)
    assert 0.0 < paired_lag(small, large) < 0.25 < paired_lag(worse, large)
    place, reason = simplest_of_the_best([large, small, worse])
    assert place == 1
    assert "10 parameters" in reason
    assert "the simpler one" in reason
    assert simplest_of_the_best([large, worse]) == (0, "")
    unknown = outcome(base + 1e-9)
    assert simplest_of_the_best([outcome(base), unknown]) == (0, "")


def test_racing_and_halving_cost_what_they_should():
    rng = np.random.default_rng(0)
    quality = rng.permutation(16) / 100

    def run(candidates):
        costs.append(sum(c.protocol.share for c in candidates))
        for candidate in candidates:
            mean = quality[candidate.estimator.max_depth]
            # Some noise of its own, so that small differences are not clear.
            yield outcome(rng.uniform(0.2, 0.4, 400) + mean, share=candidate.protocol.share)

    candidates = [clone(TREE).set_params(estimator__max_depth=k) for k in range(16)]
    for candidate in candidates:
        candidate.set_params(protocol__fraction=0.2)
    spent = {}
    for keep_half in (True, False):
        costs = []
        found = race(candidates, run, 2000, keep_half=keep_half)
        spent[keep_half] = sum(costs)
        assert simplest_of_the_best(found)[0] == np.argmin(quality)
    assert spent[True] == pytest.approx(16 / 8 * 4)
    assert spent[False] <= spent[True] < 16


@pytest.mark.parametrize("strategy", ["halving", "racing"])
def test_racing_finds_a_good_candidate(strategy):
    found = search_of(strategy=strategy).fit(X, Y)
    table = found.cv_results_
    # The race ends when one candidate is left.
    assert table["ranking_share"].min() <= table["ranking_share"].max() <= 1.0
    assert table["ranking_share"][found.best_index_] == table["ranking_share"].max()
    full = search_of().fit(X, Y).cv_results_["ranking_loss"]
    assert full[found.best_index_] <= np.median(full)


def test_random_candidates_are_drawn_before_anything_is_fitted():
    model = BoundedClassifier(LogisticRegression())
    space = {"estimator__C": uniform(0.01, 10.0)}
    for choose_by in ("bound", "training_side"):
        search = BoundSearch(
            model, space, strategy="random", n_iter=4, choose_by=choose_by, random_state=0
        )
        drawn = [p["estimator__C"] for p in search.fit(X, Y).cv_results_["params"]]
        assert len(set(drawn)) == search.n_candidates_ == 4
    again = clone(search).set_params(n_jobs=2).fit(X, Y)
    assert again.certificate_ == search.certificate_
    assert [p["estimator__C"] for p in again.cv_results_["params"]] == drawn


def test_transformers_tell_their_size():
    clf = TransformerClassifier(protocol="holdout", depth=1, width=8, n_heads=2, max_epochs=2)
    grid = {"width": [8, 16], "depth": [1, 2]}
    found = BoundSearch(clf, grid, choose_by="training_side", random_state=0).fit(X, Y)
    assert found.certificate_.n_candidates == 1
    assert found.best_estimator_.width in (8, 16)


def test_failures_cost_only_themselves():
    grid = {"estimator__max_depth": [2, -1]}
    with pytest.warns(FitFailedWarning, match="1 of 2 candidates failed"):
        found = BoundSearch(TREE, grid, choose_by="training_side", random_state=0).fit(X, Y)
    assert found.best_index_ == 0
    with pytest.raises(ValueError, match="max_depth"):
        BoundSearch(TREE, grid, choose_by="training_side", random_state=0, error_score="raise").fit(
            X, Y
        )
    with pytest.raises(ValueError, match="All 1 candidates failed"):
        BoundSearch(TREE, {"estimator__max_depth": [-1]}, choose_by="training_side").fit(X, Y)


def test_few_rows_certify_nothing():
    with pytest.warns(SkboundWarning, match="Nothing is certified"):
        few = search_of().fit(X[:80], Y[:80])
    assert few.best_bound_ == 1.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"choose_by": "bound", "strategy": "racing"}, "Set choose_by='training_side'"),
        ({"candidate_weights": "informed"}, "needs choose_by='bound'"),
        ({"return_estimators": True}, "only the winner is certified"),
        ({"strategy": "bayes"}, "strategy"),
        ({"n_iter": 0}, "n_iter"),
    ],
)
def test_what_does_not_fit_together_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        search_of(**settings).fit(X, Y)


def test_protocols_that_do_not_split_once_are_refused():
    model = clone(TREE).set_params(protocol="cross_fit")
    with pytest.raises(ValueError, match="must split the rows once"):
        BoundSearch(model, GRID, choose_by="training_side").fit(X, Y)
