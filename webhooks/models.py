"""Events, and their endpoints, deliveries, attempts and replays.

The rules are in docs/interface.md, section "Events and webhooks".
"""

from typing import Any, ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q, UniqueConstraint

from foundation.db.encryption import EncryptedField
from foundation.db.expressions import CurrentXactId, SnapshotXmin
from foundation.db.timestamps import MillisecondDateTimeField, now
from foundation.outbox import Job, State
from organizations.actors import ActorFields
from organizations.isolation import TenantForeignKey, TenantModel, TenantQuerySet, tenant_manager
from organizations.models import ApiKey


class EventQuerySet(TenantQuerySet):
    def visible(self) -> "EventQuerySet":
        """Return the events that no earlier one can still precede, in the order of the list (oldest first)."""
        # Ids are made before the commit, so of two simultaneous events the one with the later id can become visible
        # first, and a client that passes it as `after` would miss the other. Ordered by transaction, and limited to
        # transactions older than every running one, no event can appear before one that was already returned.
        return self.filter(transaction__lt=SnapshotXmin()).order_by("transaction", "id")

    def after(self, event: "Event") -> "EventQuerySet":
        following = Q(transaction__gt=event.transaction) | Q(transaction=event.transaction, id__gt=event.id)
        # The second condition follows from the first. It tells PostgreSQL where to begin in the index.
        return self.filter(following, transaction__gte=event.transaction)


