"""partial_fit: fresh rows are evaluated first, then trained on, and every call is certified."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length

from skbound._inputs import check_labels
from skbound._random_state import draw_seed
from skbound._sklearn_compat import fit_context
from skbound.bounds import resolve_bound
from skbound.classifiers._calls import Calls
from skbound.classifiers._certified import as_before_on_error
from skbound.classifiers._parameters import check_class_weight, check_parameters
from skbound.classifiers._pretrained import check_init_from, check_not_seen
from skbound.classifiers._transformer_learner import TransformerLearner
from skbound.protocols import Progressive, resolve_protocol
from skbound.protocols._stream import Stream
from skbound.tokenizers import resolve_tokenizer

__all__ = ["PartialFitMixin"]


def _can_partial_fit(estimator):
    try:
        protocol = resolve_protocol(estimator.protocol)
    except (TypeError, ValueError) as error:
        # Who asks whether there is a method must get an answer.
        raise AttributeError(str(error)) from error
    if not isinstance(protocol, Progressive) or protocol.predictor != "gibbs":
        raise AttributeError(
            f"partial_fit needs protocol='progressive' with predictor='gibbs', so that rows can "
            f"be certified and trained on in turn, got protocol={estimator.protocol!r}. Use "
            f"set_params(protocol='progressive'), or fit with all rows."
        )
    return True


class PartialFitMixin:
    """Add partial_fit to a Transformer."""

    def __getattr__(self, name):
        if name == "partial_fit":
            # The reason why it is not there, which would be lost on the way here.
            _can_partial_fit(self)
        return super().__getattr__(name)

    @available_if(_can_partial_fit)
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None):
        """Evaluate fresh rows with the newest net, then train on them too.

        The first call trains a net on its rows. Each later call lets the newest net predict the
        fresh rows, and then trains the next one, which goes on from it, on all rows so far, with
        half of the epochs. ``predict`` gives each row to one of the nets that were evaluated, in
        proportion to the rows they were evaluated on; the newest is not among them before the
        next call. The certificate bounds the mean error of that choice; it holds after all calls
        at once, so one may go on until it is small enough. All rows and nets are kept. After
        ``fit``, which keeps no rows, the first call begins anew.

        Architecture, `tokenizer`, `dtype`, `bound` and `delta` are those of the first call, and
        must not be changed later; so are the seeds, which later calls do not look at. Of the
        protocol's parameters only its ``random_state`` counts: the calls are the blocks, and
        every net goes on from the one before.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_tokens, n_features)
            Fresh rows, drawn like all others, each passed once. Up to 3 of a call's rows, or 3 %
            if that is more, may equal earlier ones with their labels, as chance brings about in
            discrete data. A row that is passed again is not told from these: its loss would count
            as that of a fresh one.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,) or None, default=None
            All labels that will ever occur; needed in the first call, unless ``fit`` has seen
            them.

        Returns
        -------
        TransformerClassifier
            Itself.

        Raises
        ------
        ValueError, TypeError
            If data or parameters are unusable, more rows than that were in an earlier call, or
            what must stay was changed; the estimator is then as it was before.
        AttributeError
            With a protocol other than ``Progressive(predictor="gibbs")``.
        """
        # scikit-learn's decorator leaves this out once there is a fit.
        self._validate_params()
        check_parameters(self)
        self._check_stream_bound()
        calls = vars(self).get("_calls")
        if calls is not None:
            calls.check_settings(self)
        with as_before_on_error(self):
            X = self._check_rows(X, reset=calls is None)
            y = check_labels(y)
            check_consistent_length(X, y)
            known = self._known_classes(classes, first=calls is None)
            _check_known(y, known)
            check_class_weight(self.class_weight, known)
            tokenizer = resolve_tokenizer(self.tokenizer, X.ndim)
            check_init_from(self, X)
            check_not_seen(self, X, np.arange(len(X)))
            calls = Calls.first(self, X, y) if calls is None else calls.with_fresh_rows(X, y)
            learner = TransformerLearner(self, tokenizer, calls.X, calls.y, None, calls.seed, known)
            if calls.stream is None:
                stream = Stream.begin(learner, self._key_seed(calls.seed))
            else:
                stream = calls.stream.go_on(learner)
            self._calls = replace(calls, stream=stream)
            fit, evidence = stream.outcome(learner)
            self._keep(fit, learner)
            self._record(fit, evidence, warn=False)
        return self

    def _check_stream_bound(self):
        """Refuse a bound that cannot do with what partial_fit leaves behind."""
        example = resolve_protocol(self.protocol).example
        example = replace(example, certified=replace(example.certified, planned=False, guess=None))
        resolve_bound(self.bound, example).terms(example, 0.05)

    def _key_seed(self, seed):
        """Return the seed of what the protocol draws: its own, where it has one."""
        own = resolve_protocol(self.protocol).random_state
        return seed if own is None else draw_seed(own)

    def _known_classes(self, classes, *, first):
        if classes is None and not hasattr(self, "classes_"):
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if classes is None:
            return self.classes_
        given = np.unique(check_labels(classes))
        if not first and not np.array_equal(given, self.classes_):
            raise ValueError(
                f"classes={given.tolist()} is not the same as in the first call to partial_fit, "
                f"{self.classes_.tolist()}."
            )
        return given


def _check_known(y, classes):
    unknown = np.setdiff1d(y, classes)
    if len(unknown):
        raise ValueError(
            f"y has labels that are not among classes: {unknown.tolist()}, expected only "
            f"{classes.tolist()}."
        )
