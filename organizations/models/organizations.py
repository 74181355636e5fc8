"""Organizations, their API keys, and the number of their rows."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import UniqueConstraint
from uuid_utils.compat import uuid7

from foundation.db.encryption import EncryptedField
from foundation.db.timestamps import MillisecondDateTimeField, now
from organizations.defaults import both_scopes
from organizations.isolation import TenantForeignKey, TenantModel
from organizations.models.users import User


class Move(models.TextChoices):
    """Why an organization that is being moved is not active (`pipeline_backend.moving`)."""

    OUT = "OUT", "Being moved to another installation"
    IN = "IN", "Being imported"


class Organization(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=255)
    is_active = models.BooleanField(
        default=True, help_text="API keys and members of an inactive organization are refused."
    )
    default_country = models.CharField(
        max_length=2,
        default="US",
        help_text="Two-letter ISO country code; phone numbers without + are read as numbers of this country.",
    )
    time_zone = models.CharField(
        max_length=64,
        default="UTC",
        db_default="UTC",
        help_text="IANA name, such as Europe/Berlin. New members begin with it, and integrations can read it.",
    )
    # Set only while it is not active. Requests with its keys then get 503 instead of 401, so that clients repeat them.
    move = models.CharField(max_length=3, choices=Move.choices, blank=True, default="", db_default="", editable=False)
    is_test = models.BooleanField("test organization", default=False, db_default=False, editable=False)
    rate_limit_per_minute = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Requests per minute for all API keys together. Leave empty for the server's default.",
    )
    requires_two_factor = models.BooleanField(
        "requires two-factor sign-in",
        default=False,
        db_default=False,
        help_text="Members who have not set it up are asked to, before they see any other page.",
    )
    # The e-mails of one day (UTC), and until when no more are sent; see notifications/daily_limit.py.
    mail_count = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    mail_count_date = models.DateField(null=True, editable=False)
    mail_paused_until = MillisecondDateTimeField(null=True, editable=False)
    lead_mail_count = models.PositiveIntegerField(default=0, db_default=0, editable=False)  # of that day, to leads
    mention_mail_count = models.PositiveIntegerField(default=0, db_default=0, editable=False)  # of that day
    slack_url = EncryptedField(
        "Slack webhook URL",
        blank=True,
        default="",
        help_text="Incoming webhook that also gets appointment notifications.",
    )
    created_at = MillisecondDateTimeField(default=now, editable=False)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Scope(models.TextChoices):
    READ = "read", "Read"
    WRITE = "write", "Write"
    WEBHOOKS = "webhooks", "Webhooks"
    SYNC = "sync", "Sync"
    ERASE = "erase", "Erase"


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
    # The newest key of those that rotations made of this one. It has the webhook endpoints of all of them.
    replaced_by = TenantForeignKey("self", null=True, editable=False, on_delete=models.PROTECT, related_name="+")

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


class StoredResponse(TenantModel):
    """The response to a request with an `Idempotency-Key`, for its repeats; without a body if a lead was erased."""

    key_hash = models.BinaryField(max_length=32, editable=False)
    request_hash = models.BinaryField(max_length=32, editable=False)
    status_code = models.PositiveSmallIntegerField(editable=False)
    headers = models.JSONField(editable=False)
    body = models.TextField(null=True, editable=False)
    ids = ArrayField(models.UUIDField(), editable=False)  # of the rows that the body names

    class Meta(TenantModel.Meta):
        constraints = [UniqueConstraint(fields=["organization", "key_hash"], name="one_response_per_key")]
        indexes = [
            models.Index(fields=["organization", "created_at"], name="response_oldest"),
            GinIndex(fields=["ids"], name="response_ids"),
        ]

    def __str__(self) -> str:
        return f"{self.status_code} at {self.created_at}"


class RowCount(TenantModel):
    """The number of an organization's rows in a table, in shards, so that concurrent writers rarely lock the same row.

    Triggers keep their sum exact.
    """

    id = None  # type: ignore[assignment]  # a number, which the database sets
    # CASCADE, unlike other tenant rows: counts alone must not keep an organization from being deleted.
    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="+", db_index=False)
    # The columns keep the names of an earlier release.
    table_name = models.CharField("table", max_length=63, editable=False, db_column="counted")
    shard = models.PositiveSmallIntegerField(editable=False, db_column="part")
    rows = models.BigIntegerField(editable=False)

    class Meta(TenantModel.Meta):
        constraints = [UniqueConstraint("organization", "table_name", "shard", name="one_count_per_table_and_part")]

    def __str__(self) -> str:
        return f"{self.rows} of {self.table_name}"