class Event(TenantModel, ActorFields):
    """A recorded change. Its body is stored as text, so that every delivery and retry sends the same bytes."""

    type = models.CharField(max_length=60, editable=False)
    # Not a foreign key: the subject's model depends on the topic.
    subject_id = models.UUIDField(null=True, editable=False)
    body = models.TextField(editable=False)
    request_id = models.CharField(max_length=128, editable=False)
    # The id of the PostgreSQL transaction that recorded the event: the list is ordered by it.
    transaction = models.BigIntegerField(db_default=CurrentXactId(), editable=False)

    objects: ClassVar[Any] = tenant_manager(EventQuerySet)
    unscoped: ClassVar[Any] = EventQuerySet.as_manager()

    class Meta(TenantModel.Meta):
        ordering = ["-created_at", "-id"]
        indexes = [
            models.Index(fields=["organization", "transaction", "id"], name="event_feed"),
            models.Index(fields=["organization", "type", "transaction", "id"], name="event_feed_of_type"),
            models.Index(fields=["organization", "subject_id"], name="event_subject"),
            models.Index(fields=["organization", "-created_at", "-id"], name="event_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.id}"


class Endpoint(TenantModel):
    """A URL that receives an organization's events: those of the topics in `event_types`, or all if it is empty.

    A success resets `failures`, `timeouts` and `failing_since`. A deleted one keeps its row until its deliveries are
    pruned, because a worker may be sending one of them.
    """

    url = models.CharField("URL", max_length=2048)
    description = models.CharField(max_length=255, blank=True)
    event_types = ArrayField(
        models.CharField(max_length=60), default=list, blank=True, help_text="Choose none to receive all event types."
    )
    is_active = models.BooleanField(default=True)
    disabled_reason = models.CharField(max_length=255, blank=True, editable=False)
    api_key = TenantForeignKey(
        ApiKey,
        null=True,
        editable=False,
        on_delete=models.PROTECT,
        related_name="+",
        verbose_name="API key",
        help_text="The key that made the endpoint, or replaced the one that did; none for staff's.",
    )
    metadata = models.JSONField(default=dict, db_default={}, editable=False)
    deleted_at = MillisecondDateTimeField(null=True, editable=False)
    secret = EncryptedField(editable=False)
    previous_secret = EncryptedField(null=True, editable=False)
    previous_secret_until = MillisecondDateTimeField(null=True, editable=False)
    failing_since = MillisecondDateTimeField(null=True, editable=False)
    failures = models.PositiveIntegerField("failures in a row", default=0, editable=False)
    timeouts = models.PositiveIntegerField("slow attempts in a row", default=0, editable=False)
    last_success_at = MillisecondDateTimeField(null=True, editable=False)
    disabled_at = MillisecondDateTimeField(null=True, editable=False)
    paused_until = MillisecondDateTimeField(
        null=True,
        editable=False,
        help_text="Paused until then: the host has reached its limit of requests per minute.",
    )
    owners_notified_at = MillisecondDateTimeField(
        null=True,
        editable=False,
        db_column="told_at",
        help_text="When the owners were last notified that this endpoint is failing or disabled.",
    )

    class Meta(TenantModel.Meta):
        ordering = ["created_at", "id"]
        indexes = [models.Index(fields=["organization", "created_at"], name="endpoint_of_organization")]

    def __str__(self) -> str:
        return self.description or self.url

    def signing_secrets(self) -> list[str]:
        """Return the current secret, and for 24 hours after a rotation the previous one too."""
        previous, until = self.previous_secret, self.previous_secret_until
        return [self.secret, previous] if previous and until and until > now() else [self.secret]


class ReceivingHost(TenantModel):
    """A host of an organization's endpoints, and the requests that its limit counts (`receiving_host_limit.py`).

    `recent` has pairs of a second (since 1970, by the database's clock) and the deliveries claimed in it.
    """

    host = models.CharField(max_length=255, editable=False)
    recent = models.JSONField(default=list, editable=False)
    used_at = MillisecondDateTimeField(default=now, editable=False)

    class Meta(TenantModel.Meta):
        constraints = [UniqueConstraint(fields=["organization", "host"], name="one_row_per_receiving_host")]

    def __str__(self) -> str:
        return self.host


class Replay(TenantModel, ActorFields):
    """A request to send deliveries to one endpoint again: those missed in a period, or selected ones.

    `since` and `until` are empty for selected deliveries. A delivery points at its latest replay.
    """

    endpoint = TenantForeignKey(
        Endpoint, on_delete=models.CASCADE, related_name="replays", db_index=False, editable=False
    )
    since = MillisecondDateTimeField(null=True, editable=False)
    until = MillisecondDateTimeField(null=True, editable=False)
    event_types = ArrayField(models.CharField(max_length=60), default=list, blank=True, editable=False)
    count = models.PositiveIntegerField(default=0, editable=False, help_text="Number of deliveries replayed.")

    class Meta(TenantModel.Meta):
        ordering = ["-created_at", "-id"]
        indexes = [models.Index(fields=["endpoint", "-created_at", "-id"], name="replay_of_endpoint")]

    def __str__(self) -> str:
        return f"Replay by {self.actor_name}"


class Delivery(TenantModel, Job):
    # No index of their own for the foreign keys: the constraint and the indexes below begin with them.
    event = TenantForeignKey(Event, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    endpoint = TenantForeignKey(Endpoint, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    replay = TenantForeignKey(
        Replay, null=True, on_delete=models.SET_NULL, related_name="deliveries", db_index=False, editable=False
    )

    class Meta(TenantModel.Meta):
        verbose_name_plural = "deliveries"
        ordering = ["-created_at", "-id"]
        constraints = [UniqueConstraint("event", "endpoint", name="one_delivery_per_event_and_endpoint")]
        indexes = [
            # The order in which deliveries are claimed: new ones before replays.
            models.Index(
                fields=["endpoint", "is_replay", "next_attempt_at", "id"],
                condition=Q(state=State.PENDING),
                name="delivery_next",
            ),
            models.Index(fields=["organization", "-created_at", "-id"], name="delivery_newest"),
            # For the dashboard, which counts them, among millions of others.
            models.Index(
                fields=["organization", "-created_at", "-id"], condition=Q(state=State.DEAD), name="delivery_dead"
            ),
            models.Index(fields=["endpoint", "-created_at", "-id"], name="delivery_of_endpoint"),
            models.Index(fields=["replay", "state"], condition=Q(replay__isnull=False), name="delivery_of_replay"),
        ]

    def __str__(self) -> str:
        return f"{self.event.type} to {self.endpoint}"


class Attempt(TenantModel):
    delivery = TenantForeignKey(Delivery, on_delete=models.CASCADE, related_name="attempts", db_index=False)
    duration_ms = models.PositiveIntegerField("duration (ms)")
    status_code = models.PositiveIntegerField(null=True)
    error = models.CharField(max_length=40, blank=True)
    request_head = models.TextField(blank=True, help_text="The request as it was sent, without its body.")
    response = models.TextField(blank=True, help_text="The first 4 KiB of the response.")
    is_stale = models.BooleanField(
        default=False, help_text="Another worker had taken over the delivery, so this result changed nothing."
    )

    class Meta(TenantModel.Meta):
        ordering = ["created_at", "id"]
        indexes = [
            models.Index(fields=["delivery", "created_at"], name="attempt_of_delivery"),
            models.Index(fields=["organization", "-created_at"], name="attempt_newest"),
        ]

    def __str__(self) -> str:
        return self.error or str(self.status_code)
