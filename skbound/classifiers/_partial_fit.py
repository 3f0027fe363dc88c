"""partial_fit: fresh rows are evaluated first, then trained on, and every call is certified."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length

from skbound._inputs import check_labels
from skbound._random_state import draw_seed
from skbound._sklearn_compat import fit_context
from skbound.architectures import resolve_architecture
from skbound.bounds import resolve_bound
from skbound.classifiers._certified import as_before_on_error
from skbound.classifiers._parameters import (
    check_callbacks,
    check_class_weight,
    check_heads,
    check_optimizer,
)
from skbound.classifiers._pretrained import check_init_from
from skbound.classifiers._transformer_learner import TransformerLearner
from skbound.protocols import Progressive, resolve_protocol
from skbound.protocols._mixture import canonical_rows
from skbound.protocols._stream import Stream
from skbound.tokenizers import resolve_tokenizer

__all__ = ["PartialFitMixin"]


@dataclass(frozen=True)
class _Calls:
    """What earlier calls leave for the next.

    Parameters
    ----------
    X, y : ndarray
        All rows so far.
    seen : frozenset of bytes
        Hashes of these rows with their labels.
    seed : int
        Of everything random.
    stream : Stream
        The predictors.
    """

    X: np.ndarray
    y: np.ndarray
    seen: frozenset
    seed: int
    stream: Stream | None = None


def _can_partial_fit(estimator):
    try:
        protocol = resolve_protocol(estimator.protocol)
    except (TypeError, ValueError) as error:
        # Who asks whether there is a method must get an answer.
        raise AttributeError(str(error)) from error
    if not isinstance(protocol, Progressive) or protocol.predictor != "mixture":
        raise AttributeError(
            f"partial_fit needs protocol='progressive' with predictor='mixture', so that rows can "
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

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_tokens, n_features)
            Fresh rows, drawn like all others; with ``protocol="progressive"`` only.
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
            If data or parameters are unusable, or a row was seen in an earlier call; the
            estimator is then as it was before.
        """
        check_heads(self.width, self.n_heads)
        resolve_architecture(self.architecture)
        check_callbacks(self.callbacks)
        check_optimizer(self.optimizer)
        check_class_weight(self.class_weight)
        self._check_stream_bound()
        calls = vars(self).get("_calls")
        with as_before_on_error(self):
            X = self._check_rows(X, reset=calls is None)
            y = check_labels(y)
            check_consistent_length(X, y)
            known = self._known_classes(classes, first=calls is None)
            _check_known(y, known)
            calls = self._with_fresh_rows(calls, X, y)
            tokenizer = resolve_tokenizer(self.tokenizer, X.ndim)
            check_init_from(self, X)
            learner = TransformerLearner(self, tokenizer, calls.X, calls.y, None, calls.seed, known)
            if calls.stream is None:
                stream = Stream.begin(learner, calls.seed)
            else:
                stream = calls.stream.go_on(learner)
            self._calls = replace(calls, stream=stream)
            fit, evidence = stream.outcome(learner)
            self._keep(fit, known)
            self._record(fit, evidence, warn=False)
        return self

    def _check_stream_bound(self):
        """Refuse a bound that cannot do with what partial_fit leaves behind."""
        example = resolve_protocol(self.protocol).example
        example = replace(example, certified=replace(example.certified, planned=False, guess=None))
        resolve_bound(self.bound, example).terms(example, 0.05)

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

    def _with_fresh_rows(self, calls, X, y):
        """Return all rows so far; refuse those that were trained on already."""
        hashes = {
            blake2b(row.tobytes() + _label(label), digest_size=16).digest()
            for row, label in zip(canonical_rows(X), y.tolist(), strict=True)
        }
        if calls is None:
            seed = draw_seed(self.random_state)
            return _Calls(X.copy(), y.copy(), frozenset(hashes), seed)
        known = len(hashes & calls.seen)
        if known:
            raise ValueError(
                f"partial_fit needs fresh rows, because it evaluates them before it trains on "
                f"them, but {known} of {len(X)} rows, with their labels, were in an earlier call. "
                f"Pass each row once."
            )
        return replace(
            calls,
            X=np.concatenate([calls.X, X]),
            y=np.concatenate([calls.y, y]),
            seen=calls.seen | hashes,
        )


def _check_known(y, classes):
    unknown = np.setdiff1d(y, classes)
    if len(unknown):
        raise ValueError(
            f"y has labels that are not among classes: {unknown.tolist()}, expected only "
            f"{classes.tolist()}."
        )


def _label(label) -> bytes:
    """Return a label in a form that is the same for 1, 1.0 and True."""
    return repr(float(label) if isinstance(label, (bool, int, float)) else label).encode()
