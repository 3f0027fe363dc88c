"""From prepared arrays to token vectors: one embedding per kind of input."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from skbound._nn._aligned import AlignedLinear

__all__ = ["FeatureEmbedding", "PatchEmbedding", "SequenceEmbedding", "TokenEmbedding"]


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

    ordered = False

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


class PositionedEmbedding(nn.Module):
    """What embeddings of ordered tokens share: a learned code per position, which may be dropped.

    Parameters
    ----------
    n_tokens : int
        Tokens per row.
    width : int
        Length of a token vector.
    """

    ordered = True

    def __init__(self, n_tokens: int, width: int) -> None:
        super().__init__()
        self.n_tokens = n_tokens
        self.position: nn.Parameter | None = nn.Parameter(torch.empty(n_tokens, width))

    def drop_positions(self) -> None:
        """Leave it to others to say where a token stands."""
        self.position = None

    def reset_parameters(self, generator: torch.Generator) -> None:
        """Draw the position codes; linear maps are drawn with all others."""
        if self.position is not None:
            nn.init.normal_(self.position, std=0.25, generator=generator)

    def placed(self, tokens: torch.Tensor) -> torch.Tensor:
        """Add the codes, if there are any."""
        return tokens if self.position is None else tokens + self.position


class SequenceEmbedding(PositionedEmbedding):
    """A linear map of each token's features plus a learned code of its position.

    Parameters
    ----------
    n_tokens : int
        Tokens per row.
    n_features : int
        Numbers per token.
    width : int
        Length of a token vector.
    padded : bool, default=False
        Whether a token that is not a number is padding.

    Notes
    -----
    Shape: (n, n_tokens, n_features) to (n, n_tokens, width).
    """

    def __init__(self, n_tokens: int, n_features: int, width: int, *, padded: bool = False) -> None:
        super().__init__(n_tokens, width)
        self.project = AlignedLinear(n_features, width)
        self.padded = padded

    def real_tokens(self, x: torch.Tensor) -> torch.Tensor:
        """Return (n, n_tokens) bools: False for padding."""
        return at_least_one(~x[..., 0].isnan())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Turn (n, n_tokens, n_features) into (n, n_tokens, width)."""
        if self.padded:
            x = x.nan_to_num(nan=0.0)
        return self.placed(self.project(x))


class TokenEmbedding(PositionedEmbedding):
    """A learned vector per token id plus a learned code of its position.

    Parameters
    ----------
    n_ids : int
        Ids; 0 is padding and 1 stands for all ids that training never saw.
    n_tokens : int
        Tokens per row.
    width : int
        Length of a token vector.

    Notes
    -----
    Shape: (n, n_tokens) to (n, n_tokens, width). The ids come as floating-point numbers, which hold
    them exactly up to 2^24.
    """

    padded = True

    def __init__(self, n_ids: int, n_tokens: int, width: int) -> None:
        super().__init__(n_tokens, width)
        self.weight = nn.Parameter(torch.empty(n_ids, width))

    def reset_parameters(self, generator: torch.Generator) -> None:
        """Draw vectors and codes; those of padding and of the unknown id start at 0."""
        nn.init.normal_(self.weight, std=0.5, generator=generator)
        with torch.no_grad():
            self.weight[:2] = 0.0
        super().reset_parameters(generator)

    def real_tokens(self, x: torch.Tensor) -> torch.Tensor:
        """Return (n, n_tokens) bools: False for padding."""
        return at_least_one(x > 0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Turn (n, n_tokens) into (n, n_tokens, width)."""
        return self.placed(F.embedding(x.long(), self.weight))


def at_least_one(real: torch.Tensor) -> torch.Tensor:
    """Count the first token of a row as real if no other is: a mean over nothing is no number.

    Parameters
    ----------
    real : torch.Tensor of bool of shape (n, n_tokens)
        Which tokens are no padding.

    Returns
    -------
    torch.Tensor of bool of the same shape
        At least one True per row.
    """
    nothing = ~real.any(dim=1, keepdim=True)
    return torch.cat([real[:, :1] | nothing, real[:, 1:]], dim=1)


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
