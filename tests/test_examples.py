"""Every example runs to its end, draws, and prints."""

import runpy
from pathlib import Path

import pytest
from matplotlib import pyplot as plt

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.py"))


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_there_are_examples_and_nothing_else():
    assert len(EXAMPLES) >= 3
    assert all(path.name.startswith("plot_") for path in EXAMPLES)


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, monkeypatch, capsys):
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.get_fignums()))
    runpy.run_path(str(path), run_name="__main__")
    assert shown
    assert all(shown)
    assert capsys.readouterr().out
