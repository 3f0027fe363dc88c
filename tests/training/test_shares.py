"""Threads that share a batch compute what one thread does, and the same at every call."""

import copy
import pickle
import threading

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import make_classification
from skorch.callbacks import Callback

from skbound import TransformerClassifier
from skbound._training._shares import split_batch
from skbound.classifiers._transformer_learner import TransformerLearner
from skbound.protocols._subspace import random_subspace
from skbound.tokenizers import TableTokenizer

X, Y = make_classification(300, 6, n_informative=4, n_classes=3, random_state=0)
SMALL = TransformerClassifier(
    protocol="holdout", depth=1, width=16, max_epochs=3, batch_size=64, random_state=0, n_threads=2
)


class KeepGradients(Callback):
    """Keeps the gradients of the first step in a list that copies share."""

    def __init__(self, log):
        self.log = log

    def __deepcopy__(self, memo):
        return type(self)(self.log)

    def on_grad_computed(self, net, named_parameters, **kwargs):
        if not self.log:
            self.log.append({name: p.grad.clone() for name, p in named_parameters})


class KeepPredictions(KeepGradients):
    def on_batch_end(self, net, batch, training, y_pred, loss, **kwargs):
        if training and not self.log:
            with torch.no_grad():
                self.log.append((y_pred, net.module_(batch[0])))

    def on_grad_computed(self, net, named_parameters, **kwargs):
        pass


@pytest.mark.parametrize("n_rows", [1, 15, 16, 17, 64, 65])
@pytest.mark.parametrize("n_shares", [1, 2, 3, 100])
def test_shares_are_all_rows_in_order_and_none_is_tiny(n_rows, n_shares):
    X, y = torch.arange(n_rows), torch.arange(n_rows) * 2
    shares = split_batch(n_shares, X, y)
    assert torch.equal(torch.cat([share[0] for share in shares]), X)
    assert torch.equal(torch.cat([share[1] for share in shares]), y)
    assert len(shares) <= n_shares
    assert len(shares) == 1 or min(len(share[0]) for share in shares) >= 8


@pytest.mark.parametrize("n_threads", [2, 3, 7])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_gradient_is_that_of_one_thread(n_threads, weighted):
    weights = np.random.default_rng(0).random(len(X)) if weighted else None
    found = []
    for count in (1, n_threads):
        log = []
        model = clone(SMALL).set_params(
            dtype="float64", n_threads=count, label_smoothing=0.1, gradient_clip=None
        )
        model.set_params(callbacks=[KeepGradients(log)]).fit(X, Y, sample_weight=weights)
        found.append((log[0], model))
    (alone, single), (shared, several) = found
    assert alone.keys() == shared.keys()
    for name, gradient in alone.items():
        assert torch.allclose(gradient, shared[name], rtol=1e-9, atol=1e-14), name
    losses = [[row["train_loss"] for row in model.history_] for model in (single, several)]
    assert np.allclose(*losses)
    assert np.allclose(single.predict_proba(X), several.predict_proba(X), atol=1e-6)


def test_callbacks_get_the_logits_of_all_rows_in_order():
    log = []
    model = clone(SMALL).set_params(callbacks=[KeepPredictions(log)], lr=1e-12, max_epochs=1)
    model.fit(X, Y)
    assert log[0][0].shape == (64, 3)
    assert torch.allclose(*log[0], atol=1e-5)


def test_dropout_draws_its_own_masks_in_each_thread_and_the_same_ones_again():
    model = clone(SMALL).set_params(dropout=0.4, n_threads=3)
    first, again = clone(model).fit(X, Y), clone(model).fit(X, Y)
    assert np.array_equal(first.predict_proba(X), again.predict_proba(X))
    other = clone(model).set_params(random_state=1).fit(X, Y)
    assert not np.array_equal(first.predict_proba(X), other.predict_proba(X))


def test_dropout_of_the_shares_differs():
    """The same rows twice in a batch, one copy per thread, meet different masks."""
    log = []
    model = clone(SMALL).set_params(
        dropout=0.5, protocol=None, batch_size=600, callbacks=[KeepPredictions(log)]
    )
    model.fit(np.concatenate([X, X]), np.concatenate([Y, Y]))
    logits = log[0][0]
    assert not torch.equal(logits[:300], logits[300:])


def test_no_thread_and_nothing_unpicklable_stays():
    before = threading.active_count()
    model = clone(SMALL).fit(X, Y)
    assert threading.active_count() == before
    copied = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copied.predict_proba(X), model.predict_proba(X))


def test_a_callback_may_copy_the_net_in_the_middle():
    class Copies(Callback):
        def on_epoch_end(self, net, **kwargs):
            copy.deepcopy(net.module_)
            pickle.dumps(net.helpers_)

    clone(SMALL).set_params(callbacks=[Copies()]).fit(X, Y)


def test_an_error_in_a_share_is_the_users_to_see():
    model = clone(SMALL).set_params(lr=1e30, gradient_clip=None)
    before = threading.active_count()
    with pytest.raises(ValueError, match="loss became"):
        model.fit(X, Y)
    assert threading.active_count() == before


def test_pull_counts_once():
    """The distance from the start is not counted once per thread."""
    losses = []
    for n_threads in (1, 2):
        losses.append(
            _pulled(
                clone(SMALL).set_params(
                    dtype="float64", n_threads=n_threads, optimizer="sgd", lr=0.02
                )
            )
        )
    assert np.allclose(*losses)


def _pulled(model):
    learner = TransformerLearner(model, TableTokenizer(), X, Y, None, 0)
    rows = np.arange(200)
    start = learner.fit(rows)
    return learner.parameters(learner.fit(rows, start=start, pull=3.0))


@pytest.mark.parametrize("n_threads", [None, 1, 2])
def test_all_trainings_leave_torch_the_same_threads(n_threads):
    """Threads that share a batch do not share the work on each number as well."""
    seen = []

    class Threads(Callback):
        def on_batch_begin(self, net, **kwargs):
            seen.append(torch.get_num_threads())

    model = clone(SMALL).set_params(n_threads=n_threads, callbacks=[Threads()], max_epochs=1)
    learner = TransformerLearner(model, TableTokenizer(), X, Y, None, 0)
    rows = np.arange(200)
    before = torch.get_num_threads()
    center = learner.fit(rows)
    n_weights = learner.parameters(center).size
    subspace = random_subspace(n_weights, 8, 1.0, np.random.default_rng(0))
    learner.fit_coordinates(rows, center, subspace)
    expected = before if n_threads is None else 1
    assert set(seen) == {expected}
    assert torch.get_num_threads() == before
