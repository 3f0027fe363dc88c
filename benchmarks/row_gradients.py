"""Gradients of single rows: vectorised, against one backward pass per row.

    python benchmarks/row_gradients.py [--rows 1000] [--repeats 3]

Both are of the same Transformer in double precision, with one thread. Prints medians and writes
benchmarks/out/row_gradients.json.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from skbound._nn._embeddings import FeatureEmbedding
from skbound._nn._transformer import build_transformer
from skbound.collect import Probe, gradient_norms

SHAPE = {"width": 32, "depth": 2, "n_heads": 4, "n_classes": 2, "dropout": 0.0, "pooling": "cls"}
N_FEATURES = 20


def same(rows):
    """Rows as they are."""
    return rows


def build():
    """Return an untrained Transformer on a table."""
    return build_transformer(
        lambda width: FeatureEmbedding(N_FEATURES, width), seed=0, dtype=torch.float64, **SHAPE
    )


def one_by_one(probe):
    """Norms of the rows' gradients, one backward pass each."""
    parameters = list(probe.module.parameters())
    norms = []
    for row, code in zip(probe.X, probe.codes, strict=True):
        loss = F.cross_entropy(probe.module(torch.as_tensor(row[None])), torch.as_tensor([code]))
        found = torch.autograd.grad(loss, parameters)
        norms.append(float(sum(g.square().sum() for g in found)) ** 0.5)
    return np.array(norms)


def seconds(function, repeats):
    """Return the median time of some calls, and the last result."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return float(np.median(times)), result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    rng = np.random.default_rng([0, 0])
    X, codes = rng.normal(size=(args.rows, N_FEATURES)), rng.integers(2, size=args.rows)
    probe = Probe(build(), X, codes, same)
    gradient_norms(probe.few(8))
    fast, found = seconds(lambda: gradient_norms(probe).per_row, args.repeats)
    slow, expected = seconds(lambda: one_by_one(probe), args.repeats)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    report = {
        "rows": args.rows,
        "seconds_vectorised": round(fast, 3),
        "seconds_one_by_one": round(slow, 3),
        "ratio": round(slow / fast, 1),
    }
    for name, value in report.items():
        print(f"{name:20} {value}")
    out = Path(__file__).parent / "out" / "row_gradients.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
