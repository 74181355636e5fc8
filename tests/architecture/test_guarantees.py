"""`docs/guarantees.md` names no test that does not exist."""

import ast
import re
from pathlib import Path

NAMED = re.compile(r"`(tests/[\w/]+(?:\.py)?)(?:::(\w+))?`")
DOCUMENT = Path("docs/guarantees.md")


def names_in(path: Path) -> set[str]:
    """The names of a file's tests."""
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}


def test_every_test_that_the_guarantees_name_exists() -> None:
    named = [(Path(path), name) for path, name in NAMED.findall(DOCUMENT.read_text())]

    assert len(named) > 100
    assert [path for path, _ in named if not path.exists()] == []
    assert [f"{path}::{name}" for path, name in named if name and name not in names_in(path)] == []


def test_nothing_that_reads_like_a_test_is_outside_of_those_names() -> None:
    assert re.findall(r"(?<![\w/`:])(?:\.\w+)?::test_\w+", NAMED.sub("", DOCUMENT.read_text())) == []
