"""The same random_state gives the same answer, whatever runs around it, and leaves no trace."""

import threading

import numpy as np
import pytest
import torch
from joblib import parallel_config
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from skorch.callbacks import Callback

from skbound import BoundSearch, FitOnce, TransformerClassifier, bound_scorer
from skbound.architectures import TransformerArchitecture
from skbound.tokenizers import SequenceTokenizer, TokenTokenizer

X, Y = make_classification(300, 12, n_informative=6, n_classes=3, random_state=0)
SEQUENCES = load_digits().data[:300].reshape(-1, 8, 8), load_digits().target[:300]

MODELS = {
    "table": (
        TransformerClassifier(protocol="holdout", width=32, max_epochs=3, random_state=0),
        (X, Y),
    ),
    "dropout": (
        TransformerClassifier(
            protocol="holdout", width=16, dropout=0.3, max_epochs=3, random_state=0
        ),
        (X, Y),
    ),
    "deep": (
        TransformerClassifier(protocol="holdout", depth=4, width=64, max_epochs=2, random_state=0),
        (X, Y),
    ),
    "mean": (
        TransformerClassifier(protocol="holdout", pooling="mean", max_epochs=2, random_state=0),
        (X, Y),
    ),
    "sequence": (
        TransformerClassifier(protocol="holdout", width=32, max_epochs=2, random_state=0),
        SEQUENCES,
    ),
    "odd": (
        TransformerClassifier(protocol="holdout", width=6, n_heads=3, max_epochs=2, random_state=0),
        (X[:, :7], Y),
    ),
    "narrow": (
        TransformerClassifier(
            protocol="holdout", width=5, n_heads=1, pooling="mean", max_epochs=2, random_state=0
        ),
        (X[:, :6], Y),
    ),
    "three heads": (
        TransformerClassifier(
            protocol="holdout", width=30, n_heads=3, max_epochs=2, n_threads=2, random_state=0
        ),
        (X[:, :1], Y),
    ),
    "two threads": (
        TransformerClassifier(protocol="holdout", max_epochs=1, n_threads=2, random_state=0),
        (np.repeat(X, 3, axis=1)[:, :30], Y),
    ),
    "odd features": (
        TransformerClassifier(
            protocol="holdout", width=10, n_heads=2, max_epochs=2, random_state=0
        ),
        (SEQUENCES[0][:, :, :7], SEQUENCES[1]),
    ),
    "double": (
        TransformerClassifier(
            protocol="holdout", width=6, n_heads=2, dtype="float64", max_epochs=2, random_state=0
        ),
        (X[:, :7], Y),
    ),
    "decoder of ids": (
        TransformerClassifier(
            protocol="holdout",
            width=10,
            n_heads=2,
            max_epochs=1,
            tokenizer=TokenTokenizer(padding_id=0),
            architecture=TransformerArchitecture(positions="alibi", causal=True, span=9),
            random_state=0,
        ),
        (SEQUENCES[0].reshape(-1, 64)[:, 20:43], SEQUENCES[1]),
    ),
    "turned": (
        TransformerClassifier(
            protocol="holdout",
            width=18,
            n_heads=3,
            pooling="mean",
            max_epochs=1,
            tokenizer=SequenceTokenizer(padding_value=0.0),
            architecture=TransformerArchitecture(positions="rotary", init="lsuv", head="mlp"),
            random_state=0,
        ),
        (SEQUENCES[0].transpose(0, 2, 1)[:, :, :7], SEQUENCES[1]),
    ),
    "distances": (
        TransformerClassifier(
            protocol="holdout",
            width=9,
            n_heads=3,
            max_epochs=1,
            architecture=TransformerArchitecture(
                positions="sinusoidal",
                attention="l2",
                norm="projection",
                norm_first=False,
                activation="maxmin",
            ),
            random_state=0,
        ),
        SEQUENCES,
    ),
    "other head": (
        TransformerClassifier(
            depth=1, width=16, max_epochs=1, protocol="frozen_features", random_state=0
        ),
        SEQUENCES,
    ),
    "stopped": (
        TransformerClassifier(
            protocol="holdout", width=16, max_epochs=5, early_stopping=True, random_state=0
        ),
        (X, Y),
    ),
}


@pytest.fixture(params=MODELS, scope="module")
def fitted(request):
    model, (X, y) = MODELS[request.param]
    return clone(model).fit(X, y), X, y


def same(a, b, X):
    assert a.generalization_bound_ == b.generalization_bound_
    assert np.array_equal(a.predict_proba(X), b.predict_proba(X))


def test_two_fits_are_bit_equal(fitted):
    model, X, y = fitted
    torch.rand(10)
    np.random.rand(10)  # noqa: NPY002 (the global state is the point)
    same(model, clone(model).fit(X, y), X)


@pytest.mark.parametrize("n_rows", [1, 2, 7, 63, 64, 65, 300])
def test_a_row_is_predicted_alike_in_any_company(fitted, n_rows):
    model, X, _ = fitted
    everything = model.predict_proba(X)
    order = np.random.default_rng(n_rows).permutation(len(X))
    parts = np.concatenate(
        [model.predict_proba(X[order[i : i + n_rows]]) for i in range(0, len(X), n_rows)]
    )
    assert np.array_equal(parts, everything[order])


