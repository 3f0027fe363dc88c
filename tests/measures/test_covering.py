import itertools
import math

import numpy as np
import pytest

from skbound.bounds import dudley_integral
from skbound.measures import (
    allocate_errors,
    ball_log_covering,
    maurey_log_covering,
    packing_number,
)


def test_a_ball_on_the_line_needs_no_more_than_that():
    for distance in (0.01, 0.3, 0.7, 1.0):
        needed = math.ceil(1.0 / distance - 1e-12)
        assert math.log(needed) <= ball_log_covering(1, 1.0, distance)


def test_ball_grows_with_its_dimension_per_factor_of_distance():
    near, nearer = ball_log_covering(7, 1.0, [1e-8, 1e-9])
    assert nearer - near == pytest.approx(7 * math.log(10), rel=1e-6)


def test_packing_is_below_covering():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(3000, 1, 2))
    points /= np.maximum(1.0, np.linalg.norm(points, axis=2, keepdims=True))
    for distance in (0.1, 0.2, 0.5):
        count = packing_number(points, distance)
        assert math.log(count) <= ball_log_covering(2, 1.0, distance)
    # In one dimension at least: points 0.1 apart, of which every third is counted.
    assert packing_number(np.linspace(0, 1, 11).reshape(11, 1, 1), 0.1 + 1e-9) == 4


def test_packing_takes_the_row_where_functions_differ_most():
    outputs = np.zeros((2, 4, 3))
    outputs[1, 2] = [0.0, 3.0, 4.0]
    assert packing_number(outputs, 2.4) == 2
    assert packing_number(outputs, 2.5) == 1


def test_maurey_by_trying_all_draws():
    atoms = np.vstack([np.zeros(2), np.eye(2), -np.eye(2)])
    rng = np.random.default_rng(1)
    for distance in (0.5, 0.6, 0.9):
        k = math.ceil(distance**-2)
        means = np.array([sum(draw) / k for draw in itertools.product(atoms, repeat=k)])
        assert math.log(len(np.unique(means.round(9), axis=0))) <= maurey_log_covering(
            2, 1.0, distance
        )
        for _ in range(200):
            point = rng.laplace(size=2)
            point *= rng.uniform() / np.abs(point).sum()
            assert np.linalg.norm(means - point, axis=1).min() <= distance


def test_allocation_is_feasible_and_smallest():
    rng = np.random.default_rng(2)
    for _ in range(20):
        a, b = rng.uniform(0.1, 10.0, 5), rng.uniform(0.1, 10.0, 5)
        error = float(rng.uniform(0.1, 2.0))
        errors, least = allocate_errors(a, b, error)
        assert b @ errors == pytest.approx(error)
        assert (a / errors**2).sum() == pytest.approx(least)
        gamma = (a ** (1 / 3) * b ** (2 / 3)).sum()
        assert least == pytest.approx(gamma**3 / error**2)
        for _ in range(50):
            shares = rng.dirichlet(np.ones(5)) * error / b
            assert (a / shares**2).sum() >= least * (1 - 1e-12)


def test_dudley_takes_them():
    few = dudley_integral(lambda e: ball_log_covering(10, 1.0, e), 1_000)
    many = dudley_integral(lambda e: ball_log_covering(10, 1.0, e), 100_000)
    assert many < few / 5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ball_log_covering(0, 1.0, 0.1), "n_dimensions must be at least 1, got 0"),
        (lambda: ball_log_covering(1, -1.0, 0.1), "radius must not be negative"),
        (lambda: ball_log_covering(1, 1.0, 0.0), "distance must be positive"),
        (lambda: maurey_log_covering(0, 1.0, 0.1), "n_entries must be at least 1"),
        (lambda: maurey_log_covering(1, -1.0, 0.1), "sum_of_absolutes must not be negative"),
        (lambda: allocate_errors([1.0], [0.0], 1.0), "rates must be positive"),
        (lambda: allocate_errors([1.0], [1.0], 0.0), "error must be positive"),
        (lambda: packing_number(np.zeros((0, 1, 1)), 1.0), "at least one function"),
        (lambda: packing_number(np.zeros((1, 1)), 1.0), "of shape"),
        (lambda: packing_number(np.zeros((1, 1, 1)), -1.0), "distance must not be negative"),
    ],
)
def test_numbers_out_of_range_raise(call, message):
    with pytest.raises(ValueError, match=message):
        call()
