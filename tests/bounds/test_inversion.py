import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from skbound.bounds import binomial_tail_inverse, kl, kl_inverse_lower, kl_inverse_upper, log_xi

probabilities = st.floats(0.0, 1.0)
radii = st.floats(0.0, 50.0)
few_examples = settings(max_examples=60, deadline=None)


@st.composite
def counts(draw):
    n_samples = draw(st.integers(1, 5000))
    return draw(st.integers(0, n_samples)), n_samples


def test_kl_of_simple_arguments():
    assert kl(0.3, 0.3) == kl(0.0, 0.0) == kl(1.0, 1.0) == 0.0
    assert kl(0.5, 0.0) == kl(0.5, 1.0) == kl(0.0, 1.0) == kl(1.0, 0.0) == math.inf
    assert kl(0.0, 0.25) == pytest.approx(-math.log(0.75), rel=1e-15)
    assert kl(1.0, 0.25) == pytest.approx(math.log(4.0), rel=1e-15)
    assert kl(0.2, 0.5) == pytest.approx(0.2 * math.log(0.4) + 0.8 * math.log(1.6), rel=1e-14)


def test_kl_keeps_its_digits_for_close_and_for_tiny_arguments():
    # Second order: (p - q)^2 / (2 q (1 - q)).
    assert kl(0.3, 0.3 + 1e-7) == pytest.approx(1e-14 / 0.42, rel=1e-5)
    assert kl(0.0, 1e-12) == pytest.approx(1e-12, rel=1e-11)
    assert kl(1e-300, 0.5) == pytest.approx(math.log(2.0), rel=1e-15)


@given(probabilities, probabilities)
def test_kl_is_at_least_pinskers_bound(q, p):
    assert kl(q, p) >= 2.0 * (p - q) ** 2 * (1.0 - 1e-9)


@given(st.integers(0, 64), st.integers(0, 64))
def test_kl_does_not_change_when_the_classes_are_exchanged(i, j):
    q, p = i / 64, j / 64
    assert kl(1.0 - q, 1.0 - p) == pytest.approx(kl(q, p), rel=1e-12)


@pytest.mark.parametrize(
    ("q", "c", "expected"),
    [
        (0.0, 0.1, 0.095162582),
        (0.1, 0.1, 0.282379139),
        (0.05, 0.01, 0.086902149),
        (0.5, 0.02, 0.599008284),
        (0.02, 0.05, 0.098572168),
        (0.9, 0.05, 0.968721604),
    ],
)
def test_kl_inverse_upper_vectors(q, c, expected):
    assert kl_inverse_upper(q, c) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("c", [1e-12, 1e-3, 0.5, 20.0])
def test_kl_inverses_in_closed_form(c):
    assert kl_inverse_upper(0.0, c) == pytest.approx(-math.expm1(-c), rel=2e-12)
    assert kl_inverse_lower(1.0, c) == pytest.approx(math.exp(-c), rel=2e-12)
    assert kl_inverse_upper(1.0, c) == 1.0
    assert kl_inverse_lower(0.0, c) == 0.0
    assert kl_inverse_upper(0.3, math.inf) == 1.0
    assert kl_inverse_lower(0.3, math.inf) == 0.0


@few_examples
@given(probabilities, radii)
def test_kl_inverses_enclose_and_lie_on_the_safe_side(q, c):
    lower, upper = kl_inverse_lower(q, c), kl_inverse_upper(q, c)
    assert 0.0 <= lower <= q <= upper <= 1.0
    assert upper == 1.0 or kl(q, upper) >= c
    # Near 0 the margin is smaller than the smallest double.
    assert lower < 1e-300 or kl(q, lower) >= c


@few_examples
@given(st.floats(0.001, 0.999), st.floats(0.001, 0.999))
def test_kl_inverse_round_trip(q, p):
    inverse = kl_inverse_upper if p >= q else kl_inverse_lower
    # At p close to q the radius determines p only to the square root of the precision.
    assert inverse(q, kl(q, p)) == pytest.approx(p, abs=1e-8)


@few_examples
@given(probabilities, probabilities, radii, radii)
def test_kl_inverses_are_monotone(q1, q2, c1, c2):
    (q1, q2), (c1, c2) = sorted([q1, q2]), sorted([c1, c2])
    assert kl_inverse_upper(q1, c1) <= kl_inverse_upper(q1, c2)
    assert kl_inverse_lower(q1, c1) >= kl_inverse_lower(q1, c2)
    assert kl_inverse_upper(q1, c1) <= kl_inverse_upper(q2, c1) * (1.0 + 1e-12)
    assert kl_inverse_lower(q1, c1) <= kl_inverse_lower(q2, c1) * (1.0 + 1e-11) + 1e-300


@pytest.mark.parametrize(
    ("n_errors", "n_samples", "expected"),
    [
        (0, 10, 0.258866),
        (1, 10, 0.394163),
        (5, 100, 0.102253),
        (10, 100, 0.163718),
        (50, 1000, 0.062863),
        (7, 287, 0.045322),
        (20, 719, 0.040165),
    ],
)
def test_binomial_vectors(n_errors, n_samples, expected):
    value = binomial_tail_inverse(n_errors, n_samples, log_delta=math.log(0.05))
    assert value == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize("log_delta", [-1e6, -2000.0, -3.0, -0.01])
