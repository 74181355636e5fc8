"""The importer of appointments: by reference, or by the ID that our export writes."""

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any
from uuid import UUID

from django.db.models import F

from appointments.conditions import ENDS_AT
from appointments.models import Appointment, AppointmentSource, EventType, FormerReference, Note
from appointments.services.booking import BookingData, find_or_book
from appointments.services.changes import (
    REOPENED_ROLES,
    add_note,
    get_for_update,
    replace_outcome,
    role_of,
    save_appointment,
    set_values,
)
from foundation.api.emails import email_key
from foundation.api.exceptions import Conflict
from foundation.db.names import fold_name
from leads.imports.importers import Column, Importer, Plan, Problem, is_same_status, is_same_time, register
from leads.imports.leads import EMAIL, FIRST_NAME, LAST_NAME, PHONE
from leads.imports.models import Import, ImportKind, ImportRow, Verdict
from leads.imports.values import BadCell, parse_email, parse_name, parse_phone_number, parse_text, parse_url, parse_uuid
from leads.models import CustomField, Lead, LeadMerge
from leads.services import LeadValues, check_not_erased, fill_lead
from organizations.actors import Actor
from organizations.models import Membership
from statuses.models import RESULT_ROLES, VERDICT_ROLES, Board, Status, StatusRole
from statuses.services import default_status

MEMBERS = {"host": "Host", "setter": "Setter", "triager": "Triager"}
LEAD_VALUES = {"lead_first_name", "lead_last_name", "lead_phone"}
LEAD_COLUMNS = {"first_name": "First name", "last_name": "Last name", "phone_e164": "Phone"}
LINKS = {"meeting_url": "Meeting link", "recording_url": "Recording link"}
# Of a new appointment, besides what it needs.
SHOWN = {"lead_first_name": "First name", "lead_last_name": "Last name", "lead_phone": "Phone", **MEMBERS, **LINKS}
LEAD_EMAIL = ("email", "e mail", "invitee email", "lead", *EMAIL)
OUTCOME = ("status", "appointment status", "result")
EVENT_TYPE = ("event type name", "appointment type", "meeting type")
NEEDED = {"lead_email": "Lead e-mail", "schedule_time": "Time", "event_type": "Event type"}


