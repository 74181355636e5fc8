"""Two linters and a generator of TypeScript accept the OpenAPI document. They are in package.json and need Node."""

import subprocess
from pathlib import Path

import pytest

from tests.openapi.documents import STORED

FOLDER = Path(__file__).parent


def run_tool(name: str, *arguments: object) -> str:
    """Run a tool of package.json, and return its output. Fails if its exit code isn't 0."""
    program = FOLDER / "node_modules" / ".bin" / name
    if not program.exists():
        pytest.skip(f"NOT TESTED: {name} is missing; run npm ci --prefix tests/openapi")
    process = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=FOLDER)
    output = process.stdout + process.stderr
    assert process.returncode == 0, output
    return output


def test_redocly_finds_no_error_and_no_warning():
    assert "warning" not in run_tool("redocly", "lint", STORED, "--extends", "recommended").split("validating", 1)[1]


def test_spectral_finds_no_error_and_no_warning(tmp_path):
    ruleset = tmp_path / "spectral.yaml"
    ruleset.write_text('extends: ["spectral:oas"]\n')

    assert "No results with a severity of" in run_tool("spectral", "lint", "-r", ruleset, "-F", "warn", STORED)


def test_typescript_accepts_the_generated_types(tmp_path):
    types = tmp_path / "types.ts"

    run_tool("openapi-typescript", STORED, "-o", types)

    run_tool("tsc", "--strict", "--noEmit", types)
