"""A server without containers: the page's commands, the services of systemd, and the reverse proxies in front.

What the page's commands do as root is left out (packages, users, the firewall); `server.py` says how the rest runs.
"""

import json
import re
import shlex
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from django.conf import settings

from dev.local import processes
from organizations.keys import new_key
from pipeline_backend.web.request_bodies import seconds_to_read
from tests.deployment import proxies
from tests.deployment.files import ROOT
from tests.deployment.proxies import Proxy
from tests.deployment.server import CODE, SECONDS, UNITS, VERSIONS, Server, Unit, blocks
from tests.deployment.upgrades import Upgrades
from tests.faults.stack import reserved_port
from tests.overrides import overriding
from tests.programs import find_program

SECRET = "do-not-log-this"
LEADS, BOOKING = "/api/external/leads", "/api/external/appointments"
UNITS_FOLDER = ROOT / "deploy/systemd"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Run the page's blocks in their order, up to the services, and wait until the web server answers."""
    with ExitStack() as stack:
        server = Server(tmp_path_factory.mktemp("server"), stack)
        server.run_block("write_env.py")
        server.point_settings_to_our_servers()
        server.run_block("CREATE DATABASE")
        server.start_redis()
        server.run_block("manage.sh migrate")
        server.run_block("cp -r deploy/systemd")
        server.run_block("cp Caddyfile")
        server.run_block("deploy/nginx.conf")
        server.start_unit("pipeline-worker", METRICS_ADDRESS=f"127.0.0.1:{reserved_port()}")
        # The proxy has to end slow bodies itself, and an address may fail twice.
        server.web_port = server.start_web("pipeline-web", **overriding(BODY_SECONDS=600, FAILED_KEYS_PER_MINUTE=2))
        yield server


