"""Teachers see training rows only, or are an assumption; what they say is trained on."""

import pickle

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbound import TransformerClassifier
from skbound.regularizers import Distillation, Mixup, Regularizer, SpectralBall

X, Y = load_breast_cancer(return_X_y=True)
SMALL = TransformerClassifier(
    protocol="holdout", depth=1, width=8, n_heads=2, max_epochs=3, random_state=0
)
LINEAR = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:300], Y[:300])


class Seen(Regularizer):
    """Notes rows and labels; the list is shared by clones."""

    def __init__(self, log):
        self.log = log

    def __sklearn_clone__(self):
        return Seen(self.log)

    def __deepcopy__(self, memo):
        return Seen(self.log)

    def on_batch(self, X, labels, weights, *, n_classes, generator):
        self.log.append((X.clone(), labels.clone()))
        return X, labels, weights


def test_the_ensemble_sees_training_rows_only():
    log = []
    model = clone(SMALL).set_params(
        regularizers=[Distillation(n_members=2), Seen(log)], early_stopping=True
    )
    model.fit(X, Y)
    n_student = model.n_iter_ * model.n_samples_fit_
    n_teachers = 2 * 3 * model.n_samples_fit_
    assert sum(len(rows) for rows, _ in log) == n_student + n_teachers
    prepared = model.tokenizer_.prepare(X).astype(np.float32)
    known = {row.numpy().tobytes() for rows, _ in log for row in rows}
    absent = {i for i, row in enumerate(prepared) if row.tobytes() not in known}
    assert len(absent) == model.n_samples_certified_ + model.n_samples_validation_
    assert set(model.evidence_.certified.rows) <= absent
    assert not any("teacher" in a for a in model.certificate_.assumptions)


def test_members_differ_from_each_other_and_from_the_net():
    logits = []

    class Members(Regularizer):
        def on_rows(self, labels, rows, *, n_classes, generator):
            logits.extend(rows.train_another(seed) for seed in (1, 2, 1))
            assert logits[0].shape == (455, 2)
            assert np.array_equal(rows.classes, [0, 1])
            assert rows.inputs().shape == (455, 30)
            return labels

    model = clone(SMALL).set_params(regularizers=[Members()]).fit(X, Y)
    plain = clone(SMALL).fit(X, Y)
    assert torch.equal(logits[0], logits[2])
    assert not torch.allclose(logits[0], logits[1])
    assert np.array_equal(model.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("temperature", [1.0, 3.0])
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_labels_are_blended_with_the_softened_teacher(temperature, share):
    log = []
    given = Distillation(LINEAR, share=share, temperature=temperature)
    model = clone(SMALL).set_params(regularizers=[given, Seen(log)], max_epochs=1)
    model.fit(X, Y)
    q = LINEAR.predict_proba(X) ** (1 / temperature)
    q /= q.sum(axis=1, keepdims=True)
    expected = (1 - share) * np.eye(2)[Y] + share * q
    prepared = model.tokenizer_.prepare(X).astype(np.float32)
    place = {row.tobytes(): i for i, row in enumerate(prepared)}
    for rows, labels in log:
        chosen = [place[row.numpy().tobytes()] for row in rows]
        assert np.allclose(labels.numpy(), expected[chosen], atol=1e-6)


def test_the_gradient_is_that_of_cross_entropy_plus_divergence(net, batch):
    """Blended labels are the usual two terms, up to a constant."""
    rows, labels, _ = batch
    q = F.softmax(torch.randn(24, 3, generator=torch.Generator().manual_seed(0)).double(), 1)
    blend = 0.6 * F.one_hot(labels, 3) + 0.4 * q
    weight = net.head.weight
    (found,) = torch.autograd.grad(F.cross_entropy(net(rows), blend), weight)
    logs = F.log_softmax(net(rows), 1)
    two_terms = 0.6 * F.nll_loss(logs, labels) + 0.4 * F.kl_div(logs, q, reduction="batchmean")
    (expected,) = torch.autograd.grad(two_terms, weight)
    assert torch.allclose(found, expected)


def test_a_given_teacher_is_an_assumption_and_is_not_forgotten():
    model = clone(SMALL).set_params(regularizers=(Distillation(LINEAR), Mixup()))
    copied = clone(clone(model))
    assert copied.regularizers[0].teacher is LINEAR
    assert copied.regularizers[0].teacher.predict(X).shape == Y.shape
    copied.fit(X, Y)
    assert any("given teacher of the distillation" in a for a in copied.certificate_.assumptions)
    # The net carries no teacher about.
    assert b"LogisticRegression" not in pickle.dumps(copied.net_)
    repeated = clone(model).fit(X, Y)
    assert np.array_equal(copied.predict_proba(X), repeated.predict_proba(X))


def test_labels_of_any_type_and_named_columns():
    names = np.array(["no", "yes"])[Y]
    teacher = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:300], names[:300])
    model = clone(SMALL).set_params(regularizers=[Distillation(teacher)])
    assert set(model.fit(X, names).predict(X)) == {"no", "yes"}
    with pytest.raises(ValueError, match="teacher must know the same labels"):
        model.fit(X, Y)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X).add_prefix("f")
    named = make_pipeline(StandardScaler(), LogisticRegression()).fit(frame, Y)
    with pytest.raises(ValueError, match="fitted on named columns"):
        clone(SMALL).set_params(regularizers=[Distillation(named)]).fit(frame, Y)
    model.set_params(regularizers=[Distillation(LINEAR)]).fit(frame, Y)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_the_same_seed_gives_the_same_ensemble(n_threads):
    model = clone(SMALL).set_params(regularizers=[Distillation(n_members=2)], n_threads=n_threads)
    first = clone(model).fit(X, Y)
    torch.rand(4)
    again = clone(model).fit(X, Y)
    assert np.array_equal(first.predict_proba(X), again.predict_proba(X))


def test_members_are_regularised_as_the_net_is():
    log = []

    class Ball(SpectralBall):
        def after_step(self, module):
            log.append(module)
            super().after_step(module)

    clone(SMALL).set_params(regularizers=[Distillation(n_members=2), Ball(1.0)]).fit(X, Y)
    assert len({id(module) for module in log}) == 3


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (Distillation(n_members=0), "n_members must be an integer"),
        (Distillation(share=1.5), "share must be a number"),
        (Distillation(temperature=0.0), "temperature must be a number"),
        (Distillation("linear"), "teacher must be a fitted classifier"),
        (Distillation(LogisticRegression), "teacher must be a fitted classifier"),
        (Distillation(LogisticRegression()), "not fitted"),
    ],
)
def test_bad_parameters_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        clone(SMALL).set_params(regularizers=[wrong]).fit(X, Y)


def test_no_ensemble_of_coordinates():
    model = clone(SMALL).set_params(
        regularizers=[Distillation(n_members=1)], protocol="description_length", max_epochs=1
    )
    with pytest.raises(ValueError, match="cannot be trained from anew"):
        model.fit(X, Y)
