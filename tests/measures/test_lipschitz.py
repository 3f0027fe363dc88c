import math

import numpy as np
import pytest

from skbound.measures import MEASURES, JacobianNorm, LipschitzLocalUpper, LipschitzUpper, measure
from tests.collect.nets import chain, probe_of, record, rows, table_probe

NEEDS = ("log_lipschitz_upper", "log_lipschitz_local_upper", "jacobian_norm")


def test_three_constants_are_in_order():
    net = record(table_probe(n=9), *NEEDS)
    seen, near, anywhere = (
        float(rule(net)) for rule in (JacobianNorm(), LipschitzLocalUpper(), LipschitzUpper())
    )
    assert 0.0 < seen <= near <= anywhere


def test_rescaling_a_chain_changes_none():
    module = chain(4, 5, 3)
    probe = probe_of(module, *rows(6, 4))
    rules = (JacobianNorm(), LipschitzLocalUpper(), LipschitzUpper())
    before = [float(rule(record(probe, *NEEDS))) for rule in rules]
    module[0].weight.data *= 4.0
    module[0].bias.data *= 4.0
    module[2].weight.data /= 4.0
    np.testing.assert_allclose([float(rule(record(probe, *NEEDS))) for rule in rules], before)


def test_what_overflows_keeps_its_logarithm():
    module = chain(2, 2, 2)
    for layer in module[::2]:
        layer.weight.data *= 1e200
    found = LipschitzUpper()(record(probe_of(module, *rows(3, 2, n_classes=2)), NEEDS[0]))
    assert found.value == math.inf
    assert found.log_value > 800.0


def test_the_whole_catalogue_says_what_it_leaves_out():
    probe = probe_of(chain(4, 5, 3), *rows(6, 4))
    needs = (*NEEDS, "gradients", "tangent_kernel", "attention_kernel", "features")
    net = record(probe, *needs, "chain_features", "downstream_norms")
    found = measure(net)
    assert set(found) | set(found.not_computed) == set(MEASURES)
    assert "this one has none" in found.not_computed["attention_kernel_rademacher"]
    assert found["riemannian_dimension"].value > 0.0
    assert not any(math.isnan(found[key].value) for key in ("prd_proxy", "kernel_fit"))
    # Its own numbers were collected from a net with no record of the start.
    assert found["jacobian_norm"].value == pytest.approx(net.jacobian_norm)
