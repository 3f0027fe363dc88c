"""The net after each epoch, where snapshots were kept."""

from __future__ import annotations

from dataclasses import replace

from skbound.collect._layers import layers_of, uncovered_parameters
from skbound.collect._margins import margins
from skbound.collect._probe import Probe
from skbound.evidence import Architecture, NetRecord
from skbound.exceptions import MissingEvidenceError

__all__ = ["epochs"]


def epochs(probe: Probe) -> tuple[NetRecord, ...]:
    """Return a record of each snapshot, with its layers and its margins on the rows.

    Costs one pass over the rows per snapshot.

    Parameters
    ----------
    probe : Probe
        With snapshots.

    Returns
    -------
    tuple of NetRecord
        In the order of training. Sizes of Transformers are left out.

    Raises
    ------
    MissingEvidenceError
        If no snapshots were kept.
    """
    if not probe.snapshots:
        raise MissingEvidenceError(
            "The net was not kept after each epoch, so nothing is known about the course of "
            "training. Give a Probe copies of the module as snapshots."
        )
    return tuple(_record(replace(probe, module=net, snapshots=())) for net in probe.snapshots)


def _record(probe: Probe) -> NetRecord:
    rows, _ = next(probe.chunks(1))
    return NetRecord(
        architecture=Architecture(
            n_parameters=sum(p.numel() for p in probe.module.parameters() if p.requires_grad),
            n_classes=int(probe.module(rows).shape[1]),
        ),
        layers=layers_of(probe.module, probe.initial),
        uncovered=uncovered_parameters(probe.module),
        n_samples=probe.n_samples,
        margins=margins(probe),
    )
