"""The pages of events, which show each event's body and deliveries."""

import json

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import DropdownFilter

from organizations.permissions import Area
from staff.toolkit.base import ReadOnlyInline, format_json
from staff.toolkit.lists import DayRangeFilter, column
from staff.toolkit.newest_search import HELP, NewestSearchAdmin
from webhooks.models import Delivery, Event
from webhooks.topics import topics


class TopicFilter(DropdownFilter):
    title = "type"
    parameter_name = "type"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [(name, name) for name in topics()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Event]) -> QuerySet[Event]:
        return queryset.filter(type=self.value()) if self.value() else queryset

    def describe(self) -> str:
        return self.value() or ""


class DeliveryInline(ReadOnlyInline):
    model = Delivery
    fields = ("endpoint", "state", "attempt_count", "last_error", "next_attempt_at", "finished_at", "link")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Delivery]:
        # A delivery's name is made of both.
        return super().get_queryset(request).select_related("event", "endpoint").defer("event__body")


@admin.register(Event)
class EventAdmin(NewestSearchAdmin):
    empty_text = "Every change to leads and appointments adds one."
    area = Area.MESSAGES
    can_add = can_change = False
    long_columns = ("body",)
    list_display = ("type", "actor_name", "actor_kind", "subject_id", "created_at")
    formatted_body = column("Body", lambda event: format_json(json.loads(event.body)))
    list_filter = (TopicFilter, "actor_kind", ("created_at", DayRangeFilter))
    search_fields = ("=id", "=subject_id", "=request_id", "actor_name")
    id_lookups = ("id", "subject_id")
    search_help_text = f"Search by the ID of the event, its subject or its request, or by who caused it. {HELP}"
    fields = (
        ("type", "created_at"),
        ("actor_name", "actor_kind"),
        ("id", "subject_id"),
        "request_id",
        "formatted_body",
    )
    readonly_fields = ("formatted_body", "id")

    def get_inlines(self, request: HttpRequest, obj: Event | None) -> tuple[type[DeliveryInline], ...]:
        # More roles may view events than deliveries.
        return (DeliveryInline,) if self.admin_site.get_model_admin(Delivery).has_view_permission(request, obj) else ()
