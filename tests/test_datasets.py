import math

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

from skbound.bounds import BinomialBound
from skbound.datasets import (
    FiniteDomain,
    GaussianPair,
    finite_domain,
    parity_domain,
    random_label_domain,
)
from skbound.evidence import Evidence, Sample

DOMAINS = [
    parity_domain(),
    parity_domain(4, 3, flip=0.3),
    finite_domain(2, 5, 3, label_noise=0.4, random_state=1),
    finite_domain(1, 3, 4, label_noise=1.0, random_state=2),
    random_label_domain(3, 4),
    FiniteDomain([[0.0], [2.0]], [0.3, 0.7], [[0.9, 0.1], [0.2, 0.8]], ["no", "yes"]),
]


def agrees(mean, draws):
    """Whether `mean` is within four standard errors of the mean of `draws`."""
    return abs(draws.mean() - mean) <= 4.0 * draws.std() / math.sqrt(draws.size) + 1e-12


def predict_by_sum(domain):
    return lambda X: domain.classes[np.floor(X.sum(axis=1)).astype(int) % len(domain.classes)]


def forecast_by_sum(domain):
    def predict_proba(X):
        weights = 1.0 + (X.sum(axis=1)[:, None] + np.arange(len(domain.classes))) % 3
        return weights / weights.sum(axis=1, keepdims=True)

    return predict_proba


@pytest.mark.parametrize("domain", DOMAINS)
def test_risks_agree_with_a_large_sample(domain):
    X, y = domain.sample(10**6, random_state=0)
    predict, predict_proba = predict_by_sum(domain), forecast_by_sum(domain)
    assert agrees(domain.risk(predict), predict(X) != y)
    one_hot = y[:, None] == domain.classes
    assert agrees(domain.brier(predict_proba), ((predict_proba(X) - one_hot) ** 2).sum(axis=1) / 2)


@pytest.mark.parametrize("domain", DOMAINS)
def test_bayes_risk_is_reached_by_the_most_likely_class_only(domain):
    best = domain.classes[domain.conditionals.argmax(axis=1)]
    assert domain.risk(lambda X: best) == pytest.approx(domain.bayes_risk, abs=1e-12)
    assert domain.risk(predict_by_sum(domain)) >= domain.bayes_risk - 1e-12
    # The true conditional probabilities have the smallest Brier score: 1 - sum of squares, halved.
    smallest = domain.brier(lambda X: domain.conditionals)
    spread = 1.0 - (domain.conditionals**2).sum(axis=1)
    assert smallest == pytest.approx(domain.probabilities @ spread / 2.0, abs=1e-12)
    assert smallest <= domain.brier(forecast_by_sum(domain))


@pytest.mark.parametrize("flip", [0.0, 0.1, 0.5, 0.8])
def test_parity_in_closed_form(flip):
    domain = parity_domain(5, 2, flip=flip)
    assert domain.points.shape == (32, 5)
    assert domain.bayes_risk == pytest.approx(min(flip, 1.0 - flip), abs=1e-12)
    assert domain.risk(lambda X: X[:, 0] * X[:, 1] > 0) == pytest.approx(flip, abs=1e-12)
    # One factor alone says nothing.
    assert domain.risk(lambda X: X[:, 0] > 0) == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("n_classes", [1, 2, 3, 7])
def test_random_labels_cannot_be_learned(n_classes):
    domain = random_label_domain(3, n_classes)
    chance = 1.0 - 1.0 / n_classes
    assert domain.risk(predict_by_sum(domain)) == pytest.approx(chance, abs=1e-12)
    assert domain.bayes_risk == pytest.approx(chance, abs=1e-12)
    uniform = domain.brier(lambda X: np.full((len(X), n_classes), 1.0 / n_classes))
    assert uniform == pytest.approx(chance / 2.0, abs=1e-12)


