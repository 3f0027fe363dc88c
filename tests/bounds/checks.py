"""What every bound must satisfy, as functions, so that the tests of mutants apply the same ones."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from skbound.bounds import BinomialBound, Bound
from skbound.evidence import Evidence, Sample


def make_evidence(zero_one, brier=None, **settings) -> Evidence:
    sample = Sample(np.arange(len(zero_one)), zero_one, brier)
    settings = {"protocol": "holdout", "n_fit": 400, "majority_share": 0.5} | settings
    return Evidence(certified=sample, **settings)


def evidence_of(bound: Bound, losses, **settings) -> Evidence:
    """Evidence in which `losses` are the losses that `bound` looks at."""
    losses = np.asarray(losses, dtype=float)
    if bound.loss == "zero_one":
        return make_evidence(losses, **settings)
    return make_evidence(losses >= 0.5, losses, **settings)


def typical_losses(bound: Bound, n_samples: int = 200, seed: int = 0):
    """Losses with a period of 50 rows: every multiple of 50 has the same mean and spread."""
    rng = np.random.default_rng(seed)
    if bound.loss == "zero_one":
        period = rng.permutation([1.0] * 6 + [0.0] * 44)
    else:
        period = rng.permutation(stats.beta.ppf((np.arange(50) + 0.5) / 50, 0.4, 2.6))
    return np.tile(period, n_samples // 50)


# Laws of a loss with a known mean.


@dataclass(frozen=True)
class Law:
    name: str
    mean: float
    draw: Callable[[np.random.Generator, tuple[int, int]], np.ndarray]


def bernoulli(p: float) -> Law:
    return Law(f"bernoulli({p})", p, lambda rng, shape: (rng.random(shape) < p).astype(float))


def beta(a: float, b: float) -> Law:
    return Law(f"beta({a}, {b})", a / (a + b), lambda rng, shape: rng.beta(a, b, shape))


def discrete(*atoms: tuple[float, float]) -> Law:
    values, weights = (np.array(column) for column in zip(*atoms, strict=True))
    return Law(
        f"atoms{atoms}",
        float(values @ weights),
        lambda rng, shape: rng.choice(values, size=shape, p=weights),
    )


# Coverage: how often a bound fails.


def miss_rate(bound, law: Law, n_samples: int, delta: float, *, n_runs=1000, by_count=False):
    """Share of `n_runs` samples in which the bound lies below the true mean.

    With `by_count` the bound is computed once per number of errors, for bounds on 0-1 losses that
    depend on nothing else.
    """
    losses = law.draw(np.random.default_rng(n_samples), (n_runs, n_samples))
    if not by_count:
        values = [bound(evidence_of(bound, row), delta).value for row in losses]
        return float(np.mean(np.array(values) < law.mean))
    counts = losses.sum(axis=1).astype(int)
    values = {k: value_at_count(bound, k, n_samples, delta) for k in np.unique(counts)}
    return float(np.mean([values[k] < law.mean for k in counts]))


def assert_covers(bound, law: Law, n_samples: int, delta: float, **options) -> None:
    n_runs = options.setdefault("n_runs", 1000)
    allowed = delta + 3.0 * np.sqrt(delta * (1.0 - delta) / n_runs)
    observed = miss_rate(bound, law, n_samples, delta, **options)
    assert observed <= allowed, f"{bound}: misses {observed}, allowed {allowed}"


def value_at_count(bound, k: int, n_samples: int, delta: float, **settings) -> float:
    return bound(make_evidence(np.arange(n_samples) < k, **settings), delta).value


def worst_miss(bound, n_samples: int, delta: float) -> float:
    """Largest miss probability over all true error rates, by enumeration of the error counts.

    The miss probability jumps where the rate passes a value of the bound, and rises until then.
    """
    counts = np.arange(n_samples + 1)
    values = np.array([value_at_count(bound, k, n_samples, delta) for k in counts])
    rates = np.unique(values[values < 1.0])
    pmf = stats.binom.pmf(counts[:, None], n_samples, rates)
    return float((pmf * (values[:, None] <= rates)).sum(axis=0).max())


def assert_covers_exactly(bound, n_samples: int, delta: float) -> None:
    worst = worst_miss(bound, n_samples, delta)
    assert worst <= delta, f"{bound}: misses {worst} at some rate, allowed {delta}"


def selection_miss_rate(
    bound, n_candidates: int, *, paid: bool, delta=0.05, rate=0.2, n_samples=500, n_runs=2000
) -> float:
    """How often the bound of the best-looking of several equally bad predictors fails."""
    rng = np.random.default_rng(n_candidates)
    fewest = rng.binomial(n_samples, rate, size=(n_runs, n_candidates)).min(axis=1)
    told = n_candidates if paid else 1
    values = {
        k: value_at_count(bound, k, n_samples, delta, n_candidates=told) for k in np.unique(fewest)
    }
    return float(np.mean([values[k] < rate for k in fewest]))


# Laws that hold for each single value.


def assert_pays_for_candidates(bound) -> None:
    losses = typical_losses(bound)
    chosen = bound(evidence_of(bound, losses, n_candidates=20), 0.2)
    alone = bound(evidence_of(bound, losses), 0.01)
    np.testing.assert_allclose(chosen.value, alone.value, rtol=1e-12)
    assert chosen.delta == 0.2
    assert chosen.terms["choice"] > 0.0


def assert_not_below_mean(bound) -> None:
    for seed in range(5):
        losses = typical_losses(bound, 50, seed)
        for delta in (0.001, 0.05, 0.5, 0.99):
            assert bound(evidence_of(bound, losses), delta).value >= losses.mean()


def assert_constant_losses_give_the_bernstein_width(bound) -> None:
    """Without variance the empirical Bernstein width is ``7 ln(2/delta) / (3 (n - 1))``."""
    value = bound(evidence_of(bound, np.zeros(50)), 0.05).value
    np.testing.assert_allclose(value, 7.0 * np.log(2.0 / 0.05) / (3.0 * 49.0), rtol=1e-9)


def assert_not_below_binomial(bound) -> None:
    """Nothing valid that grows with the error count is below the exact binomial tail bound."""
    for n_samples, delta in itertools.product((20, 200), (1e-6, 0.01, 0.05, 0.2, 0.5)):
        for k in range(0, n_samples + 1, n_samples // 20):
            exact = value_at_count(BinomialBound(), k, n_samples, delta)
            assert value_at_count(bound, k, n_samples, delta) >= exact * (1.0 - 1e-11)


def assert_shares_delta(best) -> None:
    losses = typical_losses(best)
    evidence, share = evidence_of(best, losses), 0.1 / len(best.bounds)
    smallest = min(bound(evidence, share).value for bound in best.bounds)
    np.testing.assert_allclose(best(evidence, 0.1).value, smallest, rtol=1e-12)
