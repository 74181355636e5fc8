"""The admin's home page: what the user has to do, and the numbers of a period, for one organization.

Each number links to a list with filters that show exactly the rows that it counts. `appointments.reports` counts them,
by the conditions of `appointments.conditions`, as the lists' filters do. `page` reads the address, `work` and `numbers`
make the two halves of the page, `setup` the steps of a new organization, and `alerts` the sentences above all.
"""

from django.http import HttpRequest
from django.utils import timezone

from organizations.permissions import current_user
from staff.home.alerts import alerts
from staff.home.numbers import numbers_context
from staff.home.page import read_page
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
    """Return a greeting for the time of day, with the user's first name."""
    hour, user = timezone.localtime().hour, current_user(request)
    word = "morning" if 4 <= hour < 12 else "afternoon" if 12 <= hour < 18 else "evening"
    return f"Good {word}, {user.first_name or user.get_full_name()}"
