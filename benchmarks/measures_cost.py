"""What diagnostics and measures cost beside the fit that they are about, and how that grows.

    python benchmarks/measures_cost.py [--epochs 40] [--repeats 3] [--quick]

Each net is fitted and measured in a process of its own, with one thread, so that its peak memory
can be told from others'. "default" is `diagnostics_` and `measures_`; "all" is `measure_all` with
the whole catalogue on the rows that were trained on. Prints medians and writes
benchmarks/out/measures_cost.json. Gradients of single rows are timed in row_gradients.py.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

# Rows, width and depth. The first is what the goals are about; the others tell how cost grows.
SIZES = [
    (5000, 64, 4),
    *((n, 16, 2) for n in (1000, 2000, 4000, 8000)),
    *((2000, width, 2) for width in (32, 64, 128)),
]
N_FEATURES = 10


def measured(n, width, depth, epochs, repeats):
    """Fit one net; return seconds of the fit and of looking at it, and peaks of memory."""
    from sklearn.datasets import make_classification

    from skbound import TransformerClassifier
    from skbound.measures import measure_all

    X, y = make_classification(n, N_FEATURES, n_informative=5, flip_y=0.1, random_state=0)
    clf = TransformerClassifier(
        width=width, depth=depth, max_epochs=epochs, protocol=None, random_state=0, device="cpu"
    )
    fit, default, everything = [], [], []
    start = time.perf_counter()
    clf.fit(X, y)
    fit.append(time.perf_counter() - start)
    after_fit = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    for _ in range(repeats):
        start = time.perf_counter()
        # Both are computed anew each time they are asked for.
        _ = clf.diagnostics_, clf.measures_
        default.append(time.perf_counter() - start)
        start = time.perf_counter()
        found = measure_all(clf, X, y)
        everything.append(time.perf_counter() - start)
    return {
        "n": n, "width": width, "depth": depth,
        "parameters": sum(p.numel() for p in clf.net_.module_.parameters()),
        "fit_seconds": fit[0],
        "default_seconds": float(np.median(default)),
        "all_seconds": float(np.median(everything)),
        "not_computed": sorted(found.not_computed),
        "fit_mib": after_fit,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }  # fmt: skip


def in_a_process(size, epochs, repeats):
    """Return what `measured` returns, from a process of its own."""
    arguments = ", ".join(map(str, (*size, epochs, repeats)))
    call = f"import json, measures_cost as m; print(json.dumps(m.measured({arguments})))"
    done = subprocess.run(
        [sys.executable, "-c", call],
        cwd=Path(__file__).parent, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def exponent(rows, over, of):
    """Return the slope of a line through logarithms."""
    x, y = (np.log([row[key] for row in rows]) for key in (over, of))
    return float(np.polyfit(x, y, 1)[0])


def main():
    """Read the options, run, print and store."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--epochs", type=int, default=40, help="of the first fit; the others take 2"
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="only the first, with few rows")
    options = parser.parse_args()
    sizes = [(500, 16, 1)] if options.quick else SIZES
    report = []
    for place, size in enumerate(sizes):
        report.append(in_a_process(size, 2 if place else options.epochs, options.repeats))
        row = report[-1]
        print(
            f"{row['n']:>6} rows, width {row['width']:>3}, depth {row['depth']}, "
            f"{row['parameters']:>7} parameters: fit {row['fit_seconds']:.1f} s, "
            f"default {row['default_seconds']:.2f} s, all {row['all_seconds']:.2f} s, "
            f"{len(row['not_computed'])} not computed, memory {row['fit_mib']:.0f} MiB after "
            f"the fit and {row['peak_mib']:.0f} at most",
            flush=True,
        )
    first = report[0]
    print(
        f"\ndefault / fit {first['default_seconds'] / first['fit_seconds']:.3f} (goal 0.1), "
        f"all / fit {first['all_seconds'] / first['fit_seconds']:.2f} (goal 1)"
    )
    if not options.quick:
        of_rows, of_width = report[1:5], [report[2], *report[5:]]
        for of in ("default_seconds", "all_seconds"):
            print(
                f"{of}: grows as rows^{exponent(of_rows, 'n', of):.2f} and "
                f"parameters^{exponent(of_width, 'parameters', of):.2f}"
            )
    out = Path(__file__).parent / "out" / "measures_cost.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
