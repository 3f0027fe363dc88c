"""Path sums by brute force, and what they do under rescaling."""

import itertools

import numpy as np
import pytest
import torch
from torch import nn

from skbound.collect import path_norm, paths
from skbound.exceptions import MissingEvidenceError
from tests.collect.chains import EMBEDDINGS, chain, probe_of, rescaled, transformer


def test_all_paths_of_a_chain():
    net = chain((2, 3, 4, 2), bias=True)
    weights = [m.weight.detach().numpy() for m in net if isinstance(m, nn.Linear)]
    biases = [m.bias.detach().numpy() for m in net if isinstance(m, nn.Linear)]
    total = 0.0
    for first in range(-1, 3):
        # Paths from the inputs, or from the bias of one layer.
        for nodes in itertools.product(*(range(n) for n in (2, 3, 4, 2)[first + 1 :])):
            gain = 1.0 if first < 0 else biases[first][nodes[0]]
            for weight, a, b in zip(weights[first + 1 :], nodes, nodes[1:], strict=False):
                gain *= weight[b, a]
            total += gain**2
    assert path_norm(probe_of(net, shape=(2,), n_classes=2)) == pytest.approx(total, rel=1e-9)


def test_rescaling_a_chain_changes_nothing():
    net = chain()
    assert path_norm(probe_of(rescaled(net))) == pytest.approx(path_norm(probe_of(net)), rel=1e-9)


def test_a_batch_norm_is_the_linear_map_that_it_is_after_training():
    torch.manual_seed(0)
    conv, norm = nn.Conv2d(2, 3, 3, padding=1), nn.BatchNorm2d(3)
    norm.running_mean.normal_()
    norm.running_var.uniform_(0.5, 2.0)
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    net = nn.Sequential(conv, norm, nn.ReLU(), nn.Flatten(), nn.Linear(48, 2)).double().eval()
    folded = nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), *list(net)[2:]).double()
    scale = (norm.weight / (norm.running_var + norm.eps).sqrt()).detach()
    with torch.no_grad():
        folded[0].weight.copy_(conv.weight * scale[:, None, None, None])
        folded[0].bias.copy_(conv.bias * scale)
    offset = (norm.bias - scale * norm.running_mean).detach()
    x = torch.ones(1, 2, 4, 4, dtype=torch.float64)
    expected = paths(folded[0], x) + (offset**2)[:, None, None]
    torch.testing.assert_close(paths(net[:2], x), expected)
    assert path_norm(probe_of(net, shape=(2, 4, 4), n_classes=2)) > 0.0


def by_hand(net, tokens):
    """The documented definition, step by step, for nets that pool the first token."""
    square = {name: p.detach().square().numpy() for name, p in net.named_parameters()}

    def linear(name, x):
        return x @ square[f"{name}.weight"].T + square[f"{name}.bias"]

    def norm(name, x):
        return x * square[f"{name}.weight"] + square[f"{name}.bias"]

    tokens = np.concatenate([square["cls_token"][None], tokens])
    for block in ("blocks.0", "blocks.1"):
        values = linear(f"{block}.attention.value", norm(f"{block}.norm_attention", tokens))
        mixed = values.sum(0) / len(tokens) ** 2
        tokens = tokens + linear(f"{block}.attention.output", mixed)
        hidden = linear(f"{block}.expand", norm(f"{block}.norm_feed_forward", tokens))
        tokens = tokens + linear(f"{block}.contract", hidden)
    return linear("head", norm("norm_head", tokens[0])).sum()


def randomised(kind, pooling="cls"):
    net = transformer(kind, pooling)
    torch.manual_seed(1)
    with torch.no_grad():
        for p in net.parameters():
            p.normal_()
    return net


def test_a_transformer_follows_its_definition():
    net = randomised("features")
    tokens = (net.embedding.weight.square() + net.embedding.bias.square()).detach().numpy()
    assert path_norm(probe_of(net)) == pytest.approx(by_hand(net, tokens), rel=1e-9)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("kind", EMBEDDINGS)
def test_every_transformer_has_a_path_norm_that_ignores_queries_and_keys(kind, pooling):
    net, shape = randomised(kind, pooling), EMBEDDINGS[kind][0]
    found = path_norm(probe_of(net, shape=shape))
    assert np.isfinite(found)
    with torch.no_grad():
        net.blocks[0].attention.query.weight.mul_(8.0)
        net.blocks[0].attention.key.weight.div_(8.0)
        assert path_norm(probe_of(net, shape=shape)) == found
        net.blocks[0].attention.value.weight.mul_(2.0)
        assert path_norm(probe_of(net, shape=shape)) > found


def test_what_has_no_paths_says_so():
    net = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 3))
    with pytest.raises(MissingEvidenceError, match=r"Paths through Tanh .*paths\.register"):
        path_norm(probe_of(net))
    norm = nn.BatchNorm1d(3, track_running_stats=False)
    with pytest.raises(MissingEvidenceError, match="running statistics"):
        paths(norm.eval(), torch.ones(1, 3))
