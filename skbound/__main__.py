"""``python -m skbound``: choose a certified Transformer on real data, and look at the result."""

from __future__ import annotations

import argparse
import time
from importlib.util import find_spec

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, ParameterGrid, train_test_split

from skbound import BoundSearch, TransformerClassifier
from skbound.bounds._certificate import rounded_up

GRID: dict[str, list] = {
    "depth": [1, 2, 3],
    "width": [32, 64],
    "dropout": [0.0, 0.2],
    "weight_decay": [0.01, 0.1],
}
SEED = 0


def main(argv: list[str] | None = None) -> None:
    """Run the demonstration.

    Parameters
    ----------
    argv : list of str or None, default=None
        Command-line arguments; None reads them from the command line.

    Raises
    ------
    SystemExit
        If matplotlib is not installed.
    """
    options = _parser().parse_args(argv)
    if find_spec("matplotlib") is None:
        raise SystemExit("The demonstration draws a picture: pip install 'skbound[plot]'.")
    X, y = load_digits(return_X_y=True)
    # An image of 8 x 8 pixels is a sequence of 8 rows.
    X_fit, X_test, y_fit, y_test = train_test_split(
        X.reshape(-1, 8, 8), y, test_size=360, random_state=SEED
    )
    model = TransformerClassifier(max_epochs=options.epochs)
    search = BoundSearch(model, GRID, n_jobs=options.n_jobs, random_state=SEED, verbose=1)
    n_candidates = len(ParameterGrid(GRID))
    print(
        f"Digits: {len(y_fit)} rows to learn from, {len(y_test)} put away for the end.\n"
        f"{n_candidates} Transformers, one fit each, ranked on rows that are not certified:"
    )
    start = time.perf_counter()
    search.fit(X_fit, y_fit)
    seconds = time.perf_counter() - start
    test_error = 1.0 - search.score(X_test, y_test)
    _draw(search, test_error, options.picture)
    _print_table(search)
    print(f"\nChosen in {seconds:.0f} s: {_in_words(search.best_params_)}")
    print(f"\n{search.certificate_.statement()}\n{search.choice_}")
    print(
        f"\nIts error on the {len(y_test)} rows put away, read only now: "
        f"{test_error:.4f} (certificate {rounded_up(search.best_bound_)}).\n"
        f"Picture: {options.picture}"
    )
    if options.cross_validate:
        _compare_with_cross_validation(model, options, (X_fit, y_fit), (X_test, y_test), seconds)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m skbound", description=__doc__)
    parser.add_argument("--n-jobs", type=int, default=2, help="fits side by side (default 2)")
    parser.add_argument("--epochs", type=int, default=40, help="epochs per fit (default 40)")
    parser.add_argument(
        "--cross-validate",
        action="store_true",
        help="also choose by 5-fold cross-validation, which takes about five times as long",
    )
    parser.add_argument(
        "--picture", default="skbound_demo.png", help="where the picture goes (%(default)s)"
    )
    return parser


def _in_words(params) -> str:
    return ", ".join(f"{name}={value}" for name, value in params.items())


def _draw(search, test_error, path) -> None:
    from matplotlib import pyplot as plt

    plt.switch_backend("agg")
    errors = search.cv_results_["ranking_error"]
    order = np.argsort(search.cv_results_["ranking_loss"], kind="stable")
    place = int(np.flatnonzero(order == search.best_index_)[0])
    figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
    ax.plot(errors[order], "o", label="candidates: error on ranking rows")
    ax.plot(place, errors[search.best_index_], "*", ms=15, color="tab:red", label="chosen")
    ax.axhline(search.best_bound_, color="tab:red", label="its certificate")
    ax.axhline(test_error, color="0.3", ls="--", label="its error on rows put away")
    ax.set(xlabel="candidates by ranking loss, best first", ylabel="error", ylim=(0, None))
    ax.legend(frameon=False)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _print_table(search) -> None:
    results = search.cv_results_
    print("\n" + "".join(f"{name:>13}" for name in GRID), end="")
    print(f"{'loss':>9}{'error':>9}{'seconds':>9}")
    for index in np.argsort(results["ranking_loss"], kind="stable"):
        params = results["params"][index]
        print("".join(f"{params[name]:>13}" for name in GRID), end="")
        print(
            f"{results['ranking_loss'][index]:9.4f}{results['ranking_error'][index]:9.4f}", end=""
        )
        print(f"{results['mean_fit_time'][index]:9.1f}", end="")
        print("  <- chosen" if index == search.best_index_ else "")


def _compare_with_cross_validation(model, options, fit_rows, test_rows, seconds) -> None:
    start = time.perf_counter()
    cv = GridSearchCV(
        model.set_params(protocol=None, random_state=SEED), GRID, cv=5, n_jobs=options.n_jobs
    ).fit(*fit_rows)
    took = time.perf_counter() - start
    print(
        f"\n5-fold cross-validation chooses {_in_words(cv.best_params_)}\n"
        f"in {took:.0f} s ({took / seconds:.1f} times as long). Refitted on all rows, it errs on "
        f"{1 - cv.score(*test_rows):.4f} of the rows put away; it certifies nothing."
    )


if __name__ == "__main__":
    main()
