from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from skbound.collect import initial_state
from skbound.exceptions import MissingEvidenceError
from tests.measures.transformers import probe, transformer


def length(tensors):
    return sum(float(t.detach().square().sum()) for t in tensors) ** 0.5


def test_against_autograd():
    start = transformer(1)
    rows = probe(transformer(), initial=start)
    found = initial_state(rows)
    logits = start(torch.as_tensor(rows.X))
    loss = nn.functional.cross_entropy(logits, torch.as_tensor(rows.codes))
    parameters = list(start.parameters())
    gradients = torch.autograd.grad(loss, parameters)
    assert found.gradient_norm == pytest.approx(length(gradients))
    assert found.weight_norm == pytest.approx(length(parameters))
    assert all(p.grad is None for p in parameters)


def test_chunks_order_and_training_mode_do_not_matter():
    start = transformer(1)
    rows = probe(transformer(), initial=start.train())
    whole = initial_state(rows)
    turned = replace(rows, X=rows.X[::-1], codes=rows.codes[::-1])
    for other in (initial_state(rows, n_rows=7), initial_state(turned)):
        assert other.gradient_norm == pytest.approx(whole.gradient_norm, rel=1e-10)


def test_single_precision_is_turned_into_double():
    start = transformer(1).float()
    found = initial_state(probe(transformer(), initial=start))
    exact = initial_state(probe(transformer(), initial=transformer(1)))
    assert found.gradient_norm == pytest.approx(exact.gradient_norm, rel=1e-5)
    assert next(start.parameters()).dtype == torch.float32


def test_frozen_parameters_do_not_count():
    start = transformer(1)
    start.head.weight.requires_grad_(False)
    found = initial_state(probe(transformer(), initial=start))
    whole = initial_state(probe(transformer(), initial=transformer(1)))
    missing = float(start.head.weight.square().sum())
    assert found.weight_norm**2 == pytest.approx(whole.weight_norm**2 - missing)
    assert found.gradient_norm < whole.gradient_norm


def test_without_the_start():
    with pytest.raises(MissingEvidenceError, match="before training was not recorded"):
        initial_state(probe(transformer()))


def test_few_rows_keep_the_start():
    rows = probe(transformer(), initial=transformer(1))
    assert rows.few(5).initial is rows.initial
    np.testing.assert_array_equal(rows.few(5).X, probe(transformer()).few(5).X)
