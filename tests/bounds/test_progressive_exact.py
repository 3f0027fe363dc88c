"""Combined binomial tails of few blocks: laws, and adversaries that know every earlier row."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from skbound.bounds import (
    BinomialBound,
    ProgressiveBound,
    ProgressiveExactBound,
    ProgressiveMixtureBound,
    binomial_tail_inverse,
)
from skbound.bounds import _progressive_exact as module
from skbound.evidence import Evidence, ProgressiveSample, Sample
from skbound.exceptions import MissingEvidenceError
from tests.bounds import checks

BOUND = ProgressiveExactBound()
MIXTURE = ProgressiveMixtureBound()


def make_evidence(errors, sizes, guess=(5, 100), **settings):
    zero_one = np.concatenate([np.arange(m) < k for k, m in zip(errors, sizes, strict=True)])
    sample = Sample(np.arange(len(zero_one)), zero_one)
    guessed = Sample(np.arange(guess[1]), np.arange(guess[1]) < guess[0])
    blocks = ProgressiveSample(sample, np.repeat(np.arange(len(sizes)), sizes), guessed)
    settings = {"protocol": "progressive", "n_fit": 300, "majority_share": 0.5} | settings
    return Evidence(certified=blocks, **settings)


def value(errors, sizes, delta=0.05, bound=BOUND, **settings):
    return bound(make_evidence(errors, sizes, **settings), delta).value


def pooled(errors, sizes, delta):
    """Mutant: the binomial tail, as if all rows had met one predictor."""
    return binomial_tail_inverse(sum(errors), sum(sizes), log_delta=math.log(delta))


# Laws.


@pytest.mark.parametrize("sizes", [(20, 20), (100, 50), (40, 30, 30)])
def test_between_the_tail_of_all_rows_and_chernoff(sizes):
    for share in (0.05, 0.1, 0.3, 0.5):
        errors = tuple(round(share * m) for m in sizes)
        for delta in (1e-9, 0.001, 0.05, 0.2):
            found = value(errors, sizes, delta)
            assert pooled(errors, sizes, delta) < found < 1.0
    # The guess is right, which is the best that can happen to the bound that needs one.
    assert value((10, 10), (100, 100)) < 0.95 * value(
        (10, 10), (100, 100), bound=ProgressiveBound(), guess=(1020, 10198)
    )


def test_grows_with_errors_and_falls_with_delta_and_rows():
    deltas = (1e-300, 1e-12, 0.001, 0.05, 0.2, 0.5, 0.9)
    values = [value((5, 5), (50, 50), delta) for delta in deltas]
    assert (np.diff(values) < 0.0).all()
    assert values[-1] >= 0.1
    for block in (0, 1):
        rising = [
            value(errors, (50, 50))
            for errors in (np.array([k if b == block else 4 for b in (0, 1)]) for k in range(51))
        ]
        assert (np.diff(rising) >= 0.0).all()
    assert value((50, 50), (500, 500)) < value((5, 5), (50, 50))
    assert value((3, 20), (20, 20)) <= 1.0
    assert value((20, 20), (20, 20)) == 1.0


def test_one_block_alone_is_the_binomial_tail():
    for k, m in ((0, 40), (7, 100), (60, 200)):
        assert value((k,), (m,)) == pytest.approx(pooled((k,), (m,), 0.05), rel=5e-3)
        assert value((k,), (m,)) > pooled((k,), (m,), 0.05)


@pytest.mark.parametrize("delta", [1e-12, 0.001, 0.05, 0.5])
@pytest.mark.parametrize(("n_blocks", "shift"), [(1, 3.0), (2, 3.0), (5, 6.0)])
def test_radius_is_the_quantile_of_the_non_central_law(n_blocks, shift, delta):
    radius = module._radius_squared(n_blocks, shift, delta)
    assert stats.ncx2.sf(radius, n_blocks, shift**2) == pytest.approx(delta, rel=1e-6)


def test_ball_has_the_level_it_is_given():
    rng = np.random.default_rng(0)
    shares = np.sqrt([0.5, 0.3, 0.2])
    shift = 3.0 * math.sqrt(2.0)
    z = rng.standard_normal((400_000, 3))
    inside = (np.maximum(0.0, z + shift * shares) ** 2).sum(axis=1)
    for delta in (0.2, 0.05):
        assert (inside >= module._radius_squared(3, shift, delta)).mean() <= delta * 1.02


def test_limits_are_those_of_clopper_and_pearson():
    z = np.linspace(-3.0, 8.0, 40)
    for k, m in ((0, 30), (4, 30), (29, 30), (30, 30), (100, 5000)):
        limits = module._upper_limits(k, m, z)
        for limit, level in zip(limits, stats.norm.sf(z), strict=True):
            exact = binomial_tail_inverse(k, m, log_delta=math.log(level))
            assert limit == pytest.approx(exact, rel=1e-8)
            assert limit >= exact * (1.0 - 1e-11)


def test_terms_choice_and_pickles():
    chosen = BOUND(make_evidence((6, 6), (100, 100), n_candidates=20), 0.2)
    alone = BOUND(make_evidence((6, 6), (100, 100)), 0.01)
    assert chosen.value == pytest.approx(alone.value, rel=1e-12)
    assert list(chosen.terms) == ["empirical_loss", "confidence", "choice"]
    assert math.fsum(chosen.terms.values()) == chosen.value
    again = pickle.loads(pickle.dumps(BOUND))
    assert again(pickle.loads(pickle.dumps(make_evidence((6, 6), (100, 100)))), 0.01) == alone


def test_refusals():
    with pytest.raises(ValueError, match="for ProgressiveExactBound, got 'brier'"):
        ProgressiveExactBound("brier")
    with pytest.raises(MissingEvidenceError, match="evaluated before they were trained on"):
        BOUND(checks.make_evidence(np.zeros(100)), 0.05)
    evidence = make_evidence((6, 6), (100, 100))
    stream = replace(evidence, certified=replace(evidence.certified, planned=False))
    with pytest.raises(MissingEvidenceError, match="fixed beforehand, but partial_fit"):
        BOUND(stream, 0.05)
    for mutant in (BinomialBound(),):
        with pytest.raises(MissingEvidenceError, match="of one fixed predictor"):
            mutant(evidence, 0.05)


# Adversaries.


def worst_miss(upper, sizes, first_risks, *, smallest=1e-9):
    """Largest probability of a miss when the second risk is chosen after the first block was seen.

    A bound misses on the errors up to some number; the best risk for that lies just above where
    the mean reaches the bound at this number.
    """
    (m1, m2), n = sizes, sum(sizes)
    counts = np.arange(m2 + 1)
    worst = 0.0
    for risk in first_risks:
        missed = 0.0
        for k, weight in enumerate(stats.binom.pmf(np.arange(m1 + 1), m1, risk)):
            if weight < smallest:
                continue
            bounds = np.maximum.accumulate([upper((k, j), sizes) for j in counts])
            needed = (n * bounds - m1 * risk) / m2
            misses = stats.binom.cdf(counts, m2, np.clip(needed, 0.0, 1.0))
            missed += weight * max(misses[needed < 1.0], default=0.0)
        worst = max(worst, missed)
    return worst


FINE = np.sin(np.linspace(0.02, np.pi / 2 - 0.02, 60)) ** 2


@pytest.mark.parametrize("delta", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("sizes", [(12, 12), (6, 15)])
def test_no_second_risk_beats_the_bound(sizes, delta):
    def table(bound):
        return lambda errors, sizes: value(errors, sizes, delta, bound)

    assert worst_miss(table(BOUND), sizes, FINE) <= delta
    assert worst_miss(lambda e, s: pooled(e, s, delta), sizes, FINE) > 1.3 * delta


def test_two_blocks_of_100_rows():
    """The pooled tail at delta .05 misses with probability .085 at a first risk of a tenth."""
    sizes, risks = (100, 100), (0.1,)
    assert worst_miss(lambda e, s: pooled(e, s, 0.05), sizes, risks, smallest=1e-4) > 0.08
    ours = worst_miss(lambda e, s: value(e, s, 0.05), sizes, risks, smallest=1e-2)
    assert 0.02 < ours <= 0.05
    for bound in (ProgressiveBound(), MIXTURE):
        upper = {}

        def total(errors, sizes, bound=bound, upper=upper):
            k = sum(errors)
            if k not in upper:
                upper[k] = value((k, 0), (200, 1), 0.05, bound, guess=(6, 60))
            return upper[k]

        assert worst_miss(total, sizes, risks, smallest=1e-4) <= 0.05


def stops_when_lucky(upper, sizes, risk, delta, n_runs):
    """Share of runs missed by a rule that errs at a fixed rate until the bound is broken.

    Then it errs no more, so that the bound stays broken.
    """
    rng = np.random.default_rng(0)
    n, misses, cache = sum(sizes), 0, {}
    for _ in range(n_runs):
        errors = [0] * len(sizes)
        for b, m in enumerate(sizes):
            errors[b] = int(rng.binomial(m, risk))
            key = tuple(errors)
            if key not in cache:
                cache[key] = upper(key, sizes, delta)
            if cache[key] < risk * sum(sizes[: b + 1]) / n:
                misses += 1
                break
    return misses / n_runs


@pytest.mark.parametrize("risk", [0.1, 0.4])
def test_three_blocks_of_50_rows(risk):
    sizes, delta, n_runs = (50, 50, 50), 0.2, 500
    allowed = delta + 3.0 * math.sqrt(delta * (1.0 - delta) / n_runs)
    # More runs, since this rule gains little over delta: about .04.
    assert stops_when_lucky(pooled, sizes, risk, delta, 8 * n_runs) > delta + 0.02
    assert stops_when_lucky(value, sizes, risk, delta, n_runs) <= allowed


@pytest.mark.parametrize("delta", [0.2, 0.5])
@pytest.mark.parametrize("rates", [(0.02, 0.3), (0.3, 0.02), (0.1, 0.1), (0.9, 0.97)], ids=str)
def test_it_holds_on_drifting_risks(rates, delta):
    rng = np.random.default_rng(0)
    draws = rng.binomial(60, rates, size=(1000, 2))
    pairs, counts = np.unique(draws, axis=0, return_counts=True)
    missed = [value(tuple(pair), (60, 60), delta) < np.mean(rates) for pair in pairs.tolist()]
    allowed = delta + 3.0 * math.sqrt(delta * (1.0 - delta) / 1000)
    assert counts[missed].sum() / 1000 <= allowed


def test_a_ball_that_is_too_small_is_noticed(monkeypatch):
    """Mutant: the ball has the radius of the squared distance of a single normal number."""
    sizes, delta = (12, 12), 0.2
    radius = module._radius_squared
    monkeypatch.setattr(module, "_radius_squared", lambda b, shift, d: radius(1, 0.0, d))
    module._largest_mean.cache_clear()
    try:
        missed = worst_miss(lambda e, s: value(e, s, delta), sizes, FINE[::4])
    finally:
        module._largest_mean.cache_clear()
    assert missed > delta


# The mixture of constants.


def test_mixture_needs_no_guess_and_holds_at_all_times():
    evidence = make_evidence((20, 30), (250, 250))
    again = replace(evidence, certified=replace(evidence.certified, guess=None, planned=False))
    assert MIXTURE(evidence, 0.05).value == MIXTURE(again, 0.05).value
    assert value((0, 0), (1, 1), bound=MIXTURE) <= 1.0
    for n, k in ((100, 1), (500, 50), (5000, 400)):
        upper = value((k, 0), (n, 1), bound=MIXTURE)
        best = value((k, 0), (n, 1), bound=ProgressiveBound(), guess=(100 * k, 100 * n))
        assert best < upper < 1.3 * best


def test_mixture_against_a_rule_that_stops_when_lucky():
    n, risk, delta = 200, 0.3, 0.2
    values = np.array([value((k, 0), (n, 1), delta, MIXTURE) for k in range(n + 1)])
    errors = np.random.default_rng(0).random((4000, n)) < risk
    so_far = risk * np.arange(1, n + 1) / (n + 1)
    rate = (values[errors.cumsum(axis=1)] < so_far).any(axis=1).mean()
    assert rate <= delta + 3.0 * np.sqrt(delta * (1.0 - delta) / 4000)


def test_mixture_inverts_its_formula():
    k, n, delta = 37, 400, 0.05
    mu = value((k, 0), (n - 1, 1), delta, MIXTURE)
    rates = np.geomspace(0.05, 1.6, 6)
    capital = np.mean(np.exp(-rates * k) * (1.0 + np.expm1(-rates) * mu) ** -n)
    assert capital == pytest.approx(1.0 / delta, rel=1e-6)
