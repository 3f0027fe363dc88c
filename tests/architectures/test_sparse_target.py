"""The head built by hand keeps its promise."""

import math

import numpy as np
import pytest

from skbound.architectures import SparseTargetHead, position_codes


@pytest.mark.parametrize("width", [1, 4, 16, 64])
@pytest.mark.parametrize("n_tokens", [1, 2, 16, 100])
def test_the_mass_outside_stays_below_the_bound(n_tokens, width):
    codes = position_codes(n_tokens, width, seed=3)
    np.testing.assert_allclose(np.linalg.norm(codes, axis=1), 1.0)
    for target in {0, n_tokens // 2, n_tokens - 1}:
        for sharpness in (0.0, 1.0, 10.0, 1000.0):
            head = SparseTargetHead(codes, target, sharpness)
            assert head.attention.sum() == pytest.approx(1.0)
            assert head.mass_outside <= head.mass_bound * (1.0 + 1e-12)
            values = np.random.default_rng(0).normal(size=(n_tokens, 3))
            off = np.linalg.norm(head.attention @ values - values[target])
            assert off <= head.output_error_bound(np.linalg.norm(values, axis=1).max()) + 1e-12


def test_orthonormal_codes_reach_the_bound():
    head = SparseTargetHead(np.eye(5), target=1, sharpness=2.0)
    others = 4 * math.exp(-2.0)
    assert (head.coherence, head.gap) == (0.0, 2.0)
    assert head.mass_outside == pytest.approx(others / (1 + others))
    assert head.mass_outside == pytest.approx(head.mass_bound)


def test_a_norm_of_the_order_of_log_n_is_enough():
    """Edelman et al. 2022: the query grows with the logarithm of the number of tokens."""
    for n_tokens in (10, 100, 1000):
        head = SparseTargetHead(np.eye(n_tokens), 0, sharpness=math.log(n_tokens / 0.01))
        assert head.mass_outside <= 0.01


def test_codes_are_drawn_from_the_seed():
    a, b, c = (position_codes(20, 8, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)
    assert SparseTargetHead(position_codes(20, 20), 0, 1.0).coherence < 1e-12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((2.0 * np.eye(3), 0, 1.0), "unit vectors"),
        ((np.ones(3), 0, 1.0), "unit vectors"),
        ((np.eye(3), 3, 1.0), "target must be"),
        ((np.eye(3), 0, -1.0), "sharpness must be"),
        ((np.eye(3), 0, np.nan), "sharpness must be"),
    ],
)
def test_bad_heads(arguments, message):
    with pytest.raises(ValueError, match=message):
        SparseTargetHead(*arguments)


def test_bad_sizes():
    with pytest.raises(ValueError, match="at least 1"):
        position_codes(0, 3)
