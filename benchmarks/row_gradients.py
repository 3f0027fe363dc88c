"""Gradients of single rows: vectorised, against one backward pass per row.

    python benchmarks/row_gradients.py [--rows 1000] [--repeats 3]

Both are of the same Transformers in double precision, with one thread. What is saved is the cost of
calling torch's functions, which counts for less the larger the net. Prints medians and writes
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

# Numbers per row and width of the Transformer, of depth 2.
SHAPES = [(4, 16), (10, 16), (10, 32), (20, 64)]


def same(rows):
    """Rows as they are."""
    return rows


def build(n_features, width):
    """Return an untrained Transformer on a table."""
    return build_transformer(
        lambda width: FeatureEmbedding(n_features, width),
        seed=0,
        dtype=torch.float64,
        width=width,
        depth=2,
        n_heads=2,
        n_classes=2,
        dropout=0.0,
        pooling="cls",
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


def compare(n_features, width, args):
    """Time both on one net, and see that they agree."""
    rng = np.random.default_rng([0, 0])
    X, codes = rng.normal(size=(args.rows, n_features)), rng.integers(2, size=args.rows)
    probe = Probe(build(n_features, width), X, codes, same)
    gradient_norms(probe.few(8))
    fast, found = seconds(lambda: gradient_norms(probe).per_row, args.repeats)
    slow, expected = seconds(lambda: one_by_one(probe), args.repeats)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    return {
        "n_features": n_features,
        "width": width,
        "ms_per_row": round(1e3 * fast / args.rows, 4),
        "ms_per_row_one_by_one": round(1e3 * slow / args.rows, 4),
        "ratio": round(slow / fast, 1),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    report = [compare(*shape, args) for shape in SHAPES]
    print(*(f"{name:>22}" for name in report[0]), sep="")
    for line in report:
        print(*(f"{value:>22}" for value in line.values()), sep="")
    out = Path(__file__).parent / "out" / "row_gradients.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
