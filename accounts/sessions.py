"""Sessions with their user: the session engine, and the page on which people see and end their own.

The engine is Django's database engine with one more column, as its documentation describes. When and from where a
session is used is part of its data, so that one statement writes both. Two weeks after its last use it ends.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any

from django.contrib import messages
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.contrib.sessions.backends import db
from django.contrib.sessions.backends.base import UpdateError
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.middleware.csrf import get_token
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac

from accounts.pages import account_page
from accounts.two_factor_views import needs_two_factor
from foundation.api.client_address import client_address
from foundation.api.exceptions import is_unavailable
from foundation.db.deletes import delete_in_batches
from organizations.models import SecurityEventKind, Session, User
from organizations.permissions import current_user
from organizations.security_log import record_security_event, shorten_user_agent

USAGE_KEY = "usage"
MAX_SESSIONS = 100  # of a person, who sees all of them on one page
# A session's last use is at most this much later than shown, and costs at most one write in this time, unless its
# address or browser changes.
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
        row: Any = super().create_model_instance(data)  # a Session, whatever Django's stubs say
        row.user_id = data.get(SESSION_KEY)
        return row


def note_usage(request: HttpRequest) -> None:
    """Write the time, address and browser into the session, unless these were written less than five minutes ago.

    The time is written into the person's row, too, where owners see it after the session has ended.
    """
    previous: Mapping[str, str] = request.session.get(USAGE_KEY, {})
    at = timezone.now()
    used_at = parse_time(previous.get("used_at"))
    if used_at is not None and at - used_at < USAGE_INTERVAL and is_same_client(request):
        return
    if not previous:
        end_oldest_sessions(request.session[SESSION_KEY])
    request.session[USAGE_KEY] = {
        "started_at": previous.get("started_at", at.isoformat()),
        "used_at": at.isoformat(),
        **client_of(request),
    }
    User.objects.filter(pk=request.session[SESSION_KEY]).update(last_seen_at=at)


def is_same_client(request: HttpRequest) -> bool:
    """Return whether address and browser are those of the session's last use."""
    usage: Mapping[str, str] = request.session.get(USAGE_KEY, {})
    return {**usage, **client_of(request)} == usage


def client_of(request: HttpRequest) -> dict[str, str]:
    return {
        "address": client_address(request.META)[:64],
        "user_agent": shorten_user_agent(request.headers.get("User-Agent", "")),
    }


def end_oldest_sessions(user_id: str) -> None:
    """Delete all sessions but the last used, so that a new one has a place. Each use moves the expiry."""
    stored = Session.objects.filter(user_id=user_id).order_by("-expire_date").values_list("pk", flat=True)
    Session.objects.filter(pk__in=list(stored[MAX_SESSIONS - 1 :])).delete()


def parse_time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def describe_browser(user_agent: str) -> str:
    browser = next((name for token, name in BROWSERS.items() if token in user_agent), "")
    system = next((name for token, name in SYSTEMS.items() if token in user_agent), "")
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or "Unknown browser"


def session_id(session_key: str) -> str:
    """Return the session's name in forms. It can't be used to sign in: the key can't be computed from it."""
    return salted_hmac("accounts.sessions", session_key, algorithm="sha256").hexdigest()[:32]


def valid_sessions(user: User) -> list[tuple[Session, dict[str, Any]]]:
    """Return the user's sessions with their data, without expired ones and those from before a changed password."""
    decoded = [(row, row.get_decoded()) for row in Session.objects.filter(user=user, expire_date__gt=timezone.now())]
    return [(row, data) for row, data in decoded if user.is_session_hash(data.get(HASH_SESSION_KEY, ""))]


def active_sessions(user: User, current_key: str | None) -> list[dict[str, object]]:
    """Return the user's sessions that still work as the page shows them: the current one first, then the last used."""
    sessions = []
    for row, data in valid_sessions(user):
        usage: Mapping[str, str] = data.get(USAGE_KEY, {})
        session: dict[str, object] = {
            "id": session_id(row.session_key),
            "started_at": parse_time(usage.get("started_at")),
            "used_at": parse_time(usage.get("used_at")),
            "address": usage.get("address", ""),
            "browser": describe_browser(usage.get("user_agent", "")),
            "is_current": row.session_key == current_key,
        }
        sessions.append((row.session_key == current_key, usage.get("used_at", ""), session))
    return [session for *_, session in sorted(sessions, key=itemgetter(0, 1), reverse=True)]


def end_sessions(user: User, condition: Callable[[str], bool]) -> int:
    """End the user's sessions whose key meets the condition, and log each. Returns how many worked until now."""
    count = 0
    for row, data in valid_sessions(user):
        # Deleted by a statement of its own: of two simultaneous requests only one finds and logs it. A request that is
        # still using the session can't store it again, because Django updates a session only if it exists.
        if condition(row.session_key) and Session.objects.filter(pk=row.pk).delete()[0]:
            browser = describe_browser(data.get(USAGE_KEY, {}).get("user_agent", ""))
            record_security_event(SecurityEventKind.SESSION_ENDED, user=user, actor=user, details=browser)
            count += 1
    return count


def sessions_page(request: HttpRequest) -> HttpResponse:
    user, current_key = current_user(request), request.session.session_key
    if request.method != "POST":
        return account_page(request, "sessions", "Sessions", sessions=active_sessions(user, current_key))
    id = request.POST.get("session", "")
    if "others" in request.POST:
        count = end_sessions(user, lambda key: key != current_key)
        messages.success(request, f"{count} other {'session has' if count == 1 else 'sessions have'} ended.")
    elif end_sessions(user, lambda key: constant_time_compare(session_id(key), id)):
        messages.success(request, "The session has ended.")
    else:
        messages.warning(request, "That session has already ended.")
    return HttpResponseRedirect(reverse("admin:sessions"))


@receiver([user_logged_in, user_logged_out], dispatch_uid="accounts.sessions")
def drop_messages(request: HttpRequest, **options: object) -> None:
    """Delete unread messages, so that the next person doesn't get them: their cookie outlives the session."""
    list(messages.get_messages(request))


def token_view(request: HttpRequest) -> HttpResponse:
    """Return the session's current token as JSON. `admin.js` asks for it before it sends a form of `page`.

    With it go the e-mail of the user, if the page was opened by another `person`, and whether the user must set up
    two-factor sign-in first.
    """
    user = current_user(request)
    other = user.email if request.GET.get("person") != str(user.pk) else ""
    is_closed = needs_two_factor(user, request.GET.get("page"))
    return JsonResponse({"token": get_token(request), "other_user": other, "needs_two_factor": is_closed})
