"""Fitted and unfitted objects: pickling, cloning, being fitted or not, being a classifier."""

import copy
import pickle
import subprocess
import sys

import cloudpickle
import joblib
import numpy as np
import pytest
import torch
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted
from skorch.callbacks import Callback, EpochTimer

from skbound import (
    BoundedClassifier,
    BoundSearch,
    FitOnce,
    TransformerClassifier,
    bound_scorer,
    certify,
)
from skbound.protocols import Holdout
from skbound.tokenizers import TableTokenizer

X, Y = make_classification(400, 8, n_informative=5, random_state=0)


def small(**params):
    return TransformerClassifier(
        **{
            "protocol": "holdout",
            "depth": 1,
            "width": 16,
            "max_epochs": 2,
            "random_state": 0,
            **params,
        },
    )


# In a script of the user's own, so that everything lives in __main__.
FIT = """
import pickle, sys
from pathlib import Path
import cloudpickle, joblib, numpy as np, torch
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from skbound import BoundedClassifier, BoundSearch, FitOnce, TransformerClassifier, bound_scorer

folder = Path(sys.argv[1])
X, y = make_classification(400, 8, n_informative=5, random_state=0)
words = np.where(y > 0, "yes", "no")
small = TransformerClassifier(
    protocol="holdout", depth=1, width=16, max_epochs=5, lr=1e-2, random_state=0
)
grid = {"lr": [1e-3, 1e-2]}
models = {
    "transformer": small.set_params(optimizer=torch.optim.AdamW),
    "search": BoundSearch(
        small, grid, choose_by="bound", random_state=0, return_estimators=True
    ),
    "grid_search": GridSearchCV(small, grid, scoring=bound_scorer, cv=FitOnce()),
    "bounded": BoundedClassifier(LogisticRegression(), random_state=0),
    "pipeline": make_pipeline("passthrough", small),
}
for name, model in models.items():
    model.fit(X, words)
    np.save(folder / f"{name}.npy", model.predict_proba(X))
    (folder / f"{name}.bound").write_text(bound_scorer(model).hex())
    (folder / f"{name}.pickle").write_bytes(pickle.dumps(model))
    (folder / f"{name}.cloudpickle").write_bytes(cloudpickle.dumps(model))
    joblib.dump(model, folder / f"{name}.joblib")
"""
LOAD = """
import sys
from pathlib import Path
import joblib, numpy as np, pickle
from sklearn.datasets import make_classification

folder = Path(sys.argv[1])
X, _ = make_classification(400, 8, n_informative=5, random_state=0)
for file in sorted(folder.iterdir()):
    if file.suffix in (".pickle", ".cloudpickle", ".joblib"):
        load = joblib.load if file.suffix == ".joblib" else lambda f: pickle.loads(f.read_bytes())
        model = load(file)
        from skbound import bound_scorer
        same = np.array_equal(model.predict_proba(X), np.load(file.with_suffix(".npy")))
        bound = bound_scorer(model).hex() == file.with_suffix(".bound").read_text()
        print(file.name, same, bound, sorted(set(model.predict(X).tolist())))
"""


