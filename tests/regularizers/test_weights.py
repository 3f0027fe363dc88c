"""Constraints hold exactly after fit, penalties are their closed forms, nets are plain again."""

import copy
import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from skorch.callbacks import Callback
from torch.nn.utils import parameters_to_vector

from skbound import TransformerClassifier
from skbound._nn._roles import effective_vector, weights_of
from skbound.regularizers import (
    EntryClip,
    FrobeniusBall,
    Linear,
    NormPenalty,
    Projection,
    RowBall,
    SpectralBall,
    SpectralNorm,
    WeightNorm,
)

X, Y = load_breast_cancer(return_X_y=True)
SMALL = TransformerClassifier(
    protocol="holdout", depth=2, width=12, n_heads=2, max_epochs=3, random_state=0
)


def spectral(matrix):
    return float(np.linalg.svd(np.atleast_2d(matrix), compute_uv=False)[0])


def row_length(matrix):
    return float(np.linalg.norm(np.atleast_2d(matrix), axis=1).max())


SIZES = {
    SpectralBall: spectral,
    FrobeniusBall: lambda matrix: float(np.linalg.norm(matrix)),
    RowBall: row_length,
    EntryClip: lambda matrix: float(np.abs(matrix).max()),
    SpectralNorm: spectral,
}


def fitted_weights(model, where="matrices"):
    weights = weights_of(model.net_.module_, where, "test")
    return {w.name: w.value.detach().double().numpy() for w in weights}


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("where", ["matrices", ("value", "head")])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_constraint_holds_after_fit(kind, where, dtype):
    radius = 0.05 if kind is EntryClip else 0.4
    model = clone(SMALL).set_params(regularizers=(kind(radius, where=where),), dtype=dtype)
    weights = fitted_weights(model.fit(X, Y), where)
    sizes = [SIZES[kind](matrix) for matrix in weights.values()]
    assert len(sizes) == (13 if where == "matrices" else 5)
    assert max(sizes) <= radius * (1 + 1e-5)
    assert max(sizes) >= radius * (1 - 1e-5)
    others = set(fitted_weights(model)) - set(weights)
    free = [SIZES[kind](fitted_weights(model)[name]) for name in others]
    assert not free or max(free) > 2 * radius


@pytest.mark.parametrize("kind", [SpectralBall, FrobeniusBall, RowBall, EntryClip])
@pytest.mark.parametrize("shape", [(4, 9), (9, 4), (6, 6), (1, 7), (7, 1)])
def test_projections_are_the_nearest_points(kind, shape):
    """No other point of the ball is nearer, and a projected point stays."""
    rng = np.random.default_rng(0)
    matrix = torch.from_numpy(rng.normal(size=shape))
    before = matrix.clone()
    ball = kind(0.7)
    near = ball.project(matrix, 0.7)
    assert torch.equal(matrix, before)
    assert SIZES[kind](near.numpy()) <= 0.7 * (1 + 1e-9)
    assert torch.allclose(ball.project(near, 0.7), near, rtol=0, atol=1e-9)
    best = float((near - matrix).norm())
    for _ in range(200):
        other = near.numpy() + 0.1 * rng.normal(size=shape)
        size = SIZES[kind](other)
        assert np.linalg.norm(other * min(1.0, 0.7 / size) - matrix.numpy()) >= best - 1e-7


def test_the_spectral_ball_cuts_singular_values_and_leaves_small_ones():
    rng = np.random.default_rng(0)
    for shape in [(5, 8), (8, 5), (6, 6)]:
        matrix = rng.normal(size=shape)
        u, s, v = np.linalg.svd(matrix, full_matrices=False)
        expected = u @ np.diag(np.minimum(s, 1.5)) @ v
        found = SpectralBall(1.5).project(torch.from_numpy(matrix), 1.5)
        assert np.allclose(found, expected, atol=1e-6)
    inside = torch.from_numpy(0.01 * matrix)
    assert SpectralBall(1.5).project(inside, 1.5) is inside


def test_biases_are_balls_too():
    model = clone(SMALL).set_params(regularizers=(SpectralBall(0.01, where="bias"),), lr=0.05)
    biases = fitted_weights(model.fit(X, Y), "bias")
    assert len(biases) == 13
    assert 0.00999 < max(np.linalg.norm(b) for b in biases.values()) <= 0.01 * (1 + 1e-5)


def test_a_schedule_ends_where_it_says():
    model = clone(SMALL).set_params(regularizers=(SpectralBall(Linear(3.0, 0.3)),))
    sizes = [spectral(m) for m in fitted_weights(model.fit(X, Y)).values()]
    assert 0.3 * (1 - 1e-5) < max(sizes) <= 0.3 * (1 + 1e-5)


class SeenNorms(Callback):
    """Notes the largest spectral norm that the layers compute with, at each step."""

    def __init__(self, log):
        self.log = log

    def __deepcopy__(self, memo):
        return type(self)(self.log)

    def on_grad_computed(self, net, **kwargs):
        with torch.no_grad():
            weights = weights_of(net.module_, "matrices", "test")
            self.log.append(max(spectral(w.value.numpy()) for w in weights))
            copy.deepcopy(net.module_)


