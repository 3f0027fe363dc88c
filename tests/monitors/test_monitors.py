"""Monitors record what a direct computation gives, change nothing, and see no certified row."""

import itertools
import math
import pickle

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from skorch.callbacks import Callback

from skbound import TransformerClassifier
from skbound._nn._roles import weights_of
from skbound.bounds import binomial_tail_inverse
from skbound.monitors import (
    BoundMonitor,
    EffectiveL2Monitor,
    GradientMonitor,
    Monitor,
    NormMonitor,
    ParameterMonitor,
    StabilityMonitor,
)
from skbound.regularizers import SpectralNorm

X, Y = load_breast_cancer(return_X_y=True)
SMALL = TransformerClassifier(
    protocol="holdout", depth=1, width=8, n_heads=2, max_epochs=4, random_state=0
)


class Keep(Callback):
    """Keeps what a function makes of the net, in a list that copies share."""

    def __init__(self, log, when, function):
        self.log, self.when, self.function = log, when, function

    def __deepcopy__(self, memo):
        return type(self)(self.log, self.when, self.function)

    def on_train_begin(self, net, **kwargs):
        self._note("on_train_begin", net)

    def on_grad_computed(self, net, **kwargs):
        self._note("on_grad_computed", net)

    def on_epoch_end(self, net, **kwargs):
        self._note("on_epoch_end", net)

    def _note(self, when, net):
        if when in self.when:
            self.log.append(self.function(net))


def weights(net, where="matrices"):
    found = weights_of(net.module_, where, "test")
    return {w.name: w.value.detach().double().numpy().copy() for w in found}


def everything(net):
    return torch.cat([p.detach().double().ravel() for p in net.module_.parameters()])


EVERY = [
    NormMonitor(), GradientMonitor(), GradientMonitor(n_rows=3),
    StabilityMonitor(factor=1e9), ParameterMonitor(), ParameterMonitor(exact=True), BoundMonitor(),
]  # fmt: skip


@pytest.mark.parametrize("monitor", EVERY)
def test_training_is_not_changed_and_history_keeps_the_numbers(monitor):
    model = clone(SMALL).set_params(early_stopping=True)
    plain = clone(model).fit(X, Y)
    watched = clone(model).set_params(callbacks=[monitor])
    given = dict(vars(monitor))
    watched.fit(X, Y)
    assert vars(monitor) == given
    assert np.array_equal(plain.predict_proba(X), watched.predict_proba(X))
    own = set(watched.history_[0]) - set(plain.history_[0])
    assert own
    assert set(plain.history_[0]) == {"train_loss", "valid_loss", "dur"}
    for row in watched.history_:
        assert set(row) == set(watched.history_[0])
        assert all(type(value) is float and math.isfinite(value) for value in row.values())
    again = pickle.loads(pickle.dumps(clone(watched).fit(X, Y)))
    for row, other in zip(watched.history_, again.history_, strict=True):
        assert {k: v for k, v in row.items() if k != "dur"} == {
            k: v for k, v in other.items() if k != "dur"
        }


@pytest.mark.parametrize("regularizers", [(), (SpectralNorm(0.8),)])
def test_norms(regularizers):
    log, starts = [], []
    model = clone(SMALL).set_params(
        callbacks=[
            NormMonitor(),
            Keep(log, ["on_epoch_end"], weights),
            Keep(starts, ["on_train_begin", "on_epoch_end"], everything),
        ],
        regularizers=regularizers,
    )
    model.fit(X, Y)
    for row, matrices in zip(model.history_, log, strict=True):
        squares, logs = 0.0, 0.0
        for name, matrix in matrices.items():
            sigma = np.linalg.svd(matrix, compute_uv=False)[0]
            found = row[f"spectral_norm.{name}"]
            assert np.isclose(found, sigma, rtol=1e-9)
            assert np.isclose(row[f"frobenius_norm.{name}"], np.linalg.norm(matrix))
            squares += np.linalg.norm(matrix) ** 2
            logs += 2 * math.log(sigma)
        assert np.isclose(row["l2_norm"], math.sqrt(squares))
        assert np.isclose(row["log_spectral_product"], logs)
    if not regularizers:
        moved = [float((now - starts[0]).norm()) for now in starts[1:]]
        assert np.allclose([row["distance_from_start"] for row in model.history_], moved, rtol=1e-4)


def gradient_norm(net):
    return float(sum(p.grad.double().square().sum() for p in net.module_.parameters()) ** 0.5)


