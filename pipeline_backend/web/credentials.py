"""Recent keys and sessions with their owners, known browsers, and a counter of pages. Only the event loop uses them."""

import re
import time
from collections import Counter, OrderedDict
from hashlib import sha256
from wsgiref.types import WSGIEnvironment

from django.conf import settings

from accounts.sign_in_limits import COOKIE, read_cookie
from foundation.api.client_address import network_of
from foundation.api.request_owner import ORGANIZATION, PERSON
from organizations.keys import parse_key
from pipeline_backend.web.turns import Sender, Turn

MAX_CREDENTIALS = 10_000  # about 3 MB
CREDENTIAL_SECONDS = 3600  # since its last valid use
SESSION_COOKIE = re.compile(rf"(?:^|;)\s*{re.escape(settings.SESSION_COOKIE_NAME)}\s*=([^;]*)")
SESSION_KEY = re.compile("[0-9a-z]{32}")
# Not parsed by Django, which takes milliseconds for some cookies. The value is longer with more accounts.
BROWSER_COOKIE = re.compile(rf"(?:^|;)\s*{COOKIE}=\"?([\w:.-]{{1,1500}})\"?\s*(?:;|$)")

# Pages that take long: exports, the refused rows of an import, and what is stored about a lead.
FILE = re.compile(r"[A-Z]+ /admin/.*/(?:export\.\w+|report\.csv|refused/)$|POST /admin/.*/export_json/$")
SIGN_IN = "POST /admin/login/"
ANONYMOUS_PAGES_PER_MINUTE = 120  # of a client, in each process: a person reads a few pages a minute
WINDOW_SECONDS = 60


def digest_of_credential(environ: WSGIEnvironment, path: str, *, is_api: bool) -> bytes | None:
    """Return a digest of the request's API key or session, valid or not; None if its route reads neither."""
    if is_api:
        key = parse_key(environ.get("HTTP_X_API_KEY", ""))
        return sha256(key.text.encode()).digest() if key else None
    cookies = environ.get("HTTP_COOKIE", "") if path.startswith("/admin/") else ""
    values = SESSION_COOKIE.findall(cookies)
    session = values[-1].strip() if values else ""  # of repeated cookies, Django reads the last
    return sha256(session.encode()).digest() if SESSION_KEY.fullmatch(session) else None


def account_of_browser(environ: WSGIEnvironment) -> str:
    """Return the id of the account that has signed in last in this browser, "" if the browser isn't known.

    Not the browser's id: a person with an account can make many of these. Whether the account may still sign in, and
    with the same password, is unknown here.
    """
    cookie = BROWSER_COOKIE.search(environ.get("HTTP_COOKIE", ""))
    _, digests = read_cookie({COOKIE: cookie[1]}) if cookie else ("", {})
    return next(reversed(digests), "")


class KnownCredentials:
    """The groups and clients that valid keys and sessions belong to; the longest unused are forgotten first."""

    def __init__(self) -> None:
        self.known: OrderedDict[bytes, tuple[float, str, str]] = OrderedDict()

    def find(self, digest: bytes | None, environ: WSGIEnvironment, address: str, *, is_page: bool) -> Turn:
        """Return the turn of a request.

        A page without a known session belongs to the network of its address, which one attacker can have all of. In a
        known browser its client is the account, and strangers have other places, so they keep no one from signing in.
        """
        operation = f"{environ.get('REQUEST_METHOD')} {environ.get('PATH_INFO')}" if is_page else ""
        noted_at, group, client = self.known.get(digest or b"", (0.0, "", ""))
        if noted_at and time.monotonic() - noted_at <= CREDENTIAL_SECONDS:
            return Turn(group, client or address, is_page, Sender.FILE if FILE.match(operation) else Sender.IDENTIFIED)
        if not is_page:
            return Turn(f"address {address}", address)
        network = network_of(address)
        if account := account_of_browser(environ):
            return Turn(f"browsers in {network}", f"browser of {account}", is_page, Sender.BROWSER)
        sender = Sender.SIGN_IN if operation == SIGN_IN else Sender.STRANGER
        return Turn(f"network {network}", address, is_page, sender)

    def learn(self, digest: bytes | None, environ: WSGIEnvironment, status: int) -> None:
        """Note the owner that a thread has found for a key or session, or forget one that is no longer valid."""
        if digest is None:
            return
        organization, person = environ.get(ORGANIZATION, ""), environ.get(PERSON, "")
        if organization or person:
            group = f"organization {organization}" if organization else f"person {person}"
            self.known[digest] = (time.monotonic(), group, person and f"person {person}")
            self.known.move_to_end(digest)
            if len(self.known) > MAX_CREDENTIALS:
                self.known.popitem(last=False)
        # A 429 or 5xx can be sent before the key or session is checked.
        elif status != 429 and status < 500:
            self.known.pop(digest, None)


class PageCounter:
    """Counts the pages without a valid session that clients have loaded in this minute."""

    def __init__(self) -> None:
        self.started_at = 0.0
        self.by_client: Counter[str] = Counter()  # no longer than the pages that a process can answer in a minute

    def add(self, client: str) -> None:
        self.by_client[client] += 1

    def retry_after(self, client: str) -> int:
        """Return 0 if the client may load another page, else the seconds until it may."""
        passed = time.monotonic() - self.started_at
        if passed >= WINDOW_SECONDS:
            self.started_at, passed = time.monotonic(), 0.0
            self.by_client.clear()
        is_allowed = self.by_client[client] < ANONYMOUS_PAGES_PER_MINUTE
        return 0 if is_allowed else max(1, round(WINDOW_SECONDS - passed))
