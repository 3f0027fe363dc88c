"""The margin bound for chains: its parts by hand, its laws, and what its proof rests on."""

import math

import numpy as np
import pytest

from skbound.bounds import chain_upper

N = 10**5


def bound(**changes):
    numbers = {
        "margins": np.full(N, 4.0),
        "spectral_norms": [2.0, 1.5],
        "distances": [0.4, 0.9],
        "input_norm": 10.0,
        "widths": [10, 16, 2],
        "delta": 0.05,
    } | changes
    return chain_upper(numbers.pop("margins"), **numbers)


def q_of(margin, s=(2.5, 2.0), b=(0.5, 1.0), input_norm=10.0, width=16):
    """Q at norms rounded up to halves."""
    ratios = sum((x / y) ** (2 / 3) for x, y in zip(b, s, strict=True)) ** 1.5
    log_cover = math.log(2 * width**2 + 1)
    return math.sqrt(2 * log_cover) / margin * input_norm * math.prod(s) * ratios


def test_parts():
    found = bound(spectral_norms=[2.3, 1.8])
    assert found.margin == 4.0
    assert found.margin_error == 0.0
    # The infimum over a, on a fine grid.
    a = np.geomspace(1e-3, math.sqrt(N), 200_001)
    integral = 8 * a / math.sqrt(N) + 24 * q_of(4.0) / N * np.log(math.sqrt(N) / a)
    assert found.complexity == pytest.approx(integral.min(), rel=1e-6)
    assert found.complexity <= integral.min() * (1 + 1e-12)
    units = [5, 4, 1, 2]
    price = sum(math.log(k * (k + 1)) for k in units) + math.log(1.5 * 3 * 4) + math.log(20)
    assert found.confidence == pytest.approx(3 * math.sqrt(price / (2 * N)))
    assert float(found) == found.margin_error + found.complexity + found.confidence
    assert not found.vacuous


def test_no_larger_than_as_published():
    # Lemma A.8 at fixed norms: 72 ln(2 W) ln(n) ||X|| prod s (sum (b / s)^(2/3))^(3/2) / (g n).
    for width in (3, 16, 1000):
        q = q_of(4.0, width=width)
        core = q * 4.0 / math.sqrt(2 * math.log(2 * width**2 + 1))
        published = 8 / N + 72 * math.log(2 * width) * math.log(N) * core / (4.0 * N)
        found = bound(spectral_norms=[2.3, 1.8], widths=[width, 2, 2])
        assert found.complexity <= published


def test_laws():
    base = float(bound())
    assert float(bound(delta=0.01)) > base
    for key, more in (
        ("spectral_norms", [2.0, 9.0]),
        ("distances", [0.4, 9.0]),
        ("input_norm", 30.0),
        ("widths", [10, 99, 2]),
    ):
        assert float(bound(**{key: more})) > base
    assert float(bound(margins=np.full(N // 10, 4.0))) > base
    assert float(bound(margins=np.full(N, 0.5))) > base
    wrong = np.where(np.arange(N) % 5 == 0, -1.0, 4.0)
    assert bound(margins=wrong).margin_error == pytest.approx(0.2)
    assert float(bound(margins=wrong)) > base


def test_small_samples_and_large_norms_are_vacuous_and_finite():
    found = bound(margins=np.full(100, 4.0))
    assert found.vacuous
    assert bound(spectral_norms=[1e200, 1e200]).complexity == 8.0
    assert math.isfinite(float(bound(distances=[0.0, 0.0], input_norm=0.0)))


def test_weights_of_the_choices_sum_to_one():
    k = np.arange(1.0, 1e6)
    assert (1 / (k * (k + 1))).sum() == pytest.approx(1.0, abs=1e-5)
    j = np.abs(np.arange(-1e6, 1e6))
    assert (1 / (1.5 * (j + 1) * (j + 2))).sum() == pytest.approx(1.0, abs=1e-5)


def test_margins_change_by_at_most_root_two_of_the_logits():
    rng = np.random.default_rng(0)
    u, v = rng.normal(size=(2, 20_000, 3)) * rng.choice([0.01, 1.0], size=(2, 20_000, 1))

    def margin(x):
        return x[:, 0] - x[:, 1:].max(axis=1)

    ratio = np.abs(margin(u) - margin(v)) / np.linalg.norm(u - v, axis=1)
    assert 1.2 < ratio.max() <= math.sqrt(2.0) + 1e-12


def test_maps_are_means_of_few_points_of_small_norm():
    # X A^T lies in the hull of the points +-||X|| b Y_k e_j^T, Y_k a column of X of length 1.
    rng = np.random.default_rng(0)
    X, A = rng.normal(size=(30, 5)), rng.normal(size=(4, 5))
    columns = np.linalg.norm(X, axis=0)
    b = np.linalg.norm(A, axis=1).sum()
    shares = np.abs(A) * columns
    radius = np.linalg.norm(X) * b
    assert shares.sum() <= radius
    # A mean of k draws errs by at most (radius^2 - ||f||^2) / k in mean square.
    draws, k = np.zeros((400, 30, 4)), 20
    p = np.append(shares.ravel(), radius - shares.sum()) / radius
    for mean in draws:
        for index in rng.choice(len(p), size=k, p=p):
            if index < shares.size:
                j, i = np.unravel_index(index, A.shape)
                mean[:, j] += np.sign(A[j, i]) * radius * X[:, i] / columns[i] / k
    target = X @ A.T
    errors = ((draws - target) ** 2).sum(axis=(1, 2))
    assert errors.mean() <= 1.1 * (radius**2 - (target**2).sum()) / k


def test_linear_maps_are_no_richer_than_it_says():
    # The exact complexity of {x -> <a, x>: ||a|| <= b}, clipped nowhere: b E||sum s_i x_i|| / n.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    signs = rng.choice([-1.0, 1.0], size=(2000, 400))
    exact = 0.01 * np.linalg.norm(signs @ X, axis=1).mean() / 400
    found = chain_upper(
        np.full(400, 1.0),
        spectral_norms=[0.01],
        distances=[0.01],
        input_norm=float(np.linalg.norm(X)),
        widths=[3, 1],
        delta=0.05,
    )
    assert found.complexity >= 2 * exact


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"delta": 0.0}, "delta must lie"),
        ({"widths": [10, 2]}, "L spectral norms"),
        ({"distances": [0.4, -1.0]}, "finite and not negative"),
        ({"spectral_norms": [2.0, math.inf]}, "finite and not negative"),
        ({"margins": np.array([])}, "at least one row"),
        ({"margins": np.array([math.nan])}, "finite numbers"),
        ({"widths": [10, 0, 2]}, "at least 1"),
    ],
)
def test_bad_numbers(changes, match):
    with pytest.raises(ValueError, match=match):
        bound(**changes)


def test_a_chain_that_learnt_noise_by_heart_is_not_certified():
    # True error 0.5, no error and a large margin on the rows.
    rng = np.random.default_rng(0)
    X, signs = rng.normal(size=(40, 200)), rng.choice([-1.0, 1.0], size=40)
    half = np.linalg.lstsq(X, signs, rcond=None)[0]
    weight = np.stack([-half, half])
    margins = 2.0 * signs * (X @ half)
    assert margins.min() > 1.9
    found = chain_upper(
        margins,
        spectral_norms=[float(np.linalg.norm(weight, 2))],
        distances=[float(np.linalg.norm(weight, axis=1).sum())],
        input_norm=float(np.linalg.norm(X)),
        widths=[200, 2],
        delta=0.05,
    )
    assert found.margin_error + found.complexity >= 0.5
