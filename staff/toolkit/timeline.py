"""The timeline of a record: pages of events from several sources, newest first, and changes in words."""

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from django.core.exceptions import BadRequest
from django.db.models import DateTimeField, F, Func, JSONField, Model, Q, QuerySet, Value
from django.db.models.functions import Left
from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from foundation.api.fields import parse_timestamp, parse_uuid
from foundation.db.timestamps import isoformat_z
from organizations.versions import Change

PAGE = 50  # entries of the timeline
MAX_PAGE_TEXT = 200_000  # characters of a page, after which it ends
MAX_TEXT = 300  # characters of a text that a form has sent
MAX_ACTION_DURATION = timedelta(seconds=1)
TOO_LONG = "too long to show here"
SHORT_FIELDS = """CASE WHEN octet_length(%(expressions)s::text) <= 20000 THEN %(expressions)s ELSE (
    SELECT jsonb_object_agg(key, CASE WHEN octet_length(value::text) <= 2000 THEN value
        ELSE jsonb_build_array('%(mark)s', '%(mark)s') END)
    FROM jsonb_each(%(expressions)s)) END"""
# Fields of the API that have another name in the model, or none because they follow from another field.
FIELD_NAMES = {"appointment_event_type": "event_type", "appointment_type": "", "no_show": ""}


class Detail(NamedTuple):
    """A value below an entry of the timeline; that of a change also says what it was before."""

    label: str
    text: str
    before: str | None = None


class TimelineEntry(NamedTuple):
    """An event in a record's history. `id` is the row's, and orders entries of the same time.

    `body` is a note's text. Changes in `details` are always visible, other details are folded.
    """

    at: datetime
    id: UUID
    kind: str
    text: str | SafeString
    actor_name: str = ""
    body: str = ""
    details: Sequence[Detail] = ()
    url: str = ""
    note: Any = None  # of a lead or an appointment, which can be edited
    # Entries of one action are shown as one: the main entry names the keys of its parts, and gets their body, note and
    # details.
    part_keys: Sequence[Hashable] = ()
    key: Hashable = None
    part_detail: Detail | None = None  # shown in the main entry, in place of this one's text

    @property
    def folded(self) -> list[Detail]:
        return [detail for detail in self.details if detail.before is None]


class Cursor(NamedTuple):
    """Where the previous page ended."""

    at: datetime
    id: UUID


class TimelineSource(NamedTuple):
    """A query for entries. Sources of the same kind share one filter.

    With `on_request`, entries are shown only if their kind is chosen.
    """

    kind: str
    label: str
    # Returns the newest entries about a record that are older than the cursor: at most `PAGE` + 1, as `newest` does.
    query: Callable[[Any, Cursor | None], Iterable[TimelineEntry]]
    is_allowed: Callable[[HttpRequest, Any], bool] = lambda request, row: True
    on_request: bool = False


class Timeline(NamedTuple):
    """A page of the timeline: its entries, newest first, the kinds to filter by, and the address of older entries."""

    entries: Sequence[TimelineEntry]
    kinds: dict[str, str]
    kind: str
    newest: str
    older: str


def parse_cursor(text: str) -> Cursor | None:
    """Return the cursor in a link to older entries, or None without one. Raises BadRequest for another text."""
    if not text:
        return None
    at, _, id = text.partition("_")
    try:
        return Cursor(parse_timestamp(at), parse_uuid(id))
    except ValueError:
        raise BadRequest("The timeline's address has an invalid value.") from None


def newest(rows: QuerySet[Any], cursor: Cursor | None) -> QuerySet[Any]:
    """Return the newest rows that are older than the cursor, one more than a page has."""
    if cursor:
        # The second condition follows from the first. With it, PostgreSQL begins there in the index.
        is_older = Q(created_at__lt=cursor.at) | Q(created_at=cursor.at, id__lt=cursor.id)
        rows = rows.filter(is_older, created_at__lte=cursor.at)
    return rows.order_by("-created_at", "-id")[: PAGE + 1]


def newest_changes(rows: QuerySet[Any], cursor: Cursor | None) -> list[Any]:
    """Return the newest changes that are older than the cursor; in large ones `TOO_LONG` replaces the long values."""
    # PostgreSQL replaces them, so that a page never has many large changes in memory.
    short = Func("fields", template=SHORT_FIELDS, mark=TOO_LONG, output_field=JSONField())
    found = list(newest(rows.defer("fields").annotate(short_fields=short), cursor))
    for change in found:
        change.fields = change.short_fields
    return found


def beginning(name: str) -> Left:
    """Return the expression for as much of a text as `shorten` needs."""
    return Left(name, MAX_TEXT + 1)


