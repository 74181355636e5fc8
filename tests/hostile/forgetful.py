"""The project's addresses, and doors behind which a test does what a forgetful programmer might."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, JsonResponse
from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from pipeline_backend import urls
from pipeline_backend.api.viewsets import ApiView

act: Callable[[], Any] = list


class Keyed(ApiView):
    """Behind a key."""

    def get(self, request: Request) -> Response:
        return Response({"data": act()})


def signed_in(request: HttpRequest) -> JsonResponse:
    """In the admin, behind a session; and elsewhere, before anybody has said who they are."""
    return JsonResponse({"data": act()})


handler400, handler403, handler404, handler500 = urls.handler400, urls.handler403, urls.handler404, urls.handler500
urlpatterns = [
    path("api/forgetful", Keyed.as_view(schema=None)),
    path("admin/forgetful", signed_in),
    path("forgetful", signed_in),
    *urls.urlpatterns,
]
