"""A Transformer as a chain of linear maps, and how an error in each reaches the logits."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skbound.evidence import Layer, NetRecord
from skbound.exceptions import MissingEvidenceError

__all__ = ["Piece", "Pieces", "pieces_of"]

Matrix = NDArray[np.float64]

# Largest slope of GELU.
_SLOPE = 0.5 * (1.0 + math.erf(1.0)) + math.exp(-1.0) / math.sqrt(math.pi)


@dataclass(frozen=True, eq=False, kw_only=True)
class Piece:
    """One linear map.

    Parameters
    ----------
    name : str
        For example ``"blocks.0.scores.1"``, of head 1.
    weight : ndarray
        Its matrix.
    reach : float
        No input is longer.
    log_rate : float
        Logarithm of by how much the result moves at most if the outputs of this map move by 1.
    """

    name: str
    weight: Matrix
    reach: float
    log_rate: float

    @property
    def norm(self) -> float:
        """Spectral norm."""
        return float(np.linalg.norm(self.weight, 2))


@dataclass(frozen=True, eq=False, kw_only=True)
class Pieces:
    """Linear maps of a Transformer.

    Parameters
    ----------
    body : tuple of Piece
        All but the head; results are the tokens that the head reads.
    head : Piece
        The last map; results are logits.
    """

    body: tuple[Piece, ...]
    head: Piece


@dataclass(frozen=True, eq=False)
class _Head:
    """One head of attention: scores ``x^T A x' + b^T x'``, values ``U x'``."""

    scores: Matrix
    offset: float
    values: Matrix

    def slope(self, radius: float) -> float:
        score = _norm(self.scores)
        return _norm(self.values) * (1.0 + 2.0 * score * radius**2 + self.offset * radius)


def pieces_of(net: NetRecord) -> Pieces:
    r"""Split a Transformer into linear maps and bound how errors in them spread.

    Lengths are Euclidean; between two sequences, the largest distance of a token counts. In place
    of each normalisation stands the projection to the ball of radius ``R = sqrt(width)``, which is
    1-Lipschitz, as in the papers on covering numbers; gains and the steepness of a normalisation
    near 0 do not enter. Blocks normalise first. Embeddings are taken as fixed; what places add to
    scores, or turn queries and keys by, is left out. A head of attention is the two matrices ``A
    = W_Q^T W_K / sqrt(d)`` and ``U = W_O W_V``:

    - outputs of ``A`` that move by 1 move the scores by ``R``, the weights of attention by as much
      in sum, and the output by ``||U|| R^2``;
    - outputs of ``U`` that move by 1 move the output by at most 1;
    - in the feed-forward map, ``c ||W_2||`` and 1, with ``c = 1.129`` the slope of GELU;
    - from then on, a residual block multiplies by 1 and the Lipschitz constants ``sum_h ||U_h||
      (1 + 2 ||A_h|| R^2 + ||b_h|| R)``, where ``b_h = W_K^T b_Q / sqrt(d)`` comes from the bias of
      the queries, and ``c ||W_1|| ||W_2||``.

    Parameters
    ----------
    net : NetRecord
        Of a Transformer with dot-product attention.

    Returns
    -------
    Pieces
        In the order in which they are applied.

    Raises
    ------
    MissingEvidenceError
        If a layer is none of those of such a Transformer.
    """
    sizes = net.architecture
    if sizes.width is None or sizes.n_heads is None:
        raise MissingEvidenceError(
            "Covering numbers by layer are about Transformers, and the width and number of heads "
            "of this net are not known. Pass them to Architecture."
        )
    blocks, head = _sorted_layers(net)
    radius = math.sqrt(sizes.width)
    body: list[Piece] = []
    # From the last block to the first: what follows multiplies an error.
    later = 0.0
    for prefix, parts in reversed(blocks):
        found, later = _block(prefix, parts, sizes.n_heads, radius, later)
        body = [*found, *body]
    last = Piece(name=head.name, weight=head.weight, reach=radius, log_rate=0.0)
    return Pieces(body=tuple(body), head=last)


