"""From prepared arrays to token vectors: one embedding per kind of input."""

from __future__ import annotations

import torch
from torch import nn

from skbound._nn._aligned import AlignedLinear

__all__ = ["FeatureEmbedding", "PatchEmbedding", "SequenceEmbedding"]


class FeatureEmbedding(nn.Module):
    """One token per number of a row: ``token_j = x_j * weight_j + bias_j``.

    Parameters
    ----------
    n_features : int
        Numbers per row.
    width : int
        Length of a token vector.

    Notes
    -----
    Shape: (n, n_features) to (n, n_features, width). The bias tells the features apart, so no
    position codes are needed.
    """

    def __init__(self, n_features: int, width: int) -> None:
        super().__init__()
        self.n_tokens = n_features
        self.weight = nn.Parameter(torch.empty(n_features, width))
        self.bias = nn.Parameter(torch.empty(n_features, width))

    def reset_parameters(self, generator: torch.Generator) -> None:
        """Draw both parameters from a normal law of standard deviation 0.1 and 0.5.

        A block reads only a token's direction. With weights larger than biases that is little more
        than the sign of x_j: a net of steps, which overfits. With smaller ones it is near linear.
        """
        nn.init.normal_(self.weight, std=0.1, generator=generator)
        nn.init.normal_(self.bias, std=0.5, generator=generator)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Turn (n, n_features) into (n, n_features, width)."""
        return torch.addcmul(self.bias, x.unsqueeze(-1), self.weight)


class SequenceEmbedding(nn.Module):
    """A linear map of each token's features plus a learned code of its position.

    Parameters
    ----------
    n_tokens : int
        Tokens per row.
    n_features : int
        Numbers per token.
    width : int
        Length of a token vector.

    Notes
    -----
    Shape: (n, n_tokens, n_features) to (n, n_tokens, width).
    """

    def __init__(self, n_tokens: int, n_features: int, width: int) -> None:
        super().__init__()
        self.n_tokens = n_tokens
        self.project = AlignedLinear(n_features, width)
        self.position = nn.Parameter(torch.empty(n_tokens, width))

    def reset_parameters(self, generator: torch.Generator) -> None:
        """Draw the position codes; the projection is drawn with all linear maps."""
        nn.init.normal_(self.position, std=0.25, generator=generator)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Turn (n, n_tokens, n_features) into (n, n_tokens, width)."""
        return self.project(x) + self.position


class PatchEmbedding(SequenceEmbedding):
    """Cut images into square patches, each of which becomes a token.

    Parameters
    ----------
    image_shape : tuple of 3 int
        Rows, columns and channels.
    patch_size : int
        Rows and columns per patch; divides those of the image.
    width : int
        Length of a token vector.

    Notes
    -----
    Shape: (n, n_rows, n_columns, n_channels) to (n, n_tokens, width).
    """

    def __init__(self, image_shape: tuple[int, int, int], patch_size: int, width: int) -> None:
        n_rows, n_columns, n_channels = image_shape
        n_tokens = n_rows * n_columns // patch_size**2
        super().__init__(n_tokens, patch_size**2 * n_channels, width)
        self.patch_size = patch_size

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Turn (n, n_rows, n_columns, n_channels) into (n, n_tokens, width)."""
        size = self.patch_size
        blocks = x.unflatten(2, (-1, size)).unflatten(1, (-1, size)).transpose(2, 3)
        return super().forward(blocks.flatten(3).flatten(1, 2))
