"""manage.py demo --leads --appointments: as large as one likes."""

import pytest
from django.db.models import Count, F, Max, Min, Q

from appointments.models import Appointment, AppointmentSource, OutcomeChange
from leads.models import Lead, LeadStatusChange
from optins.models import OptIn
from organizations.models import Organization
from pipeline_backend.db.timestamps import now
from pipeline_backend.demo import growth
from statuses.models import Role, StatusChange
from tests.commands.demo.conftest import Loaded
from tests.commands.runner import command_error, run
from tests.factories import snapshot_of
from webhooks.models import Event


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several batches even of little."""
    monkeypatch.setattr(growth, "LEADS_PER_BATCH", 70)


def totals(organization: Organization) -> tuple[int, int]:
    return Lead.objects.of(organization).count(), Appointment.objects.of(organization).count()


def assert_histories_hold(
    changes: type[StatusChange], organization: Organization, subject: str, ends: dict[object, object]
) -> None:
    """Each history is a chain, from nothing to where its subject is."""
    where: dict[object, object] = {}
    for id, before, to in (
        changes.objects.of(organization).order_by("created_at", "id").values_list(subject, "from_status", "to_status")
    ):
        assert where.get(id) == before
        where[id] = to
    assert where == ends


def test_it_grows_to_these_totals_and_no_further(demo: Loaded) -> None:
    said = run("demo", "--leads", 300, "--appointments", 700)
    before = snapshot_of(demo.organization)

    again = run("demo", "--leads", 300, "--appointments", 700)

    assert "Added 260 leads and 620 appointments.\n" in said.out
    assert "Added" not in again.out
    assert totals(demo.organization) == (300, 700)
    assert snapshot_of(demo.organization) == before


def test_appointments_alone_bring_half_as_many_leads(demo: Loaded) -> None:
    run("demo", "--appointments", 400)

    assert totals(demo.organization) == (200, 400)


def test_leads_alone_bring_opt_ins_in_proportion(demo: Loaded) -> None:
    run("demo", "--leads", 240)

    assert totals(demo.organization) == (240, 80)
    assert 260 < OptIn.objects.of(demo.organization).count() < 460


def test_known_leads_get_their_share_of_more_appointments(demo: Loaded) -> None:
    run("demo", "--leads", 40, "--appointments", 480)

    calls = (
        Lead.objects.of(demo.organization)
        .annotate(calls=Count("appointments"))
        .aggregate(least=Min("calls"), most=Max("calls"))
    )
    assert totals(demo.organization) == (40, 480)
    assert calls["least"] >= 2
    assert calls["most"] <= 30


def test_smaller_numbers_take_nothing_away(demo: Loaded) -> None:
    assert "Added" not in run("demo", "--leads", 3, "--appointments", 0).out
    assert totals(demo.organization) == (40, 80)


def test_grown_rows_keep_the_rules_of_the_services(demo: Loaded) -> None:
    run("demo", "--leads", 200, "--appointments", 400)
    run("demo", "--leads", 200, "--appointments", 600)

    organization = demo.organization
    calls, leads = Appointment.objects.of(organization), Lead.objects.of(organization)
    assert_histories_hold(OutcomeChange, organization, "appointment", dict(calls.values_list("pk", "outcome")))
    assert_histories_hold(LeadStatusChange, organization, "lead", dict(leads.values_list("pk", "status")))
    assert not calls.exclude(no_show=Q(outcome__role=Role.NO_SHOW)).exists()
    assert not calls.filter(outcome__role=Role.CANCELED).exclude(meeting_url=None).exists()
    assert not calls.exclude(first_source=F("lead__first_source")).exists()
    assert not calls.exclude(
        created_at__gte=F("lead__created_at"), created_at__lt=F("schedule_time"), updated_at__gte=F("created_at")
    ).exists()
    assert not calls.filter(schedule_time__lt=now(), outcome__role=Role.APPOINTMENT_BOOKED).exists()
    first = {row["lead"]: row["first"] for row in calls.upcoming().values("lead").annotate(first=Min("schedule_time"))}
    assert dict(leads.filter(next_touch_point_type="APPOINTMENT").values_list("pk", "next_touch_point_at")) == first


def test_it_is_spread_over_sources_outcomes_people_and_four_years(demo: Loaded) -> None:
    run("demo", "--leads", 500, "--appointments", 1500)

    calls = Appointment.objects.of(demo.organization)
    assert set(calls.values_list("source", flat=True)) == set(AppointmentSource)
    assert set(calls.values_list("outcome__role", flat=True)) == set(Role)
    assert calls.values("host").distinct().count() == 3
    assert calls.values("event_type").distinct().count() == 6
    span = calls.aggregate(first=Min("schedule_time"), last=Max("schedule_time"))
    assert (now() - span["first"]).days > 500
    assert (span["last"] - now()).days > 300


def test_grown_rows_have_no_events_and_the_second_organization_stays_small(demo: Loaded) -> None:
    events, neighbor = Event.objects.of(demo.organization).count(), snapshot_of(demo.neighbor)

    run("demo", "--appointments", 200)

    assert Event.objects.of(demo.organization).count() == events
    assert snapshot_of(demo.neighbor) == neighbor


def test_the_lists_answer_the_grown_demo(demo: Loaded) -> None:
    run("demo", "--leads", 200, "--appointments", 400)

    answers = {
        what: demo.api.get(f"/api/external/{what}", {"limit": 100}).json()
        for what in ("appointments", "leads", "opt-ins")
    }
    assert (answers["appointments"]["pagination"]["total"], answers["leads"]["pagination"]["total"]) == (400, 200)
    assert all(len(answer["data"]) == 100 for answer in answers.values())


def test_what_is_no_number_is_refused(demo: Loaded) -> None:
    assert command_error("demo", "--leads", "-1") == "Error: argument --leads: -1 is not a whole number"
    assert (
        command_error("demo", "--appointments", "many") == "Error: argument --appointments: many is not a whole number"
    )
