"""``python -m skbound``, shortened to few epochs."""

import subprocess

from skbound import __main__ as demo


def test_demo(capsys, tmp_path):
    picture = tmp_path / "picture.png"
    demo.main(["--epochs", "2", "--n-jobs", "1", "--picture", str(picture)])
    printed = capsys.readouterr().out
    assert "24 Transformers, one fit each" in printed
    assert printed.count("<- chosen") == 1
    assert "chosen among 24 by its losses on rows that are not certified" in printed
    assert "Its error on the 360 rows put away, read only now" in printed
    assert picture.stat().st_size > 10_000


def test_demo_with_cross_validation(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "GRID", {"depth": [1], "width": [8, 16]})
    demo.main(
        ["--epochs", "1", "--n-jobs", "1", "--cross-validate", "--picture", str(tmp_path / "p.png")]
    )
    assert "5-fold cross-validation chooses" in capsys.readouterr().out


def test_the_picture_is_ignored_by_git():
    ignored = subprocess.run(["git", "check-ignore", "-q", "skbound_demo.png"], check=False)
    assert ignored.returncode == 0
