"""Small nets with rows to look at them with."""

from itertools import pairwise

import numpy as np
import torch
from torch import nn

from skbound._nn._embeddings import FeatureEmbedding, SequenceEmbedding
from skbound._nn._transformer import build_transformer
from skbound.collect import Probe, collect
from skbound.evidence import Architecture


def as_given(rows):
    return rows


def probe_of(module, X, codes, seed=0):
    return Probe(module, np.asarray(X), np.asarray(codes), as_given, seed)


def table_net(*, n_features=4, pooling="cls", depth=2, seed=0, n_classes=3, width=8, n_heads=2):
    module = build_transformer(
        lambda width: FeatureEmbedding(n_features, width),
        seed=seed,
        dtype=torch.float32,
        n_classes=n_classes,
        width=width,
        depth=depth,
        n_heads=n_heads,
        dropout=0.0,
        pooling=pooling,
    )
    return shaken(module, seed)


def sequence_net(*, n_tokens=3, n_features=2, pooling="mean", seed=0):
    module = build_transformer(
        lambda width: SequenceEmbedding(n_tokens, n_features, width),
        seed=seed,
        dtype=torch.float32,
        n_classes=2,
        width=6,
        depth=1,
        n_heads=2,
        dropout=0.0,
        pooling=pooling,
    )
    return shaken(module, seed)


def shaken(module, seed):
    """Move every parameter, so that no bias is 0 and no gain is 1, as after training."""
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator))
    return module.eval()


def chain(*sizes, seed=0, bias=True, activation=nn.ReLU):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        parts = []
        for n_inputs, n_outputs in pairwise(sizes):
            parts += [nn.Linear(n_inputs, n_outputs, bias=bias), activation()]
        return nn.Sequential(*parts[:-1]).double()


def rows(n, *shape, n_classes=3, seed=0):
    rng = np.random.default_rng([seed, 7])
    return rng.normal(size=(n, *shape)), rng.integers(n_classes, size=n)


def table_probe(n=6, **shape):
    X, codes = rows(n, shape.get("n_features", 4), n_classes=shape.get("n_classes", 3))
    return probe_of(table_net(**shape), X, codes)


def record(probe, *needs, n_samples=None, **sizes):
    first = next(probe.chunks(1))[0]
    n_classes = probe.module(first).shape[1]
    architecture = Architecture(n_parameters=1, n_classes=n_classes, **sizes)
    return collect(
        probe.module,
        architecture,
        n_samples=n_samples or probe.n_samples,
        probe=probe,
        needs=needs,
    )
