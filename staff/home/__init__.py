"""The admin's home page: what the user has to do, and the numbers of a period, for one organization.

`staff.figures` reads the address and has the numbers, each with a link to the rows that it counts.
"""

from django.http import HttpRequest
from django.utils import timezone

from organizations.permissions import current_user
from staff.figures.page import read_page
from staff.home.alerts import alerts
from staff.home.numbers import numbers_context
from staff.home.setup import setup_steps
from staff.home.work import work_context


def home(request: HttpRequest, context: dict[str, object]) -> dict[str, object]:
    """Return the template context of the home page. Raises BadRequest for an address that it doesn't understand."""
    context = {**context, "title": greeting(request), "today": timezone.localdate(), "alerts": list(alerts(request))}
    page = read_page(request)
    if page is None:
        return context
    return {**context, "page": page, "steps": setup_steps(page), **work_context(page), **numbers_context(page)}


def greeting(request: HttpRequest) -> str:
    hour, user = timezone.localtime().hour, current_user(request)
    word = "morning" if 4 <= hour < 12 else "afternoon" if 12 <= hour < 18 else "evening"
    return f"Good {word}, {user.first_name or user.get_full_name()}"