_ATTENTION = ("query", "key", "value", "output")
_FORWARD = ("expand", "contract")


def _sorted_layers(net: NetRecord) -> tuple[list[tuple[str, dict[str, Layer]]], Layer]:
    blocks: dict[str, dict[str, Layer]] = {}
    for layer in net.layers[:-1]:
        prefix, _, role = layer.name.rpartition(".")
        if role in _ATTENTION:
            prefix = prefix.rpartition(".")[0]
        elif role not in _FORWARD:
            if layer.name.partition(".")[0] == "embedding" and not blocks:
                continue
            raise _unknown(layer.name)
        blocks.setdefault(prefix, {})[role] = layer
    for prefix, parts in blocks.items():
        if set(parts) != {*_ATTENTION, *_FORWARD}:
            raise _unknown(f"{prefix} with {sorted(parts)}")
        if parts["expand"].weight.shape[::-1] != parts["contract"].weight.shape:
            raise _unknown(
                f"{prefix}.expand, whose outputs are not the inputs of {prefix}.contract"
            )
    if not blocks:
        raise _unknown("a net without attention")
    return list(blocks.items()), net.layers[-1]


def _unknown(what: str) -> MissingEvidenceError:
    return MissingEvidenceError(
        f"Covering numbers by layer are about blocks of query, key, value, output, expand and "
        f"contract maps, and this net has {what}. Use measures of matrices, such as "
        f"'spectral_product'."
    )


def _block(
    prefix: str, parts: dict[str, Layer], n_heads: int, radius: float, later: float
) -> tuple[list[Piece], float]:
    """Return the pieces of a block, and the log of how errors before it grow to the end."""
    inner, outer = parts["expand"], parts["contract"]
    hidden = _SLOPE * (inner.spectral_norm * radius + _length(inner))
    forward = [
        _piece(inner.name, inner.weight, radius, _SLOPE * outer.spectral_norm, later),
        _piece(outer.name, outer.weight, hidden, 1.0, later),
    ]
    later += math.log1p(_SLOPE * inner.spectral_norm * outer.spectral_norm)
    heads = _heads(parts, n_heads)
    attention = []
    for h, head in enumerate(heads):
        rate = _norm(head.values) * radius**2
        attention += [
            _piece(f"{prefix}.scores.{h}", head.scores, radius, rate, later),
            _piece(f"{prefix}.values.{h}", head.values, radius, 1.0, later),
        ]
    return [*attention, *forward], later + math.log1p(
        math.fsum(head.slope(radius) for head in heads)
    )


def _heads(parts: dict[str, Layer], n_heads: int) -> list[_Head]:
    query, key, value = (
        parts[role].weight.reshape(n_heads, -1, parts[role].weight.shape[1])
        for role in ("query", "key", "value")
    )
    bias = parts["query"].bias
    shift = np.zeros(len(parts["query"].weight)) if bias is None else bias
    shift = shift.reshape(n_heads, -1)
    output = parts["output"].weight
    output = output.reshape(len(output), n_heads, -1)
    scale = query.shape[1] ** -0.5
    return [
        _Head(
            scale * query[h].T @ key[h],
            scale * float(np.linalg.norm(key[h].T @ shift[h])),
            output[:, h] @ value[h],
        )
        for h in range(n_heads)
    ]


def _piece(name: str, weight: Matrix, reach: float, rate: float, later: float) -> Piece:
    log_rate = later + math.log(rate) if rate > 0.0 else -math.inf
    return Piece(name=name, weight=weight, reach=reach, log_rate=log_rate)


def _norm(weight: Matrix) -> float:
    return float(np.linalg.norm(weight, 2))


def _length(layer: Layer) -> float:
    return 0.0 if layer.bias is None else float(np.linalg.norm(layer.bias))
