"""The page of sources, which are created on first use and get the label that staff read."""

from django.contrib import admin

from leads.models import Source
from leads.services import save_source
from organizations.permissions import Area
from staff.toolkit.tenant import TenantAdmin


@admin.register(Source)
class SourceAdmin(TenantAdmin):
    empty_text = "They appear when leads come in: from opt-ins with a UTM source, and from bookings."
    area = Area.SOURCES
    can_add = False
    save_service = staticmethod(save_source)
    service_argument = "source"
    list_display = ("__str__", "name", "created_at")
    search_fields = ("name", "label")
    fields = ("label", "name", "created_at")
    readonly_fields = ("name", "created_at")
