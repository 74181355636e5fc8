"""A Redis that is reached by TLS (`rediss://`): every client checks its certificate and its name."""

import contextlib
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.conf import settings
from kombu import Connection

from pipeline_backend.env import read_redis_url
from tests.ending_proxy import end

SECONDS = 120  # for each wait: only a hang takes as long
# What each client of the service does with Redis, and whether it could.
CLIENTS = """
import json
from django.conf import settings
from kombu import Connection
import django
django.setup()
from django.core.cache import cache
from pipeline_backend.celery import app
from pipeline_backend.management.commands.doctor import redis_problems

def works(action):
    try:
        action()
    except Exception as error:
        return type(error).__name__
    return "works"

settings.CACHES["default"]["OPTIONS"] |= {"socket_timeout": 30, "socket_connect_timeout": 30}
print(json.dumps({
    "publisher": works(lambda: app.send_task("tls.test", queue="tls-test")),
    "worker": works(lambda: app.connection_for_read().ensure_connection(max_retries=1, interval_start=0, timeout=5)),
    "rate limits": works(lambda: cache.set("tls-test", 1, 1)),
    "doctor": list(redis_problems()),
}))
"""
WORKS = {"publisher": "works", "worker": "works", "rate limits": "works", "doctor": []}


class TlsListener:
    """Accepts connections by TLS at `port` of 127.0.0.1 and passes them on to the tests' Redis."""

    def __init__(self, folder: Path, name: str) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.authority = create_certificates(folder, name)
        self.context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]

    def __enter__(self) -> "TlsListener":
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        end(self.listener)

    def url(self, options: str = "") -> str:
        """Return the address of the tests' Redis by way of this listener."""
        plain = urlsplit(os.environ["REDIS_URL"])
        return f"rediss://:{plain.password}@localhost:{self.port}/0{options}"

    def server(self) -> tuple[str, int]:
        """Return the address of the tests' Redis."""
        redis = urlsplit(settings.REDIS_URL)
        return redis.hostname or "", redis.port or 0

    def accept(self) -> None:
        """Serve each connection in a thread of its own until the listener is closed."""
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, plain_client: socket.socket) -> None:
        """Copy in both directions until one side closes; a client that refuses the certificate closes at once."""
        try:
            client = self.context.wrap_socket(plain_client, server_side=True)
        except OSError:
            plain_client.close()
            return
        server = socket.create_connection(self.server())
        threading.Thread(target=copy, args=(server, client), daemon=True).start()
        copy(client, server)


def copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    end(source)
    end(target)


def create_certificates(folder: Path, name: str) -> Path:
    """Write a server's certificate for this name, and its key. Return the file of the authority that has signed it."""
    folder.mkdir()
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = certificate("authority of tests", authority_key, authority_key, is_authority=True)
    own = certificate(name, key, authority_key, is_authority=False)
    (folder / "authority.pem").write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    (folder / "certificate.pem").write_bytes(own.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return folder / "authority.pem"


def certificate(
    name: str, key: ec.EllipticCurvePrivateKey, issuer_key: ec.EllipticCurvePrivateKey, *, is_authority: bool
) -> x509.Certificate:
    """Return a certificate that the authority has signed."""
    subject, issuer = (
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)]) for text in (name, "authority of tests")
    )
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    builder = builder.add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


@pytest.fixture(scope="module")
def listeners(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, TlsListener]]:
    """Start a listener with the right name in its certificate, and one with another."""
    folder = tmp_path_factory.mktemp("tls")
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(TlsListener(folder / name, name)) for name in ("localhost", "redis.example.com")
        }


@pytest.fixture(scope="module")
def results(listeners: dict[str, TlsListener]) -> dict[str, dict[str, object]]:
    """Return what all clients say in a process with each address and each set of trusted authorities."""
    right, other = listeners["localhost"], listeners["redis.example.com"]
    cases = {
        "unknown authority": {"REDIS_URL": right.url()},
        "trusted authority": {"REDIS_URL": right.url(), "SSL_CERT_FILE": str(right.authority)},
        "another name": {"REDIS_URL": other.url(), "SSL_CERT_FILE": str(other.authority)},
        "named authority": {"REDIS_URL": right.url(f"?ssl_ca_certs={right.authority}")},
        "unchecked": {"REDIS_URL": right.url("?ssl_cert_reqs=CERT_NONE")},
    }
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(cases, pool.map(run_clients, cases.values()), strict=True))


def run_clients(variables: dict[str, str]) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-c", CLIENTS],
        cwd=settings.ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    parsed: dict[str, object] = json.loads(done.stdout)
    return parsed


@pytest.mark.parametrize("case", ["unknown authority", "another name"])
def test_no_client_sends_anything_to_a_server_whose_certificate_is_not_valid(
    results: dict[str, dict[str, object]], case: str
) -> None:
    result = dict(results[case])
    (problem,) = result.pop("doctor")  # type: ignore[misc]

    assert set(result.values()) <= {"OperationalError", "ConnectionError"}
    assert problem.startswith("Redis does not answer; check REDIS_URL (")
    assert "CERTIFICATE_VERIFY_FAILED" in problem


@pytest.mark.parametrize("case", ["trusted authority", "named authority"])
def test_every_client_accepts_a_certificate_of_an_authority_that_the_system_or_the_address_names(
    results: dict[str, dict[str, object]], case: str
) -> None:
    assert results[case] == WORKS


def test_an_address_can_switch_the_check_off_and_doctor_says_so(results: dict[str, dict[str, object]]) -> None:
    assert results["unchecked"] == WORKS | {
        "doctor": [
            "The certificate of Redis is not checked, because REDIS_URL says ssl_cert_reqs=none; remove that, and name "
            "your own certificate authority with ssl_ca_certs=/path/to/ca.pem"
        ]
    }


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", ssl.CERT_REQUIRED),
        ("?ssl_cert_reqs=CERT_REQUIRED", ssl.CERT_REQUIRED),
        ("?ssl_check_hostname=true", ssl.CERT_REQUIRED),
        ("?ssl_cert_reqs=none", ssl.CERT_NONE),
    ],
)
def test_celery_gets_the_check_in_each_spelling(
    monkeypatch: pytest.MonkeyPatch, options: str, expected: ssl.VerifyMode
) -> None:
    monkeypatch.setenv("REDIS_URL", f"rediss://:password@redis.example.com:6379/3{options}")

    broker = Connection(read_redis_url("REDIS_URL"))

    assert broker.ssl["ssl_cert_reqs"] == expected  # type: ignore[index]
    assert (broker.hostname, broker.virtual_host) == ("redis.example.com", "3")
