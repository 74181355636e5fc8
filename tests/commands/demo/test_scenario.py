"""manage.py demo: what it shows."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db.models import Count, Min

from appointments.models import Appointment, AppointmentSource, CallAnalysis, EventType, Note, OutcomeChange
from leads.models import CustomField, Lead, LeadStatusChange, Source
from notifications.models import Notification
from optins.models import OptIn, OptInSource, QuestionAnswer
from organizations.models import Membership, Organization
from organizations.models import Role as MemberRole
from pipeline_backend.db.timestamps import now
from pipeline_backend.demo.campaigns import CHANNELS
from statuses.models import Role, Status
from tests.commands.demo.conftest import Loaded
from tests.commands.runner import run
from tests.factories import snapshot_of
from webhooks.models import Delivery, Endpoint, Event

LISTS = {"appointments": Appointment, "opt-ins": OptIn, "leads": Lead}


def values(model: Any, organization: Organization, column: str) -> set[Any]:
    """What occurs in a column."""
    return set(model.objects.of(organization).values_list(column, flat=True))


def pages(demo: Loaded, what: str) -> Iterator[dict[str, Any]]:
    """Every item of a list."""
    page, has_next = 1, True
    while has_next:
        answer = demo.api.get(f"/api/external/{what}", {"limit": 37, "page": page})
        assert answer.status_code == 200
        yield from answer.json()["data"]
        page, has_next = page + 1, answer.json()["pagination"]["hasNext"]


def test_it_has_forty_leads_sixty_opt_ins_and_eighty_appointments(demo: Loaded) -> None:
    assert {name: model.objects.of(demo.organization).count() for name, model in LISTS.items()} == {
        "appointments": 80,
        "opt-ins": 60,
        "leads": 40,
    }


def test_it_shows_members_of_every_role_and_the_ten_statuses(demo: Loaded) -> None:
    members = Membership.objects.of(demo.organization)

    assert values(Membership, demo.organization, "role") == set(MemberRole)
    assert {email.partition("@")[2] for email in members.values_list("user__email", flat=True)} == {"northwind.example"}
    assert members.values("user__time_zone").distinct().count() >= 6
    assert members.filter(user__is_superuser=True).count() == 0
    assert values(Status, demo.organization, "role") == set(Role)


def test_it_shows_every_outcome_source_and_provider(demo: Loaded) -> None:
    assert values(Appointment, demo.organization, "outcome__role") == set(Role)
    assert values(Appointment, demo.organization, "source") == set(AppointmentSource)
    assert values(OptIn, demo.organization, "source") == set(OptInSource)
    assert values(OptIn, demo.organization, "utm_source") == {source for source, _, _ in CHANNELS}
    assert values(EventType, demo.organization, "provider") == {"SCHEDULER_A", "SCHEDULER_B", "SCHEDULER_C", None}
    assert values(Lead, demo.organization, "status__role") == set(Role)
    assert values(Source, demo.organization, "name") >= {"facebook", "google", "newsletter", "MANUAL"}


def test_it_shows_notes_mentions_analyses_answers_and_custom_values(demo: Loaded) -> None:
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


def test_past_calls_are_over_and_coming_ones_are_booked_or_canceled(demo: Loaded) -> None:
    appointments = Appointment.objects.of(demo.organization)
    coming, past = appointments.filter(schedule_time__gt=now()), appointments.filter(schedule_time__lte=now())

    assert set(coming.values_list("outcome__role", flat=True)) == {Role.APPOINTMENT_BOOKED, Role.CANCELED}
    assert set(past.values_list("outcome__role", flat=True)) == set(Role) - {Role.APPOINTMENT_BOOKED}
    assert coming.count() >= 20
    assert not appointments.filter(created_at__gt=now()).exists()


def test_nobody_is_mailed_and_nothing_is_sent(demo: Loaded) -> None:
    assert Event.objects.of(demo.organization).count() > 200
    for model in (Notification, Delivery, Endpoint):
        assert model.objects.of(demo.organization).count() == 0
    assert Membership.objects.of(demo.organization).filter(wants_mail=False).count() == 0


@pytest.mark.parametrize("what", LISTS)
def test_the_lists_and_details_answer_with_all_of_it(demo: Loaded, what: str) -> None:
    items = list(pages(demo, what))

    assert {item["id"] for item in items} == {str(id) for id in values(LISTS[what], demo.organization, "pk")}
    for item in items[:10]:
        assert demo.api.get_data(f"/api/external/{what}/{item['id']}")["id"] == item["id"]


def test_the_statuses_list_answers(demo: Loaded) -> None:
    assert {status["role"] for status in demo.api.get_data("/api/external/statuses")} == set(Role)


def test_the_second_organization_is_there_and_not_seen(demo: Loaded) -> None:
    for what, model in LISTS.items():
        theirs = values(model, demo.neighbor, "pk")
        assert theirs
        assert not {str(id) for id in theirs} & {item["id"] for item in pages(demo, what)}
        assert demo.api.get(f"/api/external/{what}/{theirs.pop()}").status_code == 404


def test_histories_end_where_the_rows_are(demo: Loaded) -> None:
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


def test_leads_point_at_their_next_call(demo: Loaded) -> None:
    appointments = (
        Appointment.objects.of(demo.organization).upcoming().values("lead").annotate(first=Min("schedule_time"))
    )
    expected = {row["lead"]: row["first"] for row in appointments}
    by_appointment = Lead.objects.of(demo.organization).filter(next_touch_point_type="APPOINTMENT")

    assert dict(by_appointment.values_list("pk", "next_touch_point_at")) == expected


def test_several_calls_of_a_lead_are_common(demo: Loaded) -> None:
    counts = Lead.objects.of(demo.organization).annotate(calls=Count("appointments")).values_list("calls", flat=True)

    assert set(counts) == {0, 1, 2, 3, 4}


def test_running_it_again_changes_nothing(demo: Loaded) -> None:
    before = [snapshot_of(demo.organization), snapshot_of(demo.neighbor)]

    said = run("demo")

    assert [snapshot_of(demo.organization), snapshot_of(demo.neighbor)] == before
    assert said.out == (
        f"Northwind Coaching ({demo.organization.pk}) was there already.\n"
        f"For another key: manage.py create_api_key {demo.organization.pk} --name <what uses it>\n"
    )
    assert Organization.objects.count() == 2


def test_an_organization_that_was_renamed_is_known_again(demo: Loaded) -> None:
    Organization.objects.filter(pk=demo.organization.pk).update(name="Southwind")

    assert run("demo").out.startswith(f"Southwind ({demo.organization.pk}) was there already.")
