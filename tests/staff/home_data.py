"""A hand-computed week of an organization, for the home page: what happened, and what the page must say about it.

All times are those of New York, where it is Wednesday, 18 November 2026, 10:00. A week is the 12th to the 18th.
"""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import unescape
from itertools import count
from typing import Any
from urllib.parse import parse_qs, urlsplit
from zoneinfo import ZoneInfo

from django.test import RequestFactory
from django.urls import resolve
from django.utils import timezone

from appointments.models import Appointment
from leads.models import Lead, LeadStatusChange
from optins.models import OptIn
from organizations.models import MemberRole, Membership, Organization, User
from statuses.models import Status
from tests.factories import make_event_type, make_member, make_provider_appointment

ZONE = ZoneInfo("America/New_York")
NOW = datetime(2026, 11, 18, 10, tzinfo=ZONE).astimezone(UTC)
NUMBERS = count(1)
NUMBER_LINK = re.compile(r'<a [^>]*href="([^"]+)" data-rows="(\d+)">')


def at(day: int, hour: int, minute: int = 0) -> datetime:
    """Return a time in November 2026."""
    return datetime(2026, 11, day, hour, minute, tzinfo=ZONE).astimezone(UTC)


@dataclass
class Week:
    """The rows of the week. Appointments have a lead each, whose first name is theirs."""

    organization: Organization
    hana: Membership
    mia: Membership
    sam: Membership
    appointments: dict[str, Appointment] = field(default_factory=dict)

    def status(self, role: str) -> Status:
        """Return the organization's status with this role."""
        status: Status = Status.objects.of(self.organization).get(role=role)
        return status

    def book(self, name: str, booked_at: datetime, time: datetime, host: Membership, role: str, **fields: Any) -> None:
        """Create an appointment with a lead of this name."""
        values = {"created_at": booked_at, "schedule_time": time, "outcome": self.status(role), "host": host, **fields}
        appointment = make_provider_appointment(
            self.organization, f"{name}@example.com", external_reference=f"week-{next(NUMBERS)}", **values
        )
        Lead.objects.of(self.organization).filter(pk=appointment.lead_id).update(first_name=name)
        self.appointments[name] = appointment

    def lead(self, name: str, role: str, **fields: Any) -> Lead:
        """Create a lead without appointment."""
        source = self.appointments["Won"].first_source
        values = {"status": self.status(role), "first_source": source, "last_source": source, **fields}
        lead: Lead = Lead.objects.create(
            organization=self.organization, email=f"{name}@example.com", first_name=name, **values
        )
        return lead

    def opt_in(self, lead: Lead, created_at: datetime, **fields: Any) -> None:
        """Create an opt-in of the lead."""
        values = {"source": "WEBINAR", "created_at": created_at, **fields}
        OptIn.objects.create(organization=self.organization, lead=lead, **values)

    def statuses(self, lead: Lead, *steps: tuple[str, datetime]) -> None:
        """Create the status history of the lead: each role with the time from which on it had it."""
        previous = None
        for role, created_at in steps:
            status = self.status(role)
            LeadStatusChange.objects.create(
                organization=self.organization, lead=lead, from_status=previous, to_status=status, created_at=created_at
            )
            previous = status


def create_week(organization: Organization) -> Week:
    """Create the week. Call it while the clock stands at `NOW`."""
    name = organization.name.lower()
    week = Week(
        organization,
        make_member(organization, f"hana@{name}.example", first_name="Hana", time_zone=str(ZONE)),
        make_member(
            organization, f"mia@{name}.example", first_name="Mia", role=MemberRole.MANAGER, time_zone=str(ZONE)
        ),
        make_member(organization, f"sam@{name}.example", first_name="Sam", role=MemberRole.SETTER, time_zone=str(ZONE)),
    )
    hana, mia, sam, call = week.hana, week.mia, week.sam, make_event_type(organization, "Strategy call")
    week.book("Won", at(12, 9), at(16, 10), hana, "WON", setter=sam, event_type=call, utm_campaign="spring")
    week.book("Missed", at(13, 9), at(16, 14), hana, "NO_SHOW", event_type=call, utm_campaign="spring")
    week.book("Late", at(13, 10), at(17, 23, 30), mia, "LOST")  # the 18th in UTC
    week.book("Ended", at(14, 12), at(18, 9), hana, "APPOINTMENT_BOOKED", event_type=call)  # takes an hour
    week.book("Running", at(14, 13), at(18, 9, 30), mia, "APPOINTMENT_BOOKED")
    week.book("Today", at(16, 9), at(18, 16), hana, "APPOINTMENT_BOOKED", setter=sam)
    week.book("Tomorrow", at(18, 8), at(19, 11), hana, "RESCHEDULED", triager=sam)
    week.book("Canceled", at(16, 10), at(17, 12), hana, "CANCELED")
    week.book("Deposit", at(15, 18), at(16, 15), mia, "PARTIAL_PAYMENT")
    week.book("Before", at(11, 20), at(11, 23, 30), mia, "WON")  # both the 12th in UTC

    leads = {name: appointment.lead for name, appointment in week.appointments.items()}
    week.opt_in(leads["Won"], at(11, 22), utm_campaign="spring")  # before the week
    week.opt_in(leads["Won"], at(12, 8), utm_campaign="spring")  # booked an hour later
    week.opt_in(leads["Missed"], at(12, 9))  # booked a day later
    week.opt_in(leads["Late"], at(13, 6), utm_campaign="spring")  # booked four hours later
    week.opt_in(leads["Canceled"], at(17, 9))  # booked before
    week.opt_in(week.lead("Fresh", "NEW_LEAD"), at(16, 7))

    week.statuses(leads["Won"], ("NEW_LEAD", at(11, 22)), ("APPOINTMENT_BOOKED", at(12, 9)), ("WON", at(16, 11)))
    week.statuses(leads["Missed"], ("NEW_LEAD", at(12, 9)), ("APPOINTMENT_BOOKED", at(13, 9)), ("NO_SHOW", at(16, 15)))
    week.statuses(leads["Late"], ("NEW_LEAD", at(13, 6)), ("APPOINTMENT_BOOKED", at(13, 10)))
    week.statuses(leads["Before"], ("NEW_LEAD", at(10, 9)), ("APPOINTMENT_BOOKED", at(11, 20)))  # before the week

    week.lead("Undated", "FOLLOW_UP", setter=sam)
    week.lead("Planned", "FOLLOW_UP", next_touch_point_at=at(19, 9), next_touch_point_type="FOLLOW_UP")
    week.lead("Callback", "LOST", next_touch_point_at=at(18, 23, 30), next_touch_point_type="CALL")
    week.lead("Meeting", "LOST", next_touch_point_at=at(18, 16), next_touch_point_type="APPOINTMENT")
    return week


def linked_numbers(page: str) -> dict[str, int]:
    """Return the addresses that the page's numbers link to, each with how many rows it promises."""
    return {unescape(url): int(rows) for url, rows in NUMBER_LINK.findall(page)}


def count_listed_rows(user: User, url: str) -> int:
    """Return how many rows the list at the address has, without rendering it."""
    parts = urlsplit(url)
    model_admin = resolve(parts.path).func.model_admin
    request = RequestFactory().get(parts.path, parse_qs(parts.query, keep_blank_values=True))
    request.user = user
    with timezone.override(ZONE):
        return int(model_admin.get_changelist_instance(request).result_count)
