"""Creating or completing a lead by its e-mail through the API (docs/interface.md, L30 to L33)."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple
from uuid import UUID

from foundation.api.exceptions import ValidationFailed
from foundation.db.retry import atomic_with_retry
from leads import services
from leads.custom_values import TOO_LONG, JsonValue, are_too_long, parse_custom_values
from leads.models import CustomField, Lead
from leads.patches import changed_members
from leads.phones import Phone, parse_phone
from organizations.actors import Actor
from organizations.models import Organization
from statuses.models import Board, StatusRole
from statuses.services import default_status

Columns = Mapping[str, Any]  # the columns of a lead that one field of the request sets, with their values


class UpsertedLead(NamedTuple):
    id: UUID
    is_new: bool
    changed: list[str]
    kept: list[str]


@atomic_with_retry
def upsert_by_email(
    *,
    organization: Organization,
    actor: Actor,
    email: str,
    overwrite: Collection[str] = (),
    phone: Phone | None = None,
    setter_email: str | None = None,
    external_reference: str | None = None,
    source: str = "",
    custom_fields: Mapping[str, object] | None = None,
    **names: str,
) -> UpsertedLead:
    """Create the lead with this e-mail, or fill its empty fields; known values are replaced if `overwrite` names them.

    `changed` and `kept` name the given fields whose values differ from the lead's. `names` can have `first_name` and
    `last_name`. Raises ValidationFailed for an unknown setter or custom field, Conflict if another lead has the
    reference. Locks the lead.
    """
    # What the lead has is accepted again: an option that was removed since, a setter who has left.
    services.lock_emails(organization, [email])
    known = services.lock_lead_with_email(organization, email) if setter_email or custom_fields else None
    row = known or Lead(organization=organization)
    fields: dict[str, Columns] = {name: {name: text} for name, text in names.items()}
    if phone:
        fields["phone_e164"] = {"phone_e164": phone.e164, "phone_country": phone.country}
    if setter_email:
        fields["setter_email"] = changed_members(row, ["setter"], {"setter_email": setter_email})
    if external_reference:
        fields["external_reference"] = {"external_reference": external_reference}
    owner_id = services.find_reference_owner(organization, external_reference)
    source_name = services.normalized_source_name(source) or "MANUAL"
    lead_source = services.get_or_create_source(organization=organization, name=source_name)
    if source:
        fields["source"] = {"last_source": lead_source}
    custom_values = read_custom_values(row, custom_fields or {})
    lead, is_new = services.upsert_lead(
        organization=organization,
        actor=actor,
        email=email,
        create_defaults={
            "status": default_status(organization, Board.LEAD, StatusRole.NEW_LEAD),
            "first_source": lead_source,
            "last_source": lead_source,
            "first_name": email.partition("@")[0],
            "is_first_name_from_email": "first_name" not in names,
            "custom_values": custom_values,
            **{name: value for columns in fields.values() for name, value in columns.items()},
            "external_reference": None if owner_id else external_reference,
        },
    )
    services.check_reference_owner(external_reference, owner_id, lead)
    if is_new:
        return UpsertedLead(lead.pk, is_new, [*fields, *field_names(organization, custom_values)], [])
    changed, kept = fill_fields(lead, fields, overwrite)
    changed_ids, kept_ids = fill_custom_values(lead, custom_values, may_replace="custom_fields" in overwrite)
    services.save_lead(lead, actor=actor)
    changed, kept = changed + field_names(organization, changed_ids), kept + field_names(organization, kept_ids)
    return UpsertedLead(lead.pk, is_new, changed, kept)


def read_custom_values(lead: Lead, custom_fields: Mapping[str, object]) -> dict[str, JsonValue]:
    """Return the values that aren't blank, by the fields' ids. Raises ValidationFailed."""
    given = parse_custom_values(lead.organization, CustomField.Entity.LEAD, custom_fields, lead.custom_values)
    values = {id: value for id, value in given.items() if value is not None}
    if lead._state.adding and are_too_long(values, {}):
        raise ValidationFailed({"custom_fields": [TOO_LONG]})
    return values


def fill_fields(lead: Lead, fields: Mapping[str, Columns], overwrite: Collection[str]) -> tuple[list[str], list[str]]:
    """Set the fields that are not known or may be overwritten; return the names of those that changed and were kept."""
    changed, kept = [], []
    for name, columns in fields.items():
        is_equal = all(getattr(lead, column) == value for column, value in columns.items())
        if lead.is_erased or (is_known(lead, name, columns) and name not in overwrite):
            kept += [] if is_equal else [name]
            continue
        for column, value in columns.items():
            setattr(lead, column, value)
        if name == "first_name":
            lead.is_first_name_from_email = False
        changed += [] if is_equal else [name]
    return changed, kept


def is_known(lead: Lead, name: str, columns: Columns) -> bool:
    """Return whether the field's value counts as known (docs/interface.md, L4 to L6)."""
    if name == "first_name" and lead.is_first_name_from_email:
        return False
    if name == "phone_e164":
        return parse_phone(lead.phone_e164 or "", lead.phone_country or "") is not None
    return any(getattr(lead, column) for column in columns)


def fill_custom_values(
    lead: Lead, values: Mapping[str, JsonValue], *, may_replace: bool
) -> tuple[list[str], list[str]]:
    """Set the values that the lead lacks, others if it `may_replace` them; return the ids changed and kept.

    Raises ValidationFailed if all are too long together.
    """
    stored: dict[str, JsonValue] = lead.custom_values
    different = [id for id, value in values.items() if stored.get(id) != value]
    kept = [id for id in different if lead.is_erased or (id in stored and not may_replace)]
    changed = [id for id in different if id not in kept]
    lead.custom_values = stored | {id: values[id] for id in changed}
    if are_too_long(lead.custom_values, stored):
        raise ValidationFailed({"custom_fields": [TOO_LONG]})
    return changed, kept


def field_names(organization: Organization, ids: Collection[str]) -> list[str]:
    """Return the names that custom fields have in errors and responses, in the order of display."""
    return [f"custom_fields.{field.key}" for field in CustomField.objects.of(organization).filter(pk__in=ids)]
