"""The pages of deliveries and their attempts, from which deliveries are replayed (docs/interface.md, W23)."""

import json

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import pluralize

from foundation.outbox import State
from organizations.permissions import Area
from staff.toolkit.actions import ConfirmationForm, actor_of, object_action
from staff.toolkit.base import ReadOnlyInline, format_json, state_label
from staff.toolkit.lists import DayRangeFilter, column, time_column
from staff.toolkit.newest_search import HELP, NewestSearchAdmin
from webhooks.models import Attempt, Delivery
from webhooks.replays import MAX_REPLAYED, replay, replay_all


class AttemptInline(ReadOnlyInline):
    model = Attempt
    fields = ("created_at", "status_code", "error", "duration_ms", "response", "request_head", "is_stale")


@admin.register(Delivery)
class DeliveryAdmin(NewestSearchAdmin):
    empty_text = "Add a webhook endpoint; one delivery is created per subscribed event."
    area = Area.CONNECTIONS
    can_add = False
    is_read_only = True
    list_display = ("topic", "endpoint", state_label, "attempt_count", "last_error", "next_attempt", "created")
    formatted_body = column("Body", lambda delivery: format_json(json.loads(delivery.event.body)))
    topic = column("Event", lambda delivery: delivery.event.type, ordering="event__type")
    next_attempt = time_column("next_attempt_at", "Next attempt")
    created = time_column("created_at", "Created")
    select_related = ("event", "endpoint")
    long_columns = ("event__body",)
    list_filter = ("state", "endpoint", ("created_at", DayRangeFilter))
    search_fields = ("=event__id", "=event__subject_id", "endpoint__url", "last_error")
    id_lookups = ("event__id", "event__subject_id")
    search_help_text = f"Search by the ID of the event or its subject, the endpoint's URL, or the error. {HELP}"
    actions = ("replay_selected",)
    actions_detail = ("replay",)
    inlines = (AttemptInline,)
    fields = (
        ("event", "endpoint"),
        ("state", "attempt_count"),
        ("last_error", "next_attempt_at"),
        ("created_at", "finished_at"),
        "formatted_body",
    )

    @object_action(
        "Replay",
        icon="replay",
        question="Send this delivery again, with the same webhook-id?",
        is_possible=lambda delivery: delivery.state != State.PENDING or delivery.attempt_count > 0,
    )
    def replay(self, request: HttpRequest, delivery: Delivery, form: ConfirmationForm) -> None:
        replay(delivery=delivery)

    @admin.action(description="Replay the selected deliveries", permissions=["change"])
    def replay_selected(self, request: HttpRequest, rows: QuerySet[Delivery]) -> None:
        actor = actor_of(request)
        selected, disabled, queued = rows.count(), rows.filter(endpoint__is_active=False).count(), 0
        # One replay per organization: the selection can be large, so only one row of each is loaded here.
        for example in rows.order_by("organization_id").distinct("organization_id"):
            if self.has_change_permission(request, example):
                queued += replay_all(organization=example.organization, actor=actor, deliveries=rows)
        if queued:
            text = f"{queued} deliver{pluralize(queued, 'y,ies')} queued. Follow progress on the endpoint page."
            messages.success(request, text)
        if disabled:
            messages.warning(request, f"Skipped {disabled}: the endpoint is disabled. Enable it, then replay.")
        if queued >= MAX_REPLAYED:
            messages.warning(request, f"Up to {MAX_REPLAYED} are sent again at once. Replay again for more.")
        elif queued + disabled < selected:
            messages.warning(request, f"Skipped {selected - queued - disabled}: already in progress.")
