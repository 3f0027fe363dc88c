"""First weights: what each kind promises, and that the seed alone decides."""

import math

import pytest
import torch
from torch import nn

from skbound._nn._embeddings import SequenceEmbedding
from skbound._nn._initialise import scale_to_norm, scale_to_unit_variance
from skbound._nn._transformer import build_transformer
from skbound.architectures import TransformerArchitecture
from tests.nn.nets import rows


def fresh(seed=0, width=64, **parts):
    return build_transformer(
        lambda w: SequenceEmbedding(5, 3, w),
        seed=seed,
        dtype=torch.float64,
        n_classes=3,
        width=width,
        depth=2,
        n_heads=2,
        dropout=0.0,
        pooling="cls",
        parts=TransformerArchitecture(**parts),
    )


def maps(net):
    return {name: m for name, m in net.named_modules() if isinstance(m, nn.Linear)}


@pytest.mark.parametrize("init", ["xavier", "he", "lsuv", "spectral"])
def test_the_seed_decides(init):
    nets = [fresh(seed, init=init) for seed in (0, 0, 1)]
    for net in nets:
        scale_to_unit_variance(net, rows(40))
    a, b, c = (list(net.parameters()) for net in nets)
    assert all(torch.equal(x, y) for x, y in zip(a, b, strict=True))
    assert not all(torch.equal(x, y) for x, y in zip(a, c, strict=True))


@pytest.mark.parametrize("attention", ["dot", "l2"])
def test_every_matrix_has_spectral_norm_one(attention):
    for module in maps(fresh(init="spectral", head="mlp", attention=attention)).values():
        assert torch.linalg.matrix_norm(module.weight, ord=2).item() == pytest.approx(1.0)
    weight = torch.randn(3, 5).double()
    scale_to_norm(weight, 2.5)
    assert torch.linalg.svdvals(weight)[0].item() == pytest.approx(2.5)


def test_he_has_variance_two_over_inputs():
    weight = maps(fresh(init="he", width=256))["blocks.0.expand"].weight
    assert weight.std().item() == pytest.approx(math.sqrt(2 / 256), rel=0.02)


@pytest.mark.parametrize("parts", [{}, {"attention": "l2"}, {"head": "mlp", "norm": "projection"}])
def test_lsuv_gives_outputs_unit_variance(parts):
    net, x, stds = fresh(init="lsuv", **parts), rows(200), {}
    scale_to_unit_variance(net, x)
    names = {module: name for name, module in maps(net).items()}
    for module in names:
        module.register_forward_hook(
            lambda m, _, out: stds.update({names[m]: out.std(unbiased=False).item()})
        )
    net(x)
    for name, std in stds.items():
        if name == "head":
            continue
        ends_branch = name.endswith(("output", "contract"))
        assert std == pytest.approx(0.5 if ends_branch else 1.0, rel=1e-6), name
    assert stds.keys() == maps(net).keys()


def test_lsuv_leaves_a_dead_map_alone():
    net = fresh(init="lsuv", norm="none")
    net.embedding.project.weight.data.zero_()
    scale_to_unit_variance(net, torch.zeros(10, 5, 3).double())
    assert all(p.isfinite().all() for p in net.parameters())
