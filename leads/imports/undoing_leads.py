"""Undoing what an import did to leads."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import F, Max, prefetch_related_objects

from foundation.db.expressions import is_any_of
from leads.deleting import delete_leads
from leads.imports.leads import next_appointments
from leads.imports.models import Import, ImportKind, ImportUndo
from leads.imports.undoing import CUSTOM, Reasons, change_since, leave_out_members, restore_columns, undoes
from leads.models import CustomField, Lead, LeadChange, LeadMerge, LeadStatusChange, PossibleDuplicate, TouchPointType
from leads.privacy.models import Erasure
from leads.privacy.rules import relations_to
from leads.services import forget_done_steps, recompute_touch_point, save_leads
from leads.topics import CREATED
from organizations.actors import Actor
from organizations.isolation import TenantModel
from organizations.models import Organization
from organizations.versions import VersionedModel
from statuses.models import RESULT_ROLES, StatusRole

GROUPS = [
    ("first_name", "is_first_name_from_email"),
    ("phone_e164", "phone_country"),
    ("next_touch_point_at", "next_touch_point_type"),
]
TOUCH_POINT = {*GROUPS[2]}
FROM_APPOINTMENTS = (None, TouchPointType.APPOINTMENT)
# Rows that a new lead has by itself; its version says whether there are others.
OWN: set[type[TenantModel]] = {LeadStatusChange, LeadChange, PossibleDuplicate}
GONE, ERASED, MERGED = "It is no longer there.", "It was erased since.", "It was merged into another lead since."
BEING_ERASED = "It is being erased."
UNSUBSCRIBED = "It has unsubscribed from e-mails since."
GOT_REFERENCE = "An integration has given it a reference since."
STAYS_BOOKED = "Its status stays, because another appointment is to come."
STAYS_RESULT = "Its status stays, because another appointment has got this outcome since."


@undoes(Lead, created=CREATED)
def undo_leads(file_import: Import, rows: Sequence[ImportUndo], actor: Actor) -> Reasons:
    organization, ids = file_import.organization, [row.subject_id for row in rows]
    # Locked against new references, too.
    locked = Lead.objects.of(organization).select_for_update().filter(pk__in=ids).order_by("pk")
    leads: dict[UUID, Lead] = {lead.pk: lead for lead in locked}
    prefetch_related_objects([*leads.values()], "status")
    reasons: Reasons = dict.fromkeys(set(ids) - leads.keys(), GONE)
    merges = LeadMerge.objects.of(organization).filter(previous_id__in=reasons)
    reasons |= dict.fromkeys(merges.values_list("previous_id", flat=True), MERGED)
    for lead in leads.values():
        lead.organization = organization
        if lead.is_erased:
            reasons[lead.pk] = ERASED
    left = [row for row in rows if row.subject_id not in reasons]
    if rows[0].columns is not None:
        return reasons | restore_leads(file_import, left, leads, actor)
    reasons |= reasons_to_keep(organization, left, leads)
    if deleted := [row.subject_id for row in left if row.subject_id not in reasons]:
        delete_leads(organization, deleted, actor)
    return reasons


def restore_leads(file_import: Import, rows: Sequence[ImportUndo], leads: Mapping[UUID, Lead], actor: Actor) -> Reasons:
    reasons, not_restored = Reasons(), leave_out_members(file_import.organization, rows, Lead)
    to_come = next_appointments(file_import.organization, leads.keys())
    results = results_by_lead(file_import.organization, leads.keys())
    restored: list[Lead] = []  # with a touch point
    for row in rows:
        lead, texts = leads[row.subject_id], [not_restored.get(row.subject_id)]
        columns = row.columns = dict(row.columns or {})
        if file_import.kind == ImportKind.APPOINTMENTS:
            # Undoing the appointments has set the touch point, unless staff have set another one since.
            pairs = {name: [columns.pop(name)[0], getattr(lead, name)] for name in TOUCH_POINT & columns.keys()}
            columns |= pairs if lead.next_touch_point_type in FROM_APPOINTMENTS else {}
        if "status_id" in columns:
            is_booked = lead.status.role == StatusRole.APPOINTMENT_BOOKED and lead.pk in to_come
            since = results.get((lead.pk, lead.status.role))
            has_result = since is not None and row.version is not None and since > row.version
            if is_booked or has_result:
                del columns["status_id"]
                texts.append(STAYS_BOOKED if is_booked else STAYS_RESULT)
        texts.append(changed_values(lead, restore_columns(row, lead, GROUPS)))
        if TOUCH_POINT & columns.keys():
            restored.append(lead)
        if reason := " ".join(filter(None, texts)):
            reasons[row.subject_id] = reason
    forget_done_steps(file_import.organization, restored)
    for lead in restored:
        recompute_touch_point(lead, next_appointment=to_come.get(lead.pk))
    save_leads(file_import.organization, [leads[row.subject_id] for row in rows], actor=actor)
    return reasons


def results_by_lead(organization: Organization, ids: Collection[UUID]) -> dict[tuple[UUID, str], datetime | None]:
    """Return when an appointment of these leads has got an outcome last, by lead and role of the outcome."""
    rows = Lead.objects.of(organization).filter(pk__in=ids, appointments__outcome__role__in=RESULT_ROLES)
    latest = rows.order_by().values("pk", role=F("appointments__outcome__role"))
    found = latest.annotate(since=Max("appointments__outcome_since"))
    return {(row["pk"], row["role"]): row["since"] for row in found}


def reasons_to_keep(organization: Organization, rows: Sequence[ImportUndo], leads: Mapping[UUID, Lead]) -> Reasons:
    """Return what has happened to leads that the import created, as sentences."""
    ids = [row.subject_id for row in rows]
    erasures = Erasure.objects.of(organization).filter(lead_id__in=ids, finished_at=None)
    reasons: Reasons = dict.fromkeys(erasures.values_list("lead_id", flat=True), BEING_ERASED)
    for relation in relations_to(Lead):
        model, name = relation.related_model, relation.field.attname
        if model not in OWN:
            found = model._base_manager.filter(is_any_of(name, ids)).order_by().values_list(name, flat=True)
            text = f"This was added since: {model._meta.verbose_name}."
            reasons = dict.fromkeys(found.distinct(), text) | reasons
    for row in rows:
        if row.subject_id in reasons:
            continue
        lead = leads[row.subject_id]
        if lead.external_reference is not None:
            text = GOT_REFERENCE
        else:
            text = UNSUBSCRIBED if lead.unsubscribed_at else change_since(row, lead)
        if text:
            reasons[lead.pk] = text
    return reasons


def changed_values(subject: VersionedModel, columns: list[str]) -> str:
    """Return which of the columns have other values than the import gave them, as a sentence; "" for none."""
    fields = CustomField.objects.of(subject.organization)
    names = []
    for column in columns:
        if column.startswith(CUSTOM):
            field = fields.filter(pk=column.partition(".")[2]).first()
            names.append(str(field or "a custom field that was deleted"))
        else:
            names.append(str(subject._meta.get_field(column).verbose_name))  # type: ignore[union-attr]
    return f"Changed since, so it stays: {', '.join(names)}." if names else ""
