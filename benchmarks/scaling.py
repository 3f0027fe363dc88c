"""How error, certificate and measures grow with depth, width, heads and number of tokens.

    python benchmarks/scaling.py                   # all that fits into 35 minutes
    python benchmarks/scaling.py --minutes 10      # stop after 10 minutes; go on later
    python benchmarks/scaling.py --quick           # a minute: few rows, two epochs, no meaning
    python benchmarks/scaling.py --report          # tables and picture of what is there

Images of CIFAR-10 and sentences of the Penn Treebank; one quantity varies, the others stay as in
BASE. Each split takes 2,500 random rows, of which a fifth is certified, and 2,000 others for the
test error. Measures are those of `skbound.measures`, on the rows trained on.

Each fit is one line in benchmarks/out/scaling.jsonl; a later call computes only what is missing,
one split after the other. --fresh starts anew, as is needed after a change of the package. Every
call writes out/scaling.csv, a line per fit, out/scaling_exponents.csv, and out/scaling.png.
"""

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from matplotlib import pyplot as plt
from PIL import Image

import _growth_sets  # isort: skip (beside this script)
from skbound import TransformerClassifier
from skbound.exceptions import SkboundWarning
from skbound.inspection import GrowthDisplay, compare_growth
from skbound.measures import MEASURES, measure_all, transformer_terms
from skbound.protocols import Holdout

BASE = {"depth": 2, "width": 32, "n_heads": 4, "n_tokens": 16}
GRID = {"depth": (1, 2, 4, 8), "width": (16, 32, 64, 128), "n_heads": (1, 2, 4, 8)}
# By the power with which an expression enters a bound on the gap: the catalogue leaves out the root
# that papers take of the first group.
EXPRESSIONS = {
    0.5: (
        "parameter_count", "spectral_product", "frobenius_product", "spectral_sum",
        "frobenius_sum", "spectral_squares", "stable_rank_sum", "path_norm",
    ),
    1.0: (
        "l2_norm", "l2_distance", "transformer_formula", "transformer_model_term",
        "transformer_data_term", "edelman_covering", "trauger_tewari_covering",
        "vc_piecewise_linear", "vc_pfaffian",
    ),
}  # fmt: skip
POWERS = {key: power for power, keys in EXPRESSIONS.items() for key in keys}
AT_ONE = "transformer_formula, norms 1"
CONSTANT = "constant"  # what has to be beaten
QUANTITIES = "gap", "certificate", "test_error"
DRAWN = "parameter_count", "spectral_product", "l2_distance", "transformer_formula"
N_SPLITS, N_TEST, DELTA = 3, 2000, 0.05
OUT = Path(__file__).resolve().parent / "out"


class Scale(NamedTuple):
    """How large the study is."""

    file: str
    n_rows: int
    max_epochs: int
    n_splits: int
    n_values: int  # per varied quantity


FULL = Scale("scaling", 2500, 20, N_SPLITS, 4)
QUICK = Scale("scaling_quick", 300, 2, 1, 3)


def grid(name, scale):
    """Return the values of each varied quantity for one set."""
    values = GRID | {"n_tokens": _growth_sets.TOKENS[name]}
    return {axis: sizes[: scale.n_values] for axis, sizes in values.items()}


def wanted(scale):
    """Return all keys: set, split and sizes; each split of both sets before the next."""
    keys = {}  # a dict: the base occurs along every axis, and is fitted once
    for split in range(scale.n_splits):
        for name in _growth_sets.NAMES:
            keys[name, split, *BASE.values()] = None
            for axis, sizes in grid(name, scale).items():
                keys |= {(name, split, *(BASE | {axis: size}).values()): None for size in sizes}
    return list(keys)


