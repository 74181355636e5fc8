"""The pages of imports: the list, the upload, and one page for all further steps of an import."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import PurePath
from tempfile import TemporaryFile
from typing import Any, ClassVar
from urllib.parse import urlencode

import phonenumbers
from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.formats import number_format
from django.utils.text import get_valid_filename
from unfold.decorators import display
from unfold.widgets import UnfoldAdminFileFieldWidget

from foundation.api.exceptions import Conflict, DomainError, ValidationFailed
from foundation.api.fields import parse_timestamp
from foundation.db.timestamps import isoformat_z
from leads.imports import services
from leads.imports.choices import MAX_SHOWN_NAME, choose_values, looks_like_email, unknown_values
from leads.imports.failures import MAX_FAILURES
from leads.imports.files import GUESSED_ENCODING, MAX_ROWS
from leads.imports.importers import IMPORTERS, PROBLEM
from leads.imports.models import DateOrder, Import, ImportKind, ImportState, NumberFormat, Verdict
from leads.imports.undoing import start_undo
from leads.imports.values import Reading, unguarded
from organizations.actors import staff_actor
from organizations.permissions import Area, current_user
from staff.import_undo import kept_rows, undo_question, undo_summary
from staff.toolkit.actions import AnyPage, page_context, row_url
from staff.toolkit.export import Cell, download, write_csv
from staff.toolkit.fields import SelectField
from staff.toolkit.saved_views import ORGANIZATION_VAR
from staff.toolkit.tenant import TenantAdmin, TenantForm
from staff.toolkit.views import Link, ListButton
from staff.toolkit.xlsx import write_xlsx

MEGABYTE = 1024 * 1024
VALUE_FIELD = re.compile(r"value-(\d{1,3})-([0-9a-f]{32})")  # of the form with unknown values
EXAMPLES = 3  # rows of the file beside each column
ROWS_PER_PAGE = 50
SHOW_PARTIAL = "PARTIAL"  # in addresses: the rows without some cells
ROWS_AT_A_TIME = 100  # of the file with the refused rows; each has at most 100,000 characters
STEPS = ["File", "Columns", "Check", "Import", "Result"]
STEP_OF_STATE = {
    ImportState.READING: 0,
    ImportState.MAPPING: 1,
    ImportState.CHECKING: 2,
    ImportState.CHECKED: 2,
    ImportState.IMPORTING: 3,
    ImportState.FAILED: 0,
}
STATE_COLORS = {
    ImportState.DONE.label: "success",
    ImportState.FAILED.label: "danger",
    ImportState.CANCELED.label: "warning",
    ImportState.UNDONE.label: "warning",
}


def country_choices() -> list[tuple[str, str]]:
    codes = sorted(phonenumbers.SUPPORTED_REGIONS)
    return [(code, f"{code} (+{phonenumbers.country_code_for_region(code)})") for code in codes]


class ImportForm(TenantForm):
    upload = forms.FileField(
        label="File",
        widget=UnfoldAdminFileFieldWidget(attrs={"accept": ".csv,.xlsx,.txt,.tsv"}),
        help_text="CSV or Excel (.xlsx), with the names of the columns in the first row. "
        f"At most {MAX_ROWS:,} rows and {settings.IMPORT_LIMIT // MEGABYTE} MB. "
        "You see a preview before anything is changed.",
    )

    def clean_upload(self) -> Any:
        upload = self.cleaned_data["upload"]
        if upload.size > settings.IMPORT_LIMIT:
            raise forms.ValidationError(f"The file is larger than {settings.IMPORT_LIMIT // MEGABYTE} MB. Split it.")
        return upload


class ReadingForm(forms.ModelForm):
    """How the file writes times, numbers and phones."""

    country = SelectField(label="Phone numbers without + are from", required=False, choices=country_choices)
    numbers = SelectField(
        label="Numbers are written as",
        required=False,
        choices=[("", "not known: leave 1.500 and 1,500 out"), *NumberFormat.choices],
    )
    dates = SelectField(
        label="Dates such as 5/6/2027 are",
        required=False,
        choices=[("", "not known: leave them out"), *DateOrder.choices],
    )
    time_of_day = forms.TimeField(
        label="Time for dates without one",
        required=False,
        widget=forms.TimeInput(attrs={"type": "time", "class": "import-time"}, format="%H:%M"),
        help_text="Without it, they are left out, and appointments refused.",
    )

    class Meta:
        model = Import
        fields = ("country", "numbers", "dates", "time_of_day")


@admin.register(Import)
class ImportAdmin(TenantAdmin):
    """Imports. `change_view` shows the step that an import is at, and does the next one."""

    empty_text = "Add one to load leads or appointments from a CSV file or an Excel workbook."
    area = Area.SETUP
    is_read_only = True
    form = ImportForm
    list_display = ("file_name", "kind", "state_label", "rows", "actor_name", "created_at")
    list_filter = ("kind", "state")
    search_fields = ("file_name",)
    search_help_text = "Name of the file"
    long_columns = ("file",)
    fields: ClassVar[tuple[str, ...]] = ("kind", "upload")

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("<path:object_id>/progress/", view(self.progress_view), name="leads_import_progress"),
            path("<path:object_id>/refused/", view(self.refused_view), name="leads_import_refused"),
            *super().get_urls(),
        ]

    @display(description="State", ordering="state", label=STATE_COLORS)  # type: ignore[untyped-decorator]
    def state_label(self, row: Import) -> str:
        return row.get_state_display()

    @admin.display(description="Rows")
    def rows(self, row: Import) -> str:
        return summary(row) or (f"{number_format(row.total, force_grouping=True)} rows" if row.total else "–")

    def save_model(self, request: HttpRequest, obj: Import, form: Any, change: bool) -> None:
        upload = form.cleaned_data["upload"]
        user = current_user(request)
        services.add_import(
            organization=obj.organization,
            actor=staff_actor(user),
            kind=obj.kind,
            file_name=upload.name[-255:],
            content=upload.read(),
            time_zone=user.time_zone,
            id=obj.pk,
        )

    def response_add(self, request: HttpRequest, obj: Import, post_url_continue: str | None = None) -> HttpResponse:
        return redirect(row_url(obj))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, object] | None = None
    ) -> HttpResponse:
        row = self.get_row(request, object_id)
        problems: list[str] = []
        if request.method == "POST":
            try:
                return redirect(row_url(row) + self.do_step(request, row))
            except ValidationFailed as error:
                problems = [sentence for sentences in error.errors.values() for sentence in sentences]
            except DomainError as error:
                problems = [str(error)]
            row = self.get_row(request, object_id)
        return TemplateResponse(request, "staff/import.html", self.step_context(request, row, problems))

    def do_step(self, request: HttpRequest, row: Import) -> str:
        """Do what the button says, and return the query of the page that says so. Raises DomainError."""
        step = request.POST.get("step")
        if step == "columns":
            services.choose_columns(
                file_import=row,
                mapping=sent_columns(request, row),
                sends_invitations="invitations" in request.POST,
                reading=sent_reading(request),
                version=sent_version(request),
            )
            self.log_change(request, row, "Columns chosen.")
        elif step == "values":
            choose_values(file_import=row, values=sent_values(request, row), version=sent_version(request))
            self.log_change(request, row, "Values chosen.")
        elif step == "start" and has_other_values(row, sent_values(request, row)):
            choose_values(file_import=row, values=sent_values(request, row), version=sent_version(request))
            self.log_change(request, row, "Values chosen.")
            return "?again"
        elif step == "start":
            services.start_import(file_import=row, version=sent_version(request))
            self.log_change(request, row, "Import started.")
        elif step == "cancel":
            if services.cancel_import(file_import=row, seen=request.POST.get("state", "")):
                self.log_change(request, row, "Canceled.")
            else:
                messages.warning(request, "Nothing was canceled: the import has ended.")
        elif step == "discard":
            services.discard_rows(file_import=row)
            self.log_change(request, row, "Kept rows deleted.")
        elif step == "undo":
            start_undo(file_import=row, actor=staff_actor(current_user(request)))
            self.log_change(request, row, "Undo started.")
        else:
            messages.warning(request, "Nothing was done: choose one of the buttons.")
        return ""

    def step_context(self, request: HttpRequest, row: Import, problems: Sequence[str]) -> dict[str, object]:
        is_sent = request.POST.get("step") == "columns"  # and refused
        is_asked_for = row.state == ImportState.CHECKED and (is_sent or "columns" in request.GET)
        is_mapping = row.state == ImportState.MAPPING or is_asked_for
        current = 1 if is_mapping else STEP_OF_STATE.get(ImportState(row.state), 4)
        context = page_context(self, request, row, str(row)) | {
            "import": row,
            "version": isoformat_z(row.updated_at),
            "problems": problems,
            "steps": [(name, index < current, index == current) for index, name in enumerate(STEPS)],
            "is_mapping": is_mapping,
            "has_guessed_encoding": row.is_open and row.encoding == GUESSED_ENCODING,
            "is_appointments": row.kind == ImportKind.APPOINTMENTS,
            "counts": summary(row),
            "writes": row.counts.get(Verdict.NEW, 0) + row.counts.get(Verdict.CHANGED, 0),
            "left_out": left_out_columns(row),
            "progress": progress_text(row),
            "reasons": reason_counts(row),
            "add_url": reverse("admin:leads_import_add"),
        }
        if is_mapping:
            initial = {"country": row.country or row.organization.default_country}
            form = ReadingForm(request.POST if is_sent else None, instance=row, initial=initial)
            context["sends_invitations"] = "invitations" in request.POST if is_sent else row.sends_invitations
            return context | {**self.column_choices(request, row), "reading": form}
        if row.state == ImportState.CHECKED:
            context["unknown_columns"], context["has_more_unknown"] = unknown_values(row)
        if row.is_working:
            return context
        if row.can_be_undone and "undo" in request.GET:
            context["question"] = undo_question(row)
        if row.state == ImportState.UNDONE:
            context["undone"] = undo_summary(row)
            context["kept_page"], context["kept"] = kept_rows(row, request.GET.get("kept"))
        return context | self.report(request, row)

    def column_choices(self, request: HttpRequest, row: Import) -> dict[str, object]:
        # Once in the page: each of up to 200 columns has all of them.
        options = {column.name: column.label[:MAX_SHOWN_NAME] for column in IMPORTERS[row.kind](row).columns()}
        chosen = sent_columns(request, row) if request.POST.get("step") == "columns" else row.mapping
        first_rows = [found.cells for found in row.rows.order_by("number")[:EXAMPLES]]
        columns = [
            {
                "name": name or f"Column {index + 1}",
                "examples": [cells[index][:60] for cells in first_rows if index < len(cells) and cells[index].strip()],
                "field": f"column-{index}",
                "chosen": chosen[index],
                "chosen_label": options.get(chosen[index], ""),
            }
            for index, name in enumerate(row.header)
        ]
        has_email = any(map(looks_like_email, row.header))
        return {"options": options, "columns": columns, "has_email_in_header": has_email}

    def report(self, request: HttpRequest, row: Import) -> dict[str, object]:
        """Return a page of the rows with the planned changes, of one verdict if the address names it.

        After the import's end, only the refused and the partial rows are shown, while they are kept.
        """
        show = request.GET.get("show", "")
        rows = row.rows.exclude(verdict="").order_by("number") if row.shows_rows else row.rows.none()
        partial = rows.filter(is_partial=True)
        if show in Verdict.values:
            rows = rows.filter(verdict=show)
        elif show == SHOW_PARTIAL:
            rows = partial
        page = Paginator(rows, ROWS_PER_PAGE).get_page(request.GET.get("p"))
        key = IMPORTERS[row.kind].key
        index = row.mapping.index(key) if key in row.mapping else 0
        tabs = [(verdict.value, verdict.label, row.counts.get(verdict.value, 0)) for verdict in Verdict]
        tabs.append((SHOW_PARTIAL, "With cells left out", partial.count()))
        return {
            "tabs": [("", "All", sum(row.counts.values())), *tabs],
            "key_label": IMPORTERS[row.kind].key_label.capitalize(),
            "page": page,
            "show": show,
            "rows": [(found, found.cells[index] if index < len(found.cells) else "") for found in page],
        }

    def progress_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        row = self.get_row(request, object_id)
        return JsonResponse({"state": row.state, "done": row.done, "total": row.to_do, "text": progress_text(row)})

    def refused_view(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        """Return the rows to correct, with the reasons, in the format of the upload.

        The file is written on disk, so memory doesn't grow with the number of rows.
        """
        row = self.get_row(request, object_id)
        name = get_valid_filename(f"{PurePath(row.file_name).stem} to correct")
        file = TemporaryFile()  # noqa: SIM115  # the response closes it
        header = [*names_to_correct(row), PROBLEM]
        if row.format == "xlsx":
            write_xlsx(file, "To correct", header, rows_to_correct(row))
            return download(file, name, "xlsx")
        separator = row.format if len(row.format) == 1 else ","
        write_csv(file, name, header, rows_to_correct(row), separator)
        return download(file, name, "csv")


class ImportButton(ListButton):
    def __init__(self, kind: ImportKind) -> None:
        self.kind = kind

    def links(self, page: AnyPage, request: HttpRequest) -> list[Link]:
        if not page.admin_site.get_model_admin(Import).has_add_permission(request):
            return []
        title = f"Add or change {page.opts.verbose_name_plural} from a CSV file or an Excel workbook"
        # Of the list's filters only the organization, which the list of imports has, too.
        chosen = [(ORGANIZATION_VAR, id) for id in request.GET.getlist(ORGANIZATION_VAR)]
        filters = {"_changelist_filters": urlencode(chosen)} if chosen else {}
        url = f"{reverse('admin:leads_import_add')}?{urlencode({'kind': self.kind, **filters})}"
        return [Link("Import", url, "file_upload", title=title)]


def sent_columns(request: HttpRequest, row: Import) -> list[str]:
    """Return the field that the form has for each column of the file, or "" for one that is left out."""
    return [request.POST.get(f"column-{index}", "") for index in range(len(row.header))]


def sent_version(request: HttpRequest) -> datetime | None:
    try:
        return parse_timestamp(request.POST["version"]) if "version" in request.POST else None
    except ValueError:
        raise Conflict("Open the page again.") from None


def sent_reading(request: HttpRequest) -> Reading:
    """Raise ValidationFailed for values that the form doesn't offer."""
    form = ReadingForm(request.POST)
    if not form.is_valid():
        raise ValidationFailed({name: list(map(str, problems)) for name, problems in form.errors.items()})
    return Reading(**form.cleaned_data)


