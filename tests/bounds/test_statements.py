"""Statements say what predict does and which loss was seen; messages name what the user set."""

import re
from dataclasses import replace

import numpy as np
import pytest

from skbound.bounds import BOUNDS, KLBound, certificates, resolve_bound
from skbound.bounds._catalogue import _BRIER_BOUNDS, _PROTOCOLS
from skbound.evidence import (
    DrawnSample,
    Evidence,
    FoldSample,
    ProgressiveSample,
    RecursiveSample,
    RecursiveStep,
    Sample,
)
from skbound.exceptions import MissingEvidenceError
from tests.bounds.test_catalogue import PROTOCOLS

every_protocol = pytest.mark.parametrize("protocol", PROTOCOLS, ids=repr)
SAMPLE = Sample(range(100), np.zeros(100), np.zeros(100))
NETS = {"brier": None, "divergence": 0.0, "n_options": 1, "guess": SAMPLE}


def evidence_of(record, **settings):
    return Evidence(protocol="any", n_fit=300, majority_share=0.5, certified=record, **settings)


@every_protocol
def test_a_statement_names_bound_and_losses(protocol):
    found = certificates(protocol.example, 0.05)
    assert found
    for certificate in found.values():
        text = certificate.statement()
        seen = {"zero_one": "mean error", "brier": "mean Brier score / 2"}[certificate.loss]
        assert f", by the {certificate.method}. " in text
        assert f"({seen} there 0.0000)." in text


@every_protocol
def test_predictors_that_answer_together_are_counted(protocol):
    predictor = getattr(protocol, "predictor", None)
    evidence = protocol.example
    text = resolve_bound("auto", evidence)(evidence, 0.05).statement()
    n = evidence.n_predictors
    assert ("vote. " in text) == (predictor == "vote")
    assert ("predict averages the probabilities of" in text) == (predictor == "average")
    if n > 1:
        assert re.search(rf"\b{n} (predictors|drawn nets)", text)


def test_the_members_of_a_holdout_are_counted():
    text = KLBound()(evidence_of(SAMPLE, n_members=5)).statement()
    assert "The joint answer of 5 predictors is certified. Trained on 300 rows" in text
    with pytest.raises(ValueError, match="n_members must be an integer of at least 1"):
        evidence_of(SAMPLE, n_members=0)


ONE = [
    *(ProgressiveSample(SAMPLE, [0] * 100, together=h) for h in ("gibbs", "vote", "average")),
    *(FoldSample(SAMPLE, [0] * 100, how) for how in ("gibbs", "vote", "average")),
    DrawnSample(
        predictor="gibbs", sample=SAMPLE, zero_one=np.zeros((1, 100)), log_ratios=[0.0], **NETS
    ),
    RecursiveSample((RecursiveStep(SAMPLE, None),), 0.5),
]


@pytest.mark.parametrize("record", ONE, ids=lambda record: f"{record.kind}")
def test_one_predictor_is_not_spoken_of_as_several(record):
    evidence = evidence_of(record)
    bound = resolve_bound("auto", evidence)
    text = bound(evidence, 0.05).statement().replace(bound.method, "")
    assert not re.search(r"\b1 (predictors|drawn nets)|one of 1\b|hash|vote", text)


def test_each_kind_names_what_the_user_sets():
    assert set(_PROTOCOLS) == set(BOUNDS)
    assert {protocol.example.kind for protocol in PROTOCOLS} <= set(_PROTOCOLS)


@every_protocol
def test_messages_name_protocols_and_no_kinds(protocol):
    evidence = protocol.example
    own = set(BOUNDS[evidence.kind])
    kinds = [kind for kind in BOUNDS if "_" in kind]
    for name in {name for bounds in BOUNDS.values() for name in bounds} - own:
        with pytest.raises(
            MissingEvidenceError, match=r"needs protocol=.*Use bound='auto'"
        ) as info:
            resolve_bound(name, evidence)
        said = str(info.value).split(" Use bound=")[0].replace(f"bound={name!r}", "")
        protocols = re.sub(r"'(description_length|frozen_features|recursive_pac_bayes)'", "", said)
        assert not any(kind in protocols for kind in kinds)


@every_protocol
def test_the_hint_at_a_brier_bound_is_given_where_there_is_one(protocol):
    evidence = protocol.example
    with pytest.raises(ValueError, match="about the error of predict") as info:
        resolve_bound(KLBound("brier"), evidence)
    hinted = re.findall(r"bounds_\['brier_(\w+)'\]", str(info.value))
    keys = [bound.key for bound in _BRIER_BOUNDS.get(evidence.kind, ())]
    assert hinted == keys[:1]


def test_without_certified_rows_the_protocol_is_named_too():
    nothing = Evidence(protocol="pac_bayes", n_fit=9, majority_share=0.5, reason="too few rows.")
    with pytest.raises(MissingEvidenceError, match="but protocol='pac_bayes' is used"):
        resolve_bound("occam", nothing)


def test_a_last_predictor_is_not_taken_for_a_holdout():
    last = replace(evidence_of(SAMPLE), protocol="progressive")
    with pytest.raises(MissingEvidenceError, match=r"but protocol=Progressive\(predictor='last'\)"):
        resolve_bound("progressive", last)


@pytest.mark.parametrize("value", [0.24463130294539834, 0.5, 1e-9, 0.99991, 1.00001])
def test_what_is_shown_is_no_smaller_than_the_bound(value):
    sample = Sample(np.arange(100), np.arange(100) < 20)
    evidence = Evidence(protocol="holdout", n_fit=9, majority_share=0.5, certified=sample)
    shown = replace(certificates(evidence, 0.05)["binomial"], value=value)
    assert float(re.search(r"Certificate\(([0-9.]+)", repr(shown))[1]) >= value
    assert float(re.search(r"is at most ([0-9.]+[0-9])", shown.statement())[1]) >= min(1.0, value)