def measure(key, scale):
    """Fit one net; return errors, certificate and logarithms of measures as a line of the file."""
    name, split, *sizes = key
    sizes = dict(zip(BASE, sizes, strict=True))
    X, y, tokenizer = _growth_sets.rows(name, sizes["n_tokens"])
    order = np.random.default_rng(split).permutation(len(y))
    given, test = order[: scale.n_rows], order[scale.n_rows : scale.n_rows + N_TEST]
    protocol = Holdout(fraction=0.2, random_state=split)
    shape = {axis: size for axis, size in sizes.items() if axis != "n_tokens"}
    clf = TransformerClassifier(
        **shape, max_epochs=scale.max_epochs, tokenizer=tokenizer, protocol=protocol, delta=DELTA,
        device="cpu", random_state=split,
    )  # fmt: skip
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkboundWarning)
        clf.fit(X[given], y[given])
    seconds = time.perf_counter() - start
    trained, _ = protocol.split(len(given), 0)
    X_train, y_train = X[given[trained]], y[given[trained]]
    found = measure_all(clf, X_train, y_train, [MEASURES[expression] for expression in POWERS])
    train_error = 1.0 - clf.score(X_train, y_train)
    test_error = float(np.mean(clf.predict(X[test]) != y[test]))
    logs = {key: POWERS[key] * value.log_value for key, value in found.items()}
    logs[AT_ONE] = float(transformer_terms(**sizes, weight_bound=1.0).log_total)
    return {
        "set": name, "split": split, **sizes, "seconds": round(seconds, 2),
        "train_error": train_error, "test_error": test_error, "gap": test_error - train_error,
        "certificate": clf.generalization_bound_, "vacuous": bool(clf.certificate_.vacuous),
    } | logs  # fmt: skip


def read_results(path):
    """Return the stored results by key; a line cut short is dropped."""
    results = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            result = json.loads(line)
        except json.JSONDecodeError:
            continue
        results[tuple(result[name] for name in ("set", "split", *BASE))] = result
    return results


def run(scale, path, minutes):
    """Compute what is missing until the time is over."""
    stop = time.monotonic() + 60 * minutes
    results = read_results(path)
    missing = [key for key in wanted(scale) if key not in results]

    def task(key):
        return measure(key, scale) if time.monotonic() < stop else None

    with path.open("a") as file:
        work = Parallel(n_jobs=2, return_as="generator_unordered")
        for done, result in enumerate(work(delayed(task)(key) for key in missing), start=1):
            if result is not None:
                file.write(json.dumps(result) + "\n")
                file.flush()
                shown = " ".join(str(result[name]) for name in ("set", "split", *BASE))
                print(f"{done}/{len(missing)} {shown}: gap {result['gap']:.4f}", flush=True)


def along(fits, name, axis):
    """Return the fits of one set in which nothing but one quantity differs from BASE."""
    same = [fits[other] == size for other, size in BASE.items() if other != axis]
    return fits[(fits["set"] == name) & np.logical_and.reduce(same)].sort_values([axis, "split"])


def compare(fits, axis, quantity):
    """Compare the growth of one quantity with that of all expressions; None if it is not positive.

    Expressions come as logarithms; as factors do not matter, each is divided by its mean first.
    """
    if len(fits) < 3 or fits[axis].nunique() < 2 or (fits[quantity] <= 0).any():
        return None
    logs = fits[[*POWERS, AT_ONE]]
    logs = logs.loc[:, np.isfinite(logs).all()]
    predicted = {key: np.exp(logs[key] - logs[key].mean()) for key in logs}
    return compare_growth(fits[axis], fits[quantity], {CONSTANT: np.ones(len(fits))} | predicted)


def exponents(fits):
    """Return a table with one line per set, axis, quantity and expression."""
    frames = []
    for name in _growth_sets.NAMES:
        for axis in BASE:
            rows = along(fits, name, axis)
            for quantity in QUANTITIES:
                if (found := compare(rows, axis, quantity)) is not None:
                    place = {"set": name, "axis": axis, "quantity": quantity, "fits": len(rows)}
                    frames.append(found.to_frame().reset_index().assign(**place))
    if not frames:
        return pd.DataFrame()
    return pd.concat(frames).set_index(["set", "axis", "quantity", "expression"]).sort_index()


