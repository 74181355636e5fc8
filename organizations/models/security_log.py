"""The security log, and the e-mails about its entries."""

from typing import Any, ClassVar

from django.db import models
from django.db.models import Q
from uuid_utils.compat import uuid7

from foundation.db.timestamps import MillisecondDateTimeField, now
from foundation.outbox import Job, State
from organizations.models.organizations import Organization
from organizations.models.users import User


class SecurityEventKind(models.TextChoices):
    SIGNED_IN = "signed_in", "Signed in"
    SIGN_IN_FAILED = "sign_in_failed", "Sign-in failed"
    SIGNED_OUT = "signed_out", "Signed out"
    SESSION_ENDED = "session_ended", "Session ended"
    PASSWORD_CHANGED = "password_changed", "Password changed"
    PASSWORD_RESET_REQUESTED = "password_reset_requested", "Password reset requested"
    PASSWORD_RESET = "password_reset", "Password reset"
    EMAIL_CHANGED = "email_changed", "E-mail address changed"
    EMAIL_VERIFIED = "email_verified", "E-mail address verified"
    TWO_FACTOR_ENABLED = "two_factor_enabled", "Two-factor sign-in enabled"
    TWO_FACTOR_DISABLED = "two_factor_disabled", "Two-factor sign-in disabled"
    TWO_FACTOR_RESET = "two_factor_reset", "Two-factor sign-in reset by an operator"
    TWO_FACTOR_FAILED = "two_factor_failed", "Wrong sign-in code"
    RECOVERY_CODE_USED = "recovery_code_used", "Recovery code used"
    RECOVERY_CODES_REPLACED = "recovery_codes_replaced", "Recovery codes replaced"
    INVITED = "invited", "Invited"
    INVITATION_ACCEPTED = "invitation_accepted", "Invitation accepted"
    INVITATION_DECLINED = "invitation_declined", "Invitation declined"
    INVITATION_WITHDRAWN = "invitation_withdrawn", "Invitation withdrawn"
    INVITATIONS_ALLOWED = "invitations_allowed", "Invitations allowed again"
    ROLE_CHANGED = "role_changed", "Role changed"
    MEMBER_DEACTIVATED = "member_deactivated", "Member deactivated"
    MEMBER_ACTIVATED = "member_activated", "Member activated"
    MEMBER_LEFT = "member_left", "Member left"
    ORGANIZATION_CHANGED = "organization_changed", "Organization changed"
    LEAD_ERASED = "lead_erased", "Lead erased"
    KEY_ISSUED = "key_issued", "API key issued"
    KEY_ROTATED = "key_rotated", "API key rotated"
    KEY_REVOKED = "key_revoked", "API key revoked"
    EXPORTED = "exported", "Rows exported"
    CALENDAR_ADDRESS_ISSUED = "calendar_address_issued", "Calendar address created"
    CALENDAR_ADDRESS_REVOKED = "calendar_address_revoked", "Calendar address revoked"


class SecurityEvent(models.Model):
    """An entry of the security log, never changed. No tenant row, because sign-ins belong to no organization."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    kind = models.CharField("event", max_length=30, choices=SecurityEventKind.choices, editable=False)
    organization = models.ForeignKey(
        Organization, null=True, on_delete=models.CASCADE, related_name="+", db_index=False, editable=False
    )
    # Whose account it is about; empty for events of an API key, or of an address without an account.
    user = models.ForeignKey(
        User, null=True, on_delete=models.CASCADE, related_name="+", db_index=False, editable=False
    )
    actor = models.ForeignKey(
        User,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        db_index=False,
        editable=False,
        verbose_name="by",
        help_text="Empty if nobody was signed in.",
    )
    details = models.CharField(max_length=300, blank=True, editable=False)
    address = models.CharField(
        max_length=64, blank=True, editable=False, help_text="IP address; for IPv6 the network. Empty for commands."
    )
    user_agent = models.CharField("browser", max_length=200, blank=True, editable=False)
    created_at = MillisecondDateTimeField("time", default=now, editable=False)

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [
            models.Index(fields=["organization", "-created_at", "-id"], name="security_event_organization"),
            models.Index(fields=["user", "-created_at", "-id"], name="security_event_user"),
            models.Index(fields=["created_at"], name="security_event_oldest"),
        ]

    def __str__(self) -> str:
        return self.get_kind_display()


class SecurityNotice(Job):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    event = models.OneToOneField(SecurityEvent, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False)
    email = models.EmailField(
        blank=True, db_default="", default="", help_text="Empty in rows from before this column: the account's address."
    )

    objects: ClassVar[models.Manager[Any]] = models.Manager()
    unscoped: ClassVar[models.Manager[Any]] = models.Manager()  # the name that queues use

    class Meta:
        indexes = [
            models.Index(
                fields=["user", "next_attempt_at"], condition=Q(state=State.PENDING), name="security_notice_due"
            )
        ]

    def __str__(self) -> str:
        return f"{self.event} to {self.user}"
