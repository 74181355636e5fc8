"""Statuses in the admin, and the colored label that other pages show a status with."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.db.models import Max, Model
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminColorInputWidget

from organizations.permissions import Area
from staff.toolkit.lists import column
from staff.toolkit.tenant import TenantAdmin, TenantForm
from statuses.models import BY_NAME, BoardScope, Status, readable_colors
from statuses.services import DEFAULT_FLAG, delete_status, save_status

MAX_POSITION = 32_767
# Inline styles, because other apps' pages show the label too. A long name is cut; the tooltip has all of it.
LABEL = (
    '<span style="color:{};background-color:{};border-radius:6px;display:inline-block;font-weight:600;'
    "max-width:16rem;overflow:hidden;padding:2px 8px;text-overflow:ellipsis;vertical-align:bottom;"
    'white-space:nowrap" title="{}">{}</span>'
)


def status_label(status: Status | None) -> SafeString | str:
    if status is None:
        return "–"
    return format_html(LABEL, *readable_colors(status), status.name, status.name)


def status_column(name: str, label: str) -> Callable[[Model], SafeString | str]:
    @admin.display(description=label, ordering=name)
    def column(row: Model) -> SafeString | str:
        return status_label(getattr(row, name))

    column.key = name  # type: ignore[attr-defined]
    return column


class StatusForm(TenantForm):
    class Meta:
        widgets = {"text_color": UnfoldAdminColorInputWidget, "bg_color": UnfoldAdminColorInputWidget}
        help_texts = {
            "role": "What the status means for numbers and automatic changes, whatever its name is.",
            "is_lead_default": "A booking, cancellation or outcome of this role gives leads this status.",
            "is_appointment_default": "A booking, cancellation or button of this role gives appointments this status.",
        }

    def clean(self) -> dict[str, Any]:
        """Refuse a default of the wrong board, and make a retired status no default any more.

        The service refuses to retire a default that automatic changes need.
        """
        cleaned = super().clean()
        if not cleaned.get("is_active"):
            cleaned |= dict.fromkeys(DEFAULT_FLAG.values(), False)
        for board, flag in DEFAULT_FLAG.items():
            if cleaned.get(flag) and cleaned.get("type", board) not in (board, BoardScope.BOTH):
                self.add_error(flag, f"Only a status of the {board.label.lower()} can be its default.")
        return cleaned


@admin.register(Status)
class StatusAdmin(TenantAdmin):
    empty_text = "Add the steps that your leads and appointments go through."
    area = Area.SETUP
    can_delete = True
    save_service = staticmethod(save_status)  # refuses to remove a default that automatic changes need
    delete_service = staticmethod(delete_status)
    service_argument = "status"
    form = StatusForm
    list_display = ("label", "role", "type", "is_lead_default", "is_appointment_default", "is_active")
    label = column("Status", status_label, ordering=BY_NAME)
    list_filter = ("role", "type", "is_active")
    search_fields = ("name", "description")
    fieldsets = (
        (None, {"fields": ["name", "description", ("role", "type"), ("text_color", "bg_color"), "is_active"]}),
        ("Board", {"fields": [("position", "days_limit")]}),
        ("Automatic changes", {"fields": [("is_lead_default", "is_appointment_default")]}),
    )

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Put a new status last, and on one board: as the first column of both, it would move everybody's work."""
        last = self.get_queryset(request).aggregate(last=Max("position"))["last"] or 0
        values: dict[str, Any] = super().get_changeform_initial_data(request)
        return {"position": min(last + 1, MAX_POSITION), "type": BoardScope.LEAD, **values}

    def save_model(self, request: HttpRequest, obj: Status, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if readable_colors(obj)[0] != obj.text_color:
            messages.warning(request, "These colors have a contrast below 4.5 : 1, so pages show black or white text.")
