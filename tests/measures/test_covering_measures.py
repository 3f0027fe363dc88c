import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import softmax
from torch import nn

from skbound.collect import layers_of
from skbound.exceptions import MissingEvidenceError
from skbound.measures import (
    BallCovering,
    CompositionCovering,
    EdelmanCovering,
    PackingEstimate,
    ParametricCovering,
    TraugerTewariCovering,
    allocate_errors,
    measure,
    pieces_of,
)
from skbound.measures._pieces import _SLOPE
from tests.measures.transformers import record, scaled, transformer

NORM_RULES = [EdelmanCovering(), TraugerTewariCovering(), CompositionCovering()]
RULES = [ParametricCovering(), *NORM_RULES]


@pytest.fixture(scope="module")
def net():
    return replace(record(transformer()), margins=np.linspace(0.5, 2.0, 30))


def gelu(x):
    return nn.functional.gelu(torch.as_tensor(x)).numpy()


def projected(x, radius):
    return x / np.maximum(1.0, np.linalg.norm(x, axis=1, keepdims=True) / radius)


def tokens_of(net, x, weights):
    """Run the blocks with projections for normalisations, on (tokens, width) input."""
    layers = {layer.name: layer for layer in net.layers}
    radius = math.sqrt(net.architecture.width)
    for block in range(net.architecture.depth):
        own = f"blocks.{block}"
        seen, total = projected(x, radius), 0.0
        bias = layers[f"{own}.attention.query"].bias.reshape(2, -1)
        key = layers[f"{own}.attention.key"].weight.reshape(2, 4, 8)
        for h in range(2):
            logits = seen @ weights[f"{own}.scores.{h}"] @ seen.T
            logits = logits + (seen @ key[h].T @ bias[h])[None, :] / math.sqrt(4)
            total = total + softmax(logits, axis=1) @ seen @ weights[f"{own}.values.{h}"].T
        x = x + total
        seen = projected(x, radius)
        hidden = gelu(seen @ weights[f"{own}.expand"].T + layers[f"{own}.expand"].bias)
        x = x + hidden @ weights[f"{own}.contract"].T
    return projected(x, radius)


def test_no_error_spreads_faster_than_said(net):
    rng = np.random.default_rng(0)
    pieces = pieces_of(net)
    weights = {piece.name: piece.weight for piece in pieces.body}
    assert len(weights) == 2 * (2 * 2 + 2)
    for piece in pieces.body:
        for trial in range(8):
            x = rng.normal(size=(5, 8)) * 10.0 ** rng.uniform(-1, 1.5)
            change = rng.normal(size=piece.weight.shape)
            if trial % 2:
                change = np.outer(change[:, 0], change[0])
            change *= 10.0 ** rng.uniform(-3, 0) / np.linalg.norm(change, 2)
            before = tokens_of(net, x, weights)
            after = tokens_of(net, x, weights | {piece.name: piece.weight + change})
            moved = np.linalg.norm(after - before, axis=1).max()
            allowed = math.exp(piece.log_rate) * piece.reach * np.linalg.norm(change, 2)
            assert moved <= allowed * (1 + 1e-9)


def test_the_blocks_are_as_lipschitz_as_said(net):
    """The rate of the first block's last map is the product of the later blocks' constants."""
    rng = np.random.default_rng(1)
    pieces = pieces_of(net)
    weights = {piece.name: piece.weight for piece in pieces.body}
    rate = {piece.name: math.exp(piece.log_rate) for piece in pieces.body}
    shifted = {k.replace("blocks.1", "blocks.0"): w for k, w in weights.items() if "s.1." in k}
    layers = tuple(
        replace(layer, name=layer.name.replace("blocks.1", "blocks.0"))
        for layer in net.layers
        if "blocks.0" not in layer.name
    )
    last = replace(net, layers=layers, architecture=replace(net.architecture, depth=1))
    for _ in range(100):
        x = rng.normal(size=(5, 8)) * 10.0 ** rng.uniform(-1, 1)
        y = x + rng.normal(size=(5, 8)) * 10.0 ** rng.uniform(-4, 0)
        moved = tokens_of(last, x, shifted) - tokens_of(last, y, shifted)
        apart = np.linalg.norm(x - y, axis=1).max()
        assert np.linalg.norm(moved, axis=1).max() <= rate["blocks.0.contract"] * apart
    assert rate["blocks.1.contract"] == 1.0


def test_pieces_are_products_of_the_nets_matrices(net):
    layers = {layer.name: layer.weight for layer in net.layers}
    pieces = {piece.name: piece for piece in pieces_of(net).body}
    query, key = (layers[f"blocks.1.attention.{role}"][4:] for role in ("query", "key"))
    np.testing.assert_allclose(pieces["blocks.1.scores.1"].weight, query.T @ key / 2.0)
    value, output = layers["blocks.0.attention.value"], layers["blocks.0.attention.output"]
    np.testing.assert_allclose(pieces["blocks.0.values.0"].weight, output[:, :4] @ value[:4])
    slope = max(
        torch.autograd.functional.jacobian(nn.functional.gelu, torch.tensor(x, dtype=torch.float64))
        for x in np.linspace(1.0, 2.0, 2001)
    )
    assert pytest.approx(float(slope), abs=1e-6) == _SLOPE
    assert float(slope) <= _SLOPE


