"""A look at whether a classifier answers each row by itself, which every certificate assumes."""

from __future__ import annotations

import numpy as np

__all__ = ["check_row_wise"]

_N_ROWS = 16


def check_row_wise(model, learner):
    """Refuse a classifier that answers a row otherwise when other rows come with it.

    It is asked about 16 rows, from first to last of the data, at once and one by one. That finds
    what depends on the batch in plain sight; it is no proof that nothing does.

    Parameters
    ----------
    model : classifier
        Fitted.
    learner : LabelledRows
        With the rows to ask about.

    Raises
    ------
    ValueError
        Saying how many rows get another label.
    """
    rows = np.unique(np.linspace(0, learner.n_samples - 1, _N_ROWS).astype(np.intp))
    together = np.ravel(model.predict(learner.inputs(rows)))
    alone = [np.ravel(model.predict(learner.inputs(row))) for row in rows[:, None]]
    n_others = int(np.sum(together != np.concatenate(alone)))
    if n_others:
        raise ValueError(
            f"predict must answer each row by itself, because the certificate is about the error "
            f"on one row, but {n_others} of {len(rows)} rows got another label alone than "
            f"together. Use a classifier whose predict neither looks at other rows of the batch "
            f"nor draws at random, or protocol=None, which certifies nothing."
        )
