"""What a protocol cannot do is refused before anything is trained, with a remedy that is true."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from skbound import BoundedClassifier
from skbound.classifiers._black_box import BlackBox
from skbound.evidence import Sample
from skbound.protocols import (
    CrossFit,
    DescriptionLength,
    FittedModel,
    FrozenFeatures,
    Holdout,
    PACBayes,
    PickToLearn,
    Progressive,
    RecursivePACBayes,
)
from tests.honesty import many_classes

BAD = [
    *(Holdout(fraction=1.5), Holdout(n_members=0)),
    *(Progressive(first_fraction="half"), Progressive(n_blocks=1), Progressive(guess="yes")),
    *(PickToLearn(prior_fraction=0.0), PickToLearn(max_size=0), PickToLearn(errors_left=None)),
    *(RecursivePACBayes(prior_fraction=1.0), RecursivePACBayes(gamma=2.0)),
    *(FrozenFeatures(prior_fraction=-0.1), FrozenFeatures(n_directions=0)),
    *(CrossFit(n_folds=1), CrossFit(scheme="pairs")),
    *(PACBayes(prior_fraction=np.nan), PACBayes(sigmas=())),
    *(DescriptionLength(prior_fraction=True), DescriptionLength(n_levels=1)),
]


class Plain:
    """A learner that has what every protocol needs, and no more."""

    n_samples, assumptions = 200, ()

    def __init__(self):
        self.trained = []

    def fit(self, rows, *, seed=None):
        self.trained.append(len(rows))
        return FittedModel(None, len(rows))

    def losses(self, fit, rows):
        return Sample(rows, np.zeros(len(rows)))

    def majority_share(self, rows):
        return 0.5


@pytest.mark.parametrize("protocol", BAD, ids=repr)
def test_parameters_out_of_range(protocol, monkeypatch):
    with pytest.raises(ValueError, match="must"):
        _ = protocol.example
    learner = Plain()
    with pytest.raises(ValueError, match="must"):
        protocol.run(learner, 0)
    assert not learner.trained
    monkeypatch.setattr(BlackBox, "fit", None)
    with pytest.raises(ValueError, match="must"):
        BoundedClassifier(LogisticRegression(), protocol=protocol).fit(*many_classes())


@pytest.mark.parametrize(
    ("protocol", "message"),
    [
        (Holdout(n_members=3), "lacks ensemble, ensemble_rule. Use n_members=1"),
        (Progressive(), "lacks log_losses, n_classes, mixture, inputs"),
        (Progressive(predictor="last"), "lacks log_losses, n_classes. Use protocol='holdout'"),
        (CrossFit(), "lacks ensemble. Use protocol='holdout'"),
        (CrossFit(predictor="gibbs"), "lacks mixture, inputs"),
        (PickToLearn(warm_start=True), "go on from an earlier fit.* Use warm_start=False"),
        (RecursivePACBayes(), r"Use RecursivePACBayes\(predictor='held_out'\)"),
        (PACBayes(), "trained weights can be read and replaced.*protocol='holdout'"),
        (PACBayes(predictor="vote"), "lacks parameters, with_parameters, ensemble"),
        (FrozenFeatures(), "last linear map can be replaced.*protocol='holdout'"),
        (DescriptionLength(), "trained in a subspace.*protocol='holdout'"),
    ],
    ids=repr,
)
def test_learners_that_lack_something(protocol, message):
    learner = Plain()
    with pytest.raises(TypeError, match=message):
        protocol.run(learner, 0)
    assert not learner.trained


@pytest.mark.parametrize(
    "protocol", [Holdout(), PickToLearn(), RecursivePACBayes(predictor="held_out")], ids=repr
)
def test_the_remedies_take_any_learner(protocol):
    assert protocol.run(Plain(), 0)[1].n_certified > 0


@pytest.mark.parametrize("protocol", [Progressive(warm_start=True), PickToLearn(warm_start=True)])
def test_other_classifiers_cannot_go_on(protocol, monkeypatch):
    X, y = many_classes()
    monkeypatch.setattr(BlackBox, "losses", None)
    with pytest.raises(TypeError, match=r"\(warm_start=True\) needs .* Use warm_start=False"):
        BoundedClassifier(LogisticRegression(), protocol=protocol).fit(X, y)


@pytest.mark.parametrize(
    "protocol", [Progressive(), CrossFit(predictor="gibbs"), PACBayes(predictor="gibbs")], ids=repr
)
def test_repeated_rows_name_what_can_do_with_them(protocol):
    class Repeating(Plain):
        n_classes = 2
        log_losses = parameters = with_parameters = mixture = None

        def inputs(self, rows):
            return np.zeros((len(rows), 2))

    learner = Repeating()
    who = rf"^{type(protocol).__name__}\(predictor='gibbs'\) needs rows that hardly repeat"
    with pytest.raises(ValueError, match=who + ".*protocol='holdout' or predictor='vote'"):
        protocol.run(learner, 0)
    assert not learner.trained
