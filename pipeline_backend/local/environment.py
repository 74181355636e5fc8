"""The environment variables that `make run` and `make test` set; names and meaning as in production."""

import base64
import json
import os
import secrets
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote, urlsplit

from pipeline_backend.local import StartupError, files
from pipeline_backend.local.embedded import Postgres, Redis, Server

SERVERS: dict[str, tuple[str, type[Server]]] = {"DATABASE_URL": ("postgres", Postgres), "REDIS_URL": ("redis", Redis)}
TESTS = {
    "ALLOWED_HOSTS": "localhost,127.0.0.1,testserver",
    "BASE_URL": "http://testserver",
    "DJANGO_SETTINGS_MODULE": "pipeline_backend.settings",
    "EMAIL_URL": "memorymail://",
    "SECRET_KEY": "only-for-tests-" + "x" * 50,
}
NOT_IN_TESTS = {
    "LOCAL_RUN",
    "WEBHOOKS_ALLOW_PRIVATE",
    "PYTHONDONTWRITEBYTECODE",  # the tests start some hundred processes, which would all compile the same modules
}


def for_run(data: Path, port: int) -> dict[str, str]:
    """The person's own environment, completed; what is set there already wins."""
    defaults = {
        **kept_secrets(data / "secrets.json"),
        "ALLOWED_HOSTS": "localhost,127.0.0.1",
        "BASE_URL": f"http://127.0.0.1:{port}",
        "EMAIL_URL": f"filemail:///{quote(str(data / 'mail'))}",
        "WEBHOOKS_ALLOW_PRIVATE": "true",
        "LOCAL_RUN": "true",
        "PYTHONUNBUFFERED": "1",
        # Celery warns root; whoever is root here has a container or knows.
        "PYTHONWARNINGS": "ignore:::celery.platforms",
    }
    given = {name: value for name, value in os.environ.items() if value or name not in defaults}
    return {**defaults, **given}


def for_tests() -> dict[str, str]:
    """The same for everybody, whatever they have set; only the two servers' addresses may be given."""
    inherited = {name: value for name, value in os.environ.items() if name not in NOT_IN_TESTS}
    return {**inherited, **TESTS, "FIELD_ENCRYPTION_KEYS": encryption_key()}


def kept_secrets(path: Path) -> dict[str, str]:
    """The keys of this checkout's data, made the first time."""
    text = files.kept(path)
    if text:
        return dict(json.loads(text))
    made = {"SECRET_KEY": secrets.token_urlsafe(50), "FIELD_ENCRYPTION_KEYS": encryption_key()}
    files.write_private(path, json.dumps(made, indent=2) + "\n")
    return made


def encryption_key() -> str:
    return base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()


def start_servers(
    folder: Path,
    *,
    throwaway: bool,
    stack: ExitStack,
    template: Postgres | None = None,
    given: Mapping[str, str] = os.environ,
) -> tuple[dict[str, str], list[Server]]:
    """Their addresses, and the servers that had to be started because no address was given; `stack` ends them.

    A PostgreSQL that is started copies the data of `template`, if there is one.
    """
    addresses: dict[str, str] = {}
    started: list[Server] = []
    for variable, (name, kind) in SERVERS.items():
        url = given.get(variable)
        if not url:
            server = kind(folder / name, throwaway=throwaway)
            if isinstance(server, Postgres):
                server.template = template
            started.append(server)
            stack.callback(server.remove if throwaway else server.stop)
            url = server.start()
        addresses[variable] = url
    return addresses, started


def check_given_servers() -> None:
    """Refuse to begin if a server that was given by its address doesn't answer."""
    for variable, ask in {"DATABASE_URL": ask_postgres, "REDIS_URL": ask_redis}.items():
        url = os.environ.get(variable)
        if not url:
            continue
        try:
            ask(url)
        except ValueError:
            raise StartupError(f"{variable} is not the address of a server") from None
        except Exception as error:
            raise StartupError(f"{variable} leads to no server that answers{said(url, error)}") from None


def ask_postgres(url: str) -> None:
    import psycopg  # noqa: PLC0415 - slow, and needed only if an address is given

    address = urlsplit(url)
    if not address.scheme.startswith(("postgres", "psql", "pgsql")):
        raise ValueError(address.scheme)
    # Django's options may stand in the query; libpq would refuse most of them.
    ours = "&".join(option for option in address.query.split("&") if option.startswith("ssl"))
    try:
        psycopg.connect(address._replace(scheme="postgresql", query=ours).geturl(), connect_timeout=5).close()
    except psycopg.ProgrammingError as error:
        raise ValueError from error


def ask_redis(url: str) -> None:
    import redis  # noqa: PLC0415 - slow, and needed only if an address is given

    redis.Redis.from_url(url, socket_connect_timeout=5, socket_timeout=5).ping()


def said(url: str, error: Exception) -> str:
    """What the server or the library said, unless it repeats the password."""
    reason = str(error).strip().split("\n")[0]
    password = urlsplit(url).password
    return "" if password and password in reason else f": {reason}"
