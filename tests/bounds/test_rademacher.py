import itertools
import math

import numpy as np
import pytest

from skbound.bounds import rademacher_upper


def exact_complexity(losses):
    """Return the complexity of finitely many functions, over all signs."""
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=losses.shape[1])))
    return (signs @ losses.T).max(axis=1).mean() / losses.shape[1]


def test_closed_form():
    expected = 0.1 + 2 * 0.03 + 3 * 2.0 * math.sqrt(math.log(40.0) / 200.0)
    assert rademacher_upper(0.1, 0.03, 100, 0.05, loss_range=2.0) == pytest.approx(expected)
    assert rademacher_upper(0.1, 0.03, 100, 0.05, loss_range=2.0) >= expected


def test_it_holds_for_all_functions_at_once():
    rng = np.random.default_rng(0)
    n, delta, missed = 12, 0.5, 0
    risks = rng.uniform(0.2, 0.8, 6)
    for _ in range(100):
        losses = (rng.uniform(size=(6, n)) < risks[:, None]).astype(float)
        complexity = exact_complexity(losses)
        bounds = [rademacher_upper(row.mean(), complexity, n, delta) for row in losses]
        missed += any(b < r for b, r in zip(bounds, risks, strict=True))
    assert missed <= delta * 100


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"empirical_risk": 1.5}, r"empirical_risk must be in \[0, 1.0\]"),
        ({"empirical_risk": float("nan")}, "empirical_risk must be in"),
        ({"complexity": -0.1}, "complexity must not be negative"),
        ({"complexity": float("nan")}, "complexity must not be negative"),
        ({"n_samples": 0}, "n_samples must be at least 1"),
        ({"delta": 0.0}, "delta must be in"),
        ({"loss_range": 0.0}, "loss_range must be positive"),
    ],
)
def test_numbers_out_of_range_raise(given, message):
    valid = {"empirical_risk": 0.1, "complexity": 0.1, "n_samples": 10, "delta": 0.05}
    with pytest.raises(ValueError, match=message):
        rademacher_upper(**(valid | given))
