"""Tokenizers: how a row becomes the tokens of a Transformer. Each is also a pipeline step."""

from sklearn.base import clone

from skbound.tokenizers._patches import PatchTokenizer
from skbound.tokenizers._sequence import SequenceTokenizer
from skbound.tokenizers._table import TableTokenizer
from skbound.tokenizers._tokens import TokenTokenizer

__all__ = [
    "PatchTokenizer",
    "SequenceTokenizer",
    "TableTokenizer",
    "TokenTokenizer",
    "resolve_tokenizer",
]


def resolve_tokenizer(tokenizer, ndim):
    """Return a fresh tokenizer for rows of this kind.

    Parameters
    ----------
    tokenizer : {"auto", "table", "sequence", "tokens", "patches"} or tokenizer object
        "auto" takes a table for 2-D data and a sequence for 3-D data; "tokens" takes 2-D data for
        ids, "patches" takes both for images. An object is cloned; it has ``ndim`` (2, 3 or both in
        a tuple), ``fit(X, sample_weight=None)``, ``prepare(X)`` for validated rows, and
        ``embedding(width)``, which returns a torch module with ``n_tokens`` and
        ``reset_parameters(generator)`` that turns prepared rows into (n, n_tokens, width).
        The module may have ``drop_positions()``, which removes position codes of its own, a false
        ``ordered`` where the order of its tokens means nothing, and a true ``padded`` with
        ``real_tokens(X)``, which returns (n, n_tokens) bools: False for padding; a true
        ``allows_nan`` of the tokenizer lets NaN through to it.
    ndim : {2, 3}
        Dimensions of the data.

    Returns
    -------
    TableTokenizer, SequenceTokenizer, TokenTokenizer, PatchTokenizer or a clone of the object
        Not fitted.

    Raises
    ------
    ValueError
        If the name is unknown, or the tokenizer has wrong parameters or does not fit the data's
        shape.
    TypeError
        If an object is no tokenizer.
    """
    if tokenizer == "auto":
        return TableTokenizer() if ndim == 2 else SequenceTokenizer()
    named = {
        "table": TableTokenizer(),
        "sequence": SequenceTokenizer(),
        "tokens": TokenTokenizer(),
        "patches": PatchTokenizer(),
    }
    chosen = named.get(tokenizer) if isinstance(tokenizer, str) else clone(tokenizer)
    if chosen is None:
        raise ValueError(
            f"tokenizer must be 'auto', 'table', 'sequence', 'tokens', 'patches' or a tokenizer "
            f"object, got {tokenizer!r}."
        )
    if not all(hasattr(chosen, name) for name in ("ndim", "fit", "prepare", "embedding")):
        raise TypeError(
            f"tokenizer must be 'auto', 'table', 'sequence', 'tokens', 'patches' or an object with "
            f"ndim, fit, prepare and embedding, got {chosen!r}."
        )
    taken = chosen.ndim if isinstance(chosen.ndim, tuple) else (chosen.ndim,)
    if ndim not in taken:
        raise ValueError(
            f"{type(chosen).__name__} takes {taken[0]}-dimensional data, got {ndim} "
            f"dimensions. Use tokenizer='auto', or reshape X."
        )
    if hasattr(chosen, "_validate_params"):
        # Its own fit leaves that to the estimator around it.
        chosen._validate_params()
    return chosen
