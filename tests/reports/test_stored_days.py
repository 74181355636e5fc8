"""Stored numbers of past days, and when opt-ins were booked: reports are as from the rows, whatever changes."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import cycle
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Left

from appointments import day_counts, first_bookings, reports
from appointments.first_bookings import store_first_bookings
from appointments.models import Appointment, ChangedDay, ChangedLead, DayCount
from appointments.services import edit_appointment
from appointments.tasks import store_days
from leads.merging import merge_leads, undo_merge
from leads.models import Lead, LeadMerge, Source
from optins.models import OptIn
from organizations.actors import SYSTEM
from organizations.models import Organization
from statuses.models import Status
from statuses.services import save_status
from tests.factories import make_event_type, make_member, make_provider_appointment
from tests.migrations import run_data_steps
from tests.reports.test_reports import REPORTS, table
from tests.staff.pages import logged_in_client

ZONES = ["UTC", "America/New_York", "Asia/Kathmandu"]
ROLES = ["APPOINTMENT_BOOKED", "WON", "NO_SHOW", "CANCELED", "LOST", "PARTIAL_PAYMENT", "RESCHEDULED"]


@pytest.fixture(autouse=True)
def _few_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(day_counts, "FEWEST_APPOINTMENTS", 0)


def days_ago(days: float) -> datetime:
    return datetime.now(UTC) - timedelta(days=days)


def status(organization: Organization, role: str) -> Status:
    found: Status = Status.objects.of(organization).get(role=role)
    return found


def book(organization: Organization, number: int, *, booked: float, held: float, **fields: Any) -> Appointment:
    """Create an appointment that was booked and held these days ago."""
    values = {"created_at": days_ago(booked), "schedule_time": days_ago(held), "external_reference": f"ref-{number}"}
    values["outcome"] = status(organization, ROLES[number % len(ROLES)])
    return make_provider_appointment(organization, f"lead{number % 3}@example.com", **{**values, **fields})


@pytest.fixture
def appointments(organization: Organization, other_organization: Organization) -> list[Appointment]:
    """Appointments of four months, at all times of the day. None of the other organization may count."""
    hosts = [None, make_member(organization, "hana@acme.example"), make_member(organization, "mia@acme.example")]
    call = make_event_type(organization, "Call")
    book(other_organization, 0, booked=50, held=40)
    return [
        book(
            organization,
            number,
            booked=120 - 5.1 * number + (20 if number % 6 == 5 else 0),
            held=117 - 4.93 * number,
            host=hosts[number % 3],
            setter=hosts[number % 2],
            event_type=call if number % 4 else None,
            utm_campaign=["spring", None, ""][number % 3],
        )
        for number in range(25)
    ]


def numbers(organization: Organization) -> list[Any]:
    """Return the numbers by day and by month, by other values, in zones whose days begin at other times."""
    rows, today, at = Appointment.objects.of(organization), datetime.now(UTC).date(), datetime.now(UTC)
    result = []
    for days, zone, by in [(80, ZONES[2], "host"), (140, ZONES[1], "last_source"), (130, ZONES[0], "utm_campaign")]:
        period = reports.Period(today - timedelta(days=days), today + timedelta(days=5), ZoneInfo(zone))
        result.append(reports.appointment_numbers(rows, period, at, by=by, stored_of=organization))
    return result


def from_rows(organization: Organization, read: Callable[[], Any]) -> Any:
    """Return what is read when no stored day and no stored booking counts."""
    with transaction.atomic():
        ChangedDay.objects.create(organization=organization)
        leads = Lead.objects.of(organization).values_list("pk", flat=True)
        ChangedLead.objects.of(organization).bulk_create(
            ChangedLead(organization=organization, lead_id=lead) for lead in leads
        )
        result = read()
        transaction.set_rollback(True)
    return result


def assert_exact(organization: Organization) -> None:
    assert numbers(organization) == from_rows(organization, lambda: numbers(organization))


def test_reports_are_the_same_with_stored_days_after_every_kind_of_change(
    organization: Organization, other_organization: Organization, appointments: list[Appointment]
) -> None:
    rows, hana = Appointment.objects.of(organization), appointments[1].host
    client = logged_in_client(make_member(organization, "olga@acme.example", role="OWNER", time_zone=ZONES[1]))
    today = datetime.now(UTC).date()
    queries = [{"from": today - timedelta(days=140), "to": today, "by": by} for by in ("setter", "event_type")]
    pages = [table(client.get(REPORTS, query)) for query in queries]

    store_days()

    stored = DayCount.objects.of(organization).filter(dimension="")
    assert stored.count() > 110
    assert DayCount.objects.of(other_organization).exists()
    assert [table(client.get(REPORTS, query)) for query in queries] == pages
    assert_exact(organization)
    # They are read: wrong ones would be shown.
    wrong = DayCount.objects.of(organization)
    wrong.update(shown=F("shown") + 1)
    assert numbers(organization) != from_rows(organization, lambda: numbers(organization))
    wrong.update(shown=F("shown") - 1)

    source = Source.objects.create(organization=organization, name="Radio")
    lost, long = status(organization, "LOST"), "winter " * 50
    changes: list[Callable[[], object]] = [
        lambda: book(organization, 90, booked=70, held=60, host=hana),  # as an import of history does
        lambda: edit_appointment(organization=organization, actor=SYSTEM, appointment=appointments[8], outcome=lost),
        lambda: edit_appointment(organization=organization, actor=SYSTEM, appointment=appointments[9], host=hana),
        lambda: edit_appointment(
            organization=organization, actor=SYSTEM, appointment=appointments[12], schedule_time=days_ago(20.4)
        ),
        lambda: rows.filter(pk=appointments[13].pk).update(last_source=source, utm_campaign=long, event_type=None),
        lambda: rows.filter(pk=appointments[13].pk).update(utm_campaign=None),
        lambda: rows.filter(pk=appointments[14].pk).update(created_at=days_ago(30)),
        lambda: rows.filter(pk=appointments[15].pk).delete(),
        lambda: rows.filter(pk=appointments[16].pk).update(first_booked_for=days_ago(200)),
        lambda: save_status(organization=organization, actor=SYSTEM, status=_with_role(lost, "WON")),
    ]
    before = numbers(organization)
    for change in changes:
        change()
        assert ChangedDay.objects.of(organization).exists()
        # Not even until they are stored anew: erasing a lead clears its campaigns, too.
        campaigns = rows.values_list(Left("utm_campaign", day_counts.MAX_KEY))
        assert set(DayCount.objects.of(organization).filter(dimension="utm_campaign").values_list("key")) <= {
            *campaigns
        }
        after = from_rows(organization, lambda: numbers(organization))
        assert after != before
        assert numbers(organization) == after
        store_days()
        assert (ChangedDay.objects.of(organization).exists(), stored.count() > 110) == (False, True)
        assert numbers(organization) == after
        before = after


def opt_in(lead: Lead, days: float, campaign: str | None = None) -> OptIn:
    values = {"lead": lead, "source": "WEBINAR", "created_at": days_ago(days), "utm_campaign": campaign}
    row: OptIn = OptIn.objects.create(organization=lead.organization, **values)
    return row


def assert_booked_at_is_right(organization: Organization) -> None:
    columns = ("lead", "created_at", "first_booked_for", "booked_for", "schedule_time")
    rows = Appointment.objects.of(organization).values_list(*columns)
    bookings = [(lead, min(created_at, first or booked or at)) for lead, created_at, first, booked, at in rows]
    for lead, at, booked_at in OptIn.objects.of(organization).values_list("lead", "created_at", "booked_at"):
        assert booked_at == min((time for owner, time in bookings if owner == lead and time >= at), default=None)


def test_opt_ins_are_booked_at_the_same_time_after_every_kind_of_change(
    organization: Organization, appointments: list[Appointment], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_bookings, "CHANGES_PER_BATCH", 3)
    client = logged_in_client(make_member(organization, "olga@acme.example", role="OWNER"))
    today = datetime.now(UTC).date()
    leads = [appointment.lead for appointment in appointments[:3]]
    rows = [opt_in(leads[number % 3], 130 - 6.3 * number, ["spring", None][number % 2]) for number in range(20)]
    opt_ins, bookings = OptIn.objects.of(organization), Appointment.objects.of(organization)
    bookings.filter(created_at__gt=days_ago(0)).delete()  # a merge couldn't be undone

    def read() -> list[Any]:
        periods = [(140, 0), (40, 30), (100, 60)]
        return [
            reports.opt_in_numbers(
                organization,
                reports.Period(today - timedelta(days=first), today - timedelta(days=last), ZoneInfo(ZONES[1])),
                days_ago(last),
                by_campaign=True,
            )
            for first, last in periods
        ]

    def page() -> dict[str, str]:
        return table(client.get(REPORTS, {"from": today - timedelta(days=70), "to": today, "by": "utm_campaign"}))

    def store() -> None:
        while store_first_bookings(organization=organization):
            pass
        assert not ChangedLead.objects.of(organization).exists()
        assert_booked_at_is_right(organization)

    before = page()
    store()
    assert page() == before
    # They are read: wrong ones would be shown.
    opt_ins.update(booked_at=F("booked_at") + timedelta(hours=1))
    assert page() != before
    opt_ins.update(booked_at=F("booked_at") - timedelta(hours=1))

    keep, merge = leads[0].pk, leads[1].pk
    changes: list[Callable[[], object]] = [
        lambda: opt_in(leads[0], 99, "spring"),
        lambda: [book(organization, 99 + number, booked=days, held=1) for number, days in enumerate([20, 2.5, 60])],
        lambda: bookings.filter(lead=leads[2], created_at__gt=days_ago(60)).update(
            created_at=days_ago(3), schedule_time=days_ago(2)
        ),
        lambda: bookings.filter(lead=leads[1], created_at__lt=days_ago(70)).delete(),
        lambda: opt_ins.filter(pk=rows[7].pk).update(created_at=days_ago(2)),
        lambda: opt_ins.filter(pk=rows[4].pk).delete(),
        lambda: merge_leads(organization=organization, actor=SYSTEM, keep=keep, merge=merge),
        lambda: undo_merge(
            organization=organization, actor=SYSTEM, merge_id=LeadMerge.objects.of(organization).get().pk
        ),
    ]
    for change in changes:
        before_it = read()
        change()
        after = from_rows(organization, read)
        assert after != before_it, changes.index(change)
        assert read() == after
        store()
        assert read() == after


def test_the_upgrade_stores_when_calls_that_were_entered_afterwards_count_as_booked(organization: Organization) -> None:
    old = book(organization, 0, booked=1, held=300)
    late = book(organization, 1, booked=1, held=4)
    for appointment in (old, late):
        opt_in(appointment.lead, 5)
    OptIn.objects.of(organization).update(booked_at=old.created_at)  # as the version before did

    run_data_steps("appointments", "0038_booked_for_old_calls")

    assert_booked_at_is_right(organization)


def _with_role(status: Status, role: str) -> Status:
    status.role, status.is_appointment_default, status.is_lead_default = role, False, False
    return status


def test_a_booking_and_the_outcome_of_a_call_of_today_mark_no_day(organization: Organization) -> None:
    appointment = book(organization, 0, booked=0, held=-5)
    edit_appointment(organization=organization, actor=SYSTEM, appointment=appointment, schedule_time=days_ago(0.1))
    Appointment.objects.of(organization).update(created_at=days_ago(5))
    ChangedDay.objects.of(organization).delete()
    appointment.refresh_from_db()

    edit_appointment(
        organization=organization, actor=SYSTEM, appointment=appointment, outcome=status(organization, "WON")
    )
    edit_appointment(organization=organization, actor=SYSTEM, appointment=appointment, schedule_time=days_ago(-3))

    assert not ChangedDay.objects.of(organization).exists()


def test_days_of_too_many_appointments_are_read_and_too_many_campaigns_are_not_stored(
    organization: Organization, appointments: list[Appointment], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30, 36):
        book(organization, number, booked=50, held=40, utm_campaign=f"campaign {number}")
    for number in range(40, 44):
        book(organization, number, booked=52, held=42, utm_campaign=f"campaign {number}")
    store_days()
    rows = Appointment.objects.of(organization)
    rows.filter(external_reference__in=["ref-30", "ref-40"]).update(
        outcome=status(organization, "LOST"), booked_for=days_ago(38)
    )
    monkeypatch.setattr(day_counts, "MAX_APPOINTMENTS", 5)
    monkeypatch.setattr(day_counts, "MAX_KEYS", 3)
    monkeypatch.setattr(reports, "MAX_GROUPS", 2)

    store_days()

    assert not ChangedDay.objects.of(organization).exists()
    stored = DayCount.objects.of(organization)
    full_days = {days_ago(days).date() for days in (50, 40)}
    assert not stored.filter(day__in=full_days).exists()
    assert stored.filter(dimension="utm_campaign", day=days_ago(52).date()).count() == 3
    period = reports.Period(days_ago(60).date(), days_ago(30).date(), ZoneInfo("UTC"))

    def read() -> tuple[Any, bool]:
        by_step, groups = reports.appointment_numbers(
            rows, period, datetime.now(UTC), by="utm_campaign", stored_of=organization
        )
        return by_step, len(groups) > reports.MAX_GROUPS

    assert read() == from_rows(organization, read)


@pytest.mark.django_db(transaction=True)
def test_changes_that_commit_at_any_moment_of_the_count_are_counted(
    organization: Organization, appointments: list[Appointment]
) -> None:
    outcomes = cycle([status(organization, role).pk for role in ROLES])
    other, old = connection.copy(), appointments[7].pk

    def change() -> None:
        with other.cursor() as cursor:
            values = [next(outcomes), old]
            cursor.execute("UPDATE appointments_appointment SET outcome_id = %s WHERE id = %s", values)

    def change_meanwhile(is_before: bool, execute: Callable[..., Any], *statement: Any) -> Any:
        """Commit a change of the same appointment before or after each statement of the task."""
        if statement[0].lstrip().startswith("WITH span"):
            written = connection.connection.execute("SELECT pg_current_xact_id_if_assigned()").fetchone()
            assert written == (None,), "while it counts, other organizations see their events"
        if is_before:
            change()
        result = execute(*statement)
        if not is_before:
            change()
        return result

    store_days()
    try:
        for is_before in [True, False] * 2:
            with other.cursor() as cursor:
                cursor.execute("BEGIN")
                change()
                day_counts.store_days(organization=organization)
                cursor.execute("COMMIT")
            assert_exact(organization)
            with connection.execute_wrapper(partial(change_meanwhile, is_before)):
                assert day_counts.store_days(organization=organization) == 1
            assert_exact(organization)
            assert ChangedDay.objects.of(organization).exists()
        with other.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(day_counts.TRY_LOCK, [str(organization.pk)])
            assert day_counts.store_days(organization=organization) == 0  # another worker is at it
            cursor.execute("ROLLBACK")
    finally:
        other.close()
    store_days()
    assert not ChangedDay.objects.of(organization).exists()
    assert_exact(organization)


@pytest.mark.django_db(transaction=True)
def test_bookings_that_commit_while_first_bookings_are_stored_are_stored_the_next_time(
    organization: Organization,
) -> None:
    appointment = book(organization, 0, booked=5, held=1)
    row = opt_in(appointment.lead, 10)
    other = connection.copy()

    def change_meanwhile(is_before: bool, execute: Callable[..., Any], *statement: Any) -> Any:
        results = []
        for is_change in sorted([True, False], reverse=is_before):
            if is_change:
                with other.cursor() as cursor:
                    values = [appointment.pk]
                    cursor.execute(
                        "UPDATE appointments_appointment SET created_at = created_at - interval '1 hour' WHERE id = %s",
                        values,
                    )
            else:
                results.append(execute(*statement))
        return results[0]

    try:
        for is_before in (True, False):
            with connection.execute_wrapper(partial(change_meanwhile, is_before)):
                store_first_bookings(organization=organization)
            assert ChangedLead.objects.of(organization).exists()
            store_first_bookings(organization=organization)
            assert_booked_at_is_right(organization)
        with other.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("SELECT FROM leads_lead WHERE id = %s FOR UPDATE", [row.lead_id])
            Appointment.objects.of(organization).update(created_at=days_ago(9))
            assert store_first_bookings(organization=organization) == 0  # nothing waits for who holds the lead
            cursor.execute("ROLLBACK")
    finally:
        other.close()
    assert store_first_bookings(organization=organization) == 1
    assert_booked_at_is_right(organization)
