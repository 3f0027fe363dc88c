"""compare_regularizers: paired differences, honest intervals, a certificate of the best."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student_t
from sklearn.datasets import make_classification
from sklearn.model_selection import KFold, ShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skbound import BoundedClassifier, TransformerClassifier, compare_regularizers
from skbound.model_selection._comparison import corrected_interval

X, Y = make_classification(400, 5, flip_y=0.4, random_state=0)
TREE = BoundedClassifier(DecisionTreeClassifier(random_state=0))
PRUNED = {
    "pruned": {"estimator__ccp_alpha": 0.03},
    "same": {"estimator__ccp_alpha": 0.0},
    "stump": {"estimator__max_depth": 1},
}


@pytest.fixture(scope="module")
def comparison():
    return compare_regularizers(TREE, X, Y, PRUNED, random_state=0)


def test_errors_are_those_of_cross_validation():
    comparison = compare_regularizers(TREE, X, Y, PRUNED, cv=KFold(5), random_state=0)
    scores = cross_val_score(DecisionTreeClassifier(random_state=0), X, Y, cv=KFold(5))
    # Seeds differ per split; a tree of all columns hardly depends on its seed.
    assert comparison.rows["none"].error == pytest.approx(1 - scores.mean(), abs=0.03)
    assert comparison.rows["none"].training_error == 0.0
    assert comparison.rows["stump"].gap == pytest.approx(
        comparison.rows["stump"].error - comparison.rows["stump"].training_error
    )


def test_differences_are_paired(comparison):
    assert comparison.rows["same"].difference == 0.0
    assert comparison.rows["same"].interval == (0.0, 0.0)
    assert "no difference can be told" in comparison.sentences()["same"]


def test_what_helps_is_found_where_labels_are_noisy(comparison):
    assert comparison.rows["pruned"].interval[1] < 0.0
    assert "it helps" in comparison.sentences()["pruned"]


def test_each_certificate_is_that_of_the_lone_estimator(comparison):
    clf = BoundedClassifier(DecisionTreeClassifier(random_state=0, ccp_alpha=0.02))
    shares = {row.certificate.n_certified for row in comparison.rows.values()}
    assert shares == {80}
    assert all(row.certificate.n_candidates == 1 for row in comparison.rows.values())
    assert clf.fit(X, Y).certificate_.delta == comparison.rows["pruned"].certificate.delta


def test_the_best_pays_for_all_rows(comparison):
    best = comparison.best_certificate_
    assert best.n_candidates == len(comparison.rows) == 4
    assert best.value > comparison.rows[comparison.best_].certificate.value
    assert comparison.best_ == min(
        comparison.rows, key=lambda name: comparison.rows[name].certificate.value
    )
    # The estimator handed over says the same as the certificate beside it.
    assert comparison.best_estimator_.certificate_ == best


def test_the_table(comparison):
    table = comparison.to_frame()
    assert isinstance(table, pd.DataFrame)
    assert list(table.index) == ["none", "pruned", "same", "stump"]
    assert table.loc["pruned", "lower"] < table.loc["pruned", "difference"]
    assert (table["certificate"] > table["error"] / 2).all()


def test_the_interval_is_that_of_nadeau_and_bengio():
    d = np.array([0.01, 0.03, -0.02, 0.02, 0.05])
    low, high = corrected_interval(d, 0.25, 0.95)
    half = student_t.ppf(0.975, 4) * np.sqrt((1 / 5 + 0.25) * d.var(ddof=1))
    assert (low, high) == pytest.approx((d.mean() - half, d.mean() + half))


def test_intervals_widen_with_the_number_of_rows():
    few = compare_regularizers(TREE, X, Y, {"pruned": PRUNED["pruned"]}, cv=5, random_state=0)
    many = compare_regularizers(TREE, X, Y, PRUNED, cv=5, random_state=0)
    widths = [np.ptp(c.rows["pruned"].interval) for c in (few, many)]
    assert widths[0] < widths[1]


@pytest.mark.parametrize("seed", range(3))
def test_where_nothing_matters_the_intervals_say_so(seed):
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(200, 3)), rng.integers(2, size=200)
    regularizers = {f"depth {d}": {"estimator__max_depth": d} for d in (2, 4, 6)}
    found = compare_regularizers(TREE, *noise, regularizers, random_state=seed)
    assert all(row.interval[0] <= 0.0 <= row.interval[1] for row in found.rows.values())


def test_same_seed_same_answer_for_any_number_of_jobs(comparison):
    again = compare_regularizers(TREE, X, Y, PRUNED, random_state=0, n_jobs=2)
    drop = ["seconds"]
    pd.testing.assert_frame_equal(
        comparison.to_frame().drop(columns=drop), again.to_frame().drop(columns=drop)
    )


def test_a_transformer_has_regularizers_of_its_own():
    clf = TransformerClassifier(protocol="holdout", depth=1, width=8, n_heads=2, max_epochs=2)
    found = compare_regularizers(clf, X[:200], Y[:200], cv=ShuffleSplit(2, random_state=0))
    assert list(found.rows) == [
        "none", "weight decay", "dropout", "label smoothing", "early stopping",
    ]  # fmt: skip
    assert found.rows["none"].params["weight_decay"] == 0.0


def test_pipelines_frames_scores_and_weights():
    frame = pd.DataFrame(X).add_prefix("x")
    pipeline = make_pipeline(StandardScaler(), TREE)
    regularizers = {"stump": {"boundedclassifier__estimator__max_depth": 1}}
    with pytest.warns(UserWarning, match="standardscaler"):
        found = compare_regularizers(
            pipeline, frame, Y, regularizers, cv=2, scoring="balanced_accuracy"
        )
    assert found.measured == "balanced_accuracy"
    assert found.to_frame()["balanced_accuracy"].between(0.4, 1.0).all()
    weighted = compare_regularizers(
        TREE, X, Y, {"stump": PRUNED["stump"]}, cv=2, sample_weight=np.ones(len(Y))
    )
    assert weighted.rows["stump"].certificate.n_certified == 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"regularizers": {}}, "must be a dict of names"),
        ({"regularizers": {"a": 3}}, "must be a dict of parameters"),
        ({"regularizers": {"a": {"width": 3}}}, "Invalid parameter"),
        ({"level": 1.0}, "level must lie in"),
        ({"cv": ShuffleSplit(1)}, "at least two splits"),
    ],
)
def test_what_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        compare_regularizers(TREE, X, Y, **({"regularizers": PRUNED} | arguments))
