"""Data plus a Transformer, seen through the interface of a protocol."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.special import softmax
from sklearn.base import clone
from sklearn.utils.class_weight import compute_sample_weight
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from torch.utils.data import TensorDataset

from skbound._nn._transformer import build_transformer
from skbound._training._inference import block_rows, logits_in_blocks
from skbound._training._net import TrainingPlan, train
from skbound._training._threads import torch_threads
from skbound.classifiers._ensembles import TransformerEnsemble
from skbound.classifiers._mixtures import TransformerMixture
from skbound.classifiers._rows import LabelledRows
from skbound.protocols import FittedModel

__all__ = ["FittedTransformer", "TransformerLearner"]


@dataclass(frozen=True)
class FittedTransformer:
    """A trained net with the tokenizer in front of it.

    Parameters
    ----------
    net : skorch.NeuralNetClassifier or None
        None for a single class.
    tokenizer : tokenizer
        Fitted on training rows.
    history : list of dict
        Losses and seconds per epoch.
    device : str
        Where the net is.
    n_classes : int
        Number of classes.
    """

    net: Any
    tokenizer: Any
    history: list[dict[str, float]]
    device: str
    n_classes: int

    def logits(self, X):
        """Return the logits of validated rows.

        Parameters
        ----------
        X : ndarray of shape (n_samples, ...)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), float64
            Logits; zero for a single class.

        Raises
        ------
        ValueError
            If a logit is not finite.
        """
        if self.net is None:
            return np.zeros((len(X), 1))
        module = self.net.module_
        with torch_threads(1):
            logits = logits_in_blocks(
                module,
                X,
                self.tokenizer.prepare,
                n_rows=block_rows(module.embedding.n_tokens),
                n_classes=self.n_classes,
            )
        if not np.isfinite(logits).all():
            raise ValueError(
                "The net's output is not finite for some rows of X, so there is nothing to "
                "predict from it. Fit again with a lower lr or with dtype='float64'."
            )
        return logits


class TransformerLearner(LabelledRows):
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

    def fit(self, rows, *, seed=None, start=None, effort=1.0, pull=0.0):
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
            Share of ``max_epochs`` to train; at least one epoch.
        pull : float, default=0.0
            ``pull / 2`` times the squared distance from the initial weights is added to the loss.

        Returns
        -------
        FittedModel
            Holding a FittedTransformer.
        """
        device = self._device()
        validation_rows = np.empty(0, dtype=np.intp)
        if self.params.early_stopping:
            rows, validation_rows = self._set_aside(rows)
        weights = self._weights(rows)
        seed = self.seed if seed is None else seed
        if start is None:
            tokenizer = clone(self.tokenizer)
            tokenizer.fit(self.X[self.positions[rows]], sample_weight=self.own_weights(rows))
        else:
            tokenizer = start.model.tokenizer
        n_classes = len(self.classes)
        net, history = None, []
        if n_classes > 1:
            p = self.params
            with torch_threads(p.n_threads):
                if start is None:
                    module = build_transformer(
                        tokenizer.embedding,
                        seed=seed,
                        dtype=getattr(torch, p.dtype),
                        n_classes=n_classes,
                        width=p.width,
                        depth=p.depth,
                        n_heads=p.n_heads,
                        dropout=p.dropout,
                        pooling=p.pooling,
                    )
                else:
                    module = copy.deepcopy(start.model.net.module_)
                validation = None
                if len(validation_rows):
                    of_validation = self._weights(validation_rows)
                    validation = self._tensors(tokenizer, validation_rows, of_validation, device)
                net, history = train(
                    module,
                    self._tensors(tokenizer, rows, weights, device),
                    validation,
                    self._plan(len(rows), device, effort=effort, pull=pull),
                    seed=seed,
                    n_classes=n_classes,
                )
        model = FittedTransformer(net, tokenizer, history, device, n_classes)
        return FittedModel(model=model, n_fit=len(rows), n_validation=len(validation_rows))

    def losses(self, fit, rows):
        """Return the losses of a fitted net on `rows`.

        Parameters
        ----------
        fit : FittedModel
            From `fit`.
        rows : ndarray of int
            Which rows.

        Returns
        -------
        Sample
            0-1 losses of ``predict`` and half the Brier scores of ``predict_proba``.
        """
        logits = fit.model.logits(self.X[self.positions[rows]])
        predicted = self.classes[logits.argmax(axis=1)]
        return self.sample(rows, predicted, softmax(logits, axis=1))

    def probabilities(self, fit, rows):
        """Return predicted probabilities.

        Parameters
        ----------
        fit : FittedModel
            From `fit`.
        rows : ndarray of int
            Which rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns as in `classes`.
        """
        return softmax(fit.model.logits(self.X[self.positions[rows]]), axis=1)

    def votes(self, fit, rows):
        """Return the number of the predicted class of each row.

        Parameters
        ----------
        fit : FittedModel
            From `fit`.
        rows : ndarray of int
            Which rows.

        Returns
        -------
        ndarray of int of shape (n_samples,)
            Positions in `classes`.
        """
        return fit.model.logits(self.X[self.positions[rows]]).argmax(axis=1)

    def parameters(self, fit):
        """Return all trained numbers of a net, in the order of its parameters.

        Parameters
        ----------
        fit : FittedModel
            From `fit`.

        Returns
        -------
        ndarray of shape (n_weights,), float64
            Empty for a single class.
        """
        if fit.model.net is None:
            return np.empty(0)
        vector = parameters_to_vector(fit.model.net.module_.parameters())
        return vector.detach().to("cpu", torch.float64).numpy()

    def with_parameters(self, fit, weights):
        """Return a net with other weights.

        Parameters
        ----------
        fit : FittedModel
            From `fit`; not changed.
        weights : ndarray of shape (n_weights,)
            In the order of `parameters`; rounded to the net's own precision.

        Returns
        -------
        FittedModel
            Otherwise the same.
        """
        net = fit.model.net
        if net is None:
            return fit
        module = copy.deepcopy(net.module_)
        first = next(module.parameters())
        vector = torch.as_tensor(weights).to(first.device, first.dtype)
        vector_to_parameters(vector, module.parameters())
        # Not copy.copy, which would write the whole net into bytes and back.
        other = object.__new__(type(net))
        vars(other).update(vars(net), module_=module)
        return replace(fit, model=replace(fit.model, net=other))

    def ensemble(self, fits, weights, how):
        """Let several fitted nets answer together.

        Parameters
        ----------
        fits : sequence of FittedModel
            From `fit`.
        weights : sequence of float
            Of sum 1.
        how : {"average", "majority"}
            Average probabilities or count votes.

        Returns
        -------
        TransformerEnsemble
            With a ``logits`` method.
        """
        return TransformerEnsemble(tuple(fit.model for fit in fits), tuple(weights), how)

    def ensemble_losses(self, ensemble, rows):
        """Return the losses of several nets that answer together.

        Parameters
        ----------
        ensemble : TransformerEnsemble
            From `ensemble`.
        rows : ndarray of int
            Which rows.

        Returns
        -------
        Sample
            Of what ``predict`` and ``predict_proba`` would return.
        """
        return self.losses(FittedModel(ensemble, 0), rows)

    def mixture(self, fits, choice):
        """Let several fitted nets share the rows.

        Parameters
        ----------
        fits : sequence of FittedModel
            From `fit`.
        choice : HashChoice
            Which net answers for a row.

        Returns
        -------
        TransformerMixture
            With a ``logits`` method.
        """
        return TransformerMixture(tuple(fit.model for fit in fits), choice)

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

    def _tensors(self, tokenizer, rows, weights, device):
        dtype = getattr(torch, self.params.dtype)
        prepared = tokenizer.prepare(self.X[self.positions[rows]])
        X = torch.as_tensor(np.ascontiguousarray(prepared)).to(device, dtype)
        labels = torch.as_tensor(self.codes[rows]).to(device)
        return TensorDataset(X, labels, torch.as_tensor(weights).to(device, dtype))

    def _plan(self, n_rows, device, *, effort, pull):
        p = self.params
        batch_size = p.batch_size
        if batch_size == "auto":
            batch_size = int(2 ** np.clip(np.round(np.log2(n_rows / 32)), 6, 9))
        return TrainingPlan(
            max_epochs=max(1, round(effort * p.max_epochs)),
            batch_size=batch_size,
            lr=p.lr,
            optimizer=p.optimizer,
            weight_decay=p.weight_decay,
            label_smoothing=p.label_smoothing,
            gradient_clip=p.gradient_clip,
            n_iter_no_change=p.n_iter_no_change,
            callbacks=tuple(p.callbacks),
            device=device,
            verbose=p.verbose,
            pull=pull,
        )

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
