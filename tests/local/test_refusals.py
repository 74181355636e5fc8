"""What keeps `make run` from starting is said in one sentence."""

import socket
from collections.abc import Callable

import pytest

from tests.local.running import Run

StartRun = Callable[..., Run]


def test_a_taken_port(start_run: StartRun) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        run = start_run(port=port)

        assert run.code() == 1
    assert run.log == f"Port {port} is taken; choose another with PORT={port + 1} make run\n"


@pytest.mark.parametrize("port", ["eighty", "0", "65536", "-1"])
def test_a_port_that_is_none(start_run: StartRun, port: str) -> None:
    run = start_run(port=port)

    assert run.code() == 1

    assert run.log == f"PORT={port} is not a port: give a number from 1 to 65535\n"


def test_a_second_run_of_the_same_checkout(start_run: StartRun) -> None:
    first = start_run().is_up()

    second = start_run()

    assert second.code() == 1
    assert second.log == f"It is running already, as process {first.process.pid}; stop that first\n"
    assert first.process.poll() is None


@pytest.mark.parametrize("variable", ["DATABASE_URL", "REDIS_URL"])
def test_a_server_that_is_not_there(start_run: StartRun, variable: str) -> None:
    scheme = {"DATABASE_URL": "postgres", "REDIS_URL": "redis"}[variable]

    run = start_run(**{variable: f"{scheme}://somebody:hunter2@127.0.0.1:9/none"})

    assert run.code() == 1
    assert run.log.startswith(f"{variable} leads to no server that answers")
    assert run.log.count("\n") == 1
    assert "hunter2" not in run.log


@pytest.mark.parametrize("address", ["nonsense", "sqlite:///hunter2", "postgres://somebody:hunter2@[::1/none"])
def test_an_address_that_is_none(start_run: StartRun, address: str) -> None:
    run = start_run(DATABASE_URL=address)

    assert run.code() == 1

    assert run.log.startswith("DATABASE_URL ")
    assert run.log.count("\n") == 1
    assert "hunter2" not in run.log
