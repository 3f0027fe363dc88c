"""Who may import whom: bounds work on numbers alone, and nothing imports upward."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PURE = [
    *sorted((ROOT / "skbound" / "bounds").glob("**/*.py")),
    *sorted((ROOT / "skbound" / "evidence").glob("**/*.py")),
    *sorted((ROOT / "skbound" / "measures").glob("**/*.py")),
    ROOT / "skbound" / "estimates.py",
]
# pandas for tables, which load it when they are asked for: the test of loaded modules sees to it.
ALLOWED = {"numpy", "scipy", "pandas"}
ALLOWED_HERE = ("skbound.evidence", "skbound.bounds", "skbound.measures", "skbound.exceptions")


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


@pytest.mark.parametrize("module", ["bounds", "evidence", "measures", "datasets"])
def test_import_loads_nothing_heavy(module):
    tops = "{m.partition('.')[0] for m in sys.modules}"
    code = f"import sys, skbound.{module}; print(*sorted({tops}))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not {"torch", "skorch", "matplotlib", "sklearn", "pandas"} & set(done.stdout.split())


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


# What each part of the package may import from the package itself, besides its own folder.
LAYERS = {
    "evidence": {"exceptions"},
    "exceptions": set(),
    "_sklearn_compat": set(),
    "_random_state": set(),
    "datasets": set(),
    "bounds": {"evidence", "exceptions"},
    "estimates": {"evidence", "exceptions"},
    "measures": {"evidence", "exceptions"},
    "protocols": {"bounds", "evidence", "_random_state"},
    "_inputs": {"_sklearn_compat"},
    "architectures": {"_sklearn_compat"},
    "_nn": {"architectures"},
    "_training": {"_nn", "regularizers"},
    "collect": {"evidence", "exceptions", "_nn"},
    "tokenizers": {"_inputs", "_sklearn_compat", "_nn"},
    "regularizers": {"_nn"},
    "monitors": {"_nn", "bounds"},
    "classifiers": {
        *("architectures", "bounds", "collect", "estimates", "evidence", "exceptions"),
        *("inspection", "measures", "protocols", "regularizers", "tokenizers"),
        *("_inputs", "_nn", "_random_state", "_sklearn_compat", "_training"),
    },
    "model_selection": {
        *("bounds", "classifiers", "evidence", "exceptions", "protocols"),
        *("_inputs", "_random_state", "_sklearn_compat"),
    },
    "inspection": {"bounds", "evidence", "exceptions", "measures", "_random_state"},
}
WITHOUT_TORCH = (
    LAYERS.keys() - {"_nn", "_training", "classifiers", "collect", "regularizers"} - {"monitors"}
)


def part_of(path):
    return path.relative_to(ROOT / "skbound").with_suffix("").parts[0]


SOURCES = [
    path
    for path in sorted((ROOT / "skbound").glob("**/*.py"))
    if path.parent != ROOT / "skbound" or path.stem not in ("__init__", "__main__")
]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_imports_upward(path):
    part, modules = part_of(path), list(imported_modules(path))
    inside = {module.split(".")[1] for module in modules if module.startswith("skbound.")}
    assert inside - {part} <= LAYERS[part]
    if part in WITHOUT_TORCH:
        assert not {"torch", "skorch"} & {module.partition(".")[0] for module in modules}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_private_names_of_scikit_learn_are_in_one_place(path):
    if path.stem == "_sklearn_compat":
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sklearn"):
            names = [node.module, *(alias.name for alias in node.names)]
            assert not [n for n in names for p in n.split(".") if p.startswith("_")], names
