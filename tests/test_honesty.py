"""Certificates of real fits: nothing sees the certified rows, and the bounds hold."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skbound import BoundedClassifier, BoundSearch, TransformerClassifier
from skbound.bounds import (
    HOLDOUT_BOUNDS,
    BettingBound,
    EmpiricalBernsteinBound,
    HoeffdingBound,
    KLBound,
)
from skbound.datasets import random_label_domain
from skbound.protocols import Holdout
from tests.honesty import (
    allowed_misses,
    check_certificate_is_about_predict,
    check_split_ignores_labels,
    check_training_ignores_certified_rows,
    many_classes,
    miss_rates,
)

TINY = TransformerClassifier(protocol="holdout", depth=1, width=8, n_heads=2, max_epochs=2)
MODELS = {
    "transformer": TINY,
    "early stopping": clone(TINY).set_params(early_stopping=True, max_epochs=6),
    "class weights": clone(TINY).set_params(class_weight="balanced"),
    "fraction": clone(TINY).set_params(protocol=Holdout(0.4)),
    "pipeline": BoundedClassifier(make_pipeline(StandardScaler(), LogisticRegression())),
    "tree": BoundedClassifier(DecisionTreeClassifier(max_depth=6)),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


@every_model
@pytest.mark.parametrize(
    "check",
    [
        check_training_ignores_certified_rows,
        check_split_ignores_labels,
        check_certificate_is_about_predict,
    ],
)
def test_protocol_is_honest(check, model):
    check(model, *many_classes())


BRIER = {
    f"brier_{bound.key}": bound
    for bound in (
        KLBound("brier"),
        HoeffdingBound("brier"),
        EmpiricalBernsteinBound("brier"),
        BettingBound("brier"),
    )
}
DELTAS = (0.05, 0.2, 0.5)


@pytest.mark.parametrize(
    ("model", "n_runs"),
    [
        pytest.param(BoundedClassifier(DecisionTreeClassifier(max_depth=5)), 1000, id="tree"),
        pytest.param(TINY, 100, id="transformer"),
    ],
)
def test_certificates_of_refits_hold(model, n_runs):
    rates = miss_rates(model, {**HOLDOUT_BOUNDS, **BRIER}, DELTAS, n_runs=n_runs)
    for (key, delta), rate in rates.items():
        assert rate <= allowed_misses(delta, n_runs), (key, delta, rate)


def test_the_certificate_survives_the_choice():
    """The winner on random labels, whose true risk is 1/2: paid for, and as a mutant not paid."""
    world = random_label_domain(n_features=4, n_classes=2)
    grid = {"estimator__random_state": range(20)}
    tree = DecisionTreeClassifier(splitter="random", max_features=1, max_depth=3)
    n_runs, paid, unpaid = 100, 0, 0
    for run in range(n_runs):
        X, y = world.sample(300, random_state=run)
        search = BoundSearch(
            BoundedClassifier(tree), grid, choose_by="bound", random_state=run
        ).fit(X, y)
        risk = world.risk(search.predict)
        mutant = replace(search.best_estimator_.evidence_, n_candidates=1)
        paid += search.best_bound_ < risk
        unpaid += HOLDOUT_BOUNDS["binomial"](mutant, 0.05).value < risk
    assert paid / n_runs <= allowed_misses(0.05, n_runs)
    assert unpaid / n_runs > allowed_misses(0.05, n_runs)


def test_every_candidate_is_on_the_common_split():
    X, y = many_classes()
    search = BoundSearch(
        TINY, {"width": [4, 8]}, choose_by="bound", random_state=5, return_estimators=True
    ).fit(X, y)
    rows = [model.evidence_.certified.rows for model in search.estimators_]
    assert np.array_equal(*rows)
    other = BoundSearch(
        MODELS["tree"],
        {"estimator__max_depth": [2]},
        choose_by="bound",
        random_state=5,
        return_estimators=True,
    ).fit(X, y)
    assert np.array_equal(other.estimators_[0].evidence_.certified.rows, rows[0])
    assert len(search.estimators_) == len(ParameterGrid(search.param_grid))


def test_nothing_is_trained_after_the_certified_rows_were_read():
    calls = []

    class Spy:
        n_samples, assumptions = 200, ()

        def fit(self, rows):
            from skbound.protocols import FittedModel

            calls.append(("fit", set(rows)))
            return FittedModel(model=None, n_fit=len(rows))

        def losses(self, fit, rows):
            from skbound.evidence import Sample

            calls.append(("losses", set(rows)))
            return Sample(rows=rows, zero_one=np.zeros(len(rows)))

        def majority_share(self, rows):
            return 0.5

    Holdout().run(Spy(), seed=0)
    assert [name for name, _ in calls] == ["fit", "losses"]
    trained, certified = calls[0][1], calls[1][1]
    assert trained.isdisjoint(certified)
    assert trained | certified == set(range(200))


@pytest.mark.parametrize(
    ("n_samples", "n_certified"),
    [(2, 0), (99, 0), (100, 20), (101, 20), (1437, 287), (50_000, 10_000), (60_000, 10_000)],
)
def test_how_many_rows_are_certified(n_samples, n_certified):
    assert Holdout().n_certified(n_samples) == n_certified


def test_certified_rows_are_uniform():
    counts = np.zeros(100)
    for seed in range(4000):
        counts[Holdout().split(100, seed)[1]] += 1
    expected, se = 800, np.sqrt(4000 * 0.2 * 0.8)
    assert np.abs(counts - expected).max() < 4.5 * se