def sent_values(request: HttpRequest, row: Import) -> dict[tuple[str, str], str]:
    return {
        (row.mapping[index], match[2]): str(target)
        for name, target in request.POST.items()
        if (match := VALUE_FIELD.fullmatch(name)) and (index := int(match[1])) < len(row.mapping)
    }


def left_out_columns(row: Import) -> list[str]:
    columns = zip(row.header, row.mapping, strict=False)
    return [name for name, field in columns if not field and name not in ("", PROBLEM)]


def has_other_values(row: Import, values: Mapping[tuple[str, str], str]) -> bool:
    """Return whether people have chosen values that the rows were not checked with."""
    return any(row.values.get(name, {}).get(key, "") != target for (name, key), target in values.items())


def names_to_correct(row: Import) -> list[str]:
    """Return the names of the columns, without that of the problems in rows that were corrected before."""
    return [*row.header[:-1]] if row.header[-1:] == [PROBLEM] else [*row.header]


def rows_to_correct(row: Import) -> Iterator[list[Cell]]:
    """Yield the cells of each refused or partial row, and the problem, read in batches.

    What the row has beyond the header comes last, so that it is refused again unless that is corrected.
    """
    width, number = len(names_to_correct(row)), 0
    to_correct = Q(verdict=Verdict.REFUSED) | Q(is_partial=True)
    rows = (row.rows if row.shows_rows else row.rows.none()).filter(to_correct).order_by("number")
    # Not `iterator()`, which would read everything at once behind a pooler.
    while found := list(rows.filter(number__gt=number).values_list("number", "cells", "details")[:ROWS_AT_A_TIME]):
        number = found[-1][0]
        for _, cells, details in found:
            cells = [*map(unguarded, cells)]  # as the writers expect them
            beyond = [cell for cell in cells[len(row.header) :] if cell != details]
            yield [*cells[:width], *[""] * (width - len(cells)), details, *beyond]


