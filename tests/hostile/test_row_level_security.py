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
from tests.hostile.conftest import Ask
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
def test_a_forgotten_filter_sees_own_rows_only(model: type[TenantModel], ask: Ask, organization: Organization):
    own = [str(organization.pk)]

    assert ask(lambda: rows_of(model._meta.db_table)) == own
    assert ask(lambda: sorted({str(id) for id in model.unscoped.values_list("organization_id", flat=True)})) == own


@pytest.mark.parametrize("shape", shapes(), **by_name)
def test_a_shape_without_its_where_shows_own_objects_only(shape: type[SQLSerializer], ask: Ask):
    def read() -> list[str]:
        return list(shape.model._base_manager.order_by().values_list(Cast(shape.expression(), TextField()), flat=True))

    shown = " ".join(ask(read)).lower()

    assert shown
    assert not any(word in shown for word in ("zyxwv", "globex"))


def test_organizations_people_and_mentions_are_walled_too(
    ask: Ask, organization: Organization, other_organization: Organization
):
    for whose in (organization, other_organization):
        Note.objects.of(whose).first().mention_users.set(Membership.objects.of(whose))
    User.objects.create_superuser("root@example.com")

    assert ask(lambda: [one.name for one in Organization.objects.all()]) == ["Acme"]
    assert ask(lambda: sorted(User.objects.values_list("email", flat=True))) == [
        "ours@members.example",
        "owner@acme.example",
        "root@example.com",
    ]
    assert ask(
        lambda: list(
            Note.mention_users.through.objects.values_list("membership__user__email", flat=True).order_by(
                "membership__user__email"
            )
        )
    ) == [
        "ours@members.example",
        "owner@acme.example",
    ]


def test_an_object_that_is_got_by_its_id_alone_is_not_found(ask: Ask, other_organization: Organization):
    theirs = Lead.objects.of(other_organization).first().pk

    def get() -> str:
        try:
            return str(get_object_or_404(Lead, pk=theirs))
        except Http404:
            return "404"

    assert ask(get) == "404"


@pytest.mark.parametrize("path", ["appointments", "leads", "opt-ins"])
def test_a_detail_that_forgets_the_organization_is_still_404(
    path: str, monkeypatch: Any, api: ApiClient, worlds: Any, other_organization: Organization
):
    model: Any = {"appointments": Appointment, "leads": Lead, "opt-ins": OptIn}[path]
    own, theirs = (model.objects.of(whose).first().pk for whose in worlds)
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
    model: type[TenantModel], ask: Ask, other_organization: Organization, organization: Organization
):
    before = snapshot_of(other_organization)

    assert ask(lambda: tried(lambda: model.unscoped.update(created_at=other_organization.created_at))) == "written"
    assert ask(lambda: tried(lambda: model.unscoped.update(organization=other_organization))) in {
        "ProgrammingError",
        "IntegrityError",
    }
    ask(lambda: tried(lambda: model.unscoped.all()._raw_delete("default")))

    assert snapshot_of(other_organization) == before


def test_a_row_for_another_organization_is_refused(ask: Ask, other_organization: Organization):
    def add() -> None:
        Lead.unscoped.filter(pk=Lead.unscoped.first().pk).update(organization_id=other_organization.pk)

    def insert() -> None:
        Membership.unscoped.create(organization=other_organization, user=User.objects.first())

    assert [ask(lambda: tried(add)), ask(lambda: tried(insert))] == ["ProgrammingError"] * 2


