"""Sessions with their user: the session engine, and the services with which people see and end their own.

The engine is Django's database engine with one more column, as its documentation describes. When and from where a
session is used is part of the session's data, so that one statement writes both.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends import db
from django.contrib.sessions.backends.base import UpdateError
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac

from foundation.api.client_address import client_address
from foundation.api.exceptions import is_unavailable
from foundation.db.deletes import delete_in_batches
from organizations.models import SecurityEventKind, Session, User
from organizations.security_log import record_security_event, shorten_user_agent

USAGE_KEY = "usage"
# A session's last use is at most this much older than shown, and costs at most one write in this time.
USAGE_INTERVAL = timedelta(minutes=5)

# What a browser calls itself → its name. The order matters: most browsers also claim to be others.
BROWSERS = {
    "Edg": "Edge",
    "OPR/": "Opera",
    "SamsungBrowser": "Samsung Internet",
    "Firefox/": "Firefox",
    "FxiOS": "Firefox",
    "CriOS": "Chrome",
    "Chrome/": "Chrome",
    "Safari/": "Safari",
}
SYSTEMS = {
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Android": "Android",
    "Windows": "Windows",
    "Mac OS X": "macOS",
    "CrOS": "ChromeOS",
    "Linux": "Linux",
}


class SessionStore(db.SessionStore):
    """Stores sessions in `organizations_session`."""

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    @classmethod
    def clear_expired(cls) -> None:
        """Delete expired sessions. `manage.py clearsessions` calls it, too."""
        delete_in_batches(Session.objects.filter(expire_date__lt=timezone.now()).order_by("expire_date"))

    def save(self, must_create: bool = False) -> None:
        """Store the session. Raises UpdateError if it has been deleted, and whatever the database raises."""
        try:
            super().save(must_create)
        except UpdateError as error:
            # Django raises it for every error of the database, too, and then answers 400 instead of 503.
            cause = error.__context__
            if cause is not None and is_unavailable(cause):
                raise cause from cause.__cause__
            raise

    def create_model_instance(self, data: dict[str, Any]) -> Session:
        """Return the row for a session with this data, with its user."""
        row: Any = super().create_model_instance(data)  # a Session, whatever Django's stubs say
        row.user_id = data.get(SESSION_KEY)
        return row


@dataclass(frozen=True)
class ActiveSession:
    """A session as its user sees it. `id` names it in forms; it can't be used to sign in."""

    id: str
    started_at: datetime | None
    used_at: datetime | None
    address: str
    browser: str
    is_current: bool


def note_usage(request: HttpRequest) -> None:
    """Write the time, address and browser into the session, unless that was done less than five minutes ago."""
    previous: Mapping[str, str] = request.session.get(USAGE_KEY, {})
    at = timezone.now()
    used_at = parse_time(previous.get("used_at"))
    if used_at is not None and at - used_at < USAGE_INTERVAL:
        return
    request.session[USAGE_KEY] = {
        "started_at": previous.get("started_at", at.isoformat()),
        "used_at": at.isoformat(),
        "address": client_address(request.META)[:64],
        "user_agent": shorten_user_agent(request.headers.get("User-Agent", "")),
    }


def active_sessions(user: User, current_key: str | None) -> list[ActiveSession]:
    """Return the user's sessions that still work, the current one first, then the last used."""
    sessions = []
    for row, data in valid_sessions(user):
        usage: Mapping[str, str] = data.get(USAGE_KEY, {})
        session = ActiveSession(
            id=session_id(row.session_key),
            started_at=parse_time(usage.get("started_at")),
            used_at=parse_time(usage.get("used_at")),
            address=usage.get("address", ""),
            browser=describe_browser(usage.get("user_agent", "")),
            is_current=row.session_key == current_key,
        )
        sessions.append(session)
    oldest = datetime.min.replace(tzinfo=UTC)
    return sorted(sessions, key=lambda session: (session.is_current, session.used_at or oldest), reverse=True)


def valid_sessions(user: User) -> list[tuple[Session, dict[str, Any]]]:
    """Return the user's sessions with their data, without expired ones and those from before a changed password."""
    rows = Session.objects.filter(user=user, expire_date__gt=timezone.now())
    decoded = [(row, row.get_decoded()) for row in rows]
    return [(row, data) for row, data in decoded if user.is_session_hash(data.get(HASH_SESSION_KEY, ""))]


def session_id(session_key: str) -> str:
    """Return a name for the session from which its key can't be computed."""
    return salted_hmac("accounts.sessions", session_key, algorithm="sha256").hexdigest()[:32]


def parse_time(text: str | None) -> datetime | None:
    """Return a time that was stored in the session as text."""
    return datetime.fromisoformat(text) if text else None


def describe_browser(user_agent: str) -> str:
    """Return browser and system in words, such as "Firefox on Windows"."""
    browser = next((name for token, name in BROWSERS.items() if token in user_agent), "")
    system = next((name for token, name in SYSTEMS.items() if token in user_agent), "")
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or "Unknown browser"


def end_session(*, user: User, id: str) -> bool:
    """End one of the user's sessions. Returns False if the user has no session with this id."""
    return end_sessions(user, lambda row: constant_time_compare(session_id(row.session_key), id)) > 0


def end_other_sessions(*, user: User, current_key: str | None) -> int:
    """End all of the user's sessions but the current one. Returns how many worked until now."""
    return end_sessions(user, lambda row: row.session_key != current_key)


def end_sessions(user: User, condition: Callable[[Session], bool]) -> int:
    """End those of the user's sessions that meet the condition, and add each to the security log."""
    count = 0
    for row, data in valid_sessions(user):
        # Deleted by a statement of its own: of two simultaneous requests only one finds and logs it. A request that is
        # still using the session can't store it again, because Django updates a session only if it exists.
        if condition(row) and Session.objects.filter(pk=row.pk).delete()[0]:
            browser = describe_browser(data.get(USAGE_KEY, {}).get("user_agent", ""))
            record_security_event(SecurityEventKind.SESSION_ENDED, user=user, actor=user, details=browser)
            count += 1
    return count
