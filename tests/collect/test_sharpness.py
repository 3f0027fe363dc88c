"""Loss ascent against a fine grid; Fisher-Rao against single gradients and Euler's identity."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from skbound.collect import Probe, fisher_rao, loss_gradients, sharpness
from tests.collect.chains import chain, probe_of, rescaled, transformer


def linear(seed=0):
    """Two parameters: logits 0 and w x with w of length 2."""
    rng = np.random.default_rng(seed)
    net = nn.Sequential(nn.Linear(2, 2, bias=False)).double()
    with torch.no_grad():
        net[0].weight.copy_(torch.tensor([[0.0, 0.0], [0.7, -0.3]]))
    return net, Probe(net, rng.normal(size=(20, 2)), rng.integers(0, 2, 20), lambda X: X)


def loss_at(net, probe, moves):
    weight = net[0].weight.detach() + moves
    logits = torch.einsum("nd,gkd->gnk", torch.as_tensor(probe.X), weight)
    labels = torch.as_tensor(probe.codes).expand(len(moves), -1)
    return F.cross_entropy(logits.mT, labels, reduction="none").mean(1)


def test_no_point_of_a_grid_is_higher():
    # The loss is convex, so its maxima are on the boundary.
    net, probe = linear()
    found = sharpness(probe, radius=0.5, box=0.1)
    rng = np.random.default_rng(1)
    sphere = torch.as_tensor(rng.normal(size=(20_000, 2, 2)))
    sphere = 0.5 * sphere / sphere.flatten(1).norm(dim=1)[:, None, None]
    in_ball = float(loss_at(net, probe, sphere).max()) - found.loss
    assert 0.98 * in_ball <= found.in_ball <= 1.02 * in_ball
    corners = torch.as_tensor(np.stack(np.meshgrid(*[[-1.0, 1.0]] * 4), -1).reshape(-1, 2, 2))
    half = 0.1 * (net[0].weight.detach().abs() + 1.0)
    in_box = float(loss_at(net, probe, corners * half).max()) - found.loss
    assert found.in_box == pytest.approx(in_box, rel=1e-6)
    assert found.loss == pytest.approx(float(loss_at(net, probe, torch.zeros(1, 2, 2))[0]))


def test_rises_grow_with_the_radius_and_are_not_negative():
    probe = probe_of(transformer())
    small, large = sharpness(probe, radius=0.01), sharpness(probe, radius=0.1)
    assert 0.0 < small.in_ball < large.in_ball
    assert small.in_box == large.in_box > 0.0


def test_rescaling_changes_sharpness_but_not_fisher_rao():
    net = chain()
    there, here = probe_of(rescaled(net)), probe_of(net)
    assert sharpness(there).in_ball != pytest.approx(sharpness(here).in_ball, rel=0.1)
    assert fisher_rao(there) == pytest.approx(fisher_rao(here), rel=1e-9)


@pytest.mark.parametrize("module", [chain(bias=True), transformer(), transformer("patches")])
def test_fisher_rao_from_single_gradients(module):
    shape = (4, 4, 1) if hasattr(getattr(module, "embedding", None), "patch_size") else (4,)
    probe = probe_of(module, shape=shape)
    w = torch.cat([p.detach().flatten() for p in module.parameters()])
    products = torch.cat([gradients @ w for gradients in loss_gradients(probe)])
    assert fisher_rao(probe) == pytest.approx(float((products**2).mean()), rel=1e-9)


def test_fisher_rao_of_a_chain_without_biases():
    net = chain()
    probe = probe_of(net)
    with torch.no_grad():
        logits = net(torch.as_tensor(probe.X))
    residuals = logits.softmax(1) - F.one_hot(torch.as_tensor(probe.codes), 3)
    expected = (3.0 * (residuals * logits).sum(1)) ** 2
    assert fisher_rao(probe) == pytest.approx(float(expected.mean()), rel=1e-9)


def test_queries_against_keys():
    net = transformer()
    before = fisher_rao(probe_of(net))
    with torch.no_grad():
        for block in net.blocks:
            for p in block.attention.query.parameters():
                p.mul_(4.0)
            for p in block.attention.key.parameters():
                p.div_(4.0)
    assert fisher_rao(probe_of(net)) == pytest.approx(before, rel=1e-9)


@pytest.mark.parametrize("gather", [fisher_rao, lambda probe: sharpness(probe).in_ball])
def test_neither_chunks_nor_order_matter(gather, monkeypatch):
    probe = probe_of(transformer(dtype=torch.float32))
    found = gather(probe)
    turned = Probe(probe.module, probe.X[::-1], probe.codes[::-1], probe.prepare)
    assert gather(turned) == pytest.approx(found, rel=1e-6)
    chunks = Probe.chunks
    monkeypatch.setattr(Probe, "chunks", lambda self: chunks(self, 7))
    assert gather(probe) == pytest.approx(found, rel=1e-6)
