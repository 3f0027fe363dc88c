"""What each layer reads, and how fast the logits change with what it writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from skbound.collect._double import attention_by_formula, in_double
from skbound.collect._layers import matrix
from skbound.collect._lipschitz import ELEMENTWISE
from skbound.collect._probe import Probe
from skbound.evidence import LayerFeatures
from skbound.exceptions import MissingEvidenceError

__all__ = ["chain_features", "downstream_norms", "features"]

_ROWS = 200


def features(probe: Probe, *, n_rows: int = 512) -> tuple[LayerFeatures, ...]:
    """Measure the second moments of what each linear layer reads, in one pass over all rows.

    Parameters
    ----------
    probe : Probe
        Net and rows.
    n_rows : int, default=512
        Rows per chunk; the result does not depend on it.

    Returns
    -------
    tuple of LayerFeatures
        One per weight matrix, in the order of ``module.named_modules()``. Tokens of a row are
        summed: that is what a change of the weight meets.

    Raises
    ------
    MissingEvidenceError
        If a layer with a weight matrix is no ``nn.Linear``, or was not used.
    """
    net = in_double(probe)
    layers = _linear_layers(net.module)
    sums: dict[str, torch.Tensor] = {}

    def read(name: str) -> Callable[..., None]:
        def hook(_: nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
            vectors = inputs[0].flatten(0, -2)
            if vectors.shape[1] != layers[name].weight.shape[1]:
                raise MissingEvidenceError(
                    f"A layer must read what its weight is multiplied by, but {name} reads vectors "
                    f"of length {vectors.shape[1]} and has a weight of shape "
                    f"{tuple(layers[name].weight.shape)}. Measures of weights alone apply to it."
                )
            moment = vectors.T @ vectors
            sums[name] = sums[name] + moment if name in sums else moment

        return hook

    hooks = _hooks([m.register_forward_pre_hook(read(name)) for name, m in layers.items()])
    with hooks, torch.no_grad():
        for rows, _ in net.chunks(n_rows):
            net.module(rows)
    if unused := layers.keys() - sums.keys():
        raise MissingEvidenceError(
            f"Every layer must be used to know what it reads, but {sorted(unused)} were not. "
            f"Remove them from the module."
        )
    return tuple(
        LayerFeatures(name=name, eigenvalues=_eigenvalues(sums[name] / net.n_samples))
        for name in layers
    )


def chain_features(probe: Probe) -> tuple[LayerFeatures, ...]:
    """Measure `features` of a fully connected net.

    Parameters
    ----------
    probe : Probe
        Net and rows.

    Returns
    -------
    tuple of LayerFeatures
        First layer first.

    Raises
    ------
    MissingEvidenceError
        If the net is no ``nn.Sequential`` of linear layers and elementwise functions that are
        1-Lipschitz.
    """
    module = probe.module
    parts = list(module) if isinstance(module, nn.Sequential) else [module]
    strange = [type(p).__name__ for p in parts if not isinstance(p, (nn.Linear, *ELEMENTWISE))]
    if strange:
        raise MissingEvidenceError(
            f"This quantity is defined for chains of linear layers and 1-Lipschitz functions, but "
            f"the net has {sorted(set(strange))}. Use the measure 'prd_proxy', which replaces "
            f"products of spectral norms by measured ones."
        )
    return features(probe)


def downstream_norms(probe: Probe) -> NDArray[np.float64]:
    """Measure how fast the logits change with the output of each linear layer.

    Costs one backward pass per class at up to 200 rows.

    Parameters
    ----------
    probe : Probe
        Net and rows; 200 of them are drawn if it has more.

    Returns
    -------
    ndarray of shape (n_layers,)
        Largest spectral norm, over the rows, of the Jacobian of the logits by all outputs of the
        layer, those for all tokens together. Layers as in `features`.

    Raises
    ------
    MissingEvidenceError
        If a layer with a weight matrix is no ``nn.Linear``.
    """
    net = in_double(probe.few(_ROWS))
    layers = _linear_layers(net.module)
    outputs: dict[str, list[torch.Tensor]] = {}

    def keep(name: str) -> Callable[..., None]:
        def hook(_: nn.Module, __: Any, output: torch.Tensor) -> None:
            outputs[name].append(output)

        return hook

    largest = np.zeros(len(layers))
    with (
        _hooks([m.register_forward_hook(keep(name)) for name, m in layers.items()]),
        attention_by_formula(),
    ):
        for rows, _ in net.chunks(32):
            outputs.update({name: [] for name in layers})
            logits = net.module(rows.requires_grad_())
            norms = [_jacobian_norms(logits, outputs[name]).max() for name in layers]
            largest = np.maximum(largest, [float(norm) for norm in norms])
    return largest


def _jacobian_norms(logits: torch.Tensor, inner: list[torch.Tensor]) -> torch.Tensor:
    """Return each row's spectral norm of the Jacobian of its logits by inner values."""
    rows = []
    for logit in logits.sum(0):
        found = torch.autograd.grad(
            logit, inner, retain_graph=True, allow_unused=True, materialize_grads=True
        )
        rows.append(torch.cat([g.flatten(1) for g in found], dim=1))
    return torch.linalg.matrix_norm(torch.stack(rows, dim=1), ord=2)


def _linear_layers(module: nn.Module) -> dict[str, Any]:
    layers = {name: m for name, m in module.named_modules() if matrix(m) is not None}
    strange = [name for name, m in layers.items() if not isinstance(m, nn.Linear)]
    if strange:
        raise MissingEvidenceError(
            f"Only nn.Linear layers have a rule for what they read and write, but {strange} are "
            f"others. Measures of weights alone apply to this net."
        )
    return layers


def _eigenvalues(moment: torch.Tensor) -> NDArray[np.float64]:
    values = np.linalg.eigvalsh(moment.cpu().numpy())[::-1]
    return np.maximum(values, 0.0)


@contextmanager
def _hooks(handles: list[Any]) -> Iterator[None]:
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
