"""Base classes of the API's views: the order of checks, reading input, and list and detail responses."""

import hashlib
import re
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from psycopg.errors import QueryCanceled
from rest_framework.exceptions import APIException, AuthenticationFailed, NotFound
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSetMixin

from foundation.api import rate_limits
from foundation.api.client_address import client_address
from foundation.api.exceptions import DomainError, RequestInProgress, ResourceNotFound, ValidationFailed, is_unavailable
from foundation.api.fields import parse_timestamp, parse_uuid
from foundation.api.filters import ListFilter
from foundation.api.pagination import PAGE_PARAMETERS, Page, read_parameters
from foundation.api.responses import data_response
from foundation.api.sql_serializers import SQLSerializer
from foundation.api.unfiltered import RelatedListFilter

RETURN_PREFERENCE = re.compile(r'\s*return\s*=\s*"?(\w+)"?\s*(?:;.*)?', re.IGNORECASE | re.ASCII)
MAX_IDEMPOTENCY_KEY = 255


class ApiView(APIView):
    """Base class of every view that needs an API key.

    The checks run in this order: key (401), rate limit (429), scope (403), method (405), media type (415), body.
    `request.auth` is what the authentication class returns: it knows the organization, the actor and the rate limit.
    """

    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    usage: rate_limits.Usage | None = None
    scope: str | None = None  # that a key needs, if not that of the method; of a class, or of a path
    is_interrupted = False

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        """Respond to the request; count a slow read several times against the rate limit."""
        started = time.monotonic()
        response = super().dispatch(request, *args, **kwargs)
        # A write does a bounded amount of work; if it takes seconds, it has waited for locks of other requests.
        if self.usage and request.method in SAFE_METHODS and not self.is_interrupted:
            rate_limits.count_slow_seconds(started, partial(self.auth.count_request, request))
        return response

    def handle_exception(self, exc: Exception) -> Response:
        # The client caused a statement that took too long, but no other interruption.
        self.is_interrupted = is_unavailable(exc) and not isinstance(exc.__cause__, QueryCanceled)
        return super().handle_exception(exc)

    def perform_authentication(self, request: Request) -> None:
        """Authenticate by the key; count failures by client address. Raises 401, or 429 after too many of them."""
        try:
            super().perform_authentication(request)
        except AuthenticationFailed:
            address, limit = client_address(request.META), settings.FAILED_KEYS_PER_MINUTE
            # A process that knows that the limit is used up doesn't ask Redis.
            usage = rate_limits.find_exhausted(address) or rate_limits.hit(
                request._request, group="failed-keys", key=address, limit=limit
            )
            rate_limits.remember_exhausted(address, usage, rate_limits.WINDOW_SECONDS)
            if usage.exceeded:
                raise rate_limits.throttled("failed-keys", usage) from None
            raise

    def check_permissions(self, request: Request) -> None:
        # Before the scope, so that a key without it is limited too.
        self.usage = self.auth.count_request(request._request)
        if self.usage.exceeded:
            raise rate_limits.throttled("organization", self.usage)
        super().check_permissions(request)

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        super().initial(request, *args, **kwargs)
        key, method = request.headers.get("Idempotency-Key"), str(request.method).lower()
        if key is None or request.method in SAFE_METHODS or not hasattr(self, method):
            return
        if not (0 < len(key) <= MAX_IDEMPOTENCY_KEY and key.isascii() and key.isprintable()):
            raise ValidationFailed({"Idempotency-Key": [f"must have 1 to {MAX_IDEMPOTENCY_KEY} printable characters"]})
        setattr(self, method, partial(self.respond_once, key, getattr(self, method)))

    def respond_once(
        self, key: str, handler: Callable[..., Response], request: Request, *args: object, **kwargs: object
    ) -> Response:
        """Return the response that is stored for the key, or that of the handler, which is then stored (G57 to G60).

        Response and work are stored in one transaction, which `request.auth` opens. An error of the request rolls back
        the handler's savepoint only, so that the error response is stored, too.
        """

        def respond() -> Response:
            try:
                with transaction.atomic():
                    return handler(request, *args, **kwargs)
            except RequestInProgress:
                raise
            except (DomainError, APIException) as error:
                return self.handle_exception(error)

        # Before `request.data`, after which the body can't be read any more.
        content = f"{request.method} {request.get_full_path()}\n".encode() + request._request.body
        if self.has_known_reference(dict(request.data)):
            return handler(request, *args, **kwargs)
        return self.auth.respond_once(key=key, request_hash=hashlib.sha256(content).digest(), respond=respond)

    def has_known_reference(self, data: Mapping[str, object]) -> bool:
        """Return whether the request repeats one by the client's own reference, which decides before any key."""
        return False

    def finalize_response(self, request: Request, response: Response, *args: object, **kwargs: object) -> Response:
        if self.usage:
            # The IETF's draft on rate limit headers.
            response["RateLimit-Policy"] = f'"default";q={self.usage.limit};w={rate_limits.WINDOW_SECONDS}'
            response["RateLimit"] = f'"default";r={self.usage.remaining};t={self.usage.reset_after}'
        else:
            # Which methods a path has is not shown without a key.
            self.headers.pop("Allow", None)
        return super().finalize_response(request, response, *args, **kwargs)

    @property
    def auth(self) -> Any:
        return self.request.auth

    @property
    def organization(self) -> Any:
        return self.auth.organization

    @property
    def actor(self) -> Any:
        return self.auth.actor

    def validated(self, input_serializer: type[Serializer], data: object = None) -> dict[str, Any]:
        """Return the typed values of the data, by default the body; raises a 400 that names the invalid fields."""
        data = self.request.data if data is None else data
        serializer = input_serializer(data=data, context={"organization": self.organization})
        serializer.is_valid(raise_exception=True)
        return serializer.validated_data


