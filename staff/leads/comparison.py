"""Two leads side by side: the values to choose from, the rows that would move, and warnings."""

from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import QuerySet

from leads.duplicates import reasons_in_common
from leads.merging import CHOICES, relations, when
from leads.models import CustomField, Lead, TouchPointType
from staff.configuration.statuses import status_label
from staff.toolkit.custom_lists import in_words


class ComparedValue(NamedTuple):
    """A row of the comparison: the values with their leads' ids; `chosen` is the lead whose value is preselected."""

    name: str
    label: str
    values: tuple[tuple[UUID, Any], tuple[UUID, Any]]
    chosen: UUID
    is_same: bool


def custom_fields(lead: Lead) -> QuerySet[CustomField]:
    rows: QuerySet[CustomField] = CustomField.objects.of(lead.organization).filter(entity=CustomField.Entity.LEAD)
    return rows.order_by("position", "key")


def compare(older: Lead, newer: Lead) -> Iterator[ComparedValue]:
    """Yield the rows of the comparison.

    Preselected are the older lead's values where it has any (a first name guessed from the e-mail is none), and the
    newer lead's last source.
    """
    for name, columns in CHOICES.items():
        values = [[getattr(lead, column) or None for column in columns] for lead in (older, newer)]
        if not any(values[0] + values[1]):
            continue
        is_filled = any(values[0]) and not (name == "first_name" and older.is_first_name_from_email)
        chosen = newer if name == "last_source" or (not is_filled and any(values[1])) else older
        first, second = display_value(older, name), display_value(newer, name)
        label = "E-mail" if name == "email" else name.replace("_", " ").capitalize()
        yield ComparedValue(name, label, ((older.pk, first), (newer.pk, second)), chosen.pk, is_same=first == second)
    for field in custom_fields(older):
        first, second = (lead.custom_values.get(str(field.pk)) for lead in (older, newer))
        chosen = newer if first is None else older
        if (first, second) != (None, None):
            texts = [None if value is None else in_words(field, value) for value in (first, second)]
            pairs = ((older.pk, texts[0]), (newer.pk, texts[1]))
            yield ComparedValue(str(field.pk), field.label, pairs, chosen.pk, is_same=first == second)


def display_value(lead: Lead, name: str) -> Any:  # a text, or HTML
    if name == "status":
        return status_label(lead.status)
    if name == "touch_point":
        at, type = lead.next_touch_point_at, lead.get_next_touch_point_type_display()
        return ", ".join(filter(None, [type, when(at) if at else ""])) or None
    return getattr(lead, {"phone": "phone_e164"}.get(name, name)) or None


def describe_moving_rows(lead: Lead) -> list[str]:
    texts = []
    for model, field in relations():
        count = model.objects.of(lead.organization).filter(**{field: lead.pk}).count()
        if count:
            texts.append(f"{count} {model._meta.verbose_name if count == 1 else model._meta.verbose_name_plural}")
    return texts


def warnings_about(older: Lead, newer: Lead) -> Iterator[str]:
    if not reasons_in_common(older, newer.pk):
        yield "They share no mailbox, phone or full name, or only one that many leads have."
    if older.phone_e164 and newer.phone_e164 and older.phone_e164 != newer.phone_e164:
        yield "Their phones differ. A lead has one phone: the other number is only in the history afterwards."
    if older.setter_id and newer.setter_id and older.setter_id != newer.setter_id:
        yield f"They belong to different setters: {older.setter} and {newer.setter}."
    points = [(lead.next_touch_point_at, lead.next_touch_point_type) for lead in (older, newer)]
    upcoming = [at for at, type in points if at and type == TouchPointType.APPOINTMENT]
    if len(upcoming) == 2:
        times = " and ".join(when(at) for at in upcoming)
        yield f"Both have an upcoming appointment: {times}. Both stay."
