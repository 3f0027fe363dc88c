"""README and API page say what the package does."""

import re
from pathlib import Path

import pytest

import skbound
import skbound.architectures
import skbound.bounds
import skbound.collect
import skbound.datasets
import skbound.estimates
import skbound.evidence
import skbound.exceptions
import skbound.inspection
import skbound.measures
import skbound.monitors
import skbound.protocols
import skbound.regularizers
import skbound.tokenizers

ROOT = Path(__file__).parents[1]


def test_readme_blocks_run(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(blocks) >= 4
    namespace = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), namespace)


MODULES = [
    skbound,
    skbound.architectures,
    skbound.bounds,
    skbound.collect,
    skbound.datasets,
    skbound.estimates,
    skbound.evidence,
    skbound.exceptions,
    skbound.inspection,
    skbound.measures,
    skbound.monitors,
    skbound.protocols,
    skbound.regularizers,
    skbound.tokenizers,
]
NOT_FOR_USERS = {
    *("__version__", "BOUNDS", "HOLDOUT_BOUNDS", "Loss", "certified_error_estimate"),
    *("EnsembleRule", "CertifiedRecord", "DrawnPredictor", "FoldPredictor", "Together"),
    *("DIAGNOSTICS_NEED", "GATHER", "MEASURES"),
}


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_every_public_name_is_on_the_api_page(module):
    page = (ROOT / "docs" / "api.rst").read_text()
    listed = set(re.findall(r"^   (?:\w+\.)*(\w+)$", page, re.MULTILINE))
    public = set(module.__all__) - NOT_FOR_USERS
    assert public <= listed, public - listed
    for name in public:
        assert getattr(module, name) is not None
    assert set(dir(module)) >= public


def test_unknown_names_raise():
    with pytest.raises(AttributeError, match="no attribute 'BoundSerach'"):
        _ = skbound.BoundSerach


def test_version_is_in_the_changelog():
    assert f"[{skbound.__version__}]" in (ROOT / "CHANGELOG.md").read_text()
