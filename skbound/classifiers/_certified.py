"""What every certified classifier shares: how evidence becomes attributes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from skbound.bounds import HOLDOUT_BOUNDS, Bound, holdout_certificates, no_certificate
from skbound.estimates import certified_error_estimate
from skbound.evidence import Sample
from skbound.protocols import resolve_protocol

__all__ = ["CertifiedMixin", "as_before_on_error", "resolve_bound", "sample_of"]


@contextmanager
def as_before_on_error(estimator) -> Iterator[None]:
    """Leave `estimator` exactly as it was if the body raises.

    Parameters
    ----------
    estimator : object
        Its attributes are restored.

    Yields
    ------
    None
        While the body runs.
    """
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def resolve_bound(bound):
    """Return the bound object that a parameter value stands for.

    Parameters
    ----------
    bound : str or Bound
        "auto" is the exact binomial tail.

    Returns
    -------
    Bound
        On the error of ``predict``.

    Raises
    ------
    ValueError
        If the name is unknown or the bound is about another loss.
    """
    if isinstance(bound, str):
        name = "binomial" if bound == "auto" else bound
        if name not in HOLDOUT_BOUNDS:
            raise ValueError(
                f"bound must be one of {['auto', *HOLDOUT_BOUNDS]} or a Bound object, got "
                f"{bound!r}."
            )
        return HOLDOUT_BOUNDS[name]
    if not isinstance(bound, Bound):
        raise ValueError(
            f"bound must be one of {['auto', *HOLDOUT_BOUNDS]} or a Bound object, got {bound!r}."
        )
    if bound.loss != "zero_one":
        raise ValueError(
            f"generalization_bound_ is about the error of predict, got a bound on the "
            f"{bound.loss!r} loss. Those certificates are in bounds_, for example "
            f"bounds_['brier_kl']."
        )
    return bound


def sample_of(rows, codes, predicted, probabilities):
    """Return the losses of predictions as a Sample.

    Parameters
    ----------
    rows : ndarray of int of shape (n_samples,)
        Positions in the data given to fit.
    codes, predicted : ndarray of int of shape (n_samples,)
        True and predicted positions in ``classes_``.
    probabilities : ndarray of shape (n_samples, n_classes) or None
        Predicted probabilities, if there are any.

    Returns
    -------
    Sample
        0-1 losses and, with probabilities, half the Brier score.
    """
    brier = None
    if probabilities is not None:
        one_hot = np.eye(probabilities.shape[1])[codes]
        # Rounding can push a loss of exactly 1 beyond 1; NaN stays NaN and is refused by Sample.
        brier = np.clip(0.5 * ((probabilities - one_hot) ** 2).sum(axis=1), 0.0, 1.0)
    return Sample(rows=rows, zero_one=predicted != codes, brier=brier)


class CertifiedMixin:
    """Turn evidence into ``generalization_bound_`` and its companions."""

    protocol: Any
    bound: str | Bound
    delta: float

    def set_params(self, **params):
        """Set parameters, also of a protocol that was given by its name.

        Parameters
        ----------
        **params : dict
            As in scikit-learn; ``protocol__fraction=0.3`` works with ``protocol="holdout"`` too.

        Returns
        -------
        estimator
            Itself.
        """
        protocol = params.get("protocol", self.protocol)
        if isinstance(protocol, str) and any(name.startswith("protocol__") for name in params):
            params["protocol"] = resolve_protocol(protocol)
        return super().set_params(**params)

    def _record(self, fit, evidence):
        """Set the attributes that a fit leaves behind, apart from the predictor."""
        self.n_samples_fit_ = fit.n_fit
        self.n_samples_validation_ = fit.n_validation
        self.n_samples_certified_ = evidence.n_certified
        self._certify(evidence)

    def _certify(self, evidence):
        """Compute every certificate from `evidence`."""
        self.evidence_ = evidence
        if evidence.certified is None:
            self.certificate_ = no_certificate(evidence, self.delta)
            self.bounds_ = {}
        else:
            self.certificate_ = resolve_bound(self.bound)(evidence, self.delta)
            self.bounds_ = holdout_certificates(evidence, self.delta)
        self.generalization_bound_ = float(self.certificate_)
        self.predicted_error_ = certified_error_estimate(evidence)

    def _pay_for_choice(self, n_candidates, assumptions=()):
        """Recompute the certificates of a predictor that was chosen among `n_candidates`."""
        self._certify(
            replace(
                self.evidence_,
                n_candidates=n_candidates,
                assumptions=(*self.evidence_.assumptions, *assumptions),
            )
        )
