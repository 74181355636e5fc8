"""Requests to erase leads."""

from django.db import models
from django.db.models import Q, UniqueConstraint

from foundation.db.timestamps import MillisecondDateTimeField, now
from organizations.actors import ActorFields
from organizations.isolation import TenantModel


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
