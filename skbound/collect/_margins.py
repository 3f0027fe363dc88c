"""How clearly a net prefers the labels that it was trained on."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from skbound.collect._probe import Probe

__all__ = ["margins"]


@torch.inference_mode()
def margins(probe: Probe) -> NDArray[np.float64]:
    """Return the margin of each row: the logit of its label minus the largest other logit.

    Parameters
    ----------
    probe : Probe
        Net and rows.

    Returns
    -------
    ndarray of shape (n_samples,)
        Negative where the net errs.
    """
    found = []
    for inputs, labels in probe.chunks():
        logits = probe.module(inputs).double()
        own = logits.gather(1, labels[:, None])[:, 0]
        others = logits.scatter(1, labels[:, None], -torch.inf)
        found.append((own - others.max(dim=1).values).cpu().numpy())
    return np.concatenate(found)
