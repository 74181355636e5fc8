"""Whoever forgets the filter gets nothing of another organization: the database itself holds the second wall."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, ProgrammingError, connection, connections, models, transaction
from django.db.models import TextField
from django.db.models.functions import Cast
from django.http import Http404
from django.shortcuts import get_object_or_404

from appointments.filters import AppointmentFilter
from appointments.models import Appointment, Note
from leads.models import Lead
from leads.serializers import CustomFieldValueSerializer
from optins.models import OptIn
from organizations.isolation import TenantModel
from organizations.models import Membership, Organization, Role, User
from pipeline_backend.api.filters import plan_page
from pipeline_backend.api.sql_serializers import SQLSerializer
from pipeline_backend.db.timestamps import now
from tests.architecture.test_tenancy import TENANT_MODELS
from tests.client import ApiClient
from tests.factories import make_api, snapshot_of
from tests.hostile.conftest import RunInRequest
from webhooks.models import Delivery, Endpoint
from webhooks.queue import DELIVERIES

WALK = "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off"
by_name: Any = {"ids": lambda model: model.__name__}


def shapes(above: type[SQLSerializer] = SQLSerializer) -> list[type[SQLSerializer]]:
    """All shapes that are read by a statement of their own."""
    found = [shape for below in above.__subclasses__() for shape in [below, *shapes(below)]]
    return [
        shape for shape in found if hasattr(shape, "model") and shape is not CustomFieldValueSerializer
    ]  # that one is read within another only


def rows_of(table: str) -> list[str]:
    """Whose rows a statement sees that names nobody."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT DISTINCT organization_id::text FROM {table}")  # noqa: S608  # a model's table
        return [id for (id,) in cursor.fetchall()]


def tried(write: Any) -> str:
    """What became of a write."""
    try:
        with transaction.atomic():
            write()
    except DatabaseError as error:
        return type(error).__name__
    return "written"


@pytest.mark.parametrize("model", TENANT_MODELS, **by_name)
def test_a_forgotten_filter_sees_own_rows_only(
    model: type[TenantModel], run_in_request: RunInRequest, organization: Organization
):
    own = [str(organization.pk)]

    assert run_in_request(lambda: rows_of(model._meta.db_table)) == own
    assert (
        run_in_request(lambda: sorted({str(id) for id in model.unscoped.values_list("organization_id", flat=True)}))
        == own
    )


@pytest.mark.parametrize("shape", shapes(), **by_name)
def test_a_shape_without_its_where_shows_own_objects_only(shape: type[SQLSerializer], run_in_request: RunInRequest):
    def read() -> list[str]:
        return list(shape.model._base_manager.order_by().values_list(Cast(shape.expression(), TextField()), flat=True))

    shown = " ".join(run_in_request(read)).lower()

    assert shown
    assert not any(word in shown for word in ("zyxwv", "globex"))


def test_organizations_people_and_mentions_are_walled_too(
    run_in_request: RunInRequest, organization: Organization, other_organization: Organization
):
    for whose in (organization, other_organization):
        Note.objects.of(whose).first().mention_users.set(Membership.objects.of(whose))
    User.objects.create_superuser("root@example.com")

    assert run_in_request(lambda: [one.name for one in Organization.objects.all()]) == ["Acme"]
    assert run_in_request(lambda: sorted(User.objects.values_list("email", flat=True))) == [
        "ours@members.example",
        "owner@acme.example",
        "root@example.com",
    ]
    assert run_in_request(
        lambda: list(
            Note.mention_users.through.objects.values_list("membership__user__email", flat=True).order_by(
                "membership__user__email"
            )
        )
    ) == [
        "ours@members.example",
        "owner@acme.example",
    ]


def test_an_object_that_is_got_by_its_id_alone_is_not_found(
    run_in_request: RunInRequest, other_organization: Organization
):
    theirs = Lead.objects.of(other_organization).first().pk

    def get() -> str:
        try:
            return str(get_object_or_404(Lead, pk=theirs))
        except Http404:
            return "404"

    assert run_in_request(get) == "404"


