"""API keys."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from foundation.db.timestamps import MillisecondDateTimeField, now
from organizations.defaults import both_scopes
from organizations.isolation import TenantModel
from organizations.models.users import User


class Scope(models.TextChoices):
    READ = "read", "Read"
    WRITE = "write", "Write"


class ApiKey(TenantModel):
    """An API key: its public id and the SHA-256 of its secret, which can't be read again (docs/interface.md, K4)."""

    # Not secret: shown in the admin, and recorded as the actor of changes.
    key_id = models.CharField(max_length=12, unique=True, editable=False)
    secret_hash = models.BinaryField(max_length=32, editable=False)
    name = models.CharField(max_length=255)
    scopes = ArrayField(models.CharField(max_length=10, choices=Scope.choices), default=both_scopes)
    # A key outlives the account of the user who issued it.
    created_by = models.ForeignKey(
        User, null=True, blank=True, editable=False, on_delete=models.SET_NULL, related_name="+"
    )
    expires_at = MillisecondDateTimeField(null=True, blank=True)
    revoked_at = MillisecondDateTimeField(null=True, editable=False)
    last_used_at = MillisecondDateTimeField(null=True, editable=False)

    # The full key, on the instance that the admin has just issued. It is stored nowhere.
    text = ""

    class Meta(TenantModel.Meta):
        verbose_name = "API key"
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["organization", "-created_at"], name="key_newest")]

    def __str__(self) -> str:
        return f"{self.name} (pb_{self.key_id}_…)"

    @property
    def is_live(self) -> bool:
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now())
