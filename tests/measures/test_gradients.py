import numpy as np
import pytest

from skbound.evidence import Architecture, GradientNorms, NetRecord
from skbound.measures import GradientPerRow, GradientVariance, MeanGradient, MeanSquaredGradient
from tests.collect.nets import chain, probe_of, record, rows
from tests.collect.test_gradients import one_by_one

ALL = (MeanSquaredGradient(), GradientPerRow(), MeanGradient(), GradientVariance())


def test_values_by_hand():
    net = NetRecord(
        architecture=Architecture(n_parameters=3, n_classes=2),
        layers=(),
        uncovered={},
        n_samples=4,
        gradients=GradientNorms(per_row=np.array([3.0, 4.0]), of_mean=2.0),
    )
    assert [float(rule(net)) for rule in ALL] == [12.5, 3.125, 2.0, 8.5]


def test_variance_is_that_of_the_gradients():
    probe = probe_of(chain(4, 5, 3), *rows(7, 4))
    gradients = one_by_one(probe)
    expected = ((gradients - gradients.mean(axis=0)) ** 2).sum(axis=1).mean()
    assert float(GradientVariance()(record(probe, "gradients"))) == pytest.approx(expected)


def test_rescaling_two_layers_changes_all_of_them():
    module = chain(4, 5, 3, bias=False)
    probe = probe_of(module, *rows(7, 4))
    before = [float(rule(record(probe, "gradients"))) for rule in ALL]
    first = np.linalg.norm(one_by_one(probe)[:, :20], axis=1)
    module[0].weight.data *= 2.0
    module[2].weight.data /= 2.0
    after = [float(rule(record(probe, "gradients"))) for rule in ALL]
    np.testing.assert_allclose(np.linalg.norm(one_by_one(probe)[:, :20], axis=1), first / 2.0)
    assert not np.isclose(before, after).any()
