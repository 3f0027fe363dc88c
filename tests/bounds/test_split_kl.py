"""Split-kl and unexpected Bernstein bounds: values, laws, coverage, mistakes of public code."""

import math

import numpy as np
import pytest

from skbound.bounds import (
    EmpiricalBernsteinBound,
    KLBound,
    SplitKLBound,
    UnexpectedBernsteinBound,
    certificates,
    kl_inverse_lower,
    kl_inverse_upper,
    split_kl_finite,
    split_kl_upper,
    unexpected_bernstein,
)
from tests.bounds import checks

BOUNDS = [
    SplitKLBound("brier"),
    SplitKLBound("brier", middle=0.5),
    SplitKLBound(),
    UnexpectedBernsteinBound("brier"),
    UnexpectedBernsteinBound(),
]
DELTAS = (0.2, 0.5)
LAWS = (
    checks.beta(0.4, 2.6),
    checks.discrete((0.0, 0.97), (0.81, 0.03)),
    checks.discrete((0.0, 0.5), (0.25, 0.3), (1.0, 0.2)),
)


def test_ternary_values():
    """n = 1000, 5 % at -1 and at 1: split .0375, kl .0773, Bernstein .0444."""
    nats = math.log(2 / 0.05) / 1000
    split = split_kl_upper(0.05, 0.05, low=-1.0, middle=0.0, high=1.0, nats=nats)
    assert round(split, 4) == 0.0375
    whole = 2.0 * kl_inverse_upper(0.5, math.log(20) / 1000) - 1.0
    assert round(whole, 4) == 0.0773
    losses = np.repeat([-1.0, 0.0, 1.0], [50, 900, 50]) / 2 + 0.5
    bernstein = 2.0 * EmpiricalBernsteinBound("brier").upper(losses, 0.05) - 1.0
    assert round(bernstein, 4) == 0.0444


# Pairs of (reached 0, reached 1) frequencies, KL, errors of the reference, its bound, the bound:
# notebook of the recursive PAC-Bayes paper, "InformedExcess" on MNIST, 30,000 rows.
@pytest.mark.parametrize(
    ("tails", "divergence", "reference", "bounds"),
    [
        ((0.995, 0.14223333), 2326.7615, 737, (0.027305699270, 0.3482941593)),
        ((0.9949, 0.14923333), 2331.6982, 747, (0.027656394578, 0.3577820499)),
        ((0.9948, 0.1428), 2234.8726, 775, (0.028637682106, 0.3464406601)),
    ],
)
def test_published_excess_bounds(tails, divergence, reference, bounds):
    n, delta, delta_test = 30_000, 0.025, 0.01
    upper = [kl_inverse_upper(t, math.log(2 / delta_test) / n) for t in tails]
    nats = (divergence + math.log(2 * 2 * math.sqrt(n) / delta)) / n
    base = kl_inverse_upper(reference / n, math.log(2 / delta) / n)
    assert base == pytest.approx(bounds[0], abs=1e-9)
    assert split_kl_finite([-1.0, 0.0, 1.0], upper, nats) + base == pytest.approx(
        bounds[1], abs=1e-6
    )


def test_published_recursion():
    """Frequencies and mean divergences of the last of five runs: close to the mean values."""
    rows = [58125, 56250, 52500, 45000, 30000]
    tails = [
        (0.74940217, 0.14298494, 0.03363441),
        (0.9346667, 0.11953778, 0.04177778),
        (0.95125717, 0.11177143, 0.03944762),
        (0.9535111, 0.10024445, 0.0344),
        (0.9631, 0.1033, 0.03763333),
    ]
    divergences = (0.05630976, 0.00963022, 0.00437401, 0.00318368, 0.00264056)
    expected = (0.15789995, 0.11063915, 0.09263456, 0.08266838, 0.08327278)
    chain = [0.45416848]
    for n, freq, per_row, mean in zip(rows, tails, divergences, expected, strict=True):
        upper = [kl_inverse_upper(f, math.log(3 * 6 / 0.01) / n) for f in freq]
        nats = per_row + math.log(3 * 6 * 2 * math.sqrt(n) / 0.025) / n
        excess = split_kl_finite([-0.5, 0.0, 0.5, 1.0], upper, nats)
        assert excess == pytest.approx(mean, abs=0.006)
        chain.append(0.5 * chain[-1] + mean)
    published = (0.45416848, 0.38498419, 0.30313124, 0.24420018, 0.20476847, 0.18565702)
    assert chain == pytest.approx(published, abs=1e-7)


