"""Every address that the service has, from its own URL map; and what of a stranger may never be in an answer."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.contrib.admin.utils import quote
from django.contrib.contenttypes.models import ContentType
from django.db import connection, transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from psycopg import sql

from organizations.isolation import TenantModel
from organizations.models import ApiKey, Membership, Organization, User
from tests.admin.pages import MODEL_ADMINS

TENANT_MODELS: list[Any] = [model for model in apps.get_models() if issubclass(model, TenantModel)]


@dataclass(frozen=True)
class Route:
    """One address: its pattern's parts as Django has them, and the names of what is to be filled in."""

    pattern: str
    name: str | None
    arguments: tuple[str, ...]
    callback: Any

    def with_ids(self, values: dict[str, str]) -> str:
        """The address, filled in."""
        path = get_path(self.pattern)
        for name in self.arguments:
            path = path.replace(f"<{name}>", quote(values[name]))
        return path

    @property
    def page(self) -> Any:
        """The admin page that it belongs to, if any."""
        return next(
            (page for page in MODEL_ADMINS if f"admin/{page.opts.app_label}/{page.opts.model_name}/" in self.pattern),
            None,
        )


def routes(resolver: URLResolver | None = None, before: str = "") -> Iterator[Route]:
    """All of them."""
    for entry in (resolver or get_resolver()).url_patterns:
        pattern = before + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from routes(entry, pattern)
        elif isinstance(entry, URLPattern):
            yield Route(pattern, entry.name, tuple(names_in(pattern)), entry.callback)


def names_in(pattern: str) -> list[str]:
    """`<path:object_id>` and `(?P<url>.*)`: their names."""
    return [part.split(">")[0].split(":")[-1] for part in pattern.split("<")[1:]]


def get_path(pattern: str) -> str:
    """An address with `<name>` for each argument, without the signs of a regular expression."""
    for name in names_in(pattern):
        for start, end in (("(?P<", ")"), ("<", ">")):
            for kind in ("", "path:", "str:"):
                head = pattern.find(f"{start}{kind}{name}>")
                if head >= 0:
                    pattern = f"{pattern[:head]}\0{name}\1{pattern[pattern.index(end, head) + 1 :]}"
    return "/" + pattern.replace("\0", "<").replace("\1", ">").replace("^", "").replace("$", "")


ADMIN_ROUTES = [route for route in routes() if route.pattern.startswith("admin/")]
API_ROUTES = [route for route in routes() if route.pattern.startswith("api/")]
OTHER_ROUTES = [route for route in routes() if not route.pattern.startswith(("admin/", "api/"))]


class Stranger:
    """The other organization: its rows by model, and the words by which an answer would give it away."""

    def __init__(self, organization: Organization) -> None:
        self.organization = organization
        self.rows: dict[Any, list[Any]] = {model: list(model.objects.of(organization)) for model in TENANT_MODELS}
        self.rows |= {Organization: [organization], User: [member.user for member in self.rows[Membership]]}
        self.ids = {str(row.pk) for rows in self.rows.values() for row in rows if len(str(row.pk)) > 10}
        self.words = self.ids | {key.key_id for key in self.rows[ApiKey]} | {"zyxwv", "globex"}

    def id_of(self, model: Any) -> str:
        """The id of one of its rows."""
        return str(self.rows[model][0].pk)

    def fillings(self, route: Route) -> Iterator[dict[str, str]]:
        """What to fill an address with, so that it asks for the stranger's rows; KeyError for a name that nobody has taught this."""
        if "object_id" in route.arguments and route.page:
            yield {"object_id": self.id_of(route.page.model)}
        elif set(route.arguments) == {"content_type_id", "object_id"}:
            for model in self.rows:
                yield {
                    "content_type_id": str(ContentType.objects.get_for_model(model).pk),
                    "object_id": self.id_of(model),
                }
        else:
            known = {"id": "", "url": f"leads/lead/{self.id_of(User)}", "app_label": "leads", "token": "set-password"}
            known["uidb64"] = urlsafe_base64_encode(force_bytes(self.id_of(User)))
            yield {name: known[name] for name in route.arguments}

    def seen_in(self, answer: Any, sent: Iterable[str] = ()) -> list[str]:
        """The stranger's words in the answer, but for those that were asked with."""
        text = (answer.content.decode(errors="replace") + answer.headers.get("Location", "")).lower()
        allowed = " ".join(sent).lower()
        return sorted(word for word in self.words if word.lower() in text and word.lower() not in allowed)


@contextmanager
def undone() -> Iterator[list[str]]:
    """Whatever is done in the block is rolled back, so that the next request meets the same world; what was written is told."""
    writes: list[str] = []

    def note(execute: Any, statement: Any, *others: Any) -> Any:
        if isinstance(statement, str) and not statement.startswith(("SELECT", "SAVEPOINT", "RELEASE")):
            writes.append(statement)
        return execute(statement, *others)

    with transaction.atomic(), connection.execute_wrapper(note):
        yield writes
        transaction.set_rollback(True)


def crossings() -> list[str]:
    """Rows that point at a row of another organization, over every foreign key that there is."""
    parts = [
        sql.SQL(
            "SELECT {name} FROM {here} h JOIN {there} t ON h.{column} = t.{key} WHERE h.organization_id <> t.organization_id"
        ).format(
            name=sql.Literal(f"{model.__name__}.{field.name}"),
            here=sql.Identifier(model._meta.db_table),
            there=sql.Identifier(field.related_model._meta.db_table),
            column=sql.Identifier(field.column),
            key=sql.Identifier(field.target_field.column),
        )
        for model in TENANT_MODELS
        for field in model._meta.concrete_fields
        if field.is_relation and field.related_model in TENANT_MODELS
    ]
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL(" UNION ALL ").join(parts))
        return [name for (name,) in cursor.fetchall()]


def enter(member: Membership) -> Client:
    """The member at the admin; an error inside is an answer, not an exception."""
    client = Client(raise_request_exception=False)
    client.force_login(member.user)
    return client
