"""Training a net on chosen rows, as the parameters of a TransformerClassifier say."""

from __future__ import annotations

import copy

import numpy as np
import torch
from sklearn.base import clone
from sklearn.utils.class_weight import compute_sample_weight

from skbound._nn._initialise import scale_to_unit_variance
from skbound._nn._transformer import build_transformer
from skbound._training._mapped import LabelledTensors, RowsOnDisk, is_on_disk
from skbound._training._net import TrainingPlan, train
from skbound._training._threads import torch_threads
from skbound.architectures import resolve_architecture
from skbound.classifiers._fitted_transformer import FittedTransformer
from skbound.classifiers._pretrained import STARTED_EARLIER, copy_weights, fitted_start
from skbound.classifiers._rows import LabelledRows
from skbound.protocols import FittedModel
from skbound.regularizers import WeightNoise

__all__ = ["NetTraining"]


class NetTraining(LabelledRows):
    """Train Transformers on chosen rows of one data set.

    Parameters
    ----------
    params : TransformerClassifier
        Its parameters are read, never changed.
    tokenizer : tokenizer
        Cloned for each fit.
    X : ndarray of shape (n_samples, ...)
        Validated rows.
    y : ndarray of shape (n_samples,)
        Labels.
    weights : ndarray of shape (n_samples,) or None
        Rows of weight zero are absent.
    seed : int
        Of everything random in a fit.
    classes : ndarray or None, default=None
        All labels, sorted; None takes those that occur.
    """

    def __init__(self, params, tokenizer, X, y, weights, seed, classes=None):
        super().__init__(X, y, weights, classes)
        self.params, self.tokenizer, self.seed = params, tokenizer, seed
        self.earlier = fitted_start(params.init_from)
        if self.earlier is not None:
            self.assumptions = (*self.assumptions, STARTED_EARLIER)
        for regularizer in params.regularizers:
            self.assumptions = (*self.assumptions, *regularizer.assumptions)

    def fit(self, rows, *, seed=None, start=None, effort=1.0, pull=0.0, noise=0.0):
        """Train a net on `rows`.

        Parameters
        ----------
        rows : ndarray of int
            Which rows.
        seed : int or None, default=None
            Of the initial weights, the order of rows and dropout; None takes the learner's own.
        start : FittedModel or None, default=None
            Whose weights and tokenizer to go on with; None starts afresh.
        effort : float, default=1.0
            Share of ``max_epochs`` to train; at least one epoch, or none at 0, which leaves the
            initial weights.
        pull : float, default=0.0
            ``pull / 2`` times the squared distance from the initial weights is added to the loss.
        noise : float, default=0.0
            Standard deviation of noise on all weights, drawn anew for each batch.

        Returns
        -------
        FittedModel
            Holding a FittedTransformer.
        """
        device = self._device()
        validation_rows = np.empty(0, dtype=np.intp)
        if self.params.early_stopping and effort:
            rows, validation_rows = self._set_aside(rows)
        weights = self._weights(rows)
        seed = self.seed if seed is None else seed
        if start is None and self.earlier is not None:
            tokenizer = self.earlier.tokenizer_
        elif start is None:
            tokenizer = clone(self.tokenizer)
            some = self._rows_enough(tokenizer, rows)
            tokenizer.fit(self.X[self.positions[some]], sample_weight=self.own_weights(some))
        else:
            tokenizer = start.model.tokenizer
        n_classes = len(self.classes)
        net, history, initial = None, [], None
        if n_classes > 1:
            with self._threads(device):
                data = self._tensors(tokenizer, rows, weights, device)
                if start is None:
                    module = self._first_net(tokenizer, data.tensors[0], seed)
                    initial = copy.deepcopy(module)
                else:
                    module = copy.deepcopy(start.model.net.module_)
                    initial = start.model.initial
                validation = None
                if len(validation_rows):
                    of_validation = self._weights(validation_rows)
                    validation = self._tensors(tokenizer, validation_rows, of_validation, device)
                plan = self._plan(len(rows), device, effort=effort, pull=pull, noise=noise)
                net, history = train(
                    module, data, validation, plan, seed=seed, n_classes=n_classes,
                    inputs=lambda: self.X[self.positions[rows]], classes=self.classes,
                )  # fmt: skip
        model = FittedTransformer(net, tokenizer, history, device, n_classes, initial, rows)
        return FittedModel(model=model, n_fit=len(rows), n_validation=len(validation_rows))

    def training_weights(self, rows):
        """Return the weights with which training counts rows, those of classes included.

        Parameters
        ----------
        rows : ndarray of int
            Which rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Of mean 1.
        """
        return self._weights(rows)

    def _first_net(self, tokenizer, prepared, seed):
        """Build the net before training; the rows are those that it is trained on."""
        p = self.params
        parts = resolve_architecture(p.architecture)
        module = build_transformer(
            tokenizer.embedding,
            seed=seed,
            dtype=getattr(torch, p.dtype),
            n_classes=len(self.classes),
            width=p.width,
            depth=p.depth,
            n_heads=p.n_heads,
            dropout=p.dropout,
            pooling=p.pooling,
            parts=parts,
        )
        if self.earlier is not None:
            copy_weights(module, self.earlier, self.classes)
        elif parts.init == "lsuv":
            scale_to_unit_variance(module, prepared)
        return module

    def _set_aside(self, rows):
        """Split off the rows that decide when to stop."""
        n_validation = max(1, round(self.params.validation_fraction * len(rows)))
        if n_validation >= len(rows):
            raise ValueError(
                f"early_stopping needs at least one row to train on and one to validate, got "
                f"{len(rows)} rows with validation_fraction={self.params.validation_fraction}."
            )
        order = np.random.default_rng([self.seed, 1]).permutation(rows)
        return np.sort(order[n_validation:]), np.sort(order[:n_validation])

    def _weights(self, rows):
        """Return weights of mean one, so that the learning rate keeps its meaning."""
        weights = np.ones(len(rows)) if self.weights is None else self.own_weights(rows)
        class_weight = self.params.class_weight
        if class_weight is not None:
            labels = self.classes[self.codes[rows]]
            if isinstance(class_weight, dict):
                present = set(labels.tolist())
                class_weight = {k: v for k, v in class_weight.items() if k in present} or None
            weights = weights * compute_sample_weight(class_weight, labels)
        if not weights.any():
            raise ValueError(
                "The rows to train on all have weight zero. Use class_weight with positive "
                "weights for the classes that occur."
            )
        return weights / weights.mean()

    def _rows_enough(self, tokenizer, rows):
        """Return the rows that a tokenizer learns from: all, unless it says that some will do."""
        enough = getattr(tokenizer, "n_rows_enough", len(rows))
        if len(rows) <= enough:
            return rows
        return np.sort(np.random.default_rng([self.seed, 3]).choice(rows, enough, replace=False))

    def _tensors(self, tokenizer, rows, weights, device):
        dtype = getattr(torch, self.params.dtype)
        positions = self.positions[rows]
        if is_on_disk(self.X):
            X = RowsOnDisk(self.X, positions, tokenizer.prepare, device, dtype)
        else:
            prepared = np.ascontiguousarray(tokenizer.prepare(self.X[positions]))
            X = torch.as_tensor(prepared).to(device, dtype)
        labels = torch.as_tensor(self.codes[rows]).to(device)
        return LabelledTensors(X, labels, torch.as_tensor(weights).to(device, dtype))

    def _plan(self, n_rows, device, *, effort, pull, noise=0.0):
        p = self.params
        noisy = [WeightNoise(noise)] if noise else []
        batch_size = p.batch_size
        if batch_size == "auto":
            batch_size = int(2 ** np.clip(np.round(np.log2(n_rows / 32)), 6, 9))
        return TrainingPlan(
            max_epochs=max(1, round(effort * p.max_epochs)) if effort else 0,
            batch_size=batch_size,
            lr=p.lr,
            optimizer=p.optimizer,
            weight_decay=p.weight_decay,
            label_smoothing=p.label_smoothing,
            gradient_clip=p.gradient_clip,
            n_iter_no_change=p.n_iter_no_change,
            regularizers=tuple(clone(regularizer) for regularizer in [*p.regularizers, *noisy]),
            callbacks=tuple(p.callbacks),
            device=device,
            verbose=p.verbose,
            n_threads=p.n_threads or 1,
            pull=pull,
        )

    def _threads(self, device):
        """Pin torch's threads for a training."""
        # Several threads share the rows of a batch, rather than the work on each number.
        in_shares = device == "cpu" and self.params.n_threads is not None
        return torch_threads(1 if in_shares else self.params.n_threads)

    def _device(self):
        device = self.params.device
        if device == "auto":
            return "cuda" if torch.cuda.is_available() else "cpu"
        try:
            torch.empty(0, device=device)
        except (RuntimeError, AssertionError) as error:
            raise ValueError(
                f"device={device!r} cannot be used here. Use 'auto', 'cpu', or 'cuda' on a machine "
                f"with one."
            ) from error
        return device
