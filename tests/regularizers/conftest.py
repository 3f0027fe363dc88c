import pytest
import torch

from skbound._nn._embeddings import FeatureEmbedding
from skbound._nn._transformer import build_transformer


@pytest.fixture
def net():
    """A small net in double precision, with biases that are not zero."""
    module = build_transformer(
        lambda width: FeatureEmbedding(5, width),
        seed=0,
        dtype=torch.float64,
        n_classes=3,
        width=8,
        depth=2,
        n_heads=2,
        dropout=0.0,
        pooling="cls",
    )
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in module.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.add_(0.3 * noise)
    return module


@pytest.fixture
def batch():
    """Rows, labels and weights."""
    generator = torch.Generator().manual_seed(2)
    X = torch.randn(24, 5, generator=generator, dtype=torch.float64)
    labels = torch.randint(3, (24,), generator=generator)
    weights = torch.rand(24, generator=generator, dtype=torch.float64) + 0.5
    return X, labels, weights