def test_one_value_above_another_is_plain_kl():
    assert split_kl_finite([0.0, 1.0], [0.1], 0.01) == pytest.approx(kl_inverse_upper(0.1, 0.01))
    assert split_kl_upper(0.2, 0.0, low=0.0, middle=0.0, high=2.0, nats=0.01) == pytest.approx(
        2.0 * kl_inverse_upper(0.1, 0.01)
    )
    assert split_kl_upper(0.0, 0.2, low=-2.0, middle=0.0, high=0.0, nats=0.01) == pytest.approx(
        -2.0 * kl_inverse_lower(0.1, 0.01)
    )


def test_units_scale_and_shift():
    base = split_kl_upper(0.05, 0.1, low=-1.0, middle=0.0, high=1.0, nats=0.01)
    moved = split_kl_upper(0.15, 0.3, low=-1.0, middle=2.0, high=5.0, nats=0.01)
    assert moved == pytest.approx(2.0 + 3.0 * base)
    finite = split_kl_finite([-1.0, 0.0, 1.0], [0.9, 0.05], 0.01)
    assert finite == pytest.approx(base)


def test_values_grow_with_the_radius_and_reach_the_top():
    values = [split_kl_finite([-0.5, 0.0, 0.5, 1.0], [0.9, 0.2, 0.1], c) for c in (0, 0.01, 1, 99)]
    assert (np.diff(values) > 0.0).all()
    assert values[0] == pytest.approx(-0.5 + 0.5 * 1.2)
    assert values[-1] == 1.0


def test_unexpected_bernstein_by_hand():
    # ln(1/delta) = 3, n = 100: G = ceil(log2(sqrt(100/3) / 2)) = 2 constants, 1/2 and 1/4.
    delta, nats = math.exp(-3.0), (3.0 + math.log(2.0) + 1.5) / 100
    parts = [(-math.log(1 - a) / a**2 - 1 / a) * a * 0.02 + nats / a for a in (0.5, 0.25)]
    value = unexpected_bernstein(0.1, 0.02, largest=1.0, n_samples=100, delta=delta, divergence=1.5)
    assert value == pytest.approx(0.1 + min(parts), rel=1e-11)
    scaled = unexpected_bernstein(
        0.3, 0.18, largest=3.0, n_samples=100, delta=delta, divergence=1.5
    )
    assert scaled == pytest.approx(3.0 * value, rel=1e-11)


def test_unexpected_bernstein_needs_no_lower_limit():
    """A variable that is hugely negative at times: only the upper limit matters."""
    rng, misses = np.random.default_rng(0), 0
    for _ in range(1000):
        x = np.where(rng.random(200) < 0.02, -40.0, 1.0)
        value = unexpected_bernstein(x.mean(), np.mean(x**2), largest=1.0, n_samples=200, delta=0.2)
        misses += value < 0.98 - 0.8
    assert misses <= 1000 * 0.2


@pytest.mark.parametrize("bound", BOUNDS, ids=repr)
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_coverage(bound, law, delta):
    if bound.loss == "zero_one":
        law = checks.bernoulli(law.mean)
    checks.assert_covers(bound, law, 100, delta)


def test_they_are_listed_for_the_brier_loss():
    losses = checks.typical_losses(KLBound("brier"))
    found = certificates(checks.make_evidence(losses >= 0.5, losses))
    assert found["brier_split_kl"].value < found["brier_kl"].value
    assert found["brier_unexpected_bernstein"].value < found["brier_empirical_bernstein"].value


def test_refusals():
    with pytest.raises(ValueError, match=r"middle must lie in \(0, 1\), got 1.0"):
        SplitKLBound("brier", middle=1.0)
    with pytest.raises(ValueError, match="must be in this order"):
        split_kl_upper(0.1, 0.1, low=0.0, middle=2.0, high=1.0, nats=0.1)
    with pytest.raises(ValueError, match=r"lie in \[0, 1.0\], got 1.5"):
        split_kl_upper(1.5, 0.1, low=-1.0, middle=0.0, high=1.0, nats=0.1)
    with pytest.raises(ValueError, match="values must ascend"):
        split_kl_finite([0.0, 0.0, 1.0], [0.1, 0.1], 0.1)
    with pytest.raises(ValueError, match="one tail for each"):
        split_kl_finite([0.0, 1.0], [0.1, 0.1], 0.1)
    with pytest.raises(ValueError, match="largest must be positive"):
        unexpected_bernstein(0.1, 0.1, largest=0.0, n_samples=9, delta=0.1)
    with pytest.raises(ValueError, match="mean must be at most largest"):
        unexpected_bernstein(1.1, 0.1, largest=1.0, n_samples=9, delta=0.1)


