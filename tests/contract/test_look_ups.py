"""The key, members, event types, sources and custom fields (docs/interface.md, G46, K12, M4, A33, L26, L27)."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from appointments.services.configuration import save_event_type
from foundation.db.timestamps import isoformat_z, now
from leads.models import CustomField, Source
from leads.services import save_custom_field
from organizations.actors import SYSTEM
from organizations.models import ApiKey, MemberRole, Membership, Organization, User
from organizations.services import change_member, save_user
from tests.client import ApiClient
from tests.factories import (
    deactivate,
    events_of,
    make_api,
    make_custom_field,
    make_event_type,
    make_member,
    owner_actor,
    owner_of,
    set_columns,
)

ME, MEMBERS = "/api/external/me", "/api/external/members"
EVENT_TYPES, SOURCES = "/api/external/event-types", "/api/external/sources"
CUSTOM_FIELDS = "/api/external/custom-fields"
LONG_AGO = datetime(2020, 1, 2, tzinfo=UTC)
# As a person sorts them: accents and letter case only decide between equal names.
SORTED_NAMES = ["#1 priority", "Äpfel", "apple pie", "Éclair", "eclipse", "Straße", "strategy", "zeta", "Зима", "зонт"]


def names(api: ApiClient, path: str, **query: Any) -> list[str]:
    return [row["name"] for row in api.get_data(path, query)]


def test_the_key_and_its_organization_are_returned_exactly(api: ApiClient, organization: Organization) -> None:
    """docs/interface.md, K12"""
    response = api.get(ME)

    key = ApiKey.objects.of(organization).get()
    data = response.json()["data"]
    assert response.json() == {"success": True, "message": "API key retrieved", "data": data}
    scopes = ["read", "write", "webhooks", "sync", "erase"]
    assert data == {
        "organization": {
            "id": str(organization.pk),
            "name": "Acme",
            "country": "US",
            "time_zone": "UTC",
            "is_test": False,
        },
        "key": {"id": key.key_id, "name": "Tests", "scopes": scopes, "expires_at": None},
        "limits": {"requests_per_minute": 600, "body_bytes": 1_048_576, "page_limit": 100},
        "last_event_id": None,
        "version": api.get("/api/schema").json()["info"]["version"],
    }


def test_a_key_shows_its_own_name_scopes_and_expiry(api: ApiClient, organization: Organization) -> None:
    """docs/interface.md, K12"""
    expires_at = now() + timedelta(days=1)

    key = make_api(organization, scopes=["read"], expires_at=expires_at).get_data(ME)["key"]

    assert (key["scopes"], key["expires_at"]) == (["read"], isoformat_z(expires_at))
    assert key["id"] != api.get_data(ME)["key"]["id"]


def test_the_limit_of_requests_is_the_one_that_applies(api: ApiClient, organization: Organization) -> None:
    """docs/interface.md, K12, G31, G32"""
    organization.rate_limit_per_minute = 77
    organization.save()

    response = api.get(ME)

    assert response.json()["data"]["limits"]["requests_per_minute"] == 77
    assert response.headers["RateLimit-Policy"] == '"default";q=77;w=60'


@pytest.mark.django_db(transaction=True)
def test_the_last_event_is_where_the_events_list_ends(api: ApiClient, other_api: ApiClient) -> None:
    """docs/interface.md, K12, W6"""
    api.book()
    other_api.book()
    last = api.list_events()[-1]

    last_event_id = api.get_data(ME)["last_event_id"]
    api.cancel()

    assert last_event_id == last["id"]
    assert "appointment.canceled" in [event["type"] for event in api.list_events(after=last_event_id)]
    assert api.get_data(ME)["last_event_id"] == api.list_events()[-1]["id"]
    assert api.list_events(after=api.get_data(ME)["last_event_id"]) == []


def test_a_member_has_exactly_the_documented_fields(api: ApiClient, organization: Organization) -> None:
    """docs/interface.md, M4"""
    member = make_member(
        organization, "hana@acme.example", first_name="Hana", last_name="Suzuki", time_zone="Europe/Berlin"
    )

    (shown,) = [row for row in api.get_data(MEMBERS) if row["id"] == member.user_id]

    assert shown == {
        "updated_at": isoformat_z(member.updated_at),
        "id": member.user_id,
        "name": "Hana Suzuki",
        "email": "hana@acme.example",
        "role": "CLOSER",
        "time_zone": "Europe/Berlin",
        "is_active": True,
        "can_be_named": True,
    }


def test_each_change_that_the_members_list_shows_changes_updated_at(api: ApiClient, organization: Organization) -> None:
    """docs/interface.md, M4"""
    member = make_member(organization, "hana@acme.example")
    actor, user = owner_actor(organization), member.user
    versions = [member.updated_at]

    def version_after(change: Callable[[], object]) -> datetime:
        change()
        member.refresh_from_db()
        versions.append(member.updated_at)
        return member.updated_at

    def save(**fields: str) -> None:
        for name, value in fields.items():
            setattr(user, name, value)
        save_user(actor=actor, user=user, changed=[*fields])

    values = {"actor": actor, "member": member, "is_active": True, "wants_mail": True}
    version_after(lambda: save(first_name="Hana"))
    version_after(lambda: save(time_zone="Asia/Tokyo"))
    version_after(lambda: change_member(**values, role=MemberRole.SETTER))
    version_after(lambda: change_member(**values | {"is_active": False}, role=MemberRole.SETTER))
    assert sorted(set(versions)) == versions

    assert version_after(lambda: save(profile_image_url="https://images.example/1")) == versions[-2]


def test_members_without_a_name_are_named_by_their_address(api: ApiClient, organization: Organization) -> None:
    """docs/interface.md, M4"""
    make_member(organization, "only-first@acme.example", first_name="Ann")
    make_member(organization, "only-last@acme.example", last_name="Bell")

    assert names(api, MEMBERS) == ["Ann", "Bell", "owner@acme.example"]


def test_members_of_each_kind_can_be_named_exactly_if_the_list_says_so(
    api: ApiClient, organization: Organization
) -> None:
    """docs/interface.md, M2, M4, A12"""
    members = {
        name: make_member(organization, f"{name}@acme.example", first_name=name)
        for name in ("active", "former", "locked", "unconfirmed", "viewer")
    }
    deactivate(members["former"])
    User.objects.filter(pk=members["locked"].user_id).update(is_active=False)
    set_columns(Membership, organization, str(members["unconfirmed"].pk), is_active=False, is_unconfirmed=True)
    set_columns(Membership, organization, str(members["viewer"].pk), role=MemberRole.VIEWER)

    rows = {row["name"]: row for row in api.get_data(MEMBERS) if row["name"] in members}
    codes = {name: api.book(external_reference=name, host_email=f"{name}@acme.example").status_code for name in members}

    assert {name: row["is_active"] for name, row in rows.items()} == {
        "active": True,
        "former": False,
        "locked": False,
        "unconfirmed": False,
        "viewer": True,
    }
    assert {name: 201 if row["can_be_named"] else 400 for name, row in rows.items()} == codes
    assert [name for name, code in codes.items() if code == 201] == ["active", "unconfirmed"]


def test_a_member_of_two_organizations_has_a_role_in_each(
    api: ApiClient, other_api: ApiClient, organization: Organization, other_organization: Organization
) -> None:
    """docs/interface.md, M4, G22"""
    member = make_member(organization, "both@acme.example", role=MemberRole.MANAGER)
    Membership.objects.create(organization=other_organization, user=member.user, role="VIEWER", is_active=False)

    shown, other = (
        {row["email"]: (row["role"], row["is_active"], row["can_be_named"]) for row in client.get_data(MEMBERS)}
        for client in (api, other_api)
    )

    assert shown == {"owner@acme.example": ("OWNER", True, True), "both@acme.example": ("MANAGER", True, True)}
    assert other == {"owner@globex.example": ("OWNER", True, True), "both@acme.example": ("VIEWER", False, False)}


def test_an_event_type_has_exactly_the_documented_fields(api: ApiClient, organization: Organization) -> None:
    """docs/interface.md, A33"""
    event_type = make_event_type(
        organization,
        "Demo",
        provider="SCHEDULER_A",
        owner_name="Hana",
        call_category="TRIAGE_CALL",
        duration_minutes=45,
        updated_at=LONG_AGO,
    )

    assert api.get_data(EVENT_TYPES) == [
        {
            "id": str(event_type.pk),
            "name": "Demo",
            "call_category": "TRIAGE_CALL",
            "provider": "SCHEDULER_A",
            "owner_name": "Hana",
            "duration_minutes": 45,
            "reminder_hours": 0,
            "is_active": True,
            "updated_at": "2020-01-02T00:00:00.000Z",
        }
    ]


def test_the_id_of_a_listed_event_type_books_it(api: ApiClient) -> None:
    """docs/interface.md, A33, A11"""
    api.book(event_type_name="Strategy call")
    (event_type,) = api.get_data(EVENT_TYPES)

    id = api.book(external_reference="2", event_type_name=..., event_type_id=event_type["id"]).json()["data"]["id"]

    assert api.get_appointment(id)["appointment_type"] == "Strategy call"
    assert event_type["updated_at"] <= isoformat_z(now())


def test_a_changed_event_type_and_custom_field_say_when(api: ApiClient, organization: Organization) -> None:
    """docs/interface.md, A33, L27"""
    event_type = make_event_type(organization, "Demo", updated_at=LONG_AGO)
    field = make_custom_field(organization, "LEAD", "color", updated_at=LONG_AGO)
    make_event_type(organization, "Other", updated_at=LONG_AGO)
    began = isoformat_z(now())

    event_type.duration_minutes, field.options = 30, ["Red"]
    save_event_type(organization=organization, actor=SYSTEM, event_type=event_type)
    save_custom_field(organization=organization, actor=SYSTEM, field=field)

    changed, unchanged = api.get_data(EVENT_TYPES)
    assert (changed["duration_minutes"], changed["updated_at"] >= began) == (30, True)
    assert unchanged["updated_at"] == "2020-01-02T00:00:00.000Z"
    assert api.get_data(CUSTOM_FIELDS)[0]["updated_at"] >= began
    assert sorted(events_of(organization)) == ["custom_field.updated", "event_type.updated"]


def test_what_is_saved_without_a_change_keeps_its_updated_at(api: ApiClient, organization: Organization) -> None:
    """docs/interface.md, A33, L27"""
    event_type = make_event_type(organization, "Demo", updated_at=LONG_AGO)
    field = make_custom_field(organization, "LEAD", "color", updated_at=LONG_AGO)

    save_event_type(organization=organization, actor=SYSTEM, event_type=event_type)
    save_custom_field(organization=organization, actor=SYSTEM, field=field)

    rows = [api.get_data(EVENT_TYPES)[0], api.get_data(CUSTOM_FIELDS)[0]]
    assert [row["updated_at"] for row in rows] == ["2020-01-02T00:00:00.000Z"] * 2
    assert events_of(organization) == []


def test_a_source_has_exactly_the_documented_fields(api: ApiClient, organization: Organization) -> None:
    """docs/interface.md, L26"""
    lead_id = api.submit(traffic={"utm_source": "letter"}).json()["data"]["lead_id"]
    source = Source.objects.of(organization).get()
    set_columns(Source, organization, str(source.pk), created_at=LONG_AGO)

    (shown,) = api.get_data(SOURCES)

    assert shown == {
        "id": str(source.pk),
        "name": "letter",
        "is_active": True,
        "updated_at": "2020-01-02T00:00:00.000Z",
    }
    assert api.get_lead(lead_id)["first_source"] == {"id": shown["id"], "name": "letter"}


def test_a_custom_field_has_exactly_the_documented_fields(api: ApiClient, organization: Organization) -> None:
    """docs/interface.md, L27"""
    values = {"label": "Company size", "type": "SELECT", "options": ["1-10", "more"], "position": 3}
    field = make_custom_field(organization, "LEAD", "size", updated_at=LONG_AGO, **values)

    assert api.get_data(CUSTOM_FIELDS) == [
        {
            "id": str(field.pk),
            "name": "Company size",
            "entity": "LEAD",
            "key": "size",
            "type": "SELECT",
            "options": ["1-10", "more"],
            "position": 3,
            "is_active": True,
            "updated_at": "2020-01-02T00:00:00.000Z",
        }
    ]


def make_named(organization: Organization, path: str, name: str) -> None:
    """Create a row with this name in the list."""
    number = User.objects.count() + CustomField.objects.of(organization).count()
    if path == MEMBERS:
        first_name, _, last_name = name.partition(" ")
        make_member(organization, f"member{number}@acme.example", first_name=first_name, last_name=last_name)
    elif path == EVENT_TYPES:
        make_event_type(organization, name)
    elif path == SOURCES:
        Source.objects.create(organization=organization, name=name)
    else:
        make_custom_field(organization, "APPOINTMENT", f"key{number}", label=name)


@pytest.mark.parametrize("path", [MEMBERS, EVENT_TYPES, CUSTOM_FIELDS])
def test_look_ups_are_sorted_as_a_person_would(api: ApiClient, organization: Organization, path: str) -> None:
    """docs/interface.md, G46"""
    for name in reversed(SORTED_NAMES):
        make_named(organization, path, name)

    assert [name for name in names(api, path, limit=100) if name in SORTED_NAMES] == SORTED_NAMES


def test_sources_are_sorted_without_regard_to_letter_case(api: ApiClient, organization: Organization) -> None:
    """docs/interface.md, G46"""
    for name in ["pear", "Banana", "apple", "Zebra"]:
        make_named(organization, SOURCES, name)
    # A row of version 0.2 whose name was in use in another spelling.
    Source.objects.of(organization).filter(name="apple").update(name_key=None)

    assert names(api, SOURCES) == ["Banana", "pear", "Zebra", "apple"]


@pytest.mark.parametrize("path", [MEMBERS, EVENT_TYPES, SOURCES, CUSTOM_FIELDS])
def test_look_ups_have_pages_of_the_organizations_own_rows(
    api: ApiClient, organization: Organization, other_organization: Organization, path: str
) -> None:
    """docs/interface.md, G22 to G24, G46"""
    if path == MEMBERS:
        User.objects.filter(pk=owner_of(organization).user_id).update(first_name="a")
    else:
        make_named(organization, path, "a")
    for name in ["d", "b", "c", "e"]:
        make_named(organization, path, name)
    make_named(other_organization, path, "bb")

    pages = [api.get(path, {"page": page, "limit": 2}).json() for page in (1, 2, 3, 4)]

    assert [[row["name"] for row in page["data"]] for page in pages] == [["a", "b"], ["c", "d"], ["e"], []]
    assert [page["pagination"] for page in pages] == [
        {
            "page": number,
            "limit": 2,
            "total": 5,
            "totalPages": 3,
            "hasNext": number < 3,
            "hasPrev": number > 1,
        }
        for number in (1, 2, 3, 4)
    ]


def test_rows_with_the_same_name_are_sorted_by_id(api: ApiClient, organization: Organization) -> None:
    """docs/interface.md, G46"""
    fields = [make_custom_field(organization, "LEAD", f"key{n}", label="Same") for n in range(4)]

    listed = [row["id"] for page in (1, 2) for row in api.get_data(CUSTOM_FIELDS, {"page": page, "limit": 2})]

    assert listed == sorted(str(field.pk) for field in fields)


@pytest.mark.parametrize("path", [EVENT_TYPES, SOURCES, CUSTOM_FIELDS])
def test_an_empty_look_up_is_200(api: ApiClient, other_organization: Organization, path: str) -> None:
    """docs/interface.md, G46"""
    make_named(other_organization, path, "theirs")

    body = api.get(path).json()

    assert (body["success"], body["data"], body["pagination"]["total"]) == (True, [], 0)
