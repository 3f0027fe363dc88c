import math

import numpy as np
import pytest

from skbound.measures import (
    regularized_stability,
    sgd_stability_convex,
    sgd_stability_nonconvex,
    sgd_stability_strongly_convex,
)


def ridge(X, y, lam):
    """Minimise the mean squared error plus lam times the squared norm."""
    n, d = X.shape
    return np.linalg.solve(X.T @ X + n * lam * np.eye(d), X.T @ y)


@pytest.mark.parametrize("lam", [0.05, 0.5, 5.0])
def test_ridge_changes_no_more_than_its_stability(lam):
    rng = np.random.default_rng(0)
    n, reach, height = 30, 1.5, 1.0

    def draw(m):
        X = rng.normal(size=(m, 3))
        X *= reach / np.maximum(reach, np.linalg.norm(X, axis=1, keepdims=True))
        return X, np.clip(X[:, 0] + rng.normal(size=m), -height, height)

    (X, y), (X_other, y_other), (X_new, y_new) = draw(n), draw(n), draw(2000)
    # No minimiser is worse than 0, so lam ||w||^2 is at most the squared height.
    slope = 2.0 * (reach * height / math.sqrt(lam) + height)
    limit = regularized_stability(
        lipschitz=slope, feature_norm=reach, regularization=lam, n_samples=n
    )
    before = (X_new @ ridge(X, y, lam) - y_new) ** 2
    largest = 0.0
    for i in range(n):
        X_i, y_i = X.copy(), y.copy()
        X_i[i], y_i[i] = X_other[i], y_other[i]
        after = (X_new @ ridge(X_i, y_i, lam) - y_new) ** 2
        largest = max(largest, np.abs(after - before).max())
    assert 0.0 < largest <= limit


def test_leaving_out_alone_is_half_of_replacing():
    # One feature, linear loss -y w: replacing +1 by -1 reaches the limit, twice leaving it out.
    n, lam = 10, 0.3
    y = np.ones(n)
    weight = y.sum() / n / (2.0 * lam)
    replaced = (y.sum() - 2.0) / n / (2.0 * lam)
    left_out = (y.sum() - 1.0) / n / (2.0 * lam)
    limit = regularized_stability(lipschitz=1.0, feature_norm=1.0, regularization=lam, n_samples=n)
    assert weight - replaced == pytest.approx(limit)
    assert weight - left_out == pytest.approx(limit / 2.0)


def test_descent_on_quadratics_changes_no_more_than_its_stability():
    # Losses (w - z)^2 / 2 in one dimension with w and z in [-1, 1]: slope 2, smoothness 1.
    rng = np.random.default_rng(1)
    n, steps = 20, [0.1] * 60
    z = rng.uniform(-1.0, 1.0, size=n)
    changed = z.copy()
    changed[4] = -np.sign(z[4])
    gaps = []
    for seed in range(200):
        rows = np.random.default_rng([seed, 0]).integers(n, size=len(steps))
        ends = []
        for data in (z, changed):
            w = 0.0
            for row, step in zip(rows, steps, strict=True):
                w -= step * (w - data[row])
            ends.append(w)
        gaps.append(max(abs((ends[0] - t) ** 2 - (ends[1] - t) ** 2) / 2 for t in (-1.0, 1.0)))
    convex = sgd_stability_convex(steps, lipschitz=2.0, smoothness=1.0, n_samples=n)
    strong = sgd_stability_strongly_convex(lipschitz=2.0, curvature=1.0, n_samples=n)
    assert 0.0 < np.mean(gaps) <= min(convex, strong)


def test_formulas_by_hand():
    assert sgd_stability_convex(
        [0.5, 0.25], lipschitz=3.0, smoothness=4.0, n_samples=10
    ) == pytest.approx(1.35)
    assert sgd_stability_strongly_convex(
        lipschitz=3.0, curvature=2.0, n_samples=10
    ) == pytest.approx(0.9)
    expected = (1.0 + 1.0 / 0.5) / 9.0 * 1.0 ** (1.0 / 1.5) * 8.0 ** (0.5 / 1.5)
    assert sgd_stability_nonconvex(
        8, lipschitz=1.0, smoothness=1.0, rate=0.5, n_samples=10
    ) == pytest.approx(expected)


def test_steps_must_be_short():
    with pytest.raises(ValueError, match="at most 2 / smoothness"):
        sgd_stability_convex([0.1, 0.6], lipschitz=1.0, smoothness=4.0, n_samples=10)
