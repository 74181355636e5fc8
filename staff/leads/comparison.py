"""Two leads side by side: the values to choose from, what moves, and what speaks against one person."""

from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import QuerySet

from leads.duplicates import find_similar
from leads.merging import CHOICES, relations, when
from leads.models import CustomField, Lead, TouchPointType
from staff.configuration.statuses import status_label
from staff.toolkit.timeline import plain

LABELS = {
    "email": "E-mail",
    "first_name": "First name",
    "last_name": "Last name",
    "phone": "Phone",
    "status": "Status",
    "setter": "Setter",
    "last_source": "Last source",
    "touch_point": "Touch point",
    "next_step": "Next step",
}


class Line(NamedTuple):
    """A line of the comparison: the values with their leads' ids, and whose is chosen at first."""

    name: str
    label: str
    values: tuple[tuple[UUID, Any], tuple[UUID, Any]]
    chosen: UUID
    is_same: bool


def custom_fields(lead: Lead) -> QuerySet[CustomField]:
    """Return the fields that the organization has defined for leads."""
    rows: QuerySet[CustomField] = CustomField.objects.of(lead.organization).filter(entity=CustomField.Entity.LEAD)
    return rows.order_by("position", "key")


def compare(older: Lead, newer: Lead) -> Iterator[Line]:
    """Yield the lines of the comparison. At first the older lead's values are chosen, but the newer's last source."""
    for name, columns in CHOICES.items():
        stored = [[getattr(lead, column) or None for column in columns] for lead in (older, newer)]
        if not any(stored[0] + stored[1]):
            continue
        is_filled = any(stored[0]) and not (name == "first_name" and older.is_first_name_from_email)
        chosen = newer if name == "last_source" or (not is_filled and any(stored[1])) else older
        texts = (show(older, name), show(newer, name))
        values = ((older.pk, texts[0]), (newer.pk, texts[1]))
        yield Line(name, LABELS[name], values, chosen.pk, is_same=texts[0] == texts[1])
    for field in custom_fields(older):
        first, second = (lead.custom_values.get(str(field.pk)) for lead in (older, newer))
        chosen = newer if first is None else older
        if (first, second) != (None, None):
            values = ((older.pk, show_custom(first)), (newer.pk, show_custom(second)))
            yield Line(str(field.pk), field.label, values, chosen.pk, is_same=first == second)


def show_custom(value: Any) -> str | None:
    """Return the value of a custom field as the page shows it, or None for none."""
    return None if value is None else plain(value)


def show(lead: Lead, name: str) -> Any:  # a text, or HTML
    """Return a value as the page shows it."""
    if name == "status":
        return status_label(lead.status)
    if name in ("touch_point", "next_step"):
        at, type = getattr(lead, f"next_{name}_at"), getattr(lead, f"get_next_{name}_type_display")()
        note = lead.next_step_note if name == "next_step" else ""
        return ", ".join(filter(None, [type, at and when(at), note])) or None
    return getattr(lead, {"phone": "phone_e164"}.get(name, name)) or None


def counts(lead: Lead) -> list[str]:
    """Return what would move with the lead: how many rows of which kind."""
    found = []
    for model, field in relations():
        count = model.objects.of(lead.organization).filter(**{field: lead.pk}).count()
        if count:
            found.append(f"{count} {model._meta.verbose_name if count == 1 else model._meta.verbose_name_plural}")
    return found


def warnings_about(older: Lead, newer: Lead) -> Iterator[str]:
    """Yield what speaks against one person, or needs a look."""
    reasons = {found.lead_id: found.reasons for found in find_similar(older)}.get(newer.pk, 0)
    if not reasons:
        yield "They have neither mailbox, nor phone, nor full name in common."
    if older.phone_e164 and newer.phone_e164 and older.phone_e164 != newer.phone_e164:
        yield "Their phones differ. A lead has one phone: the other number is only in the history afterwards."
    if older.setter_id and newer.setter_id and older.setter_id != newer.setter_id:
        yield f"They belong to different setters: {older.setter} and {newer.setter}."
    points = [(lead.next_touch_point_at, lead.next_touch_point_type) for lead in (older, newer)]
    upcoming = [at for at, type in points if at and type == TouchPointType.APPOINTMENT]
    if len(upcoming) == 2:
        times = " and ".join(when(at) for at in upcoming)
        yield f"Both have an upcoming appointment: {times}. Both stay."