class UnknownRouteView(ApiView):
    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        super().initial(request, *args, **kwargs)
        raise NotFound


class ExternalViewSet(ViewSetMixin, ApiView):
    def list_response(
        self,
        serializer: type[SQLSerializer],
        filter_class: type[ListFilter],
        *,
        message: str,
        parent_id: str = "",
        rows: QuerySet | None = None,
    ) -> Response:
        """Return a page of the rows that the parameters select; with `parent_id`, of those of that row.

        A `PartialListFilter` requires `rows` that match its conditions.
        """
        accepted = {name: filter.takes_several for name, filter in filter_class.declared_filters.items()}
        query, errors = read_parameters(self.request.query_params, PAGE_PARAMETERS | accepted)
        list_name = f"{self.organization.pk} {filter_class.model._meta.db_table}"
        page, page_errors = Page.from_query(query, list_name)
        filters = filter_class(query, organization=self.organization, queryset=rows)
        errors = page_errors | filters.errors | errors
        if errors:
            raise ValidationFailed(errors)
        if isinstance(filters, RelatedListFilter):
            filters.narrow_to(self.parse_id(parent_id))
        ids, pagination = filters.page(page)
        return data_response(message, serializer.get_many(self.organization, ids), pagination=pagination)

    def detail_response(self, serializer: type[SQLSerializer], id: str, *, message: str) -> Response:
        data = serializer.get(self.organization, self.parse_id(id))
        if data is None:
            raise ResourceNotFound
        return data_response(message, data)

    def with_representation(self, response: Response, name: str, serializer: type[SQLSerializer], id: UUID) -> Response:
        """Add the object as its detail shows it to the response of a write, if `Prefer` asks for it."""
        parts = self.request.headers.get("Prefer", "").split(",")
        preferences = [match[1].lower() for part in parts if (match := RETURN_PREFERENCE.fullmatch(part))]
        if preferences[:1] == ["representation"]:  # the first one counts (RFC 7240, 2)
            response.data[name] = serializer.get(self.organization, id)
            response["Preference-Applied"] = "return=representation"
        return response

    def required_version(self) -> datetime | None:
        """Return the `updated_at` in `If-Match`; None without the header, or for *, which matches any version."""
        text = self.request.headers.get("If-Match", "*").strip()
        if text == "*":
            return None
        version = text[1:-1]
        try:
            if text != f'"{version}"':
                raise ValueError
            return parse_timestamp(version)
        except ValueError:
            problem = 'must be an updated_at in quotation marks, such as "2027-01-05T10:00:00.000Z"'
            raise ValidationFailed({"If-Match": [problem]}) from None

    def parse_id(self, text: str) -> UUID:
        try:
            return parse_uuid(text)
        except ValueError:
            raise ResourceNotFound from None
