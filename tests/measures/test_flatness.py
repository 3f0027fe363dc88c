"""PAC-Bayes terms, sharpness and margins over epochs from numbers."""

import copy
import math

import numpy as np
import pytest
import torch

from skbound.collect import collect
from skbound.evidence import Architecture, LossAscent, ParameterVectors
from skbound.exceptions import MissingEvidenceError
from skbound.measures import (
    BallSharpness,
    BoxSharpness,
    FisherRao,
    InverseMargin,
    MarginOverEpochs,
    NoiseFlatness,
    PACBayesMagnitude,
    PACBayesNorm,
    PathNorm,
    measure,
)
from tests.collect.chains import chain, probe_of
from tests.measures.records import net_of, random_matrices

W = np.array([3.0, -1.0, 0.5])
W0 = np.array([1.0, 1.0, 0.5])
NET = net_of(
    random_matrices(),
    parameters=ParameterVectors(trained=W, initial=W0),
    noise_scale=0.5,
    relative_noise_scale=0.2,
    sharpness=LossAscent(loss=0.25, in_ball=0.1, in_box=0.05),
    fisher_rao=9.0,
    path_norm=6.0,
    n_samples=50,
    margins=np.full(10, 2.0),
)


def test_noise_is_a_standard_deviation():
    assert NoiseFlatness()(NET).value == pytest.approx(4.0)
    assert NoiseFlatness(magnitude=True)(NET).value == pytest.approx(25.0)
    rest = math.log(50 / 0.5) + 10.0
    assert PACBayesNorm()(NET).value == pytest.approx(8.0 / (4 * 0.25) + rest)
    assert PACBayesNorm("origin")(NET).value == pytest.approx(10.25 / (4 * 0.25) + rest)


@pytest.mark.parametrize(("reference", "squares"), [("initial", 8.0), ("origin", 10.25)])
def test_magnitudes(reference, squares):
    total = sum(
        math.log((1e-6 + 1.04 * squares / 3) / (1e-6 + 0.04 * (a - b) ** 2))
        for a, b in zip(W, W0, strict=True)
    )
    expected = total / 4 + math.log(50 / 0.2) + 10.0
    assert PACBayesMagnitude(reference)(NET).value == pytest.approx(expected)


def test_sharpness_fisher_rao_and_paths():
    assert BallSharpness()(NET).value == 0.1
    assert BoxSharpness()(NET).value == pytest.approx(4.0)
    assert FisherRao()(NET).value == 3.0
    assert PathNorm()(NET).value == pytest.approx(6.0)
    assert PathNorm(over_margin=True)(NET).value == pytest.approx(1.5)
    assert InverseMargin()(NET).value == pytest.approx(0.25)


def test_margins_over_epochs():
    epochs = tuple(net_of([s * np.eye(2)] * 2, margins=np.full(5, m)) for s, m in ((1, -2), (2, 8)))
    net = net_of(random_matrices(), epochs=epochs)
    assert MarginOverEpochs()(net).value == -3.0
    assert MarginOverEpochs(normalized=True)(net).value == pytest.approx(-(-2 + 8 / 4) / 2)
    with pytest.raises(MissingEvidenceError, match="epochs"):
        MarginOverEpochs()(NET)


def test_from_a_net():
    net = chain()
    initial = copy.deepcopy(net)
    with torch.no_grad():
        net[0].weight.mul_(2.0)
    probe = probe_of(net, snapshots=(initial, net))
    needs = ["parameters", "epochs", "margins", "path_norm", "convolutions"]
    record = collect(
        net,
        Architecture(n_parameters=69, n_classes=3),
        n_samples=30,
        initial=initial,
        probe=probe,
        needs=needs,
    )
    np.testing.assert_array_equal(record.epochs[1].margins, record.margins)
    assert record.parameters.change @ record.parameters.change == pytest.approx(
        float(initial[0].weight.detach().square().sum())
    )
    found = measure(record)
    distance = np.linalg.norm(record.parameters.change)
    assert found["l2_distance"].value == pytest.approx(distance)
    expected = -np.mean([np.quantile(e.margins, 0.1, method="inverted_cdf") for e in record.epochs])
    assert found["margin_over_epochs"].value == pytest.approx(expected)
    assert "no convolutions" in found.not_computed["exact_spectral_product"]


def test_what_was_not_kept_is_listed_with_its_reason():
    net = chain()
    needs = ["parameters", "epochs", "margins"]
    record = collect(
        net,
        Architecture(n_parameters=69, n_classes=3),
        n_samples=30,
        probe=probe_of(net),
        needs=needs,
    )
    found = measure(record)
    assert "as snapshots" in found.not_computed["margin_over_epochs"]
    with pytest.raises(MissingEvidenceError, match="initial parameters were not recorded"):
        _ = record.parameters.change
