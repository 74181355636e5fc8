"""Webhooks in the admin: endpoints, what was recorded, and what became of each delivery (decision 33)."""

import json
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import DropdownFilter, RangeDateFilter
from unfold.decorators import display
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminSplitDateTimeWidget

from organizations.actors import staff_actor
from organizations.admin.actions import ConfirmationForm, object_action, secret_page
from organizations.admin.base import ReadOnlyInline, validate_year
from organizations.admin.tenant import TenantAdmin, TenantForm
from organizations.permissions import Area, current_user
from pipeline_backend.outbox.models import State
from webhooks.admin_health import render
from webhooks.models import Attempt, Delivery, Endpoint, Event
from webhooks.replays import count_pending_replays, recent_progress, replay, replay_all, replay_since
from webhooks.services import add_endpoint, change_endpoint, rotate_secret, send_test
from webhooks.topics import TEST, topics

SIGNING = "Receivers check each delivery's signature with this secret. It is shown this once: keep it now, where only your receiver can read it."
MISSED = (
    "Send everything of a time that this endpoint has not got: what failed, and what happened while it was disabled."
)
ALL_WANTED = "None chosen: all that the endpoint wants."
STATE_COLORS = {
    State.PENDING.label: "info",
    State.DONE.label: "success",
    State.DEAD.label: "danger",
    State.CANCELED.label: "warning",
}


def as_json(text: str) -> SafeString:
    """JSON, indented and escaped."""
    return format_html('<pre class="json-body">{}</pre>', json.dumps(json.loads(text), indent=2, ensure_ascii=False))


