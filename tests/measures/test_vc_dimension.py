import math

import numpy as np
import pytest

from skbound.evidence import Architecture, Layer, NetRecord
from skbound.measures import VCPfaffian, VCPiecewiseLinear


def net(n_samples=100, **sizes):
    weights = {"a": np.ones((4, 3)), "b": np.ones((2, 4))}
    layers = tuple(Layer(name=k, role=k, weight=w) for k, w in weights.items())
    found = {"n_parameters": 26, "n_classes": 2} | sizes
    return NetRecord(
        architecture=Architecture(**found), layers=layers, uncovered={}, n_samples=n_samples
    )


def test_closed_forms():
    assert VCPiecewiseLinear().value(net()) == pytest.approx(math.sqrt(26 * 2 * math.log(26) / 100))
    assert VCPfaffian().value(net()) == pytest.approx(26 * 6 / 10)
    sizes = {"n_tokens": 5, "depth": 1, "n_heads": 2}
    assert VCPfaffian().value(net(**sizes)) == pytest.approx(26 * (6 * 5 + 2 * 25) / 10)


@pytest.mark.parametrize("rule", [VCPfaffian(), VCPiecewiseLinear()])
def test_they_fall_as_the_root_of_the_rows(rule):
    assert rule.value(net(400)) == pytest.approx(rule.value(net(100)) / 2)
