"""Codes: read back exactly, prefix-free, as short as counting allows."""

import itertools
import math
import time
from fractions import Fraction

import numpy as np
import pytest

from skbound.protocols._enumerative import bits_of, read_bits, read_symbols, write_symbols
from skbound.protocols._subspace import CoordinateCode, nearest, random_subspace


def kraft_sum(codes):
    return sum(Fraction(1, 2 ** len(code)) for code in codes)


@pytest.mark.parametrize("n_symbols", range(6))
@pytest.mark.parametrize("n_levels", range(1, 5))
def test_all_short_strings(n_symbols, n_levels):
    strings = list(itertools.product(range(n_levels), repeat=n_symbols))
    codes = [write_symbols(string, n_levels) for string in strings]
    for string, code in zip(strings, codes, strict=True):
        assert read_symbols(code + "0110", n_symbols, n_levels) == (list(string), "0110")
    assert kraft_sum(codes) <= 1
    assert not any(b.startswith(a) for a, b in itertools.permutations(codes, 2))


@pytest.mark.parametrize(("n_symbols", "n_levels"), [(150, 17), (4000, 3), (4000, 17)])
def test_long_strings_take_what_counting_says(n_symbols, n_levels):
    rng = np.random.default_rng(n_levels)
    shares = rng.dirichlet(np.ones(n_levels))
    symbols = rng.choice(n_levels, size=n_symbols, p=shares).tolist()
    start = time.process_time()
    code = write_symbols(symbols, n_levels)
    assert read_symbols(code, n_symbols, n_levels) == (symbols, "")
    assert time.process_time() - start < 1.0
    counts = np.bincount(symbols, minlength=n_levels)
    nats = math.lgamma(n_symbols + 1) - sum(math.lgamma(c + 1) for c in counts)
    exact = math.log2(math.comb(n_symbols + n_levels - 1, n_levels - 1)) + nats / math.log(2)
    assert exact <= len(code) <= exact + 2.0


def test_one_symbol_alone_costs_the_counts_only():
    assert write_symbols([0] * 100, 1) == ""
    assert len(write_symbols([1] * 100, 3)) == math.ceil(math.log2(math.comb(102, 2)))


def test_what_is_no_code():
    assert read_bits(bits_of(5, 6) + "1", 6) == (5, "1")
    with pytest.raises(ValueError, match="ends too early: 3 bits expected, got 2"):
        read_bits("10", 6)
    with pytest.raises(ValueError, match="must name one of 6 things, got number 7"):
        read_bits("111", 6)
    with pytest.raises(ValueError, match="symbols must lie between 0 and 2"):
        write_symbols([0, 3], 3)
    code = CoordinateCode(5, 3, "uniform")
    bits = code.write(np.ones(5, dtype=int), code.levels(np.zeros(5)))
    with pytest.raises(ValueError, match="must end with the last coordinate, got 1 more"):
        code.read(bits + "0")


@pytest.mark.parametrize("codebook", ["uniform", "k-means"])
@pytest.mark.parametrize("n_levels", [2, 3, 8, 17])
@pytest.mark.parametrize("size", [1e-3, 0.03, 2.0])
def test_coordinates_are_read_back_as_they_were_rounded(codebook, n_levels, size):
    z = size * np.random.default_rng(0).normal(size=150)
    code = CoordinateCode(150, n_levels, codebook)
    levels = code.levels(z)
    assert levels.shape == (n_levels,)
    assert (np.diff(levels) >= 0.0).all()
    symbols = nearest(z, levels)
    rounded = levels[np.abs(z[:, None] - levels).argmin(axis=1)]
    bits = code.write(symbols, levels)
    assert np.array_equal(code.read(bits), rounded)
    head = 5 if codebook == "uniform" else 16 * n_levels
    assert len(bits) == head + len(write_symbols(symbols.tolist(), n_levels))
    # The mean square that is lost is that of a reasonable quantiser.
    assert ((z - rounded) ** 2).mean() < size**2 * (
        1.0 if n_levels == 2 else 6.0 / n_levels**2 + 0.1
    )


@pytest.mark.parametrize("n_levels", [2, 3])
def test_kraft_sum_of_all_coordinate_codes(n_levels):
    code = CoordinateCode(3, n_levels, "uniform")
    codes = {
        bits_of(step, 32) + write_symbols(symbols, n_levels)
        for step in range(32)
        for symbols in itertools.product(range(n_levels), repeat=3)
    }
    assert kraft_sum(codes) <= 1
    assert not any(b.startswith(a) for a, b in itertools.permutations(codes, 2))
    assert len({code.read(bits).tobytes() for bits in codes}) > 31 * n_levels


def test_every_weight_has_one_coordinate_and_all_get_equal_shares():
    subspace = random_subspace(1000, 30, 5.0, np.random.default_rng(0))
    counts = np.bincount(subspace.groups, minlength=30)
    assert set(counts) == {33, 34}
    assert set(subspace.scales) == {-5.0, 5.0}
    basis = np.array([subspace.moves(unit) for unit in np.eye(30)])
    np.testing.assert_array_equal(basis @ basis.T, np.diag(25.0 * counts))
