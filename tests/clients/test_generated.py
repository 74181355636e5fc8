"""The generated part of the Python client is what the generator writes from the document, and it can be installed."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.docs.pages import ROOT

PACKAGE = ROOT / "clients/python/pipeline_client"


def sources(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.py")}


def test_the_checked_in_client_is_what_the_generator_writes_from_the_document(tmp_path: Path) -> None:
    generated = tmp_path / "generated"

    result = subprocess.run(
        ["make", "client", f"CLIENT={generated}"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert (result.returncode, "warning" in (result.stdout + result.stderr).lower()) == (0, False), result.stdout
    written, stored = sources(generated), sources(PACKAGE / "generated")
    different = sorted(name for name in written.keys() | stored.keys() if written.get(name) != stored.get(name))
    assert different == [], "Run `make client`."


def test_the_package_has_the_client_and_the_command(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "uv", "build", "--wheel", "--offline", "--quiet", "--out-dir", str(tmp_path)]

    subprocess.run([*build, "clients/python"], cwd=ROOT, check=True, env={"PATH": os.environ["PATH"]})

    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if name.endswith(".py")}
        [entry_points] = [archive.read(name) for name in archive.namelist() if name.endswith("entry_points.txt")]
    assert names == {f"pipeline_client/{name}" for name in sources(PACKAGE)}
    assert b"pipeline-mcp = pipeline_client.mcp_server:main" in entry_points
