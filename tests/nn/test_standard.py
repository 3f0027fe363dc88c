"""The standard Transformer, written down a second time: the same numbers to the last bit."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from skbound._nn._embeddings import FeatureEmbedding, SequenceEmbedding
from skbound._nn._transformer import build_transformer

SIZES = {"n_classes": 3, "width": 16, "depth": 2, "n_heads": 2, "dropout": 0.0}


def logits(net, x, *, cls):
    """Pre-norm blocks with dot-product attention and GELU; codes are inside the embedding."""
    w = dict(net.named_parameters())

    def linear(name, x):
        return F.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])

    def norm(name, x):
        return F.layer_norm(x, (16,), w[f"{name}.weight"], w[f"{name}.bias"])

    def block(name, tokens, n_queries):
        normed = norm(f"{name}.norm_attention", tokens)
        q, k, v = (
            linear(f"{name}.attention.{part}", of).unflatten(-1, (2, 8)).transpose(1, 2)
            for part, of in [("query", normed[:, :n_queries]), ("key", normed), ("value", normed)]
        )
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(-2)
        x = tokens[:, :n_queries] + linear(f"{name}.attention.output", mixed)
        hidden = F.gelu(linear(f"{name}.expand", norm(f"{name}.norm_feed_forward", x)))
        return x + linear(f"{name}.contract", hidden)

    tokens = net.embedding(x)
    if cls:
        tokens = torch.cat([w["cls_token"].expand(len(x), 1, -1), tokens], dim=1)
    n_places = tokens.shape[1]
    tokens = block("blocks.0", tokens, n_places)
    tokens = block("blocks.1", tokens, 1 if cls else n_places)
    pooled = tokens[:, 0] if cls else tokens.mean(1)
    return linear("head", norm("norm_head", pooled))


def draws(seed, *, cls):
    """Draw the weights of the standard net on sequences, in their order."""
    generator = torch.Generator().manual_seed(seed)

    def xavier(n_out, n_in):
        return nn.init.xavier_uniform_(torch.empty(n_out, n_in), generator=generator)

    drawn = {"embedding.project.weight": xavier(16, 8)}
    for number in range(2):
        name = f"blocks.{number}"
        for part in ("query", "key", "value", "output"):
            drawn[f"{name}.attention.{part}.weight"] = xavier(16, 16)
        drawn[f"{name}.expand.weight"] = xavier(32, 16)
        drawn[f"{name}.contract.weight"] = xavier(16, 32)
    xavier(3, 16)
    for name in drawn:
        if name.endswith(("output.weight", "contract.weight")):
            drawn[name].mul_(1.0 / math.sqrt(4))
    drawn["embedding.position"] = torch.empty(5, 16).normal_(0.0, 0.25, generator=generator)
    if cls:
        drawn["cls_token"] = torch.empty(16).normal_(0.0, 0.25, generator=generator)
    drawn["head.weight"] = torch.empty(3, 16).normal_(0.0, 0.02, generator=generator)
    return drawn


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_forward_and_gradient(pooling):
    for make in (lambda w: SequenceEmbedding(5, 8, w), lambda w: FeatureEmbedding(8, w)):
        net = build_transformer(make, seed=1, dtype=torch.float32, pooling=pooling, **SIZES)
        shape = (64, 5, 8) if net.embedding.ordered else (64, 8)
        x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
        expected, out = logits(net, x, cls=pooling == "cls"), net(x)
        assert torch.equal(out, expected)
        weights = list(net.parameters())
        pairs = zip(
            torch.autograd.grad(out.square().sum(), weights),
            torch.autograd.grad(expected.square().sum(), weights),
            strict=True,
        )
        assert all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_draws(pooling):
    net = build_transformer(
        lambda w: SequenceEmbedding(5, 8, w), seed=7, dtype=torch.float32, pooling=pooling, **SIZES
    )
    own = dict(net.named_parameters())
    for name, value in draws(7, cls=pooling == "cls").items():
        assert torch.equal(own.pop(name), value), name
    ones = {name for name, value in own.items() if "norm" in name and name.endswith("weight")}
    assert all((own.pop(name) == 1.0).all() for name in ones)
    assert all(name.endswith("bias") and not value.any() for name, value in own.items())


def test_nothing_is_computed_for_parts_that_are_not_there():
    net = build_transformer(
        lambda w: SequenceEmbedding(5, 8, w), seed=0, dtype=torch.float32, pooling="cls", **SIZES
    )
    assert net.places is None
    assert not list(net.buffers())
