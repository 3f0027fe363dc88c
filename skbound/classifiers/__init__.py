"""Classifiers with a certificate."""

__all__ = ["BoundedClassifier", "TransformerClassifier"]


def __getattr__(name):
    # BoundedClassifier needs no torch; importing it must not load torch either.
    if name == "BoundedClassifier":
        from skbound.classifiers._bounded import BoundedClassifier

        return BoundedClassifier
    if name == "TransformerClassifier":
        from skbound.classifiers._transformer import TransformerClassifier

        return TransformerClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
