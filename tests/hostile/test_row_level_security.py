"""Row-level security, the second layer of tenant isolation: code that forgets the organization reveals nothing."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import DatabaseError, IntegrityError, connection, models, transaction
from django.db.models import TextField
from django.db.models.functions import Cast
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.test import Client

from appointments.filters import AppointmentFilter
from appointments.models import Appointment, Note
from foundation.api.page_queries import ListQuery, SQLWithParams, select_next, select_page
from foundation.api.pagination import Position
from foundation.api.sql_serializers import SQLSerializer
from foundation.db.compiled import CompiledQuery
from foundation.db.timestamps import isoformat_z, now
from leads.models import Lead
from leads.serializers import CustomFieldValueSerializer
from optins.models import OptIn
from organizations.isolation import TenantModel
from organizations.models import MemberRole, Membership, Organization, User
from tests.architecture.test_tenancy import TENANT_MODELS
from tests.client import ApiClient
from tests.factories import snapshot_of
from tests.hostile.conftest import RunInRequest
from tests.hostile.tenants import organizations_in
from webhooks.models import Delivery, Endpoint
from webhooks.queue import DELIVERIES

SetViewCode = Callable[[Callable[[], Any]], None]
BothOrganizations = tuple[Organization, Organization]

# Leaves the planner only a scan of the order's index, as it would choose for a large table.
FORCE_INDEX_SCAN = "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off"
by_name: Any = {"ids": lambda model: model.__name__}


def serializers(base: type[SQLSerializer] = SQLSerializer) -> list[type[SQLSerializer]]:
    """Return all serializers that are read by a statement of their own."""
    classes = [found for subclass in base.__subclasses__() for found in [subclass, *serializers(subclass)]]
    # Custom field values are read within another serializer only.
    return [found for found in classes if hasattr(found, "model") and found is not CustomFieldValueSerializer]


@pytest.fixture
def organization(both_organizations: BothOrganizations) -> Organization:
    """Acme, with a row in every table."""
    return both_organizations[0]


@pytest.fixture
def other_organization(both_organizations: BothOrganizations) -> Organization:
    """Globex, with a row in every table."""
    return both_organizations[1]


def result_of(write: Callable[[], Any]) -> str:
    """Try to write; return "written" or the name of the database error."""
    try:
        with transaction.atomic():
            write()
    except DatabaseError as error:
        return type(error).__name__
    return "written"


@pytest.mark.parametrize("model", TENANT_MODELS, **by_name)
def test_a_query_without_a_filter_sees_only_rows_of_the_own_organization(
    model: type[TenantModel], run_in_request: RunInRequest, organization: Organization
):
    def query_with_orm() -> list[str]:
        return sorted({str(id) for id in model.unscoped.values_list("organization_id", flat=True)})

    assert run_in_request(lambda: organizations_in(model._meta.db_table)) == [str(organization.pk)]
    assert run_in_request(query_with_orm) == [str(organization.pk)]


@pytest.mark.parametrize("serializer", serializers(), **by_name)
def test_a_serializer_without_its_where_clause_shows_only_the_own_organization(
    serializer: type[SQLSerializer], run_in_request: RunInRequest, other_organization: Organization
):
    def serialize_all() -> list[str]:
        rows = serializer.model._base_manager.order_by()
        query: CompiledQuery[tuple[str]] = CompiledQuery(
            lambda: rows.values_list(Cast(serializer.expression(), TextField()))
        )
        # Custom fields are those of a parameter, which even with another organization's id shows none of its.
        return [text for (text,) in query.all(organization=other_organization.pk)]

    text = " ".join(run_in_request(serialize_all)).lower()

    assert text
    assert not any(word in text for word in ("zyxwv", "globex"))


def test_organizations_users_and_mentions_are_protected_too(
    run_in_request: RunInRequest, organization: Organization, other_organization: Organization
):
    for tenant in (organization, other_organization):
        Note.objects.of(tenant).first().mention_users.set(Membership.objects.of(tenant))
    User.objects.create_superuser("root@example.com")
    mentions = Note.mention_users.through.objects

    names = run_in_request(lambda: list(Organization.objects.values_list("name", flat=True)))
    users = run_in_request(lambda: sorted(User.objects.values_list("email", flat=True)))
    mentioned = run_in_request(lambda: sorted(mentions.values_list("membership__user__email", flat=True)))

    assert names == ["Acme"]
    # Operators are visible, because pages show the names of those who made a change.
    assert users == ["ours@members.example", "owner@acme.example", "root@example.com"]
    assert mentioned == ["ours@members.example", "owner@acme.example"]


def test_get_object_or_404_does_not_find_a_row_of_another_organization(
    run_in_request: RunInRequest, other_organization: Organization
):
    other_id = Lead.objects.of(other_organization).first().pk

    def get() -> str:
        try:
            return str(get_object_or_404(Lead, pk=other_id))
        except Http404:
            return "404"

    assert run_in_request(get) == "404"


@pytest.mark.parametrize("path", ["appointments", "leads", "opt-ins"])
def test_a_detail_endpoint_without_the_organizations_filter_answers_404(
    path: str, monkeypatch: pytest.MonkeyPatch, api: ApiClient, both_organizations: BothOrganizations
):
    model: Any = {"appointments": Appointment, "leads": Lead, "opt-ins": OptIn}[path]
    own_id, other_id = (model.objects.of(tenant).first().pk for tenant in both_organizations)
    unfiltered = classmethod(
        lambda cls: cls.model._base_manager.order_by().values_list("pk", Cast(cls.expression(), TextField()))
    )
    monkeypatch.setattr(SQLSerializer, "base_query", unfiltered)
    # Compiled statements are cached for each serializer.
    caches = [SQLSerializer.__dict__[name].__func__ for name in ("query_by_id", "query_by_ids")]
    for cache in caches:
        cache.cache_clear()

    status_codes = [api.get(f"/api/external/{path}/{id}").status_code for id in (own_id, other_id)]

    for cache in caches:
        cache.cache_clear()
    assert status_codes == [200, 404]


@pytest.mark.parametrize("model", TENANT_MODELS, **by_name)
def test_a_write_without_a_filter_changes_only_rows_of_the_own_organization(
    model: type[TenantModel], run_in_request: RunInRequest, other_organization: Organization, organization: Organization
):
    before = snapshot_of(other_organization)

    def update_all() -> None:
        model.unscoped.update(created_at=other_organization.created_at)

    def move_all() -> None:
        model.unscoped.update(organization=other_organization)

    def delete_all() -> None:
        model.unscoped.all()._raw_delete("default")

    assert run_in_request(lambda: result_of(update_all)) == "written"
    assert run_in_request(lambda: result_of(move_all)) in {"ProgrammingError", "IntegrityError"}
    run_in_request(lambda: result_of(delete_all))
    assert snapshot_of(other_organization) == before


def test_a_row_for_another_organization_is_refused(run_in_request: RunInRequest, other_organization: Organization):
    def move() -> None:
        Lead.unscoped.filter(pk=Lead.unscoped.first().pk).update(organization_id=other_organization.pk)

    def insert() -> None:
        Membership.unscoped.create(organization=other_organization, user=User.objects.first())

    assert run_in_request(lambda: result_of(move)) == "ProgrammingError"
    assert run_in_request(lambda: result_of(insert)) == "ProgrammingError"


def test_no_request_can_create_an_operator(run_in_request: RunInRequest):
    def create() -> None:
        User.objects.create_superuser("evil@example.com")

    def promote() -> None:
        User.objects.filter(email="owner@acme.example").update(is_superuser=True)

    assert run_in_request(lambda: result_of(create)) == "ProgrammingError"
    assert run_in_request(lambda: result_of(promote)) == "ProgrammingError"


def tenant_references() -> list[Any]:
    """Return test parameters for every foreign key from a tenant model to a tenant model."""
    return [
        pytest.param(model, field, id=f"{model.__name__}-{field.name}")
        for model in TENANT_MODELS
        for field in model._meta.concrete_fields
        if isinstance(field, models.ForeignKey) and issubclass(field.related_model, TenantModel)
    ]


@pytest.mark.parametrize(("model", "field"), tenant_references())
def test_a_reference_to_another_organization_is_refused_whoever_writes_it(
    model: Any, field: Any, both_organizations: BothOrganizations
):
    organization, other_organization = both_organizations
    other_row = field.related_model.objects.of(other_organization).first()
    if not model._meta.related_objects:
        # A unique column is free then, so that only the organization is wrong.
        model.objects.of(other_organization).delete()

    rows = model.objects.of(organization)
    with pytest.raises(IntegrityError, match="same_organization"), transaction.atomic():
        rows.filter(pk=rows.first().pk).update(**{field.name: other_row})


def test_a_mention_of_another_organizations_member_is_refused(both_organizations: BothOrganizations):
    organization, other_organization = both_organizations
    note, other_member = Note.objects.of(organization).first(), Membership.objects.of(other_organization).first()

    with pytest.raises(IntegrityError, match="its own organization only"), transaction.atomic():
        note.mention_users.add(other_member)


def test_a_request_without_a_user_or_key_sees_nothing(
    set_view_code: SetViewCode, api: ApiClient, both_organizations: BothOrganizations, client: Client
):
    set_view_code(lambda: [organizations_in(model._meta.db_table) for model in TENANT_MODELS])
    nothing: list[list[str]] = [[] for _ in TENANT_MODELS]
    wrong_key = ApiClient("pb_" + api.key.split("_")[1] + "_wrong")

    anonymous = [client.get("/unscoped").json()["data"], client.get("/admin/unscoped").json()["data"]]
    assert len(api.get("/api/unscoped").json()["data"][0]) == 1
    after_another_request = client.get("/unscoped").json()["data"]
    assert wrong_key.get("/api/unscoped").status_code == 401
    after_a_401 = client.get("/unscoped").json()["data"]

    assert [*anonymous, after_another_request, after_a_401] == [nothing] * 4


def test_after_an_exception_the_next_request_inherits_nothing(
    set_view_code: SetViewCode, api: ApiClient, other_api: ApiClient, both_organizations: BothOrganizations
):
    def fail() -> None:
        with transaction.atomic():
            organizations_in("leads_lead")
            raise RuntimeError("midway")

    set_view_code(fail)
    assert api.get("/api/unscoped").status_code == 500
    set_view_code(lambda: organizations_in("leads_lead"))

    assert other_api.get("/api/unscoped").json()["data"] == [str(both_organizations[1].pk)]
    assert api.client.get("/unscoped").json()["data"] == []


def test_outside_of_requests_all_organizations_are_visible(api: ApiClient, both_organizations: BothOrganizations):
    both = sorted(str(tenant.pk) for tenant in both_organizations)
    # A request first, so that the connection had a scope.
    assert api.get("/api/external/leads").status_code == 200

    due_endpoints = Endpoint.unscoped.filter(pk__in=list(DELIVERIES.due_groups()))

    assert sorted(organizations_in("leads_lead")) == both
    assert sorted({str(id) for id in due_endpoints.values_list("organization_id", flat=True)}) == both
    assert sorted({str(id) for id in Delivery.unscoped.values_list("organization_id", flat=True)}) == both


def test_a_dump_by_the_owner_contains_all_organizations(both_organizations: BothOrganizations):
    with connection.cursor() as cursor:
        # As pg_dump does: an error instead of missing rows if a policy applied.
        cursor.execute("SET LOCAL row_security = off")
        cursor.execute("SELECT count(DISTINCT organization_id) FROM leads_lead")
        assert cursor.fetchone() == (2,)


def test_an_operator_sees_all_organizations_in_the_admin(
    set_view_code: SetViewCode, both_organizations: BothOrganizations, client: Client
):
    client.force_login(User.objects.create_superuser("root@example.com"))
    set_view_code(lambda: organizations_in("leads_lead"))

    visible = client.get("/admin/unscoped").json()["data"]

    assert sorted(visible) == sorted(str(tenant.pk) for tenant in both_organizations)


def test_a_member_of_two_organizations_sees_both_and_no_third_one(
    set_view_code: SetViewCode, both_organizations: BothOrganizations, client: Client
):
    user = Membership.objects.of(both_organizations[0]).get(role=MemberRole.OWNER).user
    Membership.objects.create(organization=both_organizations[1], user=user)
    third = Organization.objects.create(name="Initech")
    Membership.objects.create(organization=third, user=User.objects.create_user("ina@initech.example"))
    client.force_login(user)
    set_view_code(lambda: organizations_in("organizations_membership"))

    visible = client.get("/admin/unscoped").json()["data"]

    assert sorted(visible) == sorted(str(tenant.pk) for tenant in both_organizations)


def test_the_roles_may_not_truncate_tables(run_in_request: RunInRequest):
    def truncate() -> None:
        with connection.cursor() as cursor:
            cursor.execute("TRUNCATE leads_lead CASCADE")

    assert run_in_request(lambda: result_of(truncate)) == "ProgrammingError"


def index_conditions(query: dict[str, str], select: Callable[[ListQuery], SQLWithParams]) -> list[str]:
    """Return the index conditions in the plan of a statement of the appointments list."""
    appointment_filter = AppointmentFilter(query, organization=Organization.objects.get())
    assert not appointment_filter.errors
    sql, params = select(appointment_filter.list_query())
    with connection.cursor() as cursor:
        cursor.execute(FORCE_INDEX_SCAN)
        cursor.execute("EXPLAIN " + sql, params)
        return [line for (line,) in cursor.fetchall() if "Index Cond" in line]


def test_behind_a_policy_an_index_scan_in_order_still_ends_at_the_last_row_to_probe(run_in_request: RunInRequest):
    """PostgreSQL compares row by row what it doesn't trust with rows that the policy has not checked."""
    query = {"scheduled_to": isoformat_z(now())}

    conditions = run_in_request(lambda: index_conditions(query, lambda rows: select_page(rows, 0, 10)))

    assert sum("created_at >= " in condition for condition in conditions) == 1


def test_behind_a_policy_a_page_of_a_cursor_begins_at_its_place_in_the_index(run_in_request: RunInRequest):
    position = Position(isoformat_z(now()), str(UUID(int=0)))

    conditions = run_in_request(lambda: index_conditions({}, lambda rows: select_next(rows, position, 0, 10)))

    assert sum("ROW(created_at, id) < ROW(" in condition for condition in conditions) == 1


def test_behind_a_policy_a_lead_is_found_by_its_email_through_an_index(run_in_request: RunInRequest):
    def conditions() -> list[str]:
        organization = Organization.objects.get()
        sql, params = (
            Lead.objects.of(organization).with_email(organization.pk, "ada@example.com").query.sql_with_params()
        )
        with connection.cursor() as cursor:
            cursor.execute(FORCE_INDEX_SCAN)
            cursor.execute("EXPLAIN " + sql, params)
            return [line.strip() for (line,) in cursor.fetchall() if "Index Cond" in line]

    assert sum("leads_with_email(" in condition for condition in run_in_request(conditions)) == 1
