"""A person's time zone: what pages call it, and taking over that of the browser."""

from datetime import datetime, timedelta

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme

from foundation.db.timestamps import get_zone, zone_names
from organizations.actors import staff_actor
from organizations.permissions import current_user
from organizations.services import save_user

# Browsers still send the former names.
RENAMED = {
    "America/Buenos_Aires": "America/Argentina/Buenos_Aires",
    "America/Godthab": "America/Nuuk",
    "Asia/Calcutta": "Asia/Kolkata",
    "Asia/Katmandu": "Asia/Kathmandu",
    "Asia/Rangoon": "Asia/Yangon",
    "Asia/Saigon": "Asia/Ho_Chi_Minh",
    "Europe/Kiev": "Europe/Kyiv",
}


def known_zone(name: str) -> str:
    """Return the present name of a browser's time zone, or "" if it isn't known here."""
    name = RENAMED.get(name, name)
    return name if name in zone_names() else ""


def describe_zone(name: str, at: datetime | None = None) -> str:
    """Return what people call the zone: "Kolkata time (GMT+5:30)", with its offset at this time, by default now."""
    offset = (at or timezone.now()).astimezone(get_zone(name)).utcoffset() or timedelta()
    hours, minutes = divmod(int(abs(offset).total_seconds()) // 60, 60)
    text = f"GMT{'-' if offset < timedelta() else '+'}{hours}{f':{minutes:02d}' if minutes else ''}"
    region, _, city = name.rpartition("/")
    if region and region != "Etc":
        return f"{city.replace('_', ' ')} time ({text})"
    return text if offset else "UTC"


def use_browser_zone(request: HttpRequest) -> HttpResponse:
    if request.method != "POST":  # after a sign-in that came between
        return HttpResponseRedirect(reverse("admin:index"))
    user, name = current_user(request), known_zone(request.POST.get("time_zone", ""))
    if name:
        user.time_zone = name
        save_user(actor=staff_actor(user), user=user, changed=["time_zone"])
        messages.success(request, f"Times are in {describe_zone(name)} now.")
    else:
        messages.warning(request, "This time zone is not known here. Choose one in your account.")
    page = request.POST.get("page", "")
    is_ours = url_has_allowed_host_and_scheme(page, allowed_hosts=None)
    return HttpResponseRedirect(page if is_ours else reverse("admin:index"))