def overall(table):
    """Return how far off each expression is for the gap: over all sets and axes, worst last."""
    rows = table.xs("gap", level="quantity").drop("measured", level="expression")
    rows = rows.assign(
        off=rows["off_by"].abs(), fits_in=(rows["off_low"] <= 0) & (rows["off_high"] >= 0)
    )
    found = rows.groupby(level="expression").agg(
        mean_off=("off", "mean"), largest_off=("off", "max"), not_refuted=("fits_in", "sum"),
        of=("off", "size"),
    )  # fmt: skip
    return found.sort_values("mean_off")


def print_report(fits, table):
    """Print means by size, exponents of what was measured and of expressions, and how far off."""
    for name in _growth_sets.NAMES:
        for axis in BASE:
            means = along(fits, name, axis).groupby(axis)
            if means.ngroups:
                columns = ["train_error", "test_error", "gap", "certificate", "seconds"]
                print(f"\n{name} by {axis}\n{means[columns].mean().round(4).to_string()}")
    if not len(table):
        return
    measured = table.xs("measured", level="expression")
    columns = ["exponent", "low", "high", "fits"]
    print(f"\nMeasured exponents\n{measured[columns].round(2).to_string()}")
    gaps = table.xs("gap", level="quantity")
    print("\nExponents of the gap and of expressions for it")
    print(gaps["exponent"].unstack(["set", "axis"]).round(2).to_string())
    off_by = gaps["off_by"].drop("measured", level="expression").unstack(["set", "axis"])
    print(f"\nHow far off\n{off_by.round(2).to_string()}")
    print(f"\nOver all\n{overall(table).round(2).to_string()}")


def draw(fits, path):
    """Draw the gap along each axis with a few expressions."""
    names = _growth_sets.NAMES
    figure, axes = plt.subplots(len(names), len(BASE), figsize=(14, 7), layout="constrained")
    for name, row in zip(names, axes, strict=True):
        for axis, ax in zip(BASE, row, strict=True):
            rows = along(fits, name, axis)
            found = compare(rows, axis, "gap")
            if found is None:
                ax.set_axis_off()
                continue
            predicted = {key: found.predicted[key] for key in DRAWN if key in found.predicted}
            few = compare_growth(found.sizes, found.measured, predicted)
            GrowthDisplay.from_comparison(
                few, size_name=axis, measured_name=f"{name}: test - training error", ax=ax
            )
            # What explodes would leave nothing to see of what was measured.
            ax.set_ylim(found.measured.min() / 3, found.measured.max() * 3)
    figure.savefig(path, dpi=90)
    plt.close(figure)
    with Image.open(path) as picture:  # lines and letters need few colours
        small = picture.convert("RGB").quantize(32)
    small.save(path, optimize=True)


def main():
    """Read the options, run, print and store."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=35.0, help="start no fit after that")
    parser.add_argument("--quick", action="store_true", help="whether it runs, no results")
    parser.add_argument("--fresh", action="store_true", help="forget stored results")
    parser.add_argument("--report", action="store_true", help="only print what is stored")
    options = parser.parse_args()
    scale = QUICK if options.quick else FULL
    OUT.mkdir(exist_ok=True)
    path = OUT / f"{scale.file}.jsonl"
    if options.fresh:
        path.unlink(missing_ok=True)
    if not options.report:
        run(scale, path, options.minutes)
    results = read_results(path)
    if not results:
        raise SystemExit(f"{path} must hold results, but holds none. Run without --report first.")
    fits = pd.DataFrame(list(results.values())).sort_values(["set", "split", *BASE])
    logs = {key: f"log {key}" for key in (*POWERS, AT_ONE)}
    fits.rename(columns=logs).to_csv(OUT / f"{scale.file}.csv", index=False, float_format="%.5g")
    table = exponents(fits)
    table.to_csv(OUT / f"{scale.file}_exponents.csv", float_format="%.3f")
    print_report(fits, table)
    draw(fits, OUT / f"{scale.file}.png")


if __name__ == "__main__":
    main()
