"""Weights of rows and classes, and what a random state governs."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import recall_score
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from skbound import BoundedClassifier, BoundSearch, TransformerClassifier, bound_scorer
from skbound.protocols import Holdout

X, Y = make_classification(400, 8, n_informative=5, random_state=0)
RARE = make_classification(
    1000, 8, n_informative=5, weights=[0.95], class_sep=0.6, flip_y=0, random_state=0
)


def small(**params):
    return TransformerClassifier(
        **{
            "protocol": "holdout",
            "depth": 1,
            "width": 16,
            "max_epochs": 3,
            "random_state": 0,
            **params,
        },
    )


@pytest.fixture(scope="module")
def plain():
    return small().fit(X, Y)


def same(a, b):
    assert np.array_equal(a.predict_proba(X), b.predict_proba(X))
    assert a.generalization_bound_ == b.generalization_bound_


@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_W1_weights_follow_their_rows(early_stopping, class_weight):
    """A weight of zero removes a row from every part, so its values and labels do not matter."""
    rng = np.random.default_rng(0)
    keep = rng.random(400) < 0.7
    spoilt, labels = X.copy(), Y.copy()
    spoilt[~keep] = 1e6 * rng.normal(size=spoilt[~keep].shape)
    labels[~keep] = 7
    model = small(early_stopping=early_stopping, class_weight=class_weight)
    weighted = clone(model).fit(spoilt, labels, sample_weight=keep.astype(float))
    alone = clone(model).fit(X[keep], Y[keep])
    same(weighted, alone)
    assert weighted.classes_.tolist() == [0, 1]
    assert weighted.n_samples_validation_ == alone.n_samples_validation_


@pytest.mark.parametrize("early_stopping", [False, True])
def test_W1_weights_act_on_training_only(early_stopping):
    model = small(early_stopping=early_stopping)
    weights = np.where(Y == 1, 20.0, 1.0)
    weighted, unweighted = (
        clone(model).fit(X, Y, sample_weight=w) for w in (weights, np.ones(400))
    )
    assert recall_score(Y, weighted.predict(X)) > recall_score(Y, unweighted.predict(X))
    certified = weighted.evidence_.certified
    wrong = weighted.predict(X) != Y
    assert np.array_equal(certified.rows, unweighted.evidence_.certified.rows)
    assert np.array_equal(certified.zero_one, wrong[certified.rows])


@pytest.mark.parametrize(
    "model",
    [
        BoundedClassifier(DecisionTreeClassifier(max_depth=2), random_state=0),
        BoundedClassifier(make_pipeline(LogisticRegression()), random_state=0),
        BoundSearch(small(max_epochs=1), {"lr": [1e-3]}, choose_by="bound", random_state=0),
    ],
    ids=["bounded", "pipeline", "search"],
)
def test_W1_other_estimators_take_weights(model):
    ones = clone(model).fit(X, Y, sample_weight=np.ones(400))
    same(ones, clone(model).fit(X, Y))
    heavy = clone(model).fit(X, Y, sample_weight=np.where(Y == 1, 20.0, 1.0))
    assert not np.array_equal(heavy.predict_proba(X), ones.predict_proba(X))


WEIGHTS = {
    "ones": np.ones(400),
    "integers": np.ones(400, dtype=int),
    "bool": np.ones(400, dtype=bool),
    "float16": np.ones(400, dtype="float16"),
    "object": np.ones(400, dtype=object),
    "list": [1] * 400,
    "number": 1.0,
    "read_only": np.broadcast_to(1.0, 400),
    "strided": np.ones(1200)[::3],
    "tensor": torch.ones(400),
    "tensor_bfloat16": torch.ones(400).bfloat16(),
    "pandas": pd.Series(np.ones(400), index=np.arange(400)[::-1]),
    "pandas_nullable": pd.Series(np.ones(400)).astype("Float64"),
    "polars": pl.Series([1.0] * 400),
    "twos": np.full(400, 2.0),
    "thirds": np.full(400, 1 / 3),
    "tiny": np.full(400, 1e-300),
    "huge": np.full(400, 1e300),
}


@pytest.mark.parametrize("kind", WEIGHTS)
def test_W2_equal_weights_are_no_weights(kind, plain):
    """Weights that are all alike give the very model that no weights give."""
    same(small().fit(X, Y, sample_weight=WEIGHTS[kind]), plain)


@pytest.mark.parametrize("params", [{"early_stopping": True}, {"dropout": 0.2}, {"batch_size": 32}])
def test_W2_in_other_settings(params):
    same(small(**params).fit(X, Y, sample_weight=np.ones(400)), small(**params).fit(X, Y))


@pytest.mark.parametrize("class_weight", ["balanced", {0: 1, 1: 19}, {0: 0.05, 1: 1.0, 9: 4.0}])
def test_W4_class_weights_raise_the_recall(class_weight):
    """A rare class is found once its weight is raised; the certificate says what it is about."""
    plain, weighted = (small(class_weight=w, max_epochs=5).fit(*RARE) for w in (None, class_weight))
    data, labels = RARE
    recalls = [recall_score(labels, model.predict(data)) for model in (plain, weighted)]
    assert recalls[1] > recalls[0] + 0.2
    rows = weighted.evidence_.certified.rows
    assert weighted.evidence_.certified.error == np.mean((weighted.predict(data) != labels)[rows])
    assert any("unweighted" in text for text in weighted.certificate_.assumptions)


def test_W4_class_weights_by_word():
    words = np.where(Y > 0, "yes", "no")
    by_word = small(class_weight={"no": 1.0, "yes": 5.0}).fit(X, words)
    same(by_word, small(class_weight={0: 1.0, 1: 5.0}).fit(X, Y))


@pytest.mark.parametrize(
    "disturb",
    [
        lambda: torch.rand(10),
        lambda: torch.manual_seed(7),
        lambda: np.random.seed(7),  # noqa: NPY002 (the global state is the point)
        lambda: small(random_state=5).fit(X, Y),
    ],
    ids=["torch", "torch_seed", "numpy_seed", "another_fit"],
)
@pytest.mark.parametrize("params", [{}, {"dropout": 0.3, "early_stopping": True}])
def test_R1_the_same_seed_gives_the_same_fit(disturb, params):
    """Two fits with one seed agree in every digit, and global random states stay as they are."""
    first = small(**params).fit(X, Y)
    disturb()
    before = torch.get_rng_state(), np.random.get_state()[1].tolist()  # noqa: NPY002
    second = small(**params).fit(X, Y)
    second.predict_proba(X)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.random.get_state()[1].tolist() == before[1]  # noqa: NPY002
    same(first, second)
    same(first, first.fit(X, Y))


@pytest.mark.parametrize("context", ["float64_default", "no_grad", "deterministic"])
def test_R1_whatever_torch_is_set_to(context, plain):
    default = torch.get_default_dtype()
    try:
        if context == "float64_default":
            torch.set_default_dtype(torch.float64)
        if context == "deterministic":
            torch.use_deterministic_algorithms(True)
        with torch.set_grad_enabled(context != "no_grad"):
            same(small().fit(X, Y), plain)
    finally:
        torch.set_default_dtype(default)
        torch.use_deterministic_algorithms(False)


SEEDED = {
    "transformer": lambda seed: small(random_state=seed),
    "dropout": lambda seed: small(random_state=seed, dropout=0.3),
    "bounded": lambda seed: BoundedClassifier(DecisionTreeClassifier(), random_state=seed),
    "search": lambda seed: BoundSearch(
        small(random_state=None, max_epochs=1),
        {"lr": [1e-3, 1e-2]},
        choose_by="bound",
        random_state=seed,
    ),
}


@pytest.mark.parametrize("kind", SEEDED)
def test_R3_one_place_to_seed(kind):
    """The one random_state governs split, weights, order and masks, as in scikit-learn."""
    make = SEEDED[kind]
    same(make(1).fit(X, Y), make(1).fit(X, Y))
    same(make(np.int64(1)).fit(X, Y), make(1).fit(X, Y))
    instances = [np.random.RandomState(1) for _ in range(2)]
    one, other = (make(instance).fit(X, Y) for instance in instances)
    same(one, other)
    # The same instance moves on: the next fit with it is another one.
    again = make(instances[0]).fit(X, Y)
    assert not np.array_equal(again.predict_proba(X), one.predict_proba(X))
    assert not np.array_equal(
        make(2).fit(X, Y).predict_proba(X), make(1).fit(X, Y).predict_proba(X)
    )


@pytest.mark.parametrize("kind", SEEDED)
def test_R3_no_seed_follows_the_global_one(kind):
    fits = []
    for _ in range(2):
        np.random.seed(3)  # noqa: NPY002 (the global state is the point)
        fits.append(SEEDED[kind](None).fit(X, Y))
    same(*fits)
    after = SEEDED[kind](None).fit(X, Y)
    assert not np.array_equal(after.predict_proba(X), fits[0].predict_proba(X))


SPLIT = next(KFold(3, shuffle=True, random_state=0).split(X))


@pytest.mark.parametrize(
    "model",
    [
        small(),
        small(early_stopping=True, dropout=0.2),
        small(protocol=Holdout(0.3)),
        make_pipeline("passthrough", small()),
        BoundedClassifier(DecisionTreeClassifier(max_depth=3), random_state=0),
    ],
    ids=["plain", "stopping", "protocol", "pipeline", "bounded"],
)
def test_R4_a_search_fits_as_the_user_does(model):
    """A search with one candidate and one split does what a fit by hand on that split does."""
    train, test = SPLIT
    scoring = {"accuracy": "accuracy", "bound": bound_scorer}
    search = GridSearchCV(model, {}, cv=[SPLIT], scoring=scoring, refit="bound").fit(X, Y)
    by_hand = clone(model).fit(X[train], Y[train])
    certified = by_hand[-1] if hasattr(by_hand, "steps") else by_hand
    assert search.cv_results_["split0_test_accuracy"][0] == by_hand.score(X[test], Y[test])
    assert search.cv_results_["split0_test_bound"][0] == -certified.generalization_bound_
    kept = cross_validate(model, X, Y, cv=[SPLIT], return_estimator=True)["estimator"][0]
    assert np.array_equal(kept.predict_proba(X), by_hand.predict_proba(X))
    refitted = clone(model).fit(X, Y)
    assert np.array_equal(search.best_estimator_.predict_proba(X), refitted.predict_proba(X))
