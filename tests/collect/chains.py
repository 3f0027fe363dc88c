"""Small nets and rows."""

import copy
import itertools

import numpy as np
import torch
from torch import nn

from skbound._nn._embeddings import FeatureEmbedding, PatchEmbedding, SequenceEmbedding
from skbound._nn._transformer import build_transformer
from skbound.collect import Probe


def rows(n=30, shape=(4,), n_classes=3, seed=0):
    rng = np.random.default_rng([seed, 0])
    X = rng.normal(size=(n, *shape))
    return X, rng.integers(0, n_classes, n)


def probe_of(module, n=30, shape=(4,), n_classes=3, **fields):
    X, codes = rows(n, shape, n_classes)
    return Probe(module, X, codes, lambda X: X, **fields)


def chain(widths=(4, 6, 5, 3), *, bias=False, seed=0):
    torch.manual_seed(seed)
    layers = []
    for a, b in itertools.pairwise(widths):
        layers += [nn.Linear(a, b, bias=bias), nn.ReLU()]
    return nn.Sequential(*layers[:-1]).double()


EMBEDDINGS = {
    "features": ((4,), lambda width: FeatureEmbedding(4, width)),
    "sequence": ((4, 2), lambda width: SequenceEmbedding(4, 2, width)),
    "patches": ((4, 4, 1), lambda width: PatchEmbedding((4, 4, 1), 2, width)),
}


def transformer(kind="features", pooling="cls", *, dtype=torch.float64, n_classes=3):
    return build_transformer(
        EMBEDDINGS[kind][1],
        seed=0,
        dtype=dtype,
        n_classes=n_classes,
        width=8,
        depth=2,
        n_heads=2,
        dropout=0.1,
        pooling=pooling,
    )


def rescaled(module, factor=4.0):
    """Multiply the first layer of a chain without biases and divide the second."""
    module = copy.deepcopy(module)
    with torch.no_grad():
        module[0].weight.mul_(factor)
        module[2].weight.div_(factor)
    return module
