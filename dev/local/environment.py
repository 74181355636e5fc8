"""The environment variables of `make run` and `make test`. Names and meaning are the same as in production."""

import base64
import json
import os
import secrets
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote, urlsplit

from dev.local import StartupError, files
from dev.local.embedded import Postgres, Redis
from dev.local.server import Server

# Each server's directory and class, by the variable with its URL.
SERVERS: dict[str, tuple[str, type[Server]]] = {"DATABASE_URL": ("postgres", Postgres), "REDIS_URL": ("redis", Redis)}
SETTINGS_MODULE = "dev.settings"
RUNNING = "environment.json"  # below .data: the settings of the running instance, for manage.py
TEST_VARIABLES = {
    "ALLOWED_HOSTS": "localhost,127.0.0.1,testserver",
    "BASE_URL": "http://testserver",
    "DJANGO_SETTINGS_MODULE": "pipeline_backend.settings",
    "EMAIL_URL": "memorymail://",
    "SECRET_KEY": "only-for-tests-" + "x" * 50,
}
REMOVED_IN_TESTS = {
    "OTEL_EXPORTER_OTLP_ENDPOINT",  # errors and traces of tests must not be sent
    "SENTRY_DSN",
    "WEBHOOKS_ALLOW_PRIVATE",
    "PYTHONDONTWRITEBYTECODE",  # the tests start some hundred processes, which would all compile the same modules
}


def for_run(data: Path, port: int) -> dict[str, str]:
    """Return the defaults for `make run` with the user's own environment, which takes precedence."""
    defaults = defaults_for_run(data, port)
    # An empty variable counts as not set.
    environment = {name: value for name, value in os.environ.items() if value or name not in defaults}
    return {**defaults, **environment, "DJANGO_SETTINGS_MODULE": SETTINGS_MODULE}


def defaults_for_run(data: Path, port: int) -> dict[str, str]:
    """Return the variables of a local instance, apart from the servers' URLs; generate its secrets the first time."""
    path = data / "secrets.json"
    text = files.read_if_exists(path)
    if not text:
        generated = {"SECRET_KEY": secrets.token_urlsafe(50), "FIELD_ENCRYPTION_KEYS": generate_encryption_key()}
        text = json.dumps(generated, indent=2)
        files.write_private(path, f"{text}\n")
    return {
        **json.loads(text),
        "ALLOWED_HOSTS": "localhost,127.0.0.1",
        "BASE_URL": f"http://127.0.0.1:{port}",
        "EMAIL_URL": f"filemail:///{quote(str(data / 'mail'))}",
        "WEBHOOKS_ALLOW_PRIVATE": "true",
        "DJANGO_SETTINGS_MODULE": SETTINGS_MODULE,
        "PYTHONUNBUFFERED": "1",
        # Celery warns if it runs as root, which is normal in a container.
        "PYTHONWARNINGS": "ignore:::celery.platforms",
    }


def publish(variables: Mapping[str, str], data: Path, stack: ExitStack) -> None:
    """Store a running instance's settings for manage.py, readable by the owner only; `stack` removes them."""
    names = {*defaults_for_run(data, 0), *SERVERS}
    stack.callback((data / RUNNING).unlink, missing_ok=True)
    files.write_private(data / RUNNING, json.dumps({name: variables[name] for name in names}))


def for_tests() -> dict[str, str]:
    """Return the variables for `make test`: the same for everybody, whatever is set in the user's environment."""
    inherited = {name: value for name, value in os.environ.items() if name not in REMOVED_IN_TESTS}
    return {**inherited, **TEST_VARIABLES, "FIELD_ENCRYPTION_KEYS": generate_encryption_key()}


def generate_encryption_key() -> str:
    return base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()


def start_servers(
    directory: Path,
    *,
    ephemeral: bool,
    stack: ExitStack,
    template: Postgres | None = None,
    environ: Mapping[str, str] = os.environ,
) -> tuple[dict[str, str], list[Server]]:
    """Start the servers whose URL isn't in `environ`. Return the URLs of both, and the servers that were started.

    `stack` stops them. PostgreSQL starts with a copy of the template's data, if there is one.
    """
    urls: dict[str, str] = {}
    started: list[Server] = []
    for variable, (name, kind) in SERVERS.items():
        url = environ.get(variable)
        if not url:
            server = kind(directory / name, ephemeral=ephemeral)
            if isinstance(server, Postgres):
                server.template = template
            started.append(server)
            # Registered before the start, which can fail half-way.
            stack.callback(server.stop)
            url = server.start()
        urls[variable] = url
    return urls, started


def check_external_servers() -> None:
    """Raise StartupError if a server whose URL is in the environment doesn't answer."""
    for variable, check in {"DATABASE_URL": check_postgres, "REDIS_URL": check_redis}.items():
        if url := os.environ.get(variable):
            try:
                check(url)
            except ValueError:
                raise StartupError(f"{variable} is not a valid server URL") from None
            except Exception as error:
                reason, password = str(error).strip().split("\n")[0], urlsplit(url).password
                detail = "" if password and password in reason else f": {reason}"
                raise StartupError(f"The server in {variable} does not answer{detail}") from None


def check_postgres(url: str) -> None:
    import psycopg  # noqa: PLC0415 - slow, and needed only if a URL is given

    parsed = urlsplit(url)
    if not parsed.scheme.startswith(("postgres", "psql", "pgsql")):
        raise ValueError(parsed.scheme)
    # The query may contain options of Django, most of which libpq would refuse.
    query = "&".join(option for option in parsed.query.split("&") if option.startswith("ssl"))
    try:
        psycopg.connect(parsed._replace(scheme="postgresql", query=query).geturl(), connect_timeout=5).close()
    except psycopg.ProgrammingError as error:
        raise ValueError from error


def check_redis(url: str) -> None:
    import redis  # noqa: PLC0415 - slow, and needed only if a URL is given

    redis.Redis.from_url(url, socket_connect_timeout=5, socket_timeout=5).ping()
