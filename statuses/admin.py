"""Statuses in the admin, and the colored label by which every page shows one."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminColorInputWidget

from organizations.admin.base import ReadOnlyInline
from organizations.admin.tenant import OptimisticLockForm, TenantAdmin
from organizations.permissions import Area
from statuses.models import Status
from statuses.services import delete_status, save_status

LOOK = "border-radius:6px;display:inline-block;font-weight:600;max-width:16rem;overflow:hidden;padding:2px 8px;text-overflow:ellipsis"
LABEL = '<span style="color:{};background-color:{};{};vertical-align:bottom;white-space:nowrap" title="{}">{}</span>'


def status_label(status: Status | None) -> SafeString | str:
    """The status in its own colors, escaped; a dash for none."""
    if status is None:
        return "–"
    return format_html(LABEL, status.text_color, status.bg_color, LOOK, status.name, status.name)


class StatusForm(OptimisticLockForm):
    """A status."""

    class Meta:
        model = Status
        fields = ()
        widgets = {"text_color": UnfoldAdminColorInputWidget, "bg_color": UnfoldAdminColorInputWidget}


@admin.register(Status)
class StatusAdmin(TenantAdmin):
    """Statuses of both boards."""

    area = Area.SETUP
    can_delete = True
    form = StatusForm
    list_display = ("label", "role", "type", "is_lead_default", "is_appointment_default")
    list_filter = ("role", "type")
    search_fields = ("name", "description")
    fieldsets = (
        (None, {"fields": ["name", "description", ("role", "type"), ("text_color", "bg_color")]}),
        ("Automatic moves", {"fields": [("is_lead_default", "is_appointment_default")]}),
    )

    @admin.display(description="Status", ordering="name")
    def label(self, status: Status) -> SafeString | str:
        """As people see it."""
        return status_label(status)

    def save_model(self, request: HttpRequest, obj: Status, form: Any, change: bool) -> None:
        """Through the service, which keeps what automatic moves need."""
        save_status(organization=form.organization, status=obj)

    def delete_model(self, request: HttpRequest, obj: Status) -> None:
        """Through the service."""
        delete_status(organization=obj.organization, status=obj)


class HistoryInline(ReadOnlyInline):
    """Base of the histories of moves."""

    verbose_name_plural = "History"
    fields = ("created_at", "from_label", "to_label", "actor_name", "actor_kind")

    def get_queryset(self, request: HttpRequest) -> Any:
        """With the statuses' names and colors."""
        return super().get_queryset(request).select_related("from_status", "to_status")

    @admin.display(description="From")
    def from_label(self, change: Any) -> SafeString | str:
        """The status before."""
        return status_label(change.from_status)

    @admin.display(description="To")
    def to_label(self, change: Any) -> SafeString | str:
        """The status after."""
        return status_label(change.to_status)
