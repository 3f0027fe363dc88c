"""Which way of choosing among candidates delivers the best model, and at what cost?

    python benchmarks/selection.py                    # all that fits into 100 minutes on 2 cores
    python benchmarks/selection.py --short            # 6 sets, 300 rows: about 15 minutes
    python benchmarks/selection.py --report           # the table from what is stored

16 Transformers (depth x width x dropout x weight decay) on tables, texts as token ids and images as
patches; each set is pooled and split at random into n training rows and a test part; on every
fourth set a fifth of the labels is replaced by random ones (in the test part too: they are part of
the distribution).

For each set, n and split, every candidate is fitted in the ways that the selectors need, and its
losses are stored: one line in benchmarks/out/selection.jsonl per candidate and way. A killed run
goes on where it stopped. The selectors are then compared from the stored numbers alone.
"""

import argparse
import csv
import json
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import binomtest, kendalltau
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, StratifiedKFold

import _sets  # isort: skip (beside this script)
from skbound import BoundSearch, TransformerClassifier
from skbound.bounds import binomial_tail_inverse
from skbound.exceptions import SkboundWarning
from skbound.protocols import Progressive, resolve_protocol

GRID = [
    dict(zip(("depth", "width", "dropout", "weight_decay"), values, strict=True))
    for values in product((1, 2), (8, 32), (0.0, 0.2), (0.01, 0.3))
]
# Where the candidates of a search stand in GRID.
ORDER = [
    GRID.index(params)
    for params in ParameterGrid({name: sorted({p[name] for p in GRID}) for name in GRID[0]})
]
EPOCHS, DELTA, FOLDS = 20, 0.05, 5
SIZES = (300, 1000)
RUNGS = (0.125, 0.25, 0.5, 1.0)
WAYS = ("all", "part", *(f"inner {share}" for share in RUNGS), "progressive", "folds")
# Whole searches, end to end; five nets and two fifths of the rows for the winner.
SEARCHES = {
    "BoundSearch, grid": {"strategy": "grid"},
    "BoundSearch, halving": {"strategy": "halving"},
    "BoundSearch, racing": {"strategy": "racing"},
    "BoundSearch, racing, random labels": {"strategy": "racing"},
}
WHOLE = -1  # in the place of a candidate
# The first sets, on which the slow ways are tried as well.
N_TRIED = 4
OUT = Path(__file__).resolve().parent / "out"
RESULTS = Path(__file__).resolve().parent / "results"
PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"


def candidate(params, seed, **more):
    """Return an unfitted candidate."""
    return TransformerClassifier(
        **params, n_heads=4, max_epochs=EPOCHS, random_state=seed, delta=DELTA, device="cpu", **more
    )


def losses(clf, X, y):
    """Return the error and half the Brier score."""
    proba = clf.predict_proba(X)
    hot = (np.asarray(y)[:, None] == clf.classes_).astype(float)
    unseen = ~np.isin(y, clf.classes_)
    brier = 0.5 * (((proba - hot) ** 2).sum(axis=1) + unseen)
    return {
        "error": float(np.mean(clf.predict(X) != y)),
        "brier": float(brier.mean()),
        "errors": int(np.sum(clf.predict(X) != y)),
    }


