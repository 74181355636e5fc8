"""The root URL configuration."""

from django.contrib import admin
from django.templatetags.static import static
from django.urls import URLPattern, URLResolver, include, path, re_path
from django.utils.functional import lazy
from django.views.generic import RedirectView

from accounts.invitation_views import unsubscribe_from_invitations
from appointments.calendar_feed import show_calendar
from appointments.unsubscribe_views import unsubscribe_lead_from_mails
from foundation.api.viewsets import UnknownRouteView
from notifications.views import unsubscribe_from_notifications
from pipeline_backend.web.error_handlers import handler400, handler403, handler404, handler500
from pipeline_backend.web.guides import PATHS, GuideView, show_llms_txt
from pipeline_backend.web.health import healthz, readyz
from pipeline_backend.web.home import show_home
from pipeline_backend.web.middleware import API_PATH
from pipeline_backend.web.openapi_views import SchemaView, SwaggerView

admin.autodiscover()

# Django tries one pattern after the other, so those that clients use most, and short lists, come first.
api: list[URLPattern | URLResolver] = [
    path("", include("statuses.urls")),
    path("", include("appointments.urls")),
    path("", include("optins.urls")),
    path("", include("leads.urls")),
    path("", include("organizations.urls")),
    path("", include("webhooks.urls")),
    path("schema", SchemaView.as_view(), name="schema"),
    path("docs", SwaggerView.as_view(), name="docs"),
    *(path(f"docs/{name}", GuideView.as_view(), {"name": name}, name="guide") for name in PATHS),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("", show_home, name="home"),
    path("llms.txt", show_llms_txt, name="llms"),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("api/", include(api)),
    # Every other path that looks like the API's is 401 without a key and 404 with one, as JSON.
    re_path(API_PATH.pattern, UnknownRouteView.as_view(schema=None)),
    path("unsubscribe/<str:token>", unsubscribe_from_notifications, name="unsubscribe"),
    path("unsubscribe/invitation/<str:token>", unsubscribe_from_invitations, name="unsubscribe_invitation"),
    path("unsubscribe/lead/<str:token>", unsubscribe_lead_from_mails, name="unsubscribe_lead"),
    path("calendar/<uuid:organization_id>/<str:secret>.ics", show_calendar, name="calendar_feed"),
    # APPEND_SLASH is off, so the address that people type needs its own redirect.
    path("admin", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", include("accounts.urls")),
    path("admin/", admin.site.urls),
    path("favicon.ico", RedirectView.as_view(url=lazy(static, str)("staff/icon.svg"))),
]

# Django reads the handlers from this module.
__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]
