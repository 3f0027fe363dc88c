"""How long until one of 24 Transformers is chosen, against cross-validated searches of peers?

    pip install rtdl_revisiting_models pytabkit
    python benchmarks/search_speed.py [--quick] [--seeds 3] [--n-jobs 2]

24 candidates (depth x width x dropout x weight decay), 2,000 rows of 20 features to learn from,
10,000 put away, the same epochs and batches for all. ``BoundSearch`` in its four ways against
``GridSearchCV(cv=5)`` around skorch's ``NeuralNetClassifier`` with the FT-Transformer of
rtdl_revisiting_models, and around pytabkit's FT-Transformer. A peer that is not installed is left
out.

Each search runs in a process of its own, one after the other; its wall time covers the start of
workers and the last fit, not the imports before it. Finished searches are lines in
benchmarks/out/search_speed.jsonl, so a killed run goes on where it stopped. Prints the table and
writes benchmarks/results/search_speed.csv unless the run is a quick one.
"""

import argparse
import csv
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification

HERE = Path(__file__).resolve().parent
GRID = {"depth": [1, 2, 3], "width": [16, 32], "dropout": [0.0, 0.2], "weight_decay": [0.01, 0.1]}
N_FIT, N_TEST, N_FEATURES, N_HEADS, BATCH, LR = 2000, 10_000, 20, 4, 128, 2e-3
OURS = {
    "BoundSearch, its defaults": {},
    "BoundSearch, grid": {"choose_by": "training_side"},
    "BoundSearch, halving": {"choose_by": "training_side", "strategy": "halving"},
    "BoundSearch, racing": {"choose_by": "training_side", "strategy": "racing"},
}
PEERS = {
    "GridSearchCV, skorch and rtdl": "rtdl_revisiting_models",
    "GridSearchCV, pytabkit": "pytabkit",
}


def data(seed):
    """Return rows and labels to learn from, and those put away."""
    X, y = make_classification(
        N_FIT + N_TEST, N_FEATURES, n_informative=10, flip_y=0.1, random_state=seed
    )
    return X[:N_FIT], y[:N_FIT], X[N_FIT:], y[N_FIT:]


def ours(epochs, n_jobs, seed, **how):
    """Return a search that needs no folds."""
    from skbound import BoundSearch, TransformerClassifier

    model = TransformerClassifier(
        n_heads=N_HEADS, max_epochs=epochs, batch_size=BATCH, lr=LR, device="cpu"
    )
    return BoundSearch(model, GRID, n_jobs=n_jobs, random_state=seed, **how)


def rtdl(epochs, n_jobs, seed):
    """Return a cross-validated search around skorch."""
    import torch
    from rtdl_revisiting_models import FTTransformer
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler
    from skorch import NeuralNetClassifier

    class TableOnly(FTTransformer):
        """Takes the one argument that skorch passes."""

        def forward(self, rows):
            return super().forward(rows, None)

    torch.manual_seed(seed)
    net = NeuralNetClassifier(
        TableOnly,
        criterion=torch.nn.CrossEntropyLoss,
        optimizer=torch.optim.AdamW,
        lr=LR,
        batch_size=BATCH,
        max_epochs=epochs,
        iterator_train__shuffle=True,
        train_split=None,
        verbose=0,
        module__n_cont_features=N_FEATURES,
        module__cat_cardinalities=[],
        module__d_out=2,
        module__attention_n_heads=N_HEADS,
        module__attention_dropout=0.0,
        module__ffn_d_hidden_multiplier=4 / 3,
        module__residual_dropout=0.0,
    )
    model = make_pipeline(StandardScaler(), FunctionTransformer(np.float32), net)
    names = {
        "depth": "module__n_blocks",
        "width": "module__d_block",
        "dropout": "module__ffn_dropout",
        "weight_decay": "optimizer__weight_decay",
    }
    grid = {f"neuralnetclassifier__{names[name]}": values for name, values in GRID.items()}
    return GridSearchCV(model, grid, cv=5, n_jobs=n_jobs)


