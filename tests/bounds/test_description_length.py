"""Occam's razor: vectors, laws, and coverage for predictors chosen after a look at the rows."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

from skbound.bounds import (
    HOLDOUT_BOUNDS,
    BestOf,
    BinomialBound,
    KLBound,
    OccamBound,
    OccamKLBound,
    certificates,
    resolve_bound,
)
from skbound.evidence import CodedSample, Evidence, Sample
from skbound.exceptions import MissingEvidenceError
from tests.bounds import checks

BOUNDS = (OccamBound(), OccamKLBound())
both = pytest.mark.parametrize("bound", BOUNDS, ids=lambda b: b.key)
DELTAS = (1e-6, 0.001, 0.05, 0.2, 0.5, 0.9)


def make_evidence(k, n, n_bits, n_options=1, brier=None, **settings):
    sample = Sample(np.arange(n), np.arange(n) < k, brier)
    coded = CodedSample(sample, "1" * n_bits, n_options)
    settings = {"protocol": "description_length", "n_fit": n, "majority_share": 0.1} | settings
    return Evidence(certified=coded, **settings)


def value(bound, k, n, n_bits, delta=0.05, **settings):
    return bound(make_evidence(k, n, n_bits, **settings), delta).value


def test_values_of_a_tiny_transformer_on_digits():
    """150 coordinates at 17 levels, and 400; 5,000 and 50,000 rows of other sizes."""
    assert value(OccamBound(), 190, 1437, 887) == pytest.approx(0.5763, abs=1e-4)
    assert value(OccamKLBound(), 190, 1437, 887) == pytest.approx(0.5776, abs=1e-4)
    assert round(value(OccamBound(), 67, 1437, 1830), 3) == 0.668
    found = [
        value(OccamKLBound(), k, n, b)
        for k, n, b in [(250, 5000, 500), (250, 5000, 1000), (1000, 50_000, 500)]
    ]
    assert [round(v, 3) for v in found] == [0.173, 0.245, 0.041]
    assert round(value(OccamKLBound(), 1000, 50_000, 2000), 3) == 0.072


@pytest.mark.parametrize(
    ("bound", "plain"), [(OccamBound(), BinomialBound()), (OccamKLBound(), KLBound())]
)
@pytest.mark.parametrize("k", [0, 7, 99, 100])
def test_without_a_code_it_is_the_bound_of_a_holdout(bound, plain, k):
    losses = np.arange(100) < k
    alone = BinomialBound()(checks.make_evidence(losses), 0.05).value
    if bound == OccamBound():
        assert value(bound, k, 100, 0) == pytest.approx(alone, rel=1e-12)
        chosen = plain(checks.make_evidence(losses, n_candidates=20), 0.05).value
        assert value(bound, k, 100, 0, n_options=20) == pytest.approx(chosen, rel=1e-12)
    # Chernoff's bound needs no factor of xi(n): between the tail and the bound of a hold-out.
    assert alone * (1.0 - 1e-11) <= value(bound, k, 100, 0)
    assert value(bound, k, 100, 0) <= plain(checks.make_evidence(losses), 0.05).value * (1 + 1e-11)


@both
def test_a_bit_halves_delta_and_options_divide_it(bound):
    for n_bits in (1, 7, 40):
        halved = value(bound, 20, 200, 0, 0.05 * 0.5**n_bits)
        assert value(bound, 20, 200, n_bits) == pytest.approx(halved, rel=1e-9)
        assert value(bound, 20, 200, n_bits, n_options=2) == pytest.approx(
            value(bound, 20, 200, n_bits + 1), rel=1e-9
        )


@both
def test_it_grows_with_bits_and_options_and_falls_with_rows_and_delta(bound):
    by_bits = [value(bound, 20, 200, b) for b in (0, 1, 10, 100, 1000, 10_000)]
    by_options = [value(bound, 20, 200, 10, n_options=m) for m in (1, 2, 10, 1000)]
    by_rows = [value(bound, n // 10, n, 100) for n in (100, 200, 1000, 10_000)]
    by_delta = [value(bound, 20, 200, 100, delta) for delta in DELTAS]
    by_errors = [value(bound, k, 200, 100) for k in (0, 1, 20, 100, 199, 200)]
    assert (np.diff(by_bits) >= 0.0).all()
    assert (np.diff(by_options) > 0.0).all()
    assert (np.diff(by_rows) < 0.0).all()
    assert (np.diff(by_delta) < 0.0).all()
    assert (np.diff(by_errors) >= 0.0).all()
    for values in (by_bits, by_options, by_delta):
        assert 0.1 <= min(values) <= max(values) <= 1.0


@both
def test_relative_entropy_never_beats_the_exact_tail(bound):
    for n_bits in (0, 5, 300, 2000):
        for k in (0, 3, 50, 290):
            exact = value(OccamBound(), k, 300, n_bits)
            assert value(bound, k, 300, n_bits) >= exact * (1.0 - 1e-11)


@both
def test_terms_say_what_is_paid_for(bound):
    evidence = make_evidence(20, 200, 30, n_options=6)
    certificate = bound(evidence, 0.05)
    names = ["empirical_loss", "confidence", "options", "code_length"]
    assert list(certificate.terms) == names
    assert min(certificate.terms.values()) > 0.0
    assert math.fsum(certificate.terms.values()) == certificate.value
    assert certificate.terms["empirical_loss"] == 0.1
    one = bound(make_evidence(20, 200, 0), 0.05).terms
    assert (one["options"], one["code_length"]) == (0.0, 0.0)
    chosen = bound(replace(evidence, n_candidates=4), 0.2)
    assert chosen.value == pytest.approx(bound(evidence, 0.05).value, rel=1e-12)
    assert list(chosen.terms) == [*names, "choice"]


def test_statement_says_what_the_rows_served_for():
    text = OccamBound()(make_evidence(20, 200, 30, n_options=6, n_fit=220), 0.05).statement()
    assert "Written in 30 bits by one of 6 codes, trained on 220 rows" in text
    assert "and certified on 200 of them (mean error there 0.1000)." in text
    text = OccamBound()(make_evidence(20, 200, 0, n_options=6, n_fit=220), 0.05).statement()
    assert "Chosen among 6 with the help of the certified rows, trained on 220 rows" in text


def test_brier_losses_that_are_errors_give_the_same_value():
    evidence = make_evidence(20, 200, 30, brier=(np.arange(200) < 20).astype(float))
    found = certificates(evidence, 0.05)
    assert list(found) == ["occam", "occam_kl", "brier_occam_kl"]
    assert found["brier_occam_kl"].value == found["occam_kl"].value
    with pytest.raises(MissingEvidenceError, match="Use a classifier with predict_proba"):
        OccamKLBound("brier")(make_evidence(20, 200, 30), 0.05)
    with pytest.raises(ValueError, match="for OccamBound, got 'brier'"):
        OccamBound("brier")
    with pytest.raises(ValueError, match=r"loss must be one of .* got 'log'"):
        OccamKLBound("log")


def test_each_kind_of_evidence_has_its_own_bounds():
    coded, holdout = make_evidence(3, 100, 8), checks.make_evidence(np.zeros(9))
    assert resolve_bound("auto", coded) == OccamBound()
    for bound in BOUNDS:
        with pytest.raises(MissingEvidenceError, match="Fit with protocol='description_length'"):
            bound(holdout, 0.05)
    for bound in HOLDOUT_BOUNDS.values():
        with pytest.raises(MissingEvidenceError, match=r"of one fixed .* bound='auto'"):
            bound(coded, 0.05)
        with pytest.raises(MissingEvidenceError, match="of one fixed"):
            BestOf((OccamBound(), bound))(coded, 0.05)


def test_records_survive_a_pickle_and_refuse_nonsense():
    evidence = make_evidence(3, 100, 8, n_options=5)
    again = pickle.loads(pickle.dumps(evidence))
    assert OccamBound()(again, 0.05) == OccamBound()(evidence, 0.05)
    assert again.certified.code == "1" * 8
    assert not again.certified.sample.zero_one.flags.writeable
    sample = Sample(np.arange(3), np.zeros(3))
    for code in ("012", b"01", 3):
        with pytest.raises(ValueError, match="code must be a string of zeros and ones"):
            CodedSample(sample, code)
    for n_options in (0, 1.5):
        with pytest.raises(ValueError, match="n_options must be an integer of at least 1"):
            CodedSample(sample, "", n_options)
    with pytest.raises(ValueError, match="option must be one of 2, counted from 0, got 2"):
        CodedSample(sample, "", 2, 2)


# Coverage: predictors with independent losses; the one with the smallest bound is kept.

RUNS = 1000


def miss_rate(bound, lengths, risks, delta, *, counted=True, n=100):
    """How often the smallest bound among coded predictors is below the risk of its predictor."""
    rng = np.random.default_rng(len(lengths))
    errors = rng.binomial(n, risks, size=(RUNS, len(risks)))
    pairs = [(k, b) for b in set(lengths) for k in range(errors.min(), errors.max() + 1)]
    values = {(k, b): value(bound, k, n, b if counted else 0, delta) for k, b in pairs}
    misses = 0
    for run in errors:
        bounds = np.array([values[k, b] for k, b in zip(run, lengths, strict=True)])
        misses += bounds.min() < risks[bounds.argmin()]
    return misses / RUNS


CODES = {
    "equal": ([6] * 64, np.full(64, 0.3)),
    "unary": (list(range(1, 41)), np.full(40, 0.5)),
    "short ones are bad": ([1] + [7] * 64, np.r_[0.5, np.full(64, 0.1)]),
    "spread": ([5] * 32, np.linspace(0.02, 0.9, 32)),
}


@both
@pytest.mark.parametrize("delta", [0.2, 0.5])
@pytest.mark.parametrize("code", CODES)
def test_it_holds_whatever_is_chosen(bound, code, delta):
    lengths, risks = CODES[code]
    assert sum(0.5**b for b in lengths) <= 1.0
    allowed = delta + 3.0 * np.sqrt(delta * (1.0 - delta) / RUNS)
    assert miss_rate(bound, lengths, risks, delta) <= allowed


@both
def test_bits_that_are_not_counted_are_noticed(bound):
    assert miss_rate(bound, *CODES["equal"], 0.2, counted=False) > 0.9
