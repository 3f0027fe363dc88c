"""What a fitted net shows of itself: complexity measures and diagnostics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skbound._inputs import check_labels
from skbound.collect import Probe, collect
from skbound.evidence import Architecture
from skbound.exceptions import MissingEvidenceError
from skbound.inspection import DIAGNOSTICS_NEED, Diagnostics
from skbound.measures import measure

__all__ = ["MeasuredMixin", "a_few_rows", "training_error", "training_margins"]

# Margins of more rows than these tell nothing new.
_MOST_MARGINS = 10_000
# Training rows that are kept to look at gradients, features and attention with.
_FEW = 128


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

    @property
    def diagnostics_(self):
        """Numbers about the net: norms, ranks, margins, gradients, attention, Lipschitz constants.

        Computed when asked for, on 128 training rows that the fit has kept. None of them is a
        bound on the error. Where several nets answer together, errors are those of all of them
        and the rest is about the last.
        """
        check_is_fitted(self)
        probe = None
        if self._few_rows is not None and self.net_ is not None:
            probe = Probe(self.net_.module_, *self._few_rows, self.tokenizer_.prepare)
        net = self._collected(probe, DIAGNOSTICS_NEED if probe is not None else ())
        return Diagnostics(
            net=replace(net, margins=self._margins),
            evidence=self.evidence_,
            certificate_value=self.generalization_bound_,
            delta=self.certificate_.delta,
            n_rows=0 if probe is None else probe.n_samples,
            training_error=self._training_error,
            params=self.get_params(deep=False),
        )

    def _net_record(self, X=None, y=None, *, needs=()):
        """Return what is known about the net, on rows if there are any."""
        check_is_fitted(self)
        probe = None
        if X is not None and self.net_ is not None:
            rows, codes = self._check_rows(X, reset=False), self._codes(y)
            probe = Probe(self.net_.module_, rows, codes, self.tokenizer_.prepare)
        return self._collected(probe, needs)

    def _collected(self, probe, needs):
        """Return what is known about the net."""
        if self.net_ is None:
            raise MissingEvidenceError(
                "There was a single class in fit, so no net was trained that could be measured."
            )
        module = self.net_.module_
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
    rows = _some(len(codes), _MOST_MARGINS)
    logits, codes = model.logits(X[rows]), codes[rows]
    own = np.take_along_axis(logits, codes[:, None], axis=1)[:, 0]
    np.put_along_axis(logits, codes[:, None], -np.inf, axis=1)
    return own - logits.max(axis=1)


def training_error(several, X, codes):
    """Return the error of several nets together, on at most 10,000 rows that all trained on.

    Parameters
    ----------
    several : TransformerEnsemble or TransformerMixture
        What predict uses.
    X : ndarray of shape (n_samples, ...)
        Rows that the last of them was trained on.
    codes : ndarray of int of shape (n_samples,)
        Numbers of their classes.

    Returns
    -------
    float
        NaN where the nets were trained on different rows.
    """
    last = several.parts[-1]
    if not all(np.array_equal(part.rows, last.rows) for part in several.parts):
        return float("nan")
    rows = _some(len(codes), _MOST_MARGINS)
    return float(np.mean(several.logits(X[rows]).argmax(axis=1) != codes[rows]))


def a_few_rows(X, codes):
    """Return some training rows with the numbers of their classes.

    Parameters
    ----------
    X : ndarray of shape (n_samples, ...)
        Rows that a net was trained on.
    codes : ndarray of int of shape (n_samples,)
        Numbers of their classes.

    Returns
    -------
    X, codes : ndarray
        Copies of at most 128 rows.
    """
    rows = _some(len(codes), _FEW)
    return np.array(X[rows]), np.array(codes[rows])


def _some(n_samples, n_rows):
    """Return places of rows, drawn by the number of rows alone."""
    if n_rows >= n_samples:
        return np.arange(n_samples)
    return np.sort(np.random.default_rng(0).choice(n_samples, n_rows, replace=False))


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
