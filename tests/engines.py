"""One small configuration of every way to certify, for checks that all of them must pass."""

from dataclasses import dataclass
from typing import Any

from sklearn.tree import DecisionTreeClassifier

from skbound import BoundedClassifier, TransformerClassifier
from skbound.protocols import Holdout

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


ENGINES = [
    Engine(transformer("holdout"), "holdout"),
    Engine(transformer(Holdout(n_members=3)), "ensemble"),
    Engine(tree("progressive"), "progressive", n_levels=12),
]
