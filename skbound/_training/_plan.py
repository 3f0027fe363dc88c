"""How to train: the hyper-parameters, resolved."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from skorch.callbacks import Callback

from skbound.regularizers import Regularizer

__all__ = ["TrainingPlan"]


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """How to train: parameters of TransformerClassifier by the same names, resolved.

    Several `n_threads` share each batch, on the CPU. `regularizers` are ready to use: cloned.
    `pull` weighs the squared distance from the initial weights.
    """

    max_epochs: int
    batch_size: int
    lr: float
    optimizer: str | type[torch.optim.Optimizer]
    weight_decay: float
    label_smoothing: float
    gradient_clip: float | None
    n_iter_no_change: int
    regularizers: tuple[Regularizer, ...]
    callbacks: tuple[Callback, ...]
    device: str
    verbose: int
    n_threads: int = 1
    pull: float = 0.0
