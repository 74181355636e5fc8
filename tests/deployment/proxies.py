"""Caddy and nginx with the repository's own configurations, on ports of 127.0.0.1, as processes of a test."""

import http.client
import os
import shlex
import socket
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.message import Message
from functools import partial
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from dev.local import processes
from tests.deployment.server import SECONDS, Server, accepts
from tests.faults.stack import reserved_port
from tests.programs import find_program

# What Debian's own nginx.conf sets for all servers, as far as it concerns ours.
DEBIANS_NGINX = """
pid {folder}/nginx.pid;
{user}
events {{ worker_connections 512; }}
http {{
    access_log {folder}/default-access.log;
    error_log {folder}/default-error.log;
    keepalive_timeout 65;
    gzip on;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/pipeline.conf;
}}
"""


@dataclass(frozen=True)
class Answer:
    """A response; the body as text."""

    status: int
    headers: Message  # names in any case
    body: str


@dataclass
class Proxy:
    """A running proxy. `folder` has its logs."""

    kind: str
    folder: Path
    http_port: int = field(default_factory=reserved_port)
    https_port: int = field(default_factory=reserved_port)

    def certificate(self) -> Path:
        """Return the file with the certificate that clients have to trust."""
        local = "storage/pki/authorities/local/root.crt" if self.kind == "caddy" else "certificate.pem"
        return self.folder / local

    def connect(self, *, client: str = "127.0.0.1") -> http.client.HTTPSConnection:
        """Return a connection from this address by https, which verifies the certificate of "localhost"."""
        context = ssl.create_default_context(cafile=str(self.certificate()))
        return _LoopbackConnection("localhost", self.https_port, context=context, source_address=(client, 0))

    def send(self, path: str, *, client: str = "127.0.0.1", method: str = "GET", **headers: str) -> Answer:
        """Send a request without a body, and return the response."""
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        connection = self.connect(client=client)
        try:
            connection.request(method, path, headers=names)
            return read(connection.getresponse())
        finally:
            connection.close()

    def open_socket(self) -> socket.socket:
        """Return an encrypted connection for bytes that no client library would send."""
        connection = self.connect()
        connection.connect()
        return connection.sock

    def answers(self) -> bool:
        """Return whether clients can connect by https; Caddy creates its certificates a moment after its start."""
        try:
            self.open_socket().close()
        except OSError:
            return False
        return True

    def log(self) -> str:
        """Return all of its logs."""
        return "".join(file.read_text() for file in sorted(self.folder.glob("*.log")))


class PlainConnection(http.client.HTTPConnection):
    """A connection to a port of 127.0.0.1 without TLS."""

    def __init__(self, port: int) -> None:
        super().__init__("127.0.0.1", port, timeout=SECONDS)


class _LoopbackConnection(http.client.HTTPSConnection):
    """Doesn't look the name up: "localhost" could be ::1."""

    def connect(self) -> None:
        plain = socket.create_connection(("127.0.0.1", self.port), SECONDS, self.source_address)
        self.sock = self._context.wrap_socket(plain, server_hostname=self.host)  # type: ignore[attr-defined]


def read_raw(connection: socket.socket) -> Answer:
    """Read a response from a socket."""
    response = http.client.HTTPResponse(connection)
    response.begin()
    return read(response)


def read(response: http.client.HTTPResponse) -> Answer:
    """Read a response to its end."""
    return Answer(response.status, response.headers, response.read().decode())


def start(
    server: Server, kind: str, name: str, *web_ports: int, tls: bool = True, changes: Mapping[str, str] | None = None
) -> Proxy:
    """Start a proxy with the configuration that the page installs, for one or two web servers; wait until it answers.

    `changes` replaces texts of the configuration. Without `tls` the site itself is served by plain http.
    """
    program = find_program(kind)
    proxy = Proxy(kind, server.folder / f"{kind}-{name}")
    proxy.folder.mkdir()
    configure = configure_caddy if kind == "caddy" else configure_nginx
    command, variables = configure(server, proxy, web_ports, changes or {}, tls=tls)
    log = f"{proxy.folder.name}/output"
    process = server.start(log, [program, *command], {"PATH": os.defpath, "HOME": str(proxy.folder), **variables})
    ready = proxy.answers if tls else partial(accepts, proxy.http_port)
    processes.wait_until(lambda: process.poll() is not None or ready(), SECONDS)
    assert process.poll() is None, server.log(log)
    return proxy