@pytest.mark.parametrize("n_samples", [1, 10, 5000, 10**7])
def test_binomial_closed_forms(n_samples, log_delta):
    none = binomial_tail_inverse(0, n_samples, log_delta=log_delta)
    assert none == pytest.approx(-math.expm1(log_delta / n_samples), rel=2e-12)
    assert binomial_tail_inverse(n_samples, n_samples, log_delta=log_delta) == 1.0
    if n_samples > 1:
        # All but one error: P(not n errors) = 1 - p^n.
        most = binomial_tail_inverse(n_samples - 1, n_samples, log_delta=log_delta)
        expected = math.exp(math.log1p(-math.exp(log_delta)) / n_samples)
        assert most == pytest.approx(expected, rel=2e-12)


@few_examples
@given(counts(), st.floats(-600.0, -1e-3))
def test_binomial_is_a_tight_upper_end_of_the_tail(count, log_delta):
    k, n = count
    p, delta = binomial_tail_inverse(k, n, log_delta=log_delta), math.exp(log_delta)
    assert 0.0 < p <= 1.0
    if p < 1.0:
        assert special.betaincc(k + 1, n - k, p) <= delta
        assert special.betaincc(k + 1, n - k, p * (1.0 - 1e-9)) >= delta
        # Near 1 the tail moves a lot while p moves in its last digits.
        assert stats.binom.cdf(k, n, p) <= delta * (1.0 + 1e-6)
        assert stats.binom.cdf(k, n, p * (1.0 - 1e-9)) >= delta * (1.0 - 1e-6)


@few_examples
@given(counts(), st.floats(-1e6, -1e-3), st.floats(-1e6, -1e-3))
def test_binomial_is_monotone_and_below_kl(count, one, other):
    (k, n), (smaller, larger) = count, sorted([one, other])
    value = binomial_tail_inverse(k, n, log_delta=smaller)
    assert value >= binomial_tail_inverse(k, n, log_delta=larger)
    assert value <= kl_inverse_upper(k / n, -smaller / n) * (1.0 + 1e-9)
    if k < n:
        assert value <= binomial_tail_inverse(k + 1, n, log_delta=smaller) * (1.0 + 1e-11)


@pytest.mark.parametrize(("k", "n"), [(1, 2), (3, 40), (100, 1000), (900, 1000), (999, 1000)])
def test_binomial_is_continuous_where_the_method_changes(k, n):
    above = binomial_tail_inverse(k, n, log_delta=-650.0 + 1e-9)
    below = binomial_tail_inverse(k, n, log_delta=-650.0 - 1e-9)
    assert below == pytest.approx(above, rel=1e-8)


@pytest.mark.parametrize("log_delta", [-700.0, -1e4, -1e6])
@pytest.mark.parametrize(("k", "n"), [(1, 10**4), (3000, 10**5), (60000, 10**7)])
def test_binomial_below_the_smallest_double(k, n, log_delta):
    p = binomial_tail_inverse(k, n, log_delta=log_delta)
    log_pmf = stats.binom.logpmf(np.arange(k + 1), n, min(p, 1.0 - 1e-16))
    tail = special.logsumexp(log_pmf)
    assert tail <= log_delta or p == 1.0
    if p < 1.0 - 1e-12:
        assert tail == pytest.approx(log_delta, rel=1e-6)


@pytest.mark.parametrize(("n", "xi"), [(1, 2.0), (2, 2.5), (8, 4.2450), (50, 9.5431)])
def test_xi_vectors(n, xi):
    assert math.exp(log_xi(n)) == pytest.approx(xi, abs=5e-5)


@pytest.mark.parametrize(("n", "expected"), [(1000, 3.69643), (10000, 4.836275), (50000, 5.63806)])
def test_log_xi_vectors(n, expected):
    assert log_xi(n) == pytest.approx(expected, abs=6e-6)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 100, 4321])
def test_log_xi_is_its_definition(n):
    k = np.arange(n + 1)
    # binom.logpmf at p = k / n is the logarithm of the k-th term.
    assert log_xi(n) == pytest.approx(special.logsumexp(stats.binom.logpmf(k, n, k / n)), rel=1e-9)


def test_log_xi_lies_between_maurers_limits_and_grows():
    values = [log_xi(n) for n in (1, 2, 8, 99, 10**4, 10**6, 10**9, 10**9 + 1, 10**12)]
    assert all(a < b for a, b in itertools.pairwise(values))
    for n in (8, 1000, 10**6, 10**9):
        assert math.log(math.sqrt(n)) <= log_xi(n) <= math.log(2.0 * math.sqrt(n))
    assert log_xi(10**12) == pytest.approx(math.log(2e6), rel=1e-11)
    assert log_xi(10**8) == pytest.approx(math.log(math.sqrt(math.pi * 5e7) + 2 / 3), rel=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: kl(1.5, 0.5), r"q must lie in \[0, 1\], got 1.5"),
        (lambda: kl(0.5, math.nan), r"p must lie in \[0, 1\], got nan"),
        (lambda: kl_inverse_upper(-0.1, 0.1), r"q must lie in \[0, 1\], got -0.1"),
        (lambda: kl_inverse_upper(0.1, -0.1), r"c must be a non-negative .* got -0.1"),
        (lambda: kl_inverse_lower(0.1, math.nan), r"c must be a non-negative .* got nan"),
        (lambda: binomial_tail_inverse(0, 0, log_delta=-1.0), "n_samples must be at least 1"),
        (lambda: binomial_tail_inverse(4, 3, log_delta=-1.0), "between 0 and n_samples = 3, got 4"),
        (lambda: binomial_tail_inverse(-1, 3, log_delta=-1.0), "n_errors .* got -1"),
        (lambda: binomial_tail_inverse(1, 3, log_delta=0.05), "negative and finite, got 0.05"),
        (lambda: binomial_tail_inverse(1, 3, log_delta=-math.inf), "negative and finite, got -inf"),
        (lambda: log_xi(0), "n_samples must be at least 1, got 0"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
