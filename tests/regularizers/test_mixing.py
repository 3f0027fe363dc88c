"""Blends: labels sum to 1, count by what is there, and weights are kept."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from skbound.regularizers import CutMix, Linear, Mixup

SHAPES = [(6,), (5, 3), (8, 6, 2)]


def blend(regularizer, shape, n=200, seed=0, labels=None, weights=None):
    """Rows in which each number tells the row, its labels all different."""
    X = torch.arange(n, dtype=torch.float64).view(-1, *[1] * len(shape)).expand(n, *shape)
    labels = torch.arange(n) if labels is None else labels
    weights = torch.ones(n, dtype=torch.float64) if weights is None else weights
    before = X.clone()
    out = regularizer.on_batch(
        X, labels, weights, n_classes=n, generator=torch.Generator().manual_seed(seed)
    )
    assert torch.equal(X, before)
    return X, *out


@pytest.mark.parametrize("kind", [Mixup, CutMix])
@pytest.mark.parametrize("shape", SHAPES)
def test_labels_are_shares_that_sum_to_one(kind, shape):
    _, X, labels, weights = blend(kind(0.5), shape)
    assert X.shape == (200, *shape)
    assert torch.allclose(labels.sum(1), torch.ones(200).double())
    assert labels.min() >= 0
    assert torch.allclose(weights, torch.ones(200).double())


@pytest.mark.parametrize("kind", [Mixup, CutMix])
@pytest.mark.parametrize("shape", SHAPES)
def test_labels_say_what_is_in_the_row(kind, shape):
    """Row i holds the number i, so that its mean is the mean label."""
    _, X, labels, _ = blend(kind(1.0), shape)
    mean_label = labels @ torch.arange(200.0).double()
    assert torch.allclose(X.flatten(1).mean(1), mean_label)
    assert (X.flatten(1).mean(1) - torch.arange(200)).abs().mean() > 5


@pytest.mark.parametrize("shape", SHAPES)
def test_cut_parts_are_whole_and_of_one_other_row(shape):
    before, X, _, _ = blend(CutMix(), shape)
    taken = before != X
    for row, mask in zip(X, taken, strict=True):
        assert len(row.unique()) <= 2
        if len(shape) == 3:
            assert torch.equal(mask[..., 0], mask[..., 1])
            rows, columns = mask[..., 0].any(1), mask[..., 0].any(0)
            assert torch.equal(mask[..., 0], rows[:, None] & columns[None, :])
            assert is_a_run(rows)
            assert is_a_run(columns)
        elif len(shape) == 2:
            assert torch.equal(mask.any(1), mask.all(1))
            assert is_a_run(mask.any(1))


def is_a_run(mask):
    return int(mask.diff().sum()) <= 2 and (mask.float().diff().abs().sum() <= 2)


@pytest.mark.parametrize("kind", [Mixup, CutMix])
def test_the_share_follows_its_beta_law(kind):
    n = 4000
    _, _, labels, _ = blend(kind(0.4), (400,) if kind is CutMix else (1,), n=n)
    share = labels[torch.arange(n), torch.arange(n)].numpy()
    expected = np.random.default_rng(0).beta(0.4, 0.4, size=n)
    levels = [0.1, 0.25, 0.5, 0.75, 0.9]
    found, wanted = (np.quantile(s, levels) for s in (share, expected))
    assert np.allclose(found, wanted, atol=0.06)


@pytest.mark.parametrize("kind", [Mixup, CutMix])
def test_the_loss_is_that_of_both_rows_by_share_and_weight(kind):
    n = 60
    rng = np.random.default_rng(0)
    weights = torch.from_numpy(rng.random(n))
    weights[:20] = 0.0
    labels = torch.from_numpy(rng.integers(0, 3, n))
    X = torch.arange(n, dtype=torch.float64)[:, None].expand(n, 7)
    args = {"n_classes": 3, "generator": torch.Generator().manual_seed(0)}
    mixed, shares, blended = kind(1.0).on_batch(X, labels, weights, **args)
    logits = torch.from_numpy(rng.normal(size=(n, 3)))
    found = F.cross_entropy(logits, shares, reduction="none") * blended
    numbers = mixed.numpy()
    for i in range(n):
        parts = F.cross_entropy(logits[i].expand(n, 3), labels, reduction="none") * weights
        if kind is CutMix:
            expected = np.mean([float(parts[int(j)]) for j in numbers[i]])
            assert np.isclose(float(found[i]), expected)
        else:
            other, t = mixup_partner(numbers[i, 0], i, n)
            assert np.isclose(float(found[i]), float(t * parts[i] + (1 - t) * parts[other]))
    assert torch.allclose(shares.sum(1), torch.ones(n).double())


def mixup_partner(value, row, n):
    other = int(torch.randperm(n, generator=torch.Generator().manual_seed(0))[row])
    t = 1.0 if other == row else (value - other) / (row - other)
    return other, t


@pytest.mark.parametrize("kind", [Mixup, CutMix])
def test_blends_of_blends_and_soft_labels(kind):
    soft = F.softmax(torch.randn(50, 50, generator=torch.Generator().manual_seed(0)), 1).double()
    _, _, labels, _ = blend(kind(1.0), (6,), n=50, labels=soft)
    assert torch.allclose(labels.sum(1), torch.ones(50).double())


@pytest.mark.parametrize("kind", [Mixup, CutMix])
def test_the_generator_alone_decides(kind):
    first, again, other = (blend(kind(), (6,), seed=seed)[1:] for seed in (3, 3, 4))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first[0], other[0])


@pytest.mark.parametrize("kind", [Mixup, CutMix])
@pytest.mark.parametrize("wrong", [0.0, -1.0, "0.2", float("inf"), Linear(1.0, 0.0)])
def test_bad_concentrations_are_refused(kind, wrong):
    with pytest.raises(ValueError, match="concentration must be a number"):
        kind(wrong).check((10, 3))
