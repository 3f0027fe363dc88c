"""A checkpoint of something else, a damaged one and a full disk never pass for a result."""

import copy
import errno
import os
import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import FitFailedWarning
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skbound import BoundedClassifier, BoundSearch, TransformerClassifier
from skbound.exceptions import SkboundWarning
from skbound.model_selection import _checkpoint, _identity
from skbound.model_selection._identity import identity

X, Y = make_classification(200, 5, flip_y=0.2, random_state=0)
LOG: list = []


class Counted(DecisionTreeClassifier):
    """Writes down every fit."""

    def fit(self, X, y, sample_weight=None):
        LOG.append(self.max_depth)
        return super().fit(X, y, sample_weight)


def fitted(folder, depths=(1, 2), rows=X, labels=Y, weights=None, **settings):
    LOG.clear()
    grid = {"estimator__max_depth": list(depths)}
    settings = {"choose_by": "bound", "random_state": 0} | settings
    search = BoundSearch(BoundedClassifier(Counted()), grid, checkpoint=folder, **settings)
    return search.fit(rows, labels, weights)


@pytest.mark.parametrize("random_state", [None, np.random.RandomState(0)])
def test_a_checkpoint_needs_a_seed_that_can_be_repeated(tmp_path, random_state):
    with pytest.raises(ValueError, match="random_state must be an int"):
        fitted(tmp_path, random_state=random_state)
    assert LOG == []
    assert not list(tmp_path.iterdir())


def tiny(**params):
    return TransformerClassifier(depth=1, width=8, max_epochs=1, protocol=None, **params)


def code(body):
    space = {"__name__": "users_module"}
    exec(body, space)
    return space["thing"]


START = [tiny(random_state=seed).fit(X, Y) for seed in (0, 1)]
DIFFERENT = {
    "weights of a frozen start": [
        TransformerClassifier(init_from=FrozenEstimator(START[0])),
        TransformerClassifier(init_from=FrozenEstimator(START[1])),
    ],
    "what a frozen step has learnt": [
        FrozenEstimator(StandardScaler().fit(X)),
        FrozenEstimator(StandardScaler().fit(X + 1)),
    ],
    "lambdas": [FunctionTransformer(lambda x: x + 1), FunctionTransformer(lambda x: x + 2)],
    "edited functions": [code("def thing(x): return x + 1"), code("def thing(x): return x * 1")],
    "closures": [(lambda k: lambda x: x + k)(1), (lambda k: lambda x: x + k)(2)],
    "defaults": [code("def thing(x, k=1): return k"), code("def thing(x, k=2): return k")],
    "partial": [partial(np.clip, a_max=1), partial(np.clip, a_max=2)],
    "edited classes": [
        code("class thing:\n def fit(self): return 1"),
        code("class thing:\n def fit(self): return 2"),
    ],
    "in a dict": [{"a": [START[0]]}, {"a": [START[1]]}],
    "generators": [np.random.RandomState(0), np.random.RandomState(1)],
    "tensors": [torch.ones(2), torch.zeros(2)],
    "modules": [torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)],
    "seeds": [Counted(random_state=0), Counted(random_state=1)],
}


@pytest.mark.parametrize("kind", DIFFERENT)
def test_what_differs_has_another_name(kind):
    one, other = DIFFERENT[kind]
    assert identity(one) != identity(other)
    assert identity(one) == identity(one)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
@pytest.mark.parametrize("start", [START[0], tiny(random_state=0), StandardScaler().fit(X)])
def test_what_is_the_same_keeps_its_name(start, again):
    assert identity(FrozenEstimator(start)) == identity(FrozenEstimator(again(start)))


def test_the_same_fit_done_again_keeps_its_name():
    assert identity(clone(START[0]).fit(X, Y)) == identity(START[0])


def test_other_versions_have_other_names(monkeypatch):
    before = identity(1)
    monkeypatch.setattr(_identity, "_software", lambda: ["skbound 99"])
    assert identity(1) != before


def test_what_cannot_be_named_is_refused():
    with pytest.raises(TypeError, match=r"can be pickled.*leave out the checkpoint"):
        identity(iter(lambda: 0, 1))


OTHER_ROWS = {
    "weights": {"weights": np.where(np.arange(200) % 2, 1.0, 2.0)},
    "other features of the same rows": {"rows": X**2},
    "a frame": {"rows": pd.DataFrame(X)},
    "renamed classes": {"labels": np.where(Y, "one", "nil")},
    "another seed": {"random_state": 1},
}


@pytest.mark.parametrize("change", OTHER_ROWS)
def test_another_look_at_the_same_rows_is_fitted_and_paid_for(tmp_path, change):
    assert fitted(tmp_path).certificate_.n_candidates == 2
    again = fitted(tmp_path, **OTHER_ROWS[change])
    assert LOG == [1, 2]
    assert again.certificate_.n_candidates == 4


