"""manage.py demo --leads --appointments: adding rows in bulk."""

from datetime import timedelta

import pytest
from django.db.models import F, Max, Min, Q

from appointments.models import Appointment, AppointmentSource, OutcomeChange
from dev.demo import growth
from foundation.db.timestamps import now
from leads.models import Lead, LeadStatusChange
from optins.models import OptIn
from organizations.models import Organization
from statuses.models import StatusChange, StatusRole
from tests.commands.demo.conftest import LoadedDemo
from tests.commands.runner import command_error, run
from tests.factories import snapshot_of
from webhooks.models import Event

UPCOMING_ROLES = [StatusRole.APPOINTMENT_BOOKED, StatusRole.CANCELED]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make batches so small that each test needs several."""
    monkeypatch.setattr(growth, "LEADS_PER_BATCH", 70)


def totals(organization: Organization) -> tuple[int, int]:
    """Return the numbers of leads and of appointments."""
    return Lead.objects.of(organization).count(), Appointment.objects.of(organization).count()


def assert_unbroken_histories(
    model: type[StatusChange], organization: Organization, subject: str, current_statuses: dict[object, object]
) -> None:
    """Assert that each history leads, without a gap, from no status to the current one."""
    changes = model.objects.of(organization).order_by("created_at", "id")
    status_of: dict[object, object] = {}
    for id, from_status, to_status in changes.values_list(subject, "from_status", "to_status"):
        assert status_of.get(id) == from_status
        status_of[id] = to_status
    assert status_of == current_statuses


def test_rows_are_added_up_to_the_totals_and_no_further(demo: LoadedDemo) -> None:
    output = run("demo", "--leads", 300, "--appointments", 700)
    before = snapshot_of(demo.organization)

    repeated = run("demo", "--leads", 300, "--appointments", 700)

    assert "Added 260 leads and 620 appointments.\n" in output.out
    assert "Added" not in repeated.out
    assert totals(demo.organization) == (300, 700)
    assert snapshot_of(demo.organization) == before


def test_without_leads_there_are_half_as_many_leads_as_appointments(demo: LoadedDemo) -> None:
    run("demo", "--appointments", 400)

    assert totals(demo.organization) == (200, 400)


def test_without_appointments_there_are_twice_as_many_as_leads(demo: LoadedDemo) -> None:
    run("demo", "--leads", 240)

    assert totals(demo.organization) == (240, 480)


def test_added_leads_have_opt_ins_with_answers(demo: LoadedDemo) -> None:
    run("demo", "--leads", 240, "--appointments", 80)

    assert totals(demo.organization) == (240, 80)
    added = OptIn.objects.of(demo.organization).filter(external_reference__contains=".")
    assert added.count() >= 200  # each new lead has at least one, because it has no appointment that created it
    assert not added.exclude(question_answers__position=1).exists()


def test_more_appointments_than_the_leads_can_have_are_refused(demo: LoadedDemo) -> None:
    error = command_error("demo", "--leads", 41, "--appointments", 85)

    assert error == "1 new leads have at most 4 appointments; add more leads"
    assert totals(demo.organization) == (40, 80)


def test_totals_below_the_present_ones_delete_nothing(demo: LoadedDemo) -> None:
    output = run("demo", "--leads", 3, "--appointments", 0)

    assert "Added" not in output.out
    assert totals(demo.organization) == (40, 80)


def test_added_rows_follow_the_rules_of_the_services(demo: LoadedDemo) -> None:
    run("demo", "--leads", 200, "--appointments", 400)
    run("demo", "--leads", 260, "--appointments", 600)

    organization = demo.organization
    appointments, leads = Appointment.objects.of(organization), Lead.objects.of(organization)
    outcomes, statuses = dict(appointments.values_list("pk", "outcome")), dict(leads.values_list("pk", "status"))
    assert_unbroken_histories(OutcomeChange, organization, "appointment", outcomes)
    assert_unbroken_histories(LeadStatusChange, organization, "lead", statuses)
    assert not appointments.exclude(no_show=Q(outcome__role=StatusRole.NO_SHOW)).exists()
    assert not appointments.filter(outcome__role=StatusRole.CANCELED).exclude(meeting_url=None).exists()
    assert not appointments.exclude(first_source=F("lead__first_source")).exists()
    assert not appointments.exclude(
        created_at__gte=F("lead__created_at"), created_at__lt=F("schedule_time"), updated_at__gte=F("created_at")
    ).exists()
    assert not appointments.filter(schedule_time__gt=now()).exclude(outcome__role__in=UPCOMING_ROLES).exists()
    # A call that has begun since the rows were made is still the lead's next one.
    begun = appointments.filter(schedule_time__range=(now() - timedelta(hours=2), now())).values("lead")
    upcoming = appointments.upcoming().exclude(lead__in=begun).values("lead").annotate(first=Min("schedule_time"))
    next_times = {row["lead"]: row["first"] for row in upcoming}
    by_appointment = leads.filter(next_touch_point_type="APPOINTMENT", next_touch_point_at__gt=now())
    by_appointment = by_appointment.exclude(pk__in=begun)
    assert dict(by_appointment.values_list("pk", "next_touch_point_at")) == next_times


def test_added_rows_have_their_status_since_its_last_change(demo: LoadedDemo) -> None:
    run("demo", "--leads", 200, "--appointments", 400)

    leads = Lead.objects.of(demo.organization).annotate(changed_at=Max("status_changes__created_at"))
    appointments = Appointment.objects.of(demo.organization).annotate(changed_at=Max("outcome_changes__created_at"))
    times = [*leads.values_list("changed_at", "status_since"), *appointments.values_list("changed_at", "outcome_since")]
    assert len(times) == 600
    assert {round((since - changed_at).total_seconds()) for changed_at, since in times} == {0}


def test_added_appointments_spread_over_sources_outcomes_members_and_two_years(demo: LoadedDemo) -> None:
    run("demo", "--leads", 500, "--appointments", 1500)

    appointments = Appointment.objects.of(demo.organization)
    assert set(appointments.values_list("source", flat=True)) == set(AppointmentSource)
    assert set(appointments.values_list("outcome__role", flat=True)) == set(StatusRole)
    assert appointments.values("host").distinct().count() == 3
    assert appointments.values("event_type").distinct().count() == 6
    span = appointments.aggregate(first=Min("schedule_time"), last=Max("schedule_time"))
    assert (now() - span["first"]).days > 500
    assert (span["last"] - now()).days > 100


def test_added_rows_have_no_events_and_the_second_organization_is_unchanged(demo: LoadedDemo) -> None:
    event_count = Event.objects.of(demo.organization).count()
    other_rows = snapshot_of(demo.other_organization)

    run("demo", "--appointments", 200)

    assert Event.objects.of(demo.organization).count() == event_count
    assert snapshot_of(demo.other_organization) == other_rows


def test_the_lists_show_the_added_rows(demo: LoadedDemo) -> None:
    run("demo", "--leads", 200, "--appointments", 400)

    pages = {
        resource: demo.api.get(f"/api/external/{resource}", {"limit": 100}).json()
        for resource in ("appointments", "leads", "opt-ins")
    }

    assert (pages["appointments"]["pagination"]["total"], pages["leads"]["pagination"]["total"]) == (400, 200)
    assert all(len(page["data"]) == 100 for page in pages.values())


def test_a_total_that_is_not_a_number_is_refused(demo: LoadedDemo) -> None:
    assert command_error("demo", "--appointments", "many") == (
        "Error: argument --appointments: invalid int value: 'many'"
    )
