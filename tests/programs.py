"""Programs that no package from PyPI carries: tests that need one are skipped, with a reason, where it is missing."""

import os
import shutil

import pytest

SEARCH_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])
DEBIAN_PACKAGES = {
    "caddy": "caddy",
    "chromium": "chromium",
    "curl": "curl",
    "git": "git",
    "nginx": "nginx-light",
    "pgbouncer": "pgbouncer",
    "prometheus": "prometheus",
    "promtool": "prometheus",
    "systemd-analyze": "systemd",
}


def find_program(name: str) -> str:
    """Return the path of a program of DEBIAN_PACKAGES, or skip the test and say what to install."""
    path = shutil.which(name, path=SEARCH_PATH)
    if path is None:
        pytest.skip(f"NOT TESTED: {name} is missing; install Debian's package {DEBIAN_PACKAGES[name]}")
    return path
