"""What every certified classifier shares: how evidence becomes attributes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from skbound.bounds import Bound, certificates, no_certificate, resolve_bound
from skbound.estimates import certified_error_estimate
from skbound.exceptions import SkboundWarning
from skbound.protocols import resolve_protocol

__all__ = ["CertifiedMixin", "FitHintMixin", "as_before_on_error"]


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


class FitHintMixin:
    """Say of a missing fitted attribute that ``fit`` sets it."""

    def __getattr__(self, name):
        # Only called for what is not there.
        if name.endswith("_") and not name.startswith("_") and "evidence_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no {name} before fit is called.")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class CertifiedMixin(FitHintMixin):
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
        by_name = protocol is None or isinstance(protocol, str)
        if by_name and any(name.startswith("protocol__") for name in params):
            params["protocol"] = resolve_protocol(protocol)
        self._check_nested(params)
        return super().set_params(**params)

    def _check_nested(self, params):
        """Refuse to reach into a parameter that has no parameters of its own."""
        own = self.get_params(deep=False)
        for name in params:
            head, nested, _ = name.partition("__")
            inside = params.get(head, own.get(head))
            if nested and head in own and not hasattr(inside, "set_params"):
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {type(self).__name__}: {head} has "
                    f"no parameters of its own. Valid parameters are: {sorted(own)}."
                )

    def _resolve(self):
        """Return the protocol, once it is sure that the bound can do with what it leaves behind."""
        protocol = resolve_protocol(self.protocol)
        example = getattr(protocol, "example", None)
        bound = resolve_bound(self.bound, example)
        if example is not None:
            bound.terms(example, 0.05)
        return protocol

    @property
    def bounds_(self):
        """Every certificate of the fit by its name, each alone at `delta`."""
        if self.evidence_.n_certified == 0:
            return {}
        return certificates(self.evidence_, self.certificate_.delta)

    def predict_log_proba(self, X):
        """Predict the logarithms of class probabilities.

        Parameters
        ----------
        X : array-like
            Rows as in fit.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns as in ``classes_``; minus infinity where a probability is 0.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _record(self, fit, evidence, *, warn=True):
        """Set the attributes that a fit leaves behind, apart from the predictor."""
        self.n_samples_fit_ = fit.n_fit
        self.n_samples_validation_ = fit.n_validation
        self.n_samples_certified_ = evidence.n_certified
        self._certify(evidence)
        if warn and evidence.n_certified == 0 and evidence.protocol != "all_rows":
            warnings.warn(f"Nothing is certified: {evidence.reason}", SkboundWarning, stacklevel=4)

    def _certify(self, evidence):
        """Compute every certificate from `evidence`."""
        self.evidence_ = evidence
        # What the fit was certified by, whatever its parameter is set to later.
        self._bound = self.bound
        if evidence.n_certified == 0:
            self.certificate_ = no_certificate(evidence, self.delta)
        else:
            self.certificate_ = resolve_bound(self.bound, evidence)(evidence, self.delta)
        self.generalization_bound_ = float(self.certificate_)
        self.predicted_error_ = certified_error_estimate(evidence)

    def _pay_for_choice(self, n_candidates, caveats=(), share=None, assumption=""):
        """Recompute the certificates of a predictor that was chosen among `n_candidates`."""
        assumptions = self.evidence_.assumptions
        if assumption and assumption not in assumptions:
            assumptions = (*assumptions, assumption)
        self._certify(
            replace(
                self.evidence_,
                n_candidates=n_candidates,
                share=share,
                caveats=caveats,
                assumptions=assumptions,
            )
        )
