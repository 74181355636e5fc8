"""Organizations, users, their memberships, and API keys."""

import base64
import re
from typing import Any, ClassVar, Self

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.contrib.postgres.fields import ArrayField
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.base_session import AbstractBaseSession
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q, UniqueConstraint, Value
from django.db.models.functions import Lower
from django.utils.crypto import salted_hmac
from django.utils.module_loading import import_string
from django_otp.models import Device, ThrottlingMixin
from django_otp.oath import TOTP
from uuid_utils.compat import uuid7

from organizations.defaults import both_scopes, new_user_id
from organizations.isolation import TenantModel, TenantQuerySet, tenant_manager
from pipeline_backend.db.encryption import EncryptedField
from pipeline_backend.db.timestamps import MillisecondDateTimeField, isoformat_z, now
from pipeline_backend.outbox import Job, State


class Organization(models.Model):
    """A tenant. Every row of the other apps belongs to exactly one."""

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


class EmailQuerySet(models.QuerySet[Any]):
    """Finds rows by their e-mail address."""

    def with_email(self, email: str) -> Self:
        """Filter to rows with this address, compared exactly as the unique indexes of `Lower("email")` do."""
        # PostgreSQL lowers both sides. `iexact` would compare UPPER(), for which i and the dotless i are one letter.
        return self.alias(lowercase_email=Lower("email")).filter(lowercase_email=Lower(Value(email)))