def shorten(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"


def fields_without(*names: str) -> Func:
    """Return the expression for a change's fields without these."""
    template = "(%(expressions)s::text[])"
    return Func(F("fields"), Value([*names]), template=template, arg_joiner=" - ", output_field=JSONField())


def page_of(entries: list[TimelineEntry], kinds: dict[str, str], kind: str, cursor: Cursor | None) -> Timeline:
    """Return the first page of the entries, which are those older than the cursor.

    It ends after `PAGE` entries, or with the one that brings its text to `MAX_PAGE_TEXT` characters.
    """
    entries = join_actions(entries)
    entries.sort(key=lambda entry: (entry.at, entry.id), reverse=True)
    chosen, older = {"kind": kind} if kind else {}, ""
    page: list[TimelineEntry] = []
    length = 0
    for entry in entries[:PAGE]:
        page.append(entry)
        length += len(entry.body) + sum(len(text or "") for detail in entry.details for text in detail)
        if length >= MAX_PAGE_TEXT:
            break
    if len(entries) > len(page):
        last = page[-1]
        older = "?" + urlencode({**chosen, "older": f"{isoformat_z(last.at)}_{last.id}"})
    return Timeline(page, kinds, kind, f"?{urlencode(chosen)}" if cursor else "", older)


def join_actions(entries: Sequence[TimelineEntry]) -> list[TimelineEntry]:
    """Return the entries, with those of one action as one: of the same person, less than a second apart."""
    by_key: dict[Hashable, list[TimelineEntry]] = {}
    for entry in entries:
        by_key.setdefault(entry.key, []).append(entry)
    taken: set[UUID] = set()
    joined = []
    for entry in entries:
        for key in entry.part_keys:
            for part in by_key.get(key, ()):
                is_same = part.actor_name == entry.actor_name and abs(part.at - entry.at) < MAX_ACTION_DURATION
                if is_same and part.id not in taken:
                    taken.add(part.id)
                    entry = join(entry, part)
                    break
        joined.append(entry)
    return [entry for entry in joined if entry.id not in taken or entry.part_keys]


def join(entry: TimelineEntry, part: TimelineEntry) -> TimelineEntry:
    # At the time of the first, so that the next page begins after both.
    at, id = min((entry.at, entry.id), (part.at, part.id))
    details = [*entry.details, *part.details, *([part.part_detail] if part.part_detail else [])]
    body, note = entry.body or part.body, entry.note or part.note
    return entry._replace(at=at, id=id, body=body, note=note, details=details)


def full_time(at: datetime) -> str:
    return date_format(timezone.localtime(at), "DATETIME_FORMAT")


def change_entry(
    change: Change, model: type[Model], kind: str = "changes", *, text: str = "", without: Collection[str] = ()
) -> TimelineEntry:
    """Return the entry about changed fields of a row of the model, by default with their names as its text."""
    details = describe_changes(model, {name: pair for name, pair in change.fields.items() if name not in without})
    names = ", ".join(detail.label if number == 0 else lowered(detail.label) for number, detail in enumerate(details))
    return entry_of(change, kind, text or (f"{names} changed" if names else "Changed"), details=details)


def entry_of(row: Any, kind: str, text: str | SafeString, **values: Any) -> TimelineEntry:
    """Return an entry about a row, at its time, and by its actor if nobody else is given."""
    values = {"actor_name": getattr(row, "actor_name", ""), **values}
    return TimelineEntry(row.created_at, row.pk, kind, text, **values)


def lowered(label: str) -> str:
    return label if label[1:2].isupper() else label[:1].lower() + label[1:]


def describe_changes(model: type[Model], fields: dict[str, list[Any]]) -> list[Detail]:
    """Return the changed fields as people read them: pairs of old and new values as the API shows them."""
    details: list[Detail] = []
    for name, (before, after) in fields.items():
        if name == "custom_fields" and after != TOO_LONG:
            details += describe_custom_fields(before, after)
        elif field := FIELD_NAMES.get(name, name):
            column: Any = next((column for column in model._meta.concrete_fields if column.name == field), None)
            label = str(getattr(column, "verbose_name", "") or field.replace("_", " "))
            details.append(Detail(capfirst(label), display(column, after), display(column, before)))
    return sorted(details, key=lambda detail: detail.label)


def describe_custom_fields(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[Detail]:
    old = {field["id"]: field["value"] for field in before}
    return [
        Detail(str(field["label"]), plain(field["value"]), plain(old.get(field["id"])))
        for field in after
        if field["value"] != old.get(field["id"])
    ]


def display(column: Any, value: Any) -> str:  # any field, and any JSON
    if isinstance(value, str) and value and isinstance(column, DateTimeField):
        return full_time(datetime.fromisoformat(value))
    if isinstance(value, str) and getattr(column, "flatchoices", None):
        return str(dict(column.flatchoices).get(value, value))
    return plain(value)


def plain(value: Any) -> str:  # any JSON
    """Format a JSON value for people: of an object its name."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, dict):
        name = value.get("name") or value.get("ai_generated_title")
        return str(name or f"{value.get('first_name', '')} {value.get('last_name', '')}".strip() or value.get("email"))
    return ", ".join(map(plain, value)) or "–" if isinstance(value, list) else str(value)
