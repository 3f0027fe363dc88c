"""Measures: what is computed, what is not and why; never a bound."""

import math
import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from torch import nn

from skbound import BoundedClassifier, TransformerClassifier
from skbound.bounds import Certificate
from skbound.collect import Probe, collect, layers_of, matrix, uncovered_parameters
from skbound.evidence import Architecture
from skbound.exceptions import MissingEvidenceError
from skbound.measures import MEASURES, ComplexityMeasure, Measure, measure, measure_all

X, Y = load_breast_cancer(return_X_y=True)
SMALL = TransformerClassifier(
    protocol="holdout", depth=1, width=8, n_heads=2, max_epochs=3, random_state=0
)


@pytest.fixture(scope="module")
def fitted():
    return clone(SMALL).fit(X, Y)


def test_after_fit_there_are_measures_and_none_is_a_certificate(fitted):
    measures = fitted.measures_
    assert {"parameter_count", "l2_norm", "spectral_product"} <= measures.keys()
    for key, value in measures.items():
        assert isinstance(value, Measure)
        assert not isinstance(value, Certificate)
        assert value.name == key
        assert value.why_no_bound
        assert value.source
    n_weights = sum(p.numel() for p in fitted.net_.module_.parameters())
    assert float(measures["parameter_count"]) == n_weights


def test_values_are_those_of_the_weights(fitted):
    weights = [m.weight for m in fitted.net_.module_.modules() if isinstance(m, nn.Linear)]
    norms = torch.stack([w.detach().double().norm() for w in weights])
    assert float(fitted.measures_["l2_norm"]) == pytest.approx(float(norms.norm()), rel=1e-12)
    largest = [torch.linalg.svdvals(w.detach().double())[0] for w in weights]
    expected = 2 * float(torch.stack(largest).log().sum())
    assert fitted.measures_["spectral_product"].log_value == pytest.approx(expected, rel=1e-5)


def test_every_parameter_is_covered_or_named(fitted):
    module = fitted.net_.module_
    covered = sum(layer.weight.size for layer in layers_of(module))
    assert covered + sum(uncovered_parameters(module).values()) == sum(
        p.numel() for p in module.parameters()
    )


def test_initial_weights_are_those_before_training(fitted):
    untrained = clone(SMALL).set_params(lr=1e-12, weight_decay=0.0).fit(X, Y)
    record = untrained._net_record()
    for layer in record.layers:
        np.testing.assert_allclose(layer.weight, layer.initial, atol=1e-9)
    assert any(np.abs(layer.change).max() > 1e-3 for layer in fitted._net_record().layers)


def test_the_full_catalogue_lists_what_it_leaves_out(fitted):
    found = measure_all(fitted, X, Y)
    assert set(found) | set(found.not_computed) == set(MEASURES)
    assert set(found) & set(found.not_computed) == set()
    table = found.to_frame()
    assert set(table.index) == set(MEASURES)
    assert all(found.not_computed.values())


def test_margins_are_signed_and_of_training_rows(fitted):
    logits = fitted.decision_function(X)
    record = fitted._net_record(X, Y, needs=["margins"])
    np.testing.assert_allclose(record.margins, np.where(Y == 1, logits, -logits), atol=1e-5)
    assert len(fitted._margins) == fitted.n_samples_fit_


def test_chunks_do_not_matter(fitted):
    probe = Probe(fitted.net_.module_, X, Y, fitted.tokenizer_.prepare)
    sizes = [sum(len(labels) for _, labels in probe.chunks(n)) for n in (1, 7, 1000)]
    assert sizes == [len(X)] * 3
    few = probe.few(50)
    assert few.n_samples == 50
    np.testing.assert_array_equal(few.X, probe.few(50).X)


def test_a_measure_of_ones_own(fitted):
    class DepthTimesWidth(ComplexityMeasure):
        key = "depth_times_width"
        source = "made up"
        why_no_bound = "It knows nothing about the data."

        def value(self, net):
            return net.architecture.depth * net.architecture.width

    found = measure_all(fitted, X, Y, [DepthTimesWidth()])
    assert found["depth_times_width"].value == 8.0
    assert found["depth_times_width"].log_value == pytest.approx(math.log(8.0))


def test_what_is_missing_is_named():
    module = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    record = collect(module, Architecture(n_parameters=26, n_classes=2), n_samples=10)
    with pytest.raises(MissingEvidenceError, match="margins of this net were not collected"):
        record.need("margins")
    with pytest.raises(MissingEvidenceError, match="initial weight of 0 was not recorded"):
        _ = record.layers[0].change
    with pytest.raises(ValueError, match="Pass X and y"):
        collect(module, Architecture(n_parameters=26, n_classes=2), n_samples=10, needs=["margins"])
    with pytest.raises(ValueError, match="needs must name some of"):
        collect(module, Architecture(n_parameters=26, n_classes=2), n_samples=10, needs=["luck"])
    assert measure(record)["parameter_count"].value == 26.0
    assert matrix(module[1]) is None


def test_a_black_box_reveals_no_net():
    clf = BoundedClassifier(LogisticRegression(max_iter=5000)).fit(X, Y)
    with pytest.raises(MissingEvidenceError, match="does not reveal one"):
        measure_all(clf, X, Y)
    with pytest.raises(ValueError, match="labels seen in fit"):
        measure_all(clone(SMALL).fit(X, Y), X, Y + 5)


def test_a_single_class_has_no_net():
    clf = clone(SMALL).fit(X, np.zeros(len(X)))
    with pytest.raises(MissingEvidenceError, match="single class"):
        _ = clf.measures_


def test_pickles_keep_the_measures(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    assert again.measures_ == fitted.measures_


@pytest.mark.parametrize("protocol", ["progressive", "pac_bayes", "cross_fit", "frozen_features"])
def test_every_protocol_leaves_a_net_to_measure(protocol):
    clf = clone(SMALL).set_params(protocol=protocol).fit(X, Y)
    assert clf.measures_["l2_norm"].value > 0.0
