"""Searches in several workers: they finish, keep to their threads, and take any scorer."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from functools import cache

import pytest
import torch
from sklearn.datasets import make_classification

from skbound import TransformerClassifier

# As in a notebook: no function, no guard for __main__, and a fit before the workers start.
SCRIPT = """
import json, sys, tempfile, time
from pathlib import Path
import torch
from joblib import parallel_config
from skorch.callbacks import Callback
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, cross_val_score
from skbound import BoundSearch, FitOnce, TransformerClassifier, bound_scorer

backend = sys.argv[1]
X, y = make_classification(400, 8, n_informative=5, random_state=0)
folder = Path(tempfile.mkdtemp())

class Threads(Callback):
    def __init__(self, folder):
        self.folder = folder
    def on_train_begin(self, net, **kwargs):
        n_threads = str(torch.get_num_threads())
        (Path(self.folder) / str(time.perf_counter_ns())).write_text(n_threads)

def model(**params):
    return TransformerClassifier(
        **{"depth": 1, "width": 16, "max_epochs": 2, "random_state": 0, **params},
        protocol="holdout",
    )

def scores(n_jobs, **options):
    search = GridSearchCV(model(), grid, n_jobs=n_jobs, **options).fit(X, y)
    return search.cv_results_["mean_test_score"].tolist()

grid = {"lr": [1e-3, 1e-2]}
bounds = {"scoring": bound_scorer, "cv": FitOnce()}
out = {}
torch.set_num_threads(2)
model().fit(X, y)
with parallel_config(backend=backend):
    out["accuracy"] = scores(2, cv=2), scores(1, cv=2)
    out["bound_scorer"] = scores(2, **bounds), scores(1, **bounds)
    both = {"a": "accuracy", "b": bound_scorer}
    search = GridSearchCV(model(), grid, scoring=both, refit="b", n_jobs=2, cv=2).fit(X, y)
    out["both"] = search.score(X, y), -search.best_estimator_.generalization_bound_
    if backend != "multiprocessing":  # Its pickler takes no lambda, whatever the estimator.
        own = {"scoring": lambda model, X, y: -model.generalization_bound_, "cv": 2}
        out["lambda"] = scores(2, **own), scores(1, **own)
    searches = [BoundSearch(model(), grid, n_jobs=n, random_state=0).fit(X, y) for n in (2, 1)]
    out["own_search"] = [search.generalization_bound_ for search in searches]
    cross_val_score(model(callbacks=[Threads(str(folder))]), X, y, cv=2, n_jobs=2)
    out["threads"] = [int(file.read_text()) for file in folder.iterdir()]
out["after"] = torch.get_num_threads()
print(json.dumps(out))
"""
BACKENDS = ["loky", "multiprocessing", "threading"]


# A fit with several threads in the parent, then workers whose fits have several threads too.
SEVERAL_THREADS = """
import json, sys
from joblib import parallel_config
from sklearn.datasets import make_classification
from sklearn.model_selection import cross_val_score
from skbound import TransformerClassifier

X, y = make_classification(400, 8, n_informative=5, random_state=0)
model = TransformerClassifier(depth=1, width=16, max_epochs=2, random_state=0, n_threads=2)
model.fit(X, y)
with parallel_config(backend=sys.argv[1]):
    try:
        found = cross_val_score(model, X, y, cv=2, n_jobs=2, error_score="raise")
        print(json.dumps(found.tolist()))
    except Exception as error:
        print(json.dumps(str(error)))
"""


@cache
def outcome(backend, code=SCRIPT, timeout=90):
    """Return what a script prints, or None if it had to be stopped."""
    # Without OMP_NUM_THREADS, as on a user's machine.
    environment = {name: v for name, v in os.environ.items() if name != "OMP_NUM_THREADS"}
    with (
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as err,
        subprocess.Popen(
            [sys.executable, "-c", code, backend],
            stdout=out,
            stderr=err,
            env=environment,
            start_new_session=True,
        ) as process,
    ):
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None
        finally:
            # Workers that hang outlive their parent; the script leads a session of its own.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        err.seek(0)
        assert code == 0, err.read()
        out.seek(0)
        return json.loads(out.read().splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_P1_searches_in_workers_finish(backend):
    """A fit in the parent does not make later workers hang."""
    assert outcome(backend) is not None, "still running after 90 seconds"
    for name in ("accuracy", "own_search"):
        parallel, serial = outcome(backend)[name]
        assert parallel == serial


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "multiprocessing"])
def test_P1_fits_with_several_threads_in_workers(backend):
    """They finish, or are refused in words that name the parameter; they never hang."""
    found = outcome(backend, SEVERAL_THREADS)
    assert found is not None, "still running after 90 seconds"
    if isinstance(found, str):
        assert "n_threads" in found
    else:
        assert len(found) == 2


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_P3_threads_in_workers(backend):
    """Each fit in a worker keeps to its one thread, and the parent keeps its own two."""
    assert outcome(backend)["threads"] == [1] * 2
    assert outcome(backend)["after"] == 2


@pytest.mark.parametrize("n_threads", [1, 2, None])
def test_P3_threads_are_put_back(n_threads):
    before = torch.get_num_threads()
    X, y = make_classification(200, 8, random_state=0)
    model = TransformerClassifier(
        protocol="holdout", depth=1, width=16, max_epochs=1, n_threads=n_threads
    )
    try:
        for outside in (1, 2):
            torch.set_num_threads(outside)
            model.set_params(random_state=0).fit(X, y)
            assert torch.get_num_threads() == outside
            model.predict_proba(X)
            assert torch.get_num_threads() == outside
            with pytest.raises(ValueError, match="NaN"):
                model.fit(X * float("nan"), y)
            assert torch.get_num_threads() == outside
    finally:
        torch.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("scorer", ["bound_scorer", "both", "lambda"])
def test_P5_scorers_in_workers(backend, scorer):
    """A scorer by bound, alone, among others or written by the user, works in workers."""
    if backend == "multiprocessing" and scorer == "lambda":
        pytest.skip("joblib's multiprocessing backend pickles no lambda")
    parallel, serial = outcome(backend)[scorer]
    assert parallel == serial
