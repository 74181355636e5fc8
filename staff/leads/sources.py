"""The page of sources, which are created on first use."""

from django.contrib import admin

from leads.models import Source
from organizations.permissions import Area
from staff.toolkit.tenant import TenantAdmin


@admin.register(Source)
class SourceAdmin(TenantAdmin):
    empty_text = "They appear when leads come in: from opt-ins with a UTM source, and from bookings."
    area = Area.RECORDS
    can_add = can_change = False
    list_display = ("name", "created_at")
    search_fields = ("name",)
    fields = ("name", "created_at")
