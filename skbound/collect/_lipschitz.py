"""Upper bounds on how fast the logits change with the input, anywhere.

Every rule is about Euclidean norms; inside a Transformer, about the largest Euclidean norm of a
token, in which attention's constant does not grow with the number of tokens.
"""

from __future__ import annotations

import math
from functools import singledispatch
from typing import Any

import torch
from scipy.special import ndtr
from torch import nn

from skbound._nn._dropout import SeededDropout
from skbound._nn._embeddings import FeatureEmbedding, SequenceEmbedding
from skbound._nn._transformer import Transformer
from skbound.exceptions import MissingEvidenceError

__all__ = ["ELEMENTWISE", "GELU_CONSTANT", "attention_lipschitz", "log_lipschitz_upper"]

# Functions that change no difference by a factor of more than 1; in evaluation mode, for dropout.
ELEMENTWISE = (
    *(nn.ReLU, nn.Tanh, nn.Sigmoid, nn.Softplus, nn.Identity, nn.Flatten, nn.Dropout),
    SeededDropout,
)
# Largest slope of GELU, at the square root of 2.
GELU_CONSTANT = float(ndtr(math.sqrt(2.0))) + math.exp(-1.0) / math.sqrt(math.pi)


def attention_lipschitz(
    value_norm: float, score_norm: float, *, radius: float, query_offset: float = 0.0
) -> float:
    r"""Bound the Lipschitz constant of one head of attention on tokens in a ball.

    The head maps tokens to ``f_i = sum_j p_ij V x_j`` with ``p_i`` the softmax of
    ``x_i^T A x_j + b^T x_j`` over ``j``. Distances of inputs and outputs are the largest Euclidean
    distance of a token.

    Parameters
    ----------
    value_norm : float
        Spectral norm of ``V``; of the product with the output map, where there is one.
    score_norm : float
        Spectral norm of ``A = W_Q^T W_K / sqrt(d)``.
    radius : float
        No token is longer.
    query_offset : float, default=0.0
        Norm of ``b = W_K^T b_Q / sqrt(d)``, from the queries' bias ``b_Q``. The keys' bias cancels
        in the softmax; that of the values adds a constant.

    Returns
    -------
    float
        ``||V|| (1 + ||A|| R^2 + R (||A|| R + ||b||))``; infinite for an infinite radius unless the
        scores are constant: attention is not Lipschitz on all of space [1]_.

    Notes
    -----
    With ``m_i`` and ``C_i`` the mean and covariance of the tokens under ``p_i``, the derivative in
    direction ``dx`` is ``V (sum_j p_ij dx_j + C_i A^T dx_i + sum_j p_ij (x_j - m_i) (A^T x_i + b)^T
    dx_j)``. In a ball the trace of ``C_i`` is at most ``R^2``, so the second term is at most
    ``||A|| R^2`` and the third, by Cauchy and Schwarz, ``R (||A|| R + ||b||)`` times the largest
    ``||dx_j||``.

    References
    ----------
    .. [1] H. Kim, G. Papamakarios and A. Mnih, "The Lipschitz constant of self-attention", ICML
       2021, Theorem 3.1.

    Examples
    --------
    >>> attention_lipschitz(2.0, 0.5, radius=3.0)
    20.0
    >>> attention_lipschitz(2.0, 0.0, radius=float("inf"))
    2.0
    """
    if score_norm == 0.0 and query_offset == 0.0:
        return value_norm
    moved = 2.0 * score_norm * radius**2 + (radius * query_offset if query_offset else 0.0)
    return value_norm * (1.0 + moved)


@singledispatch
def log_lipschitz_upper(module: nn.Module) -> float:
    """Return the logarithm of a number that the module's Lipschitz constant does not exceed.

    A rule for a module of one's own is a function registered with ``log_lipschitz_upper.register``.

    Parameters
    ----------
    module : nn.Module
        In evaluation mode. There are rules for ``nn.Sequential`` of linear maps, normalisations and
        elementwise functions, and for the Transformer of this package.

    Returns
    -------
    float
        About Euclidean distances of inputs as the module gets them, wherever they are, and of its
        outputs; minus infinity for a constant map.

    Raises
    ------
    MissingEvidenceError
        If there is no rule for a part of it.

    Examples
    --------
    >>> from torch import nn
    >>> from skbound.collect import log_lipschitz_upper
    >>> round(log_lipschitz_upper(nn.Sequential(nn.ReLU(), nn.GELU())), 4)
    0.1212
    """
    raise MissingEvidenceError(
        f"No rule bounds the Lipschitz constant of {type(module).__name__}. Register one with "
        f"skbound.collect.log_lipschitz_upper.register; 'jacobian_norm' is measured for any net."
    )


def _elementwise(module: nn.Module) -> float:
    return 0.0


for _kind in ELEMENTWISE:
    log_lipschitz_upper.register(_kind, _elementwise)


@log_lipschitz_upper.register
def _(module: nn.Sequential) -> float:
    return math.fsum(log_lipschitz_upper(part) for part in module)


@log_lipschitz_upper.register
def _(module: nn.Linear) -> float:
    return log(spectral_norm(module.weight))


@log_lipschitz_upper.register
def _(module: nn.GELU) -> float:
    if module.approximate != "none":
        raise MissingEvidenceError(
            "The slope of GELU is known for approximate='none', got "
            f"{module.approximate!r}. Use nn.GELU()."
        )
    return math.log(GELU_CONSTANT)


@log_lipschitz_upper.register
def _(module: nn.LayerNorm) -> float:
    eye = torch.eye(width_of(module), dtype=torch.float64, device=module.weight.device)
    return log(spectral_norm(folded(eye, module))) + log_steepest(module)


