"""The admin page of the security log: everyone sees their own account's events, owners those of their organizations."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.contrib.filters.admin import ChoicesDropdownFilter

from organizations.models import SecurityEvent
from organizations.permissions import OWNERS_ONLY, current_user, is_operator, organizations_with_role
from organizations.security_log import visible_security_events
from staff.toolkit.base import ServiceAdmin
from staff.toolkit.lists import DayRangeFilter


@admin.register(SecurityEvent)
class SecurityEventAdmin(ServiceAdmin):
    empty_text = "It shows sign-ins, and changes to passwords, members and keys."
    can_add = can_change = False
    list_display = ("created_at", "kind", "user", "actor", "details", "address", "user_agent", "organization")
    list_select_related = ("user", "actor", "organization")
    list_filter = (("kind", ChoicesDropdownFilter), ("created_at", DayRangeFilter))
    search_fields = ("user__email", "address", "details")
    search_help_text = "E-mail of the account, address or details"
    fields = (("created_at", "kind"), ("user", "actor"), "details", ("address", "user_agent"), "organization")

    def get_queryset(self, request: HttpRequest) -> QuerySet[SecurityEvent]:
        rows: QuerySet[SecurityEvent] = super().get_queryset(request)
        if is_operator(request):
            return rows
        return rows & visible_security_events(current_user(request), organizations_with_role(request, OWNERS_ONLY))

    def has_view_permission(self, request: HttpRequest, obj: SecurityEvent | None = None) -> bool:
        return True  # `get_queryset` limits the rows
