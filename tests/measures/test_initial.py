import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from skbound.collect import Probe, collect
from skbound.evidence import Architecture, InitialState
from skbound.exceptions import MissingEvidenceError
from skbound.measures import (
    FeedForwardPathNorm,
    InitialGradient,
    InitialScale,
    TwoLayerPathNorm,
    measure,
    path_norm_of_change,
    two_layer_gap,
)
from tests.measures.transformers import probe, record, transformer


def two_layers(seed):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3)).double()


def two_layer_record(module, initial):
    X = np.random.default_rng(0).normal(size=(20, 4))
    rows = Probe(module, X, np.zeros(20, np.intp), lambda x: x)
    return collect(
        module,
        Architecture(n_parameters=51, n_classes=3),
        n_samples=20,
        initial=initial,
        probe=rows,
        needs=["initial_state"],
    )


@pytest.fixture
def own_seed():
    state = torch.get_rng_state()
    yield
    torch.set_rng_state(state)


def test_path_norm_is_a_sum_over_paths():
    rng = np.random.default_rng(0)
    change, outer = rng.normal(size=(5, 3)), rng.normal(size=(2, 5))
    brute = sum(
        abs(outer[k, j]) * math.sqrt(sum(change[j, i] ** 2 for i in range(3)))
        for j in range(5)
        for k in range(2)
    )
    assert path_norm_of_change(change, outer) == pytest.approx(brute)
    factors = rng.uniform(0.1, 10.0, 5)
    assert path_norm_of_change(factors[:, None] * change, outer / factors) == pytest.approx(brute)


def test_two_layer_gap_term_by_term():
    rng = np.random.default_rng(1)
    W, W0, V = rng.normal(size=(7, 4)), rng.normal(size=(7, 4)), rng.normal(size=(3, 7))
    X, n = rng.normal(size=(50, 4)), 50
    found = two_layer_gap(W, W0, V, X, margin=0.5, delta=0.01, slope=1.2, loss_range=2.0)
    kappa = path_norm_of_change(W - W0, V)
    D, F = np.linalg.norm(W - W0), np.linalg.norm(V)
    count = math.ceil(math.log2(max(2 * 7**0.5, 2 * 21**0.5 * (D + 1) * (F + 1))))
    c = 2 * 2**0.5 * (1 + 1 / (2 * math.log(42))) * math.sqrt(math.log(42 * count))
    top = np.linalg.eigvalsh(X.T @ X)[-1]
    length = (3 + 5**0.5) * math.sqrt((X**2).sum(axis=1).mean()) + c * math.sqrt(top / n)
    G = 2**0.5 / 0.5
    assert found.complexity == pytest.approx(2 * G * 1.2 * (1 + kappa) * length / n**0.5)
    grid = 2 * (D + 1) * (F + 1) * (D + 2) * (F + 2) * (kappa + 1) * (kappa + 2) / 0.01
    assert found.confidence == pytest.approx(3 * 2.0 * math.sqrt(math.log(grid) / (2 * n)))
    assert found.value == found.complexity + found.confidence


def test_two_layer_gap_falls_with_the_rows_and_has_no_root_for_one_output():
    rng = np.random.default_rng(2)
    W, V, X = rng.normal(size=(7, 4)), rng.normal(size=(1, 7)), rng.normal(size=(50, 4))
    once = two_layer_gap(W, W + 0.1, V, X, margin=1.0, delta=0.05)
    again = two_layer_gap(W, W + 0.1, V, np.tile(X, (4, 1)), margin=1.0, delta=0.05)
    assert again.value == pytest.approx(once.value / 2)
    moved = two_layer_gap(W, W, V, X, margin=1.0, delta=0.05)
    assert moved.complexity < once.complexity


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"initial": np.ones((7, 5))}, "inner and initial must be of one shape"),
        ({"outer": np.ones((3, 6))}, "inner and initial must be of one shape"),
        ({"inputs": np.ones((9, 5))}, r"inputs must be of shape \(n_samples, 4\)"),
        ({"margin": 0.0}, "margin must be positive"),
        ({"delta": 1.0}, "delta in"),
    ],
)
def test_two_layer_gap_refuses(change, message):
    given = {"inner": np.ones((7, 4)), "initial": np.ones((7, 4)), "outer": np.ones((3, 7))}
    given |= {"inputs": np.ones((9, 4)), "margin": 1.0, "delta": 0.05} | change
    with pytest.raises(ValueError, match=message):
        two_layer_gap(**given)


@pytest.mark.usefixtures("own_seed")
def test_two_layer_path_norm():
    module, initial = two_layers(0), two_layers(1)
    net = two_layer_record(module, initial)
    first, last = net.layers
    expected = path_norm_of_change(first.weight - first.initial, last.weight)
    assert TwoLayerPathNorm().value(net) == pytest.approx(expected)
    assert TwoLayerPathNorm().value(two_layer_record(module, module)) == 0.0
    found = measure(net, [FeedForwardPathNorm()])
    assert "this net has none" in found.not_computed["feed_forward_path_norm"]
    found = measure(record(transformer()), [TwoLayerPathNorm()])
    assert "two weight matrices" in found.not_computed["two_layer_path_norm"]


@pytest.mark.usefixtures("own_seed")
def test_scaling_a_relu_unit_changes_the_norm_unless_the_start_is_scaled_too():
    module, initial = two_layers(0), two_layers(1)
    before = TwoLayerPathNorm().value(two_layer_record(module, initial))
    with torch.no_grad():
        for net in (module, initial):
            net[0].weight.mul_(3.0)
            net[2].weight.div_(3.0)
    assert TwoLayerPathNorm().value(two_layer_record(module, initial)) == pytest.approx(before)
    with torch.no_grad():
        initial[0].weight.div_(3.0)
    changed = TwoLayerPathNorm().value(two_layer_record(module, initial))
    assert changed != pytest.approx(before, rel=0.01)


def test_feed_forward_path_norm_sums_over_blocks():
    net = record(transformer(), initial=transformer(1))
    layers = {layer.name: layer for layer in net.layers}
    expected = sum(
        path_norm_of_change(
            layers[f"blocks.{k}.expand"].change, layers[f"blocks.{k}.contract"].weight
        )
        for k in range(2)
    )
    assert FeedForwardPathNorm().value(net) == pytest.approx(expected)
    alone = replace(net, layers=tuple(x for x in net.layers if x.name != "blocks.1.contract"))
    with pytest.raises(MissingEvidenceError, match=r"reads exactly what blocks\.1\.expand writes"):
        FeedForwardPathNorm()(alone)


def test_initial_gradient():
    net = record(transformer(), "initial_state", initial=transformer(1))
    start = net.initial_state
    expected = start.weight_norm * start.gradient_norm / math.sqrt(30)
    assert InitialGradient().value(net) == pytest.approx(expected)
    # The trained net does not occur in it.
    other = record(transformer(5), "initial_state", initial=transformer(1))
    assert InitialGradient().value(other) == InitialGradient().value(net)
    assert net.initial_state == InitialState(
        weight_norm=start.weight_norm, gradient_norm=start.gradient_norm
    )
    found = measure(record(transformer(), "initial_state"), [InitialGradient()])
    assert "before training was not recorded" in found.not_computed["initial_gradient"]
    assert probe(transformer()).few(3).initial is None


def test_initial_scale():
    net = record(transformer())
    assert InitialScale().value(net) == pytest.approx(1 / math.sqrt(3 * len(net.layers)))
    assert InitialScale("he").value(net) == pytest.approx(math.sqrt(2) * InitialScale().value(net))
