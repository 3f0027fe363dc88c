"""The parts of a Transformer, each with a choice."""

from __future__ import annotations

from numbers import Integral

from sklearn.base import BaseEstimator, clone

from skbound._sklearn_compat import Interval, StrOptions

__all__ = ["TransformerArchitecture", "resolve_architecture"]


class TransformerArchitecture(BaseEstimator):
    """The parts that a Transformer is put together from.

    Sizes (depth, width, heads) are parameters of :class:`~skbound.TransformerClassifier` itself;
    here are the kinds. The defaults are what ``architecture="standard"`` means.

    Parameters
    ----------
    positions : {"learned", "sinusoidal", "rotary", "alibi", "none"}, default="learned"
        How the net knows where a token stands. "learned" adds a trained vector per position,
        "sinusoidal" the fixed waves of Vaswani et al. 2017, section 3.5. "rotary" turns queries and
        keys by an angle that grows with the position, so that their product depends on the
        distance only (Su et al. 2021, eq. 16). "alibi" subtracts from the attention logits the
        distance times a slope, ``2 ** (-8 h / n_heads)`` in head h = 1 .. n_heads (Press et al.
        2022); without `causal` it cannot tell a row from its reverse. "none" leaves the order of
        the tokens unknown.
    attention : {"dot", "l2"}, default="dot"
        "dot" is scaled dot-product attention. "l2" has logits
        ``-|q_i - q_j|^2 / sqrt(head_width)`` with one map for queries and keys, which the values go
        through as well (Kim, Papamakarios and Mnih 2021, eq. 7 and section 3.2). Without masks and
        rotation it is Lipschitz on all inputs (theorem 3.2), which "dot" is not.
    span : int or None, default=None
        A token attends only to tokens at most so many places away; None sets no limit. The pooled
        "cls" token is outside the order: it attends to all tokens and all attend to it.
    causal : bool, default=False
        A token attends only to itself and to tokens before it. The "cls" token then stands behind
        the last one: it attends to all, and none attends to it.
    norm : {"layer", "projection", "none"}, default="layer"
        "projection" is ``x / max(1, |x|)``: it moves a token onto the unit ball and is
        1-Lipschitz, unlike a layer norm (Edelman et al. 2022, section 3).
    norm_first : bool, default=True
        Norms stand before attention and feed-forward map; else behind each sum, as in Vaswani et
        al. 2017. One more always stands before the head.
    activation : {"gelu", "relu", "maxmin"}, default="gelu"
        "maxmin" sorts pairs of hidden numbers; like "relu" it is 1-Lipschitz, and it keeps the norm
        of gradients too (Anil, Lucas and Grosse 2019). "gelu" has constant 1.129.
    head : {"linear", "mlp"}, default="linear"
        "mlp" puts one hidden layer of ``width`` numbers before the last linear map.
    init : {"xavier", "he", "lsuv", "spectral"}, default="xavier"
        How the linear maps are drawn; biases start at 0. "xavier" is uniform (Glorot and Bengio
        2010), "he" normal with variance ``2 / n_inputs`` (He et al. 2015). "lsuv" is orthogonal,
        then scaled so that each map's outputs have variance 1 on rows that are trained on
        (Mishkin and Matas 2016). With these, maps that end a branch are divided by
        ``sqrt(2 depth)`` and the last map is small. "spectral" scales Xavier maps to a spectral
        norm of exactly 1, all of them.

    Notes
    -----
    The columns of a table have no order, and each has a vector of its own anyway: "learned" and
    "none" are then the same, and "sinusoidal", "rotary", "alibi", `span` and `causal` are refused.
    Where columns do have an order, as in spectra, reshape them to ``X[:, :, None]``.

    With "rotary" the "cls" token counts as place 0, before all others.

    In the last block only the "cls" token attends, and it has no place. So with ``depth=1`` and
    ``pooling="cls"`` the choices "alibi", `span` and `causal` change nothing.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skbound import TransformerClassifier
    >>> from skbound.architectures import TransformerArchitecture
    >>> X, y = load_digits(return_X_y=True)
    >>> parts = TransformerArchitecture(positions="rotary", activation="relu")
    >>> clf = TransformerClassifier(
    ...     depth=1, width=16, architecture=parts, max_epochs=2, random_state=0
    ... )
    >>> clf.fit(X[:300].reshape(-1, 8, 8), y[:300]).n_tokens_in_
    8
    """

    _parameter_constraints: dict = {  # noqa: RUF012 (scikit-learn's convention)
        "positions": [StrOptions({"learned", "sinusoidal", "rotary", "alibi", "none"})],
        "attention": [StrOptions({"dot", "l2"})],
        "span": [None, Interval(Integral, 0, None, closed="left")],
        "causal": ["boolean"],
        "norm": [StrOptions({"layer", "projection", "none"})],
        "norm_first": ["boolean"],
        "activation": [StrOptions({"gelu", "relu", "maxmin"})],
        "head": [StrOptions({"linear", "mlp"})],
        "init": [StrOptions({"xavier", "he", "lsuv", "spectral"})],
    }

    def __init__(
        self,
        positions="learned",
        attention="dot",
        span=None,
        causal=False,
        norm="layer",
        norm_first=True,
        activation="gelu",
        head="linear",
        init="xavier",
    ):
        self.positions = positions
        self.attention = attention
        self.span = span
        self.causal = causal
        self.norm = norm
        self.norm_first = norm_first
        self.activation = activation
        self.head = head
        self.init = init

    @property
    def needs_order(self):
        """Whether some part reads in which order the tokens stand."""
        return (
            self.positions in ("sinusoidal", "rotary", "alibi")
            or self.span is not None
            or bool(self.causal)
        )


def resolve_architecture(architecture):
    """Return a fresh, checked architecture.

    Parameters
    ----------
    architecture : "standard" or TransformerArchitecture
        From the user; an object is cloned.

    Returns
    -------
    TransformerArchitecture
        With valid parameters.

    Raises
    ------
    ValueError
        If the name is unknown or a parameter is out of range.
    TypeError
        If an object is no architecture.
    """
    if isinstance(architecture, str):
        if architecture != "standard":
            raise ValueError(
                f"architecture must be 'standard' or a TransformerArchitecture, got "
                f"{architecture!r}."
            )
        return TransformerArchitecture()
    if not isinstance(architecture, TransformerArchitecture):
        raise TypeError(
            f"architecture must be 'standard' or an instance of "
            f"skbound.architectures.TransformerArchitecture, got {architecture!r}."
        )
    fresh = clone(architecture)
    fresh._validate_params()
    return fresh
