"""Schedules begin and end where they say, and reach the regulariser step by step."""

import math

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer

from skbound import TransformerClassifier
from skbound.regularizers import Constant, Cosine, Linear, Regularizer, Schedule, Steps
from skbound.regularizers._schedules import check_strength

X, Y = load_breast_cancer(return_X_y=True)


def test_values():
    times = np.linspace(0, 1, 5)
    assert [Constant(3.0).at(t) for t in times] == [3.0] * 5
    assert np.allclose([Linear(10.0, 2.0).at(t) for t in times], [10, 8, 6, 4, 2])
    cosine = [2 + 8 * (1 + math.cos(math.pi * t)) / 2 for t in times]
    assert np.allclose([Cosine(10.0, 2.0).at(t) for t in times], cosine)
    assert [Steps((1.0, 2.0, 3.0)).at(t) for t in (0, 0.3, 0.34, 0.6, 0.7, 1)] == [1, 1, 2, 2, 3, 3]
    for schedule in (Linear(0.3, 0.7), Cosine(0.3, 0.7)):
        assert (schedule.at(0.0), schedule.at(1.0)) == (0.3, 0.7)


def test_a_base_without_at_says_so():
    with pytest.raises(NotImplementedError, match="must define at"):
        Schedule().at(0.0)


def test_no_steps_are_refused():
    with pytest.raises(ValueError, match="at least one strength"):
        check_strength("radius", Steps(()), 0.0)


class Noted(Regularizer):
    def __init__(self, log, strength):
        self.log = log
        self.strength = strength

    def __sklearn_clone__(self):
        return Noted(self.log, clone(self.strength))

    def after_step(self, module):
        self.log.append(self.now("strength"))


@pytest.mark.parametrize("n_epochs", [1, 3])
def test_strengths_move_from_step_to_step(n_epochs):
    log = []
    schedule = Linear(0.0, 1.0)
    model = TransformerClassifier(protocol="holdout",
        depth=1, width=8, max_epochs=n_epochs, random_state=0, batch_size=100,
        regularizers=(Noted(log, schedule),),
    )  # fmt: skip
    model.fit(X, Y)
    assert np.allclose(log, np.linspace(0, 1, 5 * n_epochs))
    assert vars(schedule) == {"start": 0.0, "end": 1.0}


def test_a_single_step_is_the_first():
    log = []
    TransformerClassifier(
        protocol="holdout",
        depth=1,
        width=8,
        max_epochs=1,
        batch_size=600,
        regularizers=(Noted(log, Linear(1.0, 2.0)),),
    ).fit(X, Y)
    assert log == [1.0]
