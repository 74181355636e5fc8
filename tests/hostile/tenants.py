"""Helpers of the tests of tenant isolation: a tenant's data, references between tenants, and rolled-back requests."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from django.apps import apps
from django.db import connection, transaction
from django.test import Client
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from psycopg import sql

from organizations.isolation import TenantModel
from organizations.models import ApiKey, Membership, Organization, SecurityEvent, User
from tests.hostile.routes import Route

TOKEN = re.compile("[A-Za-z0-9]{32,}")  # of CSRF, 64 characters
TENANT_MODELS: list[Any] = [model for model in apps.get_models() if issubclass(model, TenantModel)]

CROSS_TENANT_REFERENCES = """
    SELECT {name}
      FROM {table} AS referring
      JOIN {related_table} AS referred ON referring.{column} = referred.{related_column}
     WHERE referring.organization_id <> referred.organization_id
"""


class TenantData:
    """An organization's rows by model, and the words (ids, names) by which a response would reveal it."""

    def __init__(self, organization: Organization) -> None:
        self.organization = organization
        self.rows: dict[Any, list[Any]] = {model: list(model.objects.of(organization)) for model in TENANT_MODELS}
        self.rows |= {Organization: [organization], User: [member.user for member in self.rows[Membership]]}
        self.rows[SecurityEvent] = list(SecurityEvent.objects.filter(organization=organization))
        # Short ids (integers) would be found in any response by chance.
        self.ids = {str(row.pk) for rows in self.rows.values() for row in rows if len(str(row.pk)) > 10}
        # All texts of the sample data contain "zyxwv"; Globex is the other organization's name.
        self.words = self.ids | {key.key_id for key in self.rows[ApiKey]} | {"zyxwv", "globex"}

    def id_of(self, model: Any) -> str:
        """Return the id of one of the model's rows."""
        return str(self.rows[model][0].pk)

    def url_arguments(self, route: Route) -> Iterator[dict[str, str]]:
        """Yield arguments with which the route's URL asks for this organization's rows.

        Raises KeyError for an argument that isn't known here, so that a new kind of URL can't stay untested.
        """
        if "object_id" in route.arguments and route.model_admin:
            yield {"object_id": self.id_of(route.model_admin.model)}
        else:
            values = {
                "id": "",
                "url": f"leads/lead/{self.id_of(User)}",
                "app_label": "leads",
                "token": "set-password",
                "uidb64": urlsafe_base64_encode(force_bytes(self.id_of(User))),
            }
            yield {name: values[name] for name in route.arguments}

    def words_in(self, response: Any, sent: Iterable[str] = ()) -> list[str]:
        """Return the revealing words that the response contains, without those that the request sent itself."""
        content = response.getvalue() if response.streaming else response.content
        # Without random tokens: in one of some hundred thousand, the letters are a revealing word by chance.
        text = TOKEN.sub("", content.decode(errors="replace") + response.headers.get("Location", "")).lower()
        allowed = " ".join(sent).lower()
        return sorted(word for word in self.words if word.lower() in text and word.lower() not in allowed)


@contextmanager
def rolled_back() -> Iterator[list[str]]:
    """Roll back what the block does, so that the next request meets the same data; yield the statements that write."""
    writes: list[str] = []

    def collect_write(execute: Callable[..., object], statement: object, *args: object) -> object:
        if isinstance(statement, str) and not statement.startswith(("SELECT", "SAVEPOINT", "RELEASE")):
            writes.append(statement)
        return execute(statement, *args)

    with transaction.atomic(), connection.execute_wrapper(collect_write):
        yield writes
        transaction.set_rollback(True)


def organizations_in(table: str) -> list[str]:
    """Return the ids of the organizations whose rows a statement without a filter sees."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT DISTINCT organization_id::text FROM {table}")  # noqa: S608  # a model's table
        return [id for (id,) in cursor.fetchall()]


@cache
def cross_tenant_references_statement() -> str:
    selects = [
        sql.SQL(CROSS_TENANT_REFERENCES).format(
            name=sql.Literal(f"{model.__name__}.{field.name}"),
            table=sql.Identifier(model._meta.db_table),
            related_table=sql.Identifier(field.related_model._meta.db_table),
            column=sql.Identifier(field.column),
            related_column=sql.Identifier(field.target_field.column),
        )
        for model in TENANT_MODELS
        for field in model._meta.concrete_fields
        if field.is_relation and field.related_model in TENANT_MODELS
    ]
    return sql.SQL(" UNION ALL ").join(selects).as_string(None)


def cross_tenant_references() -> list[str]:
    """Return the foreign keys (`Model.field`) by which any row refers to a row of another organization."""
    with connection.cursor() as cursor:
        cursor.execute(cross_tenant_references_statement())
        return [name for (name,) in cursor.fetchall()]


class DownloadingClient(Client):
    """A client that reads a file to its end, as a browser does, so that the server closes it."""

    def request(self, **request: Any) -> Any:
        """Return the response, with the whole file if it is one."""
        response = super().request(**request)
        if response.streaming:
            response.streaming_content = [b"".join(response.streaming_content)]
        return response


def make_admin_client(member: Membership) -> Client:
    """Return a client that is logged in as the member, and gets a 500 response where a view raises."""
    client = DownloadingClient(raise_request_exception=False)
    client.force_login(member.user)
    return client
