"""Services that create and change leads, sources and custom fields.

`upsert_lead`, `recompute_touch_point`, `save_lead` and the functions that they call run in the caller's transaction,
the other services in one of their own.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypedDict, Unpack
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q, Sum
from django.db.models.functions import Lower
from uuid_utils.compat import uuid7

from foundation.api.emails import email_key, spellings
from foundation.api.exceptions import BeingErased, Conflict, ResourceNotFound, ValidationFailed
from foundation.api.fields import MAX_NAME_LENGTH
from foundation.api.sql_serializers import Tenant
from foundation.db.compiled import CompiledQuery, Param
from foundation.db.names import fold_name
from foundation.db.retry import atomic_with_retry
from foundation.db.timestamps import now
from foundation.db.writes import insert_all, insert_or_get
from leads import topics
from leads.mentions import notify_mentioned
from leads.models import (
    CallResult,
    CustomField,
    DeletedLeadNote,
    Lead,
    LeadMerge,
    LeadNote,
    LeadStatusChange,
    NextStep,
    Source,
    TouchPointType,
)
from leads.phones import Phone, parse_phone
from leads.privacy.models import IS_WITHDRAWABLE, Erasure
from leads.serializers import CustomFieldDetailSerializer, LeadDetailSerializer
from organizations.actors import Actor, actor_columns
from organizations.models import CAN_BE_ASSIGNED, Membership, Organization
from organizations.services import check_limit, lock_organization
from organizations.versions import is_other, save_versions
from statuses.models import PAID_ROLES, VERDICT_ROLES, Board, Status, StatusRole
from statuses.services import default_status, get_board_status
from webhooks.events import record_event, record_events, store_changes

MAX_CUSTOM_FIELDS = 100  # of an organization: each lead and appointment shows them all
MAX_OPTIONS = 2_000  # of all custom fields of an organization together, because forms show them all
# Compiled for the benchmarks "create an appointment" and "submit an opt-in".
SOURCE_BY_NAME: CompiledQuery[Source] = CompiledQuery(
    lambda: Source.objects.of(Param("organization")).filter(name_key=Param("source_key"))
)
# Compiled for the benchmark "create an appointment".
MEMBER_BY_EMAIL: CompiledQuery[Membership] = CompiledQuery(
    lambda: (
        Membership.objects.of(Param("organization"))
        .filter(CAN_BE_ASSIGNED)
        .select_related("user", "mail_preference")
        .alias(lowercase_email=Lower("user__email"))
        .filter(lowercase_email=Param("email", "text"))
    )
)
# Compiled for the benchmark "create an appointment of a known lead".
LOCKED_LEAD_BY_EMAIL: CompiledQuery[Lead] = CompiledQuery(
    lambda: (
        Lead.objects.of(Param("organization"))
        .for_update()
        .with_spellings(Param("organization", "uuid"), [Param("email", "text")])
        .order_by()
    )
)
OPEN_ERASURE: CompiledQuery[tuple[UUID]] = CompiledQuery(
    lambda: (
        Erasure.objects.of(Param("organization"))
        .filter(~IS_WITHDRAWABLE, lead_id=Param("lead"), finished_at=None)
        .order_by()
        .values_list("pk")
    )
)

ADDED_BEFORE = "Another note was added with this form before. To add this one, too, send it once more"
DELETED_BEFORE = "This note was added before, and is deleted. To add it again, send it once more"
DOUBLE_CLICK = timedelta(seconds=5)
LOCK_EMAILS = "SELECT pg_advisory_xact_lock(hashtextextended(email, 0)) FROM unnest(%s::text[]) AS email"

# A lead can be merged, and so can the one that it was merged into, while a request waits for their locks.
MAX_MERGES_MEANWHILE = 3


class LeadValues(TypedDict, total=False):
    """Values for a lead, known or new. Names and phone fill empty fields; setter and last source replace the lead's."""

    first_name: str
    last_name: str
    phone: Phone | None
    setter: Membership | None
    last_source: Source | None