@pytest.mark.parametrize("path", ["appointments", "leads", "opt-ins"])
def test_a_detail_that_forgets_the_organization_is_still_404(
    path: str, monkeypatch: Any, api: ApiClient, both_organizations: Any, other_organization: Organization
):
    model: Any = {"appointments": Appointment, "leads": Lead, "opt-ins": OptIn}[path]
    own, theirs = (model.objects.of(whose).first().pk for whose in both_organizations)
    everybodys = classmethod(
        lambda cls: cls.model._base_manager.order_by().values_list("pk", Cast(cls.expression(), TextField()))
    )
    monkeypatch.setattr(SQLSerializer, "base_query", everybodys)
    caches = [SQLSerializer.__dict__[name].__func__ for name in ("one_query", "many_query")]
    for cache in caches:
        cache.cache_clear()

    codes = [api.get(f"/api/external/{path}/{id}").status_code for id in (own, theirs)]

    for cache in caches:
        cache.cache_clear()
    assert codes == [200, 404]


@pytest.mark.parametrize("model", TENANT_MODELS, **by_name)
def test_a_write_without_a_filter_changes_own_rows_only(
    model: type[TenantModel], run_in_request: RunInRequest, other_organization: Organization, organization: Organization
):
    before = snapshot_of(other_organization)

    assert (
        run_in_request(lambda: tried(lambda: model.unscoped.update(created_at=other_organization.created_at)))
        == "written"
    )
    assert run_in_request(lambda: tried(lambda: model.unscoped.update(organization=other_organization))) in {
        "ProgrammingError",
        "IntegrityError",
    }
    run_in_request(lambda: tried(lambda: model.unscoped.all()._raw_delete("default")))

    assert snapshot_of(other_organization) == before


def test_a_row_for_another_organization_is_refused(run_in_request: RunInRequest, other_organization: Organization):
    def add() -> None:
        Lead.unscoped.filter(pk=Lead.unscoped.first().pk).update(organization_id=other_organization.pk)

    def insert() -> None:
        Membership.unscoped.create(organization=other_organization, user=User.objects.first())

    assert [run_in_request(lambda: tried(add)), run_in_request(lambda: tried(insert))] == ["ProgrammingError"] * 2


def test_nobody_who_is_served_makes_an_operator(run_in_request: RunInRequest):
    assert (
        run_in_request(lambda: tried(lambda: User.objects.create_superuser("evil@example.com"))) == "ProgrammingError"
    )
    assert (
        run_in_request(lambda: tried(lambda: User.objects.filter(email="owner@acme.example").update(is_superuser=True)))
        == "ProgrammingError"
    )


def references() -> list[tuple[type[TenantModel], models.ForeignKey]]:
    """Every column that refers to a row of an organization."""
    return [
        (model, field)
        for model in TENANT_MODELS
        for field in model._meta.concrete_fields
        if isinstance(field, models.ForeignKey) and issubclass(field.related_model, TenantModel)
    ]


@pytest.mark.parametrize(
    ("model", "field"), references(), ids=lambda one: getattr(one, "__name__", getattr(one, "name", ""))
)
def test_a_reference_to_another_organizations_row_is_refused_whoever_writes(
    model: Any, field: Any, both_organizations: Any
):
    ours, theirs = (
        model.objects.of(both_organizations[0]),
        field.related_model.objects.of(both_organizations[1]).first(),
    )

    if not model._meta.related_objects:
        model.objects.of(both_organizations[1]).delete()  # in a place that is free, only the organization is wrong

    with pytest.raises(IntegrityError, match="same_organization"), transaction.atomic():
        ours.filter(pk=ours.first().pk).update(**{field.name: theirs})


def test_a_mention_of_another_organizations_member_is_refused(both_organizations: Any):
    note, stranger = (
        Note.objects.of(both_organizations[0]).first(),
        Membership.objects.of(both_organizations[1]).first(),
    )

    with pytest.raises(IntegrityError, match="its own organization only"), transaction.atomic():
        note.mention_users.add(stranger)


def test_a_request_that_has_not_said_for_whom_it_is_sees_nothing(
    set_view_code: Any, api: ApiClient, both_organizations: Any, client: Any
):
    set_view_code(lambda: [rows_of(model._meta.db_table) for model in TENANT_MODELS])
    nothing = [[] for _ in TENANT_MODELS]

    answers = [client.get("/unscoped").json()["data"], client.get("/admin/unscoped").json()["data"]]
    assert len(api.get("/api/unscoped").json()["data"][0]) == 1
    answers.append(client.get("/unscoped").json()["data"])
    assert ApiClient("pb_" + api.key.split("_")[1] + "_wrong").get("/api/unscoped").status_code == 401
    answers.append(client.get("/unscoped").json()["data"])

    assert answers == [nothing] * 4


