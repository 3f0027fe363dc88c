"""Train a module with skorch: weighted loss, warm-up and decay, regularisers, early stopping."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from skorch import NeuralNetClassifier
from skorch.helper import predefined_split
from torch import nn

from skbound._nn._dropout import SeededDropout
from skbound._training._batches import TensorBatches
from skbound._training._callbacks import callbacks_of, refuse_twice
from skbound._training._mapped import LabelledTensors
from skbound._training._plan import TrainingPlan
from skbound._training._regularization import Regularization, TrainingRows
from skbound._training._shares import Helpers
from skbound._training._weighted_net import Interrupted, WeightedNet

__all__ = ["TrainingPlan", "train"]

_OPTIMIZERS = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam, "sgd": torch.optim.SGD}
# Patterns of the parameters that weight decay must leave alone: norms, biases, embeddings.
_NO_DECAY = ("*norm*", "*bias", "embedding*", "cls_token")
_ROWS_AT_ONCE = 256


def train(
    module: nn.Module,
    data: LabelledTensors,
    validation: LabelledTensors | None,
    plan: TrainingPlan,
    *,
    seed: int,
    n_classes: int,
    inputs: Callable[[], NDArray] | None = None,
    classes: NDArray | None = None,
) -> tuple[NeuralNetClassifier, list[dict[str, float]]]:
    """Train `module` in place.

    Parameters
    ----------
    module : nn.Module
        Initialised module that returns logits.
    data : LabelledTensors
        Inputs, labels, weights (mean one).
    validation : LabelledTensors or None
        The same for the rows that decide when to stop; None trains all epochs.
    plan : TrainingPlan
        Hyper-parameters.
    seed : int
        Seed of the order of rows, the dropout masks and the regularisers.
    n_classes : int
        Number of logits.
    inputs : callable or None, default=None
        Returns the rows of `data` as the user gave them.
    classes : ndarray of shape (n_classes,) or None, default=None
        Sorted labels.

    Returns
    -------
    net : NeuralNetClassifier
        Trained and trimmed for prediction.
    history : list of dict
        Per epoch: train_loss, duration, with validation rows valid_loss, and every number that a
        callback has recorded.

    Raises
    ------
    ValueError
        If a loss is not finite, or regularisers, callbacks and parameters do not fit together.
    KeyboardInterrupt
        If the user interrupts.
    """
    n_helpers = plan.n_threads - 1 if plan.device == "cpu" else 0
    n_steps = plan.max_epochs * -(-len(data) // plan.batch_size)
    regularization = Regularization(
        plan.regularizers, n_steps=n_steps, seed=seed, n_classes=n_classes
    )
    regularization.check(
        tuple(data.tensors[0].shape), shared=n_helpers > 0, weight_decay=plan.weight_decay
    )
    refuse_twice(plan, validated=validation is not None)
    if regularization and n_steps:
        X, labels, weights = data.tensors
        another = partial(_logits_of_another, module, data, plan, regularization)
        labels = regularization.labels(labels, TrainingRows(inputs, classes, another, X.dtype))
        data = LabelledTensors(X, labels, weights)
    with regularization.prepared(module):
        dropouts = [m for m in module.modules() if isinstance(m, SeededDropout)]
        for number, dropout in enumerate(dropouts, start=1):
            dropout.generator = torch.Generator(plan.device).manual_seed(seed + number)
        change = regularization.on_batch if regularization else None
        net = _net(module, n_steps, validation, plan, seed=seed, n_classes=n_classes, change=change)
        net.regularization_ = regularization
        try:
            with Helpers(module, n_helpers, seed) as net.helpers_:
                net.fit(data, None)
        except Interrupted as interrupt:
            raise KeyboardInterrupt from interrupt
        for dropout in dropouts:
            dropout.generator = None
    history = [_numbers(row) for row in net.history]
    for name in ("anchor_", "helpers_", "regularization_"):
        net.__dict__.pop(name, None)
    net.iterator_train__change = None
    net.trim_for_prediction()
    return net, history


def _numbers(row) -> dict[str, float]:
    """Return what was recorded for an epoch, without skorch's own bookkeeping."""
    return {
        key: float(value)
        for key, value in row.items()
        if isinstance(value, (Real, np.number)) and not isinstance(value, (bool, np.bool_))
        and key != "epoch" and not key.endswith("_batch_count")
    }  # fmt: skip


def _logits_of_another(module, data, plan, regularization, seed) -> torch.Tensor:
    """Train another net of the same shape on the same rows; return its logits there."""
    module = copy.deepcopy(module)
    if not hasattr(module, "reset_parameters"):
        raise ValueError(
            f"A {type(module).__name__} cannot be trained from anew as its own teacher, as "
            f"protocols that train coordinates in place of weights would need. Leave Distillation "
            f"out, or give it a fitted teacher."
        )
    # Drawn on the CPU, so that the device does not decide what is drawn.
    module = module.to("cpu")
    with torch.no_grad():
        module.reset_parameters(torch.Generator().manual_seed(seed))
    module = module.to(plan.device)
    others = regularization.without_labels_of_their_own()
    plan = replace(plan, regularizers=others, callbacks=(), pull=0.0, verbose=0)
    train(module, data, None, plan, seed=seed, n_classes=regularization.n_classes)
    with torch.inference_mode():
        parts = data.tensors[0].split(_ROWS_AT_ONCE)
        logits = torch.cat([module.eval()(part) for part in parts])
    return logits.clone()


def _net(module, n_steps, validation, plan, *, seed, n_classes, change) -> WeightedNet:
    """Put the skorch net together."""
    optimizer = plan.optimizer
    options: dict[str, Any] = {"optimizer__weight_decay": plan.weight_decay}
    if optimizer == "sgd":
        options["optimizer__momentum"] = 0.9
    if isinstance(optimizer, str):
        # One kernel for all parameters: the loop over small tensors takes several times as long.
        optimizer, options["optimizer__fused"] = _OPTIMIZERS[optimizer], True
    return WeightedNet(
        module,
        criterion=nn.CrossEntropyLoss,
        optimizer=optimizer,
        optimizer__param_groups=[(name, {"weight_decay": 0.0}) for name in _NO_DECAY],
        lr=plan.lr,
        max_epochs=plan.max_epochs,
        batch_size=plan.batch_size,
        iterator_train=TensorBatches,
        iterator_train__generator=torch.Generator().manual_seed(seed),
        iterator_train__change=change,
        iterator_valid=TensorBatches,
        train_split=None if validation is None else predefined_split(validation),
        classes=list(range(n_classes)),
        callbacks=callbacks_of(plan, n_steps, validated=validation is not None),
        callbacks__valid_acc=None,
        **({} if plan.verbose else {"callbacks__print_log": None}),
        device=plan.device,
        verbose=int(plan.verbose),
        label_smoothing=plan.label_smoothing,
        pull=plan.pull,
        **options,
    )
