"""What the bound may come out at, estimated from validation rows."""

from __future__ import annotations

import math
from numbers import Integral, Real

from skbound.bounds import binomial_tail_inverse
from skbound.monitors._monitor import Monitor

__all__ = ["BoundMonitor"]


class BoundMonitor(Monitor):
    """Estimate after each epoch at what a binomial bound may come out if training stopped there.

    ``history_`` gets ``estimated_error``, the share of errors on the validation rows, and
    ``estimated_bound``, the binomial bound for that share among `n_certified` rows. Both are
    estimates. The validation rows decide when to stop, so no theorem holds on them; the
    certificate is computed once, after training, from rows that no callback ever sees.

    Parameters
    ----------
    n_certified : int or None, default=None
        Rows that will be certified; None takes the number of validation rows.
    delta : float, default=0.05
        As for the classifier, in [1e-300, 1).

    Raises
    ------
    ValueError
        When a training begins, if there are no validation rows.

    Notes
    -----
    It reads the predictions of the validation that takes place anyway, and costs next to nothing.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skbound import TransformerClassifier
    >>> from skbound.monitors import BoundMonitor
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = TransformerClassifier(
    ...     depth=1, width=8, max_epochs=3, early_stopping=True, random_state=0,
    ...     callbacks=[BoundMonitor(n_certified=228)],
    ... ).fit(X, y)
    >>> all(row["estimated_bound"] > row["estimated_error"] for row in clf.history_)
    True
    """

    def __init__(self, n_certified=None, delta=0.05):
        self.n_certified = n_certified
        self.delta = delta

    def on_train_begin(self, net, **kwargs):
        """Refuse a training without validation rows."""
        if not isinstance(self.delta, Real) or not 1e-300 <= self.delta < 1.0:
            raise ValueError(f"delta must be a number in [1e-300, 1), got {self.delta!r}.")
        if self.n_certified is not None and (
            not isinstance(self.n_certified, Integral) or self.n_certified < 1
        ):
            raise ValueError(
                f"n_certified must be an integer of at least 1, or None, got {self.n_certified!r}."
            )
        if net.train_split is None:
            raise ValueError(
                "BoundMonitor needs validation rows, and reads no others. Use early_stopping=True, "
                "which sets some of the training rows aside; n_iter_no_change=max_epochs then "
                "never stops."
            )
        self.n_wrong_ = self.n_rows_ = 0

    def on_batch_end(self, net, batch=None, training=None, y_pred=None, **kwargs):
        """Count the errors of a batch of validation rows."""
        if training:
            return
        _, (labels, _) = batch
        self.n_wrong_ += int((y_pred.argmax(dim=1) != labels).sum())
        self.n_rows_ += len(labels)

    def on_epoch_end(self, net, **kwargs):
        """Record both estimates, and begin anew."""
        share = self.n_wrong_ / self.n_rows_
        n = self.n_rows_ if self.n_certified is None else self.n_certified
        bound = binomial_tail_inverse(round(share * n), n, log_delta=math.log(self.delta))
        self.record(net, "estimated_error", share)
        self.record(net, "estimated_bound", bound)
        self.n_wrong_ = self.n_rows_ = 0
