"""A look at whether a classifier answers each row by itself, which every certificate assumes."""

from __future__ import annotations

import numpy as np

from skbound._sklearn_compat import safe_indexing

__all__ = ["why_not_row_wise"]

_N_ROWS = 16


def why_not_row_wise(model, X, positions) -> str:
    """Say why nothing can be certified, if a row's answer depends on other rows.

    The classifier is asked about 16 rows, from first to last, at once and one by one. That finds
    what depends on the batch in plain sight; it is no proof that nothing does.

    Parameters
    ----------
    model : classifier
        Fitted.
    X : array-like
        The data.
    positions : ndarray of int
        The rows of X to ask about: it was asked about them before, and about no others.

    Returns
    -------
    str
        Empty if all rows get the same label alone and together.
    """
    places = np.linspace(0, len(positions) - 1, _N_ROWS).astype(np.intp)
    rows = np.sort(positions)[np.unique(places)]
    together = np.ravel(model.predict(safe_indexing(X, rows)))
    alone = [np.ravel(model.predict(safe_indexing(X, row))) for row in rows[:, None]]
    n_others = int(np.sum(together != np.concatenate(alone)))
    if not n_others:
        return ""
    return (
        f"a certificate is about the error on one row, but predict gave {n_others} of {len(rows)} "
        f"rows another label alone than together. Use a classifier whose predict neither looks at "
        f"other rows of the batch nor draws at random."
    )
