"""Webhooks can't reach internal addresses (docs/interface.md, W9). No test here sends anything off this machine."""

import asyncio
import ipaddress
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from foundation.api.exceptions import ValidationFailed
from foundation.egress import is_allowed
from foundation.egress.client import EndpointClient
from foundation.outbox import Result
from organizations.models import Organization
from webhooks.models import Endpoint
from webhooks.services import add_endpoint

FORBIDDEN_HOSTS = [
    "127.0.0.1", "127.8.8.8", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "0", "0.0.0.0",
    "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::127.0.0.1]", "[::ffff:0:127.0.0.1]", "[64:ff9b::7f00:1]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]", "[2001:0:7f00:1::]", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1",
    "169.254.169.254", "192.0.0.1",
    "198.18.0.1", "240.0.0.1", "224.0.0.1", "255.255.255.255", "[fc00::1]", "[fe80::1]", "[fec0::1]",
    "[fd00:ec2::254]", "[ff02::1]",
    "168.63.129.16", "192.31.196.1", "localhost", "LOCALHOST", "localhost.", "printer.local", "db.internal",
    "intranet",
]  # fmt: skip
FORBIDDEN_URLS = [
    "http://example.com/", "ftp://example.com/", "file:///etc/passwd", "javascript:alert(1)",
    "gopher://example.com/", "https://", "https:///x",
    "https://127.0.0.1#@example.com/",
    "https://127.0.0.1\\@example.com/",
    "https://exa mple.com/", "https://example.com/\r\nX: 1", "https://１２７.0.0.1/",
    "https://%31%32%37.0.0.1/", "https://example.com:99999/", "",
]  # fmt: skip


@pytest.mark.parametrize("host", FORBIDDEN_HOSTS)
def test_an_internal_address_in_any_spelling_is_refused_when_saved(organization: Organization, host: str) -> None:
    assert_refused(organization, f"https://{host}/hook")


@pytest.mark.parametrize("url", FORBIDDEN_URLS)
def test_a_malformed_or_deceptive_url_is_refused_when_saved(organization: Organization, url: str) -> None:
    assert_refused(organization, url)


@pytest.mark.parametrize(
    "url", ["https://user:secret@example.com/", "https://u@example.com", "https://example.com@127.0.0.1/"]
)
def test_a_url_with_a_user_is_refused_with_the_reason(organization: Organization, url: str) -> None:
    assert_refused(organization, url, "must have no user and no password")


def assert_refused(organization: Organization, url: str, reason: str = "must be a public https address") -> None:
    with pytest.raises(ValidationFailed) as refusal:
        add_endpoint(organization=organization, url=url)

    assert refusal.value.errors == {"url": [f"url {reason}"]}
    assert not Endpoint.objects.of(organization).exists()


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/hook",
        "https://hooks.example.com:8443/a?b=c",
        "https://[2606:4700::1111]/",
        "https://93.184.216.34/",
    ],
)
def test_a_public_https_address_is_accepted(organization: Organization, url: str) -> None:
    endpoint, _ = add_endpoint(organization=organization, url=url)

    assert endpoint.url == url


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "0x7f.1", "127.1", "[::ffff:127.0.0.1]", "localhost"])
def test_an_internal_address_that_was_stored_anyway_is_never_connected_to(canary: socket.socket, host: str) -> None:
    result = post(f"https://{host}:{canary.getsockname()[1]}/")

    assert (result.error, result.response, result.status_code) == ("blocked_address", "", None)
    with pytest.raises(TimeoutError):
        canary.accept()