class UserManager(BaseUserManager.from_queryset(EmailQuerySet)):  # type: ignore[misc]  # the stubs can't follow it
    """Creates users, who sign in by e-mail."""

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Create a user; without a password they can't sign in yet. The address is stored as typed."""
        user: User = self.model(email=email.strip(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Create an operator, who may do everything in every organization."""
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)

    def get_by_natural_key(self, username: str | None) -> "User":
        """Return the user with this e-mail, in any letter case."""
        user: User = self.with_email(username or "").get()
        return user


class User(AbstractBaseUser, PermissionsMixin):
    """A person who signs in by e-mail. What they may do comes from their memberships."""

    id = models.CharField(primary_key=True, max_length=64, default=new_user_id, editable=False)
    email = models.EmailField(unique=True)
    # When the person has proved that they read the address's mail; null for accounts whose address nobody has proved.
    email_verified_at = MillisecondDateTimeField("address verified", null=True, editable=False)
    first_name = models.CharField(max_length=255, blank=True)
    last_name = models.CharField(max_length=255, blank=True)
    profile_image_url = models.URLField(max_length=2048, null=True, blank=True)  # the API shows null
    time_zone = models.CharField(
        max_length=64,
        default="UTC",
        help_text="IANA name, such as Europe/Berlin. Times in the admin and in e-mail are shown in it.",
    )
    # Django's createsuperuser sets it. It decides nothing: memberships and `is_superuser` do.
    is_staff = models.BooleanField(default=False, editable=False)
    is_active = models.BooleanField(default=True)
    date_joined = MillisecondDateTimeField(default=now, editable=False)
    two_factor_enabled_at = MillisecondDateTimeField("two-factor sign-in since", null=True, editable=False)

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        ordering = ["email"]
        # E-mails are compared in any letter case but stored as entered.
        constraints = [UniqueConstraint(Lower("email"), name="one_user_per_email")]

    def __str__(self) -> str:
        return self.get_full_name()

    @classmethod
    def normalize_username(cls, username: str) -> str:
        """Return the address unchanged: Django would turn some letters into others."""
        return username

    def get_full_name(self) -> str:
        """Return the first and last name; without either, the e-mail."""
        return f"{self.first_name} {self.last_name}".strip() or self.email

    def get_session_auth_hash(self) -> str:
        """Return Django's hash, by which a changed password ends sessions; so does switching two-factor on or off."""
        hash = str(super().get_session_auth_hash())
        if self.two_factor_enabled_at is None:
            return hash
        # Without this, a session that began with the password alone would go on after two-factor is switched on.
        return salted_hmac("two-factor", f"{hash} {isoformat_z(self.two_factor_enabled_at)}").hexdigest()


class TotpDevice(ThrottlingMixin, Device):
    """A person's authenticator app, with which they prove themselves by a code (RFC 6238).

    Verifying changes the row: a code works once, and wrong codes make the next attempt wait. So lock it first.
    """

    MAX_COUNTED_FAILURES = 10  # the longest wait is 2^9 seconds, so that wrong codes shut nobody out for good

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=64, blank=True, default="", editable=False)
    key = EncryptedField()  # base32, as apps read it
    last_step = models.BigIntegerField(default=-1, editable=False)

    def __str__(self) -> str:
        return f"Authenticator app of {self.user}"

    def get_throttle_factor(self) -> int:
        """Return the seconds to wait after the first wrong code; each further one doubles them."""
        return 1

    def throttle_increment(self, commit: bool = True) -> None:
        """Count a wrong code; the wait before the next attempt grows with each."""
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


class MemberRole(models.TextChoices):
    """A member's role in the organization; `permissions` says what each may do."""

    OWNER = "OWNER", "Owner"
    MANAGER = "MANAGER", "Manager"
    SALES_OPS = "SALES_OPS", "Sales-ops"
    CLOSER = "CLOSER", "Closer"
    SETTER = "SETTER", "Setter"


class Membership(TenantModel):
    """A user in an organization, with a role. Hosts, setters and triagers are members."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    # PROTECT: former members stay, because appointments and notes refer to them.
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=20, choices=MemberRole.choices, default=MemberRole.CLOSER)
    is_active = models.BooleanField(default=True)
    wants_mail = models.BooleanField(
        "wants notifications", default=True, help_text="E-mail about booked, rescheduled and canceled appointments."
    )

    class Meta(TenantModel.Meta):
        ordering = ["user__first_name", "user__last_name", "id"]
        constraints = [UniqueConstraint("organization", "user", name="one_membership_per_user")]

    def __str__(self) -> str:
        return self.user.get_full_name()


class Session(AbstractBaseSession):
    """A session of the admin, with its user, so that people can see and end their own (organizations/sessions.py)."""

    user = models.ForeignKey(User, null=True, on_delete=models.CASCADE, related_name="+", editable=False)

    @classmethod
    def get_session_store_class(cls) -> type[SessionBase]:
        """Return the class that reads and writes sessions."""
        store: type[SessionBase] = import_string(f"{settings.SESSION_ENGINE}.SessionStore")
        return store

    def __str__(self) -> str:
        # Without the key, because anyone who knows it is signed in.
        return f"Session of {self.user}"


class SecurityEventKind(models.TextChoices):
    """What the security log records."""

    SIGNED_IN = "signed_in", "Signed in"
    SIGN_IN_FAILED = "sign_in_failed", "Sign-in failed"
    SIGNED_OUT = "signed_out", "Signed out"
    SESSION_ENDED = "session_ended", "Session ended"
    PASSWORD_CHANGED = "password_changed", "Password changed"
    PASSWORD_RESET_REQUESTED = "password_reset_requested", "Password reset requested"
    PASSWORD_RESET = "password_reset", "Password reset"
    EMAIL_CHANGED = "email_changed", "E-mail address changed"
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
    ROLE_CHANGED = "role_changed", "Role changed"
    MEMBER_DEACTIVATED = "member_deactivated", "Member deactivated"
    MEMBER_ACTIVATED = "member_activated", "Member activated"
    MEMBER_LEFT = "member_left", "Member left"
    ORGANIZATION_CHANGED = "organization_changed", "Organization changed"
    KEY_ISSUED = "key_issued", "API key issued"
    KEY_ROTATED = "key_rotated", "API key rotated"
    KEY_REVOKED = "key_revoked", "API key revoked"


class SecurityEvent(models.Model):
    """An entry of the security log: who did what to whose account, when and from where. Entries are never changed.

    It is not a tenant row, because events of an account, such as sign-ins, belong to no organization.
    """

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
    """The e-mail that tells a person about an event of their account."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    event = models.OneToOneField(SecurityEvent, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False)

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


class InvitationQuerySet(EmailQuerySet, TenantQuerySet):  # type: ignore[override]  # of as_manager's type
    """Invitations, by address and by whether they can still be answered."""

    def unanswered(self) -> Self:
        """Filter to invitations that are neither accepted, declined nor withdrawn. They may have expired."""
        return self.filter(accepted_at=None, declined_at=None, withdrawn_at=None)


class Invitation(TenantModel, Job):
    """An offer of membership to whoever reads the mail of an address; as a job, the e-mail with its link.

    Nothing of the person is stored here but the address as the inviter typed it, and the link's token is not stored.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    email = models.EmailField("e-mail")
    role = models.CharField(max_length=20, choices=MemberRole.choices, default=MemberRole.CLOSER)
    invited_by = models.ForeignKey(User, null=True, editable=False, on_delete=models.SET_NULL, related_name="+")
    expires_at = MillisecondDateTimeField(editable=False)
    sent_count = models.PositiveSmallIntegerField("times sent", default=1, editable=False)
    last_sent_at = MillisecondDateTimeField("last sent", default=now, editable=False)
    accepted_at = MillisecondDateTimeField("accepted", null=True, editable=False)
    declined_at = MillisecondDateTimeField("declined", null=True, editable=False)
    withdrawn_at = MillisecondDateTimeField("withdrawn", null=True, editable=False)
    # The organization can't invite the address again.
    unsubscribed_at = MillisecondDateTimeField("asked for no more invitations", null=True, editable=False)

    objects: ClassVar[Any] = tenant_manager(InvitationQuerySet)
    unscoped: ClassVar[Any] = InvitationQuerySet.as_manager()  # type: ignore[assignment]  # as above

    class Meta(TenantModel.Meta):
        ordering = ["-created_at", "-id"]
        constraints = [
            UniqueConstraint(
                "organization",
                Lower("email"),
                condition=Q(accepted_at=None, declined_at=None, withdrawn_at=None),
                name="one_open_invitation_per_email",
            )
        ]
        indexes = [
            models.Index(
                fields=["organization", "next_attempt_at"], condition=Q(state=State.PENDING), name="invitation_due"
            ),
            models.Index(fields=["organization", "-created_at", "-id"], name="invitation_newest"),
        ]

    def __str__(self) -> str:
        return self.email

    @property
    def is_open(self) -> bool:
        """Whether the invitation is unanswered and has not expired."""
        return self.status == "Open"

    @property
    def status(self) -> str:
        """Open, Accepted, Declined, Withdrawn or Expired."""
        if self.accepted_at:
            return "Accepted"
        if self.declined_at:
            return "Declined"
        # An expired invitation is withdrawn when the address is invited anew.
        if self.expires_at <= (self.withdrawn_at or now()):
            return "Expired"
        return "Withdrawn" if self.withdrawn_at else "Open"


class PasswordReset(Job):
    """A request for a link with which to choose a new password; as a job, the e-mail with that link.

    There is one for each request, whether or not an account has the address, so that the request takes the same time.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    # The row itself. A queue's jobs belong to groups that are served one by one, and these have nothing in common.
    group = models.ForeignKey("self", on_delete=models.CASCADE, related_name="+")
    email = models.EmailField()
    # The account that was mailed.
    user = models.ForeignKey(User, null=True, on_delete=models.CASCADE, related_name="+")
    created_at = MillisecondDateTimeField(default=now)

    objects: ClassVar[Any] = models.Manager()
    unscoped: ClassVar[Any] = models.Manager()  # the name that queues use

    class Meta:
        indexes = [
            models.Index(fields=["next_attempt_at"], condition=Q(state=State.PENDING), name="password_reset_due"),
            models.Index(fields=["created_at"], name="password_reset_oldest"),
        ]

    def __str__(self) -> str:
        return f"Password reset of {self.created_at:%Y-%m-%d %H:%M}"


class RowCount(TenantModel):
    """The number of rows that an organization has in a table, maintained by triggers.

    Each count is split into shards, so that concurrent writers rarely lock the same row. Their sum is exact, because
    triggers change it in the transaction that inserts or deletes the rows.
    """

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


class Scope(models.TextChoices):
    """What an API key may do."""

    READ = "read", "Read"
    WRITE = "write", "Write"


class ApiKey(TenantModel):
    """An API key: its public id and the SHA-256 of its secret, which nobody can read again (docs/interface.md, K4)."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
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

    class Meta(TenantModel.Meta):
        verbose_name = "API key"
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["organization", "-created_at"], name="key_newest")]

    def __str__(self) -> str:
        return f"{self.name} (pb_{self.key_id}_…)"

    @property
    def is_live(self) -> bool:
        """Whether the key is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now())
