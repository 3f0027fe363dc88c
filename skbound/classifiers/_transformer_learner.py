"""Data plus a Transformer, seen through the interface of a protocol."""

from __future__ import annotations

from scipy.special import softmax

from skbound.classifiers._ensembles import TransformerEnsemble
from skbound.classifiers._mixtures import TransformerMixture
from skbound.classifiers._net_weights import NetWeights

__all__ = ["TransformerLearner"]


class TransformerLearner(NetWeights):
    """Train Transformers, evaluate them on other rows, and let several answer together.

    Parameters
    ----------
    params : TransformerClassifier
        Its parameters are read, never changed.
    tokenizer : tokenizer
        Cloned for each fit.
    X : ndarray of shape (n_samples, ...)
        Validated rows.
    y : ndarray of shape (n_samples,)
        Labels.
    weights : ndarray of shape (n_samples,) or None
        Rows of weight zero are absent.
    seed : int
        Of everything random in a fit.
    classes : ndarray or None, default=None
        All labels, sorted; None takes those that occur.
    """

    def losses(self, fit, rows):
        """Return the losses of a fitted net on `rows`.

        Parameters
        ----------
        fit : FittedModel
            From `fit`.
        rows : ndarray of int
            Which rows.

        Returns
        -------
        Sample
            0-1 losses of ``predict`` and half the Brier scores of ``predict_proba``.
        """
        logits = fit.model.logits(self.X[self.positions[rows]])
        predicted = self.classes[logits.argmax(axis=1)]
        return self.sample(rows, predicted, softmax(logits, axis=1))

    def probabilities(self, fit, rows):
        """Return predicted probabilities.

        Parameters
        ----------
        fit : FittedModel
            From `fit`.
        rows : ndarray of int
            Which rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns as in `classes`.
        """
        return softmax(fit.model.logits(self.X[self.positions[rows]]), axis=1)

    def votes(self, fit, rows):
        """Return the number of the predicted class of each row.

        Parameters
        ----------
        fit : FittedModel
            From `fit`.
        rows : ndarray of int
            Which rows.

        Returns
        -------
        ndarray of int of shape (n_samples,)
            Positions in `classes`.
        """
        return fit.model.logits(self.X[self.positions[rows]]).argmax(axis=1)

    def ensemble(self, fits, weights, how):
        """Let several fitted nets answer together.

        Parameters
        ----------
        fits : sequence of FittedModel
            From `fit`.
        weights : sequence of float
            Of sum 1.
        how : {"average", "majority"}
            Average probabilities or count votes.

        Returns
        -------
        TransformerEnsemble
            With a ``logits`` method.
        """
        return TransformerEnsemble(tuple(fit.model for fit in fits), tuple(weights), how)

    def ensemble_rule(self, fits):
        """Return how several nets answer together.

        Parameters
        ----------
        fits : sequence of FittedModel
            From `fit`.

        Returns
        -------
        "average"
            Every net has probabilities.
        """
        return "average"

    def mixture(self, fits, choice):
        """Let several fitted nets share the rows.

        Parameters
        ----------
        fits : sequence of FittedModel
            From `fit`.
        choice : HashChoice
            Which net answers for a row.

        Returns
        -------
        TransformerMixture
            With a ``logits`` method.
        """
        return TransformerMixture(tuple(fit.model for fit in fits), choice)
