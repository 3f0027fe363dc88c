"""Every example runs as it stands."""

import runpy
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def test_there_are_examples():
    assert len(EXAMPLES) >= 5


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path, capsys):
    if path.stem.startswith("optuna"):
        pytest.importorskip("optuna")
    with mpl.rc_context({"backend": "agg"}):
        runpy.run_path(str(path), run_name="__main__")
    figures = plt.get_fignums()
    plt.close("all")
    assert bool(figures) == path.stem.startswith("plot_")
    assert capsys.readouterr().out
