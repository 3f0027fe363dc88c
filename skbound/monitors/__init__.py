"""Monitors: skorch callbacks that note numbers in ``history_`` after each epoch.

They are given as ``callbacks=``, see training rows and validation rows only, and certify nothing.
"""

from skbound.monitors._bound import BoundMonitor
from skbound.monitors._early_stopping import EffectiveL2Monitor
from skbound.monitors._gradients import GradientMonitor
from skbound.monitors._monitor import Monitor
from skbound.monitors._norms import NormMonitor
from skbound.monitors._parameters import ParameterMonitor
from skbound.monitors._stability import StabilityMonitor

__all__ = [
    "BoundMonitor",
    "EffectiveL2Monitor",
    "GradientMonitor",
    "Monitor",
    "NormMonitor",
    "ParameterMonitor",
    "StabilityMonitor",
]
