"""Undoing what an import did to leads."""

from leads.deleting import delete_lead
from leads.imports.models import Import, ImportKind, ImportUndo
from leads.imports.undoing import CUSTOM, change_since, restore_columns, undoes
from leads.models import CustomField, Lead, LeadChange, LeadMerge, LeadStatusChange, PossibleDuplicate, TouchPointType
from leads.privacy.models import Erasure
from leads.privacy.rules import relations_to
from leads.services import save_lead
from leads.topics import CREATED
from organizations.actors import Actor
from organizations.isolation import TenantModel
from organizations.versions import VersionedModel
from statuses.models import StatusRole

GROUPS = [
    ("first_name", "is_first_name_from_email"),
    ("phone_e164", "phone_country"),
    ("next_touch_point_at", "next_touch_point_type"),
]
TOUCH_POINT = {*GROUPS[2]}
# Rows that a new lead has by itself; its version says whether there are others.
OWN: set[type[TenantModel]] = {LeadStatusChange, LeadChange, PossibleDuplicate}
GONE, ERASED, MERGED = "It is no longer there.", "It was erased since.", "It was merged into another lead since."
BEING_ERASED = "It is being erased."
STAYS_BOOKED = "Its status stays, because another appointment is to come."


@undoes(Lead, created=CREATED)
def undo_lead(file_import: Import, row: ImportUndo, actor: Actor) -> str:
    rows = Lead.objects.of(row.organization).select_related("status")
    # Locked against new references, too.
    lead = rows.select_for_update(of=("self",)).filter(pk=row.subject_id).first()
    if lead is None:
        return MERGED if LeadMerge.objects.of(row.organization).filter(previous_id=row.subject_id).exists() else GONE
    lead.organization = row.organization
    if lead.is_erased:
        return ERASED
    if row.columns is None:
        reason = reason_to_keep(row, lead)
        if not reason:
            delete_lead(lead, actor)
        return reason
    reason = ""
    if file_import.kind == ImportKind.APPOINTMENTS:
        # The touch point follows the appointments that are left, and so does the status "booked".
        row.columns = {name: pair for name, pair in row.columns.items() if name not in TOUCH_POINT}
        is_booked = lead.status.role == StatusRole.APPOINTMENT_BOOKED
        if is_booked and lead.next_touch_point_type == TouchPointType.APPOINTMENT and "status_id" in row.columns:
            del row.columns["status_id"]
            reason = STAYS_BOOKED
    others = restore_columns(row, lead, GROUPS)
    save_lead(lead, actor=actor)
    return " ".join(filter(None, [reason, changed_values(lead, others)]))


def reason_to_keep(row: ImportUndo, lead: Lead) -> str:
    """Return what has happened to a lead that the import created, as a sentence; "" if nothing."""
    if Erasure.objects.of(row.organization).filter(lead_id=lead.pk, finished_at=None).exists():
        return BEING_ERASED
    for relation in relations_to(Lead):
        model = relation.related_model
        if model not in OWN and model._base_manager.filter(**{relation.field.name: lead.pk}).exists():
            return f"This was added since: {model._meta.verbose_name}."
    if lead.external_reference is not None:
        return "An integration has given it a reference since."
    return change_since(row, lead)


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
