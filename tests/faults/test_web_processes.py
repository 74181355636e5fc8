"""The processes of one web server share the memory of what it has imported (docs/operate.md, Sizing)."""

import os
import sys
from pathlib import Path

import psutil
import pytest

from tests.faults.stack import Stack
from tests.overrides import overriding

# The default of Python 3.14 on Linux.
FORKSERVER = "import multiprocessing\nmultiprocessing.set_start_method('forkserver')\n"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems start new interpreters")
@pytest.mark.django_db(transaction=True)
def test_the_processes_of_a_server_are_forks_also_where_python_would_not_fork(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(FORKSERVER)
    path = os.pathsep.join([str(tmp_path), overriding()["PYTHONPATH"]])

    with Stack(tmp_path / "stack", web_workers=2, settings={"PYTHONPATH": path}) as stack:
        stack.start("web")
        children = psutil.Process(stack.processes["web"].pid).children()
        commands = [child.cmdline()[1:3] for child in children]

    assert commands == 2 * [["-m", "pipeline_backend.web"]]
