"""What a user of TransformerClassifier sees."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics import recall_score
from skorch.callbacks import Callback

from skbound import TransformerClassifier
from skbound.bounds import HOLDOUT_BOUNDS, BettingBound, Certificate
from skbound.estimates import Estimate
from skbound.exceptions import SkboundWarning
from skbound.protocols import Holdout
from skbound.tokenizers import TableTokenizer

X, Y = make_classification(200, 6, n_informative=4, random_state=0)
TINY = TransformerClassifier(
    protocol="holdout", depth=1, width=8, n_heads=2, max_epochs=2, random_state=0
)


def tiny(**params):
    return clone(TINY).set_params(**params)


def test_attributes():
    model = tiny().fit(X, Y)
    assert is_classifier(model)
    assert isinstance(model.generalization_bound_, float)
    assert isinstance(model.certificate_, Certificate)
    assert isinstance(model.predicted_error_, Estimate)
    assert model.generalization_bound_ == float(model.certificate_)
    assert model.certificate_.delta == 0.05
    assert (model.n_samples_fit_, model.n_samples_certified_) == (160, 40)
    assert model.n_samples_validation_ == 0
    assert model.n_iter_ == len(model.history_) == 2
    assert set(HOLDOUT_BOUNDS) < set(model.bounds_)
    assert model.bounds_["brier_kl"].loss == "brier"
    assert float(model.predicted_error_) <= model.generalization_bound_
    assert not isinstance(model.predicted_error_, Certificate)


def test_statement_says_what_holds():
    model = tiny(delta=0.1).fit(X, Y)
    statement = model.certificate_.statement()
    for part in ("90 %", "160 rows", "40 other rows", "exact binomial tail"):
        assert part in statement
    assert any("i.i.d." in a for a in model.certificate_.assumptions)


def test_few_rows_certify_nothing_and_say_so():
    with pytest.warns(SkboundWarning, match="Nothing is certified.*too few"):
        model = tiny().fit(X[:99], Y[:99])
    assert model.generalization_bound_ == 1.0
    assert model.n_samples_fit_ == 99
    assert "Nothing is certified" in model.certificate_.statement()
    assert np.isnan(float(model.predicted_error_))


def test_an_explicit_fraction_certifies_few_rows_too():
    model = tiny(protocol=Holdout(0.5)).fit(X[:60], Y[:60])
    assert model.n_samples_certified_ == 30
    assert tiny().set_params(protocol__fraction=0.5).protocol.fraction == 0.5


def test_without_a_protocol_all_rows_are_trained_on():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = tiny(protocol=None).fit(X, Y)
    assert model.n_samples_fit_ == 200
    assert model.generalization_bound_ == 1.0
    assert "trains on all rows" in model.certificate_.statement()


@pytest.mark.parametrize("bound", ["kl", "betting", BettingBound()])
def test_the_bound_is_a_choice(bound):
    model = tiny(bound=bound).fit(X, Y)
    key = bound if isinstance(bound, str) else bound.key
    assert model.certificate_ == model.bounds_[key]


LABELS = {
    "strings": np.array(["no", "yes"])[Y],
    "gaps": Y * 5 + 3,
    "bool": Y.astype(bool),
    "float": Y.astype(float),
    "object": np.array(["no", "yes"], dtype=object)[Y],
    "list": np.array(["no", "yes"])[Y].tolist(),
    "series": pd.Series(Y, dtype="category"),
    "tensor": torch.as_tensor(Y),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_of_any_type(labels):
    expected = tiny().fit(X, Y)
    model = tiny().fit(X, labels)
    assert np.array_equal(model.classes_, np.unique(np.asarray(labels)))
    assert np.array_equal(model.predict(X), model.classes_[expected.predict(X)])
    assert model.generalization_bound_ == expected.generalization_bound_


CONTAINERS = {
    "list": X.tolist(),
    "tensor": torch.as_tensor(X),
    "fortran": np.asfortranarray(X),
    "strided": np.repeat(X, 2, axis=1)[:, ::2],
    "pandas": pd.DataFrame(X, columns=list("abcdef")),
    "polars": pl.DataFrame(X, schema=list("abcdef")),
}


@pytest.mark.parametrize("rows", CONTAINERS.values(), ids=CONTAINERS)
def test_containers(rows):
    model = tiny().fit(rows, Y)
    assert np.array_equal(model.predict_proba(rows), tiny().fit(X, Y).predict_proba(X))
    if hasattr(rows, "columns"):
        assert list(model.feature_names_in_) == list("abcdef")


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "int64", "bool", "uint8"])
def test_numbers_of_any_type(dtype):
    rows = np.abs(10 * X).astype(dtype)
    model = tiny(max_epochs=3).fit(rows, Y)
    expected = tiny(max_epochs=3).fit(rows.astype(float), Y)
    assert np.array_equal(model.predict_proba(rows), expected.predict_proba(rows.astype(float)))


def test_one_class():
    model = tiny().fit(X, np.full(200, "only"))
    assert set(model.predict(X)) == {"only"}
    assert np.array_equal(model.predict_proba(X), np.ones((200, 1)))
    assert model.certificate_.vacuous
    assert model.net_ is None


def test_a_class_that_occurs_once():
    y = np.where(np.arange(200) == 7, 2, Y)
    for seed in range(3):
        model = tiny(random_state=seed, early_stopping=True).fit(X, y)
        assert model.predict_proba(X).shape == (200, 3)


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e12, 1e300])
def test_columns_of_any_scale(scale):
    factors = np.array([1.0, scale, 1.0, 1.0, 1.0, 1.0])
    expected = tiny().fit(X, Y).predict_proba(X)
    model = tiny().fit(X * factors, Y)
    np.testing.assert_allclose(model.predict_proba(X * factors), expected, atol=1e-5)


def test_sequences_learn():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 5, 3))
    y = (rows[:, 2, 0] > 0).astype(int)
    model = TransformerClassifier(
        protocol="holdout", depth=1, width=16, max_epochs=30, random_state=0
    ).fit(rows, y)
    assert (model.n_tokens_in_, model.n_features_in_) == (5, 3)
    assert model.score(rows, y) > 0.95


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_small_tables_are_learnt_with_the_defaults(load, pooling):
    rows, y = load(return_X_y=True)
    model = TransformerClassifier(protocol="holdout", pooling=pooling, random_state=0).fit(rows, y)
    assert model.generalization_bound_ < (0.25 if load is load_iris else 0.12)
    assert not model.certificate_.vacuous


def test_early_stopping_takes_its_rows_from_the_training_part():
    model = tiny(early_stopping=True, max_epochs=60, n_iter_no_change=2, lr=0.03).fit(X, Y)
    assert (model.n_samples_fit_, model.n_samples_validation_) == (144, 16)
    assert model.n_samples_certified_ == 40
    assert model.n_iter_ < 60
    assert "valid_loss" in model.history_[0]


def test_unit_weights_change_nothing():
    plain, weighted = tiny().fit(X, Y), tiny().fit(X, Y, sample_weight=np.ones(200))
    assert np.array_equal(plain.predict_proba(X), weighted.predict_proba(X))
    assert plain.generalization_bound_ == weighted.generalization_bound_
    scaled = tiny().fit(X, Y, sample_weight=7.0)
    assert np.array_equal(plain.predict_proba(X), scaled.predict_proba(X))


def test_rows_of_weight_zero_are_absent():
    weights = np.r_[np.ones(150), np.zeros(50)]
    y = np.where(weights == 0, 9, Y)
    model = tiny().fit(X, y, sample_weight=weights)
    expected = tiny().fit(X[:150], Y[:150])
    assert np.array_equal(model.predict_proba(X), expected.predict_proba(X))
    assert model.generalization_bound_ == expected.generalization_bound_
    assert 9 not in model.classes_


def test_class_weight_raises_the_recall_of_the_rare_class():
    rows, y = make_classification(
        600, 6, n_informative=3, weights=[0.93], class_sep=0.5, flip_y=0, random_state=1
    )
    model = TransformerClassifier(
        protocol="holdout", depth=1, width=16, max_epochs=15, random_state=0
    )
    recall = [
        recall_score(y, clone(model).set_params(class_weight=weight).fit(rows, y).predict(rows))
        for weight in (None, "balanced", {0: 1.0, 1: 14.0})
    ]
    assert recall[1] > recall[0]
    assert recall[2] > recall[0]


class Counter(Callback):
    """Counts epochs."""

    def __init__(self, n_epochs=0):
        self.n_epochs = n_epochs

    def on_epoch_end(self, net, **kwargs):
        self.n_epochs += 1


def test_parameter_objects_are_copied():
    counter, tokenizer, protocol = Counter(), TableTokenizer(limit=3.0), Holdout(0.3)
    model = tiny(
        callbacks=[counter], tokenizer=tokenizer, protocol=protocol, optimizer=torch.optim.NAdam
    )
    before = {name: repr(value) for name, value in clone(model).get_params().items()}
    model.fit(X, Y)
    assert counter.n_epochs == 0
    assert not hasattr(tokenizer, "mean_")
    after = {name: repr(value) for name, value in clone(model).get_params().items()}
    assert {k: v for k, v in before.items() if "callbacks" not in k} == {
        k: v for k, v in after.items() if "callbacks" not in k
    }
    assert model.tokenizer_.limit == 3.0
    assert model.n_samples_certified_ == 60


def test_unfitted():
    for method in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(TINY, method)(X)
    with pytest.raises(AttributeError):
        _ = TINY.generalization_bound_


def test_predict_agrees_with_its_scores():
    model = tiny().fit(*load_iris(return_X_y=True))
    rows = load_iris().data
    assert np.array_equal(model.predict(rows), model.predict_proba(rows).argmax(1))
    np.testing.assert_allclose(model.predict_proba(rows).sum(1), 1.0)
    binary = tiny().fit(X, Y)
    assert np.array_equal(binary.predict(X), (binary.decision_function(X) > 0).astype(int))


def test_verbose_prints_epochs(capsys):
    tiny(verbose=1).fit(X, Y)
    assert "train_loss" in capsys.readouterr().out
    tiny().fit(X, Y)
    assert capsys.readouterr().out == ""


def test_no_decay_on_norms_biases_and_embeddings():
    seen = []

    class Groups(Callback):
        def on_train_begin(self, net, **kwargs):
            names = {id(p): name for name, p in net.module_.named_parameters()}
            for group in net.optimizer_.param_groups:
                seen.extend((names[id(p)], group["weight_decay"]) for p in group["params"])

    tiny(callbacks=[Groups()], weight_decay=0.3).fit(X, Y)
    decay = dict(seen)
    for name, value in decay.items():
        free = "norm" in name or "bias" in name or "embedding" in name or name == "cls_token"
        assert value == (0.0 if free else 0.3), name
    assert decay["blocks.0.attention.query.weight"] == decay["head.weight"] == 0.3


def test_learning_rate_rises_then_falls():
    rates = []

    class Rates(Callback):
        def on_batch_begin(self, net, training=False, **kwargs):
            if training:
                rates.append(net.optimizer_.param_groups[0]["lr"])

    tiny(callbacks=[Rates()], max_epochs=20, batch_size=16, lr=0.01).fit(X, Y)
    peak = int(np.argmax(rates))
    assert rates[0] < 0.001
    assert max(rates) == pytest.approx(0.01)
    assert 0.05 < peak / len(rates) < 0.15
    assert rates[-1] < 0.0003
    assert all(a >= b for a, b in zip(rates[peak:], rates[peak + 1 :], strict=False))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda():
    model = tiny(device="cuda", dropout=0.1).fit(X, Y)
    assert model.device_ == "cuda"
    assert np.array_equal(model.predict_proba(X), clone(model).fit(X, Y).predict_proba(X))