def upsert_lead(
    *,
    organization: Organization,
    actor: Actor,
    create_defaults: Mapping[str, Any],
    email: str = "",
    lead_id: UUID | None = None,
    **values: Unpack[LeadValues],
) -> tuple[Lead, bool]:
    """Return the lead with this id or else e-mail, locked, and whether it is new: no lead has or had the e-mail.

    `create_defaults` are columns of a new lead, its status and sources among them. It is stored with its history and
    event; call `save_lead` for an existing one. Raises ValidationFailed for an unknown `lead_id`, BeingErased while a
    worker erases the lead. Runs in the caller's transaction.
    """
    if lead_id:
        lead, is_new = get_lead_for_update(organization=organization, lead_id=lead_id), False
    else:
        new = Lead(organization=organization, email=email, **create_defaults)
        fill_lead(new, values)
        find = partial(lock_lead_with_email, organization, email)
        lock_emails(organization, [email])
        # The unique index doesn't know that an international domain has two forms.
        known = find() if len(spellings(email)) > 1 else None
        lead, is_new = (known, False) if known else insert_or_get(new, find, build_status_change(new, actor))
        lead.organization = organization
    if is_new:
        record_event(topics.CREATED, lead, actor=actor)
    else:
        check_not_being_erased(lead)
        fill_lead(lead, values)
    return lead, is_new


def fill_lead(lead: Lead, values: LeadValues) -> None:
    """Set the values that the lead takes over from a request (docs/interface.md, L4, L5, L9 and L11)."""
    if setter := values.get("setter"):
        lead.setter = setter
    if last_source := values.get("last_source"):
        lead.last_source = last_source
    if lead.is_erased:
        return
    first_name, phone = values.get("first_name"), values.get("phone")
    if first_name and (not lead.first_name or lead.is_first_name_from_email):
        lead.first_name, lead.is_first_name_from_email = first_name, False
    lead.last_name = lead.last_name or values.get("last_name", "")
    # Version 0.2 stored numbers without their area code, which are no known value.
    if phone and not parse_phone(lead.phone_e164 or "", lead.phone_country or ""):
        lead.phone_e164, lead.phone_country = phone.e164, phone.country


def normalized_source_name(text: str) -> str:
    # The unique index on the name has room for 255 characters of any kind.
    return " ".join(text.split())[:MAX_NAME_LENGTH].rstrip()


def get_or_create_source(*, organization: Organization, name: str) -> Source:
    new = Source(organization=organization, name=name, name_key=fold_name(name))
    return insert_or_get(new, lambda: Source.objects.of(organization).with_name(name).first())[0]


def save_source(*, organization: Organization, actor: Actor, source: Source) -> Source:
    """Store the label, which is no part of the API and has no event."""
    Source.objects.of(organization).filter(pk=source.pk).update(label=source.label)
    return source


def get_lead_for_update(*, organization: Organization, lead_id: UUID) -> Lead:
    """Return the lead and lock its row. Raises ValidationFailed for `lead_id` if the organization has no such lead."""
    lead = lock_lead(organization, lead_id)
    if lead is None:
        raise ValidationFailed({"lead_id": ["is not known in the organization"]})
    return lead


def lock_lead(organization: Organization, lead_id: UUID) -> Lead | None:
    """Return the lead with this id, or the one into which it was merged, locked; or None."""
    for _ in range(MAX_MERGES_MEANWHILE):
        lead: Lead | None = Lead.objects.of(organization).for_update().filter(pk=lead_id).first()
        if lead is not None:
            lead.organization = organization
            return lead
        merged_into = find_merged(organization=organization, lead_id=lead_id)
        if merged_into is None:
            break
        lead_id = merged_into
    return None


def lock_known_lead(organization: Organization, lead_id: UUID) -> Lead:
    """Return the lead as `lock_lead` does. Raises ResourceNotFound."""
    lead = lock_lead(organization, lead_id)
    if lead is None:
        raise ResourceNotFound
    return lead


