"""What skbound costs on top of a bare torch loop: fit and predict, in pairs, in one run.

    python benchmarks/fit_overhead.py [--pairs 7] [--epochs 8]

The bare loop trains the same module on the same batches with the same optimizer, schedule,
clipping and one thread; it knows nothing of skorch, scikit-learn or certificates. Beside it runs
skorch with torch's own data loader. Prints medians of paired ratios and writes
benchmarks/out/fit_overhead.json.
"""

import argparse
import json
import math
import time
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import make_classification
from skorch import NeuralNetClassifier
from skorch.callbacks import GradientNormClipping, LRScheduler
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

from skbound import TransformerClassifier
from skbound._nn._embeddings import FeatureEmbedding
from skbound._nn._transformer import build_transformer

SHAPE = {"n_features": 20, "width": 32, "depth": 2, "n_heads": 4}
LR, DECAY, BATCH, SEED = 2e-3, 0.01, 128, 0


def build():
    """Return the module that TransformerClassifier trains, freshly initialised."""
    return build_transformer(
        lambda width: FeatureEmbedding(SHAPE["n_features"], width),
        seed=SEED,
        dtype=torch.float32,
        n_classes=2,
        width=SHAPE["width"],
        depth=SHAPE["depth"],
        n_heads=SHAPE["n_heads"],
        dropout=0.0,
        pooling="cls",
    )


def no_decay(name):
    """Whether weight decay leaves a parameter alone."""
    return "norm" in name or name.endswith("bias") or name.startswith(("embedding", "cls_token"))


def schedule(n_steps):
    """Return the factor of the learning rate at each step."""
    n_up = max(1, round(0.1 * n_steps))

    def factor(step):
        if step < n_up:
            return (step + 1) / n_up
        share = min(1.0, (step - n_up) / max(1, n_steps - n_up))
        return 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * share))

    return factor


def bare_fit(X, y, epochs):
    """Train with nothing but torch."""
    module = build()
    mean, std = X.mean(0), X.std(0)
    rows = torch.as_tensor((X - mean) / std, dtype=torch.float32)
    labels = torch.as_tensor(y)
    groups = [
        {
            "params": [p for name, p in module.named_parameters() if no_decay(name) == free],
            "weight_decay": 0.0 if free else DECAY,
        }
        for free in (False, True)
    ]
    optimizer = torch.optim.AdamW(groups, lr=LR)
    n_batches = -(-len(rows) // BATCH)
    scheduler = LambdaLR(optimizer, schedule(epochs * n_batches))
    generator = torch.Generator().manual_seed(SEED)
    criterion = nn.CrossEntropyLoss()
    for _ in range(epochs):
        total = 0.0
        for chosen in torch.randperm(len(rows), generator=generator).split(BATCH):
            optimizer.zero_grad()
            loss = criterion(module(rows[chosen]), labels[chosen])
            loss.backward()
            nn.utils.clip_grad_norm_(module.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            total += loss.item() * len(chosen)
    return module, mean, std


@torch.inference_mode()
def bare_predict(trained, X):
    """Evaluate in batches of 64, the fastest size here, with nothing but torch."""
    module, mean, std = trained
    module.eval()
    rows = torch.as_tensor((X - mean) / std, dtype=torch.float32)
    return torch.cat([module(part) for part in rows.split(64)]).argmax(1).numpy()


def skorch_fit(X, y, epochs):
    """Train with skorch as it comes: default loader, no validation split."""
    n_steps = epochs * -(-len(X) // BATCH)
    net = NeuralNetClassifier(
        build(),
        criterion=nn.CrossEntropyLoss,
        optimizer=torch.optim.AdamW,
        lr=LR,
        batch_size=BATCH,
        max_epochs=epochs,
        iterator_train__shuffle=True,
        train_split=None,
        verbose=0,
        callbacks=[
            LRScheduler(LambdaLR, lr_lambda=schedule(n_steps), step_every="batch"),
            GradientNormClipping(1.0),
        ],
    )
    rows = ((X - X.mean(0)) / X.std(0)).astype(np.float32)
    return net.fit(rows, y)


def seconds(work):
    """Time one call."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def main():
    """Run the pairs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--epochs", type=int, default=8)
    options = parser.parse_args()
    torch.set_num_threads(1)
    X, y = make_classification(5000, SHAPE["n_features"], n_informative=10, random_state=0)
    model = TransformerClassifier(
        SHAPE["depth"], SHAPE["width"], batch_size=BATCH, max_epochs=options.epochs, lr=LR,
        weight_decay=DECAY, protocol=None, random_state=SEED,
    )  # fmt: skip
    ratios = {"fit / bare loop": [], "fit / skorch default loader": [], "predict / bare": []}
    bare_fit(X, y, 1)
    for pair in range(options.pairs):
        # The order within a pair alternates, so that a drift of the machine cancels.
        works = [lambda: model.fit(X, y), lambda: bare_fit(X, y, options.epochs)]
        timed = [seconds(work) for work in (works if pair % 2 else works[::-1])]
        (ours, _), (bare, trained) = timed if pair % 2 else timed[::-1]
        loader, _ = seconds(lambda: skorch_fit(X, y, options.epochs))
        predictions = [seconds(lambda: model.predict(X))[0] for _ in range(3)]
        bares = [seconds(lambda: bare_predict(trained, X))[0] for _ in range(3)]  # noqa: B023
        ratios["fit / bare loop"].append(ours / bare)
        ratios["fit / skorch default loader"].append(ours / loader)
        ratios["predict / bare"].append(min(predictions) / min(bares))
        print(
            f"pair {pair}: fit {ours:.2f} s, bare {bare:.2f} s, skorch {loader:.2f} s, "
            f"predict {min(predictions):.3f} s, bare {min(bares):.3f} s"
        )
    report = {
        name: {"median": float(np.median(v)), "min": min(v), "max": max(v)}
        for name, v in ratios.items()
    }
    for name, row in report.items():
        print(f"{name:30} median {row['median']:.3f}  ({row['min']:.3f} .. {row['max']:.3f})")
    out = Path(__file__).parent / "out"
    out.mkdir(exist_ok=True)
    (out / "fit_overhead.json").write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