def test_rows_with_other_labels_are_other_rows(tmp_path):
    fitted(tmp_path)
    assert fitted(tmp_path, labels=1 - Y).certificate_.n_candidates == 2
    assert LOG == [1, 2]


def test_arrays_in_memory_and_on_disk_are_the_same(tmp_path):
    fitted(tmp_path / "kept")
    np.save(tmp_path / "x.npy", X)
    fitted(tmp_path / "kept", rows=np.load(tmp_path / "x.npy", mmap_mode="r"))
    assert LOG == []


DAMAGE = {
    "empty": lambda content: b"",
    "cut short": lambda content: content[: len(content) // 2],
    "one byte": lambda content: content[:-40] + b"\0" + content[-39:],
    "something else": lambda content: pickle.dumps({"a": 1}),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_fitted_again(tmp_path, damage):
    whole = fitted(tmp_path)
    files = sorted(tmp_path.glob("*/*.pkl"))
    content = files[0].read_bytes()
    files[0].write_bytes(DAMAGE[damage](content))
    with pytest.warns(SkboundWarning, match="damaged and not used"):
        again = fitted(tmp_path)
    assert len(LOG) == 1
    assert again.certificate_ == whole.certificate_
    assert fitted(tmp_path).certificate_ == whole.certificate_
    assert LOG == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EDQUOT])
def test_a_disk_that_fails_ends_the_search_and_keeps_what_is_finished(
    tmp_path, monkeypatch, number
):
    whole, fsync, calls = fitted(None), os.fsync, []

    def full(handle):
        calls.append(handle)
        if len(calls) == 2:
            raise OSError(number, os.strerror(number))
        return fsync(handle)

    monkeypatch.setattr(_checkpoint.os, "fsync", full)
    with pytest.raises(OSError, match=r"checkpoint must be.*Free space.*finished are kept") as seen:
        fitted(tmp_path)
    assert seen.value.errno == number
    assert not list(tmp_path.rglob("*.unfinished"))
    assert fitted(tmp_path).certificate_ == whole.certificate_
    assert LOG == [2]


def test_a_folder_that_cannot_be_is_refused_before_the_first_fit(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below", "/proc/nowhere"):
        with pytest.raises(OSError, match="checkpoint must be a folder that can be written to"):
            fitted(path)
        assert LOG == []


def test_missing_parents_are_made_and_a_relative_folder_stays_put(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fitted("a/b/c")
    assert len(list(tmp_path.glob("a/b/c/*/*.pkl"))) == 2
    # A worker may live on in a folder that the program has left.
    assert _checkpoint.Checkpoint.of("a/b/c", X, Y, None).folder.is_absolute()


@pytest.mark.parametrize("renew", [clone, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_a_copy_of_a_search_goes_on(tmp_path, renew):
    search = fitted(tmp_path)
    LOG.clear()
    assert renew(search).fit(X, Y).certificate_ == search.certificate_
    assert LOG == []


class FailsOnce(Counted):
    """Has too little memory, the first time."""

    def fit(self, X, y):
        if not LOG:
            LOG.append("failed")
            raise MemoryError("Unable to allocate")
        return super().fit(X, y)


def test_a_failure_is_tried_again(tmp_path):
    LOG.clear()
    grid = {"estimator__max_depth": [1, 2]}
    search = BoundSearch(
        BoundedClassifier(FailsOnce()), grid, choose_by="bound", checkpoint=tmp_path, random_state=0
    )
    with pytest.warns(FitFailedWarning, match="1 of 2 candidates failed"):
        search.fit(X, Y)
    search.fit(X, Y)
    assert LOG == ["failed", 2, 1]
    assert np.isfinite(search.cv_results_["bound"]).all()


class Meanwhile(Counted):
    """While it is fitted, another search with the same folder looks at the same rows."""

    folder = None

    def fit(self, X_, y):
        if self.folder is not None:
            folder, type(self).folder = self.folder, None
            fitted(folder, [5, 6, 7])
        return super().fit(X_, y)


@pytest.mark.parametrize("choose_by", ["bound", "training_side"])
def test_a_search_beside_this_one_is_paid_for(tmp_path, monkeypatch, choose_by):
    monkeypatch.setattr(Meanwhile, "folder", tmp_path)
    grid = {"estimator__max_depth": [1, 2]}
    search = BoundSearch(
        BoundedClassifier(Meanwhile()), grid, checkpoint=tmp_path, random_state=0,
        choose_by=choose_by,
    ).fit(X, Y)  # fmt: skip
    assert search.certificate_.n_candidates == {"bound": 5, "training_side": 4}[choose_by]
