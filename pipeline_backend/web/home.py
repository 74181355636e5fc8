"""The page at `/`: what this service is, and where its documentation, admin and health checks are."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.decorators.http import require_safe


@require_safe
def show_home(request: HttpRequest) -> HttpResponse:
    # Rendered without the request: context processors would load the session and the user from the database.
    return HttpResponse(render_to_string("home.html", {"local_run": settings.LOCAL_RUN}))