def test_nobody_who_is_served_makes_an_operator(ask: Ask):
    assert ask(lambda: tried(lambda: User.objects.create_superuser("evil@example.com"))) == "ProgrammingError"
    assert (
        ask(lambda: tried(lambda: User.objects.filter(email="owner@acme.example").update(is_superuser=True)))
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
def test_a_reference_to_another_organizations_row_is_refused_whoever_writes(model: Any, field: Any, worlds: Any):
    ours, theirs = model.objects.of(worlds[0]), field.related_model.objects.of(worlds[1]).first()

    if not model._meta.related_objects:
        model.objects.of(worlds[1]).delete()  # in a place that is free, only the organization is wrong

    with pytest.raises(IntegrityError, match="same_organization"), transaction.atomic():
        ours.filter(pk=ours.first().pk).update(**{field.name: theirs})


def test_a_mention_of_another_organizations_member_is_refused(worlds: Any):
    note, stranger = Note.objects.of(worlds[0]).first(), Membership.objects.of(worlds[1]).first()

    with pytest.raises(IntegrityError, match="its own organization only"), transaction.atomic():
        note.mention_users.add(stranger)


def test_a_request_that_has_not_said_for_whom_it_is_sees_nothing(forget: Any, api: ApiClient, worlds: Any, client: Any):
    forget(lambda: [rows_of(model._meta.db_table) for model in TENANT_MODELS])
    nothing = [[] for _ in TENANT_MODELS]

    answers = [client.get("/forgetful").json()["data"], client.get("/admin/forgetful").json()["data"]]
    assert len(api.get("/api/forgetful").json()["data"][0]) == 1
    answers.append(client.get("/forgetful").json()["data"])
    assert ApiClient("pb_" + api.key.split("_")[1] + "_wrong").get("/api/forgetful").status_code == 401
    answers.append(client.get("/forgetful").json()["data"])

    assert answers == [nothing] * 4


def test_what_an_exception_leaves_behind_is_nobodys(forget: Any, api: ApiClient, other_api: ApiClient, worlds: Any):
    def fail() -> None:
        with transaction.atomic():
            rows_of("leads_lead")
            raise RuntimeError("midway")

    forget(fail)
    assert api.get("/api/forgetful").status_code == 500
    forget(lambda: rows_of("leads_lead"))

    assert other_api.get("/api/forgetful").json()["data"] == [str(worlds[1].pk)]
    assert api.client.get("/forgetful").json()["data"] == []


@pytest.mark.django_db(transaction=True)
def test_kept_connections_of_many_threads_serve_each_its_own(forget: Any, worlds: Any):
    keys = [make_api(whose).key for whose in worlds]
    forget(lambda: rows_of("leads_lead"))

    def visit(number: int) -> bool:
        answer = ApiClient(keys[number % 2]).get("/api/forgetful")
        if number % 5 == 0:
            connection.close()  # the next request of this thread begins on a new one
        return answer.json()["data"] == [str(worlds[number % 2].pk)]

    def visits(first: int) -> list[bool]:
        try:
            return [visit(first + number) for number in range(15)]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        right = list(pool.map(visits, range(4)))

    assert right == [[True] * 15] * 4


def test_outside_of_requests_everything_is_seen(api: ApiClient, worlds: Any):
    both = sorted(str(whose.pk) for whose in worlds)
    assert api.get("/api/external/leads").status_code == 200

    assert sorted(rows_of("leads_lead")) == both
    assert {
        str(id)
        for id in Endpoint.unscoped.filter(pk__in=list(DELIVERIES.groups_with_due_jobs())).values_list(
            "organization_id", flat=True
        )
    } == set(both)
    assert sorted({str(id) for id in Delivery.unscoped.values_list("organization_id", flat=True)}) == both


def test_a_dump_by_the_owner_leaves_nothing_out(worlds: Any):
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL row_security = off")  # as pg_dump does: an error in place of rows left out
        cursor.execute("SELECT count(DISTINCT organization_id) FROM leads_lead")
        assert cursor.fetchone() == (2,)


def test_an_operator_sees_all_in_the_admin(forget: Any, worlds: Any, client: Any):
    client.force_login(User.objects.create_superuser("root@example.com"))
    forget(lambda: rows_of("leads_lead"))

    assert sorted(client.get("/admin/forgetful").json()["data"]) == sorted(str(whose.pk) for whose in worlds)


def test_a_member_of_two_organizations_sees_both_and_no_third(forget: Any, worlds: Any, client: Any):
    user = Membership.objects.of(worlds[0]).get(role=Role.OWNER).user
    Membership.objects.create(organization=worlds[1], user=user)
    third = Organization.objects.create(name="Initech")
    Membership.objects.create(organization=third, user=User.objects.create_user("ina@initech.example"))
    client.force_login(user)
    forget(lambda: rows_of("organizations_membership"))

    assert sorted(client.get("/admin/forgetful").json()["data"]) == sorted(str(whose.pk) for whose in worlds)


def test_the_roles_can_do_nothing_else(ask: Ask):
    def drop() -> None:
        with connection.cursor() as cursor:
            cursor.execute("TRUNCATE leads_lead CASCADE")

    assert ask(lambda: tried(drop)) == ProgrammingError.__name__


def bounds_of_scans() -> list[str]:
    """What PostgreSQL looks up in indexes for a page of calls before a moment, which is looked for among the newest first."""
    cut = plan_page(AppointmentFilter, (("scheduled_to", False),), "-created_at")
    with connection.cursor() as cursor:
        cursor.execute(WALK)
        values = {"organization": Organization.objects.get().pk, "scheduled_to": now()}
        sql, params = cut.sql_with_params(0, 10, values)
        cursor.execute("EXPLAIN " + sql, params)
        return [line for (line,) in cursor.fetchall() if "Index Cond" in line]


def test_a_walk_along_the_order_ends_at_its_edge_behind_the_wall_too(ask: Ask):
    assert sum("created_at >= " in bounds for bounds in ask(bounds_of_scans)) == 1
