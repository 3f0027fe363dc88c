import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from skbound.collect import Probe, attention_statistics, queries_and_keys
from skbound.exceptions import MissingEvidenceError
from tests.measures.transformers import N_TOKENS, probe, record, scaled, transformer

FIELDS = ("entropy", "span", "top_mass", "strength", "coherence")


def brute_force(module, inputs):
    """Look at each block, row, head and query one by one."""
    with torch.no_grad():
        tokens = module.embedding(inputs)
        if module.cls_token is not None:
            tokens = torch.cat([module.cls_token.expand(len(tokens), 1, -1), tokens], 1)
        found = []
        for k, block in enumerate(module.blocks):
            seen = block.norm_attention(tokens)
            only_first = module.cls_token is not None and k == len(module.blocks) - 1
            n_queries = 1 if only_first else tokens.shape[1]
            q, keys = (f(seen).numpy() for f in (block.attention.query, block.attention.key))
            found.append([_head(q[..., h], keys[..., h], n_queries) for h in _heads(block)])
            tokens = block(tokens)
    return np.array(found)


def _heads(block):
    size = 8 // block.attention.n_heads
    return [slice(h * size, (h + 1) * size) for h in range(block.attention.n_heads)]


def _head(q, keys, n_queries):
    values = []
    for row in range(len(q)):
        logits = q[row, :n_queries] @ keys[row].T / math.sqrt(q.shape[2])
        p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        lengths = np.linalg.norm(keys[row], axis=1)
        n = len(lengths)
        cosines = [
            abs(keys[row, i] @ keys[row, j]) / lengths[i] / lengths[j]
            for i in range(n)
            for j in range(i)
        ]
        places = np.abs(np.arange(n_queries)[:, None] - np.arange(n))
        top = lengths[logits.argmax(axis=1)]
        reach = np.linalg.norm(q[row, :n_queries], axis=1) * top / math.sqrt(q.shape[2])
        values.append(
            [
                -(p * np.log(p)).sum(axis=1).mean(),
                (p * places).sum(axis=1).mean(),
                p.max(axis=1).mean(),
                reach.mean(),
                max(cosines),
            ]
        )
    return np.mean(values, axis=0)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_every_number(pooling):
    module = transformer(pooling=pooling)
    rows = probe(module, n_rows=7)
    found = attention_statistics(rows)
    inputs = torch.as_tensor(rows.X)
    expected = brute_force(module, inputs)
    assert found.names == ("blocks.0.attention", "blocks.1.attention")
    assert found.n_tokens == N_TOKENS + (pooling == "cls")
    assert found.n_rows == 7
    for i, name in enumerate(FIELDS):
        np.testing.assert_allclose(getattr(found, name), expected[..., i], rtol=1e-9, err_msg=name)


def test_chunks_and_order_of_rows_do_not_matter():
    module = transformer()
    rows = probe(module)
    turned = Probe(module, rows.X[::-1], rows.codes[::-1], rows.prepare)
    whole = attention_statistics(rows)
    for other in (attention_statistics(rows, n_rows=7), attention_statistics(turned)):
        for name in FIELDS:
            np.testing.assert_allclose(getattr(other, name), getattr(whole, name), rtol=1e-10)


def test_single_precision_gives_nearly_the_same():
    module = transformer()
    double, single = (
        attention_statistics(probe(module)),
        attention_statistics(probe(transformer().float())),
    )
    for name in FIELDS:
        np.testing.assert_allclose(getattr(single, name), getattr(double, name), rtol=1e-4)


def test_queries_of_zero_look_everywhere_alike():
    module = scaled(transformer(pooling="mean"), {"query": 0.0})
    found = attention_statistics(probe(module))
    n = N_TOKENS
    np.testing.assert_allclose(found.entropy, math.log(n))
    np.testing.assert_allclose(found.top_mass, 1 / n)
    apart = np.abs(np.arange(n)[:, None] - np.arange(n)).mean()
    np.testing.assert_allclose(found.span, apart)
    np.testing.assert_allclose(found.strength, 0.0)


def test_keys_of_zero_are_no_division_by_zero():
    found = attention_statistics(probe(scaled(transformer(), {"key": 0.0})))
    np.testing.assert_allclose(found.coherence, 0.0)


def test_the_net_is_left_as_it_was():
    module = transformer()
    attention_statistics(probe(module))
    assert not any(m._forward_pre_hooks for m in module.modules())


def test_a_failing_net_is_left_as_it_was_too():
    module = transformer()
    rows = Probe(module, np.ones((3, 2, 99)), np.zeros(3, np.intp), lambda x: x)
    with pytest.raises(RuntimeError):
        attention_statistics(rows)
    assert not any(m._forward_pre_hooks for m in module.modules())


class Look(nn.Module):
    """Attention of one's own: every token sees itself and earlier ones."""

    def __init__(self, mask):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()).double())
        self.mask = mask

    def forward(self, x):
        return x.mean(1)[:, :2]


@queries_and_keys.register
def rule_of_look(module: Look, x):
    q = x.unsqueeze(1) * module.scale
    return q, q, module.mask


@pytest.mark.parametrize("kind", ["bool", "float"])
def test_a_rule_of_ones_own_with_a_mask(kind):
    seen = torch.ones(4, 4, dtype=torch.bool).tril()
    mask = seen if kind == "bool" else torch.zeros(4, 4).masked_fill(~seen, -torch.inf)
    X = np.zeros((3, 4, 2))
    found = attention_statistics(Probe(Look(mask), X, np.zeros(3, np.intp), lambda x: x))
    assert found.entropy[0, 0] == pytest.approx(np.log([1, 2, 3, 4]).mean())
    assert found.span[0, 0] == pytest.approx(np.mean([0.0, 0.5, 1.0, 1.5]))
    assert found.names == ("",)


class Sight:
    """What attention that knows places is called with."""

    def __init__(self, bias=None, rotation=None):
        self.bias, self.rotation = bias, rotation

    def bias_of(self, n_queries):
        return None if self.bias is None else self.bias[..., :n_queries, :]


def test_biases_by_place_count_and_rotations_are_refused():
    attention = transformer().blocks[0].attention
    x = torch.zeros(2, 4, 8).double()
    bias = torch.zeros(1, 1, 4, 4)
    q, k, found = queries_and_keys(attention, x[:, :1], x, Sight(bias))
    assert (q.shape, k.shape, found.shape) == ((2, 2, 1, 4), (2, 2, 4, 4), (1, 1, 1, 4))
    assert queries_and_keys(attention, x, x, sight=Sight())[2] is None
    with pytest.raises(MissingEvidenceError, match="how places turn queries and keys"):
        queries_and_keys(attention, x, x, Sight(rotation=bias))


def test_nets_without_attention_have_no_statistics():
    module = nn.Sequential(nn.Linear(3, 2)).double()
    rows = Probe(module, np.ones((4, 3)), np.zeros(4, np.intp), lambda x: x)
    with pytest.raises(MissingEvidenceError, match="has no attention that is known"):
        attention_statistics(rows)
    with pytest.raises(MissingEvidenceError, match="No rule tells queries and keys of Linear"):
        queries_and_keys(module[0], torch.ones(1))


def test_shapes_are_checked():
    good = record(transformer(), "attention").attention
    with pytest.raises(ValueError, match="span must be of shape"):
        replace(good, span=good.span[:1])
