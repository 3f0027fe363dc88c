"""Records of nets, made of matrices and margins."""

import numpy as np

from skbound.evidence import Architecture, Layer, NetRecord

MARGINS = np.linspace(0.5, 4.0, 20)


def net_of(weights, *, initial=None, margins=MARGINS, names=None, n_heads=None, **fields):
    initial = [None] * len(weights) if initial is None else initial
    names = [f"layers.{i}" for i in range(len(weights))] if names is None else names
    layers = tuple(
        Layer(name=name, role=name.rpartition(".")[2], weight=np.asarray(w, float), initial=w0)
        for name, w, w0 in zip(names, weights, initial, strict=True)
    )
    return NetRecord(
        architecture=Architecture(n_parameters=10, n_classes=2, n_heads=n_heads),
        layers=layers,
        uncovered={"bias": 3},
        n_samples=fields.pop("n_samples", 50),
        margins=margins,
        **fields,
    )


def random_matrices(seed=0, shapes=((7, 5), (4, 7), (2, 4))):
    rng = np.random.default_rng([seed, 0])
    return [rng.normal(size=shape) for shape in shapes]
