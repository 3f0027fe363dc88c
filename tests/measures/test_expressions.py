"""What all expressions of the founding documents have in common."""

import math

import numpy as np
import pytest
import torch
from sklearn.datasets import load_iris

from skbound import TransformerClassifier
from skbound.collect import Probe, collect
from skbound.evidence import Architecture
from skbound.measures import (
    MEASURES,
    AttentionDiffuseness,
    AttentionSharpness,
    AttentionSpan,
    BallCovering,
    CompositionCovering,
    DepthAverage,
    EdelmanCovering,
    FeedForwardPathNorm,
    InitialGradient,
    InitialScale,
    OffsetRademacher,
    PackingEstimate,
    ParametricCovering,
    SpectralProductRate,
    TransformerDataTerm,
    TransformerFormula,
    TransformerModelTerm,
    TraugerTewariCovering,
    TwoLayerPathNorm,
    VCPfaffian,
    VCPiecewiseLinear,
    measure,
)
from tests.measures.transformers import record, transformer

RULES = [
    *(AttentionDiffuseness(), AttentionSharpness(), AttentionSpan(), BallCovering()),
    *(CompositionCovering(), DepthAverage(), EdelmanCovering(), FeedForwardPathNorm()),
    *(InitialGradient(), InitialScale(), OffsetRademacher(), PackingEstimate()),
    *(ParametricCovering(), SpectralProductRate(), TransformerDataTerm(), TransformerFormula()),
    *(TransformerModelTerm(), TraugerTewariCovering(), VCPfaffian(), VCPiecewiseLinear()),
]
NEEDS = ("attention", "initial_state", "margins", "perturbed_logits", "tangent_kernel")


def test_all_of_them_are_in_the_catalogue():
    for rule in (*RULES, TwoLayerPathNorm()):
        assert MEASURES[rule.key] == rule or type(MEASURES[rule.key]) is type(rule)
        assert rule.why_no_bound.endswith(".")
        assert rule.source


def test_all_apply_to_a_transformer():
    found = measure(record(transformer(), *NEEDS, initial=transformer(1)), RULES)
    assert not found.not_computed
    assert not any(math.isnan(m.log_value) for m in found.values())


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_single_precision_gives_nearly_the_same(pooling):
    rules = [rule for rule in RULES if not isinstance(rule, (ParametricCovering, PackingEstimate))]
    nets = [
        record(cast(transformer(pooling=pooling)), *NEEDS, initial=cast(transformer(1)))
        for cast in (torch.nn.Module.double, torch.nn.Module.float)
    ]
    double, single = (measure(net, rules) for net in nets)
    for key, found in double.items():
        assert single[key].log_value == pytest.approx(found.log_value, rel=1e-4, abs=1e-4)


def test_all_apply_to_a_trained_classifier():
    X, y = load_iris(return_X_y=True)
    clf = TransformerClassifier(
        protocol="holdout", depth=1, width=8, n_heads=2, max_epochs=2, random_state=0
    ).fit(X, y)
    module = clf.net_.module_
    probe = Probe(module, X, np.asarray(y), clf.tokenizer_.prepare)
    net = collect(
        module,
        Architecture(
            n_parameters=sum(p.numel() for p in module.parameters()),
            n_classes=3,
            depth=1,
            width=8,
            n_heads=2,
            n_tokens=5,
        ),
        n_samples=len(X),
        # Any other net of the same shape does.
        initial=module,
        probe=probe,
        needs=NEEDS,
    )
    found = measure(net, RULES)
    assert not found.not_computed
    assert found["feed_forward_path_norm"].value == 0.0
    assert net.attention.n_tokens == 5
