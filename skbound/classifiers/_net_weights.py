"""What a protocol does to the weights of a trained net: read, replace, move in few directions."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from skbound._nn._head import ClippedLinear
from skbound._nn._subspace import SubspaceModule
from skbound._training._net import train
from skbound.classifiers._net_training import NetTraining
from skbound.protocols import FittedModel

__all__ = ["NetWeights"]


class NetWeights(NetTraining):
    """Give protocols the weights of a net, its last linear map, and a few coordinates of both."""

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
        return replace(fit, model=fit.model.with_module(module))

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
        return replace(fit, model=fit.model.with_module(module))

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
        with self._threads(device):
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
        model = replace(moved.model, history=history, rows=rows)
        return FittedModel(model=model, n_fit=len(rows)), coordinates
