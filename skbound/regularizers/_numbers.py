"""Rows of token ids, which are names and no numbers to calculate with."""

from __future__ import annotations

from torch import nn

from skbound._nn._embeddings import TokenEmbedding
from skbound.regularizers._base import Regularizer

__all__ = ["refuse_ids"]


def refuse_ids(regularizer: Regularizer, module: nn.Module) -> None:
    """Refuse a net that looks its rows up.

    Parameters
    ----------
    regularizer : Regularizer
        For the message.
    module : nn.Module
        About to be trained.

    Raises
    ------
    ValueError
        If its rows are token ids.
    """
    if any(isinstance(part, TokenEmbedding) for part in module.modules()):
        raise ValueError(
            f"{type(regularizer).__name__} needs rows of numbers to blend or to differentiate by, "
            f"but this tokenizer makes token ids, which are names. Use CutMix or WeightNoise."
        )
