import math

import numpy as np
import pytest

from skbound.evidence import Architecture, NetRecord, TangentKernel
from skbound.exceptions import MissingEvidenceError
from skbound.measures import (
    AttentionKernelMisalignment,
    AttentionKernelRademacher,
    DepthToWidth,
    KernelFit,
    KernelMisalignment,
    KernelRademacher,
    WidthCorrection,
    misalignment,
    rademacher_ball,
)
from tests.collect.nets import chain, probe_of, record, rows, table_probe


def kernel_of(features, codes, n_classes):
    """The kernel of logits that share features and have weights of their own."""
    gram = np.kron(features @ features.T, np.eye(n_classes))
    n_parameters = features.shape[1] * n_classes
    return TangentKernel(gram=gram, codes=codes, n_classes=n_classes, n_parameters=n_parameters)


def net_of(kernel, n_samples):
    return NetRecord(
        architecture=Architecture(n_parameters=1, n_classes=kernel.n_classes, depth=3, width=16),
        layers=(),
        uncovered={},
        n_samples=n_samples,
        tangent_kernel=kernel,
    )


def test_fit_is_the_least_norm_that_gives_the_labels():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(6, 9)), rng.integers(3, size=6)
    net = net_of(kernel_of(X, codes, 3), 6)
    targets = np.eye(3)[codes] - 1.0 / 3.0
    weights = np.linalg.lstsq(X, targets)[0]
    expected = math.sqrt(2.0 * (weights**2).sum() / 6)
    assert float(KernelFit()(net)) == pytest.approx(expected)
    # Twice the features need half the weights.
    assert float(KernelFit()(net_of(kernel_of(2 * X, codes, 3), 6))) == pytest.approx(expected / 2)


def test_labels_out_of_reach_are_infinitely_far():
    codes = np.array([0, 1, 0, 1])
    same = np.ones((4, 1))
    assert float(KernelFit()(net_of(kernel_of(same, codes, 2), 4))) == math.inf


def test_complexity_is_the_root_of_the_trace_and_at_least_that_of_the_ball():
    rng = np.random.default_rng(1)
    X, codes = rng.normal(size=(5, 3)), rng.integers(2, size=5)
    kernel = kernel_of(X, codes, 2)
    value = float(KernelRademacher(radius=3.0)(net_of(kernel, 5)))
    assert value == pytest.approx(3.0 / 5.0 * math.sqrt(np.trace(kernel.gram)))
    # The ball's own function counts rows times classes as rows.
    drawn = float(rademacher_ball(kernel.gram, radius=3.0, n_draws=4000)) * 2
    assert value / math.sqrt(2.0) <= drawn <= value
    assert float(KernelRademacher()(net_of(kernel, 500))) == pytest.approx(value / 30.0)


def test_alignment_knows_the_classes():
    codes = np.array([0, 0, 1, 1, 2, 2])
    perfect = kernel_of(np.eye(3)[codes], codes, 3)
    assert misalignment(perfect) == pytest.approx(0.0, abs=1e-12)
    crossed = kernel_of(np.eye(2)[[0, 1, 0, 1, 0, 1]], codes, 3)
    assert misalignment(crossed) == pytest.approx(1.0)
    assert math.isnan(misalignment(kernel_of(np.ones((6, 1)), codes, 3)))


def test_alignment_ignores_scale_and_shift():
    rng = np.random.default_rng(2)
    X, codes = rng.normal(size=(6, 4)), np.array([0, 1, 0, 1, 1, 0])
    kernel = kernel_of(X, codes, 2)
    assert 0.0 < misalignment(kernel) < 1.0
    moved = kernel_of(5.0 * (X - 3.0), codes, 2)
    assert misalignment(moved) == pytest.approx(misalignment(kernel))


def test_all_of_them_on_a_transformer():
    net = record(table_probe(n=8), "tangent_kernel", "attention_kernel", depth=2, width=8)
    rules = (KernelRademacher(), AttentionKernelRademacher(), KernelFit(), KernelMisalignment())
    values = [float(rule(net)) for rule in (*rules, AttentionKernelMisalignment())]
    assert np.isfinite(values).all()
    assert values[1] < values[0]


def test_rescaling_two_layers_changes_the_kernel():
    module = chain(4, 5, 3)
    probe = probe_of(module, *rows(7, 4))
    before = float(KernelRademacher()(record(probe, "tangent_kernel")))
    module[0].weight.data *= 4.0
    module[0].bias.data *= 4.0
    module[2].weight.data /= 4.0
    assert float(KernelRademacher()(record(probe, "tangent_kernel"))) > 1.5 * before


def test_width_and_depth():
    X = np.eye(2)
    net = net_of(kernel_of(X, np.array([0, 1]), 2), 2)
    assert float(WidthCorrection()(net)) == 0.25
    assert float(DepthToWidth()(net)) == 3 / 16
    plain = record(probe_of(chain(3, 2), *rows(2, 3, n_classes=2)))
    for rule in (WidthCorrection(), DepthToWidth()):
        with pytest.raises(MissingEvidenceError, match="Architecture"):
            rule(plain)


def test_sizes_must_fit():
    with pytest.raises(ValueError, match="6 in all"):
        TangentKernel(gram=np.eye(4), codes=np.zeros(3, int), n_classes=2, n_parameters=1)
