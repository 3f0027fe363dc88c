"""Rows that stay in their file give the same net, and are never in memory all at once."""

import numpy as np
import pytest
import torch
from sklearn.base import clone

from skbound import BoundSearch, TransformerClassifier
from skbound._training import _mapped
from skbound._training._mapped import LabelledTensors, RowsOnDisk, is_on_disk
from skbound.regularizers import Mixup
from skbound.tokenizers import PatchTokenizer, TableTokenizer, TokenTokenizer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 16)).astype(np.float32)
Y = (X[:, 0] + X[:, 1] > 0).astype(int)
SMALL = TransformerClassifier(
    protocol="holdout", depth=1, width=8, n_heads=2, max_epochs=2, random_state=0
)


@pytest.fixture
def mapped(tmp_path, monkeypatch):
    monkeypatch.setattr(_mapped, "LARGE", 0)

    def write(rows):
        np.save(tmp_path / "rows.npy", rows)
        return np.load(tmp_path / "rows.npy", mmap_mode="r")

    return write


def test_who_is_on_disk(mapped, monkeypatch):
    rows = mapped(X)
    assert is_on_disk(rows)
    assert is_on_disk(np.asarray(rows)[5:])
    assert not is_on_disk(X)
    assert not is_on_disk(rows[np.array([1, 2])] + 0.0)
    assert not is_on_disk(None)
    # As joblib maps what it hands to workers: reading it again each epoch would take time.
    monkeypatch.setattr(_mapped, "LARGE", X.nbytes + 1)
    assert not is_on_disk(rows)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"early_stopping": True},
        {"architecture__init": "lsuv"},
        {"regularizers": (Mixup(),)},
        {"n_threads": 2},
        {"tokenizer": PatchTokenizer(2)},
        {"tokenizer": TokenTokenizer()},
        {"protocol": "progressive"},
        {"protocol": "auto"},
        {"dtype": "float64"},
    ],
    ids=str,
)
def test_the_same_net(mapped, params):
    rows = np.round(3 * X) if isinstance(params.get("tokenizer"), TokenTokenizer) else X
    here = clone(SMALL).set_params(**params).fit(rows, Y)
    there = clone(SMALL).set_params(**params).fit(mapped(rows), Y)
    assert np.array_equal(here.predict_proba(rows), there.predict_proba(rows))
    assert here.certificate_ == there.certificate_
    assert here.diagnostics_.to_frame().equals(there.diagnostics_.to_frame())


def test_the_same_search(mapped):
    found = [
        BoundSearch(SMALL, {"width": [8, 16]}, random_state=0, n_jobs=n_jobs).fit(rows, Y)
        for rows, n_jobs in ((X, None), (mapped(X), 2))
    ]
    assert found[0].certificate_ == found[1].certificate_


def test_a_batch_is_what_the_tensor_of_all_rows_holds(mapped):
    tokenizer = TableTokenizer().fit(X)
    positions = np.arange(0, 300, 2)
    rows = RowsOnDisk(mapped(X), positions, tokenizer.prepare, "cpu", torch.float32)
    whole = torch.as_tensor(tokenizer.prepare(X[positions])).float()
    assert (len(rows), rows.shape) == (150, whole.shape)
    order = torch.randperm(150)[:20]
    assert torch.equal(rows[order], whole[order])
    assert torch.equal(rows[10:30], whole[10:30])
    assert torch.equal(torch.cat(list(rows.split(64))), whole)
    data = LabelledTensors(rows, torch.zeros(150), torch.ones(150))
    assert len(data) == 150
    assert torch.equal(data[:3][0], whole[:3])


def test_no_read_takes_many_rows(mapped, monkeypatch):
    """With a file larger than the memory, one look at all rows would be the end."""
    taken = []
    get = RowsOnDisk.__getitem__

    def counted(self, rows):
        found = get(self, rows)
        taken.append(len(found))
        return found

    monkeypatch.setattr(RowsOnDisk, "__getitem__", counted)
    clone(SMALL).set_params(batch_size=32).fit(mapped(X), Y)
    assert max(taken) == 32
    # The shape, and two epochs over 240 rows.
    assert sum(taken) == 1 + 2 * 240


def test_a_scale_is_learnt_from_enough_rows(monkeypatch):
    seen = []
    fit = TableTokenizer.fit

    def counted(self, X, *args, **kwargs):
        seen.append(len(X))
        return fit(self, X, *args, **kwargs)

    monkeypatch.setattr(TableTokenizer, "n_rows_enough", 100)
    monkeypatch.setattr(TableTokenizer, "fit", counted)
    first, second = (clone(SMALL).fit(X, Y).predict_proba(X) for _ in range(2))
    assert seen == [100, 100]
    assert np.array_equal(first, second)
