"""The web application, in which reading statuses and the admin's first page fail; errors are reported by mail, as an operator can have it."""

import logging
from typing import Any

from pipeline_backend.web.rsgi import server

# isort: split
from django.conf import settings  # now that Django is ready
from django.contrib import admin
from django.utils.log import AdminEmailHandler

from statuses.views import StatusViewSet

__all__ = ["server"]


def fail(self: Any, request: Any, *_: object, **__: object) -> None:
    """With the key, the session and the settings at hand."""
    given = dict(request.headers)
    raise RuntimeError(f"failing with {len(given)} headers")


settings.ADMINS = [("Operator", "operator@example.com")]
logging.getLogger("django.request").addHandler(AdminEmailHandler(include_html=True))
StatusViewSet.list = fail
admin.site.index = fail.__get__(admin.site)
admin.site.login = fail.__get__(admin.site)
