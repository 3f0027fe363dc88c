"""Effective ranks, Schatten sums, adaptive counts and bits of weights."""

import math

import numpy as np
import pytest

from skbound.measures import (
    SchattenSum,
    SpectrumAdaptive,
    WeightBits,
    WeightRank,
    quantised_bits,
    score_spectra,
    threshold_rank,
    weight_ranks,
)
from tests.measures.records import net_of, random_matrices

KINDS = ["entropy", "participation", "nuclear", "threshold"]


def test_published_vector():
    ranks = weight_ranks(net_of([np.diag([2.0, 1.0])]))["layers.0"]
    assert ranks.entropy == pytest.approx(1.889882, abs=1e-6)
    assert ranks.participation == pytest.approx(1.470588, abs=1e-6)
    assert (ranks.stable, ranks.nuclear) == (1.25, 1.8)


@pytest.mark.parametrize("kind", KINDS)
def test_ranks_of_identity_and_of_rank_one(kind):
    one = np.outer(np.arange(1.0, 5.0), np.arange(1.0, 4.0))
    assert WeightRank(kind)(net_of([np.eye(6)])).value == pytest.approx(6.0)
    assert WeightRank(kind)(net_of([one])).value == pytest.approx(1.0)
    assert WeightRank(kind)(net_of([np.eye(6), one])).value == pytest.approx(3.5)
    net, scaled = net_of(random_matrices()), net_of([3.0 * w for w in random_matrices()])
    assert WeightRank(kind)(net).value == pytest.approx(WeightRank(kind)(scaled).value)


def test_threshold():
    values = np.array([1.0, 0.5, 0.02, 0.0])
    assert [threshold_rank(values, share) for share in (1.0, 0.5, 0.01)] == [1, 2, 3]
    assert threshold_rank(np.zeros(3)) == 0


def test_schatten_sums_run_from_rank_to_stable_rank():
    net = net_of([np.diag([2.0, 1.0, 0.0])])
    assert [SchattenSum(p)(net).value for p in (0.0, 1.0, 2.0)] == [2.0, 1.5, 1.25]
    assert math.isnan(SchattenSum()(net_of([np.zeros((2, 2))])).value)


def attention(scale=1.0):
    q, k, v = random_matrices(2, ((6, 6),) * 3)
    names = ["a.query", "a.key", "a.value"]
    return net_of([scale * q, k / scale, v], names=names, n_heads=2)


def test_queries_and_keys_count_as_their_product():
    net = attention()
    spectra = score_spectra(net)
    assert [len(values) for _, values in spectra] == [3, 3, 6]
    q, k = net.layers[0].weight[3:], net.layers[1].weight[3:]
    expected = np.linalg.svd(q.T @ k / math.sqrt(3.0), compute_uv=False)[:3]
    np.testing.assert_allclose(spectra[1][1], expected, rtol=1e-9)
    for rule in (SchattenSum(), SpectrumAdaptive()):
        assert rule(attention(8.0)).value == pytest.approx(rule(net).value)


def test_without_heads_queries_and_keys_stay_apart():
    names = ["a.query", "a.key", "b.key"]
    assert len(score_spectra(net_of(random_matrices(), names=names))) == 3
    assert len(score_spectra(net_of(random_matrices(), names=names, n_heads=1))) == 3


def test_adaptive_count_is_the_smaller_of_parameters_and_margin_terms():
    weight = 1.5 * np.diag([1.0, 1e-3, 1e-3])
    # At p = 2: (K s / s_1)^2 summed, with K = 1.5 / margin.
    confident = net_of([weight], margins=np.full(10, 15.0))
    assert SpectrumAdaptive()(confident).value == pytest.approx(0.01, rel=1e-3)
    counted = net_of([weight], margins=np.full(10, 1e-9))
    assert SpectrumAdaptive()(counted).value == 6 * 3
    wrong = SpectrumAdaptive()(net_of([weight], margins=np.full(10, -1.0)))
    assert wrong.value == 6 * 3
    assert "margins is -1" in wrong.note


def test_bits_by_hand():
    # Steps of 0.1: levels -10 and 10, of 21 possible ones; six entries, three of each.
    weight = np.array([[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]])
    bits = 96.0 + math.log2(math.comb(6 + 20, 20)) + math.log2(math.comb(6, 3))
    assert quantised_bits(weight, 0.1) == pytest.approx(bits)
    assert WeightBits()(net_of([weight])).value == pytest.approx(bits + 3 * 32.0)


def test_bits_ignore_scale_and_grow_with_precision():
    weight = random_matrices()[0]
    assert quantised_bits(1000.0 * weight, 0.1) == pytest.approx(quantised_bits(weight, 0.1))
    found = [quantised_bits(weight, precision) for precision in (1.0, 0.1, 0.01)]
    assert found == sorted(found)
    # No fewer than the entropy of a normal law cut at that step.
    large = np.random.default_rng(0).normal(size=(100, 100))
    entropy = 0.5 * math.log2(2 * math.pi * math.e) - math.log2(0.1)
    assert quantised_bits(large, 0.1) / large.size == pytest.approx(entropy, rel=0.03)
    assert quantised_bits(np.zeros((3, 3)), 0.1) == 96.0
    with pytest.raises(ValueError, match="precision must be positive"):
        quantised_bits(weight, 0.0)