class EndpointForm(TenantForm):
    """A receiver; none of the types chosen means all of them."""

    event_types = forms.MultipleChoiceField(
        required=False, widget=UnfoldAdminCheckboxSelectMultipleWidget, help_text="None chosen: all of them."
    )

    class Meta:
        model = Endpoint
        fields = ()
        help_texts = {
            "url": "A public https address.",
            "is_active": "Disabling stops deliveries; enabling starts them anew.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "event_types" in self.fields:
            types: Any = self.fields["event_types"]
            types.choices = [(name, f"{name}: {kind.summary}") for name, kind in topics().items()]


class RangeForm(ConfirmationForm):
    """A time, and types; none of them chosen means all that the endpoint wants."""

    since = forms.SplitDateTimeField(widget=UnfoldAdminSplitDateTimeWidget, validators=[validate_year])
    until = forms.SplitDateTimeField(
        required=False, widget=UnfoldAdminSplitDateTimeWidget, validators=[validate_year], help_text="Empty: until now."
    )
    types = forms.MultipleChoiceField(
        required=False, widget=UnfoldAdminCheckboxSelectMultipleWidget, label="Only these types", help_text=ALL_WANTED
    )

    def __init__(self, *args: Any, subject: Endpoint, **kwargs: Any) -> None:
        super().__init__(*args, subject=subject, **kwargs)
        types: Any = self.fields["types"]
        self.fields["since"].initial = subject.disabled_at or subject.failing_since
        types.choices = [(name, name) for name in subject.event_types or topics() if name != TEST.name]


def is_active(endpoint: Endpoint) -> bool:
    """Whether anything is sent to it."""
    return endpoint.is_active


@admin.register(Endpoint)
class EndpointAdmin(TenantAdmin):
    """Receivers of events."""

    area = Area.CONNECTIONS
    form = EndpointForm
    list_display = ("__str__", "url", "is_active", "failures", "last_success_at", "disabled_reason")
    list_filter = ("is_active",)
    search_fields = ("url", "description")
    actions_detail = ("send_test", "replay_missed", "rotate_secret")
    facts = [
        ("failures", "timeouts", "failing_since"),
        ("last_success_at", "disabled_reason", "disabled_at"),
        ("replays_left", "previous_secret_until"),
    ]
    readonly_fields = ("recently", "replays", *(name for line in facts for name in line))
    health = ("Health", {"fields": ["recently", *facts]})
    replayed = ("Replays", {"fields": ["replays"]})

    class Media:
        js = ("webhooks/replays.js",)

    def get_fieldsets(self, request: HttpRequest, obj: Endpoint | None = None) -> Any:
        """A new endpoint is active, and has no health yet."""
        if obj is None:
            return [(None, {"fields": ["url", "description", "event_types"]})]
        return [(None, {"fields": ["url", "description", "is_active", "event_types"]}), self.health, self.replayed]

    def get_urls(self) -> Any:
        """With the part of the page that moves."""
        view = self.admin_site.admin_view(self.replays_view)
        return [path("<path:object_id>/replays/", view, name="webhooks_endpoint_replays"), *super().get_urls()]

    def replays_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """That part alone, for who sees the page."""
        endpoint = self.get_object(request, unquote(object_id))
        if endpoint is None or not self.has_view_permission(request, endpoint):
            raise Http404
        return HttpResponse(self.replays(endpoint), headers={"Cache-Control": "no-store"})

    @admin.display(description="The last ones")
    def replays(self, endpoint: Endpoint) -> str:
        """Who asked for what, and how far it is."""
        found = recent_progress(endpoint)
        source = reverse("admin:webhooks_endpoint_replays", args=[endpoint.pk])
        return render_to_string(
            "webhooks/replays.html", {"replays": found, "source": source, "is_moving": any(one.left for one in found)}
        )

    def save_model(self, request: HttpRequest, obj: Endpoint, form: Any, change: bool) -> None:
        """Through the services; a new one's secret is kept for the answer alone."""
        data = form.cleaned_data
        told: dict[str, Any] = {"url": data["url"], "description": data["description"], "types": data["event_types"]}
        if change:
            change_endpoint(endpoint=obj, is_active=data["is_active"], **told)
            return
        endpoint, vars(request)["secret"] = add_endpoint(organization=form.organization, **told)
        obj.pk = endpoint.pk

    def response_add(self, request: HttpRequest, obj: Endpoint, post_url_continue: Any = None) -> HttpResponse:
        """The secret, once."""
        return secret_page(
            self,
            request,
            obj,
            title="The new endpoint's signing secret",
            explanation=SIGNING,
            secret=vars(request)["secret"],
        )

    @admin.display(description="Recently")
    def recently(self, endpoint: Endpoint) -> str:
        """Success and latency over a day and a week, and the last attempts as a sparkline."""
        return render(endpoint)

    @admin.display(description="Replays still to be sent")
    def replays_left(self, endpoint: Endpoint) -> int:
        """They wait behind fresh deliveries."""
        return count_pending_replays(endpoint)

    @object_action(
        "Send a test event", icon="send", question="Send a webhook.test event to this endpoint alone?", when=is_active
    )
    def send_test(self, request: HttpRequest, endpoint: Endpoint, form: Any) -> None:
        """To see whether the receiver answers: the delivery tells."""
        send_test(endpoint=endpoint, actor=staff_actor(current_user(request)))

    @object_action("Send what was missed", icon="history", question=MISSED, form=RangeForm, when=is_active)
    def replay_missed(self, request: HttpRequest, endpoint: Endpoint, form: Any) -> None:
        """After a failure of the receiver."""
        count = replay_since(endpoint=endpoint, actor=staff_actor(current_user(request)), **form.cleaned_data)
        messages.success(request, f"{count} deliveries are on their way.")

    @object_action(
        "Rotate the secret",
        icon="autorenew",
        question="Make a new signing secret? The old one signs beside it for 24 hours.",
    )
    def rotate_secret(self, request: HttpRequest, endpoint: Endpoint, form: Any) -> HttpResponse:
        """The new secret, once."""
        secret = rotate_secret(endpoint=endpoint)
        return secret_page(
            self, request, endpoint, title="The endpoint's new signing secret", explanation=SIGNING, secret=secret
        )


class TypeFilter(DropdownFilter):
    """Events of one type."""

    title = "type"
    parameter_name = "type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The catalogue's types."""
        return [(name, name) for name in topics()]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """Those events, or all."""
        return queryset.filter(type=self.value()) if self.value() else queryset


class DeliveryInline(ReadOnlyInline):
    """Where an event went."""

    model = Delivery
    fields = ("endpoint", "state", "attempt_count", "last_error", "next_attempt_at", "finished_at", "link")

    def get_queryset(self, request: HttpRequest) -> Any:
        """With what a row's name needs."""
        return super().get_queryset(request).select_related("event", "endpoint")


@admin.register(Event)
class EventAdmin(TenantAdmin):
    """What happened, as every receiver is told it."""

    area = Area.RECORDS
    can_add = can_change = False
    list_display = ("type", "actor_name", "actor_kind", "subject_id", "created_at")
    list_filter = (TypeFilter, "actor_kind", ("created_at", RangeDateFilter))
    search_fields = ("=id", "=subject_id", "=request_id", "actor_name")
    search_help_text = "An id of the event, its subject or its request, or who caused it"
    fields = (("type", "created_at"), ("actor_name", "actor_kind"), ("id", "subject_id"), "request_id", "content")
    readonly_fields = ("content", "id")

    class Media:
        css = {"all": ("webhooks/bodies.css",)}

    def get_inlines(self, request: HttpRequest, obj: Event | None) -> Any:
        """Deliveries are for those who look after connections."""
        deliveries = self.admin_site.get_model_admin(Delivery)
        return (DeliveryInline,) if deliveries.has_view_permission(request, obj) else ()

    @admin.display(description="Body")
    def content(self, event: Event) -> SafeString:
        """Readable."""
        return as_json(event.body)


class AttemptInline(ReadOnlyInline):
    """Each try of a delivery."""

    model = Attempt
    fields = ("created_at", "status_code", "error", "duration_ms", "response", "request_head", "is_stale")


def was_tried(delivery: Delivery) -> bool:
    """Whether it can be replayed."""
    return delivery.state != State.PENDING or delivery.attempt_count > 0


@admin.register(Delivery)
class DeliveryAdmin(TenantAdmin):
    """Events on their way to endpoints; what was tried can be sent again."""

    area = Area.CONNECTIONS
    can_add = False
    list_display = (
        "event_type",
        "endpoint",
        "state_label",
        "attempt_count",
        "last_error",
        "next_attempt_at",
        "finished_at",
        "created_at",
    )
    select_related = ("event", "endpoint")
    list_filter = ("state", "endpoint", ("created_at", RangeDateFilter))
    search_fields = ("=event__id", "=event__subject_id", "endpoint__url", "last_error")
    search_help_text = "An id of the event or its subject, the endpoint's URL, or the error"
    actions = ("replay_selected",)
    actions_detail = ("replay",)
    inlines = (AttemptInline,)
    facts = (
        ("event", "endpoint"),
        ("state", "attempt_count"),
        ("last_error", "next_attempt_at"),
        ("created_at", "finished_at"),
    )
    fields = (*facts, "content")
    readonly_fields = ("content", *(name for line in facts for name in line))

    class Media:
        css = {"all": ("webhooks/bodies.css",)}

    @admin.display(description="Body, as sent")
    def content(self, delivery: Delivery) -> SafeString:
        """Readable; the heads of the requests are with the attempts."""
        return as_json(delivery.event.body)

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        """There is nothing to save."""
        hidden = {"show_save": False, "show_save_and_continue": False}
        return super().changeform_view(request, object_id, form_url, {**(extra_context or {}), **hidden})

    def save_model(self, request: HttpRequest, obj: Delivery, form: Any, change: bool) -> None:
        """Nothing: every field is only shown."""

    @admin.display(description="Event", ordering="event__type")
    def event_type(self, delivery: Delivery) -> str:
        """The event's type."""
        return delivery.event.type

    @display(description="State", ordering="state", label=STATE_COLORS)  # type: ignore[untyped-decorator]
    def state_label(self, delivery: Delivery) -> str:
        """As a colored label."""
        return delivery.get_state_display()

    @object_action(
        "Replay", icon="replay", question="Send this delivery again, under the same webhook-id?", when=was_tried
    )
    def replay(self, request: HttpRequest, delivery: Delivery, form: Any) -> None:
        """Once more from the start."""
        replay(delivery=delivery)

    @admin.action(description="Replay the selected deliveries", permissions=["change"])
    def replay_selected(self, request: HttpRequest, rows: Any) -> None:
        """Several once more: also all that a filter finds."""
        done, asked, disabled = 0, rows.count(), rows.filter(endpoint__is_active=False).count()
        for one in rows.order_by("organization_id").distinct("organization_id"):
            if self.has_change_permission(request, one):
                done += replay_all(organization=one.organization, actor=staff_actor(current_user(request)), chosen=rows)
        if done:
            messages.success(
                request, f"{done} deliveries are on their way; their endpoints' pages tell how far they are."
            )
        if disabled:
            messages.warning(request, f"{disabled} belong to an endpoint that is disabled: enable it, then replay.")
        if done + disabled < asked:
            messages.warning(request, f"{asked - done - disabled} are on their way just now.")
