import math
from dataclasses import replace

import numpy as np
import pytest

from skbound.evidence import AttentionStatistics, Layer
from skbound.exceptions import MissingEvidenceError
from skbound.measures import AttentionSpan, DepthAverage, SpectralProductRate
from tests.measures.transformers import record, scaled, transformer


@pytest.fixture(scope="module")
def net():
    return record(transformer())


def statistics(span, n_tokens=6):
    span = np.asarray(span, np.float64)
    return AttentionStatistics(
        names=tuple(f"blocks.{k}.attention" for k in range(len(span))),
        n_tokens=n_tokens,
        n_rows=1,
        span=span,
        **{k: span for k in ("entropy", "top_mass", "strength", "coherence")},
    )


def test_depth_average(net):
    weights = [layer.weight for layer in net.layers]
    total = sum((w**2).sum() for w in weights)
    mean = np.mean([np.linalg.norm(w, 2) ** 2 for w in weights])
    assert DepthAverage().value(net) == pytest.approx(math.sqrt(total * mean / 30))


def test_averages_do_not_grow_with_depth():
    """The same matrix once more leaves the mean as it is, and multiplies the product."""
    layer = Layer(name="a", role="a", weight=2.0 * np.eye(3))
    one = replace(record(transformer()), layers=(layer,))
    two = replace(one, layers=(layer, layer))
    assert DepthAverage().value(two) == pytest.approx(math.sqrt(2) * DepthAverage().value(one))
    assert SpectralProductRate().value(two) == pytest.approx(2 * SpectralProductRate().value(one))
    assert SpectralProductRate().value(one) == pytest.approx(2 / math.sqrt(30))


def test_a_matrix_of_zeros_makes_the_product_zero(net):
    dead = replace(net.layers[0], weight=0 * net.layers[0].weight)
    found = SpectralProductRate()(replace(net, layers=(dead, *net.layers[1:])))
    assert found.value == 0.0
    assert found.log_value == -math.inf


def test_attention_span(net):
    net = replace(net, attention=statistics([[1.0, 2.0], [0.0, 3.0]]))
    norms = [
        max(layer.spectral_norm for layer in net.layers if layer.name.startswith(f"blocks.{k}."))
        for k in range(2)
    ]
    expected = sum(n * math.sqrt(1.5 / 6) for n in norms) / math.sqrt(30)
    assert AttentionSpan().value(net) == pytest.approx(expected)


def test_block_1_is_not_block_10(net):
    layer = Layer(name="blocks.10.expand", role="expand", weight=100.0 * np.eye(2))
    with_more = replace(net, layers=(*net.layers, layer), attention=statistics([[1.0], [1.0]]))
    without = replace(net, attention=statistics([[1.0], [1.0]]))
    assert AttentionSpan().value(with_more) == AttentionSpan().value(without)


def test_attention_without_matrices(net):
    bare = replace(net, layers=net.layers[-1:], attention=statistics([[1.0]]))
    with pytest.raises(MissingEvidenceError, match="No weight matrix lies beside"):
        AttentionSpan()(bare)


def test_scaling_queries_against_keys_moves_all_of_them():
    """They look at factors, not products, so they change where the function does not."""
    one, other = transformer(), scaled(transformer(), {"query": 100.0, "key": 0.01})
    for rule in (DepthAverage(), AttentionSpan()):
        small, large = (record(m, "attention") for m in (one, other))
        np.testing.assert_allclose(small.attention.span, large.attention.span)
        assert rule.value(large) > 10 * rule.value(small)
