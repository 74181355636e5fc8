"""Whatever keeps `make run` from starting is reported in one sentence."""

import socket
from collections.abc import Callable

import pytest

from tests.local.runner import Run

StartRun = Callable[..., Run]


def test_a_port_in_use_is_reported(start_run: StartRun) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        run = start_run(port=port)

        assert run.exit_code() == 1
    assert run.log == f"Port {port} is already in use; choose another one with PORT={port + 1} make run\n"


@pytest.mark.parametrize("port", ["eighty", "0", "65536", "-1"])
def test_an_invalid_port_is_reported(start_run: StartRun, port: str) -> None:
    run = start_run(port=port)

    assert run.exit_code() == 1
    assert run.log == f"PORT={port} is not a valid port; use a number from 1 to 65535\n"


def test_a_second_run_of_the_same_checkout_is_refused(start_run: StartRun) -> None:
    first = start_run().wait_until_up()

    second = start_run()

    assert second.exit_code() == 1
    assert second.log == f"make run is already running as process {first.process.pid}; stop that first\n"
    assert first.process.poll() is None


@pytest.mark.parametrize("variable", ["DATABASE_URL", "REDIS_URL"])
def test_an_unreachable_server_is_reported_without_its_password(start_run: StartRun, variable: str) -> None:
    scheme = {"DATABASE_URL": "postgres", "REDIS_URL": "redis"}[variable]

    run = start_run(**{variable: f"{scheme}://somebody:hunter2@127.0.0.1:9/none"})

    assert run.exit_code() == 1
    assert run.log.startswith(f"The server in {variable} does not answer")
    assert run.log.count("\n") == 1
    assert "hunter2" not in run.log


@pytest.mark.parametrize("url", ["nonsense", "sqlite:///hunter2", "postgres://somebody:hunter2@[::1/none"])
def test_an_invalid_database_url_is_reported_without_its_password(start_run: StartRun, url: str) -> None:
    run = start_run(DATABASE_URL=url)

    assert run.exit_code() == 1
    assert run.log == "DATABASE_URL is not a valid server URL\n"
    assert "hunter2" not in run.log
