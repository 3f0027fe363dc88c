"""MNIST: certificates of a small Transformer on 60,000 images, one engine beside the other.

    python benchmarks/mnist.py           # about an hour on 2 cores
    python benchmarks/mnist.py --quick   # 6,000 images and few epochs: does it run?
    python benchmarks/mnist.py --only holdout progressive

The 60,000 training images are the sample that certificates are about; the 10,000 test images are
read for the test error only. All engines put the sample into the same random order and share one
net, the trunk, trained on the first 50,000 images: "holdout" certifies it on the other 10,000, and
the others go on from it in their own way.

Finished stages lie in benchmarks/out and are not computed again unless their settings changed, so
that a run that was cut short goes on where it stopped; --fresh starts anew, as is needed after a
change of the package. The results go to benchmarks/out/mnist.json.
"""

import argparse
import json
import os
import time
from pathlib import Path

import joblib
import numpy as np
import sklearn
import torch

import skbound
from skbound import TransformerClassifier
from skbound._random_state import draw_seed
from skbound.classifiers._fitted_transformer import FittedTransformer
from skbound.protocols import FittedModel, Holdout, PACBayes, PickToLearn, Progressive
from skbound.regularizers import RandomAffine, RandomShift
from skbound.tokenizers import PatchTokenizer

OUT = Path(__file__).resolve().parent / "out"
DELTA = 0.01
CERTIFIED = 1 / 6  # of the sample
SEED = 0
# What the certificate of the hold-out should reach.
TARGET = 0.0080
NET = {
    "depth": 4,
    "width": 64,
    "batch_size": 256,
    "weight_decay": 0.05,
    "label_smoothing": 0.05,
    "gradient_clip": 1.0,
    "delta": DELTA,
    "n_threads": 2,
    "random_state": SEED,
}
# What images go through while they are trained on.
CHANGES = (RandomAffine(degrees=10, scale=0.1), RandomShift(1))
# Epochs and largest learning rate: of the trunk, of a short net that only guesses its error, and of
# what goes on from the trunk.
FULL = {"trunk": (100, 2e-3), "guess": (8, 2e-3), "more": (4, 3e-4)}
QUICK = {"trunk": (3, 2e-3), "guess": (2, 2e-3), "more": (1, 3e-4)}


class LastRows(Holdout):
    """A hold-out that takes its rows from the end of the random order, as other protocols do."""

    def split(self, n_samples, seed):
        order = np.random.default_rng([seed, 0]).permutation(n_samples)
        n_fit = n_samples - self.n_certified(n_samples)
        return np.sort(order[:n_fit]), np.sort(order[n_fit:])


class FirstRows(Holdout):
    """Train on those four fifths of the trunk's rows on which protocols train before a guess."""

    def split(self, n_samples, seed):
        order = np.random.default_rng([seed, 0]).permutation(n_samples)
        n_trunk = n_samples - self.n_certified(n_samples)
        n_fit = n_trunk - round(0.2 * n_trunk)
        return np.sort(order[:n_fit]), np.sort(order[n_fit:n_trunk])


class FromTrunk:
    """A protocol for a learner that has fitted some predictors already and goes on from the last.

    `known` holds fitted classifiers with the rows that they were trained on; the last is the trunk.
    """

    def __init__(self, protocol, known):
        self.protocol, self.known = protocol, known

    @property
    def example(self):
        return self.protocol.example

    def run(self, learner, seed):
        return self.protocol.run(KnownFits(learner, self.known), seed)


class KnownFits:
    """A learner that looks up fits of known rows and trains others from the trunk."""

    def __init__(self, learner, known):
        self.learner = learner
        self.known = {rows_key(rows): model_of(clf) for clf, rows in known}
        self.trunk = model_of(known[-1][0])

    def __getattr__(self, name):
        return getattr(self.learner, name)

    def fit(self, rows, *, seed=None, start=None, effort=1.0, pull=0.0):
        if start is None and rows_key(rows) in self.known:
            return self.known[rows_key(rows)]
        # How long is a setting of this benchmark, whatever share of the trunk a protocol asks for.
        return self.learner.fit(rows, seed=seed, start=start or self.trunk, pull=pull)


def rows_key(rows):
    return np.sort(rows).tobytes()


def model_of(clf):
    """Return the predictor inside a classifier, as a protocol knows it."""
    model = FittedTransformer(
        clf.net_, clf.tokenizer_, clf.history_, clf.device_, len(clf.classes_)
    )
    return FittedModel(model, clf.n_samples_fit_)


# The engines that go on from the trunk, by name. Each splits the random order as LastRows does:
# the first 50,000 rows are those of the trunk.
ENGINES = {
    "progressive": lambda: Progressive(n_blocks=2, first_fraction=1 - CERTIFIED),
    "pac_bayes": lambda: PACBayes(1 - CERTIFIED, sigmas=(0.002, 0.005)),
    "compression": lambda: PickToLearn(1 - CERTIFIED, group_size=20, max_size=60, warm_start=True),
}


def images(quick):
    """Return sample and test images in [0, 1] as rows, with their labels."""
    beside = Path(__file__).resolve().parents[2] / "shared"
    path = Path(os.environ.get("SKBOUND_SHARED", beside)) / "data" / "images" / "mnist.npz"
    with np.load(path) as stored:
        sets = [(stored[f"X_{part}"], stored[f"y_{part}"]) for part in ("train", "test")]
    n = 6000 if quick else None
    return [(X[:n].reshape(len(X[:n]), -1).astype(np.float32) / 255, y[:n]) for X, y in sets]


