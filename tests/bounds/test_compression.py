"""Bounds for predictors that picked their rows: published values, laws, coverage, mutants."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, special, stats

from skbound.bounds import (
    BinomialBound,
    PickToLearnBound,
    ProgressiveBound,
    SampleCompressionBound,
    binomial_tail_inverse,
    certificates,
    pick_to_learn_risk,
    resolve_bound,
)
from skbound.bounds._preference import log_psi_function
from skbound.estimates import certified_error_estimate
from skbound.evidence import CompressedSample, Evidence, Sample
from skbound.exceptions import MissingEvidenceError
from tests.bounds import checks

PICKED, ANY = PickToLearnBound(), SampleCompressionBound()
every_bound = pytest.mark.parametrize("bound", [PICKED, ANY], ids=lambda b: b.key)
DELTAS = (1e-6, 0.001, 0.05, 0.2, 0.5, 0.9)


def make_evidence(m, k, n, stop=None, n_stops=1, brier=True, **settings):
    losses = (np.arange(n - m) < k).astype(float)
    sample = Sample(np.arange(n - m), losses, losses if brier else None)
    record = CompressedSample(sample, np.arange(n - m, n), stop, n_stops)
    settings = {"protocol": "compression", "n_fit": 300, "majority_share": 0.5} | settings
    return Evidence(certified=record, **settings)


def value(m, k, n, delta, bound=PICKED, **settings):
    return bound(make_evidence(m, k, n, **settings), delta).value


# Values.


@pytest.mark.parametrize(
    ("m", "n", "expected", "digits"),
    [
        (10, 1000, 0.02166, 5),
        (50, 1000, 0.07323, 5),
        (100, 1000, 0.1316, 4),
        (100, 5000, 0.02667, 5),
        (300, 5000, 0.0714, 4),
        (500, 10_000, 0.05745, 5),
        (1000, 50_000, 0.02218, 5),
        (1, 100, 0.0662, 4),
    ],
)
def test_values_without_errors(m, n, expected, digits):
    risk = pick_to_learn_risk(m, n, log_delta=math.log(0.05))
    assert round(risk, digits) == expected
    assert value(m, 0, n, 0.05) == pytest.approx(risk, rel=1e-11)


def closed_form(psi, m, n):
    """Root of ``psi(delta, upper tail beyond m) = n p P(Bin = m)`` between m / n and 1."""

    def gap(p):
        tails = special.betainc(m + 1, n - m, p), special.betainc(m + 1, 4 * n + 1 - m, p)
        return psi(*tails) - n * p * stats.binom.pmf(m, n, p)

    return optimize.brentq(gap, 1.0001 * m / n, 5.0 * m / n, xtol=1e-14)


def two_sided(first, second, delta=0.01, n=24_000):
    factor = 1.0 + delta / (6.0 * n)
    return ((delta / 2 - delta / 6) * first + delta / 6 * second) / factor


def two_sided_before_its_erratum(first, second, delta=0.01, n=24_000):
    factor = 1.0 + delta / (6.0 * n)
    return ((delta / 2 - delta / 6) + first + delta / 6 * second) / factor


def assert_is_the_one_sided_root(risk):
    """For 326 of 24,000 rows at delta .01, with public values of the two-sided bound."""
    one_sided = closed_form(lambda first, _: 0.01 * first, 326, 24_000)
    assert risk == pytest.approx(one_sided, rel=1e-9)
    assert round(risk, 6) == 0.016521
    assert round(closed_form(two_sided, 326, 24_000), 6) == 0.016679
    assert risk < closed_form(two_sided, 326, 24_000)


def test_mnist_row_and_the_erratum_of_public_code():
    assert_is_the_one_sided_root(pick_to_learn_risk(326, 24_000, log_delta=math.log(0.01)))
    too_small = closed_form(two_sided_before_its_erratum, 326, 24_000)
    assert round(too_small, 6) == 0.015175
    with pytest.raises(AssertionError):
        assert_is_the_one_sided_root(too_small)


@pytest.mark.parametrize(("m", "n"), [(0, 1), (0, 50), (3, 50), (49, 50), (200, 3000)])
def test_psi_in_closed_form(m, n):
    log_psi = log_psi_function(m, n, math.log(0.05))
    for p in np.minimum(0.99, np.array([0.3, 1.0, 2.0]) * (m + 1) / (n + 2)):
        tail = special.betainc(m + 1, n - m, p)
        expected = math.log(0.05 * tail / (n * p)) - stats.binom.logpmf(m, n, p)
        assert log_psi(p) == pytest.approx(expected, abs=1e-8)
    assert log_psi(0.0) == pytest.approx(math.log(0.05 * (n - m) / (n * (m + 1))), abs=1e-9)


def test_largest_and_smallest_sizes():
    assert pick_to_learn_risk(7, 7, log_delta=-1.0) == 1.0
    assert 0.0 < pick_to_learn_risk(0, 1000, log_delta=math.log(0.05)) < 0.01
    assert pick_to_learn_risk(10, 20_000, log_delta=-690.0) < 0.05
    for arguments in ((-1, 7), (8, 7), (0, 0)):
        with pytest.raises(ValueError, match="n_picked must lie between 0 and n_rows"):
            pick_to_learn_risk(*arguments, log_delta=-1.0)
    with pytest.raises(ValueError, match="log_delta must be negative"):
        pick_to_learn_risk(1, 7, log_delta=0.0)


def test_errors_left_against_a_fine_grid():
    for m, k, n, delta in [(4, 25, 250, 0.05), (25, 12, 250, 0.005), (1, 1, 10, 0.2)]:
        log_psi = log_psi_function(m, n, math.log(delta))
        shares = np.linspace(0.0, pick_to_learn_risk(m, n, log_delta=math.log(delta)), 4000)[:-1]
        rates = np.array([binomial_tail_inverse(k, n - m, log_delta=log_psi(p)) for p in shares])
        largest = (1.0 - (1.0 - shares) * (1.0 - rates)).max()
        assert largest <= value(m, k, n, delta) <= largest * (1.0 + 1e-5)


def test_nothing_picked_is_a_holdout():
    share = (8 + 1) / 8 / 2
    for k in (0, 3, 50):
        expected = checks.value_at_count(BinomialBound(), k, 200, 0.05 * share)
        assert value(0, k, 200, 0.05, stop=0, n_stops=8) == pytest.approx(expected, rel=1e-9)
        assert value(0, k, 200, 0.05) >= checks.value_at_count(BinomialBound(), k, 200, 0.05)


@pytest.mark.parametrize("n_stops", [2, 9, 1000])
def test_shares_of_delta_sum_to_one(n_stops):
    shares = [(n_stops + 1) / n_stops / (j + 1) / (j + 2) for j in range(n_stops)]
    assert math.fsum(shares) == pytest.approx(1.0, rel=1e-12)


def test_any_scheme_pays_for_all_sets_and_sizes():
    level = math.log(0.05 * 6 / math.pi**2 / 11**2 / math.comb(500, 10))
    expected = binomial_tail_inverse(25, 490, log_delta=level)
    assert value(10, 25, 500, 0.05, ANY) == pytest.approx(expected, rel=1e-9)
    sizes = 6 / math.pi**2 / (np.arange(501.0) + 1) ** 2
    assert sizes.sum() < 1.0


# Laws.


@every_bound
@pytest.mark.parametrize("n", [2, 20, 300])
def test_laws(bound, n):
    for m in {0, 1, n // 10, n // 2, n - 1}:
        counts = sorted({0, 1, (n - m) // 10, (n - m) // 2, n - m} & set(range(n - m + 1)))
        table = np.array([[value(m, k, n, delta, bound) for delta in DELTAS] for k in counts])
        assert (np.diff(table, axis=1) <= 1e-12).all(), "rises with delta"
        assert (np.diff(table, axis=0) >= -1e-12).all(), "falls with the errors"
        assert (table <= 1.0).all()
        for k, row in zip(counts, table, strict=True):
            assert (row >= k / (n - m)).all()
            smooth = [value(m, k, n, d, type(bound)("brier")) for d in DELTAS]
            assert (np.array(smooth) >= row * (1 - 1e-9)).all(), "Chernoff beats the exact tail"


@every_bound
def test_more_rows_help_and_more_picked_rows_cost(bound):
    by_n = [value(n // 20, n // 10, n, 0.05, bound) for n in (40, 200, 1000, 5000)]
    assert (np.diff(by_n) < 0.0).all()
    by_m = [value(m, 20, 200, 0.05, bound) for m in range(0, 100, 10)]
    assert (np.diff(by_m) > 0.0).all()


def test_using_how_rows_were_picked_is_never_worse():
    for m, k in [(1, 0), (1, 30), (20, 0), (20, 30), (150, 10)]:
        assert value(m, k, 200, 0.05) < value(m, k, 200, 0.05, ANY)


@every_bound
def test_terms_sum_and_the_choice_is_paid_for(bound):
    chosen = bound(make_evidence(9, 12, 200, n_candidates=20), 0.2)
    alone = bound(make_evidence(9, 12, 200), 0.01)
    assert chosen.value == pytest.approx(alone.value, rel=1e-12)
    assert list(chosen.terms) == ["empirical_loss", "picked_rows", "confidence", "choice"]
    assert math.fsum(chosen.terms.values()) == chosen.value
    mean = 12 / 191
    assert chosen.terms["empirical_loss"] == pytest.approx(mean)
    assert chosen.terms["picked_rows"] == pytest.approx(9 / 200 * (1 - mean))


@every_bound
def test_pickles_and_order(bound):
    evidence = make_evidence(9, 12, 200, stop=2, n_stops=8)
    again = pickle.loads(pickle.dumps(evidence))
    assert pickle.loads(pickle.dumps(bound))(again, 0.05) == bound(evidence, 0.05)
    record = again.certified
    assert (record.stop, record.n_stops, record.n_rows) == (2, 8, 200)
    with pytest.raises(ValueError, match="read-only"):
        record.picked[0] = 1


def test_statement_and_estimate_say_that_rows_were_picked():
    evidence = make_evidence(9, 12, 200)
    text = PICKED(evidence, 0.05).statement()
    assert "9 of them picked among 200 rows, and certified on the 191 that were left out" in text
    estimate = certified_error_estimate(evidence)
    assert estimate.optimistic
    assert "left out, and not picked" in estimate.method


def test_names():
    evidence = make_evidence(9, 12, 200)
    assert resolve_bound("auto", evidence) == PICKED
    names = ["pick_to_learn", "sample_compression"]
    assert list(certificates(evidence)) == [*names, *(f"brier_{name}" for name in names)]
    assert list(certificates(make_evidence(9, 12, 200, brier=False))) == names
    with pytest.raises(MissingEvidenceError, match="Use bound='auto' or one of"):
        resolve_bound("binomial", evidence)
    with pytest.raises(MissingEvidenceError, match="loss='brier' needs predicted probabilities"):
        PickToLearnBound("brier")(make_evidence(9, 12, 200, brier=False), 0.05)


def test_bounds_refuse_other_records():
    for bound in (PICKED, ANY):
        with pytest.raises(MissingEvidenceError, match="Fit with protocol='compression'"):
            bound(checks.make_evidence(np.zeros(9)), 0.05)
    for bound in (BinomialBound(), ProgressiveBound()):
        with pytest.raises(MissingEvidenceError):
            bound(make_evidence(1, 2, 20), 0.05)
    with pytest.raises(ValueError, match=r"loss must be one of .* got 'log'"):
        PickToLearnBound("log")


@pytest.mark.parametrize(
    ("picked", "stop", "n_stops", "message"),
    [
        ([5, 5], None, 1, "some occur twice"),
        ([0], None, 1, "some occur twice"),
        ([5], 3, 3, "stop must be None with n_stops=1"),
        ([5], None, 3, "stop must be None with n_stops=1"),
        ([5], 0, 1, "stop must be None with n_stops=1"),
        ([5], None, 0, "stop must be None with n_stops=1"),
        ([5], 0, 3, "nothing was picked, got 1 rows"),
    ],
)
def test_records_that_cannot_be(picked, stop, n_stops, message):
    with pytest.raises(ValueError, match=message):
        CompressedSample(Sample([0, 1], [0, 1]), picked, stop, n_stops)


# Coverage.


def assert_tail_within_psi(bound, n, delta):
    """The proof, by enumeration: given what would be picked, the tail is at most Psi."""
    for m in (1, n // 5, n // 2):
        grid, log_psi = np.arange(0.0, 1.0, 0.05), log_psi_function(m, n, math.log(delta))
        psi = np.exp([log_psi(p) for p in grid])
        values = np.array([value(m, k, n, delta, bound) for k in range(n - m + 1)])
        for p, allowed in zip(grid, psi, strict=True):
            for rate in np.arange(0.0, 1.0, 0.05):
                risk = 1.0 - (1.0 - p) * (1.0 - rate)
                too_low = int(np.sum(values < risk))
                tail = stats.binom.cdf(too_low - 1, n - m, rate) if too_low else 0.0
                assert tail <= min(1.0, allowed) * (1.0 + 1e-9) or allowed >= 1.0


@pytest.mark.parametrize("delta", [0.05, 0.5])
def test_proof_by_enumeration(delta):
    assert_tail_within_psi(PICKED, 30, delta)


RUNS = 2000


def largest_are_picked(n, m, rate, seed=0):
    """Scheme: pick the ``m`` largest of `n` uniform numbers, err beyond the smallest of them.

    The predictor also errs, independently, on a share `rate` of the numbers below. Returns errors
    left and true risks. A new number would be picked exactly where it is larger than the smallest
    picked one, and all that would be picked are errors: the worst case.
    """
    rng = np.random.default_rng(seed)
    thresholds = rng.beta(n - m + 1, m, RUNS)
    return rng.binomial(n - m, rate, RUNS), 1.0 - thresholds * (1.0 - rate)


def miss_rate(bound, n, m, rate, delta, **settings):
    errors, risks = largest_are_picked(n, m, rate)
    values = {k: value(m, k, n, delta, bound, **settings) for k in np.unique(errors).tolist()}
    return float(np.mean([values[k] < risk for k, risk in zip(errors, risks, strict=True)]))


def allowed(delta):
    return delta + 3.0 * np.sqrt(delta * (1.0 - delta) / RUNS)


@every_bound
@pytest.mark.parametrize("delta", [0.2, 0.5])
@pytest.mark.parametrize(("n", "m"), [(20, 1), (50, 10), (200, 2), (200, 150)])
@pytest.mark.parametrize("rate", [0.0, 0.02, 0.3])
def test_it_holds_where_the_largest_are_picked(bound, delta, n, m, rate):
    assert miss_rate(bound, n, m, rate, delta) <= allowed(delta)


@pytest.mark.parametrize("delta", [0.2, 0.5])
@pytest.mark.parametrize("flip", [0.0, 0.1])
def test_it_holds_for_a_threshold_between_two_classes(delta, flip):
    """Labels 1 above .3; the rule cuts between what it picked; risks are exact."""
    rng = np.random.default_rng(1)
    misses = 0
    for _ in range(500):
        x, coin = rng.random(40), rng.random(40)
        y = (x > 0.3) != (coin < flip)
        cut, left, picked = 0.5, np.arange(40), []
        for _ in range(5):
            wrong = left[(x[left] > cut) != y[left]]
            if not len(wrong):
                break
            worst = wrong[np.argmax(np.abs(x[wrong] - cut))]
            picked.append(worst)
            left = left[left != worst]
            cut = (cut + x[worst]) / 2.0
        k = int(np.sum((x[left] > cut) != y[left]))
        risk = flip + (1.0 - 2.0 * flip) * abs(cut - 0.3)
        misses += value(len(picked), k, 40, delta) < risk
    assert misses / 500 <= delta + 3.0 * np.sqrt(delta * (1.0 - delta) / 500)


class AsIfIndependent(PickToLearnBound):
    """Mutant: the rows left out as a hold-out."""

    def upper(self, record, total, delta):
        return self.rate(total, record.n_samples, math.log(delta))


class PriorRowsCounted(PickToLearnBound):
    """Mutant: as many rows again, which could not have been picked, counted in `n`."""

    def upper(self, record, total, delta):
        n = record.n_rows
        more = Sample(range(2 * n, 3 * n), np.zeros(n))
        rows = np.concatenate([record.sample.rows, more.rows])
        losses = np.concatenate([record.sample.zero_one, more.zero_one])
        return super().upper(replace(record, sample=Sample(rows, losses)), total, delta)


class OneSet(SampleCompressionBound):
    """Mutant: without the union over all sets of ``m`` rows."""

    def upper(self, record, total, delta):
        log_zeta = math.log(6.0 / math.pi**2) - 2.0 * math.log(record.n_picked + 1.0)
        return self.rate(total, record.n_samples, math.log(delta) + log_zeta)


class UnpaidStop(PickToLearnBound):
    """Mutant: all of delta for whatever stop was chosen."""

    def upper(self, record, total, delta):
        return super().upper(replace(record, stop=None, n_stops=1), total, delta)


@pytest.mark.parametrize("mutant", [AsIfIndependent(), PriorRowsCounted(), OneSet()])
def test_mutants_fail(mutant):
    assert miss_rate(mutant, 50, 10, 0.0, 0.2) > allowed(0.2) + 0.1


def test_a_mutant_that_breaks_the_proof():
    with pytest.raises(AssertionError):
        assert_tail_within_psi(AsIfIndependent(), 30, 0.05)


def assert_pays_for_the_stop(bound):
    for j, n_stops in ((1, 2), (5, 20)):
        share = (n_stops + 1) / n_stops / (j + 1) / (j + 2)
        paid = value(6, 4, 100, 0.2, bound, stop=j, n_stops=n_stops)
        assert paid == pytest.approx(value(6, 4, 100, 0.2 * share), rel=1e-9)


def test_a_stop_that_is_not_paid_for():
    assert_pays_for_the_stop(PICKED)
    with pytest.raises(AssertionError):
        assert_pays_for_the_stop(UnpaidStop())


@pytest.mark.parametrize("delta", [1e-300, 1e-6, 0.05, 0.5])
def test_nearly_all_rows_picked_and_an_error_left_is_vacuous(delta):
    for n_picked in (999, 99_999):
        record = CompressedSample(Sample([0], [1]), range(1, n_picked + 1))
        evidence = Evidence(protocol="compression", n_fit=5, majority_share=0.5, certified=record)
        assert PickToLearnBound()(evidence, delta).value == 1.0
