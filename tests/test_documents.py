"""README and API page say what the package does."""

import re
from pathlib import Path

import pytest

import skbound
import skbound.bounds

ROOT = Path(__file__).parents[1]


def test_readme_blocks_run(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(blocks) >= 4
    namespace = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), namespace)


@pytest.mark.parametrize("module", [skbound, skbound.bounds], ids=lambda m: m.__name__)
def test_every_public_name_is_on_the_api_page(module):
    page = (ROOT / "docs" / "api.rst").read_text()
    listed = set(re.findall(r"^   (?:\w+\.)*(\w+)$", page, re.MULTILINE))
    public = {name for name in module.__all__ if name not in ("__version__", "HOLDOUT_BOUNDS")}
    assert public <= listed, public - listed
    for name in public:
        assert getattr(module, name) is not None
    assert set(dir(module)) >= public


def test_unknown_names_raise():
    with pytest.raises(AttributeError, match="no attribute 'BoundSerach'"):
        _ = skbound.BoundSerach


def test_version_is_in_the_changelog():
    assert f"[{skbound.__version__}]" in (ROOT / "CHANGELOG.md").read_text()