def reason_counts(row: Import) -> list[tuple[str, list[tuple[str, int]]]]:
    """Return for each consequence its reasons, the most frequent first, with the number of rows."""
    titles = {Verdict.REFUSED.value: "Refused rows", services.PARTIAL: "Cells left out of rows that are imported"}
    sorted_reasons = {
        name: sorted(counts.items(), key=lambda item: (-item[1], item[0])) for name, counts in row.reasons.items()
    }
    return [(title, sorted_reasons[name]) for name, title in titles.items() if sorted_reasons.get(name)]


def summary(row: Import) -> str:
    return ", ".join(
        f"{number_format(row.counts[verdict], force_grouping=True)} {verdict.label.lower()}"
        for verdict in Verdict
        if row.counts.get(verdict)
    )


def progress_text(row: Import) -> str:
    if services.is_waiting(row):
        return "Waiting for another import of your organization"
    if 0 < row.failures < MAX_FAILURES:
        return "Interrupted by an unexpected error, which was logged. Retried every 30 seconds"
    if row.state == ImportState.READING:
        return f"{number_format(row.total, force_grouping=True)} rows read"
    done, total = (number_format(number, force_grouping=True) for number in (row.done, row.to_do))
    return f"{done} of {total} {'changes' if row.state == ImportState.UNDOING else 'rows'}"