def _python(code, *arguments):
    command = [sys.executable, "-W", "error", "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """What a fresh interpreter says of the models that another one fitted and saved."""
    folder = str(tmp_path_factory.mktemp("models"))
    _python(FIT, folder)
    return {line.split(" ")[0]: line.split(" ", 1)[1] for line in _python(LOAD, folder)}


@pytest.mark.slow
@pytest.mark.parametrize("way", ["pickle", "cloudpickle", "joblib"])
@pytest.mark.parametrize("name", ["transformer", "search", "grid_search", "bounded", "pipeline"])
def test_K1_saved_in_a_script_and_loaded_elsewhere(way, name, loaded):
    """Another interpreter loads it and gets the same predictions and bound in every bit."""
    assert loaded[f"{name}.{way}"] == "True True ['no', 'yes']"


COPIES = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "cloudpickle": lambda model: cloudpickle.loads(cloudpickle.dumps(model)),
    "deepcopy": copy.deepcopy,
    "protocol_2": lambda model: pickle.loads(pickle.dumps(model, protocol=2)),
}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("params", [{}, {"early_stopping": True, "dropout": 0.2}])
def test_K1_copies_in_one_interpreter(way, params):
    model = small(**params).fit(X, Y)
    other = COPIES[way](model)
    assert np.array_equal(other.predict_proba(X), model.predict_proba(X))
    assert other.certificate_ == model.certificate_
    assert np.array_equal(other.fit(X, Y).predict_proba(X), model.predict_proba(X))
    assert COPIES[way](clone(model)).get_params().keys() == model.get_params().keys()


def test_K1_joblib_and_memory_maps(tmp_path):
    model = small().fit(X, Y)
    joblib.dump(model, tmp_path / "model.joblib")
    mapped = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    assert np.array_equal(mapped.predict_proba(X), model.predict_proba(X))


class Counter(Callback):
    """Counts epochs and may have arguments."""

    def __init__(self, step=1, seen=()):
        self.step = step
        self.seen = seen

    def initialize(self):
        self.n_epochs_ = 0
        return self

    def on_epoch_end(self, net, **kwargs):
        self.n_epochs_ += self.step


CHANGEABLE = {
    "callbacks": lambda: {"callbacks": [Counter(), EpochTimer()]},
    "callbacks_tuple": lambda: {"callbacks": (Counter(step=2, seen=[1]),)},
    "optimizer": lambda: {"optimizer": torch.optim.AdamW},
    "optimizer_sgd": lambda: {"optimizer": torch.optim.SGD, "lr": 0.05},
    "class_weight": lambda: {"class_weight": {0: 1, 1: 3}},
    "protocol": lambda: {"protocol": Holdout(0.3)},
    "tokenizer": lambda: {"tokenizer": TableTokenizer(limit=4.0)},
    "several": lambda: {"callbacks": [Counter()], "optimizer": torch.optim.AdamW, "lr": 1e-2},
}


def _state(value):
    """Everything that a fit could have left in a parameter."""
    if isinstance(value, (list, tuple)):
        return [_state(part) for part in value]
    if isinstance(value, type) or not hasattr(value, "__dict__"):
        return repr(value)
    return {name: repr(part) for name, part in vars(value).items()}


@pytest.mark.parametrize("kind", CHANGEABLE)
def test_K3_parameters_are_cloned_and_left_alone(kind):
    """Parameters that are objects survive clone, and fit neither replaces nor changes them."""
    model = small(**CHANGEABLE[kind]())
    before = model.get_params()
    states = {name: _state(value) for name, value in before.items()}
    other = clone(model)
    assert clone(other).get_params().keys() == before.keys()
    model.fit(X, Y).predict(X)
    after = model.get_params()
    assert all(after[name] is before[name] for name in before)
    assert {name: _state(value) for name, value in after.items()} == states
    assert np.array_equal(other.fit(X, Y).predict_proba(X), model.predict_proba(X))
    assert np.array_equal(clone(model).fit(X, Y).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("kind", CHANGEABLE)
def test_K3_inside_searches(kind):
    params = CHANGEABLE[kind]()
    name, value = next(iter(params.items()))
    grid = {name: [small().get_params()[name], value]}
    search = GridSearchCV(small(), grid, scoring=bound_scorer, cv=FitOnce()).fit(X, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    own = BoundSearch(small(), grid, choose_by="bound", random_state=0, error_score="raise").fit(
        X, Y
    )
    assert own.n_candidates_ == 2


UNFITTED = {
    "transformer": small,
    "bounded": lambda: BoundedClassifier(LogisticRegression()),
    "search": lambda: BoundSearch(small(), {"lr": [1e-3]}, choose_by="bound"),
    "failed": lambda: _failed(small()),
    "cloned": lambda: clone(small().fit(X, Y)),
}


def _failed(model):
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X * np.nan, Y)
    return model


@pytest.mark.parametrize("kind", UNFITTED)
def test_K5_unfitted_is_unfitted(kind):
    """Before fit, everything says so, and nothing pretends to know a bound."""
    model = UNFITTED[kind]()
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    for method in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(NotFittedError, match="fit"):
            getattr(model, method)(X)
    with pytest.raises(NotFittedError, match="fit"):
        model.score(X, Y)
    with pytest.raises(NotFittedError, match="fit"):
        certify(model)
    assert not hasattr(model, "generalization_bound_")
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("kind", UNFITTED)
@pytest.mark.parametrize("name", ["generalization_bound_", "certificate_"])
def test_K5_the_missing_bound_comes_with_a_hint(kind, name):
    with pytest.raises(AttributeError, match=rf"{name}.*\bfit"):
        getattr(UNFITTED[kind](), name)


@pytest.mark.parametrize("kind", UNFITTED)
def test_K5_the_scorer_says_that_it_is_unfitted(kind):
    with pytest.raises(NotFittedError, match="fit"):
        bound_scorer(UNFITTED[kind]())


def test_K5_fitted_is_fitted():
    model = small().fit(X, Y)
    check_is_fitted(model)
    check_is_fitted(make_pipeline("passthrough", model))


CLASSIFIERS = {
    "transformer": small,
    "bounded": lambda: BoundedClassifier(DecisionTreeClassifier(), random_state=0),
    "search": lambda: BoundSearch(
        small(max_epochs=1), {"lr": [1e-3]}, choose_by="bound", random_state=0
    ),
}
PIPES = {
    "bare": lambda model: model,
    "make_pipeline": lambda model: make_pipeline(StandardScaler(), model),
    "Pipeline": lambda model: Pipeline([("model", model)]),
    "nested": lambda model: make_pipeline("passthrough", make_pipeline("passthrough", model)),
    "grid_search": lambda model: GridSearchCV(model, {}, cv=2),
}


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("pipe", PIPES)
def test_K6_a_classifier_is_known_as_one(kind, pipe):
    """Bare or wrapped, it is a classifier, so cross-validation keeps the classes in proportion."""
    model = PIPES[pipe](CLASSIFIERS[kind]())
    assert is_classifier(model)
    order = np.argsort(Y)
    folds = cross_validate(
        model, X[order], Y[order], cv=2, return_indices=True, error_score="raise"
    )["indices"]["test"]
    assert [Y[order][fold].mean() for fold in folds] == pytest.approx([Y.mean()] * 2, abs=0.01)
