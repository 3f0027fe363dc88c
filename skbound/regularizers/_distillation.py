"""Train on what an ensemble, or a given classifier, says of the training rows."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skbound.regularizers._base import Regularizer
from skbound.regularizers._schedules import check_strength

__all__ = ["Distillation"]

_GIVEN_TEACHER = (
    "The rows that the given teacher of the distillation was fitted on are none of the certified "
    "rows."
)


class Distillation(Regularizer):
    """Blend the labels of the training rows with the probabilities of a teacher.

    A row is trained on as ``(1 - share) * label + share * q``, where q are the teacher's
    probabilities raised to ``1 / temperature`` and scaled to sum 1.

    Parameters
    ----------
    teacher : fitted classifier or None, default=None
        With ``predict_proba`` and the same labels. None trains an ensemble inside each fit, on the
        very rows that the net itself is trained on. A given teacher is kept as it is, not cloned.
    n_members : int, default=3
        Nets in that ensemble, of the same shape, trained in the same way from other initial
        weights; their probabilities are averaged.
    share : float, default=0.5
        Weight of the teacher, in [0, 1].
    temperature : float, default=2.0
        Numbers above 1 show more of what a sure teacher thinks of the other classes.

    Notes
    -----
    A certificate is about rows that nothing of the training has seen. For the ensemble this is so
    by construction. For a given teacher nobody can check it, so that certificates list it among
    their assumptions. A teacher that was fitted on all rows of the data breaks it.

    References
    ----------
    Hinton, Vinyals, Dean 2015. The student's own logits are not divided by the temperature here.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skbound import TransformerClassifier
    >>> from skbound.regularizers import Distillation
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = TransformerClassifier(
    ...     depth=1, width=16, max_epochs=5, regularizers=(Distillation(n_members=2),),
    ...     random_state=0,
    ... ).fit(X, y)
    >>> clf.generalization_bound_ < 0.2
    True
    """

    def __init__(self, teacher=None, n_members=3, share=0.5, temperature=2.0):
        self.teacher = teacher
        self.n_members = n_members
        self.share = share
        self.temperature = temperature

    def __sklearn_clone__(self):
        # The usual clone would forget what a fitted teacher has learnt.
        params = {name: clone(value, safe=False) for name, value in self._rest().items()}
        return type(self)(teacher=self.teacher, **params)

    def _rest(self):
        params = self.get_params(deep=False)
        del params["teacher"]
        return params

    @property
    def assumptions(self):
        """What a certificate rests on besides."""
        return () if self.teacher is None else (_GIVEN_TEACHER,)

    def check(self, shape):
        """Refuse parameters out of range; see :meth:`Regularizer.check`."""
        check_strength("n_members", self.n_members, 1, integer=True)
        for name, low, high in (("share", 0.0, 1.0), ("temperature", 0.0, 1e6)):
            value = getattr(self, name)
            check_strength(name, value, low, high, open_low=name == "temperature")
        if self.teacher is None:
            return
        if isinstance(self.teacher, type) or not hasattr(self.teacher, "predict_proba"):
            raise ValueError(
                f"teacher must be a fitted classifier with predict_proba, or None, got "
                f"{self.teacher!r}."
            )
        check_is_fitted(self.teacher)
        if hasattr(self.teacher, "feature_names_in_"):
            raise ValueError(
                "teacher was fitted on named columns, but is asked about an array, whose columns "
                "have no names. Fit it on an array, such as X.to_numpy()."
            )

    def on_rows(self, labels, rows, *, n_classes, generator):
        """Blend the labels; see :meth:`Regularizer.on_rows`."""
        if self.teacher is None:
            logs = self._log_ensemble(rows, generator)
        else:
            logs = self._log_given(rows).to(labels.device)
        shares = labels if labels.ndim == 2 else F.one_hot(labels, n_classes)
        blend = (1.0 - self.share) * shares + self.share * F.softmax(logs / self.temperature, 1)
        return blend.to(rows.dtype)

    def _log_ensemble(self, rows, generator):
        """Return the logarithms of the mean probabilities of nets trained here."""
        seed = int(torch.randint(2**31 - 1, (1,), generator=generator))
        seeds = np.random.default_rng([seed, 0]).integers(2**31 - 1, size=self.n_members)
        logs = [F.log_softmax(rows.train_another(int(s)).double(), dim=1) for s in seeds]
        return torch.logsumexp(torch.stack(logs), dim=0) - np.log(len(logs))

    def _log_given(self, rows):
        """Return the logarithms of the given teacher's probabilities."""
        known = np.asarray(self.teacher.classes_)
        if not np.array_equal(known, rows.classes):
            raise ValueError(
                f"teacher must know the same labels as the data, {rows.classes.tolist()}, got "
                f"{known.tolist()}."
            )
        probabilities = np.asarray(self.teacher.predict_proba(rows.inputs()), dtype=np.float64)
        if not np.isfinite(probabilities).all():
            raise ValueError("teacher's probabilities must be finite, got others for some rows.")
        return torch.from_numpy(np.log(np.maximum(probabilities, np.finfo(np.float64).tiny)))
