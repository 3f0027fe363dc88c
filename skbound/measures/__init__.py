"""Complexity measures: numbers that may rank nets, and bound nothing.

A certificate is a theorem about the error of a predictor; a measure is an expression from a paper
or a habit of practice. Each says in `why_no_bound` what it lacks. The larger, the worse the net
should generalise.
"""

from skbound.measures._all import MEASURES, Measures, measure, measure_all
from skbound.measures._measure import ComplexityMeasure, LogMeasure, Measure
from skbound.measures._norms import L2Norm, ParameterCount, SpectralProduct

__all__ = [
    "MEASURES",
    "ComplexityMeasure",
    "L2Norm",
    "LogMeasure",
    "Measure",
    "Measures",
    "ParameterCount",
    "SpectralProduct",
    "measure",
    "measure_all",
]