def test_the_layout_of_an_array_does_not_matter(fitted):
    model, X, y = fitted
    layouts = np.asfortranarray(X), np.ascontiguousarray(X[::-1])[::-1]
    for layout in layouts:
        assert np.array_equal(model.predict_proba(layout), model.predict_proba(X))
        same(model, clone(model).fit(layout, y), X)


def test_position_in_a_large_batch_does_not_matter(fitted):
    model, X, _ = fitted
    repeated = model.predict_proba(np.repeat(X[:1], 700, axis=0))
    assert np.array_equal(repeated, np.repeat(repeated[:1], 700, axis=0))


def test_inside_a_pipeline_or_not(fitted):
    model, X, y = fitted
    piped = make_pipeline("passthrough", clone(model)).fit(X, y)
    same(model, piped[-1], X)
    assert np.array_equal(model.predict_proba(X), piped.predict_proba(X))


GRID = {"depth": [1, 2], "dropout": [0.0, 0.2]}


def _search(n_jobs):
    model = TransformerClassifier(protocol="holdout", width=16, max_epochs=3)
    return BoundSearch(model, GRID, choose_by="bound", n_jobs=n_jobs, random_state=3).fit(X, Y)


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_search_does_not_depend_on_jobs_or_backend(backend):
    serial = _search(1)
    with parallel_config(backend=backend):
        parallel = _search(2)
    assert parallel.best_params_ == serial.best_params_
    assert np.array_equal(parallel.cv_results_["bound"], serial.cv_results_["bound"])
    assert np.array_equal(
        parallel.cv_results_["certified_brier"], serial.cv_results_["certified_brier"]
    )
    same(serial.best_estimator_, parallel.best_estimator_, X)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_grid_search_does_not_depend_on_jobs_or_backend(backend):
    model = TransformerClassifier(
        protocol="holdout", width=16, dropout=0.2, max_epochs=3, random_state=0
    )

    def search(n_jobs):
        grid = {"depth": [1, 2], "lr": [1e-3, 1e-2]}
        return GridSearchCV(model, grid, scoring=bound_scorer, cv=FitOnce(), n_jobs=n_jobs).fit(
            X, Y
        )

    serial = search(1)
    with parallel_config(backend=backend):
        parallel = search(2)
    scores = [s.cv_results_["mean_test_score"] for s in (serial, parallel)]
    assert np.array_equal(*scores)
    same(serial.best_estimator_, parallel.best_estimator_, X)


@pytest.fixture(autouse=True)
def threads_of_the_process():
    """Put the thread count back for other tests."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_a_nested_fit_keeps_the_threads_of_the_outer_one():
    inner = TransformerClassifier(
        protocol="holdout", depth=1, width=8, n_heads=2, max_epochs=1
    ).fit(X, Y)
    seen = []

    class Nested(Callback):
        def on_epoch_end(self, net, **kwargs):
            inner.predict(X)
            seen.append(torch.get_num_threads())

    torch.set_num_threads(2)
    model = TransformerClassifier(
        protocol="holdout", depth=1, width=8, n_heads=2, max_epochs=2, callbacks=[Nested()]
    )
    model.fit(X, Y)
    assert seen == [1, 1]
    assert torch.get_num_threads() == 2


def _global_state():
    return torch.get_rng_state().numpy().tobytes(), np.random.get_state()[1].tobytes()  # noqa: NPY002


@pytest.mark.parametrize("n_threads", [1, 2])
def test_fit_leaves_random_states_threads_and_arrays_alone(n_threads):
    before, threads = _global_state(), torch.get_num_threads()
    X_given, y_given = X.copy(), Y.copy()
    model = TransformerClassifier(
        protocol="holdout",
        width=16,
        dropout=0.2,
        max_epochs=2,
        n_threads=n_threads,
        early_stopping=True,
    )
    params = model.get_params()
    # A random_state of None draws its seed from numpy's global state, as everywhere.
    model.set_params(random_state=0).fit(X_given, y_given).predict(X_given)
    assert _global_state() == before
    assert torch.get_num_threads() == threads
    assert np.array_equal(X_given, X)
    assert np.array_equal(y_given, Y)
    assert model.get_params() == {**params, "random_state": 0}


def test_a_failing_fit_puts_the_threads_back():
    threads = torch.get_num_threads()
    model = TransformerClassifier(
        protocol="holdout", width=16, max_epochs=2, lr=1e30, gradient_clip=None
    )
    with pytest.raises(ValueError, match="loss became"):
        model.fit(X, Y)
    assert torch.get_num_threads() == threads


def test_fits_in_several_threads_do_not_disturb_each_other():
    torch.set_num_threads(2)
    before = _global_state()
    model = TransformerClassifier(
        protocol="holdout", width=16, dropout=0.3, max_epochs=4, random_state=0
    )
    alone = clone(model).fit(X, Y)
    # Of different lengths, so that they overlap in every order.
    models = [clone(model).set_params(max_epochs=n) for n in (1, 4, 2, 4, 3, 4)]
    counts = []

    def work(one):
        one.fit(X, Y)
        counts.append(torch.get_num_threads())

    threads = [threading.Thread(target=work, args=(one,)) for one in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torch.get_num_threads() == 2
    assert counts == [2] * len(models)
    assert _global_state() == before
    for one in models:
        if one.max_epochs == 4:
            same(alone, one, X)
    late = []
    thread = threading.Thread(target=lambda: late.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert late == [2]
