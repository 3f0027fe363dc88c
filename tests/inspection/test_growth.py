"""Exponents of growth, against powers that are known, and their picture."""

import sys

import numpy as np
import pytest
from matplotlib import pyplot as plt

from skbound.inspection import GrowthDisplay, compare_growth

SIZES = np.repeat([1.0, 2.0, 4.0, 8.0], 3)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_powers_are_found():
    found = compare_growth(SIZES, 7 * SIZES**0.5, {"linear": 3 * SIZES, "falling": 1 / SIZES})
    np.testing.assert_allclose(found.exponent, 0.5)
    np.testing.assert_allclose(found.exponents["linear"], 1.0)
    np.testing.assert_allclose(found.off_by["linear"], 0.5)
    np.testing.assert_allclose(found.off_by["falling"], -1.5)
    assert found.closest == "linear"


def test_units_do_not_matter():
    rng = np.random.default_rng(0)
    measured, predicted = rng.uniform(1, 2, (2, len(SIZES)))
    one = compare_growth(SIZES, measured, {"a": predicted})
    other = compare_growth(10 * SIZES, 3 * measured, {"a": 5 * predicted})
    np.testing.assert_allclose(one.off_by["a"], other.off_by["a"], atol=1e-12)


def test_what_both_share_does_not_widen_the_interval():
    noise = np.random.default_rng(0).lognormal(0, 0.5, len(SIZES))
    found = compare_growth(SIZES, SIZES * noise, {"same nets": SIZES**2 * noise, "alone": SIZES})
    width = {name: off.high - off.low for name, off in found.off_by.items()}
    assert width["same nets"] < 1e-6 < width["alone"]
    np.testing.assert_allclose(found.off_by["same nets"], 1.0)


def test_intervals_cover_as_often_as_they_say():
    rng = np.random.default_rng(0)
    n_trials, level = 400, 0.8
    hits = 0
    for _ in range(n_trials):
        measured = SIZES**0.7 * rng.lognormal(0, 0.3, len(SIZES))
        found = compare_growth(SIZES, measured, {"linear": SIZES}, level=level)
        off = found.off_by["linear"]
        hits += off.low <= 0.3 <= off.high
    assert abs(hits / n_trials - level) < 4 * (level * (1 - level) / n_trials) ** 0.5


def test_frame():
    found = compare_growth(SIZES, SIZES**0.5, {"linear": SIZES, "constant": np.ones(len(SIZES))})
    frame = found.to_frame()
    assert list(frame.index) == ["measured", "linear", "constant"]
    np.testing.assert_allclose(frame["exponent"], [0.5, 1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(frame["off_by"], [np.nan, 0.5, -0.5])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [1, 2], {"a": [1, 2]}), "three values"),
        (([2, 2, 2], [1, 2, 3], {"a": [1, 2, 3]}), "two of them different"),
        (([0, 1, 2], [1, 2, 3], {"a": [1, 2, 3]}), "sizes must be positive"),
        (([1, 2, 3], [1, -2, 3], {"a": [1, 2, 3]}), "measured must be positive"),
        (([1, 2, 3], [1, 2, 3], {"a": [1, 2, np.inf]}), r"predicted\['a'\] must be positive"),
        (([1, 2, 3], [1, 2, 3], {"a": [1, np.nan, 3]}), r"predicted\['a'\] must be positive"),
        (([1, 2, 3], [1, 2], {"a": [1, 2, 3]}), "measured must be 3 numbers"),
        (([1, 2, 3], [1, 2, 3], {"a": [[1, 2, 3]]}), r"got the shape \(1, 3\)"),
        (([1, 2, 3], [1, 2, 3], {}), "at least one expression"),
    ],
)
def test_what_cannot_be_compared(arguments, message):
    with pytest.raises(ValueError, match=message):
        compare_growth(*arguments)


@pytest.mark.parametrize("level", [0.0, 1.0, 95])
def test_level(level):
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        compare_growth([1, 2, 3], [1, 2, 3], {"a": [1, 2, 3]}, level=level)


def test_picture():
    found = compare_growth(SIZES, 2 * SIZES**0.5, {"linear": 9 * SIZES})
    _, ax = plt.subplots()
    display = GrowthDisplay.from_comparison(found, size_name="depth", ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert (ax.get_xlabel(), ax.get_xscale(), ax.get_yscale()) == ("depth", "log", "log")
    np.testing.assert_allclose(display.points_.get_offsets()[:, 1], found.measured)
    for name, power in (("measured", 0.5), ("linear", 1.0)):
        drawn = np.log(display.lines_[name].get_ydata())
        np.testing.assert_allclose(np.polyfit(np.log([1, 2, 4, 8]), drawn, 1)[0], power)
        # Both go through the middle of what was measured.
        np.testing.assert_allclose(drawn.mean(), np.log(found.measured).mean())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "measured: +0.50",
        "linear: +1.00",
    ]


def test_on_axes_of_its_own():
    display = GrowthDisplay.from_comparison(compare_growth(SIZES, SIZES, {"linear": SIZES}))
    assert display.ax_.figure is display.figure_


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    found = compare_growth(SIZES, SIZES, {"linear": SIZES})
    with pytest.raises(ImportError, match=r"pip install 'skbound\[plot\]'"):
        GrowthDisplay(found).plot()
