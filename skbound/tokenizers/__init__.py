"""Tokenizers: how a row becomes the tokens of a Transformer. Each is also a pipeline step."""

from sklearn.base import clone

from skbound.tokenizers._patches import PatchTokenizer
from skbound.tokenizers._sequence import SequenceTokenizer
from skbound.tokenizers._table import TableTokenizer

__all__ = ["PatchTokenizer", "SequenceTokenizer", "TableTokenizer", "resolve_tokenizer"]


def resolve_tokenizer(tokenizer, ndim):
    """Return a fresh tokenizer for rows of this kind.

    Parameters
    ----------
    tokenizer : {"auto", "table", "sequence", "patches"} or tokenizer object
        "auto" takes a table for 2-D data and a sequence for 3-D data; "patches" takes both for
        images. An object is cloned; it has ``ndim`` (2, 3 or both in a tuple),
        ``fit(X, sample_weight=None)``, ``prepare(X)`` for validated rows, and
        ``embedding(width)``, which returns a torch module with ``n_tokens`` and
        ``reset_parameters(generator)`` that turns prepared rows into (n, n_tokens, width).
    ndim : {2, 3}
        Dimensions of the data.

    Returns
    -------
    TableTokenizer, SequenceTokenizer, PatchTokenizer or a clone of the object
        Not fitted.

    Raises
    ------
    ValueError
        If the name is unknown or the tokenizer does not fit the data's shape.
    TypeError
        If an object is no tokenizer.
    """
    if tokenizer == "auto":
        return TableTokenizer() if ndim == 2 else SequenceTokenizer()
    named = {
        "table": TableTokenizer(),
        "sequence": SequenceTokenizer(),
        "patches": PatchTokenizer(),
    }
    chosen = named.get(tokenizer) if isinstance(tokenizer, str) else clone(tokenizer)
    if chosen is None:
        raise ValueError(
            f"tokenizer must be 'auto', 'table', 'sequence', 'patches' or a tokenizer object, got "
            f"{tokenizer!r}."
        )
    if not all(hasattr(chosen, name) for name in ("ndim", "fit", "prepare", "embedding")):
        raise TypeError(
            f"tokenizer must be 'auto', 'table', 'sequence', 'patches' or an object with ndim, "
            f"fit, prepare and embedding, got {chosen!r}."
        )
    taken = chosen.ndim if isinstance(chosen.ndim, tuple) else (chosen.ndim,)
    if ndim not in taken:
        raise ValueError(
            f"{type(chosen).__name__} takes {taken[0]}-dimensional data, got {ndim} "
            f"dimensions. Use tokenizer='auto', or reshape X."
        )
    return chosen
