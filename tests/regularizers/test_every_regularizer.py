"""What holds for all of them on real data: seeds, copies, threads, rows, nothing left behind."""

import inspect
import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skbound.regularizers
from skbound import FitOnce, TransformerClassifier, bound_scorer
from skbound.regularizers import (
    CutMix,
    Distillation,
    EntryClip,
    FrobeniusBall,
    GradientPenalty,
    Linear,
    LipschitzPenalty,
    Mixup,
    NormPenalty,
    RandomAffine,
    RandomShift,
    Regularizer,
    RowBall,
    SharpnessAware,
    SpectralBall,
    SpectralNorm,
    StochasticDepth,
    WeightNoise,
    WeightNorm,
)

X, Y = load_breast_cancer(return_X_y=True)
SMALL = TransformerClassifier(
    protocol="holdout", depth=1, width=16, n_heads=2, max_epochs=8, lr=5e-3, random_state=0
)
EVERY = [
    SpectralNorm(Linear(4.0, 2.0)),
    WeightNorm(),
    SpectralBall(1.5),
    FrobeniusBall(4.0),
    RowBall(0.8),
    EntryClip(0.3),
    NormPenalty(1e-3),
    GradientPenalty(0.05),
    LipschitzPenalty(0.01),
    SharpnessAware(0.02),
    WeightNoise(0.02),
    Mixup(0.2),
    CutMix(0.2),
    StochasticDepth(0.1),
    Distillation(n_members=2),
]
IMAGES = [RandomShift(1), RandomAffine()]


def name(regularizer):
    return type(regularizer).__name__


def of_params(model):
    return [p.detach().clone() for p in model.net_.module_.parameters()]


def test_none_is_missing_here():
    concrete = {
        key
        for key in skbound.regularizers.__all__
        if issubclass(getattr(skbound.regularizers, key), Regularizer)
    } - {"Regularizer", "Projection"}
    assert concrete == {name(r) for r in EVERY + IMAGES}


@pytest.mark.parametrize("regularizer", EVERY, ids=name)
def test_real_data_end_to_end(regularizer):
    plain = clone(SMALL).fit(X, Y)
    model = clone(SMALL).set_params(regularizers=(regularizer,))
    state, given = torch.get_rng_state(), dict(vars(regularizer))
    model.fit(X, Y)
    assert vars(regularizer) == given
    assert torch.equal(torch.get_rng_state(), state)
    # Certified rows are those of a fit without it, and what predict says is what was certified.
    rows = model.evidence_.certified.rows
    assert np.array_equal(rows, plain.evidence_.certified.rows)
    assert np.array_equal(model.predict(X[rows]) != Y[rows], model.evidence_.certified.zero_one)
    assert model.generalization_bound_ < 0.2
    assert not np.array_equal(model.predict_proba(X), plain.predict_proba(X))
    # The net that is left is a plain one.
    module, other = model.net_.module_, plain.net_.module_
    assert [n for n, _ in module.named_modules()] == [n for n, _ in other.named_modules()]
    assert [n for n, _ in module.named_parameters()] == [n for n, _ in other.named_parameters()]
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in module.modules())
    # The same seed gives the same answer, and so does a copy.
    again = pickle.loads(pickle.dumps(clone(model).fit(X, Y)))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.history_[-1]["train_loss"] == model.history_[-1]["train_loss"]


@pytest.mark.parametrize("regularizer", EVERY, ids=name)
def test_threads_train_the_same_net(regularizer):
    """Dropped blocks apart, whose masks are drawn in each thread."""
    model = clone(SMALL).set_params(regularizers=(regularizer,), dtype="float64", max_epochs=1)
    # Adam would blow up the last bits of gradients that are zero.
    model.set_params(optimizer="sgd", lr=0.1)
    alone, shared = clone(model), clone(model).set_params(n_threads=2)
    if not regularizer.row_by_row:
        with pytest.raises(ValueError, match="n_threads of more than 1"):
            shared.fit(X, Y)
        return
    pairs = zip(of_params(alone.fit(X, Y)), of_params(shared.fit(X, Y)), strict=True)
    equal = [torch.allclose(one, other, rtol=1e-6, atol=1e-9) for one, other in pairs]
    assert all(equal) or isinstance(regularizer, StochasticDepth)
    assert np.isclose(
        alone.history_[0]["train_loss"],
        shared.history_[0]["train_loss"],
        rtol=0.1 if isinstance(regularizer, StochasticDepth) else 1e-9,
    )


@pytest.mark.parametrize("regularizer", [*EVERY, *IMAGES], ids=name)
def test_clones_have_equal_parameters(regularizer):
    copied = clone(regularizer)
    assert type(copied) is type(regularizer)
    assert repr(copied) == repr(regularizer)
    assert repr(pickle.loads(pickle.dumps(regularizer))) == repr(regularizer)
    assert set(regularizer.get_params(deep=False)) == set(
        inspect.signature(type(regularizer)).parameters
    )


