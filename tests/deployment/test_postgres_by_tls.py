"""PostgreSQL that is reached by TLS: `sslmode` and `sslrootcert` in DATABASE_URL, as docs/operate.md describes them."""

import os
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.db import OperationalError
from django.db.utils import ConnectionHandler

from pipeline_backend.env import env
from tests.deployment.test_redis_by_tls import TlsListener

pytestmark = pytest.mark.django_db
REQUEST_BYTES = 8  # with which a client asks whether the server speaks TLS


class PostgresTls(TlsListener):
    """Answers as PostgreSQL with TLS does, and passes connections on to the tests' PostgreSQL."""

    def server(self) -> tuple[str, int]:
        url = urlsplit(os.environ["DATABASE_URL"])
        return url.hostname or "", url.port or 0

    def serve(self, plain_client: socket.socket) -> None:
        plain_client.recv(REQUEST_BYTES)
        plain_client.sendall(b"S")
        super().serve(plain_client)

    def url(self, options: str = "") -> str:
        plain = urlsplit(os.environ["DATABASE_URL"])
        login = plain.netloc.rpartition("@")[0]
        return f"postgres://{login}@localhost:{self.port}{plain.path}{options}"


def connect(url: str) -> None:
    """Connect as the service does. Raises OperationalError."""
    handler = ConnectionHandler({"default": env.db_url_config(url, engine="django.db.backends.postgresql")})
    handler["default"].ensure_connection()
    handler["default"].close()


def test_the_certificate_and_the_name_are_checked_as_the_address_says(tmp_path: Path) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    with PostgresTls(own, "localhost") as right, PostgresTls(other, "db.example.com") as wrong_name:
        connect(right.url(f"?sslmode=verify-full&sslrootcert={right.authority}"))
        connect(wrong_name.url(f"?sslmode=verify-ca&sslrootcert={wrong_name.authority}"))
        connect(wrong_name.url("?sslmode=require"))

        with pytest.raises(OperationalError, match="SSL error"):
            connect(right.url(f"?sslmode=verify-full&sslrootcert={wrong_name.authority}"))
        with pytest.raises(OperationalError, match='does not match host name "localhost"'):
            connect(wrong_name.url(f"?sslmode=verify-full&sslrootcert={wrong_name.authority}"))


def test_a_server_without_tls_is_refused_if_tls_is_required() -> None:
    with pytest.raises(OperationalError, match="server does not support SSL, but SSL was required"):
        connect(f"{os.environ['DATABASE_URL']}?sslmode=require")
