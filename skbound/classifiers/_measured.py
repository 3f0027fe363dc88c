"""What a fitted net shows of itself: complexity measures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skbound._inputs import check_labels
from skbound.collect import Probe, collect
from skbound.evidence import Architecture
from skbound.exceptions import MissingEvidenceError
from skbound.measures import measure

__all__ = ["MeasuredMixin", "training_margins"]

# Margins of more rows than these tell nothing new.
_MOST_MARGINS = 10_000


class MeasuredMixin:
    """Measures of the net in ``net_``."""

    @property
    def measures_(self):
        """Complexity measures from weights and training margins, by key; none of them a bound.

        Computed when asked for. What needs rows is listed in ``measures_.not_computed``;
        :func:`skbound.measures.measure_all` computes it. Where several nets answer together, they
        are those of the last.
        """
        check_is_fitted(self)
        return measure(replace(self._net_record(), margins=self._margins))

    def _net_record(self, X=None, y=None, *, needs=()):
        """Return what is known about the net, on rows if there are any."""
        check_is_fitted(self)
        if self.net_ is None:
            raise MissingEvidenceError(
                "There was a single class in fit, so no net was trained that could be measured."
            )
        module = self.net_.module_
        probe = None
        if X is not None:
            rows, codes = self._check_rows(X, reset=False), self._codes(y)
            probe = Probe(module, rows, codes, self.tokenizer_.prepare)
        return collect(
            module,
            _architecture(module, len(self.classes_)),
            n_samples=self.n_samples_fit_,
            initial=self._initial,
            probe=probe,
            needs=needs,
        )

    def _codes(self, y):
        """Return the numbers of the classes of labels."""
        y = check_labels(y)
        codes = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)
        if not np.array_equal(self.classes_[codes], y):
            unknown = sorted(set(y.tolist()) - set(self.classes_.tolist()), key=str)
            raise ValueError(f"y must hold labels seen in fit, got {unknown} too.")
        return codes


def training_margins(model, X, codes):
    """Return margins on training rows, at most 10,000 of them.

    Parameters
    ----------
    model : FittedTransformer
        Trained.
    X : ndarray of shape (n_samples, ...)
        Rows that it was trained on.
    codes : ndarray of int of shape (n_samples,)
        Numbers of their classes.

    Returns
    -------
    ndarray or None
        Logit of the label minus the largest other logit; None for a single class.
    """
    if model.net is None:
        return None
    probe = Probe(model.net.module_, X, codes, model.tokenizer.prepare).few(_MOST_MARGINS)
    logits = model.logits(probe.X)
    own = np.take_along_axis(logits, probe.codes[:, None], axis=1)[:, 0]
    np.put_along_axis(logits, probe.codes[:, None], -np.inf, axis=1)
    return own - logits.max(axis=1)


def _architecture(module, n_classes):
    """Return the sizes of a Transformer."""
    return Architecture(
        n_parameters=sum(p.numel() for p in module.parameters()),
        n_classes=n_classes,
        depth=len(module.blocks),
        width=module.norm_head.normalized_shape[0],
        n_heads=module.blocks[0].attention.n_heads if len(module.blocks) else None,
        n_tokens=module.embedding.n_tokens,
    )
