"""What the page of an import says about undoing it."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.db.models import Count, Q
from django.utils.formats import number_format

from appointments.models import Appointment, Note
from leads.imports.models import Import, ImportUndo
from leads.models import Lead, LeadMerge
from staff.toolkit.actions import row_url

ROWS_PER_PAGE = 50
NAMES = {
    "leads.lead": ("lead", "leads"),
    "appointments.appointment": ("appointment", "appointments"),
    "appointments.note": ("note", "notes"),
}


def undo_question(row: Import) -> dict[str, str]:
    """Return what would be deleted, and which rows' changes would be taken back."""
    is_created = Q(columns__isnull=True)
    counts = (
        row.undo_rows.order_by()
        .values_list("subject_type")
        .annotate(
            created=Count("subject_id", distinct=True, filter=is_created),
            changed=Count("subject_id", distinct=True, filter=~is_created),
        )
    )
    rows = sorted(counts, key=lambda count: list(NAMES).index(count[0]))
    return {
        "deleted": ", ".join(counted(number, *NAMES[name]) for name, number, _ in rows if number),
        "restored": ", ".join(counted(number, *NAMES[name]) for name, _, number in rows if number),
    }


def counted(number: int, one: str, many: str) -> str:
    return f"{number_format(number, force_grouping=True)} {one if number == 1 else many}"


def undo_summary(row: Import) -> str:
    texts = {
        "deleted": ("row deleted", "rows deleted"),
        "restored": ("change taken back", "changes taken back"),
        "kept": ("stays", "stay"),
    }
    return ", ".join(counted(row.undone[name], *text) for name, text in texts.items() if row.undone.get(name))


def kept_rows(row: Import, number: str | None) -> tuple[Page[ImportUndo], list[tuple[str, str, str]]]:
    """Return a page of what has stayed: name, address, if it is still there, and reason of each."""
    page = Paginator(row.undo_rows.filter(is_kept=True), ROWS_PER_PAGE).get_page(number)
    links = links_of(row, [undo.subject_id for undo in page])
    return page, [(*links.get(undo.subject_id, ("–", "")), undo.reason) for undo in page]


def links_of(row: Import, ids: list[UUID]) -> Mapping[UUID, tuple[str, str]]:
    """Return name and address of the leads, appointments and notes with these ids, and of merged leads."""
    organization = row.organization
    rows: dict[UUID, Any] = dict(Lead.objects.of(organization).in_bulk(ids))
    appointments = Appointment.objects.of(organization).select_related("lead")
    rows |= appointments.in_bulk(ids)
    notes = Note.objects.of(organization).filter(pk__in=ids).select_related("appointment__lead")
    rows |= {note.pk: note.appointment for note in notes}
    merges = LeadMerge.objects.of(organization).filter(previous_id__in=ids).select_related("lead")
    rows |= {merge.previous_id: merge.lead for merge in merges}
    return {id: (str(found), row_url(found)) for id, found in rows.items()}
