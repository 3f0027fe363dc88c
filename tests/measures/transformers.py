"""Small Transformers, with rows and labels, as records."""

import copy

import numpy as np
import torch

from skbound._nn._embeddings import SequenceEmbedding
from skbound._nn._transformer import build_transformer
from skbound.collect import Probe, collect
from skbound.evidence import Architecture

N_ROWS, N_TOKENS, N_FEATURES, N_CLASSES = 30, 5, 3, 3


def transformer(seed=0, *, depth=2, width=8, n_heads=2, pooling="cls"):
    """Return a net with weights that are not those of the start."""
    module = build_transformer(
        lambda w: SequenceEmbedding(N_TOKENS, N_FEATURES, w),
        seed=seed,
        dtype=torch.float64,
        n_classes=N_CLASSES,
        width=width,
        depth=depth,
        n_heads=n_heads,
        dropout=0.1,
        pooling=pooling,
    )
    generator = torch.Generator().manual_seed(seed + 100)
    with torch.no_grad():
        for parameter in module.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.add_(0.1 * noise)
    return module.eval()


def rows(seed=0, n_rows=N_ROWS):
    rng = np.random.default_rng([seed, 7])
    X = rng.normal(size=(n_rows, N_TOKENS, N_FEATURES))
    return X, rng.integers(0, N_CLASSES, n_rows)


def probe(module, seed=0, *, initial=None, n_rows=N_ROWS):
    X, codes = rows(seed, n_rows)
    return Probe(module, X, codes, lambda rows: rows, seed, initial)


def architecture(module, **sizes):
    found = {
        "n_parameters": sum(p.numel() for p in module.parameters()),
        "n_classes": N_CLASSES,
        "depth": 2,
        "width": 8,
        "n_heads": 2,
        "n_tokens": N_TOKENS + 1,
    }
    return Architecture(**(found | sizes))


def record(module, *needs, initial=None, n_samples=N_ROWS, **sizes):
    return collect(
        module,
        architecture(module, **sizes),
        n_samples=n_samples,
        initial=initial,
        probe=probe(module, initial=initial),
        needs=needs,
    )


def scaled(module, changes):
    """Return a copy in which maps of all blocks, with their biases, are multiplied."""
    other = copy.deepcopy(module)
    with torch.no_grad():
        for name, layer in other.named_modules():
            factor = changes.get(name.rpartition(".")[2])
            if factor is not None:
                layer.weight.mul_(factor)
                layer.bias.mul_(factor)
    return other
