"""Users, and finding them by their e-mail address."""

from typing import Any, ClassVar, NamedTuple, Self
from uuid import UUID

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import UniqueConstraint
from django.db.models.functions import Lower
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.functional import cached_property

from foundation.api.emails import parse_email, spellings
from foundation.db.timestamps import MillisecondDateTimeField, isoformat_z, now
from organizations.defaults import new_user_id
from organizations.isolation import bypass_rls


class ActiveMembership(NamedTuple):
    """What every page of the admin asks about a membership: the role, and the organization's name and settings."""

    organization_id: UUID
    role: str
    name: str
    is_test: bool
    requires_two_factor: bool


class EmailQuerySet(models.QuerySet[Any]):
    def with_email(self, email: str) -> Self:
        """Filter to rows with this address, in any letter case and in either form of its domain."""
        # `iexact` would compare UPPER(), for which i and the dotless i are one letter.
        return self.alias(lowercase_email=Lower("email")).filter(lowercase_email__in=spellings(email))


class UserManager(BaseUserManager.from_queryset(EmailQuerySet)):  # type: ignore[misc]  # the stubs can't follow it
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Create a user; without a password they can't sign in yet. The address is stored as typed."""
        user: User = self.model(email=email.strip(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Create an operator, who may do everything in every organization. Raises ValidationError for the address."""
        try:
            email = parse_email(email.strip())
        except ValueError as error:
            raise ValidationError(f"The e-mail address {error}.") from None
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)

    def get_by_natural_key(self, username: str | None) -> "User":
        email = username or ""
        # Version 0.2 can have stored two accounts with forms of one address: prefer the form that was typed.
        users: list[User] = sorted(self.with_email(email), key=lambda user: user.email.lower() != email.lower())
        if not users:
            raise User.DoesNotExist
        return users[0]


class User(AbstractBaseUser, PermissionsMixin):
    """A person who signs in by e-mail. What they may do comes from their memberships."""

    id = models.CharField(primary_key=True, max_length=64, default=new_user_id, editable=False)
    email = models.EmailField(unique=True)
    # When the person has proved that they read the address's mail; null for an unverified address.
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
    # The last request of one of the person's sessions, at most five minutes late.
    last_seen_at = MillisecondDateTimeField(null=True, editable=False)
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
        return username  # unchanged: Django would turn some letters into others

    def get_full_name(self) -> str:
        return f"{self.first_name} {self.last_name}".strip() or self.email

    @cached_property
    def active_memberships(self) -> list[ActiveMembership]:
        members = self.memberships.filter(is_active=True, organization__is_active=True).order_by()
        # A request's scope is derived from these rows, so they can't be read within it.
        with bypass_rls():
            rows = members.values_list(
                "organization_id",
                "role",
                "organization__name",
                "organization__is_test",
                "organization__requires_two_factor",
            )
            return [ActiveMembership(*row) for row in rows]

    @cached_property
    def roles(self) -> dict[UUID, str]:
        return {member.organization_id: member.role for member in self.active_memberships}

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """Return the hash that ends sessions when the password changes, or two-factor sign-in is switched on or off."""
        hash = str(super()._get_session_auth_hash(secret))  # type: ignore[misc]  # the stubs lack it
        if self.two_factor_enabled_at is None:
            return hash
        # Without this, a session that began with the password alone would stay valid when two-factor is switched on.
        value = f"{hash} {isoformat_z(self.two_factor_enabled_at)}"
        return salted_hmac("two-factor", value, secret=secret).hexdigest()

    def has_credentials_of(self, other: "User") -> bool:
        """Return whether this account is active, and sessions of the other, as it was read before, are still valid."""
        return self.is_active and self.is_session_hash(other.get_session_auth_hash())

    def is_session_hash(self, hash: str) -> bool:
        """Return whether a session with this hash is valid, also if it was made with a former SECRET_KEY."""
        valid = [self.get_session_auth_hash(), *self.get_session_auth_fallback_hash()]
        return any(constant_time_compare(hash, other) for other in valid)
