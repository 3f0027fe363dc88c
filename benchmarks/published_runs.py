"""How well do a few numbers of published runs rank their models by test error?

    python benchmarks/published_runs.py

The runs hold no weights, so only what was logged can be ranked by: the validation and training
losses and the number of parameters. A set's candidates are its models, each at one of its runs;
Kendall's tau and the regret are means over 20 draws of the runs, with an interval over the sets.
Prints a table and writes benchmarks/results/published_runs.csv.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

import _data  # isort: skip (beside this script)

# The columns that name a candidate: its other rows are the same model with another seed.
CANDIDATE = {"rtdl_runs": ["algorithm", "variant"], "tabm_runs": ["model"]}
BY = {
    "validation error": lambda d: -d.val_acc,
    "validation cross-entropy": lambda d: d.val_ce,
    "training error": lambda d: -d.train_acc,
    "training cross-entropy": lambda d: d.train_ce,
    "number of parameters": lambda d: d.n_parameters,
}
DRAWS, MIN_CANDIDATES = 20, 5


def of_set(runs, by, draws):
    """Return tau and regret of one set, means over draws of one run per candidate."""
    found = []
    for seed in range(draws):
        drawn = runs.groupby("candidate").sample(1, random_state=seed)
        score, error = by(drawn).to_numpy(), 1.0 - drawn.test_acc.to_numpy()
        found.append((kendalltau(score, error).statistic, error[score.argmin()] - error.min()))
    return np.nanmean(found, axis=0)


def compare(table):
    """Return one row per number to rank by."""
    runs = pd.read_csv(_data.folder().parent / "runs" / f"{table}.csv.gz")
    runs["candidate"] = runs[CANDIDATE[table]].astype(str).agg(" ".join, axis=1)
    rows = []
    for name, by in BY.items():
        try:
            usable = runs[by(runs).notna() & runs.test_acc.notna()]
        except AttributeError:
            rows.append({"table": table, "ranked by": name, "sets": 0})
            continue
        sets = [d for _, d in usable.groupby("dataset") if d.candidate.nunique() >= MIN_CANDIDATES]
        tau, regret = np.array([of_set(d, by, DRAWS) for d in sets]).T
        again = np.random.default_rng(0).choice(tau, (2000, len(tau))).mean(axis=1)
        low, high = np.quantile(again, [0.025, 0.975])
        rows.append({
            "table": table, "ranked by": name, "sets": len(sets), "tau": tau.mean(),
            "low": low, "high": high, "regret": regret.mean(),
        })  # fmt: skip
    return rows


def main():
    """Compare, print and store; a number that was not logged has no sets."""
    report = pd.DataFrame([row for table in CANDIDATE for row in compare(table)]).round(4)
    print(report.to_string(index=False))
    out = Path(__file__).parent / "results" / "published_runs.csv"
    out.parent.mkdir(exist_ok=True)
    report.to_csv(out, index=False)


if __name__ == "__main__":
    main()