def test_what_an_exception_leaves_behind_is_nobodys(
    set_view_code: Any, api: ApiClient, other_api: ApiClient, both_organizations: Any
):
    def fail() -> None:
        with transaction.atomic():
            rows_of("leads_lead")
            raise RuntimeError("midway")

    set_view_code(fail)
    assert api.get("/api/unscoped").status_code == 500
    set_view_code(lambda: rows_of("leads_lead"))

    assert other_api.get("/api/unscoped").json()["data"] == [str(both_organizations[1].pk)]
    assert api.client.get("/unscoped").json()["data"] == []


@pytest.mark.django_db(transaction=True)
def test_kept_connections_of_many_threads_serve_each_its_own(set_view_code: Any, both_organizations: Any):
    keys = [make_api(whose).key for whose in both_organizations]
    set_view_code(lambda: rows_of("leads_lead"))

    def visit(number: int) -> bool:
        answer = ApiClient(keys[number % 2]).get("/api/unscoped")
        if number % 5 == 0:
            connection.close()  # the next request of this thread begins on a new one
        return answer.json()["data"] == [str(both_organizations[number % 2].pk)]

    def visits(first: int) -> list[bool]:
        try:
            return [visit(first + number) for number in range(15)]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        right = list(pool.map(visits, range(4)))

    assert right == [[True] * 15] * 4


def test_outside_of_requests_everything_is_seen(api: ApiClient, both_organizations: Any):
    both = sorted(str(whose.pk) for whose in both_organizations)
    assert api.get("/api/external/leads").status_code == 200

    assert sorted(rows_of("leads_lead")) == both
    assert {
        str(id)
        for id in Endpoint.unscoped.filter(pk__in=list(DELIVERIES.groups_with_due_jobs())).values_list(
            "organization_id", flat=True
        )
    } == set(both)
    assert sorted({str(id) for id in Delivery.unscoped.values_list("organization_id", flat=True)}) == both


def test_a_dump_by_the_owner_leaves_nothing_out(both_organizations: Any):
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL row_security = off")  # as pg_dump does: an error in place of rows left out
        cursor.execute("SELECT count(DISTINCT organization_id) FROM leads_lead")
        assert cursor.fetchone() == (2,)


def test_an_operator_sees_all_in_the_admin(set_view_code: Any, both_organizations: Any, client: Any):
    client.force_login(User.objects.create_superuser("root@example.com"))
    set_view_code(lambda: rows_of("leads_lead"))

    assert sorted(client.get("/admin/unscoped").json()["data"]) == sorted(str(whose.pk) for whose in both_organizations)


def test_a_member_of_two_organizations_sees_both_and_no_third(set_view_code: Any, both_organizations: Any, client: Any):
    user = Membership.objects.of(both_organizations[0]).get(role=Role.OWNER).user
    Membership.objects.create(organization=both_organizations[1], user=user)
    third = Organization.objects.create(name="Initech")
    Membership.objects.create(organization=third, user=User.objects.create_user("ina@initech.example"))
    client.force_login(user)
    set_view_code(lambda: rows_of("organizations_membership"))

    assert sorted(client.get("/admin/unscoped").json()["data"]) == sorted(str(whose.pk) for whose in both_organizations)


def test_the_roles_can_do_nothing_else(run_in_request: RunInRequest):
    def drop() -> None:
        with connection.cursor() as cursor:
            cursor.execute("TRUNCATE leads_lead CASCADE")

    assert run_in_request(lambda: tried(drop)) == ProgrammingError.__name__


def bounds_of_scans() -> list[str]:
    """What PostgreSQL looks up in indexes for a page of calls before a moment, which is looked for among the newest first."""
    cut = plan_page(AppointmentFilter, (("scheduled_to", False),), "-created_at")
    with connection.cursor() as cursor:
        cursor.execute(WALK)
        values = {"organization": Organization.objects.get().pk, "scheduled_to": now()}
        sql, params = cut.sql_with_params(0, 10, values)
        cursor.execute("EXPLAIN " + sql, params)
        return [line for (line,) in cursor.fetchall() if "Index Cond" in line]


def test_a_walk_along_the_order_ends_at_its_edge_behind_the_wall_too(run_in_request: RunInRequest):
    assert sum("created_at >= " in bounds for bounds in run_in_request(bounds_of_scans)) == 1
