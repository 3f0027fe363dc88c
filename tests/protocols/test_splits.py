"""Protocols that tell beforehand which rows they certify on keep their word."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer

from skbound import BoundSearch, TransformerClassifier
from skbound.protocols import (
    DescriptionLength,
    FrozenFeatures,
    Holdout,
    PACBayes,
    PickToLearn,
    Progressive,
    RecursivePACBayes,
)

X, Y = load_breast_cancer(return_X_y=True)
X, Y = X[:240, :6], Y[:240]
TINY = TransformerClassifier(
    protocol="holdout", depth=1, width=8, n_heads=2, max_epochs=2, random_state=0
)
PROTOCOLS = [
    Holdout(),
    Holdout(n_members=2),
    Progressive(),
    Progressive(guess=True, predictor="last"),
    PACBayes(),
    RecursivePACBayes(),
    RecursivePACBayes(predictor="held_out"),
    PickToLearn(),
    FrozenFeatures(),
    DescriptionLength(),
]


def certified_rows(evidence):
    record = evidence.certified
    samples = [record.sample] if record.sample is not None else []
    samples += [step.sample for step in getattr(record, "steps", ())]
    return np.unique(np.concatenate([np.asarray(sample.rows) for sample in samples]))


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=repr)
def test_only_the_second_part_is_certified(protocol):
    clf = clone(TINY).set_params(protocol=clone(protocol).set_params(random_state=3)).fit(X, Y)
    first, rest = clf.protocol.split(len(X), seed=0)
    assert np.array_equal(np.sort(np.r_[first, rest]), np.arange(len(X)))
    assert set(certified_rows(clf.evidence_)) <= set(rest)
    assert len(rest) > 0


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=repr)
def test_few_rows_are_all_in_the_first_part(protocol):
    first, rest = protocol.split(60, seed=0)
    assert (len(first), len(rest)) == (60, 0)


@pytest.mark.parametrize("protocol", ["progressive", "pac_bayes", "compression"])
def test_candidates_are_ranked_on_the_first_part(protocol):
    clf = clone(TINY).set_params(protocol=protocol)
    grid = {"lr": [1e-5, 1e-2]}
    search = BoundSearch(clf, grid, choose_by="training_side", random_state=0).fit(X, Y)
    assert search.certificate_.n_candidates == 1
    labels = Y.copy()
    rest = search.best_estimator_.protocol.split(len(X), search.best_estimator_.random_state)[1]
    labels[rest] = 1 - labels[rest]
    other = BoundSearch(clf, grid, choose_by="training_side", random_state=0).fit(X, labels)
    np.testing.assert_array_equal(
        search.cv_results_["ranking_loss"], other.cv_results_["ranking_loss"]
    )
