"""PAC-Bayes terms: how much noise on the parameters a net endures.

``s`` is the largest standard deviation of normal noise that raises the mean training error by at
most 0.1, ``s'`` the same for noise in proportion to a parameter's size, ``m`` the number of rows.
All trained parameters get noise and count, not weight matrices only. Rescaling layers of a ReLU
chain against each other changes all of them, also those with ``s'``: the constant part of their
noise is not rescaled, and distances are not.
"""

from __future__ import annotations

import math

import numpy as np

from skbound.evidence import NetRecord
from skbound.measures._layer_norms import JIANG
from skbound.measures._measure import ComplexityMeasure

__all__ = ["NoiseFlatness", "PACBayesMagnitude", "PACBayesNorm"]

# Variance of the noise on a parameter of size 0, as in the search for s'.
_FLOOR = 1e-3**2
_SEARCHED = "The noise was chosen by the rows that it is measured on, and constants are left out."


def _scale(net: NetRecord, field: str) -> float:
    net.need(field)
    return float(getattr(net, field))


def _squares(net: NetRecord, reference: str) -> float:
    net.need("parameters")
    assert net.parameters is not None
    vector = net.parameters.change if reference == "initial" else net.parameters.trained
    return float(vector @ vector)


class NoiseFlatness(ComplexityMeasure):
    """One over the squared scale of noise, ``1 / s^2``: the sharper the minimum, the larger.

    Parameters
    ----------
    magnitude : bool, default=False
        Whether noise is in proportion to each parameter's size.
    """

    why_no_bound = _SEARCHED

    def __init__(self, *, magnitude: bool = False) -> None:
        self.field = "relative_noise_scale" if magnitude else "noise_scale"
        self.key = "pac_bayes_mag_flatness" if magnitude else "pac_bayes_flatness"
        self.depends_on = (self.field,)
        self.source = JIANG.format("eq. 61" if magnitude else "eq. 53")

    def value(self, net: NetRecord) -> float:
        """Return the inverse square."""
        return _scale(net, self.field) ** -2.0


class PACBayesNorm(ComplexityMeasure):
    """``||w - w0||^2 / (4 s^2) + ln(m / s) + 10``.

    Parameters
    ----------
    reference : {"initial", "origin"}, default="initial"
        Distance of all trained parameters from where training began, or from 0.
    """

    depends_on = ("parameters", "noise_scale")
    why_no_bound = _SEARCHED

    def __init__(self, reference: str = "initial") -> None:
        self.reference = reference
        self.key = {"initial": "pac_bayes_init", "origin": "pac_bayes_orig"}[reference]
        self.source = JIANG.format({"initial": "eq. 48", "origin": "eq. 49"}[reference])

    def value(self, net: NetRecord) -> float:
        """Return the sum."""
        sigma, squares = _scale(net, "noise_scale"), _squares(net, self.reference)
        return squares / (4.0 * sigma**2) + math.log(net.n_samples / sigma) + 10.0


class PACBayesMagnitude(ComplexityMeasure):
    """A sum over parameters of logarithms of variances, for noise in proportion to their size.

    ``(1/4) sum_i ln[(e^2 + (s'^2 + 1) ||w - w0||^2 / k) / (e^2 + s'^2 (w_i - w0_i)^2)]
    + ln(m / s') + 10`` with ``k`` parameters and ``e = 1e-3``.

    Parameters
    ----------
    reference : {"initial", "origin"}, default="initial"
        Norm in the numerator: of ``w - w0`` or of ``w``. The denominator has ``w - w0`` in both.

    Notes
    -----
    As published. The noise of the search is in proportion to ``w_i``, the denominator to its
    change: they fit together only where training began near 0.
    """

    depends_on = ("parameters", "relative_noise_scale")
    why_no_bound = _SEARCHED

    def __init__(self, reference: str = "initial") -> None:
        self.reference = reference
        self.key = {"initial": "pac_bayes_mag_init", "origin": "pac_bayes_mag_orig"}[reference]
        self.source = JIANG.format({"initial": "eq. 56", "origin": "eq. 57"}[reference])

    def value(self, net: NetRecord) -> float:
        """Return the sum."""
        sigma, squares = _scale(net, "relative_noise_scale"), _squares(net, self.reference)
        assert net.parameters is not None
        change = net.parameters.change
        over = _FLOOR + (sigma**2 + 1.0) * squares / len(change)
        logs = math.log(over) - np.log(_FLOOR + sigma**2 * change**2)
        return 0.25 * math.fsum(logs) + math.log(net.n_samples / sigma) + 10.0
