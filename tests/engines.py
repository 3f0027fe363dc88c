"""One small configuration of every way to certify, for checks that all of them must pass."""

from dataclasses import dataclass
from typing import Any

from sklearn.tree import DecisionTreeClassifier

from skbound import BoundedClassifier, TransformerClassifier
from skbound.protocols import (
    CrossFit,
    DescriptionLength,
    Holdout,
    PACBayes,
    PickToLearn,
    Progressive,
    RecursivePACBayes,
)

__all__ = ["ENGINES", "Engine"]


def transformer(protocol, **settings):
    settings = {"depth": 1, "width": 8, "n_heads": 2, "max_epochs": 3, "batch_size": 32} | settings
    return TransformerClassifier(protocol=protocol, **settings)


def tree(protocol, **settings):
    return BoundedClassifier(DecisionTreeClassifier(max_depth=4, **settings), protocol=protocol)


@dataclass(frozen=True)
class Engine:
    """A classifier with a protocol, a name for it, and in how many levels its features come.

    What chooses among predictors by a hash of the row needs rows that hardly repeat.
    """

    model: Any
    name: str
    n_levels: int = 6

    def __repr__(self):
        return self.name


DRAWN = {"sigmas": (0.01, 0.05), "n_draws": 4}
ENGINES = [
    Engine(transformer("holdout"), "holdout"),
    Engine(transformer(Holdout(n_members=3)), "ensemble"),
    Engine(tree("progressive"), "progressive", n_levels=12),
    Engine(tree(Progressive(predictor="vote")), "progressive vote"),
    Engine(tree(Progressive(predictor="average")), "progressive average"),
    Engine(tree(Progressive(predictor="last")), "progressive last"),
    Engine(transformer("pac_bayes"), "pac_bayes"),
    Engine(transformer(PACBayes(0.5, "gibbs", (0.05,), n_draws=2)), "pac_bayes gibbs", n_levels=12),
    Engine(transformer(PACBayes(**DRAWN, predictor="vote"), lr=0.01), "pac_bayes vote"),
    Engine(transformer(PACBayes(**DRAWN, predictor="average")), "pac_bayes average"),
    Engine(transformer("recursive_pac_bayes"), "recursive_pac_bayes"),
    Engine(tree(RecursivePACBayes(2, 0.8, "held_out")), "recursive held out"),
    Engine(transformer(PickToLearn(0.3, max_size=10)), "compression"),
    Engine(tree(PickToLearn(0.2, errors_left=False, max_size=10)), "compression to the end"),
    Engine(tree(PickToLearn(None, max_size=60)), "compression without a first part"),
    Engine(transformer("description_length"), "description_length"),
    Engine(transformer(DescriptionLength(4, 3, "initial")), "description_length initial"),
    Engine(tree("cross_fit"), "cross_fit"),
    Engine(tree(CrossFit(3, "gibbs")), "cross_fit gibbs", n_levels=16),
    Engine(tree(CrossFit(3, "average")), "cross_fit average"),
    Engine(tree(CrossFit(3, scheme="bags")), "cross_fit bags"),
    Engine(transformer("frozen_features"), "frozen_features"),
]
