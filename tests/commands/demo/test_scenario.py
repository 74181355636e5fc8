"""manage.py demo: the data of the first run."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db.models import Count, Min

from appointments.models import Appointment, AppointmentSource, CallAnalysis, EventType, Note, OutcomeChange
from dev.demo.loading import create
from dev.demo.organization import NORTHWIND
from dev.demo.people import TRAFFIC_SOURCES
from dev.demo.scenario import TIME_ZONE, fake_now
from foundation.db.timestamps import now
from leads.duplicates import describe_reasons
from leads.models import CustomField, Lead, LeadStatusChange, PossibleDuplicate, Source
from notifications.models import Notification
from optins.models import OptIn, OptInSource, QuestionAnswer
from organizations.models import MemberRole, Membership, Organization
from statuses.models import Status, StatusRole
from tests.commands.demo.conftest import LoadedDemo
from tests.commands.runner import run
from tests.factories import snapshot_of
from webhooks.models import Delivery, Endpoint, Event

RESOURCES = {"appointments": Appointment, "opt-ins": OptIn, "leads": Lead}


def values(model: Any, organization: Organization, column: str) -> set[Any]:
    """Return the distinct values of a column."""
    return set(model.objects.of(organization).values_list(column, flat=True))


def all_items(demo: LoadedDemo, resource: str) -> Iterator[dict[str, Any]]:
    """Yield the items of all pages of a list."""
    page, has_next = 1, True
    while has_next:
        response = demo.api.get(f"/api/external/{resource}", {"limit": 37, "page": page})
        assert response.status_code == 200
        yield from response.json()["data"]
        page, has_next = page + 1, response.json()["pagination"]["hasNext"]


def test_there_are_40_leads_60_opt_ins_and_80_appointments(demo: LoadedDemo) -> None:
    assert {name: model.objects.of(demo.organization).count() for name, model in RESOURCES.items()} == {
        "appointments": 80,
        "opt-ins": 60,
        "leads": 40,
    }


def test_there_are_members_with_every_role_and_statuses_with_every_role(demo: LoadedDemo) -> None:
    members = Membership.objects.of(demo.organization)

    assert values(Membership, demo.organization, "role") == set(MemberRole)
    assert {email.partition("@")[2] for email in members.values_list("user__email", flat=True)} == {"northwind.example"}
    assert members.values("user__time_zone").distinct().count() >= 6
    assert members.filter(user__is_superuser=True).count() == 0
    assert values(Status, demo.organization, "role") == set(StatusRole)


def test_every_outcome_source_and_provider_occurs(demo: LoadedDemo) -> None:
    assert values(Appointment, demo.organization, "outcome__role") == set(StatusRole)
    assert values(Appointment, demo.organization, "source") == set(AppointmentSource)
    assert values(OptIn, demo.organization, "source") == set(OptInSource)
    assert values(OptIn, demo.organization, "utm_source") == {source for source, _, _ in TRAFFIC_SOURCES}
    assert values(EventType, demo.organization, "provider") == {"SCHEDULER_A", "SCHEDULER_B", "SCHEDULER_C", None}
    assert values(Lead, demo.organization, "status__role") == set(StatusRole)
    assert values(Source, demo.organization, "name") >= {"facebook", "google", "newsletter", "MANUAL"}


def test_there_are_notes_mentions_analyses_answers_and_custom_values(demo: LoadedDemo) -> None:
    appointments, leads = Appointment.objects.of(demo.organization), Lead.objects.of(demo.organization)
    fields = CustomField.objects.of(demo.organization)

    assert Note.objects.of(demo.organization).exclude(mention_users=None).exists()
    assert CallAnalysis.objects.of(demo.organization).exists()
    assert QuestionAnswer.objects.of(demo.organization).filter(answer=None).exists()
    assert set(fields.values_list("entity", "type")) == {
        (entity, kind) for entity in CustomField.Entity for kind in CustomField.Type
    }
    assert all(
        appointments.filter(custom_values__has_key=str(field.pk)).exists()
        for field in fields.filter(entity="APPOINTMENT")
    )
    assert all(leads.filter(custom_values__has_key=str(field.pk)).exists() for field in fields.filter(entity="LEAD"))


def test_upcoming_appointments_are_booked_or_canceled_and_past_ones_have_any_outcome(demo: LoadedDemo) -> None:
    appointments = Appointment.objects.of(demo.organization)
    upcoming, past = appointments.filter(schedule_time__gt=now()), appointments.filter(schedule_time__lte=now())

    assert set(upcoming.values_list("outcome__role", flat=True)) == {StatusRole.APPOINTMENT_BOOKED, StatusRole.CANCELED}
    assert set(past.values_list("outcome__role", flat=True)) == set(StatusRole)
    assert upcoming.count() >= 16


# A working day before the first call in New York, another one after the last call, and a weekend.
@pytest.mark.parametrize("today", ["2026-11-23T11:00Z", "2026-11-26T02:00Z", "2026-11-28T18:00Z"])
def test_at_any_time_of_the_week_there_is_something_to_do(demo: LoadedDemo, today: str) -> None:
    started_at = datetime.fromisoformat(today)
    spec = NORTHWIND._replace(name="Southwind", domain="southwind.example")

    with fake_now(started_at):
        organization = create(spec, 20).organization

    leads, appointments = Lead.objects.of(organization), Appointment.objects.of(organization)
    date = started_at.astimezone(TIME_ZONE).date()
    calls_on = Counter(row.schedule_time.astimezone(TIME_ZONE).date() for row in appointments)
    assert calls_on[date] >= 3
    assert calls_on[date + timedelta(days=1)] >= 3
    assert all(day.weekday() < 5 or day in (date, date + timedelta(days=1)) for day in calls_on)
    assert all(9 <= row.schedule_time.astimezone(TIME_ZONE).hour <= 16 for row in appointments)
    assert (leads.count(), appointments.count()) == (20, 40)
    assert appointments.filter(schedule_time__lt=started_at, outcome__role=StatusRole.APPOINTMENT_BOOKED).exists()
    assert leads.filter(next_touch_point_at__lt=started_at + timedelta(days=4), status__role="FOLLOW_UP").exists()
    assert leads.filter(appointments=None, opt_ins__created_at__gt=started_at - timedelta(days=1)).exists()
    for model in (Lead, OptIn, Appointment, OutcomeChange):
        assert not model.objects.of(organization).filter(created_at__gt=started_at).exists()


def test_no_notification_and_no_webhook_is_queued(demo: LoadedDemo) -> None:
    assert Event.objects.of(demo.organization).count() > 200
    for model in (Notification, Delivery, Endpoint):
        assert model.objects.of(demo.organization).count() == 0
    assert Membership.objects.of(demo.organization).filter(wants_mail=False).count() == 0


@pytest.mark.parametrize("resource", RESOURCES)
def test_lists_and_details_show_all_rows(demo: LoadedDemo, resource: str) -> None:
    items = list(all_items(demo, resource))

    assert {item["id"] for item in items} == {str(id) for id in values(RESOURCES[resource], demo.organization, "pk")}
    for item in items[:10]:
        assert demo.api.get_data(f"/api/external/{resource}/{item['id']}")["id"] == item["id"]


def test_the_statuses_list_shows_every_role(demo: LoadedDemo) -> None:
    assert {status["role"] for status in demo.api.get_data("/api/external/statuses")} == set(StatusRole)


def test_the_second_organization_has_rows_that_the_first_one_cannot_see(demo: LoadedDemo) -> None:
    for resource, model in RESOURCES.items():
        other_ids = values(model, demo.other_organization, "pk")
        assert other_ids
        assert not {str(id) for id in other_ids} & {item["id"] for item in all_items(demo, resource)}
        assert demo.api.get(f"/api/external/{resource}/{other_ids.pop()}").status_code == 404


def test_histories_are_unbroken_and_end_with_the_current_status(demo: LoadedDemo) -> None:
    for row in Appointment.objects.of(demo.organization):
        changes = list(
            OutcomeChange.objects.of(demo.organization)
            .filter(appointment=row)
            .order_by("created_at", "id")
            .values_list("from_status", "to_status")
        )
        assert [before for before, _ in changes] == [None, *(to for _, to in changes[:-1])]
        assert changes[-1][1] == row.outcome_id
    for row in Lead.objects.of(demo.organization):
        changes = list(
            LeadStatusChange.objects.of(demo.organization)
            .filter(lead=row)
            .order_by("created_at", "id")
            .values_list("from_status", "to_status")
        )
        assert [before for before, _ in changes] == [None, *(to for _, to in changes[:-1])]
        assert changes[-1][1] == row.status_id


def test_the_touch_point_is_the_next_appointment(demo: LoadedDemo) -> None:
    appointments = (
        Appointment.objects.of(demo.organization).upcoming().values("lead").annotate(first=Min("schedule_time"))
    )
    expected = {row["lead"]: row["first"] for row in appointments}
    by_appointment = Lead.objects.of(demo.organization).filter(
        next_touch_point_type="APPOINTMENT", next_touch_point_at__gt=now()
    )

    assert dict(by_appointment.values_list("pk", "next_touch_point_at")) == expected


def test_leads_have_up_to_four_appointments(demo: LoadedDemo) -> None:
    counts = Lead.objects.of(demo.organization).annotate(count=Count("appointments")).values_list("count", flat=True)

    assert set(counts) == {0, 1, 2, 3, 4}


def test_there_are_possible_duplicates_for_every_reason(demo: LoadedDemo) -> None:
    pairs = PossibleDuplicate.objects.of(demo.organization)

    assert {describe_reasons(pair.reasons) for pair in pairs} == {
        "Same mailbox, same name",
        "Same phone",
        "Same name",
    }


def test_a_repeated_run_changes_nothing(demo: LoadedDemo) -> None:
    before = [snapshot_of(demo.organization), snapshot_of(demo.other_organization)]

    output = run("demo")

    assert [snapshot_of(demo.organization), snapshot_of(demo.other_organization)] == before
    assert output.out == (
        f"Northwind Coaching ({demo.organization.pk}) exists.\n"
        f"For another key: manage.py create_api_key {demo.organization.pk} --name NAME\n"
    )
    assert Organization.objects.count() == 2


def test_a_renamed_organization_is_found_again(demo: LoadedDemo) -> None:
    Organization.objects.filter(pk=demo.organization.pk).update(name="Southwind")

    assert run("demo").out.startswith(f"Southwind ({demo.organization.pk}) exists.")