def lock_lead_with_email(organization: Organization, email: str) -> Lead | None:
    """Return the lead with this e-mail, or into which a lead with it was merged, locked; or None."""
    emails = spellings(email)
    find: Callable[[], Lead | None]
    find = partial(LOCKED_LEAD_BY_EMAIL.first, organization=organization.pk, email=emails[0])
    if len(emails) > 1:  # of an international domain
        find = Lead.objects.of(organization).for_update().with_email(organization.pk, email).first
    # None if the lead was merged while this waited for its lock. Then the next statement finds what it is part of.
    lead = find() or find()
    if lead and lead.email.lower() not in emails:
        # The merge may have been undone during the wait, which the statement that waits doesn't see.
        lead = find()
    return lead


def lock_emails(organization: Organization, emails: Collection[str]) -> None:
    """Lock international domains' e-mails against other transactions; the unique index covers all others."""
    keys = sorted(f"{organization.pk} {email_key(email)}" for email in emails if len(spellings(email)) > 1)
    if keys:
        with connection.cursor() as cursor:
            cursor.execute(LOCK_EMAILS, [keys])


def find_merged(*, organization: Tenant, lead_id: UUID) -> UUID | None:
    merges = LeadMerge.objects.of(organization).filter(previous_id=lead_id)
    merged_into: UUID | None = merges.values_list("lead_id", flat=True).first()
    return merged_into


def find_reference_owner(organization: Organization, reference: str | None) -> UUID | None:
    """Return the id of the lead that has the reference; the unique index refuses one stored at the same time."""
    if reference is None:
        return None
    leads = Lead.objects.of(organization).filter(external_reference=reference)
    owner_id: UUID | None = leads.values_list("pk", flat=True).first()
    return owner_id


def check_reference_owner(reference: str | None, owner_id: UUID | None, lead: Lead) -> None:
    """Raise Conflict if the reference belongs to another lead."""
    if owner_id not in (None, lead.pk):
        raise Conflict(f"external_reference {reference} belongs to another lead")


def find_members(organization: Organization, emails: Mapping[str, str | None]) -> dict[str, Membership]:
    """Return the members with these e-mails by role, such as `setter`; a role without e-mail is left out.

    Raises ValidationFailed for each `<role>_email` that belongs to no active member, or to a viewer.
    """
    members: dict[str, Membership] = {}
    errors: dict[str, list[str]] = {}
    for role, email in emails.items():
        if not email:
            continue
        found = (MEMBER_BY_EMAIL.first(organization=organization.pk, email=form) for form in spellings(email))
        if member := next(filter(None, found), None):
            members[role] = member
        else:
            errors[f"{role}_email"] = ["must belong to an active member of the organization who is not a viewer"]
    if errors:
        raise ValidationFailed(errors)
    return members


def recompute_touch_point(lead: Lead, *, next_appointment: datetime | None, status: Status | None = None) -> None:
    """Set the touch point and status of a locked lead, without storing them.

    Paid statuses stay (S10), and verdicts that a cancellation would overwrite (S9). A touch point that staff have set,
    or a next step, stays while it is to come and precedes the next appointment (L13).
    """
    set_by_staff = [next_step_to_come(lead)]
    if lead.next_touch_point_type != TouchPointType.APPOINTMENT:
        set_by_staff.append((lead.next_touch_point_at, lead.next_touch_point_type))
    to_come: list[tuple[datetime, str | None]] = [(at, type) for at, type in set_by_staff if at and now() < at]
    if next_appointment:
        to_come.insert(0, (next_appointment, TouchPointType.APPOINTMENT.value))
    lead.next_touch_point_at, lead.next_touch_point_type = min(
        to_come, key=lambda touch_point: touch_point[0], default=(None, None)
    )
    is_canceled = status is not None and status.role == StatusRole.CANCELED
    kept_roles = [*PAID_ROLES, *VERDICT_ROLES] if is_canceled else PAID_ROLES
    if status and status.pk != lead.status_id and lead.status.role not in kept_roles:
        lead.status = status


def recompute_next_step(lead: Lead) -> None:
    """Set the next step of a locked lead to the earliest open one, without storing it."""
    columns = ("at", "type", "note")
    steps = NextStep.objects.of(lead.organization).filter(lead=lead, done_at=None).order_by("at", "id")
    first = steps.values_list(*columns).first() or (None, None, None)
    lead.next_step_at, lead.next_step_type, lead.next_step_note = first


