"""The admin shows and takes times in the person's own time zone; the interface is UTC always."""

from collections.abc import Callable
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.http import HttpRequest, HttpResponse
from django.utils import timezone


class AdminTimezoneMiddleware:
    """Middleware: the person's zone for the length of a request to the admin."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path_info.startswith("/admin/") or not request.user.is_authenticated:
            return self.get_response(request)
        with timezone.override(get_zone(request.user.time_zone)):
            return self.get_response(request)


def get_zone(name: str) -> ZoneInfo:
    """The zone, or UTC for a name that nobody knows."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")
