"""What the bounds may import: they have to work without torch, on numbers alone."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PURE = [
    *sorted((ROOT / "skbound" / "bounds").glob("**/*.py")),
    ROOT / "skbound" / "evidence.py",
    ROOT / "skbound" / "estimates.py",
]
ALLOWED = {"numpy", "scipy"}
ALLOWED_HERE = ("skbound.evidence", "skbound.bounds", "skbound.exceptions")


def imported_modules(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def allowed(module):
    top = module.partition(".")[0]
    if top == "skbound":
        return any(module == home or module.startswith(home + ".") for home in ALLOWED_HERE)
    return top in ALLOWED or top in sys.stdlib_module_names


@pytest.mark.parametrize("path", PURE, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_are_allowed(path):
    assert [module for module in imported_modules(path) if not allowed(module)] == []


@pytest.mark.parametrize("module", ["skbound.bounds", "skbound.evidence", "skbound.datasets"])
def test_import_loads_nothing_heavy(module):
    code = f"import sys, {module}; print(*sorted({{m.partition('.')[0] for m in sys.modules}}))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not {"torch", "skorch", "matplotlib", "sklearn"} & set(done.stdout.split())


def test_the_rule_itself():
    assert allowed("math")
    assert allowed("scipy.special")
    assert allowed("skbound.bounds._bound")
    for module in (
        "torch",
        "sklearn.base",
        "skbound",
        "skbound.protocols",
        "..evidence",
        "skbound.boundsX",
    ):
        assert not allowed(module)