@pytest.mark.parametrize("gradient_clip", [None, 1e-3])
def test_gradient_norms_are_those_before_clipping(gradient_clip):
    log = []
    model = clone(SMALL).set_params(
        callbacks=[GradientMonitor(), Keep(log, ["on_grad_computed"], gradient_norm)],
        gradient_clip=gradient_clip,
    )
    model.fit(X, Y)
    norms = np.array(log).reshape(4, -1)
    assert norms.max() > 1e-2
    assert np.allclose([row["gradient_norm.mean"] for row in model.history_], norms.mean(axis=1))
    assert np.allclose([row["gradient_norm.max"] for row in model.history_], norms.max(axis=1))


def test_the_gradient_of_a_row_does_not_depend_on_the_batch_size():
    """With steps of no length, so that the net is the same."""
    found = []
    for batch_size in (50, 455):
        model = clone(SMALL).set_params(
            callbacks=[GradientMonitor(n_rows="all")], batch_size=batch_size, max_epochs=1,
            lr=1e-12, dtype="float64",
        )  # fmt: skip
        found.append(model.fit(X, Y).history_[0]["gradient_norm.row_mean_square"])
    assert np.isclose(*found)
    module = model.net_.module_
    rows = np.setdiff1d(np.arange(len(X)), model.evidence_.certified.rows)
    inputs = torch.tensor(model.tokenizer_.prepare(X[rows])).double()
    total = 0.0
    for x, y in zip(inputs, torch.tensor(Y[rows]), strict=True):
        loss = F.cross_entropy(module(x[None]), y[None])
        gradients = torch.autograd.grad(loss, list(module.parameters()))
        total += sum(float(g.square().sum()) for g in gradients)
    assert np.isclose(found[0], total / len(rows))


def test_parameter_laws():
    log = []
    model = clone(SMALL).set_params(
        callbacks=[
            ParameterMonitor(levels=(0.1, 0.5), where=("value", "bias")),
            Keep(log, ["on_train_begin", "on_epoch_end"], lambda net: weights(net, "value")),
        ]
    )
    model.fit(X, Y)
    numbers = [np.concatenate([m.ravel() for m in found.values()]) for found in log]
    for row, now in zip(model.history_, numbers[1:], strict=True):
        expected = {
            "mean": now.mean(), "std": now.std(), "skewness": stats.skew(now),
            "kurtosis": stats.kurtosis(now), "q10": np.quantile(now, 0.1),
            "q50": np.median(now), "moved": np.sqrt(np.mean((now - numbers[0]) ** 2)),
        }  # fmt: skip
        for key, value in expected.items():
            assert np.isclose(row[f"value.{key}"], value), key
        assert "bias.q50" in row
        assert "head.mean" not in row


class Jump(Monitor):
    """Records a number that jumps, and the weights at each epoch."""

    def __init__(self, values, log=None):
        self.values, self.log = values, log

    def __deepcopy__(self, memo):
        return type(self)(self.values, self.log)

    def on_epoch_end(self, net, **kwargs):
        self.record(net, "number", self.values[len(net.history) - 1])
        if self.log is not None:
            self.log.append(everything(net))


def test_a_jump_stops_and_goes_back_to_before_it():
    log = []
    model = clone(SMALL).set_params(
        callbacks=[
            Jump([1.0, 1.1, 0.9, 1.0, 1.2, 5.0, 1.0, 1.0], log),
            StabilityMonitor("number", factor=3.0, window=3),
        ],
        max_epochs=8,
    )
    model.fit(X, Y)
    assert model.n_iter_ == 6
    ratios = [row["jump"] for row in model.history_]
    assert np.allclose(ratios, [1, 1, 1, 1.0, 1.2, 5.0])
    assert torch.equal(everything(model.net_), log[4])
    assert not torch.equal(log[4], log[5])


def test_a_jump_of_the_loss_itself():
    """The weights are blown up in the fourth epoch."""

    class BlowUp(Callback):
        def on_epoch_begin(self, net, **kwargs):
            if len(net.history) == 5:
                with torch.no_grad():
                    net.module_.head.weight.mul_(-30.0)

    model = clone(SMALL).set_params(max_epochs=10, callbacks=[BlowUp(), StabilityMonitor()])
    model.fit(X, Y)
    assert model.n_iter_ == 5
    assert model.history_[-1]["jump"] > 3.0
    assert np.mean(model.predict(X) == Y) > 0.8
    calm = clone(SMALL).set_params(max_epochs=10, callbacks=[StabilityMonitor()])
    assert calm.fit(X, Y).n_iter_ == 10


