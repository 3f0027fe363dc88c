"""A Transformer that is a scikit-learn classifier and carries a certificate."""

from __future__ import annotations

import copy
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length

from skbound._inputs import check_labels, check_weights
from skbound._random_state import draw_seed
from skbound._sklearn_compat import Interval, StrOptions, fit_context
from skbound.architectures import resolve_architecture
from skbound.classifiers._certified import CertifiedMixin, as_before_on_error
from skbound.classifiers._measured import MeasuredMixin
from skbound.classifiers._net_predictions import NetPredictionsMixin
from skbound.classifiers._parameters import check_class_weight, check_parameters
from skbound.classifiers._partial_fit import PartialFitMixin
from skbound.classifiers._pretrained import check_init_from, check_not_seen
from skbound.classifiers._table_or_sequences import TableOrSequencesMixin
from skbound.classifiers._transformer_learner import TransformerLearner
from skbound.tokenizers import resolve_tokenizer

__all__ = ["TransformerClassifier"]


class TransformerClassifier(
    PartialFitMixin,
    MeasuredMixin,
    NetPredictionsMixin,
    TableOrSequencesMixin,
    CertifiedMixin,
    ClassifierMixin,
    BaseEstimator,
):
    """Transformer classifier with an upper bound on its true error.

    By default ``fit`` sets two fifths of the rows aside at random, trains five nets on the others,
    which predict together, and computes from the rows set aside an upper bound on
    ``P(predict(x) != y)`` that holds with probability at least ``1 - delta``. From 10,000 rows on
    it trains one net and sets a fifth aside, at most 10,000 rows; below 100 rows it certifies
    nothing. ``protocol="holdout"`` always trains one, in about a third of the time.

    Parameters
    ----------
    depth : int, default=2
        Number of blocks.
    width : int, default=64
        Length of a token vector; a multiple of `n_heads`.
    n_heads : int, default=4
        Attention heads per block.
    dropout : float, default=0.0
        Rate in the hidden layer and both branches of each block, in [0, 1).
    pooling : {"cls", "mean"}, default="cls"
        What the head reads: an extra learned token, or the mean of all tokens.
    architecture : "standard" or TransformerArchitecture, default="standard"
        Positions, attention, norms, activation, head and initial weights, as an object of
        :mod:`skbound.architectures` with parameters of its own.
    max_epochs : int, default=40
        Passes over the training rows. The learning rate rises over the first tenth of the steps
        and then falls along a cosine, so this is also the length of the schedule.
    batch_size : int or "auto", default="auto"
        Rows per step. "auto" takes about 1/32 of the training rows, a power of two from 64 to 512.
    lr : float, default=2e-3
        Largest learning rate.
    optimizer : {"adamw", "adam", "sgd"} or torch optimizer class, default="adamw"
        "sgd" uses momentum 0.9. A class must take ``lr`` and ``weight_decay``.
    weight_decay : float, default=0.01
        Acts on weight matrices, not on norms, biases and embeddings.
    label_smoothing : float, default=0.0
        Share of each label that training spreads evenly over all classes, in [0, 1).
    gradient_clip : float or None, default=1.0
        Largest norm of a step's gradient; None does not limit it.
    early_stopping : bool, default=False
        Stop when the loss on `validation_fraction` of the training rows has not improved for
        `n_iter_no_change` epochs, and go back to the best epoch. Never looks at certified rows.
    validation_fraction : float, default=0.1
        Share of the training rows for early stopping.
    n_iter_no_change : int, default=10
        Patience of early stopping, in epochs.
    class_weight : dict, "balanced" or None, default=None
        Acts on training only. "balanced" counts the rows trained on, as scikit-learn does.
    tokenizer : str or tokenizer object, default="auto"
        "auto" takes a "table" for 2-D data (one token per feature) and a "sequence" for 3-D data
        (n_samples, n_tokens, n_features). "tokens" takes 2-D data for token ids. "patches" takes
        both for images and makes a token of each 4 x 4 pixels. Objects of
        :mod:`skbound.tokenizers` know padding and other patches.
    init_from : TransformerClassifier, FrozenEstimator or None, default=None
        Fitted on other rows: training starts from its weights and keeps its scaling of the rows.
        Depth, width, heads, pooling, architecture and shape of a row must be the same; for other
        classes the last linear map starts afresh. The certificate then assumes that no certified
        row took part in the earlier fit; what that has kept of its rows is checked. Searches clone
        it, which undoes its fit unless it is wrapped in ``sklearn.frozen.FrozenEstimator``.
    protocol : str, None or protocol object, default="auto"
        How the rows are spent, by name or as an object of :mod:`skbound.protocols` with parameters
        of its own. "auto" sets some rows aside; with fewer than 10,000 it trains five nets, which
        predict together, and "holdout" one. None trains on all rows and certifies nothing.
    bound : str or Bound, default="auto"
        "auto" is the protocol's own, for a hold-out the exact "binomial"; each protocol's page
        lists the others. Or an object of :mod:`skbound.bounds`.
    delta : float, default=0.05
        Probability with which the certificate may fail, in [1e-300, 1).
    regularizers : list or tuple of regularizers, default=()
        Such as ``RandomShift()`` for images. Cloned; they act in this order on the rows that are
        trained on, never on those that are validated or certified.
    callbacks : list or tuple of skorch callbacks, default=()
        Copied, then called during training. One that loads weights, such as ``LoadInitState``, is
        covered by no certificate if those weights have seen certified rows.
    dtype : {"float32", "float64"}, default="float32"
        Precision of the net.
    device : str, default="auto"
        "auto" is "cuda" where there is one, else "cpu"; otherwise a torch device.
    n_threads : int or None, default=1
        Threads that share each batch during training on the CPU; at most 1,024. Their number
        changes the last digits of a fit, and the masks of dropout. None leaves the threads to
        torch. Prediction uses one, so that its digits depend on nothing.
    random_state : int, RandomState instance or None, default=None
        Seeds the split, the initial weights, the order of rows, dropout and regularizers.
    verbose : bool or int, default=0
        Whether to print a line per epoch.

    Attributes
    ----------
    generalization_bound_ : float
        Upper bound on the true error of ``predict``; may exceed 1, and is 1 where nothing is
        certified.
    certificate_ : Certificate
        The same with level, terms, assumptions and ``statement()``.
    bounds_ : dict of str to Certificate
        Every certificate, each alone at `delta`; the smallest of them is not paid for. Empty
        where nothing is certified.
    predicted_error_ : Estimate
        Point prediction of the true error, no bound; NaN where nothing is certified.
    measures_ : Measures
        Complexity measures of the net, by key, from its weights and its margins on training rows;
        none of them is a bound. See :func:`skbound.measures.measure_all` for more of them.
    diagnostics_ : Diagnostics
        Norms, ranks, margins, gradients, attention and Lipschitz constants of the net, with
        ``to_frame()`` and ``suggest_interventions()``; computed on 128 training rows that are kept.
    evidence_ : Evidence
        The numbers that all certificates were computed from.
    classes_ : ndarray of shape (n_classes,)
        Labels seen in fit, certified rows included, or given to ``partial_fit``.
    n_features_in_ : int
        Numbers per row of a table, or per token of a sequence; columns of 3-D images.
    n_tokens_in_ : int
        Tokens per row, or rows of 3-D images; only for 3-D data.
    feature_names_in_ : ndarray of str
        Column names, for a DataFrame.
    n_samples_fit_, n_samples_certified_, n_samples_validation_ : int
        Rows trained on, certified on, and used to decide when to stop; where several nets answer,
        the first and the third are those of the last net.
    n_iter_ : int
        Epochs trained, those of `history_`.
    history_ : list of dict
        Losses and seconds per epoch.
        Numbers that callbacks record are there too, such as those of :mod:`skbound.monitors`.
    net_ : skorch.NeuralNetClassifier or None
        The trained net, whose ``module_`` makes logits of what ``tokenizer_.prepare`` returns; None
        if there is only one class. Where several nets answer, the last of them, with its `history_`
        and `tokenizer_`; ``predict`` uses all of them.
    tokenizer_ : tokenizer
        Fitted on training rows only.
    device_ : str
        Where the net is.

    See Also
    --------
    BoundedClassifier : The same attributes for any classifier.
    BoundSearch : Chooses depth, width and regularisation by the bound.

    Notes
    -----
    The same ``random_state`` gives the same net, bound and predictions whatever ``n_jobs``, the
    batch size of prediction or the order of its rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skbound import TransformerClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = TransformerClassifier(depth=1, width=16, max_epochs=10, random_state=0).fit(X, y)
    >>> clf.n_samples_fit_, clf.n_samples_certified_
    (341, 228)
    >>> clf.generalization_bound_ < 0.2
    True
    """

    _parameter_constraints: dict = {  # noqa: RUF012 (scikit-learn's convention)
        "depth": [Interval(Integral, 1, None, closed="left")],
        "width": [Interval(Integral, 1, None, closed="left")],
        "n_heads": [Interval(Integral, 1, None, closed="left")],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "pooling": [StrOptions({"cls", "mean"})],
        "max_epochs": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "lr": [Interval(Real, 0, None, closed="neither")],
        "optimizer": [StrOptions({"adamw", "adam", "sgd"}), callable],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "label_smoothing": [Interval(Real, 0, 1, closed="left")],
        "gradient_clip": [None, Interval(Real, 0, None, closed="neither")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "delta": [Interval(Real, 1e-300, 1, closed="left")],
        "regularizers": [list, tuple],
        "callbacks": [list, tuple],
        "dtype": [StrOptions({"float32", "float64"})],
        "device": [str],
        "n_threads": [None, Interval(Integral, 1, 1024, closed="both")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        depth=2,
        width=64,
        *,
        n_heads=4,
        dropout=0.0,
        pooling="cls",
        architecture="standard",
        max_epochs=40,
        batch_size="auto",
        lr=2e-3,
        optimizer="adamw",
        weight_decay=0.01,
        label_smoothing=0.0,
        gradient_clip=1.0,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=10,
        class_weight=None,
        tokenizer="auto",
        init_from=None,
        protocol="auto",
        bound="auto",
        delta=0.05,
        regularizers=(),
        callbacks=(),
        dtype="float32",
        device="auto",
        n_threads=1,
        random_state=None,
        verbose=0,
    ):
        self.depth = depth
        self.width = width
        self.n_heads = n_heads
        self.dropout = dropout
        self.pooling = pooling
        self.architecture = architecture
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.lr = lr
        self.optimizer = optimizer
        self.weight_decay = weight_decay
        self.label_smoothing = label_smoothing
        self.gradient_clip = gradient_clip
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.tokenizer = tokenizer
        self.init_from = init_from
        self.protocol = protocol
        self.bound = bound
        self.delta = delta
        self.regularizers = regularizers
        self.callbacks = callbacks
        self.dtype = dtype
        self.device = device
        self.n_threads = n_threads
        self.random_state = random_state
        self.verbose = verbose

    def set_params(self, **params):
        """Set parameters, also of a protocol or an architecture that was given by its name.

        Parameters
        ----------
        **params : dict
            As in scikit-learn; ``architecture__positions="rotary"`` works with "standard" too.

        Returns
        -------
        TransformerClassifier
            Itself.
        """
        architecture = params.get("architecture", self.architecture)
        nested = any(name.startswith("architecture__") for name in params)
        if nested and isinstance(architecture, str):
            params["architecture"] = resolve_architecture(architecture)
        return super().set_params(**params)

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Train on a part of the rows and certify on the rest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_tokens, n_features)
            Finite numbers: an array, a DataFrame or a tensor.
        y : array-like of shape (n_samples,)
            Labels of any type.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Acts on training only; rows of weight zero are absent. The certificate is about the
            unweighted error.

        Returns
        -------
        TransformerClassifier
            Itself.

        Raises
        ------
        ValueError, TypeError
            If data or parameters are unusable, or the training loss stops being a number; the
            estimator is then as it was before.
        """
        protocol = self._resolve()
        check_parameters(self)
        with as_before_on_error(self):
            X = self._check_rows(X, reset=True)
            y = check_labels(y)
            check_consistent_length(X, y)
            weights = check_weights(sample_weight, X, type(self).__name__)
            tokenizer = resolve_tokenizer(self.tokenizer, X.ndim)
            check_init_from(self, X)
            # All labels: a class named in a dict may be missing from the trained rows.
            check_class_weight(self.class_weight, np.unique(y))
            seed = draw_seed(self.random_state)
            learner = TransformerLearner(self, tokenizer, X, y, weights, seed)
            if self.init_from is not None and self.protocol is not None:
                check_not_seen(self, X, _may_be_certified(protocol, learner.positions, seed))
            fit, evidence = protocol.run(learner, seed)
            vars(self).pop("_calls", None)
            self._keep(fit, learner)
            self._record(fit, evidence)
        return self


def _may_be_certified(protocol, positions, seed):
    """Return the rows that a protocol says it certifies, or all where it does not say."""
    if not hasattr(protocol, "split"):
        return positions
    # A copy, whose generator may move on.
    return positions[copy.deepcopy(protocol).split(len(positions), seed)[1]]
