"""Starts the web server: `python -m pipeline_backend.web`, followed by any options of granian.

The limits keep the service available despite thousands of idle or stalled connections (docs/guarantees.md, *Floods*).
"""

import argparse
import multiprocessing
import os
import resource
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from importlib import import_module

from granian.cli import cli

from foundation.metrics.shared import shared_folder

MAX_CONNECTIONS = 4096  # of each worker process; more than these wait in the backlog
OTHER_FILES = 512  # that a worker process needs besides: for code, the database, Redis and logs
MIN_CONNECTIONS = 128


def parse(arguments: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return what we read ourselves, and granian's other options. `--application` names another application."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--application", default="pipeline_backend.web.rsgi:server")
    parser.add_argument("--workers", type=int, default=2)
    return parser.parse_known_args(arguments)


def command(arguments: Sequence[str], connections: int) -> list[str]:
    """Return granian's arguments: ours, then the given ones, which win."""
    ours, granians = parse(arguments)
    return [
        "--interface=rsgi",
        "--http=1",
        "--no-ws",
        f"--workers={ours.workers}",
        # Seconds for DRAIN_SECONDS and for requests in progress.
        "--workers-kill-timeout=40",
        "--respawn-failed-workers",
        # Connections that wait to be accepted. The kernel's net.core.somaxconn may be lower.
        "--backlog=8192",
        f"--backpressure={connections}",
        # Milliseconds. They also run while a connection is idle: before its first request and between two of them.
        "--http1-header-read-timeout=5000",
        # Bytes, for the head of a request (the address and a few headers of 8 KiB) and for each part of its body.
        "--http1-buffer-size=32768",
        *granians,
        ours.application,
    ]


def allow_open_files() -> int:
    """Allow this process and its workers as many open files as they need; return the number that the system allows."""
    soft_limit, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = MAX_CONNECTIONS + OTHER_FILES
    allowed = needed if hard_limit == resource.RLIM_INFINITY else min(needed, hard_limit)
    if soft_limit != resource.RLIM_INFINITY and soft_limit < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard_limit))
    return allowed


def preload(options: argparse.Namespace) -> None:
    """Import the application before Granian forks its workers, so that they share its memory: two take 50 MB less.

    One worker would take 10 MB more. Does nothing where Granian can't fork them, as on macOS.
    """
    if options.workers > 1 and multiprocessing.get_start_method() == "forkserver":
        # The default of Python 3.14 on Linux, which Granian replaces by workers that share nothing.
        multiprocessing.set_start_method("fork", force=True)
    if options.workers > 1 and multiprocessing.get_start_method() == "fork":
        import_module(options.application.partition(":")[0])
        from django.urls import get_resolver  # noqa: PLC0415  # a single process has no use for it here

        get_resolver().url_patterns  # noqa: B018  # imports the views and pages


def main() -> None:
    connections = max(MIN_CONNECTIONS, allow_open_files() - OTHER_FILES)
    if connections < MAX_CONNECTIONS:
        sys.stderr.write(
            f"WARNING: this system allows only {connections} connections for each web process instead of "
            f"{MAX_CONNECTIONS}. Raise the limit of open files (ulimit -n) to {MAX_CONNECTIONS + OTHER_FILES}.\n"
        )
    # Without a token no one reads the counts.
    has_token = os.environ.get("METRICS_TOKEN") or os.environ.get("METRICS_TOKEN_FILE")
    with shared_folder() if has_token else nullcontext():
        preload(parse(sys.argv[1:])[0])
        cli(command(sys.argv[1:], connections))


# Granian's worker processes import this module, too.
if __name__ == "__main__":
    main()
