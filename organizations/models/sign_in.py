"""Sessions, the factors of two-factor sign-in, and password resets."""

import base64
import re
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.db.models import Q, UniqueConstraint
from django.utils.module_loading import import_string
from django_otp.models import Device, ThrottlingMixin
from django_otp.oath import TOTP
from uuid_utils.compat import uuid7

from foundation.db.encryption import EncryptedField
from foundation.db.timestamps import MillisecondDateTimeField, now
from foundation.outbox import Job, State
from organizations.models.users import User


class Session(AbstractBaseSession):
    user = models.ForeignKey(User, null=True, on_delete=models.CASCADE, related_name="+", editable=False)

    @classmethod
    def get_session_store_class(cls) -> type[SessionBase]:
        return import_string(f"{settings.SESSION_ENGINE}.SessionStore")

    def __str__(self) -> str:
        # Without the key, because anyone who knows it is signed in.
        return f"Session of {self.user}"


class TotpDevice(ThrottlingMixin, Device):
    """An authenticator app (RFC 6238). Lock it to verify: a code works once, and a wrong one makes the next wait."""

    MAX_COUNTED_FAILURES = 10  # the longest wait is 2^9 seconds, so that wrong codes shut no one out for good

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=64, blank=True, default="", editable=False)
    key = EncryptedField()  # base32, as apps read it
    last_step = models.BigIntegerField(default=-1, editable=False)

    def __str__(self) -> str:
        return f"Authenticator app of {self.user}"

    def get_throttle_factor(self) -> int:
        return 1  # second after the first wrong code; each further one doubles the wait

    def throttle_increment(self, commit: bool = True) -> None:
        super().throttle_increment(commit=False)
        if self.throttling_failure_count > self.MAX_COUNTED_FAILURES:  # type: ignore[has-type]  # not in its base
            self.throttling_failure_count = self.MAX_COUNTED_FAILURES
        if commit:
            self.save()

    def verify_token(self, token: str) -> bool:
        """Return whether the code is right now, or was half a minute ago or will be then, and has not been used."""
        if not self.verify_is_allowed()[0]:
            return False
        totp = TOTP(base64.b32decode(self.key))
        if re.fullmatch("[0-9]{6}", token) and totp.verify(int(token), tolerance=1, min_t=self.last_step + 1):
            self.last_step = totp.t()
            self.throttle_reset()
            return True
        self.throttle_increment()
        return False


class RecoveryCode(models.Model):
    """The hash of a code that replaces the authenticator app once. It has 80 random bits, so SHA-256 suffices."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False)
    code_hash = models.CharField(max_length=64)
    used_at = MillisecondDateTimeField(null=True)

    class Meta:
        constraints = [UniqueConstraint("user", "code_hash", name="one_recovery_code_per_user")]

    def __str__(self) -> str:
        return f"Recovery code of {self.user}"


class PasswordReset(Job):
    """A request for a link to choose a new password, even if no account has the address; as a job, the e-mail.

    Or for a link that verifies the address.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    # The row itself, because a queue's jobs belong to groups that are served one by one.
    group = models.ForeignKey("self", on_delete=models.CASCADE, related_name="+")
    email = models.EmailField()
    # To verify the address of an account that asks for it while it is signed in.
    is_verification = models.BooleanField(default=False, db_default=False, editable=False)
    # The account that was mailed.
    user = models.ForeignKey(User, null=True, on_delete=models.CASCADE, related_name="+")
    created_at = MillisecondDateTimeField(default=now)
    link = ""  # set by the worker that mails it, and no column, because it is a secret

    objects: ClassVar[Any] = models.Manager()
    unscoped: ClassVar[Any] = models.Manager()  # the name that queues use

    class Meta:
        indexes = [
            models.Index(fields=["next_attempt_at"], condition=Q(state=State.PENDING), name="password_reset_due"),
            models.Index(fields=["created_at"], name="password_reset_oldest"),
        ]

    def __str__(self) -> str:
        return f"Password reset of {self.created_at:%Y-%m-%d %H:%M}"
