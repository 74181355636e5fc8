"""Requests to erase leads."""

from django.db import models
from django.db.models import Q, UniqueConstraint

from organizations.actors import ActorFields
from organizations.isolation import TenantModel
from pipeline_backend.db.timestamps import MillisecondDateTimeField, now


class Erasure(TenantModel, ActorFields):
    """A request to erase a lead. The actor has made it. Until `finished_at` a worker has something to do."""

    # Not a foreign key: it has to stay as it is when rows of the lead move or go.
    lead_id = models.UUIDField(editable=False)
    counts = models.JSONField(default=dict, editable=False)  # the rows that were erased before the last transaction
    updated_at = MillisecondDateTimeField(default=now, editable=False)
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