def pytabkit(epochs, n_jobs, seed):
    """Return a cross-validated search around pytabkit, which puts a fifth away in each fit."""
    from pytabkit import FTT_D_Classifier
    from sklearn.model_selection import GridSearchCV

    model = FTT_D_Classifier(
        module_n_heads=N_HEADS, max_epochs=epochs, es_patience=epochs, batch_size=BATCH, lr=LR,
        device="cpu", n_threads=1, random_state=seed,
    )  # fmt: skip
    names = {
        "depth": "module_n_layers",
        "width": "module_d_token",
        "dropout": "module_ffn_dropout",
        "weight_decay": "optimizer_weight_decay",
    }
    grid = {names[name]: values for name, values in GRID.items()}
    return GridSearchCV(model, grid, cv=5, n_jobs=n_jobs)


def run(name, epochs, n_jobs, seed):
    """Search once; return a line of the results file."""
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    X, y, X_test, y_test = data(seed)
    if name in OURS:
        search = ours(epochs, n_jobs, seed, **OURS[name])
    else:
        make = rtdl if PEERS[name] == "rtdl_revisiting_models" else pytabkit
        search = make(epochs, n_jobs, seed)
        X, X_test = X.astype(np.float32), X_test.astype(np.float32)
    start = time.perf_counter()
    search.fit(X, y)
    seconds = time.perf_counter() - start
    return {
        "search": name, "epochs": epochs, "n_jobs": n_jobs, "seed": seed,
        "seconds": round(seconds, 2),
        "test_error": float(np.mean(search.predict(X_test) != y_test)),
        "certificate": getattr(search, "best_bound_", None),
        "chosen": dict(search.best_params_),
    }  # fmt: skip


def in_a_process(name, epochs, n_jobs, seed):
    """Run one search in a fresh process, in a folder that is thrown away."""
    command = [sys.executable, __file__, "--one", json.dumps([name, epochs, n_jobs, seed])]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def table(lines):
    """Return the rows of the table, means over the seeds that all searches have."""
    names = [name for name in [*OURS, *PEERS] if any(line["search"] == name for line in lines)]
    by = {(line["search"], line["seed"]): line for line in lines}
    seeds = sorted({seed for _, seed in by if all((name, seed) in by for name in names)})
    rows = []
    for name in names:
        own = [by[name, seed] for seed in seeds]
        row = {
            "search": name,
            "seeds": len(seeds),
            "epochs": own[0]["epochs"] if own else "",
            "seconds": round(float(np.mean([line["seconds"] for line in own])), 1),
            "test_error": round(float(np.mean([line["test_error"] for line in own])), 4),
        }
        certificates = [line["certificate"] for line in own]
        row["certificate"] = "" if None in certificates else round(float(np.mean(certificates)), 4)
        for peer, module in PEERS.items():
            ratios = [
                by[peer, s]["seconds"] / by[name, s]["seconds"] for s in seeds if peer in names
            ]
            row[f"times_faster_than_{module}"] = (
                round(float(np.median(ratios)), 2) if ratios else ""
            )
        rows.append(row)
    return rows


def main():
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="4 epochs, one data set")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(run(*json.loads(options.one))))
        return
    epochs, seeds = (4, 1) if options.quick else (20, options.seeds)
    store = HERE / "out" / "search_speed.jsonl"
    store.parent.mkdir(exist_ok=True)
    stored = [json.loads(line) for line in store.read_text().splitlines()] if store.exists() else []
    lines = [
        line for line in stored if (line["epochs"], line["n_jobs"]) == (epochs, options.n_jobs)
    ]
    done = {(line["search"], line["seed"]) for line in lines}
    peers = [name for name, module in PEERS.items() if importlib.util.find_spec(module)]
    for name in set(PEERS) - set(peers):
        print(f"{name}: left out, {PEERS[name]} is not installed")
    for seed in range(seeds):
        for name in [*OURS, *peers]:
            if (name, seed) in done:
                continue
            line = in_a_process(name, epochs, options.n_jobs, seed)
            lines.append(line)
            with store.open("a") as file:
                file.write(json.dumps(line) + "\n")
            print(f"{seed} {name:32} {line['seconds']:7.1f} s  error {line['test_error']:.4f}")
    rows = table([line for line in lines if line["seed"] < seeds])
    for row in rows:
        print("  ".join(str(value) for value in row.values()))
    if not options.quick:
        results = HERE / "results"
        results.mkdir(exist_ok=True)
        with (results / "search_speed.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
