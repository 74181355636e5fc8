"""The base of every external endpoint: the order of checks, and reading and answering in one way (decision 1)."""

from typing import Any
from uuid import UUID

from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated, NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSetMixin

from pipeline_backend.api.exceptions import ResourceNotFound, ValidationFailed
from pipeline_backend.api.fields import parse_uuid
from pipeline_backend.api.filters import ListFilter
from pipeline_backend.api.pagination import Page
from pipeline_backend.api.rate_limits import Usage, hit_failed_key
from pipeline_backend.api.responses import data_response
from pipeline_backend.api.sql_serializers import SQLSerializer


class ApiView(APIView):
    """Key (401), rate limit (429), scope (403), then method, media type, size and body."""

    http_method_names = ["get", "head", "post", "patch"]
    usage: Usage | None = None

    def perform_authentication(self, request: Request) -> None:
        """A key, or 401; too many bad ones from one address, 429."""
        try:
            super().perform_authentication(request)
        except (AuthenticationFailed, NotAuthenticated):
            hit_failed_key(request._request)
            raise

    def check_permissions(self, request: Request) -> None:
        """The rate limit first: a key without the scope is counted too."""
        access: Any = request.auth
        self.usage = access.count_request(request._request)
        self.usage.refuse_if_over()
        super().check_permissions(request)

    def finalize_response(self, request: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        """The rate limit's headers are on every keyed answer; without a key nobody learns which methods an address has."""
        if self.usage:
            self.usage.write(response)
        else:
            self.headers.pop("Allow", None)
        return super().finalize_response(request, response, *args, **kwargs)

    @property
    def access(self) -> Any:
        """What the key opens: organization, actor, rate limit."""
        return self.request.auth

    @property
    def organization(self) -> Any:
        """Whose data this request is about."""
        return self.access.organization

    @property
    def actor(self) -> Any:
        """Who does it: the key."""
        return self.access.actor

    def read(self, wanted: type[Serializer[Any]]) -> dict[str, Any]:
        """The body's typed values, or 400 naming the bad fields."""
        given = wanted(data=self.request.data, context={"organization": self.organization})
        given.is_valid(raise_exception=True)
        values: dict[str, Any] = given.validated_data
        return values


class UnknownRouteView(ApiView):
    """Whatever else is asked for below /api/: nothing, but only for those with a key (no probing for routes)."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse after the checks."""
        super().initial(request, *args, **kwargs)
        raise NotFound


class ExternalViewSet(ViewSetMixin, ApiView):
    """One resource of the interface."""

    def list_of(self, shape: type[SQLSerializer], chosen: ListFilter, *, message: str) -> Response:
        """One page of what the filter chose."""
        page, problems = Page.read(self.request.query_params)
        problems |= chosen.problems()
        if problems:
            raise ValidationFailed(problems)
        total, ids = chosen.cut(page.start, page.limit)
        return data_response(message, shape.of(self.organization, ids), pagination=page.describe(total))

    def detail_of(self, shape: type[SQLSerializer], id: str, *, message: str) -> Response:
        """One object by its id, or 404."""
        one = shape.one(self.organization, self.id_of(id))
        if one is None:
            raise ResourceNotFound
        return data_response(message, one)

    def id_of(self, text: str) -> UUID:
        """The id in the path; one that is no UUID is an unknown one (decision 5)."""
        try:
            return parse_uuid(text)
        except ValueError:
            raise ResourceNotFound from None