def test_all_at_once_on_images():
    images, labels = load_digits(return_X_y=True)
    together = (
        RandomShift(1), Mixup(0.1), CutMix(0.1), SpectralNorm(2.0, where="feed_forward"),
        SpectralBall(2.0, where="query_key"), NormPenalty(1e-4), GradientPenalty(1e-3),
        LipschitzPenalty(1e-3), SharpnessAware(0.01), StochasticDepth(0.1),
        Distillation(n_members=1),
    )  # fmt: skip
    model = TransformerClassifier(
        protocol="holdout",
        depth=1,
        width=16,
        max_epochs=3,
        tokenizer="patches",
        regularizers=together,
        random_state=0,
    )
    model.fit(images[:400], labels[:400])
    again = clone(model).fit(images[:400], labels[:400])
    assert np.array_equal(model.predict_proba(images), again.predict_proba(images))


def test_whole_tuples_are_candidates_of_a_grid():
    grid = {"regularizers": [(), (SpectralNorm(2.0),), (Mixup(), SpectralBall(1.0))]}
    model = clone(SMALL).set_params(max_epochs=1)
    search = GridSearchCV(model, grid, scoring=bound_scorer, cv=FitOnce()).fit(X, Y)
    assert len(search.cv_results_["params"]) == 3
    assert search.best_estimator_.generalization_bound_ == -search.best_score_


@pytest.mark.parametrize("regularizer", [Mixup(), CutMix(), StochasticDepth(), SpectralBall()])
def test_sequences(regularizer):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(150, 6, 3))
    labels = (rows.sum((1, 2)) > 0).astype(int)
    model = clone(SMALL).set_params(regularizers=[regularizer], max_epochs=1)
    assert model.fit(rows, labels).predict(rows).shape == (150,)


@pytest.mark.parametrize("protocol", ["progressive", "cross_fit", "recursive_pac_bayes"])
def test_other_protocols(protocol):
    together = (Mixup(), SpectralNorm(2.0), StochasticDepth(0.1), Distillation(n_members=1))
    model = clone(SMALL).set_params(regularizers=together, protocol=protocol, max_epochs=1)
    first, again = clone(model).fit(X, Y), clone(model).fit(X, Y)
    assert first.generalization_bound_ == again.generalization_bound_


def test_coordinates_in_place_of_weights():
    """What acts on rows and gradients needs no weights of the net itself."""
    teacher = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:100], Y[:100])
    together = (
        Mixup(), CutMix(), GradientPenalty(0.01), LipschitzPenalty(0.01), SharpnessAware(0.01),
        Distillation(teacher),
    )  # fmt: skip
    model = clone(SMALL).set_params(
        regularizers=together, protocol="description_length", max_epochs=1, width=8
    )
    first, again = clone(model).fit(X, Y), clone(model).fit(X, Y)
    assert first.generalization_bound_ == again.generalization_bound_


@pytest.mark.parametrize(
    ("callback", "params", "message"),
    [
        ("EarlyStopping", {"early_stopping": True}, "early_stopping=True and the callback"),
        ("GradientNormClipping", {}, r"gradient_clip=1\.0 and the callback"),
    ],
)
def test_what_has_a_parameter_is_not_given_twice(callback, params, message):
    import skorch.callbacks

    given = getattr(skorch.callbacks, callback)()
    if callback == "GradientNormClipping":
        given.set_params(gradient_clip_value=1.0)
    model = clone(SMALL).set_params(callbacks=[given], **params)
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)
    model.set_params(early_stopping=False, gradient_clip=None, max_epochs=1)
    if callback == "EarlyStopping":
        given.set_params(monitor="train_loss")
    model.fit(X, Y)


class WholeNumbers(Regularizer):
    """Comes last and looks at what a step trains on."""

    def on_batch(self, X, labels, weights, *, n_classes, generator):
        assert torch.equal(X, X.round())
        return X, labels, weights


@pytest.mark.parametrize("regularizer", EVERY, ids=name)
def test_token_ids_stay_ids_or_are_refused(regularizer):
    ids = np.random.default_rng(0).integers(1, 20, (150, 6))
    labels = ids[:, 0] > 10
    model = clone(SMALL).set_params(
        tokenizer="tokens", max_epochs=1, regularizers=(regularizer, WholeNumbers())
    )
    if isinstance(regularizer, Mixup | GradientPenalty):
        with pytest.raises(ValueError, match=f"{name(regularizer)} needs rows of numbers"):
            model.fit(ids, labels)
        assert not hasattr(model, "net_")
    else:
        model.fit(ids, labels)