# Mutants.


class UpperSideOnly(SplitKLBound):
    """The part below is taken at its observed mean."""

    def upper(self, losses, delta):
        below = np.maximum(self.middle - losses, 0.0).mean()
        above = np.maximum(losses - self.middle, 0.0).mean() / (1.0 - self.middle)
        nats = math.log(2.0 / delta) / losses.size
        return self.middle + (1.0 - self.middle) * kl_inverse_upper(above, nats) - below


class BothSidesAtDelta(SplitKLBound):
    def upper(self, losses, delta):
        return super().upper(losses, min(0.999, 2.0 * delta))


class NotScaled(SplitKLBound):
    """The relative entropy of parts that are not divided by their ranges."""

    def upper(self, losses, delta):
        nats = math.log(2.0 / delta) / losses.size
        above = np.maximum(losses - self.middle, 0.0).mean()
        below = np.maximum(self.middle - losses, 0.0).mean()
        return self.middle + kl_inverse_upper(above, nats) - kl_inverse_lower(below, nats)


class FreeGrid(UnexpectedBernsteinBound):
    """The best constant of all, as if it had been fixed beforehand."""

    def upper(self, losses, delta):
        a = np.linspace(1e-3, 0.999, 2000)
        spread = (-np.log1p(-a) - a) / a * np.mean(losses**2)
        return losses.mean() + float((spread - math.log(delta) / (a * losses.size)).min())


class MeanSquareOverN(UnexpectedBernsteinBound):
    """Mutant: the mean square is divided by the number of rows once more."""

    def upper(self, losses, delta):
        second = float(np.mean(losses**2)) / losses.size
        return unexpected_bernstein(
            float(losses.mean()), second, largest=1.0, n_samples=losses.size, delta=delta
        )


def assert_split_at(bound):
    """Losses on one side of the middle give the plain bound of that side, at half of delta."""
    m = bound.middle
    below, above = np.tile([0.0, m], 50), np.tile([m, 1.0], 50)
    nats = math.log(2.0 / 0.1) / 100
    low = m - m * kl_inverse_lower(0.5, nats) + (1.0 - m) * kl_inverse_upper(0.0, nats)
    high = m + (1.0 - m) * kl_inverse_upper(0.5, nats)
    assert bound.upper(below, 0.1) == pytest.approx(low, rel=1e-9)
    assert bound.upper(above, 0.1) == pytest.approx(high, rel=1e-9)


def assert_pays_for_its_grid(bound):
    """Each value is the best of the grid, at the grid's share of delta."""
    losses = np.tile([0.0, 0.3], 50)
    shares = [-math.log1p(-a) / a - 1.0 for a in (0.5, 0.25)]
    nats = math.log(2 / 0.05) / 100
    best = min(s * 0.045 + nats / a for s, a in zip(shares, (0.5, 0.25), strict=True))
    assert bound.upper(losses, 0.05) == pytest.approx(0.15 + best, rel=1e-9)


def test_mutants():
    for bound in (SplitKLBound("brier"), SplitKLBound("brier", middle=0.6)):
        assert_split_at(bound)
    for mutant in (UpperSideOnly("brier"), BothSidesAtDelta("brier"), NotScaled("brier")):
        with pytest.raises(AssertionError):
            assert_split_at(mutant)
    assert_pays_for_its_grid(UnexpectedBernsteinBound("brier"))
    for mutant in (FreeGrid("brier"), MeanSquareOverN("brier")):
        with pytest.raises(AssertionError):
            assert_pays_for_its_grid(mutant)


def test_a_mutant_misses_too_often():
    with pytest.raises(AssertionError):
        checks.assert_covers(MeanSquareOverN("brier"), LAWS[2], 2000, 0.05, n_runs=300)
