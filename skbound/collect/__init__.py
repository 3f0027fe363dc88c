"""The only code that turns a torch module into numbers."""

from skbound.collect._collect import GATHER, collect
from skbound.collect._layers import layers_of, matrix, uncovered_parameters
from skbound.collect._probe import Probe

__all__ = ["GATHER", "Probe", "collect", "layers_of", "matrix", "uncovered_parameters"]