def test_finite_without_noise_is_learnable_and_depends_on_its_seed():
    assert finite_domain(label_noise=0.0).bayes_risk == 0.0
    one, same, other = (finite_domain(random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.conditionals, same.conditionals)
    assert (one.conditionals != other.conditionals).any()


def test_labels_that_are_no_class_are_wrong():
    assert DOMAINS[-1].risk(lambda X: np.full(len(X), "maybe")) == 1.0


def test_samples_depend_on_the_seed_only():
    for problem in (*DOMAINS, GaussianPair(3, 1.0)):
        (X, y), (X_same, y_same) = (problem.sample(50, random_state=3) for _ in range(2))
        np.testing.assert_array_equal(X, X_same)
        np.testing.assert_array_equal(y, y_same)
        assert (problem.sample(50, random_state=4)[0] != X).any()
    assert {str(label) for label in DOMAINS[-1].sample(50, 0)[1]} == {"no", "yes"}


@pytest.mark.parametrize("coef", [[1.0, 1.0, 1.0], [2.0, -0.5, 0.3], [0.0, 0.0, -1.0]])
@pytest.mark.parametrize("intercept", [0.0, 0.7, -2.0])
def test_gaussian_risk_agrees_with_a_large_sample(coef, intercept):
    pair = GaussianPair(n_features=3, distance=1.5)
    X, y = pair.sample(10**6, random_state=0)
    wrong = (X @ np.array(coef) + intercept > 0) != y
    assert agrees(pair.risk_linear(coef, intercept), wrong)


@pytest.mark.parametrize("distance", [0.0, 0.5, 3.0, 20.0])
def test_gaussian_bayes_risk(distance):
    pair = GaussianPair(4, distance)
    assert pair.bayes_risk == pytest.approx(stats.norm.cdf(-distance / 2.0), rel=1e-12)
    assert pair.risk_linear(np.ones(4)) == pytest.approx(pair.bayes_risk, rel=1e-12)
    assert np.linalg.norm(2.0 * pair.center) == pytest.approx(distance)
    assert pair.risk_linear([1.0, 2.0, 0.0, 0.0], 0.1) >= pair.bayes_risk
    assert pair.risk_linear(np.zeros(4), 1.0) == 0.5


def test_a_certificate_of_a_linear_model_holds_as_often_as_promised():
    pair, misses = GaussianPair(2, 2.0), 0
    for seed in range(200):
        X, y = pair.sample(150, random_state=seed)
        model = LogisticRegression().fit(X[:50], y[:50])
        sample = Sample(range(100), model.predict(X[50:]) != y[50:])
        evidence = Evidence(protocol="holdout", n_fit=50, majority_share=0.5, certified=sample)
        true_risk = pair.risk_linear(model.coef_, model.intercept_.item())
        misses += BinomialBound()(evidence, 0.2).value < true_risk
    assert misses <= 200 * 0.2 + 3.0 * math.sqrt(200 * 0.2 * 0.8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: FiniteDomain([[0.0]], [0.5, 0.5], [[1.0]], [0]), "must have the shapes"),
        (lambda: FiniteDomain([0.0], [1.0], [[1.0]], [0]), "must have the shapes"),
        (lambda: FiniteDomain([[0.0]], [1.0], [[0.5, 0.4]], [0, 1]), "sum to 1"),
        (lambda: FiniteDomain([[0.0]], [np.nan], [[1.0]], [0]), "sum to 1"),
        (lambda: parity_domain(2, 3), r"n_relevant must lie in \[1, 2\], got 3"),
        (lambda: parity_domain(flip=1.2), r"flip must lie in \[0, 1\], got 1.2"),
        (lambda: finite_domain(label_noise=-0.1), "label_noise must lie in"),
        (lambda: finite_domain(30, 4), "1 to 1000000 points"),
        (lambda: random_label_domain(0), "1 to 1000000 points"),
        (lambda: GaussianPair(0, 1.0), "n_features must be >= 1"),
        (lambda: GaussianPair(2, math.nan), "distance finite"),
        (lambda: GaussianPair(2, 1.0).risk_linear([1.0]), "reshape"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