def test_changes_of_weights():
    log = []
    model = clone(SMALL).set_params(
        callbacks=[StabilityMonitor(), Keep(log, ["on_train_begin", "on_epoch_end"], everything)]
    )
    model.fit(X, Y)
    expected = [float((b - a).norm() / a.norm()) for a, b in itertools.pairwise(log)]
    assert np.allclose([row["weight_change"] for row in model.history_], expected, rtol=1e-4)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_effective_l2_is_the_inverse_sum_of_rates(momentum):
    log = []
    model = clone(SMALL).set_params(
        optimizer="sgd" if momentum else torch.optim.SGD,
        lr=0.05,
        callbacks=[
            EffectiveL2Monitor(),
            Keep(log, ["on_grad_computed"], lambda net: net.optimizer_.param_groups[-1]["lr"]),
        ],
    )
    model.fit(X, Y)
    sums = np.cumsum(np.array(log).reshape(4, -1).sum(axis=1)) / (1 - momentum)
    assert np.allclose([row["effective_l2"] for row in model.history_], 1 / sums)


def test_what_is_known_of_effective_l2():
    """Gradient descent on a parabola keeps 1 - (1 - rate s)^T of the answer, as ridge does."""
    curvature = np.logspace(-4, 0, 200)
    rate, n_steps = 0.1, 500
    weights = np.zeros(200)
    for _ in range(n_steps):
        weights -= rate * curvature * (weights - 1.0)
    assert np.allclose(weights, 1 - (1 - rate * curvature) ** n_steps)
    strength = 1 / (rate * n_steps)
    ratio = weights / (curvature / (curvature + strength))
    assert ratio.max() <= 1.2985 * 1.01
    assert np.isclose(ratio[0], 1.0, atol=0.01)


def test_the_estimated_bound_is_computed_from_validation_rows_alone():
    seen = []

    class Rows(Callback):
        def on_batch_end(self, net, batch, training, **kwargs):
            seen.extend(row.numpy().tobytes() for row in batch[0])

    model = clone(SMALL).set_params(
        early_stopping=True, n_iter_no_change=4, callbacks=[BoundMonitor(), Rows()]
    )
    model.fit(X, Y)
    prepared = model.tokenizer_.prepare(X).astype(np.float32)
    certified = {prepared[i].tobytes() for i in model.evidence_.certified.rows}
    assert not certified & set(seen)
    n = model.n_samples_validation_
    for row in model.history_:
        wrong = round(row["estimated_error"] * n)
        assert np.isclose(row["estimated_error"], wrong / n)
        bound = binomial_tail_inverse(wrong, n, log_delta=math.log(0.05))
        assert np.isclose(row["estimated_bound"], bound)
    more = clone(model).set_params(callbacks=[BoundMonitor(n_certified=1000, delta=0.05)])
    more.fit(X, Y)
    assert more.history_[-1]["estimated_bound"] < model.history_[-1]["estimated_bound"]


def test_no_validation_rows_no_estimate():
    model = clone(SMALL).set_params(callbacks=[BoundMonitor()])
    with pytest.raises(ValueError, match="early_stopping=True"):
        model.fit(X, Y)
    assert not hasattr(model, "net_")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (NormMonitor(where="attention"), "where must hold roles"),
        (GradientMonitor(n_rows=-1), "n_rows must be"),
        (GradientMonitor(n_rows="some"), "n_rows must be"),
        (StabilityMonitor("accuracy"), "watch must name a number of the history"),
        (StabilityMonitor(factor=1.0), "factor must be a number above 1"),
        (StabilityMonitor(window=0), "window must be an integer"),
        (EffectiveL2Monitor(), "optimizer='sgd'"),
        (ParameterMonitor(levels=(0.5, 1.5)), "levels must be"),
        (BoundMonitor(delta=0.0), "delta must be"),
        (BoundMonitor(n_certified=0), "n_certified must be"),
    ],
)
def test_bad_parameters_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        clone(SMALL).set_params(callbacks=[wrong], early_stopping=True).fit(X, Y)


def test_a_printed_table_stays_narrow(capsys):
    clone(SMALL).set_params(callbacks=[NormMonitor()], verbose=1, max_epochs=2).fit(X, Y)
    printed = capsys.readouterr().out
    assert "train_loss" in printed
    assert "spectral_norm" not in printed