def forget_done_steps(organization: Organization, leads: Sequence[Lead]) -> None:
    """Unset restored touch points that were next steps which have been done since, without storing them."""
    steps = NextStep.objects.of(organization).filter(lead__in=[lead.pk for lead in leads], done_at__isnull=False)
    steps = steps.filter(at__in=[lead.next_touch_point_at for lead in leads if lead.next_touch_point_at])
    done = set(steps.values_list("lead_id", "at", "type"))
    for lead in leads:
        if (lead.pk, lead.next_touch_point_at, lead.next_touch_point_type) in done:
            lead.next_touch_point_at = lead.next_touch_point_type = None


def next_step_to_come(lead: Lead) -> tuple[datetime | None, str | None]:
    """Return time and type of the earliest open step that has not passed. Runs a query only if the first one has."""
    if lead.next_step_at is None or now() < lead.next_step_at:
        return lead.next_step_at, lead.next_step_type
    later = NextStep.objects.of(lead.organization).filter(lead=lead, done_at=None, at__gt=now())
    return later.order_by("at", "id").values_list("at", "type").first() or (None, None)


def save_lead(lead: Lead, *, actor: Actor) -> None:
    """Store a locked lead's changes, if any. Call it once in a transaction, so that they are one event.

    A change of both status and `status_since` counts as undoing the last change of the status.
    """
    from_status_id, is_undo = lead.stored_values["status_id"], lead.is_changed("status_since")
    before = store_changes(lead, LeadDetailSerializer)
    if before is None:
        return
    is_moved = lead.status_id != from_status_id
    if is_moved:
        change = build_status_change(lead, actor, from_status_id)
        insert_all(change)
        if is_undo:
            mark_undone(lead.organization, [change])
    record_event(topics.STATUS_CHANGED if is_moved else topics.UPDATED, lead, actor=actor, before=before)


def save_leads(organization: Organization, leads: Iterable[Lead], *, actor: Actor) -> None:
    """Store locked leads' changes as `save_lead` does, with a few statements for all of them."""
    changed = {}
    for lead in leads:
        if lead.is_changed():
            changed[lead.pk] = lead
        else:
            lead.save_columns()
    if not changed:
        return
    before = dict(LeadDetailSerializer.query_by_ids().all(organization=organization.pk, ids=list(changed)))
    former = {pk: lead.stored_values["status_id"] for pk, lead in changed.items()}
    moved = [pk for pk, lead in changed.items() if lead.status_id != former[pk]]
    undoing = [pk for pk in moved if changed[pk].is_changed("status_since")]
    save_versions(list(changed.values()))
    changes = {pk: build_status_change(changed[pk], actor, former[pk]) for pk in moved}
    insert_all(*changes.values())
    if undoing:
        mark_undone(organization, [changes[pk] for pk in undoing])
    others = [pk for pk in changed if pk not in set(moved)]
    for topic, ids in ((topics.STATUS_CHANGED, moved), (topics.UPDATED, others)):
        record_events(topic, organization, ids, actor=actor, before=before)


def build_status_change(lead: Lead, actor: Actor, from_status_id: UUID | None = None) -> LeadStatusChange:
    columns = {"organization": lead.organization, "lead": lead, **actor_columns(actor)}
    return LeadStatusChange(from_status_id=from_status_id, to_status_id=lead.status_id, **columns)


def mark_undone(organization: Organization, changes: Sequence[LeadStatusChange]) -> None:
    """Mark stored changes of locked leads' statuses, and the one of each lead that they have undone."""
    rows, ids = LeadStatusChange.objects.of(organization), [change.pk for change in changes]
    before = rows.filter(lead__in=[change.lead_id for change in changes]).exclude(pk__in=ids)
    last = before.order_by("lead_id", "-created_at", "-id").distinct("lead_id")
    rows.filter(Q(pk__in=ids) | Q(pk__in=last.values("pk"))).update(is_undone=True)


