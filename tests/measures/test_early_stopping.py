import numpy as np
import pytest

from skbound.measures import early_stopping_filter, effective_l2, ridge_filter


def test_gradient_descent_on_a_quadratic():
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    curvatures = np.geomspace(1e-3, 1.0, 6)
    hessian, minimum = basis @ np.diag(curvatures) @ basis.T, rng.normal(size=6)
    start = rng.normal(size=6)
    rates = rng.uniform(0.01, 0.9, 25)
    w = start.copy()
    for rate in rates:
        w = w - rate * hessian @ (w - minimum)
    gone = basis.T @ (w - start) / (basis.T @ (minimum - start))
    np.testing.assert_allclose(gone, early_stopping_filter(curvatures, rates), rtol=1e-9)
    same = early_stopping_filter(curvatures, [0.3] * 25)
    np.testing.assert_allclose(same, 1 - (1 - 0.3 * curvatures) ** 25)


def test_the_penalty_does_about_the_same():
    rates = [5e-5] * 20_000
    curvatures = np.geomspace(1e-3, 1e2, 300)
    ratio = early_stopping_filter(curvatures, rates) / ridge_filter(curvatures, effective_l2(rates))
    assert ratio.min() >= 1.0
    assert ratio.max() <= 1.2985
    # The largest ratio of the limit of short steps.
    short = -np.expm1(-1.7933) * 2.7933 / 1.7933
    assert short == pytest.approx(1.29843, abs=1e-5)
    assert ratio.max() == pytest.approx(short, abs=1e-3)


def test_long_steps_go_farther():
    curvatures = np.linspace(0.01, 1.0, 100)
    ratio = early_stopping_filter(curvatures, [1.0]) / ridge_filter(curvatures, effective_l2([1.0]))
    np.testing.assert_allclose(ratio, 1 + curvatures)


def test_ridge_is_the_minimum_with_penalty():
    s, minimum, penalty = 0.7, 2.0, 0.3
    w = np.linspace(0, 2, 200_001)
    best = w[(0.5 * s * (w - minimum) ** 2 + 0.5 * penalty * w**2).argmin()]
    assert best / minimum == pytest.approx(float(ridge_filter(s, penalty)), abs=1e-5)


def test_effective_l2():
    assert effective_l2([0.5, 0.25, 0.25]) == 1.0
    assert effective_l2([]) == np.inf
    assert effective_l2([0.0]) == np.inf


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: effective_l2([-0.1]), "learning_rates must be finite and not negative"),
        (lambda: effective_l2([np.inf]), "learning_rates must be finite and not negative"),
        (lambda: early_stopping_filter(1.0, [np.nan]), "learning_rates must be finite"),
        (lambda: ridge_filter(1.0, 0.0), "penalty must be positive"),
    ],
)
def test_numbers_out_of_range_raise(call, message):
    with pytest.raises(ValueError, match=message):
        call()
