"""The house itself: direction of imports, one list of dependencies, thin notebooks without outputs."""

import ast
import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "rag_pilot"
STREET = (
    "errors",
    "identity",
    "records",
    "said",
    "files",
    "progress",
    "pool",
    "settings",
    "lock",
    "corpus",
    "retrieval",
    "answering",
    "grading",
    "analysis",
    "criteria",
    "extension",
    "runs",
    "evaluation",
    "building",
    "hosted",
    "audit",
    "reindex",
    "models",
    "scores",
    "fitting",
    "looks",
    "admitting",
    "pilot",
    "planning",
    "forecast",
    "results",
    "amending",
    "examples",
    "stored",
    "compared",
    "two_runs",
    "ledger",
    "reading",
    "review",
    "reread",
    "release",
    "adopting",
    "second",
    "tracing",
    "reporting",
    "starter",
    "commands",
    "__main__",
)
"""Each room knows only the rooms before it."""
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    """The rooms that a module imports, anywhere in it but under TYPE_CHECKING in the package's own __init__."""
    rooms = set()
    depth = len(path.relative_to(PACKAGE).parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == depth:
            names = [node.module.split(".")[0]] if node.module else [alias.name for alias in node.names]
            rooms |= set(names)
    return rooms & set(STREET)


def test_each_room_imports_only_rooms_above_it_in_the_street():
    for path in sorted(PACKAGE.rglob("*.py")):
        if path == PACKAGE / "__init__.py":
            continue
        mine = STREET.index(room_of(path))
        below = {room for room in imported_rooms(path) if STREET.index(room) > mine}
        assert not below, f"{path.relative_to(ROOT)} imports {below}"


def test_every_module_of_the_package_has_its_room_in_the_street():
    assert {room_of(p) for p in PACKAGE.rglob("*.py")} - {"__init__"} <= set(STREET)


def test_analysis_imports_neither_pandas_nor_a_model_nor_files():
    for path in (PACKAGE / "analysis").glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {a.name.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
        origins = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module and not n.level]
        names |= {str(n.module).split(".")[0] for n in origins}
        assert names.isdisjoint({"pandas", "torch", "sentence_transformers", "openai", "pathlib", "os", "io"}), (
            path.name
        )


def test_the_form_knows_nothing_of_the_judge():
    seen, waiting = set(), [PACKAGE / "grading" / "form.py"]
    while waiting:
        path = waiting.pop()
        seen.add(path.name)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level == 1:
                for name in [node.module] if node.module else [a.name for a in node.names]:
                    target = path.parent / f"{name}.py"
                    if target.exists() and target.name not in seen:
                        waiting.append(target)
    assert "judge.py" not in seen
    assert "agreement.py" not in seen


def test_importing_the_package_loads_no_heavy_library():
    heavy = ("torch", "pandas", "scipy", "matplotlib", "openai")
    code = f"import sys, rag_pilot; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_can_be_reached_and_is_documented():
    import rag_pilot

    for name in rag_pilot.__all__:
        assert getattr(rag_pilot, name).__doc__, name


def test_environment_yml_installs_this_project_and_names_no_dependency_of_its_own():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert environment["name"] == project["name"] == "rag-pilot"
    python, pip, packages = environment["dependencies"]
    assert python.removeprefix("python=") in project["requires-python"]
    assert pip == "pip"
    assert packages["pip"] == ["--constraint constraints.txt", "-e .[offline]"]
    assert "offline" in project["optional-dependencies"]


def test_the_constraints_pin_every_dependency_and_hold_no_address():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {line.partition("==")[0].lower().replace("_", "-") for line in lines}
    assert all("==" in line and "://" not in line and "+" not in line for line in lines)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *project["optional-dependencies"]["offline"],
        *project["optional-dependencies"]["dev"],
    ]
    names = {re.split(r"[<>=;\[\s]", line)[0].lower() for line in wanted} - {"rag-pilot"}
    assert names <= pinned, names - pinned


def test_there_are_ten_notebooks_numbered_from_00_to_09():
    assert [p.name[:3] for p in NOTEBOOKS] == [f"0{n}_" for n in range(10)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_is_thin_without_outputs_and_opens_and_closes_as_agreed(path):
    book = json.loads(path.read_text(encoding="utf-8"))
    code = [c for c in book["cells"] if c["cell_type"] == "code"]
    prose = ["".join(c["source"]) for c in book["cells"] if c["cell_type"] == "markdown"]
    for cell in code:
        source = "".join(cell["source"])
        tree = ast.parse(source)
        assert not cell["outputs"]
        assert cell["execution_count"] is None
        assert len(source.splitlines()) <= 12
        forbidden = (ast.FunctionDef, ast.ClassDef, ast.For, ast.While, ast.Try, ast.With)
        assert not any(isinstance(node, forbidden) for node in ast.walk(tree))
        assert "sys.path" not in source
    assert all(word in prose[0] for word in ("# 0", "about", "*Reads*", "*writes*"))
    assert "Now there must be" in prose[-1]
    assert "Next:" in prose[-1]


def test_every_package_installed_runs_on_the_oldest_python_that_is_promised():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest = f"{project['requires-python'].removeprefix('>=')}.0"
    wanted = {d.metadata["Name"]: d.metadata["Requires-Python"] for d in importlib.metadata.distributions()}
    assert not {name: asks for name, asks in wanted.items() if asks and oldest not in SpecifierSet(asks)}


def test_a_benchmark_hides_no_standard_module_from_the_libraries_of_the_others():
    asked = "import statistics, sys; print(statistics.median([3, 1, 2]), statistics.__file__.startswith(sys.argv[1]))"
    run = [sys.executable, "-c", asked, str(ROOT)]
    told = subprocess.run(run, cwd=ROOT / "benchmarks", capture_output=True, text=True, check=True).stdout
    assert told.split() == ["2", "False"]


def test_the_map_of_the_house_is_a_page_and_names_every_room_that_is_there():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    named = set(re.findall(r"[a-z_0-9]+", text))
    assert set(STREET) - {"__main__"} <= named
    modules = {path.stem.rstrip("_") for path in PACKAGE.rglob("*.py")} | {path.stem for path in PACKAGE.rglob("*.js")}
    for line in text.split("```")[1].splitlines():
        for word in line[:32].split("  ")[0].split():
            stem = word.rstrip("/*|")
            assert any(m.startswith(stem) for m in modules) or (PACKAGE / stem).is_dir() or (ROOT / stem).is_dir(), word
