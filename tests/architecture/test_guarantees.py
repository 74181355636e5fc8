"""`docs/guarantees.md` names only tests that exist."""

import ast
import re
from pathlib import Path

TEST_REFERENCE = re.compile(r"`(tests/[\w/]+(?:\.py)?)(?:::(\w+))?`")
DOCUMENT = Path("docs/guarantees.md")


def function_names(path: Path) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}


def test_every_test_that_the_guarantees_name_exists() -> None:
    references = [(Path(path), name) for path, name in TEST_REFERENCE.findall(DOCUMENT.read_text())]

    assert len(references) > 100
    assert [path for path, _ in references if not path.exists()] == []
    assert [f"{path}::{name}" for path, name in references if name and name not in function_names(path)] == []


def test_every_mention_of_a_test_is_a_full_reference() -> None:
    """A shortened one, such as `::test_name`, would not be checked by the test above."""
    text_without_references = TEST_REFERENCE.sub("", DOCUMENT.read_text())

    assert re.findall(r"(?<![\w/`:])(?:\.\w+)?::test_\w+", text_without_references) == []