@pytest.fixture
def canary() -> Iterator[socket.socket]:
    """Return a listener that no request must reach."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        yield listener


def post(url: str) -> Result:
    """Send one request."""

    async def send() -> Result:
        async with EndpointClient(url) as client:
            return await client.post(b"{}", {})

    return asyncio.run(send())


def resolve_to(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> None:
    """Replace the resolver by one that returns these answers in turn, the last one from then on."""
    remaining = list(answers)

    def getaddrinfo(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        addresses = remaining.pop(0) if len(remaining) > 1 else remaining[0]
        return [
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (address, port, 0, 0))
            if ":" in address
            else (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in addresses
        ]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@pytest.mark.parametrize(
    "answers",
    [["127.0.0.1"], ["93.184.216.34", "127.0.0.1"], ["::ffff:127.0.0.1"], ["10.0.0.7"], ["fe80::1%eth0"]],
    ids=["loopback", "public and loopback", "IPv4-mapped", "private", "link-local"],
)
def test_a_name_that_resolves_to_an_internal_address_is_never_connected_to(
    monkeypatch: pytest.MonkeyPatch, canary: socket.socket, answers: list[str]
) -> None:
    resolve_to(monkeypatch, answers)

    result = post(f"https://hooks.example.com:{canary.getsockname()[1]}/")

    assert (result.error, result.response, result.status_code) == ("blocked_address", "", None)
    with pytest.raises(TimeoutError):
        canary.accept()


def test_the_checked_address_is_the_one_connected_to(monkeypatch: pytest.MonkeyPatch, canary: socket.socket) -> None:
    connected: list[Any] = []

    async def record_address(loop: Any, sock: socket.socket, address: Any) -> None:
        connected.append(address)
        raise ConnectionRefusedError

    resolve_to(monkeypatch, ["93.184.216.34"], ["127.0.0.1"])
    monkeypatch.setattr(asyncio.SelectorEventLoop, "sock_connect", record_address)

    post("https://rebinding.example.com/")

    assert connected == [("93.184.216.34", 443)]


@pytest.mark.parametrize(
    "error",
    [socket.gaierror(socket.EAI_NONAME, "Name or service not known"), UnicodeError("label too long")],
    ids=["unknown", "invalid"],
)
def test_a_name_without_an_address_has_its_error_class(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def getaddrinfo(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)

    assert post("https://unknown.example.com/").error == "dns_error"


def test_names_that_are_never_answered_take_four_threads_of_their_owner_only(monkeypatch: pytest.MonkeyPatch) -> None:
    answer, hosts = threading.Event(), list[str]()

    def getaddrinfo(host: str, *_: Any, **__: Any) -> list[Any]:
        hosts.append(host)
        answer.wait(30)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    async def send(host: str, owner: str) -> None:
        async with EndpointClient(f"https://{host}.example.com/", owner=owner) as client:
            async with asyncio.timeout(0.2):  # as the deadline does
                await client.post(b"{}", {})

    async def send_all() -> list[Any]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(8))
        sent = await asyncio.gather(*(send(f"tarpit{n}", "globex") for n in range(12)), return_exceptions=True)
        sent += await asyncio.gather(send("hooks", "acme"), return_exceptions=True)
        answer.set()
        return sent

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    results = asyncio.run(send_all())

    assert {type(result) for result in results} == {TimeoutError}
    assert len(hosts) == 5
    assert hosts[-1] == "hooks.example.com"


def test_the_operator_can_allow_private_networks_and_http(settings: Any, organization: Organization) -> None:
    settings.WEBHOOKS_ALLOW_PRIVATE = True

    endpoint, _ = add_endpoint(organization=organization, url="http://127.0.0.1:9000/hook")

    assert endpoint.url == "http://127.0.0.1:9000/hook"


def test_the_operator_can_allow_a_single_network(settings: Any) -> None:
    settings.WEBHOOKS_ALLOWED_NETWORKS = [ipaddress.ip_network("10.1.0.0/16")]

    assert is_allowed(ipaddress.ip_address("10.1.2.3"))
    assert not is_allowed(ipaddress.ip_address("10.2.2.3"))
    assert not is_allowed(ipaddress.ip_address("127.0.0.1"))


@pytest.mark.parametrize(
    ("url", "request_line", "error"),
    [
        ("https://hooks.example.com/x", b"CONNECT hooks.example.com:443 HTTP/1.1", "blocked_address"),
        ("http://hooks.example.com/x", b"POST http://hooks.example.com/x HTTP/1.1", "http_407"),
    ],
    ids=["https", "http"],
)
def test_with_a_proxy_every_request_goes_through_it_and_its_refusal_is_an_error(
    settings: Any, url: str, request_line: bytes, error: str
) -> None:
    request_lines: list[bytes] = []

    def proxy(client: socket.socket) -> None:
        with client:
            request_lines.append(client.recv(4096).split(b"\r\n")[0])
            client.sendall(b"HTTP/1.1 407 Refused\r\nContent-Length: 0\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        settings.WEBHOOKS_PROXY = f"http://127.0.0.1:{listener.getsockname()[1]}"
        settings.WEBHOOKS_ALLOW_PRIVATE = url.startswith("http://")
        threading.Thread(target=lambda: proxy(listener.accept()[0]), daemon=True).start()
        result = post(url)

    assert (request_lines, result.error) == ([request_line], error)
