"""Migrations import no live code, because renaming that must never change history."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOP_LEVEL = {path.parent.name for path in ROOT.glob("*/__init__.py")}
# Modules of ours that migrations may import. Their first docstring says that their import path never moves.
NEVER_MOVED = {
    "organizations.defaults",
    "foundation.db.encryption",
    "foundation.db.expressions",
    "foundation.db.timestamps",
}


def imports_of(path: Path) -> set[str]:
    """Return the modules that a file imports."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}


def test_a_migration_imports_no_live_code() -> None:
    live = [
        f"{path.relative_to(ROOT)} -> {module}"
        for path in ROOT.glob("*/migrations/*.py")
        for module in imports_of(path)
        if module.split(".")[0] in TOP_LEVEL and module not in NEVER_MOVED and ".migrations." not in module
    ]

    assert live == []


def test_a_module_that_migrations_import_says_that_it_never_moves() -> None:
    modules = [*NEVER_MOVED, "organizations.migrations._row_counts", "organizations.migrations._row_level_security"]
    docstrings = {
        name: ast.get_docstring(ast.parse((ROOT / (name.replace(".", "/") + ".py")).read_text())) for name in modules
    }

    assert [name for name, text in docstrings.items() if "never" not in (text or "")] == []
