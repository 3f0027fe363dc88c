import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from skbound.measures import (
    AttentionDiffuseness,
    AttentionSharpness,
    attention_error,
    hoelder_rate,
    log_attention_leak,
)
from tests.measures.test_depth import statistics
from tests.measures.transformers import record, scaled, transformer


def test_a_head_made_for_it_leaks_no_more():
    rng = np.random.default_rng(0)
    n_tokens, strength = 12, 9.0
    codes = rng.normal(size=(n_tokens, 200))
    codes /= np.linalg.norm(codes, axis=1, keepdims=True)
    products = np.abs(codes @ codes.T - np.eye(n_tokens))
    values = rng.normal(size=(n_tokens, 3))
    longest = np.linalg.norm(values, axis=1).max()
    for i in range(n_tokens):
        logits = strength * codes @ codes[i]
        weights = softmax(logits)
        leak = 1.0 - weights[i]
        assert leak <= math.exp(log_attention_leak(n_tokens, strength, products.max()))
        gap = logits[i] - np.delete(logits, i).max()
        missed = np.linalg.norm(weights @ values - values[i])
        assert missed <= attention_error(n_tokens, gap, longest)


def test_attention_error_is_attained():
    gap, n = 3.0, 5
    weights = softmax([gap, *[0.0] * (n - 1)])
    values = np.array([1.0, *[-1.0] * (n - 1)])
    assert abs(weights @ values - 1.0) == pytest.approx(attention_error(n, gap))
    assert attention_error(1, 0.0) == 0.0


def test_hoelder_rate():
    assert hoelder_rate(100, 2.0, 4) == pytest.approx(4.0 / 10.0)
    assert hoelder_rate(400, 2.0, 4) == pytest.approx(hoelder_rate(100, 2.0, 4) / 2)


@pytest.mark.parametrize(
    "call",
    [
        lambda: log_attention_leak(0, 1.0, 0.5),
        lambda: log_attention_leak(2, -1.0, 0.5),
        lambda: log_attention_leak(2, 1.0, 1.5),
        lambda: attention_error(0, 1.0),
        lambda: attention_error(2, -1.0),
        lambda: hoelder_rate(0, 1.0, 1),
        lambda: hoelder_rate(1, 0.0, 1),
        lambda: hoelder_rate(1, 1.0, 1, injectivity=0.0),
    ],
)
def test_numbers_out_of_range_raise(call):
    with pytest.raises(ValueError, match="must be"):
        call()


def test_sharpness_is_the_mean_over_heads():
    given = replace(statistics([[1.0, 2.0]]), coherence=np.array([[0.1, 0.9]]))
    net = replace(record(transformer()), attention=given)
    expected = 6 * (math.exp(-0.8) + math.exp(1.6)) / 2
    assert AttentionSharpness().value(net) == pytest.approx(expected)
    far = replace(given, strength=np.array([[1e4, 1e4]]))
    assert math.isfinite(AttentionSharpness().log_value(replace(net, attention=far)))


def test_longer_queries_look_more_sharply():
    module = transformer()
    found = [
        record(scaled(module, {"query": factor}), "attention") for factor in (0.01, 1.0, 100.0)
    ]
    values = [AttentionDiffuseness().value(net) for net in found]
    assert values == sorted(values, reverse=True)
    assert values[0] == pytest.approx(5 / 6, abs=0.01)


def test_scaling_queries_against_keys_changes_nothing():
    one = record(transformer(), "attention")
    other = record(scaled(transformer(), {"query": 8.0, "key": 0.125}), "attention")
    for rule in (AttentionSharpness(), AttentionDiffuseness()):
        assert rule.value(other) == pytest.approx(rule.value(one))