class Stages:
    """Compute each stage once; keep its classifier and its numbers on disk."""

    def __init__(self, prefix, settings, data):
        self.prefix, self.settings = prefix, settings
        (self.X, self.y), (self.X_test, self.y_test) = data

    def path(self, name, ending):
        return OUT / f"{self.prefix}_{name}.{ending}"

    def fit(self, name, protocol, size):
        """Return the fitted classifier of a stage."""
        max_epochs, lr = self.settings[size]
        clf = TransformerClassifier(
            **NET,
            max_epochs=max_epochs,
            lr=lr,
            tokenizer=PatchTokenizer(4, image_shape=(28, 28)),
            regularizers=CHANGES,
            protocol=protocol,
            verbose=1,
        )
        # To be told from what other settings have left behind.
        key = {
            **NET,
            "changes": repr(CHANGES),
            "max_epochs": max_epochs,
            "lr": lr,
            "trunk": self.settings["trunk"],
        }
        key = json.loads(json.dumps(key))
        if self.path(name, "json").exists():
            stored = json.loads(self.path(name, "json").read_text())
            if stored["key"] == key:
                print(f"{name}: taken from {self.path(name, 'pkl')}", flush=True)
                return joblib.load(self.path(name, "pkl"))
        print(f"{name}: training", flush=True)
        start = time.perf_counter()
        clf.fit(self.X, self.y)
        seconds = time.perf_counter() - start
        numbers = {"key": key, "seconds": seconds, **self.measure(clf)}
        # Not the protocol: one that holds the trunk would store it once more.
        joblib.dump(clf.set_params(protocol="holdout"), self.path(name, "pkl"))
        # Last, since it says that the stage is complete.
        self.path(name, "json").write_text(json.dumps(numbers, indent=2) + "\n")
        return clf

    def measure(self, clf):
        evaluated = clf.evidence_.evaluated
        return {
            "certificate": clf.generalization_bound_,
            "bound": clf.certificate_.name,
            "statement": clf.certificate_.statement(),
            "n_fit": clf.n_samples_fit_,
            "n_certified": clf.n_samples_certified_,
            "n_errors": None if evaluated is None else int(evaluated.zero_one.sum()),
            "test_error": float(np.mean(clf.predict(self.X_test) != self.y_test)),
        }

    def numbers(self, name):
        return json.loads(self.path(name, "json").read_text())


def run(stages, names):
    """Compute the stages that the named engines need; return their numbers."""
    trunk = stages.fit("holdout", LastRows(CERTIFIED), "trunk")
    results = {"holdout": stages.numbers("holdout")}
    names = [name for name in names if name != "holdout"]
    if names:
        guess = stages.fit("guess", FirstRows(CERTIFIED), "guess")
        known = [
            (clf, protocol.split(len(stages.X), draw_seed(SEED))[0])
            for clf, protocol in ((guess, FirstRows(CERTIFIED)), (trunk, LastRows(CERTIFIED)))
        ]
    for name in names:
        stages.fit(name, FromTrunk(ENGINES[name](), known), "more")
        results[name] = stages.numbers(name)
    return results


def print_table(results, trunk_seconds):
    """Print one line per engine."""
    print(
        f"\n{'engine':<14}{'trained':>8}{'certified':>10}{'errors':>7}{'certificate':>12}"
        f"{'test error':>11}{'seconds':>9}  bound"
    )
    for name, r in results.items():
        print(
            f"{name:<14}{r['n_fit']:>8}{r['n_certified']:>10}{r['n_errors'] or 0:>7}"
            f"{r['certificate']:>12.3%}{r['test_error']:>11.2%}{r['seconds']:>9.0f}  {r['bound']}"
        )
    print(
        f"\nWith probability {1 - DELTA:.0%} each. The trunk took {trunk_seconds:.0f} s; the "
        f"seconds of the other engines are what they take on top of it."
    )


def main():
    """Read the options, run, print and store."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="6,000 images, few epochs")
    parser.add_argument("--fresh", action="store_true", help="forget finished stages")
    parser.add_argument(
        "--only", nargs="+", choices=["holdout", *ENGINES], default=["holdout", *ENGINES]
    )
    options = parser.parse_args()
    prefix = "mnist_quick" if options.quick else "mnist"
    OUT.mkdir(exist_ok=True)
    if options.fresh:
        for name in ("holdout", "guess", *ENGINES):
            for ending in ("json", "pkl"):
                (OUT / f"{prefix}_{name}.{ending}").unlink(missing_ok=True)
    start = time.perf_counter()
    stages = Stages(prefix, QUICK if options.quick else FULL, images(options.quick))
    results = run(stages, options.only)
    value = results["holdout"]["certificate"]
    summary = {
        "engines": results,
        "target": TARGET,
        "passed": None if options.quick else value <= TARGET,
        "seconds_of_this_run": time.perf_counter() - start,
        "versions": {
            "skbound": skbound.__version__,
            "scikit-learn": sklearn.__version__,
            "torch": torch.__version__,
        },
    }
    (OUT / f"{prefix}.json").write_text(json.dumps(summary, indent=2) + "\n")
    print_table(results, results["holdout"]["seconds"])
    if not options.quick:
        verdict = "reached" if summary["passed"] else "NOT reached"
        print(f"Target of {TARGET:.2%} for the hold-out: {verdict}.")


if __name__ == "__main__":
    main()