def parts(n, split):
    """Return a hold-out's training rows, its certified rows, and an inner split of the former."""
    order = np.random.default_rng([split, n, 1]).permutation(n)
    certified, rest = order[: n // 5], order[n // 5 :]
    return rest, certified, rest[: len(rest) // 5], rest[len(rest) // 5 :]


def search(data, key):
    """Choose by a whole search; return a line of the results file."""
    name, n, split, _, way = key
    X, y, X_test, y_test, tokenizer = data
    shuffled = way.endswith("random labels")
    if shuffled:
        y = np.random.default_rng([split, n]).permutation(y)
    clf = candidate({}, split, protocol="auto", tokenizer=tokenizer)
    grid = {name: sorted({params[name] for params in GRID}) for name in GRID[0]}
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkboundWarning)
        found = BoundSearch(
            clf, grid, choose_by="training_side", random_state=split, **SEARCHES[way]
        ).fit(X, y)
    certificate, n_fit = found.certificate_, found.certificate_.n_fit
    spent = [
        sum(rung for rung in RUNGS if rung <= share)
        if SEARCHES[way]["strategy"] != "grid"
        else share
        for share in found.cv_results_["ranking_share"]
    ]
    protocol = resolve_protocol(found.best_estimator_.protocol)
    return {
        "set": name, "n": n, "split": split, "candidate": WHOLE, "way": way,
        "place": GRID.index({name: found.best_params_[name] for name in GRID[0]}),
        "scores": found.cv_results_["ranking_loss"].tolist(),
        "shares": found.cv_results_["ranking_share"].tolist(),
        "rows": float(0.8 * n_fit * sum(spent) + protocol.members(n) * n_fit),
        "bound": certificate.value,
        "vacuous": certificate.vacuous,
        "test": None if shuffled else losses(found.best_estimator_, X_test, y_test),
        "seconds": round(time.perf_counter() - start, 3),
    }  # fmt: skip


def measure(data, key):
    """Fit one candidate in one way; return a line of the results file."""
    name, n, split, number, way = key
    if number == WHOLE:
        return search(data, key)
    X, y, X_test, y_test, tokenizer = data
    rest, certified, scored, inner = parts(n, split)
    clf = candidate(GRID[number], split, protocol=None, tokenizer=tokenizer)
    result = {"set": name, "n": n, "split": split, "candidate": number, "way": way}
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkboundWarning)
        if way == "all":
            clf.fit(X, y)
            result |= {"test": losses(clf, X_test, y_test), "train": losses(clf, X, y), "rows": n}
        elif way == "part":
            clf.fit(X[rest], y[rest])
            result |= {
                "test": losses(clf, X_test, y_test),
                "certified": losses(clf, X[certified], y[certified]),
                "rows": len(rest),
            }
        elif way.startswith("inner"):
            rows = inner[: round(float(way.split()[1]) * len(inner))]
            clf.fit(X[rows], y[rows])
            result |= {"score": losses(clf, X[scored], y[scored]), "rows": len(rows)}
        elif way == "folds":
            folds = StratifiedKFold(FOLDS, shuffle=True, random_state=split).split(X, y)
            found = [losses(clone(clf).fit(X[a], y[a]), X[b], y[b]) for a, b in folds]
            score = {key: float(np.mean([f[key] for f in found])) for key in ("error", "brier")}
            result |= {"score": score, "rows": (FOLDS - 1) * n}
        else:
            try:
                clf.set_params(protocol=Progressive()).fit(X, y)
                result |= {
                    "test": losses(clf, X_test, y_test),
                    "bound": clf.generalization_bound_,
                    "rows": int(1.25 * n),
                }
            except ValueError as refusal:  # rows that repeat
                result |= {"refused": str(refusal)}
    return result | {"seconds": round(time.perf_counter() - start, 3)}


def read(path):
    """Return stored results by key; a line cut short is dropped."""
    results = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            r = json.loads(line)
        except json.JSONDecodeError:
            continue
        results[r["set"], r["n"], r["split"], r["candidate"], r["way"]] = r
    return results


def run(names, sizes, n_splits, path, minutes):
    """Compute what is missing until the time is over."""
    stop = time.monotonic() + 60 * minutes
    done = read(path)
    tasks = [
        (name, n, split, number, way)
        for n in sizes
        for split in range(n_splits)
        for name in names
        if _sets.large_enough(name, n)
        for number in (*range(len(GRID)), WHOLE)
        for way in (SEARCHES if number == WHOLE else WAYS)
        if way != "progressive" or name in _sets.NAMES[:N_TRIED]
        if (name, n, split, number, way) not in done
    ]
    loaded = {}

    def data_of(name, n, split):
        if (name, n, split) not in loaded:
            loaded.clear()
            loaded[name, n, split] = _sets.sample(name, n, split)
        return loaded[name, n, split]

    def task(data, key):
        return measure(data, key) if time.monotonic() < stop else None

    with path.open("a") as file:
        work = Parallel(n_jobs=2, return_as="generator_unordered", pre_dispatch=4)
        jobs = (delayed(task)(data_of(*key[:3]), key) for key in tasks)
        for count, result in enumerate(work(jobs), start=1):
            if result is not None:
                file.write(json.dumps(result) + "\n")
                file.flush()
                if count % 50 == 0:
                    print(f"{count}/{len(tasks)} {result['set']} {result['n']}", flush=True)
    return read(path)


def column(results, case, way, *names):
    """Return one number per candidate."""
    found = []
    for number in range(len(GRID)):
        value = results[(*case, number, way)]
        for name in names:
            value = value[name]
        found.append(value)
    return np.array(found, dtype=float)


def upper(errors, n, share=1.0):
    """Return the exact binomial certificate at a share of delta."""
    return binomial_tail_inverse(int(errors), int(n), log_delta=float(np.log(DELTA * share)))


def cheapest_first(losses_per_rung, keep):
    """Return the place that successive halving ends with and the rows that it trained on."""
    alive, spent = list(range(len(GRID))), 0.0
    for share, losses_ in zip(RUNGS, losses_per_rung, strict=True):
        spent += share * len(alive)
        alive = sorted(alive, key=lambda k: losses_[k])
        if share < 1.0:
            alive = alive[: keep(len(alive))]
        if len(alive) == 1:
            break
    return alive[0], spent


