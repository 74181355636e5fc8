"""Erasing a lead: one service, one transaction."""

from datetime import timedelta
from uuid import UUID

from django.contrib.admin.models import LogEntry
from django.db.models import F, Value
from django.db.models.functions import Greatest

from leads.models import Lead
from leads.privacy.imports import forget_imported_rows
from leads.privacy.rules import Rows, find_rows, load_rules
from leads.privacy.saved_views import forget_views
from leads.topics import ERASED
from notifications.services import erase_notifications
from organizations.actors import Actor
from organizations.isolation import bypass_rls
from organizations.models import Organization, SecurityEventKind
from organizations.security_log import record_security_event
from organizations.versions import VersionedModel
from pipeline_backend.api.exceptions import ValidationFailed
from pipeline_backend.db.retry import atomic_with_retry
from pipeline_backend.db.timestamps import now
from webhooks.services import record_event, replace_events


@atomic_with_retry
def erase_lead(*, organization: Organization, actor: Actor, lead_id: UUID) -> None:
    """Erase all personal data of a lead; record `lead.erased` and an entry in the security log (interface.md, L20).

    Erasing again erases what has been added since. Locks the lead and the rows that stay. Raises ValidationFailed if
    the organization has no such lead.
    """
    # Unlike other changes this locks the key, too: rows that refer to the lead are added before or after, never during.
    lead: Lead | None = Lead.objects.of(organization).select_for_update().filter(pk=lead_id).first()
    if lead is None:
        raise ValidationFailed({"lead_id": ["is not known in the organization"]})
    lead.organization = organization
    forget_views(lead)
    forget_imported_rows(lead)
    rows = find_rows(lead, lock=True)
    apply_rules(rows)
    ids = [id for found in rows.values() for id in found]
    events = replace_events(organization=organization, subject_ids=ids, topic=ERASED, subject=lead)
    notifications = erase_notifications(organization=organization, subject_ids=ids)
    forget_history(rows)
    record_event(ERASED, lead, actor=actor)
    counts = {model._meta.verbose_name_plural: len(found) for model, found in rows.items() if model is not Lead}
    counts |= {"events": events, "notifications": notifications}
    details = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    record_security_event(
        SecurityEventKind.LEAD_ERASED, organization=organization, details=f"Lead {lead_id}: {details}".rstrip(": ")
    )


def apply_rules(rows: Rows) -> None:
    """Delete or empty the rows, those that refer to others first."""
    rules = load_rules()
    for model, ids in reversed(rows.items()):
        found = model._base_manager.filter(pk__in=ids)
        if rules[model].is_deleted:
            found.delete()
        elif rules[model].values:
            found.update(**rules[model].values)
            if issubclass(model, VersionedModel):
                next_version = F("updated_at") + timedelta(milliseconds=1)
                found.update(updated_at=Greatest(next_version, Value(now())))


def forget_history(rows: Rows) -> None:
    """Delete the entries of the admin's history about the rows, which hold names."""
    # Requests may only add entries, and see those of their own colleagues: neither may keep one here.
    with bypass_rls():
        for model, ids in rows.items():
            entries = LogEntry.objects.filter(
                content_type__app_label=model._meta.app_label,
                content_type__model=model._meta.model_name,
                object_id__in=[str(id) for id in ids],
            )
            entries.delete()
