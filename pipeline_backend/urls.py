"""The whole address map."""

from typing import Any

from django.conf import settings
from django.contrib import admin
from django.templatetags.static import static
from django.urls import include, path, re_path
from django.views.generic import RedirectView

from pipeline_backend.api.viewsets import UnknownRouteView
from pipeline_backend.local import inbox
from pipeline_backend.web.error_handlers import handler400, handler403, handler404, handler500
from pipeline_backend.web.health import healthz, readyz
from pipeline_backend.web.openapi_views import SchemaView, SwaggerView

api: list[Any] = [
    path("schema", SchemaView.as_view(), name="schema"),
    path("docs", SwaggerView.as_view(), name="docs"),
    path("", include("appointments.urls")),
    path("", include("optins.urls")),
    path("", include("leads.urls")),
    path("", include("statuses.urls")),
    path("", include("webhooks.urls")),
    re_path("", UnknownRouteView.as_view(schema=None)),
]

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("api/", include(api)),
    path("admin", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", admin.site.urls),
    path("favicon.ico", RedirectView.as_view(url=static("pipeline_backend/icon.svg"))),
]

if settings.LOCAL_RUN:
    urlpatterns += [
        path("local/", inbox.show_inbox, name="local-inbox"),
        path("local/inbox", inbox.receive, name="local-inbox-receive"),
    ]

__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]
