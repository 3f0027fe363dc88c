"""The recursive bound on evidence: values, laws, coverage, and what must not be forgotten."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

import skbound.bounds._recursive as module
from skbound.bounds import (
    HOLDOUT_BOUNDS,
    RecursiveBound,
    binomial_tail_inverse,
    certificates,
    kl_inverse_upper,
    log_xi,
    resolve_bound,
    split_kl_finite,
)
from skbound.estimates import certified_error_estimate
from skbound.evidence import Evidence, RecursiveSample, RecursiveStep, Sample
from skbound.exceptions import MissingEvidenceError
from tests.bounds import checks

BOUND = RecursiveBound()


def step(losses, before=None, log_ratio=None, start=0):
    rows = np.arange(start, start + len(losses))
    previous = None if before is None else Sample(rows, before)
    return RecursiveStep(Sample(rows, losses), previous, log_ratio)


def pairs(both, only_last, only_before, n):
    """Losses of two predictors with these counts of joint errors."""
    last, before = np.zeros(n), np.zeros(n)
    last[: both + only_last] = 1.0
    before[:both] = 1.0
    before[both + only_last : both + only_last + only_before] = 1.0
    return last, before


def make_evidence(steps, gamma=0.5, **settings):
    settings = {"protocol": "recursive_pac_bayes", "n_fit": 300, "majority_share": 0.5} | settings
    return Evidence(certified=RecursiveSample(tuple(steps), gamma), **settings)


def typical(gamma=0.5, ratios=(None, None), scale=1, **settings):
    last, before = pairs(20 * scale, 4 * scale, 8 * scale, 200 * scale)
    first = np.repeat([1.0, 0.0], [60 * scale, 340 * scale])
    return make_evidence(
        [step(first, None, ratios[0]), step(last, before, ratios[1])], gamma, **settings
    )


@pytest.mark.parametrize("gamma", [0.3, 0.5, 1.0])
@pytest.mark.parametrize("ratios", [(None, None), (2.0, 5.0)], ids=str)
def test_value_by_hand(gamma, ratios):
    def limit(count, n, parts, ratio):
        delta = 0.05 / 2 / parts
        if ratio is None:
            return binomial_tail_inverse(count, n, log_delta=math.log(delta))
        return kl_inverse_upper(count / n, (ratio + log_xi(n) - math.log(delta)) / n)

    first = limit(60, 400, 1, ratios[0])
    if gamma == 1.0:
        excess = -1.0 + limit(192, 200, 2, ratios[1]) + limit(4, 200, 2, ratios[1])
    else:
        excess = -gamma + gamma * limit(192, 200, 3, ratios[1])
        excess += (1.0 - gamma) * limit(24, 200, 3, ratios[1]) + gamma * limit(4, 200, 3, ratios[1])
    certificate = BOUND(typical(gamma, ratios), 0.05)
    assert certificate.value == pytest.approx(gamma * first + excess, rel=1e-9)
    assert list(certificate.terms) == ["empirical_loss", "recursion"]
    assert certificate.terms["empirical_loss"] == 0.12
    assert math.fsum(certificate.terms.values()) == certificate.value


def test_a_drawn_step_is_the_split_kl_bound():
    nats = (5.0 + log_xi(200) + math.log(2 * 3 / 0.05)) / 200
    excess = split_kl_finite([-0.5, 0.0, 0.5, 1.0], [0.96, 0.12, 0.02], nats)
    first = kl_inverse_upper(0.15, (2.0 + log_xi(400) + math.log(2 / 0.05)) / 400)
    value = BOUND(typical(0.5, (2.0, 5.0)), 0.05).value
    assert value == pytest.approx(0.5 * first + excess, rel=1e-9)


def test_without_a_share_of_the_error_before_it_is_the_hold_out():
    exact = binomial_tail_inverse(24, 200, log_delta=math.log(0.05))
    assert BOUND(typical(0.0), 0.05).value == pytest.approx(exact, rel=1e-11)


def test_laws():
    base = BOUND(typical(0.5, (2.0, 5.0)), 0.05).value
    assert BOUND(typical(0.5, (2.0, 5.0), scale=3), 0.05).value < base
    assert BOUND(typical(0.5, (2.0, 5.0)), 0.2).value < base
    assert BOUND(typical(0.5, (3.0, 5.0)), 0.05).value > base
    assert BOUND(typical(0.5, (2.0, 6.0)), 0.05).value > base
    assert BOUND(typical(), 0.05).value < BOUND(typical(ratios=(0.0, 0.0)), 0.05).value
    # A draw that is less likely than under the prior is worth nothing.
    assert BOUND(typical(ratios=(-9.0, -9.0)), 0.05) == BOUND(typical(ratios=(0.0, 0.0)), 0.05)
    evidence = typical(0.5, (2.0, 5.0))
    assert (
        pickle.loads(pickle.dumps(BOUND))(pickle.loads(pickle.dumps(evidence)), 0.05).value == base
    )
    for delta in (1e-6, 0.05, 0.5, 0.99):
        assert 0.12 <= BOUND(evidence, delta).value <= 1.0


def test_a_choice_is_paid_for():
    chosen = BOUND(typical(n_candidates=20), 0.2)
    assert chosen.value == pytest.approx(BOUND(typical(), 0.01).value, rel=1e-12)
    assert chosen.terms["choice"] > 0.0


def test_longer_chains_and_hopeless_ones():
    last, before = pairs(20, 4, 8, 100)
    three = make_evidence(
        [step(np.repeat([1.0, 0.0], [90, 210])), step(*pairs(50, 5, 10, 200)), step(last, before)]
    )
    share = 0.05 / 3
    value = module._excess(three.certified.steps[0], 0.5, share)
    for later in three.certified.steps[1:]:
        value = 0.5 * value + module._excess(later, 0.5, share)
    assert BOUND(three, 0.05).value == pytest.approx(value)
    ones = np.ones(50)
    assert BOUND(make_evidence([step(ones), step(ones, ones)]), 0.05).value == pytest.approx(1.0)


def test_statement_and_sample():
    drawn, held_out = typical(ratios=(1.0, 1.0)), typical()
    for evidence, whose in ((drawn, "its prior"), (held_out, "it")):
        text = BOUND(evidence, 0.05).statement()
        assert "predict uses the last of 2 predictors" in text
        assert f"on 200 that {whose} had not seen (mean error there 0.1200)." in text
        estimate = certified_error_estimate(evidence)
        assert estimate.value == 0.12
        # The last net was drawn with a view to these rows.
        assert estimate.optimistic == (evidence is drawn)
        assert ("was trained on" in estimate.method) == (evidence is drawn)
    assert "each drawn around weights trained on more rows" in BOUND(drawn, 0.05).statement()


def test_other_bounds_refuse_and_it_refuses_others():
    for bound in HOLDOUT_BOUNDS.values():
        with pytest.raises(MissingEvidenceError, match="one fixed predictor"):
            bound(typical(), 0.05)
    with pytest.raises(MissingEvidenceError, match="Fit with protocol='recursive_pac_bayes'"):
        BOUND(checks.make_evidence(np.zeros(9)), 0.05)
    assert resolve_bound("auto", typical()) == BOUND
    assert list(certificates(typical(), 0.05)) == ["recursive"]


def test_impossible_records():
    good = step(np.zeros(5), None)
    with pytest.raises(ValueError, match="at least one step"):
        RecursiveSample((), 0.5)
    with pytest.raises(ValueError, match="previous must be None for the first"):
        RecursiveSample((good, good), 0.5)
    with pytest.raises(ValueError, match="among those of the step before"):
        RecursiveSample((good, step(np.zeros(2), np.zeros(2), start=4)), 0.5)
    with pytest.raises(ValueError, match=r"gamma must lie in \[0, 1\], got 1.5"):
        RecursiveSample((good,), 1.5)
    with pytest.raises(ValueError, match="evaluated on the same rows"):
        RecursiveStep(Sample([0, 1], [0, 0]), Sample([0, 2], [0, 0]))
    with pytest.raises(ValueError, match="log_ratio must be finite"):
        step(np.zeros(2), None, math.nan)


# Coverage on evidence. Each world returns a record and the true error of the last predictor.


def held_out_world(rng, gamma):
    """Correlated losses; the last predictor is worse where the rows before looked good."""
    first_rate = 0.3
    a = rng.random(120) < first_rate
    lucky = a[:60].mean() < first_rate
    s1, s0 = (0.9, 0.15) if lucky else (0.5, 0.02)
    b = np.where(a, rng.random(120) < s1, rng.random(120) < s0)[60:]
    rate = first_rate * s1 + (1.0 - first_rate) * s0
    return make_evidence([step(a), step(b, a[60:], start=60)], gamma), rate


GRID = np.linspace(0.0, 1.0, 201)


def drawn_world(rng, gamma):
    """Thresholds on [0, 1] with labels flipped at rate .3; laws over a grid that chase the rows."""
    x, flip = rng.random(120), rng.random(120) < 0.3
    y = (x > 0.5) ^ flip
    wrong = (x[:, None] > GRID) != y[:, None]
    risks = 0.3 + 0.4 * np.abs(GRID - 0.5)
    prior = np.full(len(GRID), 1.0 / len(GRID))
    steps, before, start = [], None, 0
    for stop in (60, 120):
        posterior = prior * np.exp(-25.0 * (wrong[start:stop].mean(axis=0)))
        posterior /= posterior.sum()
        drawn = rng.choice(len(GRID), p=posterior)
        ratio = math.log(posterior[drawn] / prior[drawn])
        previous = None if before is None else wrong[start:, before]
        steps.append(step(wrong[start:, drawn], previous, ratio, start=start))
        prior, before, start = posterior, drawn, stop
    return make_evidence(steps, gamma), risks[before]


def miss_rate(world, gamma, delta, bound=BOUND, n_runs=1000):
    rng, misses = np.random.default_rng(3), 0
    for _ in range(n_runs):
        evidence, risk = world(rng, gamma)
        misses += bound(evidence, delta).value < risk
    return misses / n_runs


@pytest.mark.parametrize("delta", [0.2, 0.5])
@pytest.mark.parametrize("gamma", [0.5, 1.0])
@pytest.mark.parametrize("world", [held_out_world, drawn_world])
def test_coverage(world, gamma, delta):
    assert miss_rate(world, gamma, delta) <= delta + 3.0 * np.sqrt(delta * (1.0 - delta) / 1000)


# Mutants.


class WholeDeltaEachStep(RecursiveBound):
    def terms(self, evidence, delta):
        return super().terms(evidence, min(0.999, delta * evidence.certified.n_steps))


class NoChangeOfMeasure(RecursiveBound):
    """A net that saw the rows, bounded as if it had not."""

    def terms(self, evidence, delta):
        chain = evidence.certified
        steps = tuple(replace(s, log_ratio=None) for s in chain.steps)
        return super().terms(replace(evidence, certified=replace(chain, steps=steps)), delta)


class UnpaidExcess(RecursiveBound):
    """The excess is taken as it was seen."""

    def terms(self, evidence, delta):
        chain = evidence.certified
        first, last = chain.steps
        value = chain.gamma * module._excess(first, chain.gamma, delta)
        value += last.sample.error - chain.gamma * last.previous.error
        return {"empirical_loss": last.sample.error, "recursion": value - last.sample.error}


def assert_shares_delta_among_steps(bound):
    """Two steps without any errors: both exact tails are closed forms."""
    zeros = np.zeros(100)
    evidence = make_evidence([step(zeros), step(zeros, zeros)], 1.0)
    first, part = 1.0 - 0.025 ** (1 / 100), 1.0 - 0.0125 ** (1 / 100)
    assert bound(evidence, 0.05).value == pytest.approx(first + part, rel=1e-9)


def assert_ratio_counts(bound):
    values = [bound(typical(ratios=(1.0, r)), 0.05).value for r in (0.0, 3.0)]
    assert values[0] < values[1]


def test_mutants():
    assert_shares_delta_among_steps(BOUND)
    for mutant in (WholeDeltaEachStep(), UnpaidExcess()):
        with pytest.raises(AssertionError):
            assert_shares_delta_among_steps(mutant)
    assert_ratio_counts(BOUND)
    with pytest.raises(AssertionError):
        assert_ratio_counts(NoChangeOfMeasure())


def test_mutants_that_miss_too_often():
    assert miss_rate(held_out_world, 0.1, 0.05, UnpaidExcess(), 300) > 0.1