@log_lipschitz_upper.register
def _(module: FeatureEmbedding) -> float:
    return log(float(module.weight.detach().double().norm(dim=1).max()))


@log_lipschitz_upper.register
def _(module: SequenceEmbedding) -> float:
    return log(spectral_norm(module.project.weight))


@log_lipschitz_upper.register
def _(module: Transformer) -> float:
    check_standard(module)
    total = [log_lipschitz_upper(module.embedding)]
    block: Any
    for block in module.blocks:
        # Normalised tokens, before gain and offset, are shorter than the root of their length.
        radius = math.sqrt(width_of(block.norm_attention))
        attention = math.fsum(
            attention_lipschitz(value, score, radius=radius, query_offset=offset)
            for value, score, offset in head_norms(block.attention, block.norm_attention)
        )
        total.append(math.log1p(attention * math.exp(log_steepest(block.norm_attention))))
        forward = feed_forward_norm(block) * math.exp(log_steepest(block.norm_feed_forward))
        total.append(math.log1p(forward))
    head = spectral_norm(folded(module.head.weight, module.norm_head))
    return math.fsum([*total, log_steepest(module.norm_head), log(head)])


def check_standard(module: Any) -> None:
    """Refuse a Transformer that is put together from other parts than the rules are about.

    Parameters
    ----------
    module : Transformer
        Its blocks normalise tokens before each branch by ``nn.LayerNorm``, attend by dot products
        to all tokens, and use GELU; its head is linear.

    Raises
    ------
    MissingEvidenceError
        Naming the part.
    """
    strange = [type(norm).__name__ for norm in norms_of(module) if type(norm) is not nn.LayerNorm]
    for block in module.blocks:
        names = {name for name, _ in block.attention.named_children()}
        if names != {"query", "key", "value", "output"}:
            strange.append(type(block.attention).__name__)
        if not getattr(block, "norm_first", True):
            strange.append("norms after the branches")
        if getattr(block, "activation", "gelu") != "gelu":
            strange.append(block.activation)
    strange += [
        name for name in ("places", "head_hidden") if getattr(module, name, None) is not None
    ]
    if strange:
        raise MissingEvidenceError(
            f"The rule for Transformers is about the standard one, but this one has "
            f"{sorted(set(strange))}. 'jacobian_norm' is measured for any net."
        )


def norms_of(module: Any) -> list[nn.Module]:
    """Return all normalisations of a Transformer."""
    found = [norm for b in module.blocks for norm in (b.norm_attention, b.norm_feed_forward)]
    return [*found, module.norm_head]


def head_norms(attention: Any, norm: nn.LayerNorm) -> list[tuple[float, float, float]]:
    """Return what `attention_lipschitz` needs to know of each head, about normalised tokens.

    Parameters
    ----------
    attention : nn.Module
        Multi-head dot-product attention; reads what `norm` puts out.
    norm : nn.LayerNorm
        Its gain and offset become part of the maps.

    Returns
    -------
    list of (value norm, score norm, query offset)
        One per head.
    """
    return [
        (spectral_norm(value), spectral_norm(score), float(offset.norm()))
        for value, score, offset in head_maps(attention, norm)
    ]


def head_maps(
    attention: Any, norm: nn.LayerNorm
) -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Return each head's map to the output, its scores' matrix ``A`` and their offset ``b``."""
    n_heads = attention.n_heads
    query, key, value = (
        folded(m.weight, norm).unflatten(0, (n_heads, -1))
        for m in (attention.query, attention.key, attention.value)
    )
    bias = attention.query.bias.detach().double() + (
        attention.query.weight.detach().double() @ norm.bias.detach().double()
    )
    output = attention.output.weight.detach().double().unflatten(1, (n_heads, -1))
    scale = query.shape[1] ** -0.5
    return [
        (
            output[:, h] @ value[h],
            scale * query[h].T @ key[h],
            scale * key[h].T @ bias.unflatten(0, (n_heads, -1))[h],
        )
        for h in range(n_heads)
    ]


def feed_forward_norm(block: Any) -> float:
    """Bound the Lipschitz constant of a block's feed-forward map on normalised tokens."""
    inner = spectral_norm(folded(block.expand.weight, block.norm_feed_forward))
    return spectral_norm(block.contract.weight) * GELU_CONSTANT * inner


def folded(weight: torch.Tensor, norm: nn.LayerNorm) -> torch.Tensor:
    """Return the matrix that a map after a normalisation applies to tokens of mean 0, length 1."""
    gained = weight.detach().double() * norm.weight.detach().double()
    return gained - gained.mean(dim=1, keepdim=True)


def log_steepest(norm: nn.LayerNorm) -> float:
    """Return the log of the largest slope of ``(x - mean) / sqrt(var + eps)``: at variance 0."""
    return -0.5 * math.log(norm.eps) if norm.eps > 0.0 else math.inf


def width_of(norm: nn.LayerNorm) -> int:
    """Return the length of the vectors that are normalised, the last dimension."""
    if len(norm.normalized_shape) != 1 or norm.weight is None or norm.bias is None:
        raise MissingEvidenceError(
            f"The rule for LayerNorm is about vectors with gain and offset, got {norm}. Use "
            f"nn.LayerNorm(width)."
        )
    return int(norm.normalized_shape[0])


def spectral_norm(weight: torch.Tensor) -> float:
    """Return the largest singular value, in double precision."""
    return float(torch.linalg.matrix_norm(weight.detach().double(), ord=2))


def log(value: float) -> float:
    """Return the natural logarithm, minus infinity at 0."""
    return math.log(value) if value > 0.0 else -math.inf