@pytest.mark.parametrize("radius", [1.0, Linear(2.0, 0.5)])
def test_the_norm_is_exact_at_each_step_while_training(radius):
    log = []
    model = clone(SMALL).set_params(
        regularizers=(SpectralNorm(radius),), callbacks=[SeenNorms(log)], lr=0.02
    )
    model.fit(X, Y)
    n_steps = len(log)
    expected = [
        1.0 if radius == 1.0 else radius.at(step / (n_steps - 1)) for step in range(n_steps)
    ]
    assert np.allclose(log, expected, rtol=1e-5)


@pytest.mark.parametrize("regularizer", [SpectralNorm(0.5), WeightNorm()])
def test_nets_are_plain_again(regularizer):
    plain = clone(SMALL).fit(X, Y)
    model = clone(SMALL).set_params(regularizers=(regularizer,)).fit(X, Y)
    module, other = model.net_.module_, plain.net_.module_
    assert [type(m) for m in module.modules()] == [type(m) for m in other.modules()]
    names = [(n, p.requires_grad) for n, p in module.named_parameters()]
    assert names == [(n, p.requires_grad) for n, p in other.named_parameters()]
    assert not list(module.buffers())
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    # Blocks of one shape: a row's answer depends on that row alone.
    alone = np.concatenate([model.predict_proba(X[i : i + 1]) for i in range(5)])
    assert np.array_equal(alone, model.predict_proba(X)[:5])


@pytest.mark.parametrize("regularizer", [SpectralNorm(0.5), WeightNorm(), SpectralBall(0.5)])
def test_an_error_in_the_middle_leaves_a_plain_net(regularizer, net):
    before = [n for n, _ in net.named_parameters()]
    regularizer = clone(regularizer)
    regularizer.prepare(net, None)
    regularizer.finish(net)
    regularizer.finish(net)
    assert [n for n, _ in net.named_parameters()] == before


def test_weight_norm_computes_the_same_and_has_the_gradient_of_the_formula(net, batch):
    rows, labels, _ = batch
    before = net(rows)
    weight = net.blocks[0].expand.weight.detach().clone()
    loss = torch.nn.functional.cross_entropy(net(rows), labels)
    (plain,) = torch.autograd.grad(loss, net.blocks[0].expand.weight)
    norm = WeightNorm()
    norm.prepare(net, None)
    assert torch.allclose(net(rows), before, atol=1e-12)
    originals = net.blocks[0].expand.parametrizations.weight
    loss = torch.nn.functional.cross_entropy(net(rows), labels)
    g, v = torch.autograd.grad(loss, [originals.original0, originals.original1])
    lengths = weight.norm(dim=1, keepdim=True)
    along = (plain * weight / lengths).sum(1, keepdim=True)
    assert torch.allclose(g, along, atol=1e-12)
    # At v = W the formula is the part of the gradient that is orthogonal to the row.
    assert torch.allclose(v, plain - along * weight / lengths, atol=1e-12)
    norm.finish(net)
    assert torch.allclose(net(rows), before, atol=1e-12)


@pytest.mark.parametrize("norm", ["spectral", "frobenius", "nuclear"])
@pytest.mark.parametrize("beyond", [0.0, 1.0])
@pytest.mark.parametrize("where", ["matrices", "bias", ("embedding", "head")])
def test_penalty_and_its_gradient_are_those_of_the_closed_form(norm, beyond, where, net):
    penalty = NormPenalty(0.3, norm, beyond, where)
    penalty.prepare(net, None)
    weights = [w.value for w in weights_of(net, where, "test")]
    singular = [torch.linalg.svdvals(torch.atleast_2d(w)) for w in weights]
    sizes = {
        "spectral": [s[0] for s in singular],
        "frobenius": [s.square().sum().sqrt() for s in singular],
        "nuclear": [s.sum() for s in singular],
    }[norm]
    expected = 0.3 * sum((size - beyond).clamp(min=0.0) ** 2 for size in sizes)
    found = penalty.penalty(net)
    assert torch.allclose(found, expected, rtol=1e-10)
    gradients = [torch.autograd.grad(v, weights, retain_graph=True) for v in (found, expected)]
    for one, other in zip(*gradients, strict=True):
        assert torch.allclose(one, other, atol=1e-9)


def test_a_strong_penalty_makes_small_norms():
    free = fitted_weights(clone(SMALL).fit(X, Y))
    strong = clone(SMALL).set_params(regularizers=[NormPenalty(1.0, where="value")], max_epochs=10)
    held = fitted_weights(strong.fit(X, Y), "value")
    assert all(spectral(held[name]) < 0.8 * spectral(free[name]) for name in held)


