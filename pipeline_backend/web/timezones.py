"""Times in the admin are in the user's own time zone; the API always uses UTC."""

from collections.abc import Callable
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.http import HttpRequest, HttpResponse
from django.utils import timezone


class AdminTimezoneMiddleware:
    """Activates the user's time zone for the duration of an admin request."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path_info.startswith("/admin/") or not request.user.is_authenticated:
            return self.get_response(request)
        with timezone.override(get_zone(request.user.time_zone)):
            return self.get_response(request)


def get_zone(name: str) -> ZoneInfo:
    """Return the time zone with this name, or UTC if there is none."""
    try:
        return ZoneInfo(name)
    # A stored name can be unknown to this server's time zone database; OSError and ValueError come from odd file names.
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")
