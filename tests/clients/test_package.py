"""The Python client is generated from the document, and it can be installed."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.docs.pages import ROOT

PACKAGE = ROOT / "clients/python/pipeline_client"


def test_the_generator_has_no_warning_about_the_document(tmp_path: Path) -> None:
    generated = tmp_path / "generated"

    result = subprocess.run(
        ["make", "client", f"CLIENT={generated}"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert (result.returncode, "warning" in (result.stdout + result.stderr).lower()) == (0, False), result.stdout
    assert {path.name for path in generated.glob("api/*/")} >= {"appointments", "leads", "opt_ins", "events"}


def test_the_package_has_the_client_and_the_command(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "uv", "build", "--wheel", "--offline", "--quiet", "--out-dir", str(tmp_path)]

    subprocess.run([*build, "clients/python"], cwd=ROOT, check=True, env={"PATH": os.environ["PATH"]})

    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if name.endswith(".py")}
        [entry_points] = [archive.read(name) for name in archive.namelist() if name.endswith("entry_points.txt")]
    assert names == {f"pipeline_client/{path.relative_to(PACKAGE)}" for path in PACKAGE.rglob("*.py")}
    assert b"pipeline-mcp = pipeline_client.mcp_server:main" in entry_points