@register
class AppointmentImporter(Importer):
    kind = ImportKind.APPOINTMENTS
    board = Board.APPOINTMENT
    entity = CustomField.Entity.APPOINTMENT
    key, key_label = "external_reference", "reference"

    def __init__(self, file_import: Import) -> None:
        super().__init__(file_import)
        self.event_types: dict[UUID, EventType] = {row.pk: row for row in EventType.objects.of(self.organization)}
        self.event_types_by_key = {fold_name(row.name): row for row in self.event_types.values()}

    @cached_property
    def booked(self) -> Status | None:
        return default_status(self.organization, Board.APPOINTMENT, StatusRole.APPOINTMENT_BOOKED)

    def columns(self) -> list[Column]:
        country, members = self.reading.country, self.member_targets
        return [
            Column(
                "external_reference",
                "Reference",
                parse_name,
                ("external reference", "appointment reference", "booking id", "booking reference", "uid"),
                is_essential=True,
            ),
            Column("id", "Appointment ID", parse_uuid, ("id",), is_essential=True),
            Column("lead_email", "Lead e-mail", parse_email, LEAD_EMAIL, is_essential=True),
            Column("lead_first_name", "First name", parse_name, ("lead first name", "invitee first name", *FIRST_NAME)),
            Column("lead_last_name", "Last name", parse_name, ("lead last name", "invitee last name", *LAST_NAME)),
            Column("lead_phone", "Phone", lambda text: parse_phone_number(text, country), ("lead phone", *PHONE)),
            Column(
                "schedule_time",
                "Time",
                None,
                ("schedule time", "scheduled time", "start", "start time", "starts at", "date", "date and time"),
                is_essential=True,
            ),
            Column("event_type", "Event type", parse_name, EVENT_TYPE, is_essential=True),
            Column(
                "host",
                "Host",
                self.find_member,
                ("host e-mail", "host email", "closer email", "organizer email", "closer", "organizer"),
                targets=members,
            ),
            Column("setter", "Setter", self.find_member, ("setter e-mail", "setter email"), targets=members),
            Column("triager", "Triager", self.find_member, ("triager e-mail", "triager email"), targets=members),
            Column("outcome", "Outcome", self.find_status, OUTCOME, targets=self.status_targets),
            Column("meeting_url", "Meeting link", parse_url, ("meeting url", "join url", "location", "zoom link")),
            Column("recording_url", "Recording link", parse_url, ("recording", "recording url")),
            Column("note", "Note", parse_text, ("notes", "latest note", "comment", "comments")),
            *self.custom_columns(),
            self.organization_column(),
        ]

    def missing_columns(self, names: Sequence[str]) -> list[str]:
        return [] if {"external_reference", "id"} & set(names) else ["Reference"]

    def key_of(self, plan: Plan) -> str:
        subject_id = plan.subject.pk if plan.subject else plan.values.get("id")
        return str(subject_id or plan.values.get("external_reference", ""))

    def plan(self, rows: Sequence[ImportRow], *, lock: bool) -> list[Plan]:
        plans = [self.read(row) for row in rows]
        known, former, emails, notes = self.find(plans, lock)
        for plan in plans:
            self.choose_subject(plan, known, former)
        self.forget_merged_emails(plans, emails)
        leads = self.find_leads(plans)
        for plan in plans:
            if plan.problems:
                continue
            if plan.subject:
                self.compare(plan, plan.subject, emails[plan.subject.pk], notes)
                self.compare_lead(plan, leads.get(plan.subject.lead_id))
            else:
                self.describe(plan)
        return plans

    def find(
        self, plans: Sequence[Plan], lock: bool
    ) -> tuple[list[Appointment], dict[str, UUID], dict[UUID, str], set[tuple[UUID, str]]]:
        """Return the named appointments, those by former references, their leads' e-mails, and which have the notes."""
        wanted = [plan.values for plan in plans]
        references = {values["external_reference"] for values in wanted if "external_reference" in values}
        ids = {values["id"] for values in wanted if "id" in values}
        rows = Appointment.objects.of(self.organization)
        # The ids first, so that both indexes are used, and one order for all, so that transactions don't deadlock.
        ids |= set(rows.filter(external_reference__in=references).values_list("pk", flat=True))
        moved = FormerReference.objects.of(self.organization).filter(
            source=AppointmentSource.MANUAL, external_reference__in=references
        )
        former: dict[str, UUID] = dict(moved.values_list("external_reference", "appointment"))
        ids |= {*former.values()}
        rows = rows.filter(pk__in=ids).order_by("pk")
        known: list[Appointment] = list(rows.for_update() if lock else rows)
        # By appointment: without locks, its lead may have been merged into another one since the statement before.
        emails = dict(rows.order_by().values_list("pk", "lead__email"))
        texts = {values["note"] for values in wanted if "note" in values}
        notes = Note.objects.of(self.organization).filter(appointment__in=ids, note__in=texts) if texts else []
        known = [row for row in known if row.pk in emails]
        return known, former, emails, {(note.appointment_id, note.note) for note in notes}

    def choose_subject(self, plan: Plan, known: list[Appointment], former: dict[str, UUID]) -> None:
        """Set the appointment that the row changes: the one with the ID, else with the reference, now or formerly."""
        id, reference = plan.values.get("id"), plan.values.get("external_reference")
        found = [row for row in known if reference and reference == row.external_reference]
        # Without a present one if its lead was erased during the wait for the lock.
        found += [row for row in known if row.external_reference and former.get(reference or "") == row.pk]
        # A provider may use the same reference as a manual booking.
        found.sort(key=lambda row: row.source != AppointmentSource.MANUAL)
        with_id = [row for row in known if row.pk == id]
        if with_id and reference and with_id[0] not in found:
            plan.refuse("Reference: is not that of the appointment with this ID")
        elif found := with_id or found:
            plan.subject = found[0]
        elif not reference:
            plan.refuse("Appointment ID: is not known" if id else "Reference: is missing")

    def forget_merged_emails(self, plans: Sequence[Plan], emails: dict[UUID, str]) -> None:
        """Remove addresses of leads that were merged into the appointment's lead: they are its own, too (L22)."""
        others = [
            (plan, plan.subject.lead_id, email_key(plan.values["lead_email"]))
            for plan in plans
            if plan.subject
            and "lead_email" in plan.values
            and email_key(plan.values["lead_email"]) != email_key(emails[plan.subject.pk])
        ]
        if not others:
            return
        merges = LeadMerge.objects.of(self.organization).filter(lead__in={lead_id for _, lead_id, _ in others})
        merged = {(lead_id, email_key(email)) for lead_id, email in merges.values_list("lead", "email") if email}
        for plan, *address in others:
            if tuple(address) in merged:
                del plan.values["lead_email"]

    def find_leads(self, plans: Sequence[Plan]) -> dict[UUID, Lead]:
        """Return the leads of the appointments whose rows have names or a phone, by their ids."""
        subjects = [plan.subject for plan in plans if plan.subject and LEAD_VALUES & plan.values.keys()]
        ids = {subject.lead_id for subject in subjects if subject.source == AppointmentSource.MANUAL}
        return {lead.pk: lead for lead in Lead.objects.of(self.organization).filter(pk__in=ids)} if ids else {}

    def compare_lead(self, plan: Plan, lead: Lead | None) -> None:
        """Fill what the lead lacks, as in a booking (`BookingData.fills_names`)."""
        if lead is None or plan.problems:
            return
        values: LeadValues = {
            "first_name": plan.values.get("lead_first_name", ""),
            "last_name": plan.values.get("lead_last_name", ""),
            "phone": plan.values.get("lead_phone"),
        }
        before = {name: getattr(lead, name) for name in LEAD_COLUMNS}
        fill_lead(lead, values)  # not stored
        for name, label in LEAD_COLUMNS.items():
            plan.change(label, before[name], getattr(lead, name), change_lead=partial(fill_lead, values=values))

    def describe(self, plan: Plan) -> None:
        plan.problems += [Problem(f"{label}: is missing") for name, label in NEEDED.items() if name not in plan.values]
        if not plan.problems:
            plan.changes.append(f"{plan.values['lead_email']}, {self.local(plan.values['schedule_time'])}")
        self.leave_out_link(plan, None)
        for name, label in SHOWN.items():
            if name in plan.values:
                plan.changes.append(f"{label}: {plan.values[name]}")
        self.compare_status(plan, "Outcome", None, "outcome")
        self.compare_custom_values(plan, None)
        if "note" in plan.values:
            plan.changes.append("Note: added")
        event_type = plan.values.get("event_type")
        if event_type and fold_name(event_type) not in self.event_types_by_key:
            plan.changes.append(f"New event type: {event_type}")

    def compare(self, plan: Plan, stored: Appointment, email: str, notes: set[tuple[UUID, str]]) -> None:
        stored.organization = self.organization
        values = plan.values
        if email_key(values.get("lead_email", email)) != email_key(email):
            plan.refuse(f"Lead e-mail: the appointment is one of {email}", "Lead e-mail is not that of the appointment")
        if (time := values.get("schedule_time")) and not is_same_time(stored.schedule_time, time):
            plan.change("Time", self.local(stored.schedule_time), self.local(time), schedule_time=time)
        self.compare_event_type(plan, stored)
        for name, label in MEMBERS.items():
            member: Membership | None = values.get(name)
            if member and member.pk != getattr(stored, f"{name}_id"):
                before = next((row for row in self.members if row.pk == getattr(stored, f"{name}_id")), None)
                plan.change(label, before, member, **{name: member})
        # The outcome may be off the board by now.
        current = next((status for status in self.statuses if status.pk == stored.outcome_id), None) or stored.outcome
        self.compare_status(plan, "Outcome", current, "outcome")
        is_reopened = role_of(current) in REOPENED_ROLES or stored.is_called_off  # by another time
        if "schedule_time" in plan.fields and "outcome" not in plan.fields and is_reopened:
            self.keep_outcome(plan, current)
        self.leave_out_link(plan, current)
        for name, label in LINKS.items():
            if name in values:
                plan.change(label, getattr(stored, name), values[name], **{name: values[name]})
        self.compare_custom_values(plan, stored)
        if "note" in values and (stored.pk, values["note"]) not in notes:
            plan.show("Note: added", "Note", values["note"])
        self.refuse_changes(plan, stored, email)

    def leave_out_link(self, plan: Plan, current: Status | None) -> None:
        """Leave out the meeting link of a call that is canceled: nobody is to join it."""
        if role_of(plan.values.get("outcome") or current) == StatusRole.CANCELED and "schedule_time" not in plan.fields:
            plan.values.pop("meeting_url", None)

    def keep_outcome(self, plan: Plan, current: Status | None) -> None:
        """Keep an outcome that the file names, too, or say that the other time books the call again (A28)."""
        if is_same_status(plan.values.get("outcome"), current):
            plan.fields["outcome"] = current
        else:
            plan.change("Outcome", current, self.booked)

    def refuse_changes(self, plan: Plan, stored: Appointment, email: str) -> None:
        values = plan.values
        is_former = values.get("id") != stored.pk and values.get("external_reference") != stored.external_reference
        if is_former and plan.fields.keys() & {"schedule_time", "outcome"}:
            reason = "The appointment has been moved to another reference since"
            plan.refuse(f"The appointment has been moved to the reference {stored.external_reference} since", reason)
        if plan.changes and Lead(pk=stored.lead_id, email=email).is_erased:
            plan.refuse("The lead was erased")
        if stored.source != AppointmentSource.MANUAL and plan.changes:
            plan.refuse(f"{AppointmentSource(stored.source).label} manages this appointment; change it there")

    def compare_event_type(self, plan: Plan, stored: Appointment) -> None:
        name = plan.values.get("event_type")
        current = self.event_types.get(stored.event_type_id) if stored.event_type_id else None
        if name is None or (current and fold_name(current.name) == fold_name(name)):
            return
        found = self.event_types_by_key.get(fold_name(name))
        if found is None:
            plan.bad_cells.append(Problem.of_cell("Event type", BadCell(name, "is not known")))
            return
        plan.change("Event type", current, found, event_type=found)

    def apply(self, plans: Sequence[Plan], actor: Actor) -> None:
        for plan in plans:
            if plan.verdict == Verdict.NEW:
                self.book(plan, actor)
            elif plan.verdict == Verdict.CHANGED:
                self.change(plan, actor)

    def book(self, plan: Plan, actor: Actor) -> None:
        values = plan.values
        names = ("external_reference", "schedule_time", "lead_email", "lead_first_name", "lead_last_name", "lead_phone")
        data: dict[str, Any] = {name: values[name] for name in (*names, "meeting_url") if name in values}
        data |= {f"{name}_email": values[name].user.email for name in MEMBERS if name in values}
        if "lead_phone" in data:
            data["lead_phone"] = data["lead_phone"].e164
        data |= {"event_type_name": values["event_type"], "notes": values.get("note", "")}
        data["fills_names"] = True
        request: BookingData = data  # type: ignore[assignment]
        outcome = plan.fields.get("outcome")
        is_off = outcome is not None and outcome.role in REOPENED_ROLES
        invites = self.file_import.sends_invitations and not is_off
        options: dict[str, Any] = {"invites": invites, "outcome": outcome if is_off else None}
        booking = find_or_book(self.organization, actor, AppointmentSource.MANUAL, request, **options)
        if not booking.is_new:
            raise Conflict("Another booking has just taken this reference")
        fields = {name: value for name, value in plan.fields.items() if not (is_off and name == "outcome")}
        if fields := fields | {name: values[name] for name in ["recording_url"] if name in values}:
            self.edit(booking.id, fields, actor, notifies=False)

    def change(self, plan: Plan, actor: Actor) -> None:
        if plan.fields:
            notifies = self.file_import.sends_invitations
            self.edit(plan.subject.pk, plan.fields, actor, notifies=notifies)
        if text := plan.values.get("note"):
            stored = get_for_update(self.organization, plan.subject.pk)
            check_not_erased(stored.lead)
            save_appointment(stored, stored.outcome, actor, note=add_note(stored, text, actor))

    def edit(self, id: UUID, fields: dict[str, Any], actor: Actor, *, notifies: bool) -> None:
        stored = get_for_update(self.organization, id)
        previous, outcome = stored.outcome, fields.get("outcome")
        values = {name: value for name, value in fields.items() if name not in ("outcome", "change_lead")}
        set_values(stored, status_id=outcome.pk if outcome else None, **values)
        if outcome and outcome == previous:  # another time has booked the call again
            replace_outcome(stored, outcome)
            notifies = False
        lead_stays = stored.ends_at < stored.created_at or (outcome is not None and is_superseded(stored, outcome))
        options: dict[str, Any] = {"lead_stays": lead_stays, "notifies": notifies, "notify_lead": False}
        save_appointment(stored, previous, actor, change_lead=fields.get("change_lead"), **options)


def is_superseded(appointment: Appointment, outcome: Status) -> bool:
    """Return whether a later call of the lead has a result, so that this outcome says nothing new about the lead.

    Else its status would depend on the order of the rows. A lead that has paid keeps its status in any order.
    """
    if outcome.role not in VERDICT_ROLES:
        return False
    calls = Appointment.objects.of(appointment.organization).filter(lead=appointment.lead_id)
    later = calls.filter(schedule_time__gt=appointment.schedule_time, outcome__role__in=RESULT_ROLES)
    # Those that were over when they were stored haven't moved the lead.
    return bool(later.alias(over_at=ENDS_AT).filter(over_at__gte=F("created_at")).exists())
