"""Train a module with skorch: weighted loss, warm-up and decay, clipping, early stopping."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from skorch import NeuralNetClassifier
from skorch.callbacks import Callback, EarlyStopping, GradientNormClipping, LRScheduler
from skorch.helper import predefined_split
from torch import nn
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import TensorDataset

from skbound._nn._dropout import SeededDropout
from skbound._training._batches import TensorBatches
from skbound._training._shares import Helpers, split_batch

__all__ = ["TrainingPlan", "train"]

_OPTIMIZERS = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam, "sgd": torch.optim.SGD}
_WARM_UP = 0.1
# Patterns of the parameters that weight decay must leave alone: norms, biases, embeddings.
_NO_DECAY = ("*norm*", "*bias", "embedding*", "cls_token")


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
    regularizers: tuple[Any, ...]
    callbacks: tuple[Callback, ...]
    device: str
    verbose: int
    n_threads: int = 1
    pull: float = 0.0


class _Interrupted(BaseException):
    """Carries a user's interrupt past skorch, which takes every KeyboardInterrupt for a stop."""


class _WeightedNet(NeuralNetClassifier):
    """A skorch classifier whose target is (labels, weights); weights have mean one."""

    def __init__(
        self, *args: Any, label_smoothing: float = 0.0, pull: float = 0.0, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.label_smoothing, self.pull = label_smoothing, pull

    def get_loss(self, y_pred, y_true, X=None, training=False):
        return self._mean_loss(y_pred, *y_true, training=training) + self._penalty(training)

    def _mean_loss(self, logits, labels, weights, *, training):
        smoothing = self.label_smoothing if training else 0.0
        losses = F.cross_entropy(logits, labels, reduction="none", label_smoothing=smoothing)
        return (losses * weights).mean()

    def _penalty(self, training):
        return 0.5 * self.pull * self._squared_distance() if training and self.pull > 0.0 else 0.0

    def train_step_single(self, batch, **fit_params):
        X, (labels, weights) = batch
        shares = split_batch(1 + self.helpers_.n_helpers, X, labels, weights)
        if len(shares) == 1:
            return super().train_step_single(batch, **fit_params)

        def part_of_loss(logits, labels, weights):
            share = len(labels) / len(X)
            return share * self._mean_loss(logits, labels, weights, training=True)

        self._set_training(True)
        finish = self.helpers_.start(part_of_loss, shares[1:])
        own, *of_loss = shares[0]
        logits = self.infer(own)
        loss = part_of_loss(logits, *of_loss) + self._penalty(training=True)
        loss.backward()
        others = finish()
        return {
            "loss": loss.detach() + sum(value for value, _ in others),
            "y_pred": torch.cat([logits.detach(), *(other for _, other in others)]),
        }

    def _squared_distance(self):
        """Return the squared distance of the weights from those that training started with."""
        now = list(self.module_.parameters())
        if not hasattr(self, "anchor_"):
            self.anchor_ = [p.detach().clone() for p in now]
        return sum((p - a).square().sum() for p, a in zip(now, self.anchor_, strict=True))

    def notify(self, method_name, **cb_kwargs):
        try:
            super().notify(method_name, **cb_kwargs)
        except KeyboardInterrupt:
            self.stopped_by_callback_ = True
            raise

    def fit_loop(self, *args, **kwargs):
        # Callbacks stop the training by a KeyboardInterrupt, which skorch swallows. One that comes
        # from the user must get through: half a fit is no fit.
        self.stopped_by_callback_ = False
        try:
            return super().fit_loop(*args, **kwargs)
        except KeyboardInterrupt as interrupt:
            if self.stopped_by_callback_:
                raise
            raise _Interrupted from interrupt


class _RefuseNonFiniteLoss(Callback):
    """Stop with an error as soon as an epoch's loss is not a number."""

    def on_epoch_end(self, net, **kwargs):
        for name in ("train_loss", "valid_loss"):
            loss = net.history[-1].get(name, 0.0)
            if not math.isfinite(loss):
                raise ValueError(
                    f"The {name} became {loss} in epoch {len(net.history)}. Nothing is certified "
                    f"from it. Lower lr, set gradient_clip, or look for extreme values in X."
                )


def _warm_up_then_cosine(n_steps: int):
    """Return the factor of the learning rate at each step: linear up, cosine down to 1 %."""
    n_up = max(1, round(_WARM_UP * n_steps))

    def factor(step: int) -> float:
        if step < n_up:
            return (step + 1) / n_up
        share = min(1.0, (step - n_up) / max(1, n_steps - n_up))
        return 0.01 + 0.99 * 0.5 * (1.0 + math.cos(math.pi * share))

    return factor


def _callbacks(plan: TrainingPlan, n_steps: int, *, validated: bool) -> list:
    callbacks: list = [
        ("refuse_non_finite", _RefuseNonFiniteLoss()),
        (
            "schedule",
            LRScheduler(
                LambdaLR, lr_lambda=_warm_up_then_cosine(n_steps), step_every="batch",
                event_name=None,
            ),
        ),
    ]  # fmt: skip
    if plan.gradient_clip is not None:
        callbacks.append(("clip", GradientNormClipping(plan.gradient_clip)))
    if validated:
        stop = EarlyStopping(
            patience=plan.n_iter_no_change, load_best=True, threshold=0.0, sink=_silent
        )
        callbacks.append(("early_stopping", stop))
    # Copied, so that the caller's objects keep no state of this fit.
    callbacks.extend(copy.deepcopy(callback) for callback in plan.callbacks)
    return callbacks


def _regularized(*batch, regularizers, generators, n_classes):
    """Return what the regularisers make of a batch, one after the other."""
    for regularizer, generator in zip(regularizers, generators, strict=True):
        batch = regularizer.on_batch(*batch, n_classes=n_classes, generator=generator)
    return batch


def _change(plan: TrainingPlan, *, seed: int, n_classes: int):
    """Return the function that every training batch goes through; None if there is none."""
    if not plan.regularizers:
        return None
    # Far from the seeds of the dropout masks, of which there is one per block.
    generators = [
        torch.Generator().manual_seed(seed + 1_000_000 + number)
        for number in range(len(plan.regularizers))
    ]
    # Not a function made here, which could not be pickled with the net.
    return partial(
        _regularized, regularizers=plan.regularizers, generators=generators, n_classes=n_classes
    )


def _silent(*args: Any) -> None:
    """Take the place of print."""


def train(
    module: nn.Module,
    data: TensorDataset,
    validation: TensorDataset | None,
    plan: TrainingPlan,
    *,
    seed: int,
    n_classes: int,
) -> tuple[NeuralNetClassifier, list[dict[str, float]]]:
    """Train `module` in place.

    Parameters
    ----------
    module : nn.Module
        Initialised module that returns logits.
    data : TensorDataset
        Inputs, labels, weights (mean one).
    validation : TensorDataset or None
        The same for the rows that decide when to stop; None trains all epochs.
    plan : TrainingPlan
        Hyper-parameters.
    seed : int
        Seed of the order of rows, the dropout masks and the regularisers.
    n_classes : int
        Number of logits.

    Returns
    -------
    net : NeuralNetClassifier
        Trained and trimmed for prediction.
    history : list of dict
        Per epoch: train_loss, duration and, with validation rows, valid_loss.

    Raises
    ------
    ValueError
        If a loss is not finite.
    KeyboardInterrupt
        If the user interrupts.
    """
    for regularizer in plan.regularizers:
        regularizer.check(tuple(data.tensors[0].shape))
    dropouts = [m for m in module.modules() if isinstance(m, SeededDropout)]
    for number, dropout in enumerate(dropouts, start=1):
        dropout.generator = torch.Generator(plan.device).manual_seed(seed + number)
    net = _net(module, len(data), validation, plan, seed=seed, n_classes=n_classes)
    n_helpers = plan.n_threads - 1 if plan.device == "cpu" else 0
    try:
        with Helpers(module, n_helpers, seed) as net.helpers_:
            net.fit(data, None)
    except _Interrupted as interrupt:
        raise KeyboardInterrupt from interrupt
    for dropout in dropouts:
        dropout.generator = None
    wanted = ("train_loss", "valid_loss", "dur")
    history = [{key: float(row[key]) for key in wanted if key in row} for row in net.history]
    for name in ("anchor_", "helpers_"):
        net.__dict__.pop(name, None)
    net.trim_for_prediction()
    return net, history


def _net(module, n_samples, validation, plan, *, seed, n_classes) -> _WeightedNet:
    """Put the skorch net together."""
    optimizer = plan.optimizer
    options: dict[str, Any] = {"optimizer__weight_decay": plan.weight_decay}
    if optimizer == "sgd":
        options["optimizer__momentum"] = 0.9
    if isinstance(optimizer, str):
        # One kernel for all parameters: the loop over small tensors takes several times as long.
        optimizer, options["optimizer__fused"] = _OPTIMIZERS[optimizer], True
    n_steps = plan.max_epochs * -(-n_samples // plan.batch_size)
    return _WeightedNet(
        module,
        criterion=nn.CrossEntropyLoss,
        optimizer=optimizer,
        optimizer__param_groups=[(name, {"weight_decay": 0.0}) for name in _NO_DECAY],
        lr=plan.lr,
        max_epochs=plan.max_epochs,
        batch_size=plan.batch_size,
        iterator_train=TensorBatches,
        iterator_train__generator=torch.Generator().manual_seed(seed),
        iterator_train__change=_change(plan, seed=seed, n_classes=n_classes),
        iterator_valid=TensorBatches,
        train_split=None if validation is None else predefined_split(validation),
        classes=list(range(n_classes)),
        callbacks=_callbacks(plan, n_steps, validated=validation is not None),
        callbacks__valid_acc=None,
        **({} if plan.verbose else {"callbacks__print_log": None}),
        device=plan.device,
        verbose=int(plan.verbose),
        label_smoothing=plan.label_smoothing,
        pull=plan.pull,
        **options,
    )
