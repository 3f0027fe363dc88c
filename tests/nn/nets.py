"""Small nets, one per kind of part."""

import torch

from skbound._nn._embeddings import SequenceEmbedding, TokenEmbedding
from skbound._nn._transformer import build_transformer
from skbound.architectures import TransformerArchitecture

# Every part that differs from the standard, and some together.
PARTS = {
    "standard": {},
    "sinusoidal": {"positions": "sinusoidal"},
    "rotary": {"positions": "rotary"},
    "alibi": {"positions": "alibi"},
    "no positions": {"positions": "none"},
    "l2": {"attention": "l2"},
    "span": {"span": 1},
    "causal": {"causal": True},
    "projection": {"norm": "projection"},
    "no norm": {"norm": "none"},
    "norm after": {"norm_first": False},
    "relu": {"activation": "relu"},
    "maxmin": {"activation": "maxmin"},
    "mlp": {"head": "mlp"},
    "he": {"init": "he"},
    "lsuv": {"init": "lsuv"},
    "spectral": {"init": "spectral"},
    "decoder": {"positions": "alibi", "causal": True, "span": 2, "norm_first": False},
    "lipschitz": {"attention": "l2", "norm": "projection", "activation": "maxmin", "head": "mlp"},
    "turned distances": {"attention": "l2", "positions": "rotary", "causal": True},
}


def net(embedding=None, *, parts=None, seed=0, dtype=torch.float64, **shape):
    """Build a net on sequences of 5 tokens of 3 numbers, unless told otherwise."""
    embedding = embedding or (lambda width: SequenceEmbedding(5, 3, width))
    sizes = {"n_classes": 3, "width": 8, "depth": 2, "n_heads": 2, "dropout": 0.0, "pooling": "cls"}
    module = build_transformer(
        embedding,
        seed=seed,
        dtype=dtype,
        parts=TransformerArchitecture(**(parts or {})),
        **sizes | shape,
    )
    with torch.no_grad():
        # Larger than at the start, so that what the attention does shows.
        for parameter in module.parameters():
            parameter.mul_(2.0)
    return module.eval()


def padded(n_tokens=5):
    """Return an embedding of sequences in which a token that is not a number is padding."""
    return lambda width: SequenceEmbedding(n_tokens, 3, width, padded=True)


def of_ids(n_tokens=5):
    """Return an embedding of ids 0 (padding) to 6."""
    return lambda width: TokenEmbedding(7, n_tokens, width)


def rows(n=16, n_tokens=5, seed=0):
    """Draw sequences of tokens of 3 numbers."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, n_tokens, 3, generator=generator, dtype=torch.float64)
