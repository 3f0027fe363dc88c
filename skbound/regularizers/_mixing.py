"""Train on blends of two rows, with their labels in the same proportion."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F

from skbound.regularizers._base import Regularizer
from skbound.regularizers._numbers import refuse_ids
from skbound.regularizers._schedules import check_strength

__all__ = ["CutMix", "Mixup"]


def blended(labels, weights, other, share, n_classes):
    """Blend labels and weights, so that each row counts by its share and its weight.

    Parameters
    ----------
    labels : torch.Tensor of shape (n,) or (n, n_classes)
        Class numbers, or shares of the classes.
    weights : torch.Tensor of shape (n,)
        Weights of the rows.
    other : torch.Tensor of int of shape (n,)
        The partner of each row.
    share : torch.Tensor of shape (n,)
        What is left of the row itself, in [0, 1].
    n_classes : int
        Number of classes.

    Returns
    -------
    labels : torch.Tensor of shape (n, n_classes)
        Shares of the classes, of sum 1.
    weights : torch.Tensor of shape (n,)
        Weights of the blends.
    """
    shares = F.one_hot(labels, n_classes).to(weights) if labels.ndim == 1 else labels
    own, others = share * weights, (1.0 - share) * weights[other]
    total = own + others
    # Where both rows weigh nothing, the label plays no part but must be one.
    kept = torch.where(total > 0.0, own / total.clamp(min=1e-30), share).unsqueeze(1)
    return kept * shares + (1.0 - kept) * shares[other], total


def _draw(n, concentration, generator):
    """Return partners of n rows and shares by a symmetric Beta law."""
    other = torch.randperm(n, generator=generator)
    seed = int(torch.randint(2**31 - 1, (1,), generator=generator))
    share = np.random.default_rng([seed, 0]).beta(concentration, concentration, size=n)
    return other, torch.from_numpy(share)


class Mixup(Regularizer):
    """Train on ``t * x + (1 - t) * x'`` for rows x and x' of a batch, with labels blended alike.

    Parameters
    ----------
    concentration : float or Schedule, default=0.2
        t is drawn for each row from Beta(concentration, concentration): small numbers blend
        little, 1 is uniform.

    Notes
    -----
    Rows count by their weights: the blend weighs ``t * w + (1 - t) * w'``.

    References
    ----------
    Zhang, Cisse, Dauphin, Lopez-Paz 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skbound import TransformerClassifier
    >>> from skbound.regularizers import Mixup
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = TransformerClassifier(
    ...     depth=1, width=16, max_epochs=10, regularizers=(Mixup(),), random_state=0
    ... ).fit(X, y)
    >>> clf.generalization_bound_ < 0.2
    True
    """

    def __init__(self, concentration=0.2):
        self.concentration = concentration

    def check(self, shape):
        """Refuse a concentration that is not positive; see :meth:`Regularizer.check`."""
        check_strength("concentration", self.concentration, 0.0, open_low=True)

    def prepare(self, module, generator):
        """Refuse token ids, of which there is no blend; see :meth:`Regularizer.prepare`."""
        refuse_ids(self, module)

    def on_batch(self, X, labels, weights, *, n_classes, generator):
        """Blend rows and labels; see :meth:`Regularizer.on_batch`."""
        other, share = _draw(len(X), self.now("concentration"), generator)
        other, share = other.to(X.device), share.to(X)
        t = share.view(-1, *[1] * (X.ndim - 1))
        return t * X + (1.0 - t) * X[other], *blended(labels, weights, other, share, n_classes)


class CutMix(Regularizer):
    """Train on rows of which a part comes from another row, with labels in that proportion.

    The part is a rectangle of an image, a run of tokens of a sequence, or a random set of features
    of a table. A label counts by the part that is really there.

    Parameters
    ----------
    concentration : float or Schedule, default=1.0
        The share that stays is drawn for each row from Beta(concentration, concentration).

    References
    ----------
    Yun, Han, Oh, Chun, Choe, Yoo 2019, for images.
    """

    def __init__(self, concentration=1.0):
        self.concentration = concentration

    def check(self, shape):
        """Refuse a concentration that is not positive; see :meth:`Regularizer.check`."""
        check_strength("concentration", self.concentration, 0.0, open_low=True)

    def on_batch(self, X, labels, weights, *, n_classes, generator):
        """Exchange parts of rows; see :meth:`Regularizer.on_batch`."""
        other, share = _draw(len(X), self.now("concentration"), generator)
        places = X.shape[1:3] if X.ndim == 4 else X.shape[1:2]
        if X.ndim == 2:
            taken = torch.rand((len(X), *places), generator=generator).double() > share[:, None]
        else:
            taken = _boxes(share, places, generator)
        left = 1.0 - taken.flatten(1).double().mean(1)
        other, taken = other.to(X.device), taken.to(X.device)
        mask = taken.unsqueeze(-1) if X.ndim > 2 else taken
        blend = blended(labels, weights, other, left.to(X), n_classes)
        return torch.where(mask, X[other], X), *blend


def _boxes(share, places, generator):
    """Return, for each row, a box about a random centre, cut at the edges.

    Its sides are in the proportion of `places`, and its volume before cutting is `1 - share`.
    """
    taken = torch.ones((len(share), *places), dtype=torch.bool)
    for axis, size in enumerate(places):
        half = 0.5 * size * (1.0 - share) ** (1.0 / len(places))
        center = torch.rand(len(share), generator=generator).double() * size
        middle = torch.arange(size) + 0.5
        inside = (middle - center[:, None]).abs() < half[:, None]
        taken &= inside.view(len(share), *[size if a == axis else 1 for a in range(len(places))])
    return taken
