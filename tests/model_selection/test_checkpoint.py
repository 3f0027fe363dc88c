"""A search that was killed goes on; an extended one counts all that was ever certified."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from skbound import BoundedClassifier, BoundSearch

ROOT = Path(__file__).resolve().parents[2]
X, Y = make_classification(300, 6, n_informative=3, flip_y=0.2, random_state=0)
DEPTHS = [1, 2, 3, 4, 6, 8]


class Counted(DecisionTreeClassifier):
    """Writes down every fit."""

    log: list = []  # noqa: RUF012

    def fit(self, X, y):
        self.log.append(self.max_depth)
        return super().fit(X, y)


def search_of(folder, depths=DEPTHS, **settings):
    grid = {"estimator__max_depth": depths}
    settings = {"choose_by": "bound", "random_state": 0} | settings
    return BoundSearch(BoundedClassifier(Counted()), grid, checkpoint=folder, **settings)


@pytest.mark.parametrize("choose_by", ["bound", "training_side"])
def test_nothing_is_fitted_twice(tmp_path, choose_by):
    one = search_of(tmp_path, choose_by=choose_by).fit(X, Y)
    Counted.log.clear()
    two = search_of(tmp_path, choose_by=choose_by).fit(X, Y)
    assert Counted.log == []
    assert two.certificate_ == one.certificate_
    assert np.array_equal(two.predict(X), one.predict(X))
    plain = search_of(None, choose_by=choose_by).fit(X, Y)
    assert plain.certificate_ == one.certificate_


def test_an_extended_search_pays_for_the_union(tmp_path):
    search_of(tmp_path, DEPTHS[:4], choose_by="bound").fit(X, Y)
    Counted.log.clear()
    more = search_of(tmp_path, DEPTHS[2:], choose_by="bound").fit(X, Y)
    assert sorted(Counted.log) == DEPTHS[4:]
    assert more.n_candidates_ == 4
    assert more.certificate_.n_candidates == 6
    informed = search_of(tmp_path, DEPTHS[:2], choose_by="bound", candidate_weights="informed")
    informed.fit(X, Y)
    assert sum(informed.cv_results_["share"]) <= 1.0
    assert informed.evidence_.share <= 0.8 * 2 / 6 + 1e-9


def test_another_winner_on_the_same_rows_is_paid_for(tmp_path):
    first = search_of(tmp_path, [1], choose_by="training_side").fit(X, Y)
    second = search_of(tmp_path, [8], choose_by="training_side").fit(X, Y)
    assert (first.certificate_.n_candidates, second.certificate_.n_candidates) == (1, 2)
    same = search_of(tmp_path, [1], choose_by="training_side").fit(X, Y)
    # By now both have been evaluated on these rows.
    assert same.certificate_.n_candidates == 2


def test_other_data_seeds_and_parameters_are_not_mixed_up(tmp_path):
    search_of(tmp_path, [2], choose_by="bound").fit(X, Y)
    for rows, settings in ((X + 1.0, {}), (X, {"random_state": 1})):
        Counted.log.clear()
        search_of(tmp_path, [2], choose_by="bound", **settings).fit(rows, Y)
        assert Counted.log == [2]


def test_half_a_file_is_no_result(tmp_path):
    search_of(tmp_path, [2], choose_by="bound").fit(X, Y)
    (file,) = tmp_path.glob("*/fit_candidate-*.pkl")
    file.rename(file.with_suffix(".123.unfinished"))
    Counted.log.clear()
    search_of(tmp_path, [2], choose_by="bound").fit(X, Y)
    assert Counted.log == [2]


SCRIPT = """
import sys, time
import numpy as np
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier
from skbound import BoundedClassifier, BoundSearch

class Slow(DecisionTreeClassifier):
    def fit(self, X, y):
        time.sleep(0.05)
        with open(sys.argv[2], "a") as file:
            file.write(f"{self.max_depth} {len(X)}\\n")
        return super().fit(X, y)

if __name__ == "__main__":
    X, y = make_classification(300, 6, n_informative=3, flip_y=0.2, random_state=0)
    grid = {"estimator__max_depth": [1, 2, 3, 4, 6, 8]}
    search = BoundSearch(
        BoundedClassifier(Slow()), grid, checkpoint=sys.argv[1], random_state=0, choose_by="bound"
    ).fit(X, y)
    print(search.best_index_, repr(search.best_bound_))
"""


def test_a_killed_search_ends_with_the_same_result(tmp_path):
    script = tmp_path / "search.py"
    script.write_text(SCRIPT)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    rng = np.random.default_rng(0)

    def run(folder, *, kill_after=None):
        log = tmp_path / f"{folder}.log"
        command = [sys.executable, str(script), str(tmp_path / folder), str(log)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        if kill_after is not None:
            # From the moment at which so many fits are done: starting Python takes seconds.
            stop = time.monotonic() + 60.0
            while time.monotonic() < stop and process.poll() is None:
                if log.exists() and len(log.read_text().splitlines()) >= kill_after:
                    break
                time.sleep(0.01)
            time.sleep(rng.uniform(0.0, 0.05))
            process.send_signal(signal.SIGKILL)
        output, _ = process.communicate()
        return output, log

    whole, log = run("whole")
    assert len(log.read_text().splitlines()) == 6
    for kill_after in (1, 3, 5):
        run("cut", kill_after=kill_after)
    output, log = run("cut")
    assert output == whole
    # Of each kill at most the fit that was running is repeated.
    assert 6 <= len(log.read_text().splitlines()) <= 6 + 3
