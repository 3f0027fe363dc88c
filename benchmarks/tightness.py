"""Certificates of every way to certify, side by side: the same Transformer on the same rows.

    python benchmarks/tightness.py                          # all that fits into 100 minutes
    python benchmarks/tightness.py --minutes 20             # stop after 20 minutes; go on later
    python benchmarks/tightness.py --sizes 200 500          # these numbers of rows only
    python benchmarks/tightness.py --engines holdout ensemble
    python benchmarks/tightness.py --report                 # print what is there, run nothing

Each set is pooled and split at random: n rows for `fit`, at most 5,000 others to measure the test
error. All certificates are at delta = 0.05, and each is compared with the exact binomial
certificate of a 20 % hold-out on the same rows and split.

Each result is one line in benchmarks/out/tightness.jsonl; a later call computes only what is
missing there, smallest numbers of rows first. --fresh starts anew, as is needed after a change of
the package. The summary of the latest call goes to benchmarks/out/tightness.json.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_breast_cancer, load_digits

import _data  # isort: skip (beside this script)
from skbound import TransformerClassifier
from skbound.exceptions import SkboundWarning
from skbound.protocols import (
    CrossFit,
    DescriptionLength,
    FrozenFeatures,
    Holdout,
    PACBayes,
    PickToLearn,
    Progressive,
    RecursivePACBayes,
)

BASELINE = "holdout"
ENGINES = {
    BASELINE: lambda: Holdout(fraction=0.2),
    "ensemble": lambda: Holdout(n_members=5),
    "progressive": lambda: Progressive(),
    "pac_bayes": lambda: PACBayes(),
    "recursive_pac_bayes": lambda: RecursivePACBayes(),
    "compression": lambda: PickToLearn(),
    "description_length": lambda: DescriptionLength(),
    "cross_fit": lambda: CrossFit(),
    "frozen_features": lambda: FrozenFeatures(),
}
# Fixed before any result was seen: numbers of few columns, so that 100 minutes suffice.
TABLES = (
    "banknote", "california", "churn", "cmc", "electricity", "magic", "pendigits",
    "phoneme", "ringnorm", "segment", "twonorm", "wine_quality",
)  # fmt: skip
LARGE = ("california", "electricity", "magic", "pendigits", "ringnorm", "twonorm")
SIZES = (200, 500, 1000, 5000)
GOALS = {200: 0.90, 500: 0.94, 1000: 0.96, 5000: 1.0}
COLUMNS = "certificate", "test_error", "seconds"
N_SPLITS, N_TEST, MIN_TEST, DELTA = 3, 5000, 200, 0.05
OUT = Path(__file__).resolve().parent / "out"


def sets(names):
    """Yield name, rows and labels; a repeated row counts once, so that no test row is known."""
    if "digits" in names:
        X, y = load_digits(return_X_y=True)
        yield "digits", X.reshape(-1, 8, 8).astype(np.float32), y, None
    if "breast_cancer" in names:
        X, y = load_breast_cancer(return_X_y=True)
        yield "breast_cancer", X.astype(np.float32), y, None
    for table in _data.tables([name for name in names if name in TABLES]):
        _, rows = np.unique(np.column_stack([table.X, table.y]), axis=0, return_index=True)
        rows.sort()
        yield table.name, table.X[rows], table.y[rows], table.categorical


def measure(X, y, categorical, key):
    """Fit one engine on one split; return its result as a line of the results file."""
    name, n, split, engine = key
    order = np.random.default_rng([split, n]).permutation(len(y))
    train, test = order[:n], order[n : n + N_TEST]
    if categorical is not None:
        encode = _data.encoder(categorical).fit(X[train])
        X_train, X_test = encode.transform(X[train]), encode.transform(X[test])
    else:
        X_train, X_test = X[train], X[test]
    clf = TransformerClassifier(
        protocol=ENGINES[engine](), delta=DELTA, device="cpu", random_state=split
    )
    result = {"set": name, "n": n, "split": split, "engine": engine}
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkboundWarning)
        try:
            clf.fit(X_train, y[train])
        except ValueError as error:  # an engine may refuse rows; that is a result too
            return result | {"refused": str(error)}
    certificate = clf.certificate_
    return result | {
        "seconds": round(time.perf_counter() - start, 2),
        "certificate": certificate.value,
        "bound": certificate.name,
        "vacuous": certificate.vacuous,
        "n_certified": certificate.n_certified,
        "test_error": float(np.mean(clf.predict(X_test) != y[test])),
    }


def read_results(path):
    """Return the stored results by key; a line cut short is dropped."""
    results = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            result = json.loads(line)
        except json.JSONDecodeError:
            continue
        results[result["set"], result["n"], result["split"], result["engine"]] = result
    return results


def wanted(data, sizes, engines):
    """Return all keys, smallest numbers of rows first, engines of one split together."""
    return [
        (name, n, split, engine)
        for n in sizes
        for split in range(N_SPLITS)
        for name, (X, _, _) in data.items()
        if len(X) >= n + MIN_TEST and (n < 5000 or name in LARGE)
        for engine in engines
    ]


def run(names, sizes, engines, path, minutes):
    """Compute what is missing until the time is over; return all results."""
    stop = time.monotonic() + 60 * minutes
    data = {name: (X, y, categorical) for name, X, y, categorical in sets(names)}
    results = read_results(path)
    missing = [key for key in wanted(data, sizes, engines) if key not in results]

    def task(key):
        return measure(*data[key[0]], key) if time.monotonic() < stop else None

    with path.open("a") as file:
        work = Parallel(n_jobs=2, return_as="generator_unordered")
        for done, result in enumerate(work(delayed(task)(key) for key in missing), start=1):
            if result is not None:
                file.write(json.dumps(result) + "\n")
                file.flush()
                shown = result.get("certificate", float("nan"))
                print(
                    f"{done}/{len(missing)} {result['set']} {result['n']} {result['split']} "
                    f"{result['engine']}: {shown:.4f}",
                    flush=True,
                )
    return read_results(path)


def summarise(results, engines):
    """Return means over sets and splits by number of rows and engine, paired with the baseline."""
    summary = {}
    for n in SIZES:
        for engine in engines:
            pairs = [
                (result, base)
                for (name, size, split, who), result in results.items()
                if (size, who) == (n, engine) and "certificate" in result
                if (base := results.get((name, n, split, BASELINE))) is not None
            ]
            refused = sum(
                "refused" in result
                for (_, size, _, who), result in results.items()
                if (size, who) == (n, engine)
            )
            if not pairs:
                continue
            ours, theirs = (
                {key: np.array([side[key] for side in column]) for key in COLUMNS}
                for column in zip(*pairs, strict=True)
            )
            ratios = ours["certificate"] / theirs["certificate"]
            gap = ours["test_error"] - theirs["test_error"]
            summary[f"{n} {engine}"] = {
                "n": n,
                "engine": engine,
                "fits": len(pairs),
                "sets": len({result["set"] for result, _ in pairs}),
                "refused": refused,
                "certificate": float(ours["certificate"].mean()),
                "ratio_of_means": float(ours["certificate"].mean() / theirs["certificate"].mean()),
                "mean_ratio": float(ratios.mean()),
                "ratio_quartiles": np.quantile(ratios, [0.25, 0.5, 0.75]).tolist(),
                "test_error": float(ours["test_error"].mean()),
                "error_gap": float(gap.mean()),
                "error_gap_standard_error": float(gap.std(ddof=1) / len(gap) ** 0.5),
                "seconds": float(np.median(ours["seconds"])),
                "goal": GOALS[n],
            }
    return summary


def print_summary(summary):
    """Print one line per number of rows and engine."""
    head = ("n", "engine", "fits", "certificate", "ratio", "mean ratio", "quartiles", "test error")
    print("\n{:>5} {:<22}{:>5}{:>13}{:>8}{:>12}{:>18}{:>12}{:>16}{:>9}".format(
        *head, "gap (s.e.)", "seconds"
    ))  # fmt: skip
    for row in summary.values():
        low, middle, high = row["ratio_quartiles"]
        print(
            f"{row['n']:>5} {row['engine']:<22}{row['fits']:>5}{row['certificate']:>13.4f}"
            f"{row['ratio_of_means']:>8.3f}{row['mean_ratio']:>12.3f}"
            f"{f'{low:.2f} {middle:.2f} {high:.2f}':>18}{row['test_error']:>12.4f}"
            f"{row['error_gap']:>+9.4f} ({row['error_gap_standard_error']:.4f})"
            f"{row['seconds']:>8.1f}" + (f"  {row['refused']} refused" if row["refused"] else "")
        )
    print(
        f"\nratio: mean certificate over that of {BASELINE}; goals at an equal test error: "
        + ", ".join(f"{goal:g} at {n}" for n, goal in GOALS.items())
    )


def main():
    """Read the options, run, print and store."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=100.0, help="start no fit after that")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, choices=SIZES)
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("--fresh", action="store_true", help="forget stored results")
    parser.add_argument("--report", action="store_true", help="only print what is stored")
    options = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    path = OUT / "tightness.jsonl"
    if options.fresh:
        path.unlink(missing_ok=True)
    if options.report:
        results = read_results(path)
    else:
        names = ("digits", "breast_cancer", *TABLES)
        results = run(names, options.sizes, options.engines, path, options.minutes)
    summary = summarise(results, options.engines)
    (OUT / "tightness.json").write_text(json.dumps(summary, indent=2) + "\n")
    print_summary(summary)


if __name__ == "__main__":
    main()
