"""Imports go in one direction only: between packages and inside an app. There are no cycles."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAYERS = [
    {"foundation.db", "foundation.metrics"},
    {"foundation.outbox", "foundation.api"},
    {"foundation.egress"},
    {"organizations"},
    {"statuses", "webhooks", "notifications"},
    {"accounts"},
    {"leads"},
    {"optins"},
    {"appointments"},
    {"staff"},
    {"pipeline_backend"},
    {"dev"},
]
LAYER_OF = {package: number for number, packages in enumerate(LAYERS) for package in packages}
TOP_LEVEL = {package.split(".")[0] for package in LAYER_OF}
APP_LAYERS = [{"models"}, {"serializers", "topics"}, {"services"}, {"views"}]


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {
    module_name(path): path
    for package in sorted(TOP_LEVEL)
    for path in (ROOT / package).rglob("*.py")
    if "migrations" not in path.parts
}


def imports_of(path: Path) -> Iterator[str]:
    """Yield every module of the project that the file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in {path}"
            if node.module in MODULES:
                submodules = {f"{node.module}.{alias.name}" for alias in node.names} & MODULES.keys()
                yield from submodules or {node.module}


@cache
def imports() -> dict[str, set[str]]:
    """Return what each module imports. Not when this file is imported: every process of a run does that."""
    return {module: set(imports_of(path)) for module, path in MODULES.items()}


def package_of(module: str) -> str:
    """Return the innermost package in `LAYERS` that contains the module."""
    return max((package for package in LAYER_OF if f"{module}.".startswith(f"{package}.")), key=len)


def modules_in(app: str, names: set[str]) -> list[str]:
    """Return the app's modules with these names, and the modules below a package with one of them."""
    return [module for module in MODULES if module.startswith(f"{app}.") and module.split(".")[1] in names]


def test_a_package_imports_only_from_layers_below() -> None:
    upward = [
        f"{module} -> {imported}"
        for module, targets in imports().items()
        for imported in targets
        if package_of(imported) != package_of(module) and LAYER_OF[package_of(imported)] >= LAYER_OF[package_of(module)]
    ]

    assert upward == []


def test_inside_an_app_a_module_imports_only_from_layers_below() -> None:
    upward = [
        f"{module} -> {imported}"
        for app in TOP_LEVEL - {"pipeline_backend"}
        for layer, names in enumerate(APP_LAYERS)
        for module in modules_in(app, names)
        for imported in imports()[module] & set(modules_in(app, set().union(*APP_LAYERS[layer + 1 :])))
    ]

    assert upward == []


def find_cycle(graph: dict[str, set[str]]) -> list[str]:
    """Return the nodes of a cycle, or an empty list."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_integrations_use_only_the_standard_library_and_nothing_uses_them() -> None:
    def top_level(path: Path) -> set[str]:
        nodes = list(ast.walk(ast.parse(path.read_text())))
        plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        names = plain | {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
        return {name.split(".")[0] for name in names}

    relays = set((ROOT / "integrations").glob("*.py"))

    assert len(relays) == 5
    assert set().union(*map(top_level, relays)) - sys.stdlib_module_names == {"integrations"}
    assert [module for module, path in MODULES.items() if "integrations" in top_level(path)] == []


def test_modules_have_no_import_cycle() -> None:
    assert find_cycle(imports()) == []


def test_packages_have_no_import_cycle() -> None:
    def node(module: str) -> str:
        """Return the app of a module; inside `pipeline_backend`, its package."""
        parts = module.split(".")
        return ".".join(parts[:2]) if parts[0] == "pipeline_backend" else parts[0]

    graph: dict[str, set[str]] = {}
    for module, targets in imports().items():
        graph.setdefault(node(module), set()).update({node(target) for target in targets} - {node(module)})

    assert find_cycle(graph) == []


def test_the_project_package_holds_few_modules_directly() -> None:
    modules = [path.name for path in (ROOT / "pipeline_backend").glob("*.py") if path.name != "__init__.py"]

    assert len(modules) <= 8, modules


def test_a_worker_imports_no_pages_and_no_library_before_it_is_used() -> None:
    code = "import sys, pipeline_backend.celery; pipeline_backend.celery.app.loader.import_default_modules()"
    code += "; print(*(name for name in sys.modules if name.split('.')[0] in {'staff', 'aiohttp', 'openpyxl'}))"

    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout

    assert set(output.split()) == {"staff", "staff.apps", "staff.labels"}
