"""The importer of leads: by e-mail."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db.models import Min, Q
from django.db.models.functions import Lower

from foundation.api.emails import email_key, spellings
from foundation.db.names import fold_name
from foundation.db.timestamps import now
from leads.imports.importers import Column, Importer, Plan, Problem, is_same_time, register
from leads.imports.models import ImportKind, ImportRow, Verdict
from leads.imports.values import BadCell, parse_email, parse_name, parse_phone_number
from leads.models import SOURCE_LABELS, CustomField, Lead, LeadMerge, Source, TouchPointType
from leads.services import (
    add_leads,
    get_or_create_source,
    lock_emails,
    next_step_to_come,
    normalized_source_name,
    save_leads,
)
from organizations.actors import Actor
from organizations.models import Organization
from statuses.models import FINAL_ROLES, Board, StatusRole
from statuses.services import default_status

DEFAULT_SOURCE = "IMPORT"
# Names of columns in other programs; those of our own export come first where a file has both.
EMAIL = ("email address", "e mail address", "mail", "lead email", "e mail adresse", "mailadresse", "correo electronico")
FIRST_NAME = ("given name", "forename", "firstname", "vorname", "prenom", "nombre")
LAST_NAME = ("surname", "family name", "lastname", "nachname", "nom", "apellido")
PHONE = (
    *("phone number", "phone e164", "mobile", "mobile phone", "cell", "telephone", "tel", "telefon"),
    *("telefonnummer", "handy", "mobil", "telefono"),
)
STEP = ("next touch point type", "touch point type", "next step type")
STEP_DATE = ("next touch point at", "next touch point", "next step at", "next contact")


@register
class LeadImporter(Importer):
    kind = ImportKind.LEADS
    board = Board.LEAD
    entity = CustomField.Entity.LEAD
    key, key_label = "email", "e-mail"

    def columns(self) -> list[Column]:
        country = self.reading.country
        return [
            Column("email", "E-mail", parse_email, EMAIL, True),
            Column("first_name", "First name", parse_name, FIRST_NAME),
            Column("last_name", "Last name", parse_name, LAST_NAME),
            Column("phone", "Phone", lambda text: parse_phone_number(text, country), PHONE),
            Column(
                "status",
                "Status",
                self.find_status,
                ("lead status", "stage", "pipeline stage"),
                targets=self.status_targets,
            ),
            Column(
                "setter",
                "Setter",
                self.find_member,
                ("setter e-mail", "setter email", "owner email", "lead owner", "owner"),
                targets=self.member_targets,
            ),
            Column(
                "source",
                "Source",
                self.source_name,
                ("last source", "lead source", "utm source", "original source"),
            ),
            Column("next_touch_point_at", "Next step date", None, STEP_DATE),
            Column("next_touch_point_type", "Next step", parse_touch_point, STEP),
            *self.custom_columns(),
            self.organization_column(),
        ]

    def source_name(self, text: str) -> str:
        """Return the name of the source with this name, or else label; other names are those of new sources."""
        name = normalized_source_name(text)
        return self.names_of_sources.get(fold_name(name), name)

    @cached_property
    def names_of_sources(self) -> dict[str, str]:
        sources = Source.objects.of(self.organization)
        given = sources.exclude(label="").values_list("name", "label")
        by_label = {fold_name(label): name for name, label in [*SOURCE_LABELS.items(), *given]}
        names = set(sources.filter(name_key__in=by_label).values_list("name_key", flat=True))
        return {label: name for label, name in by_label.items() if label not in names}

    def plan(self, rows: Sequence[ImportRow], *, lock: bool) -> list[Plan]:
        plans = [self.read(row) for row in rows]
        known = self.find([plan.values["email"] for plan in plans if not plan.problems], lock)
        has_steps = any(plan.values.keys() & {"next_touch_point_at", "next_touch_point_type"} for plan in plans)
        ids = [lead.pk for lead in known.values()] if has_steps else []
        self.next_appointments = next_appointments(self.organization, ids)  # no statement without ids
        statuses = {status.pk: status for status in self.statuses}
        named = {fold_name(plan.values["source"]) for plan in plans if "source" in plan.values}
        sources = Source.objects.of(self.organization).filter(name_key__in=named)
        self.known_sources = set(sources.values_list("name_key", flat=True)) if named else set()
        for plan in plans:
            if plan.problems:
                continue
            found = (known[email] for email in spellings(plan.values["email"]) if email in known)
            lead = plan.subject = next(found, None)
            if lead:
                lead.organization = self.organization
                lead.status = statuses.get(lead.status_id) or lead.status
            self.compare(plan, lead)
        return plans

    def find(self, emails: Sequence[str], lock: bool) -> dict[str, Lead]:
        """Return the leads by lower-case e-mail. A merged lead's e-mail leads to the kept lead."""
        wanted = {spelling for email in emails for spelling in spellings(email)}
        if lock:
            lock_emails(self.organization, emails)
        rows, merges = (
            model.objects.of(self.organization)
            .annotate(lowercase_email=Lower("email"))
            .filter(lowercase_email__in=wanted)
            for model in (Lead, LeadMerge)
        )
        # The ids first, so that both indexes are used, and one order for all, so that transactions don't deadlock.
        ids = set(rows.values_list("pk", flat=True))
        # After the leads: a lead that is merged in between is found by its merge, or again below.
        merged = dict(merges.values_list("lowercase_email", "lead_id"))
        ids |= set(merged.values())
        leads = Lead.objects.of(self.organization).annotate(lowercase_email=Lower("email"))
        leads = leads.filter(pk__in=ids).order_by("pk")
        by_id: dict[UUID, Lead] = {lead.pk: lead for lead in (leads.for_update() if lock else leads)}
        if by_id.keys() != ids:
            return self.find(emails, lock)  # one has been merged meanwhile: its rows are about the lead that was kept
        known = {email: by_id[lead_id] for email, lead_id in merged.items()}
        return known | {lead.lowercase_email: lead for lead in by_id.values()}  # type: ignore[attr-defined]

    def key_of(self, plan: Plan) -> str:
        return email_key(plan.subject.email if plan.subject else plan.values.get("email", ""))

    def compare(self, plan: Plan, lead: Lead | None) -> None:
        values, known = plan.values, lead or Lead()
        for name, label in {"first_name": "First name", "last_name": "Last name"}.items():
            if name in values:
                plan.change(label, getattr(known, name), values[name], **{name: values[name]})
        if "first_name" in plan.fields:
            plan.fields["is_first_name_from_email"] = False
        if phone := values.get("phone"):
            plan.change("Phone", known.phone_e164, phone.e164, phone_e164=phone.e164, phone_country=phone.country)
        self.compare_status(plan, "Status", lead.status if lead else None, "status")
        if (setter := values.get("setter")) and setter.pk != known.setter_id:
            names = {member.pk: str(member) for member in self.members}
            before = known.setter_id and names.get(known.setter_id, "a former member")
            plan.change("Setter", before, str(setter), setter=setter)
        self.compare_touch_point(plan, known)
        self.compare_custom_values(plan, lead)
        if lead is None and (source := values.get("source")):
            plan.changes.append(f"{'Source' if fold_name(source) in self.known_sources else 'New source'}: {source}")
        if plan.changes and known.is_erased:
            plan.refuse("The lead was erased")

    def compare_touch_point(self, plan: Plan, lead: Lead) -> None:
        """Set a next step, except one of the type "appointment": those follow from appointments, as does their time.

        One that has passed, or isn't earlier than the next appointment and the open next steps, is left out (L13).
        """
        time, given = plan.values.get("next_touch_point_at"), plan.values.get("next_touch_point_type")
        before, at = lead.next_touch_point_at, lead.next_touch_point_at
        if time and not is_same_time(at, time):
            at = time
        if at is None and given and given != TouchPointType.APPOINTMENT:
            plan.bad_cells.append(Problem("Next step: has no date", "Next step has no date"))
        if at is None or given == TouchPointType.APPOINTMENT or not (given or at != before):
            return
        known = lead.next_touch_point_type
        type_ = given or (known if known != TouchPointType.APPOINTMENT else None) or TouchPointType.FOLLOW_UP.value
        if (at, type_) == (before, known):
            return
        if at <= now():
            plan.bad_cells.append(Problem(f"Next step date: {self.local(at)} has passed", "Next step date has passed"))
            return
        step, _ = next_step_to_come(lead) if plan.subject else (None, None)
        for limit, name in ((self.next_appointments.get(lead.pk), "appointment"), (step, "next step")):
            if limit and at >= limit:
                problem = f"is not earlier than the lead's {name}"
                plan.bad_cells.append(
                    Problem(f"Next step date: {self.local(at)} {problem}", f"Next step date {problem}")
                )
                return
        columns = {"next_touch_point_at": at, "next_touch_point_type": type_}
        plan.change("Next step date", before and self.local(before), self.local(at), **columns)
        labels: dict[str | None, str] = dict(TouchPointType.choices)
        plan.change("Next step", labels.get(lead.next_touch_point_type), labels[type_], next_touch_point_type=type_)

    def apply(self, plans: Sequence[Plan], actor: Actor) -> None:
        new = [plan for plan in plans if plan.verdict == Verdict.NEW]
        if new:
            add_leads(organization=self.organization, actor=actor, leads=self.build_leads(new))
        changed = [plan for plan in plans if plan.verdict == Verdict.CHANGED]
        for plan in changed:
            for name, value in plan.fields.items():
                setattr(plan.subject, name, value)
        save_leads(self.organization, [plan.subject for plan in changed], actor=actor)

    def build_leads(self, plans: Sequence[Plan]) -> list[Lead]:
        names = sorted({plan.values.get("source", DEFAULT_SOURCE) for plan in plans}, key=fold_name)
        sources = {fold_name(name): get_or_create_source(organization=self.organization, name=name) for name in names}
        status = default_status(self.organization, Board.LEAD, StatusRole.NEW_LEAD)
        leads = []
        for plan in plans:
            source = sources[fold_name(plan.values.get("source", DEFAULT_SOURCE))]
            fields: dict[str, Any] = {"status": status, "first_source": source, "last_source": source, **plan.fields}
            leads.append(Lead(organization=self.organization, email=plan.values["email"], **fields))
        return leads


def next_appointments(organization: Organization, ids: Collection[UUID]) -> dict[UUID, datetime]:
    """Return the time of each lead's next appointment without a final outcome, as `upcoming` of appointments does."""
    is_open = Q(appointments__outcome=None) | ~Q(appointments__outcome__role__in=FINAL_ROLES)
    is_upcoming = is_open & Q(appointments__schedule_time__gt=now(), appointments__is_called_off=False)
    to_come = Lead.objects.of(organization).filter(is_upcoming, pk__in=ids)
    return dict(to_come.order_by().values_list("pk").annotate(Min("appointments__schedule_time")))


def parse_touch_point(text: str) -> str:
    names = {name.casefold(): value for value, label in TouchPointType.choices for name in (value, label)}
    if text.casefold() not in names:
        raise BadCell(text, f"must be one of: {', '.join(TouchPointType.labels)}")
    return names[text.casefold()]
