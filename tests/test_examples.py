"""Every example runs to its end, draws if its name says so, and prints."""

import runpy
from pathlib import Path

import pytest
from matplotlib import pyplot as plt

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.py"))


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_there_are_examples():
    assert len(EXAMPLES) >= 7


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, monkeypatch, capsys):
    if path.stem.startswith("optuna"):
        pytest.importorskip("optuna")
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.get_fignums()))
    runpy.run_path(str(path), run_name="__main__")
    assert bool(shown) == path.stem.startswith("plot_")
    assert all(shown)
    assert capsys.readouterr().out
