"""Which methods a BoundedClassifier has, whose seeds its parts, and which classifiers it takes."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skbound import BoundedClassifier
from skbound.exceptions import SkboundWarning
from skbound.protocols import CrossFit, Holdout, Progressive

X, Y = make_classification(240, 6, n_informative=4, n_classes=3, random_state=0)
# Scores and probabilities, scores alone, probabilities alone, labels alone.
ESTIMATORS = {
    "both": LogisticRegression(),
    "scores": make_pipeline(StandardScaler(), LinearSVC()),
    "probabilities": GaussianNB(),
    "labels": None,
}
PROTOCOLS = {
    "none": None,
    "holdout": "holdout",
    "members": Holdout(n_members=3),
    "vote": "cross_fit",
    "average": CrossFit(predictor="average"),
    "gibbs": CrossFit(predictor="gibbs"),
    "progressive": "progressive",
    "last": Progressive(predictor="last"),
    "progressive_vote": Progressive(predictor="vote"),
    "compression": "compression",
}
METHODS = "predict_proba", "predict_log_proba", "decision_function"


class LabelsOnly(Perceptron):
    """Has neither scores nor probabilities."""

    @property
    def decision_function(self):
        raise AttributeError("no scores")

    def predict(self, X):
        return self.classes_[(X @ self.coef_.T + self.intercept_).argmax(axis=1)]


ESTIMATORS["labels"] = LabelsOnly()
VOTES = "members", "vote", "progressive_vote"


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_methods_are_there_exactly_where_they_work(kind, protocol):
    model = BoundedClassifier(ESTIMATORS[kind], protocol=PROTOCOLS[protocol], random_state=0)
    inner = ESTIMATORS[kind]
    own = [hasattr(inner, "predict_proba")] * 2 + [hasattr(inner, "decision_function")]
    assert [hasattr(model, name) for name in METHODS] == own
    if protocol == "average" and not own[0]:
        with pytest.raises(ValueError, match="needs a classifier with predict_proba"):
            model.fit(X, Y)
        return
    model.fit(X, Y)
    for name in METHODS:
        if hasattr(model, name):
            assert getattr(model, name)(X).shape == (240, 3)
        else:
            with pytest.raises(AttributeError):
                getattr(model, name)
    several = hasattr(model.estimator_, "parts")
    scores = own[2] and not (several and protocol not in ("gibbs", "progressive"))
    assert hasattr(model, "decision_function") == scores
    assert hasattr(model, "predict_proba") == (own[0] or protocol in VOTES)
    assert [hasattr(clone(model), name) for name in METHODS] == own


@pytest.mark.parametrize("predictor", ["gibbs", "average"])
def test_methods_where_parts_saw_fewer_classes(predictor):
    y = np.where(np.arange(240) == 7, 9, Y)
    model = BoundedClassifier(
        LogisticRegression(), protocol=CrossFit(predictor=predictor), random_state=0
    ).fit(X, y)
    assert not hasattr(model, "decision_function")
    assert model.predict_proba(X).shape == (240, 4)


NESTED = {
    "bare": lambda tree: tree,
    "pipeline": lambda tree: make_pipeline("passthrough", tree),
    "nested": lambda tree: Pipeline([("outer", Pipeline([("inner", tree)]))]),
    "bounded": lambda tree: BoundedClassifier(tree),
}


@pytest.mark.parametrize("seed", [None, 3, "instance"])
@pytest.mark.parametrize("protocol", ["cross_fit", Holdout(n_members=3)], ids=str)
def test_members_have_seeds_of_their_own_at_any_depth(protocol, seed):
    answers, seeds = [], []
    for nest in NESTED.values():
        own = np.random.RandomState(3) if seed == "instance" else seed
        tree = DecisionTreeClassifier(max_features=1, random_state=own)
        model = BoundedClassifier(nest(tree), protocol=protocol, random_state=0).fit(X, Y)
        answers.append(model.predict_proba(X))
        seeds.append([_seed(part) for part in model.estimator_.parts])
        assert tree.random_state is own
    assert len(set(seeds[0])) == len(seeds[0])
    assert all(other == seeds[0] for other in seeds)
    assert all(np.array_equal(other, answers[0]) for other in answers)


@pytest.mark.parametrize("seed", [None, 3])
def test_a_single_classifier_keeps_the_seed_that_was_set(seed):
    for nest in NESTED.values():
        tree = DecisionTreeClassifier(random_state=seed)
        model = BoundedClassifier(nest(tree), random_state=0).fit(X, Y)
        assert (_seed(model.estimator_) == 3) == (seed == 3)


def _seed(model):
    """Return the random_state that lies deepest."""
    params = model.get_params()
    return params[max((name for name in params if name.endswith("random_state")), key=len)]


class BatchMajority(LogisticRegression):
    """Gives all rows of a batch the label that most of them would get."""

    def predict(self, X):
        labels, counts = np.unique(super().predict(X), return_counts=True)
        return np.full(len(X), labels[counts.argmax()])


class BatchScaled(LogisticRegression):
    """Centres each batch."""

    def predict(self, X):
        return super().predict(X - X.mean(axis=0))


class Moody(LogisticRegression):
    """Answers every call in another way."""

    def predict(self, X):
        self.n_calls_ = getattr(self, "n_calls_", 0) + 1
        return np.roll(self.classes_, self.n_calls_)[(super().predict(X)).astype(int)]


@pytest.mark.parametrize(
    "estimator",
    [BatchMajority(), BatchScaled(), Moody(), DummyClassifier(strategy="stratified")],
    ids=lambda e: type(e).__name__,
)
@pytest.mark.parametrize("protocol", ["holdout", "cross_fit", "progressive"])
def test_predict_that_looks_at_the_batch_certifies_nothing_and_keeps_the_fit(estimator, protocol):
    model = BoundedClassifier(estimator, protocol=protocol, random_state=0)
    # Rows in the order of their classes hide nothing.
    for order in (np.arange(len(Y)), np.argsort(Y, kind="stable")):
        with pytest.warns(SkboundWarning, match="of 16 rows another label alone than together"):
            model.fit(X[order], Y[order])
        assert model.generalization_bound_ == 1.0
        assert model.n_samples_certified_ == 0
        assert set(model.predict(X)) <= set(Y)


def test_the_look_at_rows_alone_counts_few_and_the_same_rows():
    seen = []

    class Counts(LogisticRegression):
        def predict(self, X):
            seen.append(X.copy())
            return super().predict(X)

    clf = BoundedClassifier(Counts(), random_state=0).fit(X, Y)
    together, alone = seen[-17], np.concatenate(seen[-16:])
    assert np.array_equal(together, alone)
    certified = np.sort(clf.evidence_.evaluated.rows)
    assert np.array_equal(together[[0, -1]], X[certified[[0, -1]]])