@atomic_with_retry
def change_status(*, organization: Organization, actor: Actor, lead_id: UUID, status_id: UUID) -> Lead | None:
    """Lock the lead; return it, or None if there is none.

    Raises ValidationFailed unless the board has the status, and BeingErased while a worker erases the lead.
    """
    lead = lock_lead(organization, lead_id)
    if lead is not None:
        check_not_being_erased(lead)
        lead.status = get_board_status(organization, Board.LEAD, status_id, current=lead.status_id)
        save_lead(lead, actor=actor)
    return lead


@atomic_with_retry
def restore_status(
    *, organization: Organization, actor: Actor, lead_id: UUID, status_id: UUID, since: datetime | None
) -> None:
    """Give a lead a former status back, also a retired one, and since when it had it. Locks it.

    Raises as `change_status` does, and ResourceNotFound if the lead is gone.
    """
    lead = lock_known_lead(organization, lead_id)
    check_not_being_erased(lead)
    lead.status = get_board_status(organization, Board.LEAD, status_id, current=status_id)
    lead.status_since = since or lead.status_since
    save_lead(lead, actor=actor)


@atomic_with_retry
def add_lead(*, organization: Organization, actor: Actor, email: str, **fields: Any) -> Lead:
    """Add a lead for staff and return it. Raises ValidationFailed if a lead has this e-mail already."""
    status = fields.get("status") or default_status(organization, Board.LEAD, StatusRole.NEW_LEAD)
    source = get_or_create_source(organization=organization, name="MANUAL")
    defaults = {**fields, "status": status, "first_source": source, "last_source": source}
    lead, is_new = upsert_lead(organization=organization, actor=actor, email=email, create_defaults=defaults)
    if not is_new:
        raise ValidationFailed({"email": ["belongs to a lead already"]})
    return lead


def add_leads(*, organization: Organization, actor: Actor, leads: list[Lead]) -> None:
    """Store new leads in the caller's transaction. Raises IntegrityError if a lead has one of the e-mails already."""
    insert_all(*leads, *(build_status_change(lead, actor) for lead in leads))
    record_events(topics.CREATED, organization, [lead.pk for lead in leads], actor=actor)


def check_not_erased(lead: Lead) -> None:
    """Raise Conflict if the lead was erased, BeingErased if a worker is erasing it."""
    if lead.is_erased:
        raise Conflict("The lead was erased")
    check_not_being_erased(lead)


def check_not_being_erased(lead: Lead) -> None:
    if is_being_erased(lead):
        raise BeingErased


def is_being_erased(lead: Lead) -> bool:
    return OPEN_ERASURE.first(organization=lead.organization_id, lead=lead.pk) is not None


@atomic_with_retry
def edit_lead(
    *,
    organization: Organization,
    actor: Actor,
    lead: Lead,
    hand_over_steps: bool = False,
    step_owners: Mapping[str, str | None] | None = None,
    **fields: Any,
) -> Lead:
    """Raise ValidationFailed if another lead has the new e-mail, Conflict if the lead was erased. Locks the lead.

    With `hand_over_steps`, a new setter also gets the open next steps of the former one, and those of no one.
    `step_owners` gives each of these steps its owner.
    """
    stored = get_lead_for_update(organization=organization, lead_id=lead.pk)
    check_not_erased(stored)
    if "email" in fields:
        lock_emails(organization, [fields["email"]])
        others = Lead.objects.of(organization).exclude(pk=lead.pk)
        if others.with_email(organization.pk, fields["email"]).exists():
            raise ValidationFailed({"email": ["belongs to another lead"]})
    if hand_over_steps and fields.get("setter"):
        steps = NextStep.objects.of(organization).filter(Q(owner=stored.setter_id) | Q(owner=None), lead=stored)
        steps.filter(done_at=None).update(owner=fields["setter"])
    for step, owner in (step_owners or {}).items():
        NextStep.objects.of(organization).filter(lead=stored, pk=step, done_at=None).update(owner=owner)
    for name, value in fields.items():
        setattr(stored, name, value)
    if "first_name" in fields:
        stored.is_first_name_from_email = False
    save_lead(stored, actor=actor)
    return stored