def test_two_rules_for_one_weight_are_refused_and_for_different_roles_are_not():
    model = clone(SMALL)
    pairs = [
        (SpectralBall(1.0), EntryClip(0.1, where="head")),
        (SpectralNorm(), WeightNorm(where="value")),
        (SpectralBall(), SpectralBall()),
    ]
    for pair in pairs:
        with pytest.raises(ValueError, match="one would undo the other"):
            clone(model).set_params(regularizers=pair).fit(X, Y)
    both = (SpectralNorm(0.5, where="value"), RowBall(0.2, where="head"), NormPenalty())
    model.set_params(regularizers=both, max_epochs=1).fit(X, Y)
    assert max(map(spectral, fitted_weights(model, "value").values())) < 0.5 * (1 + 1e-5)
    assert row_length(fitted_weights(model, "head")["head.weight"]) < 0.2 * (1 + 1e-5)


@pytest.mark.parametrize("where", ["matrices", ("value", "bias")])
def test_weight_decay_given_twice_is_refused(where):
    twice = NormPenalty(norm="frobenius", where=where)
    with pytest.raises(ValueError, match=r"what weight_decay=0\.01 does"):
        clone(SMALL).set_params(regularizers=[twice]).fit(X, Y)
    for other in (
        {"weight_decay": 0.0},
        {"regularizers": [NormPenalty(norm="frobenius", where="bias")]},
        {"regularizers": [NormPenalty(norm="frobenius", beyond=1.0)]},
    ):
        params = {"regularizers": [twice], "max_epochs": 1, **other}
        clone(SMALL).set_params(**params).fit(X, Y)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (SpectralBall(0.0), r"radius must be a number, or a schedule of numbers, in \(0, inf\)"),
        (SpectralBall(Linear(1.0, -1.0)), "radius must be"),
        (SpectralNorm(radius="1"), "radius must be"),
        (SpectralNorm(where="bias"), "SpectralNorm acts on matrices"),
        (WeightNorm(where="bias"), "WeightNorm needs matrices"),
        (EntryClip(float("nan")), "radius must be"),
        (NormPenalty(-1.0), "strength must be"),
        (NormPenalty(norm="max"), "norm must be one of"),
        (FrobeniusBall(where="attention"), "where must hold roles out of"),
        (FrobeniusBall(where=()), "where must hold roles out of"),
    ],
)
def test_bad_parameters_are_refused_before_training(wrong, message):
    model = clone(SMALL).set_params(regularizers=[wrong])
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "net_")


def test_a_projection_of_ones_own_takes_five_lines():
    class NonNegative(Projection):
        def __init__(self, radius=1.0, where="head"):
            self.radius = radius
            self.where = where

        def project(self, weight, radius):
            return weight.clamp(0.0, radius)

    model = clone(SMALL).set_params(regularizers=[NonNegative()]).fit(X, Y)
    assert fitted_weights(model, "head")["head.weight"].min() == 0.0


def test_coordinates_in_place_of_weights_are_refused():
    model = clone(SMALL).set_params(
        regularizers=[SpectralBall()], protocol="description_length", max_epochs=1
    )
    with pytest.raises(ValueError, match="trains coordinates in place of weights"):
        model.fit(X, Y)


def test_distances_are_those_of_the_matrices_that_layers_use(net):
    plain = parameters_to_vector(net.parameters()).detach()
    assert torch.equal(effective_vector(net), plain)
    norm = SpectralNorm(0.5)
    norm.prepare(net, None)
    before = effective_vector(net)
    with torch.no_grad():
        for parameter in net.blocks[0].parameters():
            if parameter.ndim == 2:
                parameter.mul_(3.0)
    norm.before_gradient(net)
    assert torch.allclose(effective_vector(net), before)
    norm.finish(net)
    # Another order than that of the parameters, but the same numbers.
    after = parameters_to_vector(net.parameters()).detach()
    assert torch.allclose(after.sort().values, before.sort().values)
    assert after.shape == plain.shape


@pytest.mark.parametrize("regularizer", [SpectralNorm(), SpectralBall(1.0), WeightNorm()])
def test_pac_bayes_draws_around_plain_weights(regularizer):
    """What is certified is what predict uses, drawn from outside of the constraint or not."""
    model = clone(SMALL).set_params(
        protocol="pac_bayes", regularizers=[regularizer], max_epochs=2, depth=1
    )
    first, again = clone(model).fit(X, Y), clone(model).fit(X, Y)
    assert np.isfinite(first.generalization_bound_)
    assert first.generalization_bound_ == again.generalization_bound_
    assert np.array_equal(first.predict_proba(X), again.predict_proba(X))


def test_early_stopping_goes_back_to_an_epoch_that_obeyed():
    model = clone(SMALL).set_params(
        regularizers=[SpectralNorm(0.7)], early_stopping=True, n_iter_no_change=2, max_epochs=12
    )
    sizes = [spectral(m) for m in fitted_weights(model.fit(X, Y)).values()]
    assert np.allclose(sizes, 0.7, rtol=1e-5)