Configured = tuple[list[str], dict[str, str]]  # the command's arguments, and its variables


def configure_caddy(
    server: Server, proxy: Proxy, web_ports: Sequence[int], changes: Mapping[str, str], *, tls: bool
) -> Configured:
    """Write the Caddyfile with our ports and a certificate authority of its own, which it doesn't install anywhere."""
    own = f"""{{
	admin off
	skip_install_trust
	default_bind 127.0.0.1
	storage file_system {proxy.folder}/storage
	http_port {proxy.http_port}
	https_port {proxy.https_port}
"""
    text = replaced((server.folder / "etc/caddy/Caddyfile").read_text(), changes).replace("\n{\n", f"\n{own}", 1)
    (proxy.folder / "Caddyfile").write_text(text)
    drop_in = (server.folder / "etc/systemd/system/caddy.service.d/pipeline.conf").read_text()
    variables = dict(pair.split("=", 1) for pair in shlex.split(drop_in.partition("Environment=")[2]))
    assert variables == {"SITE_ADDRESS": "localhost", "WEB_ADDRESS": "127.0.0.1:8000 127.0.0.1:8001"}
    variables["WEB_ADDRESS"] = " ".join(f"127.0.0.1:{port}" for port in web_ports)
    if not tls:
        variables["SITE_ADDRESS"] = f"http://localhost:{proxy.http_port}"
    return ["run", "--config", str(proxy.folder / "Caddyfile"), "--adapter", "caddyfile"], variables


def configure_nginx(
    server: Server, proxy: Proxy, web_ports: Sequence[int], changes: Mapping[str, str], *, tls: bool
) -> Configured:
    """Write the configuration with our ports, logs and certificate, included as Debian's own nginx.conf does it."""
    own = {
        "/etc/letsencrypt/live/localhost/fullchain.pem": f"{proxy.folder}/certificate.pem",
        "/etc/letsencrypt/live/localhost/privkey.pem": f"{proxy.folder}/key.pem",
        "/var/log/nginx": str(proxy.folder),
        "127.0.0.1:8000 max_fails": f"127.0.0.1:{web_ports[0]} max_fails",
        "server 127.0.0.1:8001 max_fails=0;": f"server 127.0.0.1:{web_ports[1]} max_fails=0;" if web_ports[1:] else "",
        "listen 80;": f"listen 127.0.0.1:{proxy.http_port};",
        "listen 443 ssl": f"listen 127.0.0.1:{proxy.https_port} ssl",
        "listen [::]:80;": "",
        "listen [::]:443 ssl http2;": "",
    }
    if not tls:
        own["if ($scheme = http)"] = "if ($scheme = none)"
    text = replaced((server.folder / "etc/nginx/conf.d/pipeline.conf").read_text(), own | dict(changes))
    (proxy.folder / "pipeline.conf").write_text(text)
    user = "user root;" if os.geteuid() == 0 else ""  # its workers have to enter our folder
    (proxy.folder / "nginx.conf").write_text(DEBIANS_NGINX.format(folder=proxy.folder, user=user))
    create_certificate(proxy.folder)
    start_log = str(proxy.folder / "start.log")
    return ["-e", start_log, "-c", str(proxy.folder / "nginx.conf"), "-g", "daemon off;"], {}


def create_certificate(folder: Path) -> None:
    """Write a certificate for "localhost" that is signed by its own key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
    (folder / "certificate.pem").write_bytes(
        builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    )
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )


def replaced(text: str, changes: Mapping[str, str]) -> str:
    """Return the text with all changes; asserts that each old text is there."""
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return text
