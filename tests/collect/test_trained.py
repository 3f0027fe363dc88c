import math

import numpy as np
from sklearn.datasets import load_iris

from skbound import TransformerClassifier
from skbound.collect import GATHER, Probe, collect, per_input
from skbound.evidence import Architecture
from skbound.measures import MEASURES, measure


def test_a_trained_classifier_has_all_of_them():
    X, y = load_iris(return_X_y=True)
    clf = TransformerClassifier(
        depth=1, width=8, n_heads=2, max_epochs=2, protocol=None, random_state=0
    ).fit(X, y)
    module = clf.net_.module_
    probe = Probe(module, X, y, clf.tokenizer_.prepare)
    sizes = Architecture(n_parameters=1, n_classes=3, depth=1, width=8, n_heads=2, n_tokens=4)
    net = collect(module, sizes, n_samples=len(X), probe=probe, needs=sorted(GATHER))
    assert set(net.reasons) == {"chain_features", "convolutions", "epochs", "initial_state"}
    found = measure(net)
    # What its start is needed for is another matter.
    assert {key for key in MEASURES if key.startswith("lipschitz")} <= found.keys()
    assert found["jacobian_norm"].value <= found["lipschitz_local_upper"].value
    assert found["gradient_variance"].value > 0.0
    assert math.isfinite(found["prd_proxy"].value)
    for key in ("path_norm", "pac_bayes_flatness", "pac_bayes_mag_flatness", "fisher_rao"):
        assert found[key].value > 0.0
    for key in ("ball_sharpness", "box_sharpness", "weight_bits", "spectrum_adaptive"):
        assert math.isfinite(found[key].value)
    assert "initial weight of" in found.not_computed["l2_distance"]
    report = per_input(probe)
    np.testing.assert_array_equal(report.margin > 0.0, clf.predict(X) == y)
    np.testing.assert_allclose(report.margin, net.margins, atol=1e-5)
