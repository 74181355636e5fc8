"""The web application with views that fail: the list of statuses, and the admin's first page and login page.

Errors are reported by mail, as an operator can configure it.
"""

import logging
from typing import Any

from pipeline_backend.web.rsgi import server

# isort: split
from django.conf import settings  # the import above has set Django up
from django.contrib import admin
from django.utils.log import AdminEmailHandler

from statuses.views import StatusViewSet

__all__ = ["server"]


def fail(self: object, request: Any, *_: object, **__: object) -> None:
    """Raise with the request's headers in a local variable, because error reports contain local variables."""
    headers = dict(request.headers)
    raise RuntimeError(f"failing with {len(headers)} headers")


settings.ADMINS = [("Operator", "operator@example.com")]
logging.getLogger("django.request").addHandler(AdminEmailHandler(include_html=True))
StatusViewSet.list = fail
admin.site.index = fail.__get__(admin.site)
admin.site.login = fail.__get__(admin.site)
