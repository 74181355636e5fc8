"""Requests with many rows, each of which is done like a request of its own (docs/interface.md, L46 to L48)."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.exceptions import APIException
from rest_framework.response import Response

from foundation.api import sql_serializers as sql
from foundation.api.exceptions import BeingErased, DomainError, is_unavailable
from foundation.api.fields import BoundedListField
from foundation.api.openapi import FIELD_ERRORS, MESSAGE
from foundation.api.rate_limits import throttled
from foundation.api.responses import action_response
from foundation.api.viewsets import ExternalViewSet

MAX_ROWS = 200
ROWS_PER_REQUEST = 10  # that count as one request against the rate limit

Row = Mapping[str, object]


class RowsField(BoundedListField):
    """1 to `MAX_ROWS` objects. Their fields are checked when it is their turn, so that each has its own errors."""

    default_error_messages = {"required": "is required", "length": f"must have 1 to {MAX_ROWS} rows"}

    def to_internal_value(self, data: Any) -> list[Row]:
        if not isinstance(data, list) or not 0 < len(data) <= MAX_ROWS:
            self.fail("length" if isinstance(data, list) else "not_a_list")
        errors = {str(index): ["must be an object"] for index, row in enumerate(data) if not isinstance(row, dict)}
        if errors:
            raise serializers.ValidationError(errors)
        return data


class ImportedRowSerializer(sql.SQLSerializer):
    """Base of the result of a row. A row that was done has `data`, another one `message` and maybe `errors`."""

    index = sql.IntegerField(help_text="The row's place in the request, from 0.")
    status = sql.IntegerField(help_text="The status code that a request with this row alone would have.")
    message = sql.Field(openapi=MESSAGE, help_text="Why the row was not done; absent if it was.")
    errors = sql.Field(openapi=FIELD_ERRORS, help_text="As in a 400 of a single request; absent otherwise.")

    @classmethod
    def schema(cls, resolve: sql.SchemaResolver) -> sql.Schema:
        return super().schema(resolve) | {"required": ["index", "status"]}


class ResultsField(sql.Field):
    def __init__(self, serializer: type[ImportedRowSerializer]) -> None:
        super().__init__(help_text="The result of each row, in the order of the request.")
        self.serializer = serializer

    def value_schema(self, resolve: sql.SchemaResolver) -> sql.Schema:
        return {"type": "array", "items": resolve(self.serializer)}


class ImportSerializer(sql.SQLSerializer):
    """Base of the result of an import."""

    created = sql.IntegerField(help_text="How many rows have created something.")
    existing = sql.IntegerField(help_text="How many rows were done and have created nothing.")
    failed = sql.IntegerField(help_text="How many rows were not done.")


class ImportViewSet(ExternalViewSet):
    """Its import is the action `create_many`."""

    RANKS: ClassVar[dict[int, str]] = {201: "created", 200: "existing"}

    def has_known_reference(self, data: Mapping[str, object]) -> bool:
        # Each row repeats by its own e-mail or reference. The transaction of a stored response would have all of them,
        # and as long as it lasts, no organization sees newer events.
        return self.action == "create_many"

    def import_rows(self, rows: Sequence[Row], do: Callable[[Row], Response]) -> Response:
        """Call `do`, which runs a transaction, for each row. The rate limit is checked before the first one."""
        self.count_rows(len(rows))
        response, results = None, []
        for index, row in enumerate(rows):
            # After a 503 no other row is tried, because each could take as long; but that of a lead that is being
            # erased is about its own row alone.
            if response is None or response.status_code != 503 or response.data["message"] == BeingErased.message:
                response = self.respond_to_row(row, do)
            shown = {name: response.data[name] for name in ("data", "message", "errors") if name in response.data}
            if "data" in shown:
                del shown["message"]
            results.append({"index": index, "status": response.status_code, **shown})
        counts = dict.fromkeys([*self.RANKS.values(), "failed"], 0)
        for result in results:
            counts[self.RANKS.get(result["status"], "failed")] += 1
        return action_response("Rows imported", {"rows": results, **counts})

    def count_rows(self, number: int) -> None:
        """Count the rows against the rate limit, none of them if they are too many. Raises Throttled."""
        assert self.usage
        for left in range(math.ceil(number / ROWS_PER_REQUEST) - 1, -1, -1):
            if self.usage.exceeded or self.usage.remaining < left:
                raise throttled("organization", self.usage)
            if left:
                self.usage = self.auth.count_request(self.request._request)

    def respond_to_row(self, row: Row, do: Callable[[Row], Response]) -> Response:
        try:
            return do(row)
        except (DomainError, APIException) as error:
            return self.handle_exception(error)
        except Exception as error:
            if not is_unavailable(error):
                raise
            return self.handle_exception(error)
