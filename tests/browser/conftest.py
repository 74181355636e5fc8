"""Fixtures for the browser: the site, the members' browser, and where screenshots are kept."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.chromium import Members, running_chromium
from tests.browser.site import Site, running_site
from tests.faults.stack import ROOT
from tests.programs import find_program


@pytest.fixture(scope="package")
def chromium() -> str:
    """Return the program; without it, the tests of this package are skipped."""
    return find_program("chromium")


@pytest.fixture(scope="package")
def site(chromium: str, django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Start the service with the demo's data."""
    with running_site(tmp_path_factory.mktemp("browser")) as site:
        yield site


@pytest.fixture(scope="package")
def members(site: Site, chromium: str) -> Iterator[Members]:
    """Start the browser."""
    with running_chromium(site, chromium) as members:
        yield members


@pytest.fixture(scope="package")
def screenshots() -> Path:
    """Return the folder in which screenshots are kept after the run."""
    folder = ROOT / ".data/screenshots"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
