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

from skbound._nn._head import ClippedLinear
from skbound._nn._subspace import SubspaceModule
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
        logits = self._evaluate(self.net.module_, X, self.n_classes)
        if not np.isfinite(logits).all():
            raise ValueError(
                "The net's output is not finite for some rows of X, so there is nothing to "
                "predict from it. Fit again with a lower lr or with dtype='float64'."
            )
        return logits

    def features(self, X):
        """Return what the last linear map of the net reads.

        Parameters
        ----------
        X : ndarray of shape (n_samples, ...)
            Validated rows.

        Returns
        -------
        ndarray of shape (n_samples, width), float64
            To the last bit what it reads in `logits`.
        """
        module = copy.deepcopy(self.net.module_)
        width = module.norm_head.normalized_shape[0]
        module.head = torch.nn.Identity()
        return self._evaluate(module, X, width)

    def _evaluate(self, module, X, n_outputs):
        with torch_threads(1):
            return logits_in_blocks(
                module,
                X,
                self.tokenizer.prepare,
                n_rows=block_rows(module.embedding.n_tokens),
                n_classes=n_outputs,
            )


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
        for regularizer in params.regularizers:
            self.assumptions = (*self.assumptions, *regularizer.assumptions)

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
            Share of ``max_epochs`` to train; at least one epoch, or none at 0, which leaves the
            initial weights.
        pull : float, default=0.0
            ``pull / 2`` times the squared distance from the initial weights is added to the loss.

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
        if start is None:
            tokenizer = clone(self.tokenizer)
            tokenizer.fit(self.X[self.positions[rows]], sample_weight=self.own_weights(rows))
        else:
            tokenizer = start.model.tokenizer
        n_classes = len(self.classes)
        net, history = None, []
        if n_classes > 1:
            p = self.params
            # Several threads share the rows of a batch, rather than the work on each number.
            in_shares = device == "cpu" and p.n_threads is not None
            with torch_threads(1 if in_shares else p.n_threads):
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
                    inputs=lambda: self.X[self.positions[rows]],
                    classes=self.classes,
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
        if fit.model.net is None:
            return fit
        module = copy.deepcopy(fit.model.net.module_)
        first = next(module.parameters())
        vector = torch.as_tensor(weights).to(first.device, first.dtype)
        vector_to_parameters(vector, module.parameters())
        return _with_module(fit, module)

    def features(self, fit, rows):
        """Return what the last linear map of a net reads.

        Parameters
        ----------
        fit : FittedModel
            From `fit`, with at least two classes.
        rows : ndarray of int
            Which rows.

        Returns
        -------
        ndarray of shape (n_samples, width), float64
            To the last bit what it reads when it predicts.
        """
        return fit.model.features(self.X[self.positions[rows]])

    def with_head(self, fit, feature_map, weights):
        """Return a net with another last linear map, which is evaluated in double precision.

        Parameters
        ----------
        fit : FittedModel
            From `fit`; not changed.
        feature_map : FeatureMap
            What to make of the features first.
        weights : ndarray of shape (n_classes, n_directions + 1)
            Of the linear map; the last column is its offset.

        Returns
        -------
        FittedModel
            Otherwise the same.
        """
        module = copy.deepcopy(fit.model.net.module_)
        device = next(module.parameters()).device
        center, directions, matrix, offset = (
            torch.tensor(values, dtype=torch.float64, device=device)
            for values in (
                feature_map.center,
                feature_map.directions,
                weights[:, :-1],
                weights[:, -1],
            )
        )
        module.head = ClippedLinear(center, directions, matrix, offset)
        return _with_module(fit, module)

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

    def fit_coordinates(self, rows, center, subspace, *, start=None, levels=None, effort=1.0):
        """Train a net whose weights move in a few directions only.

        Parameters
        ----------
        rows : ndarray of int
            Which rows. None are set aside for early stopping.
        center : FittedModel
            From `fit`; its weights belong to coordinates of zero, its tokenizer is kept.
        subspace : Subspace
            What each coordinate moves.
        start : ndarray of shape (n_coordinates,) or None, default=None
            First coordinates; None stands for zeros.
        levels : ndarray of shape (n_levels,) or None, default=None
            Train for coordinates that are rounded to the nearest of these.
        effort : float, default=1.0
            Share of ``max_epochs`` to train; at least one epoch.

        Returns
        -------
        fit : FittedModel
            The net at these coordinates.
        coordinates : ndarray of shape (n_coordinates,), float64
            Not rounded to `levels`.
        """
        start = np.zeros(subspace.n_coordinates) if start is None else start
        if center.model.net is None:
            return center, start
        device, dtype = center.model.device, getattr(torch, self.params.dtype)
        with torch_threads(self.params.n_threads):
            module = SubspaceModule(
                copy.deepcopy(center.model.net.module_),
                torch.as_tensor(subspace.groups.copy()).to(device),
                torch.as_tensor(subspace.scales).to(device, dtype),
                torch.as_tensor(start).to(device, dtype),
                None if levels is None else torch.as_tensor(levels).to(device, dtype),
            )
            data = self._tensors(center.model.tokenizer, rows, self._weights(rows), device)
            plan = self._plan(len(rows), device, effort=effort, pull=0.0)
            n_classes = len(self.classes)
            _, history = train(
                module, data, None, plan, seed=self.seed, n_classes=n_classes,
                inputs=lambda: self.X[self.positions[rows]], classes=self.classes,
            )  # fmt: skip
        coordinates = module.coordinates.detach().to("cpu", torch.float64).numpy()
        moved = self.with_parameters(center, self.parameters(center) + subspace.moves(coordinates))
        model = replace(moved.model, history=history)
        return FittedModel(model=model, n_fit=len(rows)), coordinates

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

    def ensemble_rule(self, fits):
        """Return how several nets answer together.

        Parameters
        ----------
        fits : sequence of FittedModel
            From `fit`.

        Returns
        -------
        "average"
            Every net has probabilities.
        """
        return "average"

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
            max_epochs=max(1, round(effort * p.max_epochs)) if effort else 0,
            batch_size=batch_size,
            lr=p.lr,
            optimizer=p.optimizer,
            weight_decay=p.weight_decay,
            label_smoothing=p.label_smoothing,
            gradient_clip=p.gradient_clip,
            n_iter_no_change=p.n_iter_no_change,
            regularizers=tuple(clone(regularizer) for regularizer in p.regularizers),
            callbacks=tuple(p.callbacks),
            device=device,
            verbose=p.verbose,
            n_threads=p.n_threads or 1,
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


def _with_module(fit, module):
    """Return a fit with another module in its net."""
    net = fit.model.net
    # Not copy.copy, which would write the whole net into bytes and back.
    other = object.__new__(type(net))
    vars(other).update(vars(net), module_=module)
    return replace(fit, model=replace(fit.model, net=other))