@atomic_with_retry
def add_note(
    *,
    organization: Organization,
    actor: Actor,
    lead: Lead,
    text: str,
    id: UUID,
    external_reference: str | None = None,
    call_result: str | None = None,
    mentions: Collection[Membership] = (),
) -> None:
    """Store a note about a lead, notify the members and record its event, unless this note exists.

    Raises Conflict if the lead was erased, or if the id is another note's or a deleted one's; ValidationFailed if there
    is no such lead. Locks the lead.
    """
    lead = get_lead_for_update(organization=organization, lead_id=lead.pk)
    check_not_erased(lead)
    if DeletedLeadNote.objects.of(organization).filter(pk=id).exists():
        raise Conflict(DELETED_BEFORE)
    columns = {"lead": lead, "note": text, "external_reference": external_reference, **actor_columns(actor)}
    columns["call_result"] = call_result
    note = LeadNote(id=id, organization=organization, **columns)
    if insert_all(note, on_conflict_do_nothing=True):
        notify_mentioned(note, mentions, actor)
        record_event(topics.NOTE_CREATED, note, actor=actor)
    elif not LeadNote.objects.of(organization).filter(pk=id, lead=lead, note=text).exists():
        raise Conflict(ADDED_BEFORE)


@atomic_with_retry
def log_call(*, organization: Organization, actor: Actor, lead_id: UUID, result: str, note: str = "") -> int:
    """Store a call as a note, and return how many calls the lead has now. The same one again at once is a double click.

    Raises Conflict if the lead was erased, ValidationFailed if there is no such lead. Locks the lead.
    """
    lead = get_lead_for_update(organization=organization, lead_id=lead_id)
    check_not_erased(lead)
    label = str(CallResult(result).label)
    text, calls = f"{label}: {note}" if note else label, lead.notes.filter(call_result__isnull=False)
    same = calls.filter(actor_id=actor.id, call_result=result, note=text, created_at__gt=now() - DOUBLE_CLICK)
    if not same.exists():
        add_note(organization=organization, actor=actor, lead=lead, text=text, id=uuid7(), call_result=result)
    return int(calls.count())


@transaction.atomic
def save_custom_field(*, organization: Organization, actor: Actor, field: CustomField) -> CustomField:
    """Store a custom field and record the event. Locks the stored one, and the organization if the field grows.

    Raises Conflict beyond `MAX_CUSTOM_FIELDS` or `MAX_OPTIONS`. An organization that has more already keeps them.
    """
    rows = CustomField.objects.of(organization)
    if field._state.adding:
        limit, advice = MAX_CUSTOM_FIELDS, "Delete one that is no longer needed first."
        check_limit(organization=organization, rows=rows, limit=limit, name="custom fields", advice=advice)
    stored = rows.select_for_update(no_key=True).filter(pk=field.pk).first()
    if len(field.options) > len(stored.options if stored else ()):
        lock_organization(organization)
        others = rows.exclude(pk=field.pk).aggregate(options=Sum("options__len", default=0))
        if others["options"] + len(field.options) > MAX_OPTIONS:
            raise Conflict(f"The choices of an organization can have at most {MAX_OPTIONS} options together.")
    before = CustomFieldDetailSerializer.get_text(organization, field.pk)
    field.organization = organization
    field.updated_at = now() if is_other(field, stored) else field.updated_at
    field.save()
    topic = topics.CUSTOM_FIELD_UPDATED if before else topics.CUSTOM_FIELD_CREATED
    record_event(topic, field, actor=actor, before=before)
    return field


@transaction.atomic
def delete_custom_field(*, organization: Organization, actor: Actor, field: CustomField) -> None:
    """Delete a custom field and record the event. Values stay in the rows, unseen. Locks it."""
    rows = CustomField.objects.of(organization).filter(pk=field.pk)
    if rows.select_for_update().first():
        record_event(topics.CUSTOM_FIELD_DELETED, field, actor=actor)
        rows.delete()