def selectors(results, case):
    """Return for each selector: the chosen place, scores, rows trained on, certificate, error."""
    _, n, split = case
    n_certified, n_part, n_inner = n // 5, n - n // 5, n - n // 5 - (n - n // 5) // 5
    full, part = column(results, case, "all", "test", "error"), column(
        results, case, "part", "test", "error"
    )  # fmt: skip
    certified = column(results, case, "part", "certified", "errors")
    inner = {s: column(results, case, f"inner {s}", "score", "brier") for s in RUNGS}
    inner_error = column(results, case, "inner 1.0", "score", "error")
    everything = len(GRID) * n
    shares = np.empty(len(GRID))
    shares[np.argsort(inner[1.0], kind="stable")] = 1.0 / np.arange(1, len(GRID) + 1) ** 2
    shares /= shares.sum()
    even = np.array([upper(k, n_certified, 1.0 / len(GRID)) for k in certified])
    informed = np.array([
        upper(k, n_certified, s) for k, s in zip(certified, shares, strict=True)
    ])  # fmt: skip
    brier = column(results, case, "part", "certified", "brier")
    rows_inner = len(GRID) * n_inner
    found = {}

    def add(key, scores, delivered, rows, certificate=None, place=None):
        scores = np.asarray(scores)
        place = int(np.argmin(scores)) if place is None else place
        found[key] = {
            "place": place,
            "tau": float(kendalltau(scores, full).statistic),
            "chosen": float(full[place] - full.min()),
            "delivered": float(delivered[place]),
            "rows": float(rows),
            "certificate": None if certificate is None else float(certificate[place]),
        }

    own = np.array([upper(k, n_certified) for k in certified])
    add("(a) bound, equal shares", even + 1e-6 * brier, part, len(GRID) * n_part, even)
    add("(a) bound, informed shares", informed, part, rows_inner + len(GRID) * n_part, informed)
    add("(b) inner split, Brier", inner[1.0], part, rows_inner + n_part, own)
    add("(b) inner split, error", inner_error + 1e-6 * inner[1.0], part, rows_inner + n_part, own)
    for key, keep in (("halving", lambda k: -(-k // 2)), ("halving by four", lambda k: -(-k // 4))):
        place, spent = cheapest_first([inner[s] for s in RUNGS], keep)
        add(f"(b) {key}", inner[0.125], part, spent * n_inner + n_part, own, place)
    add("20 % hold-out error", certified, part, len(GRID) * n_part)
    cv = column(results, case, "folds", "score", "error")
    add("5-fold cross-validation", cv, full, (FOLDS - 1) * everything + n)
    add("training error", column(results, case, "all", "train", "error"), full, everything)
    rng = np.random.default_rng([n, split])
    add("random", rng.random(len(GRID)), full, n)
    progressive = [results.get((*case, k, "progressive"), {}) for k in range(len(GRID))]
    if all("bound" in result for result in progressive):
        bounds = column(results, case, "progressive", "bound")
        delivered = column(results, case, "progressive", "test", "error")
        add("(a) progressive", bounds, delivered, 1.25 * everything)
    for key in SEARCHES:
        result = results.get((*case, WHOLE, key))
        if result is not None and result["test"] is not None:
            scores = np.empty(len(GRID))
            scores[ORDER] = result["scores"]
            found[key] = {
                "place": result["place"],
                "tau": float(kendalltau(scores, full).statistic),
                "chosen": float(full[result["place"]] - full.min()),
                "delivered": result["test"]["error"],
                "rows": result["rows"],
                "certificate": result["bound"],
            }
    return found


def summarise(results):
    """Return means over sets and splits, with paired intervals against cross-validation."""
    cases = sorted({key[:3] for key in results})
    whole = [
        case
        for case in cases
        if all((*case, WHOLE, way) in results for way in SEARCHES)
        if all(
            (*case, k, way) in results
            for k in range(len(GRID))
            for way in WAYS
            if way != "progressive"
        )
    ]
    per_case = {case: selectors(results, case) for case in whole}
    table = {}
    for n in SIZES:
        here = [found for case, found in per_case.items() if case[1] == n]
        for key in sorted({key for found in here for key in found}):
            pairs = [(f[key], f["5-fold cross-validation"]) for f in here if key in f]
            gain = np.array([a["delivered"] - b["delivered"] for a, b in pairs])
            best = np.array([min(f[k]["delivered"] for k in f) for f in here if key in f])
            half = 1.96 * gain.std(ddof=1) / len(gain) ** 0.5 if len(gain) > 1 else np.nan
            certificates = [a for a, _ in pairs if a["certificate"] is not None]
            held = [a["certificate"] >= a["delivered"] for a in certificates]
            table[f"{n} {key}"] = {
                "n": n,
                "selector": key,
                "cases": len(pairs),
                "tau": float(np.nanmean([a["tau"] for a, _ in pairs])),
                "regret_of_choice": float(np.mean([a["chosen"] for a, _ in pairs])),
                "delivered_error": float(np.mean([a["delivered"] for a, _ in pairs])),
                "above_best_delivered": float(np.mean([a["delivered"] for a, _ in pairs] - best)),
                "against_cv": float(gain.mean()),
                "interval": [float(gain.mean() - half), float(gain.mean() + half)],
                "rows_per_cv_row": float(np.mean([a["rows"] / b["rows"] for a, b in pairs])),
                "certificate": float(np.mean([a["certificate"] for a in certificates]))
                if certificates
                else None,
                "held": f"{sum(held)}/{len(held)}" if held else "",
                "held_p_value": binomtest(
                    len(held) - sum(held), len(held), DELTA, alternative="greater"
                ).pvalue
                if held
                else None,
            }
    return table


def print_random_labels(results):
    """Say how many searches on labels without information ended vacuous."""
    ends = [r["vacuous"] for r in results.values() if r["way"].endswith("random labels")]
    print(f"\nRandom labels: {sum(ends)} of {len(ends)} searches ended with a vacuous certificate.")


def print_table(table):
    """Print one line per number of rows and selector."""
    print(
        f"{'n':>5} {'selector':<28}{'cases':>6}{'tau':>7}{'regret':>8}{'error':>8}"
        f"{'against CV (95 %)':>26}{'cost':>7}{'certificate':>12}{'held':>8}"
    )
    for row in table.values():
        low, high = row["interval"]
        shown = "" if row["certificate"] is None else f"{row['certificate']:.4f}"
        print(
            f"{row['n']:>5} {row['selector']:<28}{row['cases']:>6}{row['tau']:>7.2f}"
            f"{row['regret_of_choice']:>8.4f}{row['delivered_error']:>8.4f}"
            f"{row['against_cv']:>+10.4f} ({low:+.4f}, {high:+.4f})"
            f"{row['rows_per_cv_row']:>6.3f}{shown:>12}{row['held']:>8}"
        )


def store(table, name):
    """Write the table as CSV, and its picture."""
    columns = [
        "n", "selector", "cases", "tau", "regret_of_choice", "delivered_error", "against_cv",
        "low", "high", "rows_per_cv_row", "certificate", "held",
    ]  # fmt: skip
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for row in table.values():
            low, high = row["interval"]
            rounded = {
                key: round(value, 5) if isinstance(value, float) else value
                for key, value in (row | {"low": low, "high": high}).items()
            }
            writer.writerow(rounded)
    draw(table, PICTURES / f"{name}.svg")


def draw(table, path):
    """Draw what each selector costs and delivers, against 5-fold cross-validation."""
    from matplotlib import pyplot as plt

    plt.switch_backend("agg")
    sizes = sorted({row["n"] for row in table.values()})
    figure, axes = plt.subplots(
        1, len(sizes), figsize=(6.0 * len(sizes), 5), sharex=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for ax, n in zip(axes[0], sizes, strict=True):
        rows = sorted(
            (row for row in table.values() if row["n"] == n), key=lambda row: row["rows_per_cv_row"]
        )
        for place, row in enumerate(rows):
            low, high = (100 * bound for bound in row["interval"])
            ours = row["selector"].startswith("BoundSearch")
            ax.plot([low, high], [place, place], color="tab:red" if ours else "0.6")
            ax.plot(100 * row["against_cv"], place, "o", color="tab:red" if ours else "0.3")
        labels = [f"{row['selector']}  ({row['rows_per_cv_row']:.2f})" for row in rows]
        ax.set_yticks(range(len(rows)), labels)
        ax.axvline(0.0, color="k", lw=0.8)
        ax.set(
            title=f"{n} rows, {max(row['cases'] for row in rows)} sets",
            xlabel="error of the delivered model minus cross-validation's, points",
        )
    figure.suptitle("In brackets: rows trained on, as a share of 5-fold cross-validation's")
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def main():
    """Read the options, run, print and store."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--short", action="store_true", help="6 sets, 300 rows")
    parser.add_argument("--minutes", type=float, default=100.0, help="start no fit after that")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, choices=SIZES)
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--fresh", action="store_true", help="forget stored results")
    parser.add_argument("--report", action="store_true", help="only print what is stored")
    options = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    path = OUT / ("selection_short.jsonl" if options.short else "selection.jsonl")
    if options.fresh:
        path.unlink(missing_ok=True)
    names = _sets.NAMES[:6] if options.short else _sets.NAMES
    sizes = (300,) if options.short else options.sizes
    results = (
        read(path) if options.report else run(names, sizes, options.splits, path, options.minutes)
    )
    table = summarise(results)
    (OUT / "selection.json").write_text(json.dumps(table, indent=2) + "\n")
    if table:
        store(table, path.stem)
    print_table(table)
    print_random_labels(results)


if __name__ == "__main__":
    main()
