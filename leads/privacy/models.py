"""Requests to erase leads, and when an organization's leads are erased without one."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q, UniqueConstraint

from foundation.db.timestamps import MillisecondDateTimeField, now
from organizations.actors import Actor, ActorFields, ActorKind
from organizations.isolation import TenantModel

RETENTION = Actor(ActorKind.SYSTEM, "", "Retention")
# Of requests: the retention's that no worker has begun. They are withdrawn if something happens to the lead.
IS_WITHDRAWABLE = Q(actor_kind=RETENTION.kind, actor_name=RETENTION.name, position__isnull=True, counts={})
MIN_DAYS, MAX_DAYS = 30, 3_650  # of a retention


class Erasure(TenantModel, ActorFields):
    """A request of the actor to erase a lead. A worker has to continue it until `finished_at` is set."""

    # Not a foreign key, because merging moves rows with one, and erasing deletes them.
    lead_id = models.UUIDField(editable=False)
    counts = models.JSONField(default=dict, editable=False)  # erased before the last transaction, by kind
    position = models.JSONField(null=True, editable=False)  # how far imported rows have been compared
    updated_at = MillisecondDateTimeField(default=now, editable=False)  # when it was requested, or failed last
    finished_at = MillisecondDateTimeField(null=True, editable=False)

    class Meta(TenantModel.Meta):
        ordering = ["-created_at", "-id"]
        constraints = [
            UniqueConstraint(
                fields=["organization", "lead_id"], condition=Q(finished_at=None), name="one_open_erasure_per_lead"
            )
        ]
        indexes = [models.Index(fields=["organization", "lead_id", "-created_at"], name="erasure_of_lead")]

    def __str__(self) -> str:
        return f"Erasure of {self.lead_id}"

    @property
    def waits_for_files(self) -> bool:
        """Whether the organization's files are read first. What people and keys request cancels imports instead."""
        return (self.actor_kind, self.actor_name) == (RETENTION.kind, RETENTION.name)


class ErasedReference(TenantModel):
    """A scheduler's or form builder's reference of an erased row: later states under it store nothing (L20)."""

    hash = models.UUIDField(editable=False)
    subject_id = models.UUIDField(editable=False)  # the appointment or opt-in, which stays without personal data

    class Meta(TenantModel.Meta):
        constraints = [UniqueConstraint(fields=["organization", "hash"], name="one_erased_reference")]

    def __str__(self) -> str:
        return f"Reference of {self.subject_id}"


class UndoneMerge(TenantModel):
    """A time in which events about another lead and its rows got values of the lead: a merge of both was undone."""

    lead_id = models.UUIDField(editable=False)  # not a foreign key, as above
    subject_ids = ArrayField(models.UUIDField(), editable=False)  # the other lead, and the rows that were moved
    began_at = MillisecondDateTimeField(editable=False)
    ended_at = MillisecondDateTimeField(editable=False)

    class Meta(TenantModel.Meta):
        indexes = [models.Index(fields=["lead_id"], name="undone_merge_of_lead")]

    def __str__(self) -> str:
        return f"Undone merge of {self.lead_id}"


class LeadRetention(TenantModel):
    """After how many days without activity an organization's leads are erased, and how far that has come."""

    days = models.PositiveSmallIntegerField(null=True, editable=False)  # null: they are kept
    next_run_at = MillisecondDateTimeField(editable=False)
    # The last lead that the present run has looked at, in the order of changes; null at its beginning.
    position_at = MillisecondDateTimeField(null=True, editable=False)
    position_id = models.UUIDField(null=True, editable=False)
    erased_on = models.DateField(null=True, editable=False)  # the last day (UTC) on which leads were erased
    erased_count = models.PositiveIntegerField(default=0, editable=False)  # on that day

    class Meta(TenantModel.Meta):
        constraints = [
            UniqueConstraint(fields=["organization"], name="one_retention_per_organization"),
            models.CheckConstraint(
                condition=Q(days__gte=MIN_DAYS, days__lte=MAX_DAYS), name="retention_is_30_to_3650_days"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.days} days" if self.days else "Kept"
