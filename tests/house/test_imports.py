"""The house's floors: an app imports only from the floors below it."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FLOORS = [
    {"pipeline_backend"},
    {"organizations"},
    {"statuses", "webhooks", "notifications"},
    {"leads"},
    {"optins"},
    {"appointments"},
]
LEVEL = {app: floor for floor, apps in enumerate(FLOORS) for app in apps}
GROUND = {"outbox", "doorbell", "claims", "settling", "turns", "desk", "courier", "sending", "answers", "addresses", "moments", "rows", "encryption", "api"}
INSIDE = ["models", "shapes", "events", "services", "views"]


def files_of(app: str) -> Iterator[Path]:
    return (path for path in (ROOT / app).rglob("*.py") if "migrations" not in path.parts)


def imports_of(path: Path) -> Iterator[str]:
    """Every module imported anywhere in the file, in functions too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module


def is_roof(path: Path) -> bool:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[0] == "pipeline_backend" and len(parts) > 1 and parts[1] not in GROUND


def test_an_app_imports_only_from_the_floors_below() -> None:
    uphill = [
        f"{path.relative_to(ROOT)} -> {module}"
        for app in LEVEL
        for path in files_of(app)
        if not is_roof(path)
        for module in imports_of(path)
        if (target := module.split(".")[0]) in LEVEL and target != app and LEVEL[target] >= LEVEL[app]
    ]

    assert uphill == []


def test_nobody_imports_the_roof() -> None:
    ground = {"pipeline_backend", *(f"pipeline_backend.{name}" for name in GROUND)}
    roof = [
        f"{path.relative_to(ROOT)} -> {module}"
        for app in LEVEL
        for path in files_of(app)
        if not is_roof(path)
        for module in imports_of(path)
        if module.startswith("pipeline_backend") and ".".join(module.split(".")[:2]) not in ground
    ]

    assert roof == []


def test_the_ground_knows_no_app() -> None:
    known = [
        f"{path.relative_to(ROOT)} -> {module}"
        for path in files_of("pipeline_backend")
        if not is_roof(path)
        for module in imports_of(path)
        if module.split(".")[0] in set(LEVEL) - {"pipeline_backend"}
    ]

    assert known == []


def test_inside_an_app_what_is_read_stands_below_what_is_done() -> None:
    upward = [
        f"{path.relative_to(ROOT)} -> {module}"
        for app in LEVEL
        for place, name in enumerate(INSIDE)
        for path in [*(ROOT / app).glob(f"{name}.py"), *(ROOT / app).glob(f"{name}/*.py")]
        for module in imports_of(path)
        if module in {f"{app}.{later}" for later in INSIDE[place + 1 :]}
    ]

    assert upward == []
