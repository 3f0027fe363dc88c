"""Penalties on slopes and gradients, and the two steps of sharpness-aware training, by hand."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from skorch.callbacks import Callback

from skbound import TransformerClassifier
from skbound._random_state import draw_seed
from skbound.regularizers import GradientPenalty, LipschitzPenalty, SharpnessAware, WeightNoise

X, Y = load_breast_cancer(return_X_y=True)
SMALL = TransformerClassifier(
    protocol="holdout", depth=1, width=8, n_heads=2, max_epochs=2, random_state=0
)


class Keep(Callback):
    """Keeps weights and gradients of each step in a list that copies share."""

    def __init__(self, log):
        self.log = log

    def __deepcopy__(self, memo):
        return type(self)(self.log)

    def on_grad_computed(self, net, batch, **kwargs):
        pairs = list(net.module_.named_parameters())
        weights = {name: p.detach().clone() for name, p in pairs}
        self.log.append((weights, {name: p.grad.clone() for name, p in pairs}, batch))


def first_step(**params):
    log = []
    model = clone(SMALL).set_params(
        dtype="float64", gradient_clip=None, callbacks=[Keep(log)], **params
    )
    model.fit(X, Y)
    return log[0], model


@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_sharpness_aware_step_is_that_of_the_formula(n_threads):
    (weights, plain, batch), model = first_step()
    radius = 0.3
    (same, found, _), _ = first_step(regularizers=[SharpnessAware(radius)], n_threads=n_threads)
    for name, weight in weights.items():
        assert torch.equal(weight, same[name])
    length = sum(g.square().sum() for g in plain.values()).sqrt()
    module = model.net_.module_
    module.load_state_dict({n: w + radius * plain[n] / length for n, w in weights.items()})
    rows, (labels, row_weights) = batch
    loss = (F.cross_entropy(module(rows), labels, reduction="none") * row_weights).mean()
    expected = torch.autograd.grad(loss, list(module.parameters()))
    for (name, _), gradient in zip(module.named_parameters(), expected, strict=True):
        assert torch.allclose(found[name], gradient, rtol=1e-8, atol=1e-12)
    assert not torch.allclose(plain["head.weight"], found["head.weight"], rtol=1e-2)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_noisy_step_is_that_at_the_noisy_weights(n_threads):
    (weights, plain, batch), model = first_step()
    std = 0.3
    (same, found, _), _ = first_step(regularizers=[WeightNoise(std)], n_threads=n_threads)
    seed = draw_seed(SMALL.random_state)
    generator = torch.Generator().manual_seed(seed + 1_000_000)
    module = model.net_.module_
    moved = {}
    for name, parameter in module.named_parameters():
        assert torch.equal(weights[name], same[name])
        noise = torch.randn(parameter.shape, generator=generator).double()
        moved[name] = weights[name] + std * noise
    module.load_state_dict(moved)
    rows, (labels, row_weights) = batch
    loss = (F.cross_entropy(module(rows), labels, reduction="none") * row_weights).mean()
    expected = torch.autograd.grad(loss, list(module.parameters()))
    for (name, _), gradient in zip(module.named_parameters(), expected, strict=True):
        assert torch.allclose(found[name], gradient, rtol=1e-8, atol=1e-12)
    assert not torch.allclose(plain["head.weight"], found["head.weight"], rtol=1e-2)


def test_sharpness_of_no_radius_is_the_plain_step():
    (_, plain, _), _ = first_step()
    (_, found, _), _ = first_step(regularizers=[SharpnessAware(1e-9)])
    assert all(torch.allclose(plain[n], found[n], atol=1e-7) for n in plain)


@pytest.mark.parametrize("soft", [False, True])
def test_the_gradient_penalty_is_the_squared_input_gradient(net, batch, soft):
    rows, labels, weights = batch
    if soft:
        labels = F.softmax(torch.randn(24, 3, generator=torch.Generator().manual_seed(0)), 1)
        labels = labels.double()
    penalty = GradientPenalty(0.7)
    penalty.prepare(net, None)
    found = penalty.row_penalty(net, rows, net(rows), labels, weights)

    def loss(row):
        return F.cross_entropy(net(rows[:1] * 0 + row), labels[index : index + 1])

    total = 0.0
    for index in range(24):
        step, gradient = 1e-5, torch.zeros(5, dtype=torch.float64)
        for j in range(5):
            move = step * torch.eye(5, dtype=torch.float64)[j]
            ahead, behind = loss(rows[index] + move), loss(rows[index] - move)
            gradient[j] = ((ahead - behind) / (2 * step)).detach()
        total += 0.7 * weights[index] * gradient.square().sum() / 24
    assert torch.allclose(found, total, rtol=1e-6)
    # Its gradient, against differences of the penalty itself.
    weight = net.blocks[0].attention.key.weight
    (slope,) = torch.autograd.grad(found, weight)
    direction = torch.randn(weight.shape, generator=torch.Generator().manual_seed(0)).double()
    values = []
    for sign in (1.0, -1.0):
        with torch.no_grad():
            weight.add_(sign * 1e-5 * direction)
        values.append(penalty.row_penalty(net, rows, None, labels, weights).detach())
        with torch.no_grad():
            weight.sub_(sign * 1e-5 * direction)
    difference = (values[0] - values[1]) / 2e-5
    assert torch.allclose((slope * direction).sum(), difference, rtol=1e-5)
    penalty.finish(net)


def test_attention_that_is_differentiated_twice_computes_the_same(net, batch):
    rows = batch[0]
    fused = net(rows)
    penalty = GradientPenalty()
    penalty.prepare(net, None)
    assert not any(block.attention.fused for block in net.blocks)
    assert torch.allclose(net(rows), fused, atol=1e-12)
    penalty.finish(net)
    assert torch.equal(net(rows), fused)


@pytest.mark.parametrize("regularizer", [GradientPenalty(0.5), SharpnessAware(0.1)])
def test_threads_compute_the_gradient_of_one(regularizer):
    (_, alone, _), _ = first_step(regularizers=[regularizer], n_threads=1)
    (_, shared, _), _ = first_step(regularizers=[regularizer], n_threads=3)
    for name, gradient in alone.items():
        assert torch.allclose(gradient, shared[name], rtol=1e-8, atol=1e-13), name


def test_the_gradient_penalty_flattens_the_net():
    steepness = []
    for strength in (0.0, 30.0):
        model = clone(SMALL).set_params(
            regularizers=[GradientPenalty(strength)], max_epochs=8, dtype="float64"
        )
        module = model.fit(X, Y).net_.module_
        rows = torch.tensor(model.tokenizer_.prepare(X[:100])).double().requires_grad_()
        losses = F.cross_entropy(module(rows), torch.tensor(Y[:100]), reduction="sum")
        steepness.append(float(torch.autograd.grad(losses, rows)[0].square().sum()))
    assert steepness[1] < 0.5 * steepness[0]


def test_slopes_between_neighbours(net, batch):
    rows, labels, weights = batch
    logits = net(rows)
    found = LipschitzPenalty(0.3, beyond=0.2).row_penalty(net, rows, logits, labels, weights)
    f, x = logits.detach().numpy(), rows.numpy()
    slopes = np.linalg.norm(np.diff(f, axis=0), axis=1) / np.linalg.norm(np.diff(x, axis=0), axis=1)
    assert np.isclose(found.item(), 0.3 * np.mean(np.maximum(0.0, slopes - 0.2) ** 2))
    torch.autograd.grad(found, net.head.weight)


def test_equal_rows_make_no_slope(net, batch):
    rows, labels, weights = batch
    rows = rows[:1].repeat(4, 1)
    penalty = LipschitzPenalty(beyond=0.0).row_penalty(net, rows, net(rows), labels, weights)
    gradients = torch.autograd.grad(penalty, list(net.parameters()), allow_unused=True)
    assert penalty.item() == 0.0
    assert all(g is None or g.isfinite().all() for g in gradients)
    one = LipschitzPenalty().row_penalty(net, rows[:1], net(rows[:1]), labels[:1], weights[:1])
    assert one == 0.0


def test_equal_answers_have_a_finite_slope(net, batch):
    rows, labels, weights = batch
    with torch.no_grad():
        net.head.weight.zero_()
    penalty = LipschitzPenalty(beyond=0.0).row_penalty(net, rows, net(rows), labels, weights)
    gradients = torch.autograd.grad(penalty, list(net.parameters()), allow_unused=True)
    assert all(g is None or g.isfinite().all() for g in gradients)


def test_pairs_need_the_whole_batch():
    model = clone(SMALL).set_params(regularizers=[LipschitzPenalty()], n_threads=2)
    with pytest.raises(ValueError, match="LipschitzPenalty needs all rows of a batch at once"):
        model.fit(X, Y)
    model.set_params(n_threads=None).fit(X, Y)


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        (GradientPenalty(-1.0), "strength"),
        (LipschitzPenalty(strength="a"), "strength"),
        (LipschitzPenalty(beyond=-1.0), "beyond"),
        (SharpnessAware(0.0), "radius"),
        (WeightNoise(-0.1), "std"),
        (SharpnessAware(True), "radius"),
    ],
)
def test_bad_parameters_are_refused(wrong, name):
    with pytest.raises(ValueError, match=f"{name} must be a number"):
        clone(SMALL).set_params(regularizers=[wrong]).fit(X, Y)
