"""The pages of endpoints: settings, health and replays (docs/interface.md, W8 and W23)."""

from operator import attrgetter
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.defaultfilters import pluralize
from django.template.loader import render_to_string
from django.urls import URLPattern, path, reverse

from accounts.pages import secret_page
from organizations.permissions import Area
from organizations.services import lock_organization
from staff.connections.health import render_health
from staff.toolkit.actions import ConfirmationForm, actor_of, object_action, row_url
from staff.toolkit.fields import CheckboxesField
from staff.toolkit.lists import column
from staff.toolkit.tenant import TenantAdmin, TenantForm
from staff.toolkit.times import TimestampField
from webhooks.models import Endpoint
from webhooks.replays import MAX_REPLAYED, count_pending_replays, recent_replays, replay_since
from webhooks.services import add_endpoint, change_endpoint, rotate_secret, send_test
from webhooks.topics import TEST, topics

IS_ACTIVE = attrgetter("is_active")  # a disabled endpoint gets neither tests nor replays
HEALTH_FIELDS = [
    ("failures", "timeouts", "failing_since"),
    ("last_success_at", "disabled_reason", "disabled_at"),
    ("pending_replays", "paused_until", "previous_secret_until"),
]


class EndpointForm(TenantForm):
    event_types = CheckboxesField(
        required=False,
        choices=lambda: [(name, f"{name}: {topic.summary}") for name, topic in topics().items()],
        help_text="Leave empty to receive all event types.",
    )

    class Meta:
        help_texts = {
            "url": "A public https URL.",
            "is_active": (
                "A disabled endpoint receives nothing. Enabling it clears its failures and sends pending deliveries."
            ),
            "paused_until": "Paused until then: the host has reached its limit of requests per minute.",
        }

    def lock_row(self) -> Model:
        lock_organization(self.organization)  # as `change_endpoint` does first
        return super().lock_row()


class ReplayMissedForm(ConfirmationForm):
    since = TimestampField()
    until = TimestampField(required=False, help_text="Leave empty to replay until now.")
    types = CheckboxesField(
        required=False,
        label="Only these event types",
        help_text="Leave empty to replay all event types that the endpoint receives.",
    )

    def __init__(self, *args: Any, subject: Endpoint, **kwargs: Any) -> None:
        super().__init__(*args, subject=subject, **kwargs)
        # The endpoint has most likely missed events since it failed or was disabled.
        self.fields["since"].initial = subject.disabled_at or subject.failing_since
        self.fields["types"].choices = [(name, name) for name in subject.event_types or topics() if name != TEST.name]


def show_secret(request: HttpRequest, endpoint: Endpoint, title: str, secret: str) -> HttpResponse:
    explanation = (
        "Receivers verify the signature of each delivery with this secret. It is shown only once: store it now, where "
        "only your receiver can read it."
    )
    return secret_page(request, endpoint, row_url(endpoint), title=title, explanation=explanation, secret=secret)


def rotation_question(endpoint: Endpoint) -> str:
    text = "Create a new signing secret? For 24 hours, deliveries are signed with the present one too."
    if len(endpoint.signing_secrets()) == 1:
        return text
    last = "The last rotation was less than 24 hours ago: receivers that have the secret from before it will refuse"
    return f"{text} {last} deliveries from now on."


@admin.register(Endpoint)
class EndpointAdmin(TenantAdmin):
    empty_text = "Add the URL of a system that should be notified about bookings and leads."
    area = Area.CONNECTIONS
    form = EndpointForm
    list_display = ("__str__", "url", "api_key", "is_active", "failures", "last_success_at", "disabled_reason")
    pending_replays = column("Pending replays", count_pending_replays)
    list_filter = ("is_active",)
    select_related = ("api_key",)
    search_fields = ("url", "description")
    actions_detail = ("send_test", "replay_missed", "rotate_secret")
    recent_attempts = staticmethod(render_health)
    readonly_fields = ("api_key", "recent_attempts", "replays", *(name for group in HEALTH_FIELDS for name in group))
    add_fieldsets = ((None, {"fields": ["url", "description", "event_types"]}),)
    fieldsets = (
        (None, {"fields": ["url", "description", "api_key", "is_active", "event_types"]}),
        ("Health", {"fields": ["recent_attempts", *HEALTH_FIELDS]}),
        ("Replays", {"fields": ["replays"]}),
    )

    class Media:
        js = ("staff/replays.js",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Endpoint]:
        return super().get_queryset(request).filter(deleted_at=None)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.replays_view)
        return [path("<path:object_id>/replays/", view, name="webhooks_endpoint_replays"), *super().get_urls()]

    def replays_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        endpoint = self.get_object(request, unquote(object_id))
        if endpoint is None or not self.has_view_permission(request, endpoint):
            raise Http404
        return HttpResponse(self.replays(endpoint), headers={"Cache-Control": "no-store"})

    @admin.display(description="Recent replays")
    def replays(self, endpoint: Endpoint) -> str:
        recent = recent_replays(endpoint)
        context = {
            "recent": recent,
            "source": reverse("admin:webhooks_endpoint_replays", args=[endpoint.pk]),
            "in_progress": any(replay.pending for replay in recent),
        }
        return render_to_string("staff/replays.html", context)

    def save_model(self, request: HttpRequest, obj: Endpoint, form: EndpointForm, change: bool) -> None:
        data = form.cleaned_data
        values = {name: data[name] for name in ("url", "description", "event_types")}
        if change:
            change_endpoint(endpoint=obj, is_active=data["is_active"], **values)
            return
        # `response_add` shows the secret.
        _, obj.secret = add_endpoint(organization=form.organization, id=obj.pk, **values)

    def response_add(self, request: HttpRequest, obj: Endpoint, post_url_continue: str | None = None) -> HttpResponse:
        return show_secret(request, obj, "The new endpoint's signing secret", obj.secret)

    @object_action(
        "Send test event",
        icon="send",
        question="Send a webhook.test event to this endpoint only?",
        is_possible=IS_ACTIVE,
    )
    def send_test(self, request: HttpRequest, endpoint: Endpoint, form: ConfirmationForm) -> None:
        send_test(endpoint=endpoint, actor=actor_of(request))

    @object_action(
        "Replay missed events",
        icon="history",
        question="Replay everything that this endpoint missed in a period: failed deliveries, and events recorded "
        "while it was disabled.",
        form=ReplayMissedForm,
        is_possible=IS_ACTIVE,
    )
    def replay_missed(self, request: HttpRequest, endpoint: Endpoint, form: ReplayMissedForm) -> None:
        count = replay_since(endpoint=endpoint, actor=actor_of(request), **form.cleaned_data)
        more = " Replay again for more: this is how many are sent again at once." if count == MAX_REPLAYED else ""
        messages.success(request, f"{count} deliver{pluralize(count, 'y,ies')} queued.{more}")

    @object_action(
        "Rotate signing secret",
        icon="autorenew",
        question=rotation_question,
        # A second rotation would end the overlap with the secret that receivers still have.
        state=attrgetter("previous_secret_until"),
        answer=lambda request, endpoint, secret: show_secret(
            request, endpoint, "The endpoint's new signing secret", secret
        ),
    )
    def rotate_secret(self, request: HttpRequest, endpoint: Endpoint, form: ConfirmationForm) -> str:
        return rotate_secret(endpoint=endpoint)