@pytest.fixture(scope="module", params=["caddy", "nginx"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def proxy(server: Server, kind: str) -> Proxy:
    return proxies.start(server, kind, "site", server.web_port)


@pytest.fixture(scope="module")
def unavailable(server: Server, kind: str) -> Iterator[Proxy]:
    """Start a proxy whose web server refuses connections."""
    with socket.socket() as unused:  # bound, so that nobody else takes the port
        unused.bind(("127.0.0.1", 0))
        changes = {"lb_try_duration 10s": "lb_try_duration 0s"} if kind == "caddy" else {}
        yield proxies.start(server, kind, "unavailable", unused.getsockname()[1], changes=changes)


# --- the page and the services ----------------------------------------------------------------------------------------


def test_the_page_names_only_files_of_the_repository() -> None:
    text = "\n".join(blocks())
    named = {
        word for word in shlex.split(text.replace("'", ""), comments=True) if word.startswith(("deploy/", "scripts/"))
    }

    assert named >= {"deploy/manage.sh", "deploy/nginx.conf", "scripts/write_env.py"}
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert [name for name in UNITS if name not in text] == []


@pytest.mark.parametrize("name", UNITS)
def test_a_service_names_only_what_the_page_creates_and_has_few_rights(name: str) -> None:
    unit = Unit(UNITS_FOLDER, name)
    options = unit.options
    page = "\n".join(blocks())

    assert {*UNITS} == {file.stem for file in UNITS_FOLDER.glob("*.service")}
    assert unit.sections == ["Unit", "Service", "Install"]
    assert unit.command[0] == f"{CODE}/.venv/bin/python"
    assert options["WorkingDirectory"] == CODE
    assert options["EnvironmentFile"] == f"{CODE}/.env"
    assert f"{VERSIONS}/first &&\nln -s {VERSIONS}/first {CODE} &&\ncd {CODE} &&\npython3 -m venv .venv" in page
    assert f" --create-home --shell /usr/sbin/nologin {options['User']} &&\n" in page
    assert {options[key] for key in ("NoNewPrivileges", "PrivateTmp", "ProtectHome", "RestrictNamespaces")} == {"yes"}
    assert (options["ProtectSystem"], options["CapabilityBoundingSet"]) == ("strict", "")
    assert options["Restart"] == "always"


def test_services_have_the_time_to_stop_that_they_need() -> None:
    """As long as docker-compose.yml gives them, which another test compares with the web server's own time."""
    units = [Unit(UNITS_FOLDER, name).options for name in UNITS]

    (seconds,) = {unit["TimeoutStopSec"] for unit in units}
    assert (ROOT / "docker-compose.yml").read_text().count(f"stop_grace_period: {seconds}s") == 2
    assert {unit["KillMode"] for unit in units} == {"mixed"}


def test_the_web_servers_are_the_same_but_for_their_ports() -> None:
    first, second = (Unit(UNITS_FOLDER, name) for name in UNITS[:2])

    assert [part.replace("8001", "8000") for part in second.command] == first.command != second.command
    assert {**first.options, "ExecStart": ""} == {**second.options, "ExecStart": ""}


def test_systemd_accepts_the_services(tmp_path: Path) -> None:
    program = find_program("systemd-analyze")
    shutil.copytree(UNITS_FOLDER, tmp_path, dirs_exist_ok=True)
    for file in tmp_path.glob("*.service"):
        # It checks that the program exists.
        file.write_text(file.read_text().replace(f"{CODE}/.venv/bin/python", "/bin/true"))

    checked = subprocess.run(
        [program, "verify", "--man=no", *(f"{name}.service" for name in UNITS)],
        env={"SYSTEMD_UNIT_PATH": f"{tmp_path}:", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )

    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.fixture(scope="module")
def check(server: Server) -> str:
    """Run the page's check, which creates an organization; return what it prints, with its API key in the last line."""
    find_program("curl")
    proxy = proxies.start(server, "caddy", "check", server.web_port)
    variables = f"trap 'echo \"$KEY\"' EXIT\nexport CURL_CA_BUNDLE={proxy.certificate()}"
    return server.run_block("create_organization", f"localhost:{proxy.https_port}\n{variables}")


def test_the_services_run_and_the_check_of_the_page_succeeds(server: Server, check: str) -> None:
    assert '"data":[]' in check.replace(" ", "")
    assert "No problems found" in check
    # The worker sends the invitation.
    assert processes.wait_until(lambda: "owner@example.com" in server.mail.recipients(), SECONDS)
    assert [name for name, process in server.running.items() if process.poll() is not None] == []


def test_no_package_brings_a_mail_server_and_every_line_ends_its_block_if_it_fails() -> None:
    installs = [line for line in "\n".join(blocks()).splitlines() if "apt-get install" in line]
    commands = [block.partition("<<")[0].strip().splitlines() for block in blocks()]
    followed = [line for lines in commands for line in lines[:-1] if not re.match(r"[A-Z]+=", line)]

    assert [line for line in installs if "--no-install-recommends" not in line] == []
    assert [line for line in followed if not line.endswith(" &&")] == []


def test_a_dump_is_written_now_and_by_the_line_of_cron_and_has_its_name_only_when_it_is_complete(
    server: Server,
) -> None:
    folder, metrics = server.folder / "var/backups/pipeline", server.folder / "var/lib/prometheus/node-exporter"
    server.run_block("pipeline-backup")
    (first,) = folder.iterdir()
    first.rename(folder / "first.dump")
    metrics.mkdir(parents=True)
    user, command = (server.folder / "etc/cron.d/pipeline-backup").read_text().strip().split(maxsplit=6)[5:]

    server.run(["sh", "-c", command])
    (second,) = {*folder.iterdir()} - {folder / "first.dump"}
    written = second.read_bytes()
    (server.commands / "pg_dump").rename(server.commands / "pg_dump.away")
    (server.commands / "pg_dump").symlink_to("/bin/false")
    server.run(["sh", "-c", command])

    assert user == "root"
    assert second.suffix == first.suffix == ".dump"
    assert len(written) > 10_000
    assert second.stat().st_mode & 0o777 == 0o600
    assert second.read_bytes() == written
    name, seconds = (metrics / "pipeline_backup.prom").read_text().split()
    assert name == "pipeline_backup_last_success_timestamp_seconds"
    assert int(seconds) >= int(second.stat().st_mtime)


def test_an_upgrade_and_the_way_back_refuse_lose_and_repeat_no_booking(server: Server, check: str) -> None:
    upgrades = Upgrades(server, "caddy")

    with upgrades.bookings(key=check.split()[-1]) as bookings:
        before = upgrades.versions()
        upgrades.run("v9.9.9")
        upgraded, bookings_before = upgrades.versions(), len(bookings.sent)
        upgrades.run("back")
        after = upgrades.versions()

    assert before == after == {"first"}
    assert [re.sub(r"[0-9]{8}-[0-9]{6}", "TIME", version) for version in upgraded] == ["v9.9.9-TIME"]
    assert min(bookings_before, len(bookings.sent) - bookings_before) > 50
    assert bookings.failed == []
    assert upgrades.stored() == sorted(bookings.sent)


# --- the reverse proxies ----------------------------------------------------------------------------------------------


def test_http_is_redirected_to_https(proxy: Proxy) -> None:
    connection = proxies.PlainConnection(proxy.http_port)
    connection.request("GET", "/admin/", headers={"Host": "localhost"})
    answer = proxies.read(connection.getresponse())
    connection.close()

    assert answer.status in {301, 308}
    assert answer.headers["Location"].startswith("https://localhost")


def test_pages_are_served_by_https(proxy: Proxy) -> None:
    page = proxy.send("/admin/login/")

    assert page.status == 200
    assert "Strict-Transport-Security" in page.headers
    assert "Secure" in page.headers["Set-Cookie"]
    assert "Content-Encoding" not in page.headers


def test_addresses_that_clients_invent_change_nothing(proxy: Proxy, kind: str) -> None:
    network = {"caddy": "127.0.11", "nginx": "127.0.12"}[kind]
    # Without the proxy's replacement each of these would count for another address, and the last two for https.
    failures = [
        proxy.send(
            LEADS,
            client=f"{network}.1",
            x_api_key="pb_x",
            x_forwarded_for=f"192.0.2.{number}",
            x_forwarded_proto="http",
        )
        for number in range(9)  # so that the limit is passed in one of two windows
    ]
    other = proxy.send(LEADS, client=f"{network}.2", x_api_key="pb_x")

    assert {failure.status for failure in failures} == {401, 429}
    assert other.status == 401


@pytest.mark.parametrize("length", ["content-length: 1048577", "transfer-encoding: chunked"])
def test_bodies_over_a_mebibyte_are_refused_as_json(proxy: Proxy, length: str) -> None:
    # The web server reads a body only where one is taken, and of a well-formed key.
    lines = [f"POST {BOOKING} HTTP/1.1", "host: localhost", f"x-api-key: {new_key().text}", length]
    with proxy.open_socket() as client:
        client.sendall("\r\n".join([*lines, "content-type: application/json", "", ""]).encode())
        if "chunked" in length:
            with suppress(OSError):  # it may end the connection before it has read everything
                client.sendall(b"100001\r\n%b\r\n0\r\n\r\n" % (b" " * 0x100001))
        answer = proxies.read_raw(client)

    assert answer.status == 413
    assert json.loads(answer.body)["status"] == "error"


def test_slow_clients_are_disconnected(server: Server, kind: str) -> None:
    times = {
        "caddy": {"read_header 5s": "read_header 1s", "read_body 4m": "read_body 1s"},
        "nginx": {"header_timeout 5s": "header_timeout 1s", "body_timeout 10s": "body_timeout 1s"},
    }
    slow = proxies.start(server, kind, "slow", server.web_port, tls=False, changes=times[kind])
    parts = [
        b"",
        b"GET / HTTP/1.1\r\nhost: localhost\r\n",
        f"POST {LEADS} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n1".encode(),
    ]
    with ExitStack() as stack:
        address = ("127.0.0.1", slow.http_port)
        clients = [stack.enter_context(socket.create_connection(address, SECONDS)) for _ in parts]
        for client, part in zip(clients, parts, strict=True):
            client.sendall(part)
        assert [part for client, part in zip(clients, parts, strict=True) if not is_closed(client)] == []


def is_closed(client: socket.socket) -> bool:
    """Read what is sent; return whether the other side ends the connection within SECONDS."""
    try:
        while client.recv(65536):
            pass
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
    return True


def test_the_web_server_gives_up_a_body_before_caddy_does(server: Server) -> None:
    """Caddy would answer 200, without any content."""
    read_body = re.search(r"read_body (\d+)m", (ROOT / "Caddyfile").read_text())
    web_port = server.start_web("impatient", **overriding(BODY_SECONDS=1))
    patient = proxies.start(server, "caddy", "patient", web_port, tls=False, changes={"read_body 4m": "read_body 10m"})
    lines = [f"POST {BOOKING} HTTP/1.1", "host: localhost", f"x-api-key: {new_key().text}", "content-length: 9"]
    with socket.create_connection(("127.0.0.1", patient.http_port), SECONDS) as client:
        client.sendall("\r\n".join([*lines, "content-type: application/json", "", "1"]).encode())
        assert processes.wait_until(lambda: '"status":408' in patient.log(), SECONDS)
        # Caddy sends the response once the rest of the body has arrived, or its own time is over.
        client.sendall(b"2345678")
        client.sendall(b"9")
        answer = proxies.read_raw(client)

    assert answer.status == 408
    assert read_body is not None
    assert int(read_body[1]) * 60 > seconds_to_read(settings.IMPORT_LIMIT)


def test_an_unavailable_web_server_is_an_error_as_json(unavailable: Proxy, kind: str) -> None:
    answer = unavailable.send(LEADS)

    # Caddy's is 502 only until it has looked whether the web server is there.
    assert answer.status in ({502, 503} if kind == "caddy" else {502})
    assert answer.headers["Retry-After"] == "5"
    assert answer.headers["Content-Type"].startswith("application/json")
    assert json.loads(answer.body)["status"] == "error"


def test_logs_have_no_secrets(proxy: Proxy, unavailable: Proxy) -> None:
    links = [
        "/admin/invitation/",
        "/admin/password-reset/MQ/",
        "/unsubscribe/",
        "/unsubscribe/invitation/",
        "/calendar/",
    ]
    paths = [*(f"{link}{SECRET}/" for link in links), f"/admin/login/?next={SECRET}", f"{LEADS}?q={SECRET}"]
    for reached in (proxy, unavailable):
        for path in paths:
            reached.send(path, x_api_key=SECRET, referer=f"https://localhost/{SECRET}", cookie=f"sessionid={SECRET}")
        reached.send(f"/unsubscribe/{SECRET}", method="POST", content_length="2000000")
        # A log is written after the response.
        assert processes.wait_until(lambda: reached.log().count("/unsubscribe/[removed]") >= 3, SECONDS)  # noqa: B023
        assert "/admin/login/" in reached.log()
        assert SECRET not in reached.log()


def test_nginx_limits_the_connections_of_an_address(server: Server) -> None:
    changes = {
        "limit_conn pipeline_clients 100": "limit_conn pipeline_clients 2",
        "body_timeout 10s": "body_timeout 600s",
    }
    limited = proxies.start(server, "nginx", "limited", server.web_port, changes=changes)
    waiting = f"POST {LEADS} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n1".encode()
    with limited.open_socket() as first, limited.open_socket() as second:
        first.sendall(waiting)
        second.sendall(waiting)
        # nginx counts a connection once it has read the head.
        assert processes.wait_until(lambda: limited.send("/readyz").status == 429, SECONDS)
        refused = limited.send("/readyz")
        other = limited.send("/readyz", client="127.0.12.3")

    assert json.loads(refused.body) == {"status": "error", "message": "Too many connections"}
    assert other.status == 200


def test_nginx_limits_the_pages_of_an_address_without_a_session(server: Server) -> None:
    changes = {"rate=120r/m": "rate=1r/m", "burst=120": "burst=1"}
    limited = proxies.start(server, "nginx", "pages", server.web_port, changes=changes)

    pages = [limited.send(path) for path in ("/admin/login/", "/", "/admin/login/", "/unsubscribe/x")]
    others = [limited.send(path).status for path in ("/readyz", "/api/schema", "/static/nothing.css")]
    with_session = limited.send("/admin/login/", cookie="sessionid=x")
    other_client = limited.send("/admin/login/", client="127.0.12.4")

    assert [page.status for page in pages] == [200, 200, 429, 429]
    assert (pages[-1].headers["Retry-After"], "Wait a minute" in pages[-1].body) == ("60", True)
    assert others == [200, 200, 404]
    assert (with_session.status, other_client.status) == (200, 200)