def parts(net):
    pieces = pieces_of(net)
    head = pieces.head.norm
    rates = [math.exp(piece.log_rate) * head for piece in pieces.body] + [1.0]
    return [*pieces.body, pieces.head], np.array(rates)


def test_parametric_covering(net):
    pieces, rates = parts(net)
    margin = np.quantile(net.margins, 0.1, method="inverted_cdf")
    cover = sum(
        p.weight.size * math.log1p(8 * len(pieces) * r * p.reach * p.norm / margin)
        for p, r in zip(pieces, rates, strict=True)
    )
    expected = math.sqrt((cover + math.log(20.0)) / 60)
    assert ParametricCovering().value(net) == pytest.approx(expected)
    assert ParametricCovering().value(replace(net, margins=net.margins - 5.0)) == math.inf


def test_norm_coverings_share_the_error_best(net):
    pieces, rates = parts(net)
    sizes = {
        "edelman_covering": [
            (p.reach * np.linalg.norm(p.weight, axis=1).sum()) ** 2
            * math.log(30 * 6 * len(p.weight))
            for p in pieces
        ],
        "trauger_tewari_covering": [
            (p.reach * np.abs(p.weight).sum()) ** 2 * math.log(2 * p.weight.size + 1)
            for p in pieces
        ],
    }
    for rule in NORM_RULES[:2]:
        _, least = allocate_errors(sizes[rule.key], rates, 1.0)
        assert rule.value(net) == pytest.approx(math.sqrt(least / 30))
        assert replace(rule, distance=0.5).value(net) == pytest.approx(2 * rule.value(net))


def test_composition(net):
    pieces = pieces_of(net)
    c, reach = pieces.head.norm, pieces.head.reach
    sizes = [
        (p.reach * np.linalg.norm(p.weight, axis=1).sum()) ** 2 * math.log(180 * len(p.weight))
        for p in pieces.body
    ]
    _, inner = allocate_errors(sizes, [math.exp(p.log_rate) for p in pieces.body], 1.0 / (2 * c))
    outer = pieces.head.weight.size * math.log1p(4 * c * reach)
    assert CompositionCovering().value(net) == pytest.approx(math.sqrt((outer + inner) / 30))


def test_ball_covering(net):
    count = sum(layer.weight.size for layer in net.layers)
    norm = math.sqrt(sum((layer.weight**2).sum() for layer in net.layers))
    expected = math.sqrt(count * math.log1p(20 * norm) / 30)
    assert BallCovering().value(net) == pytest.approx(expected)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.key)
@pytest.mark.parametrize("pair", [("query", "key"), ("value", "output")], ids="-".join)
def test_scaling_two_maps_against_each_other_changes_nothing(net, rule, pair):
    """Only products count in attention, so these do not move as sums of norms of factors do."""
    other = scaled(transformer(), {pair[0]: 3.0, pair[1]: 1.0 / 3.0})
    assert rule.value(replace(record(other), margins=net.margins)) == pytest.approx(rule.value(net))


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.key)
def test_scaling_the_feed_forward_maps_against_each_other_changes_nothing(net, rule):
    """With GELU the function does change, and the expressions do not see it."""
    other = scaled(transformer(), {"expand": 3.0, "contract": 1.0 / 3.0})
    assert rule.value(replace(record(other), margins=net.margins)) == pytest.approx(rule.value(net))


def test_only_edelman_knows_the_number_of_tokens(net):
    longer = replace(net, architecture=replace(net.architecture, n_tokens=600))
    assert EdelmanCovering().value(longer) > EdelmanCovering().value(net)
    assert TraugerTewariCovering().value(longer) == TraugerTewariCovering().value(net)
    unknown = replace(net, architecture=replace(net.architecture, n_tokens=None))
    assert TraugerTewariCovering().value(unknown) == TraugerTewariCovering().value(net)
    with pytest.raises(MissingEvidenceError, match="number of tokens"):
        EdelmanCovering()(unknown)


def test_deep_nets_do_not_overflow():
    net = record(scaled(transformer(depth=8), {"value": 1e30, "query": 1e20}), depth=8)
    for rule in NORM_RULES:
        assert rule.value(net) == math.inf
        assert math.isfinite(rule.log_value(net))
    assert math.isfinite(ParametricCovering().value(replace(net, margins=np.ones(30))))


def test_a_head_of_zeros():
    module = transformer()
    nn.init.zeros_(module.head.weight)
    net = replace(record(module), margins=np.ones(30))
    found = measure(net, RULES)
    assert not found.not_computed
    assert all(not math.isnan(float(m)) for m in found.values())


def test_layers_that_are_not_known_are_not_left_out():
    module = transformer()
    module.extra = nn.Linear(8, 8)
    found = measure(record(module), [EdelmanCovering()])
    assert "this net has" in found.not_computed["edelman_covering"]
    module = nn.Sequential(nn.Linear(5, 4), nn.Linear(4, 3))
    with pytest.raises(MissingEvidenceError, match=r"this net has 0"):
        pieces_of(replace(record(transformer()), layers=layers_of(module)))


def test_packing_counts_nets_that_differ():
    module = transformer()
    net = record(module, "perturbed_logits")
    assert PackingEstimate(distance=1e9).value(net) == 0.0
    assert PackingEstimate(distance=0.0).value(net) == pytest.approx(math.log(64))
    counts = [PackingEstimate(distance=d).value(net) for d in (0.01, 0.1, 1.0)]
    assert counts == sorted(counts, reverse=True)
